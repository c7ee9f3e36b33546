/* HEIC by libheif (libde265 decodes), in this thread. The planes of the primary picture are
 * converted to rows by the code for AVIF. No plugins are loaded (main.c). */
#include <libde265/de265.h>
#include <libheif/heif.h>
#include <stdlib.h>

#include "media-sandbox/codec.h"
#include "media-sandbox/codec_avif.h"
#include "media-sandbox/color.h"

#define PLANES_BYTES 3 /* a pixel: planes of 8 bits take 1.5, and so does their rotated copy */

/* libheif makes libde265 start a thread, for which the system call filter would end the process.
 * The linker prefers this definition to the library's, so libde265 decodes in the calling thread.
 */
de265_error de265_start_worker_threads(de265_decoder_context *decoder, int number_of_threads)
{
    (void)decoder;
    (void)number_of_threads;
    return DE265_OK;
}

void heif_initialize(void)
{
    (void)heif_init(NULL); /* after a failure libheif refuses each picture */
}

static void heif_insist(struct heif_error error)
{
    if (error.code == heif_error_Ok)
        return;
    if (error.code == heif_error_Unsupported_filetype ||
        error.code == heif_error_Unsupported_feature)
        peer_send_failure(MEDIA_NOT_PICTURE);
    peer_send_failure(error.code == heif_error_Memory_allocation_error ? MEDIA_TOO_LARGE
                                                                       : MEDIA_MALFORMED);
}

static struct heif_image_handle *heif_open(struct media_source *source)
{
    struct heif_context *context = heif_context_alloc();
    struct heif_image_handle *handle;

    if (!context)
        peer_send_failure(MEDIA_TOO_LARGE);
    heif_context_set_max_decoding_threads(context, 0);
    heif_insist(heif_context_read_from_memory_without_copy(
        context, peer_read_all(source), (size_t)source->size, NULL));
    heif_insist(heif_context_get_primary_image_handle(context, &handle));
    return handle;
}

/* Checks that enough memory can be allocated: libheif ends the process when memory runs out. */
static void heif_check_memory(const struct heif_image_handle *handle)
{
    size_t pixels =
        (size_t)heif_image_handle_get_width(handle) * (size_t)heif_image_handle_get_height(handle);
    bool is_deep = heif_image_handle_get_luma_bits_per_pixel(handle) > 8;

    free(peer_alloc(pixels, is_deep ? 2 * PLANES_BYTES : PLANES_BYTES));
}

static void heif_read_profile(const struct heif_image_handle *handle, const avifImage *image)
{
    size_t bytes = heif_image_handle_get_raw_color_profile_size(handle);
    void *profile = bytes > 0 ? peer_alloc(bytes, 1) : NULL;

    if (profile && heif_image_handle_get_raw_color_profile(handle, profile).code == heif_error_Ok)
        color_set_profile(profile, bytes, false);
    else
        avif_read_primaries(image);
    free(profile);
}

/* Sets how planes are converted to colours: by the picture's data, or else its container's. */
static void heif_read_matrix(const struct heif_image_handle *handle,
                             const struct heif_image *picture,
                             avifImage *ret)
{
    struct heif_color_profile_nclx *nclx = NULL;

    ret->yuvRange = AVIF_RANGE_FULL;
    ret->matrixCoefficients = AVIF_MATRIX_COEFFICIENTS_BT601;
    if (heif_image_get_nclx_color_profile(picture, &nclx).code != heif_error_Ok &&
        heif_image_handle_get_nclx_color_profile(handle, &nclx).code != heif_error_Ok)
        return;
    ret->yuvRange = nclx->full_range_flag ? AVIF_RANGE_FULL : AVIF_RANGE_LIMITED;
    ret->matrixCoefficients = (avifMatrixCoefficients)nclx->matrix_coefficients;
    ret->colorPrimaries = (avifColorPrimaries)nclx->color_primaries;
    ret->transferCharacteristics = (avifTransferCharacteristics)nclx->transfer_characteristics;
    heif_nclx_color_profile_free(nclx);
}

static uint8_t *
heif_plane(struct heif_image *picture, enum heif_channel channel, uint32_t *ret_row_bytes)
{
    int row_bytes = 0;
    uint8_t *plane = heif_image_get_plane(picture, channel, &row_bytes);

    *ret_row_bytes = (uint32_t)row_bytes;
    return plane;
}

/* Describes the planes of `picture` as a libavif image, which borrows them. */
static void heif_as_avif(struct heif_image *picture, avifImage *ret)
{
    static const enum heif_channel channels[AVIF_PLANE_COUNT_YUV] = {
        heif_channel_Y, heif_channel_Cb, heif_channel_Cr};

    ret->width = (uint32_t)heif_image_get_width(picture, heif_channel_Y);
    ret->height = (uint32_t)heif_image_get_height(picture, heif_channel_Y);
    ret->depth = (uint32_t)heif_image_get_bits_per_pixel_range(picture, heif_channel_Y);
    ret->yuvFormat = AVIF_PIXEL_FORMAT_YUV420;
    for (size_t i = 0; i < AVIF_PLANE_COUNT_YUV; i++)
        ret->yuvPlanes[i] = heif_plane(picture, channels[i], &ret->yuvRowBytes[i]);
    if (heif_image_has_channel(picture, heif_channel_Alpha))
        ret->alphaPlane = heif_plane(picture, heif_channel_Alpha, &ret->alphaRowBytes);
    ret->alphaPremultiplied = heif_image_is_premultiplied_alpha(picture);
}

void decode_heif(struct media_source *source, struct scale *scale)
{
    struct heif_image_handle *handle = heif_open(source);
    struct heif_image *picture;
    avifImage *image = avifImageCreateEmpty();

    if (!image)
        peer_send_failure(MEDIA_TOO_LARGE);
    heif_check_memory(handle);
    heif_insist(heif_decode_image(handle, &picture, heif_colorspace_YCbCr, heif_chroma_420, NULL));
    heif_as_avif(picture, image);
    heif_read_matrix(handle, picture, image);
    scale_check_size(scale, image->width, image->height);
    heif_read_profile(handle, image);
    scale_begin(scale, image->width, image->height);
    avif_scale_rows(image, scale);
    heif_image_release(picture); /* frees memory for the encoder */
}
