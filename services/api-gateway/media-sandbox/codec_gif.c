/* GIF by giflib: the first frame, or all frames as they are shown. */
#include <gif_lib.h>
#include <stdlib.h>
#include <string.h>

#include "base/result.h"
#include "media-sandbox/codec.h"

#define GRAPHICS_BYTES 4
#define NO_COLOR       (-1)
#define DELAY_MS       10 /* the unit of delays is a hundredth of a second */
#define LOOPS_NAME     11
#define LOOPS_BYTES    3
#define LOOPS_FOREVER  0

/* --- the file --- */

struct input {
    const uint8_t *bytes;
    size_t size, at;
};

struct graphic {
    GifFileType *gif;
    struct input input;
    GraphicsControlBlock control; /* of the next frame */
    const ColorMapObject *colors;
    uint8_t *indexes; /* the frame's palette indexes, row by row */
    bool is_loop;     /* the current extension says how often the picture plays */
    uint32_t plays;
};

static int gif_on_read(GifFileType *gif, GifByteType *into, int count)
{
    struct graphic *graphic = gif->UserData;
    struct input *input = &graphic->input;
    size_t rest = input->size - input->at;
    size_t some = count > 0 && (size_t)count < rest ? (size_t)count : count > 0 ? rest : 0;

    memcpy(into, input->bytes + input->at, some);
    input->at += some;
    return (int)some;
}

static void gif_insist(bool ok)
{
    if (!ok)
        peer_send_failure(MEDIA_MALFORMED);
}

/* Opens the file at its first byte. The file's bytes are read only once per process. */
static void gif_open(struct graphic *graphic, struct media_source *source)
{
    static const uint8_t *bytes;
    int error;

    if (!bytes)
        bytes = peer_read_all(source);
    *graphic = (struct graphic){
        .input = {bytes, (size_t)source->size, 0},
        .control = {.TransparentColor = NO_COLOR},
        .plays = 1,
    };
    graphic->gif = DGifOpen(graphic, gif_on_read, &error);
    gif_insist(graphic->gif != NULL);
}

static void gif_close(struct graphic *graphic)
{
    int error;

    free(graphic->indexes);
    graphic->indexes = NULL;
    (void)DGifCloseFile(graphic->gif, &error);
}

/* Browsers play a picture once more often than the NETSCAPE extension says. */
static void gif_read_loops(struct graphic *graphic, const GifByteType *bytes)
{
    if (bytes[0] == LOOPS_NAME)
        graphic->is_loop = memcmp(bytes + 1, "NETSCAPE2.0", LOOPS_NAME) == 0 ||
                           memcmp(bytes + 1, "ANIMEXTS1.0", LOOPS_NAME) == 0;
    if (bytes[0] != LOOPS_BYTES || bytes[1] != 1 || !graphic->is_loop)
        return;
    uint32_t loops = (uint32_t)bytes[2] | (uint32_t)bytes[3] << 8;
    graphic->plays = loops == LOOPS_FOREVER || loops == UINT16_MAX ? loops : loops + 1;
}

/* Reads the next frame's transparent colour, delay and disposal method, or the number of plays. */
static void gif_read_extension(struct graphic *graphic)
{
    GifByteType *bytes = NULL;
    int code;

    graphic->is_loop = false;
    gif_insist(DGifGetExtension(graphic->gif, &code, &bytes) == GIF_OK);
    while (bytes) {
        if (code == GRAPHICS_EXT_FUNC_CODE && bytes[0] == GRAPHICS_BYTES)
            (void)DGifExtensionToGCB(bytes[0], bytes + 1, &graphic->control);
        else if (code == APPLICATION_EXT_FUNC_CODE)
            gif_read_loops(graphic, bytes);
        gif_insist(DGifGetExtensionNext(graphic->gif, &bytes) == GIF_OK);
    }
}

/* Reads up to and including the next frame's header. Returns false after the last frame. */
static bool gif_next_head(struct graphic *graphic)
{
    GifRecordType record = UNDEFINED_RECORD_TYPE;
    const GifImageDesc *image = &graphic->gif->Image;

    while (record != IMAGE_DESC_RECORD_TYPE) {
        if (DGifGetRecordType(graphic->gif, &record) != GIF_OK) {
            gif_insist(graphic->gif->ImageCount > 0); /* some encoders omit the trailer */
            return false;
        }
        if (record == TERMINATE_RECORD_TYPE)
            return false;
        gif_insist(record == IMAGE_DESC_RECORD_TYPE || record == EXTENSION_RECORD_TYPE);
        if (record == EXTENSION_RECORD_TYPE)
            gif_read_extension(graphic);
    }
    gif_insist(DGifGetImageDesc(graphic->gif) == GIF_OK);
    graphic->colors = image->ColorMap ? image->ColorMap : graphic->gif->SColorMap;
    gif_insist(graphic->colors != NULL && image->Width > 0 && image->Height > 0 &&
               image->Left >= 0 && image->Top >= 0);
    return true;
}

static uint64_t gif_frame_pixels(const struct graphic *graphic)
{
    return (uint64_t)graphic->gif->Image.Width * (uint64_t)graphic->gif->Image.Height;
}

static void gif_read_line(struct graphic *graphic, int y)
{
    int width = graphic->gif->Image.Width;

    gif_insist(DGifGetLine(graphic->gif, graphic->indexes + (size_t)y * (size_t)width, width) ==
               GIF_OK);
}

static void gif_read_indexes(struct graphic *graphic)
{
    static const struct {
        int from, step;
    } passes[] = {{0, 8}, {4, 8}, {2, 4}, {1, 2}};
    const GifImageDesc *image = &graphic->gif->Image;

    free(graphic->indexes);
    graphic->indexes = peer_alloc((size_t)image->Width * (size_t)image->Height, 1);
    if (!image->Interlace) {
        for (int y = 0; y < image->Height; y++)
            gif_read_line(graphic, y);
        return;
    }
    for (size_t pass = 0; pass < ARRAY_LEN(passes); pass++)
        for (int y = passes[pass].from; y < image->Height; y += passes[pass].step)
            gif_read_line(graphic, y);
}

static void gif_row(void *arg, uint32_t y, uint8_t *rgba)
{
    const struct graphic *graphic = arg;
    uint32_t width = (uint32_t)graphic->gif->Image.Width;
    const uint8_t *places = graphic->indexes + (size_t)y * width;

    for (uint32_t x = 0; x < width; x++, rgba += 4) {
        bool seen = places[x] != graphic->control.TransparentColor &&
                    places[x] < graphic->colors->ColorCount;
        const GifColorType *color = seen ? &graphic->colors->Colors[places[x]] : NULL;

        rgba[0] = seen ? color->Red : 0;
        rgba[1] = seen ? color->Green : 0;
        rgba[2] = seen ? color->Blue : 0;
        rgba[3] = seen ? 255 : 0;
    }
}

/* --- the first frame --- */

void decode_gif(struct media_source *source, struct scale *scale)
{
    struct graphic graphic;

    gif_open(&graphic, source);
    gif_insist(gif_next_head(&graphic));
    if (gif_frame_pixels(&graphic) > MEDIA_PIXELS_LIMIT)
        peer_send_failure(MEDIA_TOO_LARGE);
    gif_read_indexes(&graphic);
    scale_begin(scale, scale->from_width, scale->from_height);
    const GifImageDesc *image = &graphic.gif->Image;
    const struct codec_frame frame = {
        .width = scale->from_width,
        .height = scale->from_height,
        .left = (uint32_t)image->Left,
        .top = (uint32_t)image->Top,
        .frame_width = (uint32_t)image->Width,
        .frame_height = (uint32_t)image->Height,
        .arg = &graphic,
        .row = gif_row,
    };
    codec_scale_frame(&frame, scale);
}

/* --- all frames --- */

struct area {
    uint32_t left, top, right, bottom;
};

struct gif_frames {
    struct graphic graphic;
    uint32_t width, height;
    uint8_t *canvas;       /* RGBA */
    uint8_t *saved_canvas; /* RGBA; the canvas to restore after DISPOSE_PREVIOUS */
    int disposal;          /* of the frame that is shown */
    struct area area;      /* of the frame that is shown */
};

static size_t canvas_bytes(const struct gif_frames *frames)
{
    return (size_t)frames->width * frames->height * 4;
}

/* Returns the part of the frame that lies inside of the canvas. */
static struct area frame_area(const struct gif_frames *frames)
{
    const GifImageDesc *image = &frames->graphic.gif->Image;
    uint32_t right = (uint32_t)(image->Left + image->Width);
    uint32_t bottom = (uint32_t)(image->Top + image->Height);

    return (struct area){
        .left = (uint32_t)image->Left < frames->width ? (uint32_t)image->Left : frames->width,
        .top = (uint32_t)image->Top < frames->height ? (uint32_t)image->Top : frames->height,
        .right = right < frames->width ? right : frames->width,
        .bottom = bottom < frames->height ? bottom : frames->height,
    };
}

static void frame_dispose(struct gif_frames *frames)
{
    const struct area *area = &frames->area;

    if (frames->disposal == DISPOSE_PREVIOUS) {
        memcpy(frames->canvas, frames->saved_canvas, canvas_bytes(frames));
        return;
    }
    if (frames->disposal != DISPOSE_BACKGROUND) /* browsers clear the background to transparent */
        return;
    for (uint32_t y = area->top; y < area->bottom; y++)
        memset(frames->canvas + ((size_t)y * frames->width + area->left) * 4,
               0,
               (size_t)(area->right - area->left) * 4);
}

/* Saves the canvas if frame_dispose() has to restore it after the frame. */
static void frame_save_canvas(struct gif_frames *frames)
{
    if (frames->disposal != DISPOSE_PREVIOUS)
        return;
    if (!frames->saved_canvas)
        frames->saved_canvas = peer_alloc(canvas_bytes(frames), 1);
    memcpy(frames->saved_canvas, frames->canvas, canvas_bytes(frames));
}

static void frame_draw(struct gif_frames *frames)
{
    const struct area *area = &frames->area;
    uint8_t *row = peer_alloc((size_t)frames->graphic.gif->Image.Width, 4);

    for (uint32_t y = area->top; y < area->bottom; y++) {
        uint8_t *at = frames->canvas + ((size_t)y * frames->width + area->left) * 4;
        const uint8_t *from = row;

        gif_row(&frames->graphic, y - (uint32_t)frames->graphic.gif->Image.Top, row);
        for (uint32_t x = area->left; x < area->right; x++, at += 4, from += 4)
            if (from[3] > 0)
                memcpy(at, from, 4);
    }
    free(row);
}

static bool gif_next(void *arg, const uint8_t **ret_canvas, uint32_t *ret_ms)
{
    struct gif_frames *frames = arg;
    struct graphic *graphic = &frames->graphic;

    frame_dispose(frames);
    graphic->control = (GraphicsControlBlock){.TransparentColor = NO_COLOR};
    if (!gif_next_head(graphic))
        return false;
    gif_read_indexes(graphic);
    frames->disposal = graphic->control.DisposalMode;
    frames->area = frame_area(frames);
    frame_save_canvas(frames);
    frame_draw(frames);
    *ret_canvas = frames->canvas;
    *ret_ms = (uint32_t)graphic->control.DelayTime * DELAY_MS;
    return true;
}

static void gif_skip_indexes(struct graphic *graphic)
{
    GifByteType *bytes = NULL;
    int bits;

    gif_insist(DGifGetCode(graphic->gif, &bits, &bytes) == GIF_OK);
    while (bytes)
        gif_insist(DGifGetCodeNext(graphic->gif, &bytes) == GIF_OK);
}

/* Counts the frames. `plays` is only known after the last frame. */
static uint32_t gif_count_frames(struct graphic *graphic)
{
    uint64_t canvas = (uint64_t)graphic->gif->SWidth * (uint64_t)graphic->gif->SHeight;
    uint64_t pixels = 0;
    uint32_t frames = 0;

    while (gif_next_head(graphic)) {
        pixels += gif_frame_pixels(graphic) > canvas ? gif_frame_pixels(graphic) : canvas;
        if (++frames > 1)
            animation_check(frames, pixels);
        gif_skip_indexes(graphic);
    }
    return frames;
}

bool animation_open_gif(struct media_source *source, struct animation *ret)
{
    static struct gif_frames frames;
    struct graphic heads;

    gif_open(&heads, source);
    uint32_t count = gif_count_frames(&heads);
    *ret = (struct animation){
        .width = (uint32_t)heads.gif->SWidth,
        .height = (uint32_t)heads.gif->SHeight,
        .plays = heads.plays,
        .arg = &frames,
        .next = gif_next,
    };
    gif_close(&heads);
    if (count < 2)
        return false;
    gif_open(&frames.graphic, source);
    frames.width = ret->width;
    frames.height = ret->height;
    frames.canvas = peer_alloc(canvas_bytes(&frames), 1);
    memset(frames.canvas, 0, canvas_bytes(&frames));
    return true;
}
