/* Each input row is scaled horizontally when it is added, and stays in the ring until no row of the
 * result needs it. A row of the result is made as soon as all its input rows are there. So memory
 * is needed for only a few rows of the picture. */
#include "media-sandbox/scale.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "media-sandbox/peer.h"

#define LOBES 3.0

typedef float pixel __attribute__((vector_size(16)));

/* For one pixel of the result: which input pixels it is made of, and their weights. */
struct taps {
    uint32_t first, count;
    float *weights;
};

struct scale_state {
    uint32_t width, height; /* of the input */
    struct taps *across, *down;
    pixel *input_row;   /* the current input row */
    pixel *ring;        /* rows of to_width */
    uint32_t ring_rows; /* rows that the ring has room for */
    uint32_t rows_in;   /* input rows so far */
    uint32_t rows_out;  /* rows of the result so far */
};

static double lanczos(double x)
{
    double at = M_PI * x;

    if (fabs(x) < 1e-9)
        return 1;
    return fabs(x) < LOBES ? LOBES * sin(at) * sin(at / LOBES) / (at * at) : 0;
}

/* Returns the taps of each result pixel; *ret_most is the highest number of inputs of one. */
static struct taps *
taps_make(double from, double length, uint32_t places, uint32_t results, uint32_t *ret_most)
{
    double step = length / results;
    double stretch = step > 1 ? step : 1;
    double reach = LOBES * stretch;
    uint32_t most = (uint32_t)ceil(2 * reach) + 2;
    struct taps *taps = peer_alloc(results, sizeof(*taps));
    float *weights = peer_alloc((size_t)results * most, sizeof(*weights));

    *ret_most = 1;
    for (uint32_t i = 0; i < results; i++, weights += most) {
        double middle = from + (i + 0.5) * step - 0.5;
        double first = ceil(middle - reach);
        double last = floor(middle + reach);
        double sum = 0;
        double w;

        first = first < 0 ? 0 : first > places - 1 ? places - 1 : first;
        last = last > places - 1 ? places - 1 : last < first ? first : last;
        taps[i] = (struct taps){(uint32_t)first, (uint32_t)(last - first) + 1, weights};
        if (taps[i].count > most)
            taps[i].count = most;
        for (uint32_t n = 0; n < taps[i].count; n++) {
            w = lanczos((first + n - middle) / stretch);
            weights[n] = (float)w;
            sum += w;
        }
        for (uint32_t n = 0; n < taps[i].count; n++)
            weights[n] = sum != 0 ? (float)(weights[n] / sum) : n == 0;
        if (taps[i].count > *ret_most)
            *ret_most = taps[i].count;
    }
    return taps;
}

static void taps_free(struct taps *taps)
{
    free(taps->weights); /* one array, which the first tap points to */
    free(taps);
}

void scale_check_size(const struct scale *scale, uint32_t width, uint32_t height)
{
    if (width != scale->from_width || height != scale->from_height)
        peer_send_failure(MEDIA_MALFORMED);
}

unsigned scale_decode_factor(const struct scale *scale, unsigned most)
{
    double across = scale->width / scale->to_width;
    double down = scale->height / scale->to_height;
    unsigned shrink = 1;

    while (shrink * 2 <= most && shrink * 2 <= across && shrink * 2 <= down)
        shrink *= 2;
    return shrink;
}

static pixel *pixels_alloc(size_t count)
{
    void *memory = NULL;

    if (posix_memalign(&memory, sizeof(pixel), count * sizeof(pixel)) != 0)
        peer_send_failure(MEDIA_TOO_LARGE);
    return memory;
}

void scale_begin(struct scale *scale, uint32_t width, uint32_t height)
{
    struct scale_state *state = peer_alloc(1, sizeof(*state));
    double across = (double)width / scale->from_width;
    double down = (double)height / scale->from_height;
    uint32_t most;

    *state = (struct scale_state){.width = width, .height = height};
    state->across =
        taps_make(scale->x * across, scale->width * across, width, scale->to_width, &most);
    state->down = taps_make(scale->y * down, scale->height * down, height, scale->to_height, &most);
    state->ring_rows = most;
    state->input_row = pixels_alloc(width);
    state->ring = pixels_alloc((size_t)most * scale->to_width);
    scale->pixels = peer_alloc((size_t)scale->to_width * scale->to_height, 4);
    scale->opaque = true;
    scale->state = state;
}

static void scale_widen(struct scale_state *state, const uint8_t *rgba)
{
    for (uint32_t x = 0; x < state->width; x++, rgba += 4) {
        float alpha = rgba[3];
        float part = alpha * (1.0F / 255);

        state->input_row[x] = (pixel){rgba[0], rgba[1], rgba[2], 255} * part;
    }
}

static void scale_shrink_row(const struct scale *scale, pixel *into)
{
    const struct scale_state *state = scale->state;

    for (uint32_t x = 0; x < scale->to_width; x++) {
        const struct taps *taps = &state->across[x];
        const pixel *from = state->input_row + taps->first;
        pixel sum = {0};

        for (uint32_t n = 0; n < taps->count; n++)
            sum += from[n] * taps->weights[n];
        into[x] = sum;
    }
}

static uint8_t to_byte(float value)
{
    return value <= 0 ? 0 : value >= 255 ? 255 : (uint8_t)lrintf(value);
}

static bool scale_put_pixel(uint8_t *at, pixel value)
{
    float alpha = value[3] > 255 ? 255 : value[3];
    float whole = alpha > 0.5F ? 255 / alpha : 0;

    for (int i = 0; i < 3; i++)
        at[i] = to_byte(value[i] * whole);
    at[3] = to_byte(alpha);
    return at[3] == 255;
}

static void scale_make_row(struct scale *scale)
{
    struct scale_state *state = scale->state;
    const struct taps *taps = &state->down[state->rows_out];
    uint8_t *at = scale->pixels + (size_t)state->rows_out * scale->to_width * 4;

    for (uint32_t x = 0; x < scale->to_width; x++, at += 4) {
        pixel sum = {0};

        for (uint32_t n = 0; n < taps->count; n++) {
            size_t row = (taps->first + n) % state->ring_rows;
            sum += state->ring[row * scale->to_width + x] * taps->weights[n];
        }
        if (!scale_put_pixel(at, sum))
            scale->opaque = false;
    }
    state->rows_out++;
}

void scale_add_row(struct scale *scale, const uint8_t *rgba)
{
    struct scale_state *state = scale->state;
    uint32_t row = state->rows_in++;

    if (state->rows_out >= scale->to_height || row >= state->height ||
        row < state->down[state->rows_out].first)
        return;
    scale_widen(state, rgba);
    scale_shrink_row(scale, state->ring + (size_t)(row % state->ring_rows) * scale->to_width);
    while (state->rows_out < scale->to_height &&
           state->down[state->rows_out].first + state->down[state->rows_out].count - 1 <= row)
        scale_make_row(scale);
}

void scale_end(struct scale *scale)
{
    if (scale->state->rows_out < scale->to_height)
        peer_send_failure(MEDIA_MALFORMED);
}

void scale_free(struct scale *scale)
{
    free(scale->pixels);
    free(scale->state->ring);
    free(scale->state->input_row);
    taps_free(scale->state->across);
    taps_free(scale->state->down);
    free(scale->state);
    scale->pixels = NULL;
    scale->state = NULL;
}
