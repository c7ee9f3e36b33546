/* AVIF by libavif (dav1d reads, libaom writes), one thread. */
#include <avif/avif.h>

#include "media-sandbox/codec.h"

#define SPEED     8
#define QUANTIZER 24 /* of 0 (all) to 63 (least) */

static void avif_insist(avifResult result)
{
    if (result != AVIF_RESULT_OK)
        peer_fail(result == AVIF_RESULT_OUT_OF_MEMORY ? MEDIA_TOO_LARGE : MEDIA_BROKEN);
}

static void avif_pixels_of(avifImage *image, avifRGBImage *rgb)
{
    avifRGBImageSetDefaults(rgb, image);
    rgb->format = AVIF_RGB_FORMAT_RGBA;
    rgb->depth = 8;
}

void decode_avif(struct media_source *source, struct scale *scale)
{
    avifDecoder *decoder = avifDecoderCreate();
    uint8_t *all = peer_read_all(source);
    avifRGBImage rgb;

    if (!decoder)
        peer_fail(MEDIA_TOO_LARGE);
    decoder->maxThreads = 1;
    decoder->ignoreExif = AVIF_TRUE;
    decoder->ignoreXMP = AVIF_TRUE;
    decoder->imageSizeLimit = MEDIA_PIXELS_LIMIT;
    decoder->strictFlags = AVIF_STRICT_DISABLED;
    avif_insist(avifDecoderSetIOMemory(decoder, all, (size_t)source->size));
    avif_insist(avifDecoderParse(decoder));
    avif_insist(avifDecoderNextImage(decoder));
    scale_check(scale, decoder->image->width, decoder->image->height);
    avif_pixels_of(decoder->image, &rgb);
    rgb.rowBytes = rgb.width * 4;
    rgb.pixels = peer_alloc((size_t)rgb.width * rgb.height, 4);
    avif_insist(avifImageYUVToRGB(decoder->image, &rgb));
    scale_begin(scale, rgb.width, rgb.height);
    for (uint32_t y = 0; y < rgb.height; y++)
        scale_row(scale, rgb.pixels + (size_t)y * rgb.rowBytes);
}

void encode_avif(const struct bitmap *bitmap)
{
    avifImage *image = avifImageCreate(bitmap->width, bitmap->height, 8, AVIF_PIXEL_FORMAT_YUV420);
    avifEncoder *encoder = avifEncoderCreate();
    avifRWData out = AVIF_DATA_EMPTY;
    avifRGBImage rgb;

    if (!image || !encoder)
        peer_fail(MEDIA_TOO_LARGE);
    image->colorPrimaries = AVIF_COLOR_PRIMARIES_BT709;
    image->transferCharacteristics = AVIF_TRANSFER_CHARACTERISTICS_SRGB;
    image->matrixCoefficients = AVIF_MATRIX_COEFFICIENTS_BT601;
    avif_pixels_of(image, &rgb);
    rgb.ignoreAlpha = bitmap->opaque ? AVIF_TRUE : AVIF_FALSE;
    rgb.pixels = bitmap->pixels;
    rgb.rowBytes = bitmap->width * 4;
    if (avifImageRGBToYUV(image, &rgb) != AVIF_RESULT_OK)
        peer_fail(MEDIA_TOO_LARGE);
    encoder->maxThreads = 1;
    encoder->speed = SPEED;
    encoder->minQuantizer = QUANTIZER;
    encoder->maxQuantizer = QUANTIZER;
    encoder->minQuantizerAlpha = AVIF_QUANTIZER_LOSSLESS;
    encoder->maxQuantizerAlpha = AVIF_QUANTIZER_LOSSLESS;
    /* What can go wrong with any pixels: no memory. */
    if (avifEncoderWrite(encoder, image, &out) != AVIF_RESULT_OK)
        peer_fail(MEDIA_TOO_LARGE);
    peer_piece(out.data, out.size);
}
