/* WebP by libwebp: still pictures, and the first frame or all frames of animated pictures. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <webp/decode.h>
#include <webp/demux.h>
#include <webp/encode.h>
#include <webp/mux.h>

#include "media-sandbox/codec.h"
#include "media-sandbox/color.h"

#define QUALITY      80
#define METHOD       4
#define METHOD_FRAME 2 /* takes half the time of METHOD for a tenth more bytes */
#define SHRINK_MAX   64

static void webp_insist(bool ok, enum media_failure failure)
{
    if (!ok)
        peer_send_failure(failure);
}

static void webp_row(void *arg, uint32_t y, uint8_t *rgba)
{
    const WebPDecBuffer *buffer = arg;

    memcpy(rgba,
           buffer->u.RGBA.rgba + (size_t)y * (size_t)buffer->u.RGBA.stride,
           (size_t)buffer->width * 4);
}

/* Decodes at a smaller size; possible only if the frame covers the whole canvas. */
static void
webp_read_whole(const WebPIterator *first, WebPDecoderConfig *config, struct scale *scale)
{
    unsigned shrink = scale_decode_factor(scale, SHRINK_MAX);

    if (shrink < 2)
        return;
    config->options.use_scaling = 1;
    config->options.scaled_width = (int)((unsigned)first->width + shrink - 1) / (int)shrink;
    config->options.scaled_height = (int)((unsigned)first->height + shrink - 1) / (int)shrink;
}

static void webp_read_profile(const WebPDemuxer *demuxer)
{
    WebPChunkIterator chunk;

    if (WebPDemuxGetChunk(demuxer, "ICCP", 1, &chunk))
        color_set_profile(chunk.chunk.bytes, chunk.chunk.size, false);
}

void decode_webp(struct media_source *source, struct scale *scale)
{
    const WebPData data = {peer_read_all(source), (size_t)source->size};
    WebPDemuxer *demuxer = WebPDemux(&data);
    WebPIterator first;
    WebPDecoderConfig config;

    webp_insist(demuxer && WebPDemuxGetFrame(demuxer, 1, &first) && first.complete &&
                    WebPInitDecoderConfig(&config),
                MEDIA_MALFORMED);
    scale_check_size(scale,
                     WebPDemuxGetI(demuxer, WEBP_FF_CANVAS_WIDTH),
                     WebPDemuxGetI(demuxer, WEBP_FF_CANVAS_HEIGHT));
    webp_read_profile(demuxer);
    bool whole =
        (uint32_t)first.width == scale->from_width && (uint32_t)first.height == scale->from_height;
    config.output.colorspace = MODE_RGBA;
    if (whole)
        webp_read_whole(&first, &config, scale);
    VP8StatusCode status = WebPDecode(first.fragment.bytes, first.fragment.size, &config);
    webp_insist(status == VP8_STATUS_OK,
                status == VP8_STATUS_OUT_OF_MEMORY ? MEDIA_TOO_LARGE : MEDIA_MALFORMED);
    const struct codec_frame frame = {
        .width = whole ? (uint32_t)config.output.width : scale->from_width,
        .height = whole ? (uint32_t)config.output.height : scale->from_height,
        .left = (uint32_t)first.x_offset,
        .top = (uint32_t)first.y_offset,
        .frame_width = (uint32_t)config.output.width,
        .frame_height = (uint32_t)config.output.height,
        .arg = &config.output,
        .row = webp_row,
    };
    scale_begin(scale, frame.width, frame.height);
    codec_scale_frame(&frame, scale);
}

/* --- all frames --- */

#define EXTENDED_AT    12 /* of the VP8X chunk, which animations begin with: name, length, flags */
#define EXTENDED_BYTES 9
#define ANIMATION_FLAG 0x02

struct webp_frames {
    WebPAnimDecoder *decoder;
    int end_ms; /* of the last frame */
};

static bool webp_next(void *arg, const uint8_t **ret_canvas, uint32_t *ret_ms)
{
    struct webp_frames *frames = arg;
    uint8_t *canvas;
    int end_ms;

    if (!WebPAnimDecoderHasMoreFrames(frames->decoder))
        return false;
    webp_insist(WebPAnimDecoderGetNext(frames->decoder, &canvas, &end_ms), MEDIA_MALFORMED);
    *ret_canvas = canvas;
    *ret_ms = (uint32_t)(end_ms - frames->end_ms);
    frames->end_ms = end_ms;
    return true;
}

static void webp_check(const WebPDemuxer *demuxer)
{
    uint64_t frames = WebPDemuxGetI(demuxer, WEBP_FF_FRAME_COUNT);
    uint64_t width = WebPDemuxGetI(demuxer, WEBP_FF_CANVAS_WIDTH);

    animation_check(frames, frames * width * WebPDemuxGetI(demuxer, WEBP_FF_CANVAS_HEIGHT));
}

bool animation_open_webp(struct media_source *source, struct animation *ret)
{
    static struct webp_frames frames;
    const uint8_t *head = source_at(source, EXTENDED_AT, EXTENDED_BYTES);
    WebPAnimDecoderOptions options;
    WebPAnimInfo info;

    if (!head || memcmp(head, "VP8X", 4) != 0 || (head[8] & ANIMATION_FLAG) == 0)
        return false;
    const WebPData data = {peer_read_all(source), (size_t)source->size};
    WebPDemuxer *demuxer = WebPDemux(&data);
    webp_insist(demuxer != NULL, MEDIA_MALFORMED);
    webp_check(demuxer);
    webp_read_profile(demuxer);
    WebPDemuxDelete(demuxer);
    webp_insist(WebPAnimDecoderOptionsInit(&options), MEDIA_MALFORMED);
    frames.decoder = WebPAnimDecoderNew(&data, &options);
    webp_insist(frames.decoder && WebPAnimDecoderGetInfo(frames.decoder, &info), MEDIA_TOO_LARGE);
    *ret = (struct animation){
        .width = info.canvas_width,
        .height = info.canvas_height,
        .plays = info.loop_count,
        .arg = &frames,
        .next = webp_next,
    };
    return true;
}

/* --- writing --- */

static int webp_on_write(const uint8_t *bytes, size_t count, const WebPPicture *picture)
{
    (void)picture;
    peer_send_chunk(bytes, count);
    return 1;
}

static void
webp_prepare(const struct bitmap *bitmap, int method, WebPConfig *config, WebPPicture *picture)
{
    int stride = (int)bitmap->width * 4;

    webp_insist(WebPConfigPreset(config, WEBP_PRESET_DEFAULT, QUALITY) && WebPPictureInit(picture),
                MEDIA_MALFORMED);
    config->method = method;
    picture->width = (int)bitmap->width;
    picture->height = (int)bitmap->height;
    webp_insist(bitmap->opaque ? WebPPictureImportRGBX(picture, bitmap->pixels, stride)
                               : WebPPictureImportRGBA(picture, bitmap->pixels, stride),
                MEDIA_TOO_LARGE);
}

void encode_webp(const struct bitmap *bitmap)
{
    WebPConfig config;
    WebPPicture picture;

    webp_prepare(bitmap, METHOD, &config, &picture);
    picture.writer = webp_on_write;
    webp_insist(WebPEncode(&config, &picture), MEDIA_TOO_LARGE);
}

struct webp_writer {
    WebPAnimEncoder *encoder;
    int end_ms; /* of the last frame */
};

struct webp_writer *webp_writer_new(uint32_t width, uint32_t height, uint32_t plays)
{
    struct webp_writer *writer = peer_alloc(1, sizeof(*writer));
    WebPAnimEncoderOptions options;

    webp_insist(WebPAnimEncoderOptionsInit(&options), MEDIA_MALFORMED);
    options.anim_params.loop_count = (int)plays;
    *writer = (struct webp_writer){WebPAnimEncoderNew((int)width, (int)height, &options), 0};
    webp_insist(writer->encoder != NULL, MEDIA_TOO_LARGE);
    return writer;
}

void webp_writer_add(struct webp_writer *writer, const struct bitmap *bitmap, uint32_t ms)
{
    WebPConfig config;
    WebPPicture picture;

    webp_insist(ms <= (uint32_t)(INT_MAX - writer->end_ms), MEDIA_TOO_LARGE);
    webp_prepare(bitmap, METHOD_FRAME, &config, &picture);
    webp_insist(WebPAnimEncoderAdd(writer->encoder, &picture, writer->end_ms, &config),
                MEDIA_TOO_LARGE);
    WebPPictureFree(&picture);
    writer->end_ms += (int)ms;
}

void webp_writer_end(struct webp_writer *writer)
{
    WebPData data;

    webp_insist(WebPAnimEncoderAdd(writer->encoder, NULL, writer->end_ms, NULL) &&
                    WebPAnimEncoderAssemble(writer->encoder, &data),
                MEDIA_TOO_LARGE);
    peer_send_chunk(data.bytes, data.size);
}
