/* WebP by libwebp; of a moving picture the first frame. */
#include <stdlib.h>
#include <string.h>
#include <webp/decode.h>
#include <webp/demux.h>
#include <webp/encode.h>

#include "media-sandbox/codec.h"
#include "media-sandbox/color.h"

#define QUALITY    80
#define METHOD     4
#define SHRINK_MAX 64

static void webp_insist(bool ok, enum media_failure failure)
{
    if (!ok)
        peer_fail(failure);
}

static void webp_row(void *arg, uint32_t y, uint8_t *rgba)
{
    const WebPDecBuffer *buffer = arg;

    memcpy(rgba,
           buffer->u.RGBA.rgba + (size_t)y * (size_t)buffer->u.RGBA.stride,
           (size_t)buffer->width * 4);
}

/* A whole picture may be read smaller. */
static void
webp_read_whole(const WebPIterator *first, WebPDecoderConfig *config, struct scale *scale)
{
    unsigned shrink = scale_shrink(scale, SHRINK_MAX);

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
        color_profile(chunk.chunk.bytes, chunk.chunk.size, false);
}

void decode_webp(struct media_source *source, struct scale *scale)
{
    const WebPData data = {peer_read_all(source), (size_t)source->size};
    WebPDemuxer *demuxer = WebPDemux(&data);
    WebPIterator first;
    WebPDecoderConfig config;

    webp_insist(demuxer && WebPDemuxGetFrame(demuxer, 1, &first) && first.complete &&
                    WebPInitDecoderConfig(&config),
                MEDIA_BROKEN);
    scale_check(scale,
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
                status == VP8_STATUS_OUT_OF_MEMORY ? MEDIA_TOO_LARGE : MEDIA_BROKEN);
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
    codec_rows(&frame, scale);
}

/* --- writing --- */

static int webp_on_write(const uint8_t *bytes, size_t count, const WebPPicture *picture)
{
    (void)picture;
    peer_piece(bytes, count);
    return 1;
}

void encode_webp(const struct bitmap *bitmap)
{
    WebPConfig config;
    WebPPicture picture;

    webp_insist(WebPConfigPreset(&config, WEBP_PRESET_DEFAULT, QUALITY) &&
                    WebPPictureInit(&picture),
                MEDIA_BROKEN);
    config.method = METHOD;
    picture.width = (int)bitmap->width;
    picture.height = (int)bitmap->height;
    picture.writer = webp_on_write;
    int stride = (int)bitmap->width * 4;
    webp_insist(bitmap->opaque ? WebPPictureImportRGBX(&picture, bitmap->pixels, stride)
                               : WebPPictureImportRGBA(&picture, bitmap->pixels, stride),
                MEDIA_TOO_LARGE);
    webp_insist(WebPEncode(&config, &picture), MEDIA_TOO_LARGE);
}
