/* PNG by libpng: all kinds of pixels become RGBA of 8 bits. */
#include <png.h>
#include <string.h>

#include "base/result.h"
#include "media-sandbox/codec.h"
#include "media-sandbox/color.h"

#define SIDE_MAX    1000000
#define CHUNK_BYTES (8 << 20) /* of a chunk other than the picture's data */
#define CHUNKS_MAX  1000
#define LEVEL       6

struct input {
    struct media_source *source;
    int64_t at;
    size_t from, buffered;
    uint8_t bytes[MEDIA_CHUNK_BYTES];
};

static void png_on_error(png_structp png UNUSED, png_const_charp text)
{
    bool memory = strcasestr(text, "memory") != NULL;

    peer_send_failure(memory ? MEDIA_TOO_LARGE : MEDIA_MALFORMED);
}

static void png_on_warning(png_structp png UNUSED, png_const_charp text UNUSED)
{
}

static void png_on_read(png_structp png, png_bytep into, size_t count)
{
    struct input *input = png_get_io_ptr(png);

    while (count > 0) {
        if (input->from == input->buffered) {
            int64_t got =
                input->at < input->source->size
                    ? input->source->read(
                          input->source->arg, input->at, input->bytes, sizeof(input->bytes))
                    : 0;
            if (got <= 0)
                peer_send_failure(MEDIA_MALFORMED);
            input->at += got;
            input->buffered = (size_t)got;
            input->from = 0;
        }
        size_t some = input->buffered - input->from < count ? input->buffered - input->from : count;
        memcpy(into, input->bytes + input->from, some);
        input->from += some;
        into += some;
        count -= some;
    }
}

static void png_read_as_rgba(png_structp png)
{
    png_set_expand(png); /* palettes, fewer than 8 bits, a transparent colour */
    png_set_scale_16(png);
    png_set_gray_to_rgb(png);
    png_set_add_alpha(png, 0xFF, PNG_FILLER_AFTER);
}

static void png_read_profile(png_structp png, png_infop info)
{
    png_charp name;
    png_bytep profile;
    png_uint_32 bytes;
    int compression;

    if (png_get_iCCP(png, info, &name, &compression, &profile, &bytes) == PNG_INFO_iCCP)
        color_set_profile(
            profile, bytes, (png_get_color_type(png, info) & PNG_COLOR_MASK_COLOR) == 0);
}

/* Holds the whole picture: rows of an interlaced PNG are complete only after the last pass. */
static void
png_read_interlaced(png_structp png, struct scale *scale, uint32_t width, uint32_t height)
{
    uint8_t *all = peer_alloc((size_t)width * height, 4);
    uint8_t **rows = peer_alloc(height, sizeof(*rows));

    for (uint32_t y = 0; y < height; y++)
        rows[y] = all + (size_t)y * width * 4;
    png_read_image(png, rows);
    for (uint32_t y = 0; y < height; y++)
        scale_add_row(scale, rows[y]);
}

void decode_png(struct media_source *source, struct scale *scale)
{
    static struct input input;
    png_structp png =
        png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, png_on_error, png_on_warning);
    png_infop info = png ? png_create_info_struct(png) : NULL;

    if (!info)
        peer_send_failure(MEDIA_TOO_LARGE);
    input.source = source;
    png_set_read_fn(png, &input, png_on_read);
    png_set_user_limits(png, SIDE_MAX, SIDE_MAX);
    png_set_chunk_malloc_max(png, CHUNK_BYTES);
    png_set_chunk_cache_max(png, CHUNKS_MAX);
    png_read_info(png, info);
    uint32_t width = png_get_image_width(png, info);
    uint32_t height = png_get_image_height(png, info);
    scale_check_size(scale, width, height);
    png_read_profile(png, info);
    png_read_as_rgba(png);
    bool interlaced = png_get_interlace_type(png, info) != PNG_INTERLACE_NONE;
    (void)png_set_interlace_handling(png);
    png_read_update_info(png, info);
    if (png_get_rowbytes(png, info) != (size_t)width * 4)
        peer_send_failure(MEDIA_MALFORMED);
    scale_begin(scale, width, height);
    if (interlaced) {
        png_read_interlaced(png, scale, width, height);
        return;
    }
    uint8_t *row = peer_alloc(width, 4);
    for (uint32_t y = 0; y < height; y++) {
        png_read_row(png, row, NULL);
        scale_add_row(scale, row);
    }
}

/* --- writing --- */

static void png_on_write(png_structp png UNUSED, png_bytep bytes, size_t count)
{
    peer_send_chunk(bytes, count);
}

static void png_on_flush(png_structp png UNUSED)
{
}

void encode_png(const struct bitmap *bitmap)
{
    png_structp png =
        png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, png_on_error, png_on_warning);
    png_infop info = png ? png_create_info_struct(png) : NULL;

    if (!info)
        peer_send_failure(MEDIA_TOO_LARGE);
    png_set_write_fn(png, NULL, png_on_write, png_on_flush);
    png_set_compression_level(png, LEVEL);
    png_set_IHDR(png,
                 info,
                 bitmap->width,
                 bitmap->height,
                 8,
                 bitmap->opaque ? PNG_COLOR_TYPE_RGB : PNG_COLOR_TYPE_RGB_ALPHA,
                 PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    if (bitmap->opaque)
        png_set_filler(png, 0, PNG_FILLER_AFTER);
    for (uint32_t y = 0; y < bitmap->height; y++)
        png_write_row(png, bitmap->pixels + (size_t)y * bitmap->width * 4);
    png_write_end(png, info);
}
