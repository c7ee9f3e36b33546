#pragma once
/*
 * Reads what pictures and recordings state about themselves in their headers: sizes of PNG, JPEG,
 * GIF, WebP, AVIF, HEIC and TIFF as they are to be shown (turned as EXIF or the container says),
 * and durations of MP4 (M4A, MOV), WebM (Matroska), Ogg, WAV, FLAC and MP3. Has no side effects
 * except reads of the source. Any input is finished after a bounded number of reads.
 */
#include "media/source.h"

enum media_kind {
    MEDIA_UNKNOWN,
    MEDIA_PNG,
    MEDIA_JPEG,
    MEDIA_GIF,
    MEDIA_WEBP,
    MEDIA_AVIF,
    MEDIA_TIFF,
    MEDIA_HEIC,
    MEDIA_MP4,
    MEDIA_MATROSKA,
    MEDIA_OGG,
    MEDIA_WAV,
    MEDIA_FLAC,
    MEDIA_MP3,
};

struct media_facts {
    enum media_kind kind;
    uint32_t width, height; /* 0 = not stated */
    unsigned orientation;   /* 1..8 as in EXIF: how stored pixels are turned to be shown */
    double duration;        /* seconds; 0 = not stated */
};

/* Returns what could be read. Of a malformed file perhaps only the kind is known. May wait in
 * source->read. */
struct media_facts media_probe(struct media_source *source);
/* Whether media-sandbox can make variants of this kind. */
static inline int media_is_picture(enum media_kind kind)
{
    return kind >= MEDIA_PNG && kind <= MEDIA_HEIC;
}
