#pragma once
/* Scales a picture: the decoder passes rows from the top, and the result is complete after the last
 * row. The filter is Lanczos with three lobes; pixels are weighted by their alpha. */
#include <stdbool.h>
#include <stdint.h>

/* Which part of the stored picture becomes the result. The decoder may decode the picture at a
 * smaller size where that is cheaper: it passes this size to scale_begin(). */
struct scale {
    uint32_t from_width, from_height; /* of the picture by its header */
    double x, y, width, height;       /* of the part, in pixels of the picture */
    uint32_t to_width, to_height;
    uint8_t *pixels; /* RGBA, to_width * to_height, after the last row */
    bool opaque;     /* all pixels of the result are opaque */
    struct scale_state *state;
};

/* Fails with MEDIA_MALFORMED if the decoded size differs from the size in the header. */
void scale_check_size(const struct scale *scale, uint32_t width, uint32_t height);
/* Returns by which factor (1, 2, 4 ... `most`) the picture may be decoded smaller in each direction
 * without being smaller than the result. */
unsigned scale_decode_factor(const struct scale *scale, unsigned most);
/* Allocates memory for rows of `width` pixels; `height` rows will follow. */
void scale_begin(struct scale *scale, uint32_t width, uint32_t height);
/* Adds the next row: RGBA of 8 bits, not premultiplied, borrowed during the call. */
void scale_add_row(struct scale *scale, const uint8_t *rgba);
/* Checks that the result is complete; fails with MEDIA_MALFORMED if there were too few rows. */
void scale_end(struct scale *scale);
/* Frees all memory of the scaler, including `pixels`. */
void scale_free(struct scale *scale);
