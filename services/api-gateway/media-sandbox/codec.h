#pragma once
/* The formats, by their libraries. A decoder gives rows to `scale`, from scale_begin() to
 * scale_end(); what it cannot read ends in peer_fail(). An encoder writes pieces. */
#include "media-sandbox/peer.h"
#include "media-sandbox/scale.h"

struct bitmap {
    uint8_t *pixels; /* RGBA */
    uint32_t width, height;
    bool opaque;
};

void decode_jpeg(struct media_source *source, struct scale *scale);
void decode_png(struct media_source *source, struct scale *scale);
void decode_gif(struct media_source *source, struct scale *scale);
void decode_webp(struct media_source *source, struct scale *scale);
void decode_avif(struct media_source *source, struct scale *scale);
void decode_tiff(struct media_source *source, struct scale *scale);
/* Gives the picture as it is shown, turned. */
void decode_heif(struct media_source *source, struct scale *scale);
/* Makes what a confined process may not make. */
void heif_prepare(void);

/* A picture that moves: whole canvases, one after the other, as they are shown. */
struct animation {
    uint32_t width, height; /* of each canvas */
    uint32_t plays;         /* 0 = for ever */
    void *arg;
    /* The next canvas, RGBA, borrowed until the next call. False: there is
     * none; what cannot be read ends in peer_fail(). */
    bool (*next)(void *arg, const uint8_t **ret_canvas, uint32_t *ret_ms);
};

/* Looks at the heads of all frames before any is decoded: more of them, or of their pixels, than a
 * variant may be made of fails. False: the picture does not move. */
bool animation_open_gif(struct media_source *source, struct animation *ret);
bool animation_open_webp(struct media_source *source, struct animation *ret);
/* Fails above MEDIA_FRAMES_LIMIT and MEDIA_PIXELS_LIMIT. */
void animation_check(uint64_t frames, uint64_t pixels);

void encode_jpeg(const struct bitmap *bitmap);
void encode_png(const struct bitmap *bitmap);
void encode_webp(const struct bitmap *bitmap);
void encode_avif(struct bitmap *bitmap); /* its pixels are gone then */

/* A WebP that moves: all frames have one size. */
struct webp_writer *webp_writer_new(uint32_t width, uint32_t height, uint32_t plays);
void webp_writer_add(struct webp_writer *writer, const struct bitmap *bitmap, uint32_t ms);
void webp_writer_end(struct webp_writer *writer);

/* A frame that may be smaller than its canvas: rows of the canvas go to `scale`. `row` gives a row
 * of the frame into `rgba`. */
struct codec_frame {
    uint32_t width, height, left, top; /* canvas; the frame begins at left, top */
    uint32_t frame_width, frame_height;
    void *arg;
    void (*row)(void *arg, uint32_t y, uint8_t *rgba);
};
void codec_rows(const struct codec_frame *frame, struct scale *scale);
