#pragma once
/* Pixels in another size: rows come in from the top, all of the result is at hand in the end.
 * Lanczos with three lobes; what is half transparent counts half. */
#include <stdbool.h>
#include <stdint.h>

/* What part of the stored picture becomes the result. The decoder may give a smaller picture than
 * it is, when that is easier: scale_begin() says how small. */
struct scale {
    uint32_t from_width, from_height; /* of the picture as its head says */
    double x, y, width, height;       /* of the part, in these pixels */
    uint32_t to_width, to_height;
    uint8_t *pixels; /* RGBA, to_width * to_height, after the last row */
    bool opaque;     /* all of it */
    struct scale_state *state;
};

/* The decoder says how large it is: another size than its head's is a lie. */
void scale_check(const struct scale *scale, uint32_t width, uint32_t height);
/* How many times smaller it may be read, in each direction: 1, 2, 4 ... and still be large enough.
 */
unsigned scale_shrink(const struct scale *scale, unsigned most);
/* Rows that come will be so large. */
void scale_begin(struct scale *scale, uint32_t width, uint32_t height);
/* The next row, RGBA of 8 bits, not premultiplied. */
void scale_row(struct scale *scale, const uint8_t *rgba);
/* All rows were given; or fails: there were too few. */
void scale_end(struct scale *scale);
/* What it held, the pixels too. */
void scale_free(struct scale *scale);
