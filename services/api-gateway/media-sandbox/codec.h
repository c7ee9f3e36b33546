#pragma once
/* The picture formats, decoded and encoded by their libraries. A function that cannot read or
 * write a picture calls peer_send_failure(), which does not return. */
#include "media-sandbox/peer.h"
#include "media-sandbox/scale.h"

/* A decoded picture; `pixels` belong to the bitmap's owner, who frees them. */
struct bitmap {
    uint8_t *pixels; /* RGBA */
    uint32_t width, height;
    bool opaque;
};

/* Each decoder passes the rows of the picture to `scale`: scale_begin(), then scale_add_row() for
 * each row. The caller calls scale_end(). decode_gif() and decode_webp() decode the first frame,
 * decode_tiff() the first picture of the file. */
void decode_jpeg(struct media_source *source, struct scale *scale);
void decode_png(struct media_source *source, struct scale *scale);
void decode_gif(struct media_source *source, struct scale *scale);
void decode_webp(struct media_source *source, struct scale *scale);
void decode_avif(struct media_source *source, struct scale *scale);
void decode_tiff(struct media_source *source, struct scale *scale);
/* Passes the rows of a picture to `scale` like the other decoders, but rotated as the picture is
 * shown. */
void decode_heif(struct media_source *source, struct scale *scale);
/* Initialises libheif; call once before the process is confined. */
void heif_initialize(void);

/* An animated picture: whole canvases, one after the other, as they are shown. */
struct animation {
    uint32_t width, height; /* of each canvas */
    uint32_t plays;         /* how often the animation plays; 0 = for ever */
    void *arg;
    /* Returns the next canvas (RGBA, borrowed until the next call) and how long it is shown in
     * milliseconds. Returns false after the last canvas. Calls peer_send_failure() if it cannot be
     * read. */
    bool (*next)(void *arg, const uint8_t **ret_canvas, uint32_t *ret_ms);
};

/* Open an animated picture; return false if the picture is not animated. Both check the headers of
 * all frames before any frame is decoded, and fail as animation_check() does. *ret is valid until
 * the process ends. */
bool animation_open_gif(struct media_source *source, struct animation *ret);
bool animation_open_webp(struct media_source *source, struct animation *ret);
/* Fails with MEDIA_TOO_LARGE above MEDIA_FRAMES_LIMIT frames or MEDIA_PIXELS_LIMIT pixels. */
void animation_check(uint64_t frames, uint64_t pixels);

/* Encode the bitmap and send the file to the daemon by peer_send_chunk(). encode_avif() frees the
 * bitmap's pixels, to save memory. */
void encode_jpeg(const struct bitmap *bitmap);
void encode_png(const struct bitmap *bitmap);
void encode_webp(const struct bitmap *bitmap);
void encode_avif(struct bitmap *bitmap);

/* Write an animated WebP whose frames all have the size given to webp_writer_new(). `plays`: as in
 * struct animation. webp_writer_add() adds a frame that is shown for `ms` milliseconds; its bitmap
 * is borrowed during the call. webp_writer_end() sends the file to the daemon by peer_send_chunk().
 */
struct webp_writer *webp_writer_new(uint32_t width, uint32_t height, uint32_t plays);
void webp_writer_add(struct webp_writer *writer, const struct bitmap *bitmap, uint32_t ms);
void webp_writer_end(struct webp_writer *writer);

/* A frame that may be smaller than its canvas. `row` writes row `y` of the frame to `rgba`. */
struct codec_frame {
    uint32_t width, height, left, top; /* of the canvas; the frame begins at left, top */
    uint32_t frame_width, frame_height;
    void *arg;
    void (*row)(void *arg, uint32_t y, uint8_t *rgba);
};
/* Passes all rows of the canvas to `scale`; pixels outside of the frame are transparent. */
void codec_scale_frame(const struct codec_frame *frame, struct scale *scale);
