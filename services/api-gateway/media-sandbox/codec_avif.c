/* AVIF by libavif in one thread: dav1d decodes, libaom encodes. */
#include "media-sandbox/codec_avif.h"

#include <stdlib.h>

#include "media-sandbox/codec.h"
#include "media-sandbox/color.h"

#define SPEED       8
#define QUANTIZER   24              /* 0 (lossless) to 63 (worst) */
#define CELL_PIXELS (2048U * 2048U) /* libaom holds twenty bytes for each */
#define CELLS_MAX   4               /* in each direction */
#define CELL_SIDE   64              /* minimum of the format */
#define BAND_ROWS   64
#define BAND_MARGIN 2 /* rows around a band, for chroma upsampling at its edges */

static void avif_insist(avifResult result)
{
    if (result != AVIF_RESULT_OK)
        peer_send_failure(result == AVIF_RESULT_OUT_OF_MEMORY ? MEDIA_TOO_LARGE : MEDIA_MALFORMED);
}

static void avif_pixels_of(const avifImage *image, avifRGBImage *rgb)
{
    avifRGBImageSetDefaults(rgb, image);
    rgb->format = AVIF_RGB_FORMAT_RGBA;
    rgb->depth = 8;
}

/* Converts bands of rows: the planes take a byte and a half a pixel, so the picture is never held
 * whole as RGBA. */
void avif_scale_rows(const avifImage *image, struct scale *scale)
{
    avifImage *band = avifImageCreateEmpty();
    avifRGBImage rgb;

    if (!band)
        peer_send_failure(MEDIA_TOO_LARGE);
    avif_pixels_of(image, &rgb);
    rgb.rowBytes = image->width * 4;
    rgb.pixels = peer_alloc(rgb.rowBytes, BAND_ROWS + 2 * BAND_MARGIN);
    for (uint32_t y = 0; y < image->height; y += BAND_ROWS) {
        uint32_t end = image->height - y < BAND_ROWS ? image->height : y + BAND_ROWS;
        uint32_t from = y > 0 ? y - BAND_MARGIN : 0;
        uint32_t upto = image->height - end < BAND_MARGIN ? image->height : end + BAND_MARGIN;
        const avifCropRect rect = {0, from, image->width, upto - from};

        avif_insist(avifImageSetViewRect(band, image, &rect));
        rgb.height = rect.height;
        avif_insist(avifImageYUVToRGB(band, &rgb));
        for (uint32_t row = y; row < end; row++)
            scale_add_row(scale, rgb.pixels + (size_t)(row - from) * rgb.rowBytes);
    }
}

void avif_read_primaries(const avifImage *image)
{
    bool is_wide = image->colorPrimaries == AVIF_COLOR_PRIMARIES_SMPTE432 ||
                   image->colorPrimaries == AVIF_COLOR_PRIMARIES_BT2020;
    bool is_bright = image->transferCharacteristics == AVIF_TRANSFER_CHARACTERISTICS_SMPTE2084 ||
                     image->transferCharacteristics == AVIF_TRANSFER_CHARACTERISTICS_HLG;
    float at[8];

    if (!is_wide || is_bright) /* HDR does not fit into sRGB */
        return;
    avifColorPrimariesGetValues(image->colorPrimaries, at);
    color_set_primaries(at);
}

static void avif_read_profile(const avifImage *image)
{
    if (image->icc.size > 0)
        color_set_profile(
            image->icc.data, image->icc.size, image->yuvFormat == AVIF_PIXEL_FORMAT_YUV400);
    else
        avif_read_primaries(image);
}

void decode_avif(struct media_source *source, struct scale *scale)
{
    avifDecoder *decoder = avifDecoderCreate();
    uint8_t *all = peer_read_all(source);

    if (!decoder)
        peer_send_failure(MEDIA_TOO_LARGE);
    decoder->maxThreads = 1;
    decoder->ignoreExif = AVIF_TRUE;
    decoder->ignoreXMP = AVIF_TRUE;
    decoder->imageSizeLimit = MEDIA_PIXELS_LIMIT;
    decoder->strictFlags = AVIF_STRICT_DISABLED;
    avif_insist(avifDecoderSetIOMemory(decoder, all, (size_t)source->size));
    avif_insist(avifDecoderParse(decoder));
    avif_insist(avifDecoderNextImage(decoder));
    scale_check_size(scale, decoder->image->width, decoder->image->height);
    avif_read_profile(decoder->image);
    free(all);
    scale_begin(scale, decoder->image->width, decoder->image->height);
    avif_scale_rows(decoder->image, scale);
    avifDecoderDestroy(decoder); /* frees memory for the encoder */
}

/* Returns whether `length` divides into equal cells of even length: chroma is halved. */
static bool is_grid(uint32_t length, uint32_t cells)
{
    return cells == 1 || (length % (2 * cells) == 0 && length / cells >= CELL_SIDE);
}

/* Finds the smallest number of cells that are each small enough; a single cell if none fits. */
static void avif_plan_cells(const avifImage *image, uint32_t *ret_across, uint32_t *ret_down)
{
    uint32_t least = CELLS_MAX * CELLS_MAX + 1;

    *ret_across = *ret_down = 1;
    if (image->width % 2 != 0 || image->height % 2 != 0)
        return;
    for (uint32_t across = 1; across <= CELLS_MAX; across++)
        for (uint32_t down = 1; down <= CELLS_MAX; down++) {
            bool fits = is_grid(image->width, across) && is_grid(image->height, down) &&
                        image->width / across * (image->height / down) <= CELL_PIXELS;
            if (!fits || across * down >= least)
                continue;
            least = across * down;
            *ret_across = across;
            *ret_down = down;
        }
}

static avifResult avif_write_cells(avifEncoder *encoder, const avifImage *image, avifRWData *out)
{
    const avifImage *cells[CELLS_MAX * CELLS_MAX];
    uint32_t across;
    uint32_t down;

    avif_plan_cells(image, &across, &down);
    if (across * down == 1)
        return avifEncoderWrite(encoder, image, out);
    for (uint32_t i = 0; i < across * down; i++) {
        uint32_t width = image->width / across;
        uint32_t height = image->height / down;
        const avifCropRect rect = {i % across * width, i / across * height, width, height};
        avifImage *cell = avifImageCreateEmpty();

        if (!cell || avifImageSetViewRect(cell, image, &rect) != AVIF_RESULT_OK)
            return AVIF_RESULT_OUT_OF_MEMORY;
        cells[i] = cell;
    }
    avifResult result =
        avifEncoderAddImageGrid(encoder, across, down, cells, AVIF_ADD_IMAGE_FLAG_SINGLE);
    return result == AVIF_RESULT_OK ? avifEncoderFinish(encoder, out) : result;
}

void encode_avif(struct bitmap *bitmap)
{
    avifImage *image = avifImageCreate(bitmap->width, bitmap->height, 8, AVIF_PIXEL_FORMAT_YUV420);
    avifEncoder *encoder = avifEncoderCreate();
    avifRWData out = AVIF_DATA_EMPTY;
    avifRGBImage rgb;

    if (!image || !encoder)
        peer_send_failure(MEDIA_TOO_LARGE);
    image->colorPrimaries = AVIF_COLOR_PRIMARIES_BT709;
    image->transferCharacteristics = AVIF_TRANSFER_CHARACTERISTICS_SRGB;
    image->matrixCoefficients = AVIF_MATRIX_COEFFICIENTS_BT601;
    avif_pixels_of(image, &rgb);
    rgb.ignoreAlpha = bitmap->opaque ? AVIF_TRUE : AVIF_FALSE;
    rgb.pixels = bitmap->pixels;
    rgb.rowBytes = bitmap->width * 4;
    if (avifImageRGBToYUV(image, &rgb) != AVIF_RESULT_OK)
        peer_send_failure(MEDIA_TOO_LARGE);
    free(bitmap->pixels); /* the encoder needs the memory */
    bitmap->pixels = NULL;
    encoder->maxThreads = 1;
    encoder->speed = SPEED;
    encoder->minQuantizer = QUANTIZER;
    encoder->maxQuantizer = QUANTIZER;
    encoder->minQuantizerAlpha = AVIF_QUANTIZER_LOSSLESS;
    encoder->maxQuantizerAlpha = AVIF_QUANTIZER_LOSSLESS;
    /* Encoding fails only when memory runs out: all pixels are valid. */
    if (avif_write_cells(encoder, image, &out) != AVIF_RESULT_OK)
        peer_send_failure(MEDIA_TOO_LARGE);
    peer_send_chunk(out.data, out.size);
}
