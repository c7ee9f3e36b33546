#pragma once
/*
 * What pictures and recordings say of themselves, out of their heads and no more: sizes of PNG,
 * JPEG, GIF, WebP, AVIF, HEIC and TIFF as they are to be shown (turned as EXIF or their container
 * says), durations of MP4 (M4A, MOV), WebM (Matroska), Ogg, WAV, FLAC and MP3. Pure but for the
 * source; whatever the bytes are, it ends after a bounded number of looks at them.
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
    uint32_t width, height; /* 0 = it does not say */
    unsigned orientation;   /* EXIF's, 1..8: how stored pixels become those that are shown */
    double duration;        /* seconds; 0 = it does not say */
};

/* What is known; a kind alone where the rest is broken. */
struct media_facts media_probe(struct media_source *source);
/* One that media-sandbox can make a variant of. */
static inline int media_is_picture(enum media_kind kind)
{
    return kind >= MEDIA_PNG && kind <= MEDIA_HEIC;
}
