/* TIFF by libtiff: the first picture of a file, one strip or one row of tiles at a time. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <tiffio.h>

#include "base/result.h"
#include "media-sandbox/codec.h"
#include "media-sandbox/color.h"

#define TEXT_BYTES 1024

struct input {
    const uint8_t *bytes;
    toff_t size, at;
    bool is_short_of_memory; /* an error message of the library mentions memory */
};

static tmsize_t tiff_on_read(thandle_t arg, void *into, tmsize_t count)
{
    struct input *input = arg;
    toff_t rest = input->at < input->size ? input->size - input->at : 0;
    toff_t some = count > 0 && (toff_t)count < rest ? (toff_t)count : count > 0 ? rest : 0;

    if (some > 0)
        memcpy(into, input->bytes + input->at, some);
    input->at += some;
    return (tmsize_t)some;
}

static tmsize_t tiff_on_write(thandle_t arg UNUSED, void *from UNUSED, tmsize_t count UNUSED)
{
    return 0;
}

static toff_t tiff_on_seek(thandle_t arg, toff_t offset, int whence)
{
    struct input *input = arg;

    input->at = whence == SEEK_SET   ? offset
                : whence == SEEK_CUR ? input->at + offset
                                     : input->size + offset;
    return input->at;
}

static int tiff_on_close(thandle_t arg UNUSED)
{
    return 0;
}

static toff_t tiff_on_size(thandle_t arg)
{
    const struct input *input = arg;

    return input->size;
}

/* libtiff continues after many of its errors, so only the results of its functions are checked. */
static int tiff_on_error(TIFF *tiff UNUSED,
                         void *arg,
                         const char *module UNUSED,
                         const char *format,
                         va_list args UNUSED)
{
    struct input *input = arg;

    if (strcasestr(format, "memory") || strcasestr(format, "alloc"))
        input->is_short_of_memory = true;
    return 1;
}

static int tiff_on_warning(TIFF *tiff UNUSED,
                           void *arg UNUSED,
                           const char *module UNUSED,
                           const char *format UNUSED,
                           va_list args UNUSED)
{
    return 1;
}

static void tiff_insist(const struct input *input, bool ok)
{
    if (!ok)
        peer_send_failure(input->is_short_of_memory ? MEDIA_TOO_LARGE : MEDIA_MALFORMED);
}

static TIFF *tiff_open(struct input *input)
{
    TIFFOpenOptions *options = TIFFOpenOptionsAlloc();

    if (!options)
        peer_send_failure(MEDIA_TOO_LARGE);
    TIFFOpenOptionsSetErrorHandlerExtR(options, tiff_on_error, input);
    TIFFOpenOptionsSetWarningHandlerExtR(options, tiff_on_warning, NULL);
    TIFF *tiff = TIFFClientOpenExt("", /* the mode's "m": no memory mapping */
                                   "rm",
                                   input,
                                   tiff_on_read,
                                   tiff_on_write,
                                   tiff_on_seek,
                                   tiff_on_close,
                                   tiff_on_size,
                                   NULL,
                                   NULL,
                                   options);
    TIFFOpenOptionsFree(options);
    tiff_insist(input, tiff != NULL);
    return tiff;
}

/* libtiff reads more compressions, but few pictures use them and each adds attack surface. */
static bool tiff_is_read_by_us(TIFF *tiff)
{
    static const uint16_t known[] = {
        COMPRESSION_NONE,
        COMPRESSION_CCITTRLE,
        COMPRESSION_CCITTFAX3,
        COMPRESSION_CCITTFAX4,
        COMPRESSION_LZW,
        COMPRESSION_JPEG,
        COMPRESSION_ADOBE_DEFLATE,
        COMPRESSION_DEFLATE,
        COMPRESSION_PACKBITS,
    };
    char text[TEXT_BYTES];
    uint16_t compression = 0;

    (void)TIFFGetFieldDefaulted(tiff, TIFFTAG_COMPRESSION, &compression);
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (compression == known[i])
            return TIFFRGBAImageOK(tiff, text) == 1;
    return false;
}

/* Ignores profiles of CMYK and L*a*b* pictures: libtiff converts these to RGB itself. */
static void tiff_read_profile(TIFF *tiff, uint16_t photometric)
{
    uint32_t bytes = 0;
    void *profile = NULL;
    bool is_gray = photometric == PHOTOMETRIC_MINISBLACK || photometric == PHOTOMETRIC_MINISWHITE;
    bool is_rgb = photometric == PHOTOMETRIC_RGB || photometric == PHOTOMETRIC_YCBCR ||
                  photometric == PHOTOMETRIC_PALETTE;

    if ((is_gray || is_rgb) && TIFFGetField(tiff, TIFFTAG_ICCPROFILE, &bytes, &profile) == 1)
        color_set_profile(profile, bytes, is_gray);
}

/* Returns how many rows to read at once, so that no strip or tile is decoded twice. */
static uint32_t tiff_rows(TIFF *tiff, uint32_t height)
{
    uint32_t rows = 0;

    (void)TIFFGetFieldDefaulted(
        tiff, TIFFIsTiled(tiff) ? TIFFTAG_TILELENGTH : TIFFTAG_ROWSPERSTRIP, &rows);
    return rows > 0 && rows < height ? rows : height;
}

/* Divides colours by alpha: libtiff returns premultiplied pixels. */
static void tiff_divide(uint8_t *rgba, size_t count)
{
    for (; count > 0; count--, rgba += 4)
        for (int i = 0; i < 3 && rgba[3] > 0 && rgba[3] < 255; i++)
            rgba[i] = (uint8_t)(rgba[i] < rgba[3] ? rgba[i] * 255 / rgba[3] : 255);
}

void decode_tiff(struct media_source *source, struct scale *scale)
{
    static struct input input;
    TIFFRGBAImage image;
    char text[TEXT_BYTES];

    input = (struct input){.bytes = peer_read_all(source), .size = (toff_t)source->size};
    TIFF *tiff = tiff_open(&input);
    if (!tiff_is_read_by_us(tiff))
        peer_send_failure(MEDIA_NOT_PICTURE);
    tiff_insist(&input, TIFFRGBAImageBegin(&image, tiff, 1, text) == 1);
    scale_check_size(scale, image.width, image.height);
    tiff_read_profile(tiff, image.photometric);
    image.orientation = image.req_orientation = ORIENTATION_TOPLEFT; /* bitmap_rotate() rotates */
    uint32_t most = tiff_rows(tiff, image.height);
    uint32_t *pixels = peer_alloc((size_t)image.width * most, sizeof(*pixels));
    scale_begin(scale, image.width, image.height);
    for (uint32_t y = 0; y < image.height; y += most) {
        uint32_t rows = image.height - y < most ? image.height - y : most;
        uint8_t *at = (uint8_t *)pixels; /* RGBA on little-endian machines */

        image.row_offset = (int)y;
        tiff_insist(&input, TIFFRGBAImageGet(&image, pixels, image.width, rows) == 1);
        if (image.alpha)
            tiff_divide(at, (size_t)image.width * rows);
        for (uint32_t row = 0; row < rows; row++, at += (size_t)image.width * 4)
            scale_add_row(scale, at);
    }
}
