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

void encode_jpeg(const struct bitmap *bitmap);
void encode_png(const struct bitmap *bitmap);
void encode_webp(const struct bitmap *bitmap);
void encode_avif(struct bitmap *bitmap); /* its pixels are gone then */

/* A frame that may be smaller than its canvas: rows of the canvas go to `scale`. `row` gives a row
 * of the frame into `rgba`. */
struct codec_frame {
    uint32_t width, height, left, top; /* canvas; the frame begins at left, top */
    uint32_t frame_width, frame_height;
    void *arg;
    void (*row)(void *arg, uint32_t y, uint8_t *rgba);
};
void codec_rows(const struct codec_frame *frame, struct scale *scale);
