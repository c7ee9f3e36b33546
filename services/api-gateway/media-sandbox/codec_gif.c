/* The first picture of a GIF, by giflib. */
#include <gif_lib.h>
#include <string.h>

#include "base/result.h"
#include "media-sandbox/codec.h"

#define GRAPHICS_BYTES 4
#define NO_COLOR       (-1)

struct input {
    struct media_source *source;
    int64_t at;
};

struct first {
    GifFileType *gif;
    const ColorMapObject *colors;
    int transparent;
    uint8_t *places; /* of its colours, row by row */
};

static int gif_on_read(GifFileType *gif, GifByteType *into, int count)
{
    struct input *input = gif->UserData;
    const uint8_t *bytes = NULL;
    size_t some = 0;

    if (count > 0)
        some = source_some(input->source, input->at, (size_t)count, &bytes);
    if (some > 0)
        memcpy(into, bytes, some);
    input->at += (int64_t)some;
    return (int)some;
}

static void gif_insist(bool ok)
{
    if (!ok)
        peer_fail(MEDIA_BROKEN);
}

/* What stands before the first picture: which colour is none. */
static void gif_read_extension(struct first *first)
{
    GifByteType *bytes = NULL;
    int code;

    gif_insist(DGifGetExtension(first->gif, &code, &bytes) == GIF_OK);
    while (bytes) {
        GraphicsControlBlock block;
        if (code == GRAPHICS_EXT_FUNC_CODE && bytes[0] == GRAPHICS_BYTES &&
            DGifExtensionToGCB(bytes[0], bytes + 1, &block) == GIF_OK)
            first->transparent = block.TransparentColor;
        gif_insist(DGifGetExtensionNext(first->gif, &bytes) == GIF_OK);
    }
}

static void gif_read_places(struct first *first)
{
    static const struct {
        int from, step;
    } passes[] = {{0, 8}, {4, 8}, {2, 4}, {1, 2}};
    const GifImageDesc *image = &first->gif->Image;
    size_t width = (size_t)image->Width;

    first->places = peer_alloc(width * (size_t)image->Height, 1);
    if (!image->Interlace) {
        for (int y = 0; y < image->Height; y++)
            gif_insist(DGifGetLine(first->gif, first->places + (size_t)y * width, image->Width) ==
                       GIF_OK);
        return;
    }
    for (size_t pass = 0; pass < ARRAY_LEN(passes); pass++)
        for (int y = passes[pass].from; y < image->Height; y += passes[pass].step)
            gif_insist(DGifGetLine(first->gif, first->places + (size_t)y * width, image->Width) ==
                       GIF_OK);
}

static void gif_row(void *arg, uint32_t y, uint8_t *rgba)
{
    const struct first *first = arg;
    uint32_t width = (uint32_t)first->gif->Image.Width;
    const uint8_t *places = first->places + (size_t)y * width;

    for (uint32_t x = 0; x < width; x++, rgba += 4) {
        bool seen = places[x] != first->transparent && places[x] < first->colors->ColorCount;
        const GifColorType *color = seen ? &first->colors->Colors[places[x]] : NULL;

        rgba[0] = seen ? color->Red : 0;
        rgba[1] = seen ? color->Green : 0;
        rgba[2] = seen ? color->Blue : 0;
        rgba[3] = seen ? 255 : 0;
    }
}

void decode_gif(struct media_source *source, struct scale *scale)
{
    struct input input = {.source = source};
    struct first first = {.transparent = NO_COLOR};
    GifRecordType record = UNDEFINED_RECORD_TYPE;
    int error;

    first.gif = DGifOpen(&input, gif_on_read, &error);
    gif_insist(first.gif != NULL);
    while (record != IMAGE_DESC_RECORD_TYPE) {
        gif_insist(DGifGetRecordType(first.gif, &record) == GIF_OK);
        gif_insist(record == IMAGE_DESC_RECORD_TYPE || record == EXTENSION_RECORD_TYPE);
        if (record == EXTENSION_RECORD_TYPE)
            gif_read_extension(&first);
    }
    gif_insist(DGifGetImageDesc(first.gif) == GIF_OK);
    const GifImageDesc *image = &first.gif->Image;
    first.colors = image->ColorMap ? image->ColorMap : first.gif->SColorMap;
    gif_insist(first.colors != NULL && image->Width > 0 && image->Height > 0 && image->Left >= 0 &&
               image->Top >= 0);
    if ((uint64_t)image->Width * (uint64_t)image->Height > MEDIA_PIXELS_LIMIT)
        peer_fail(MEDIA_TOO_LARGE);
    gif_read_places(&first);
    scale_begin(scale, scale->from_width, scale->from_height);
    const struct codec_frame frame = {
        .width = scale->from_width,
        .height = scale->from_height,
        .left = (uint32_t)image->Left,
        .top = (uint32_t)image->Top,
        .frame_width = (uint32_t)image->Width,
        .frame_height = (uint32_t)image->Height,
        .arg = &first,
        .row = gif_row,
    };
    codec_rows(&frame, scale);
}
