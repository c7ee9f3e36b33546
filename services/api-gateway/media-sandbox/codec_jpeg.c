/* JPEG by libjpeg-turbo. The library scales in the frequency domain, which saves most of the work
 * for large pictures. */
#include <stddef.h>
#include <stdio.h>
/* jpeglib.h needs stdio.h before it */
#include <jpeglib.h>
#include <stdlib.h>
#include <string.h>

#include "base/result.h"
#include "media-sandbox/codec.h"
#include "media-sandbox/color.h"

#define QUALITY    80
#define SHRINK_MAX 8
#define MARKER_ICC (JPEG_APP0 + 2)
#define MARKER_MAX 0xFFFF

/* --- reading --- */

struct input {
    struct jpeg_source_mgr base;
    struct media_source *source;
    int64_t at;
    uint8_t bytes[MEDIA_CHUNK_BYTES];
};

static void jpeg_on_error(j_common_ptr jpeg)
{
    char text[JMSG_LENGTH_MAX];

    jpeg->err->format_message(jpeg, text);
    peer_send_failure(strncmp(text, "Insufficient memory", 19) == 0 ? MEDIA_TOO_LARGE
                                                                    : MEDIA_MALFORMED);
}

static void jpeg_on_message(j_common_ptr jpeg UNUSED)
{
}

static void jpeg_input_nothing(j_decompress_ptr jpeg UNUSED)
{
}

static boolean jpeg_input_fill(j_decompress_ptr jpeg)
{
    struct input *input = (struct input *)(void *)jpeg->src;
    int64_t got =
        input->at < input->source->size
            ? input->source->read(input->source->arg, input->at, input->bytes, sizeof(input->bytes))
            : 0;

    if (got <= 0) /* the library would fill in the missing rows */
        peer_send_failure(MEDIA_MALFORMED);
    input->at += got;
    input->base.next_input_byte = input->bytes;
    input->base.bytes_in_buffer = (size_t)got;
    return TRUE;
}

static void jpeg_input_skip(j_decompress_ptr jpeg, long bytes)
{
    struct input *input = (struct input *)(void *)jpeg->src;

    if (bytes <= 0)
        return;
    if ((size_t)bytes <= input->base.bytes_in_buffer) {
        input->base.next_input_byte += bytes;
        input->base.bytes_in_buffer -= (size_t)bytes;
        return;
    }
    input->at += bytes - (long)input->base.bytes_in_buffer;
    input->base.bytes_in_buffer = 0;
}

/* Converts CMYK, which Adobe stores inverted: 255 is no ink. */
static void jpeg_from_cmyk(const uint8_t *row, uint32_t width, uint8_t *rgba)
{
    for (uint32_t x = 0; x < width; x++, row += 4, rgba += 4) {
        for (int i = 0; i < 3; i++)
            rgba[i] = (uint8_t)(row[i] * row[3] / 255);
        rgba[3] = 255;
    }
}

/* A CMYK profile is ignored: the pixels are RGB already when color_convert() gets them. */
static void jpeg_read_profile(j_decompress_ptr jpeg)
{
    JOCTET *profile = NULL;
    unsigned bytes = 0;

    if (jpeg->num_components != 4 && jpeg_read_icc_profile(jpeg, &profile, &bytes))
        color_set_profile(profile, bytes, jpeg->num_components == 1);
    free(profile);
}

void decode_jpeg(struct media_source *source, struct scale *scale)
{
    static struct input input;
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr errors;

    jpeg.err = jpeg_std_error(&errors);
    errors.error_exit = jpeg_on_error;
    errors.output_message = jpeg_on_message;
    jpeg_create_decompress(&jpeg);
    input.source = source;
    input.base.init_source = jpeg_input_nothing;
    input.base.fill_input_buffer = jpeg_input_fill;
    input.base.skip_input_data = jpeg_input_skip;
    input.base.resync_to_restart = jpeg_resync_to_restart;
    input.base.term_source = jpeg_input_nothing;
    jpeg.src = &input.base;
    jpeg_save_markers(&jpeg, MARKER_ICC, MARKER_MAX);
    (void)jpeg_read_header(&jpeg, TRUE);
    jpeg_read_profile(&jpeg);
    scale_check_size(scale, jpeg.image_width, jpeg.image_height);
    bool cmyk = jpeg.num_components == 4;
    jpeg.out_color_space = cmyk ? JCS_CMYK : JCS_EXT_RGBA;
    jpeg.scale_num = 1;
    jpeg.scale_denom = scale_decode_factor(scale, SHRINK_MAX);
    (void)jpeg_start_decompress(&jpeg);
    scale_begin(scale, jpeg.output_width, jpeg.output_height);
    uint8_t *row = peer_alloc(jpeg.output_width, 4);
    uint8_t *rgba = cmyk ? peer_alloc(jpeg.output_width, 4) : row;
    while (jpeg.output_scanline < jpeg.output_height) {
        (void)jpeg_read_scanlines(&jpeg, &row, 1);
        if (cmyk)
            jpeg_from_cmyk(row, jpeg.output_width, rgba);
        scale_add_row(scale, rgba);
    }
}

/* --- writing --- */

struct output {
    struct jpeg_destination_mgr base;
    uint8_t bytes[MEDIA_CHUNK_BYTES];
};

static void jpeg_output_begin(j_compress_ptr jpeg)
{
    struct output *output = (struct output *)(void *)jpeg->dest;

    output->base.next_output_byte = output->bytes;
    output->base.free_in_buffer = sizeof(output->bytes);
}

static boolean jpeg_output_flush(j_compress_ptr jpeg)
{
    struct output *output = (struct output *)(void *)jpeg->dest;

    peer_send_chunk(output->bytes, sizeof(output->bytes));
    jpeg_output_begin(jpeg);
    return TRUE;
}

static void jpeg_output_end(j_compress_ptr jpeg)
{
    struct output *output = (struct output *)(void *)jpeg->dest;

    peer_send_chunk(output->bytes, sizeof(output->bytes) - output->base.free_in_buffer);
}

void encode_jpeg(const struct bitmap *bitmap)
{
    static struct output output;
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr errors;

    jpeg.err = jpeg_std_error(&errors);
    errors.error_exit = jpeg_on_error;
    errors.output_message = jpeg_on_message;
    jpeg_create_compress(&jpeg);
    output.base.init_destination = jpeg_output_begin;
    output.base.empty_output_buffer = jpeg_output_flush;
    output.base.term_destination = jpeg_output_end;
    jpeg.dest = &output.base;
    jpeg.image_width = bitmap->width;
    jpeg.image_height = bitmap->height;
    jpeg.input_components = 4;
    jpeg.in_color_space = JCS_EXT_RGBX;
    jpeg_set_defaults(&jpeg);
    jpeg_set_quality(&jpeg, QUALITY, TRUE);
    jpeg.optimize_coding = TRUE;
    jpeg_start_compress(&jpeg, TRUE);
    while (jpeg.next_scanline < jpeg.image_height) {
        JSAMPROW row = bitmap->pixels + (size_t)jpeg.next_scanline * bitmap->width * 4;
        (void)jpeg_write_scanlines(&jpeg, &row, 1);
    }
    jpeg_finish_compress(&jpeg);
}
