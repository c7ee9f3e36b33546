/* Code shared by the formats. */
#include "media-sandbox/codec.h"

#include <string.h>

void animation_check(uint64_t frames, uint64_t pixels)
{
    if (frames > MEDIA_FRAMES_LIMIT || pixels > MEDIA_PIXELS_LIMIT)
        peer_send_failure(MEDIA_TOO_LARGE);
}

void codec_scale_frame(const struct codec_frame *frame, struct scale *scale)
{
    uint8_t *canvas = peer_alloc(frame->width, 4);
    uint8_t *row = peer_alloc(frame->frame_width, 4);
    uint32_t left = frame->left < frame->width ? frame->left : frame->width;
    uint32_t wide =
        frame->frame_width < frame->width - left ? frame->frame_width : frame->width - left;

    for (uint32_t y = 0; y < frame->height; y++) {
        memset(canvas, 0, (size_t)frame->width * 4);
        if (y >= frame->top && y - frame->top < frame->frame_height) {
            frame->row(frame->arg, y - frame->top, row);
            memcpy(canvas + (size_t)left * 4, row, (size_t)wide * 4);
        }
        scale_add_row(scale, canvas);
    }
}
