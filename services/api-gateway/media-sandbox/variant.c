/* Plans which part of a picture a request needs, decodes it, and encodes the variant. */
#include "media-sandbox/variant.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/result.h"
#include "media-sandbox/codec.h"
#include "media-sandbox/color.h"

#define NO_TIME_MS 100 /* browsers show a frame of 0 ms this long */

/* The variant's geometry, after EXIF rotation. */
struct plan {
    uint32_t width, height;                /* of the variant */
    uint32_t inner_width, inner_height;    /* of the picture in the variant */
    double part_x, part_y, part_w, part_h; /* of the rotated picture, in its pixels */
};

static uint32_t checked_side(double value)
{
    double rounded = round(value);

    if (rounded > MEDIA_SIDE_LIMIT)
        peer_send_failure(MEDIA_TOO_LARGE);
    return rounded < 1 ? 1 : (uint32_t)rounded;
}

/* Makes the inner picture as large as fits into the box, in the picture's proportions. */
static void plan_inside(struct plan *plan, double width, double height, double box_w, double box_h)
{
    double ratio = fmin(box_w / width, box_h / height);

    plan->inner_width = checked_side(width * ratio);
    plan->inner_height = checked_side(height * ratio);
}

static void plan_cover(struct plan *plan, double width, double height)
{
    double ratio = fmax(plan->width / width, plan->height / height);

    plan->part_w = fmin(plan->width / ratio, width);
    plan->part_h = fmin(plan->height / ratio, height);
    plan->part_x = (width - plan->part_w) / 2;
    plan->part_y = (height - plan->part_h) / 2;
}

/* Returns the scaling ratio. The picture is enlarged to the requested sides, except with
 * MEDIA_INSIDE. */
static double ratio_inside(const struct media_request *request, double width, double height)
{
    double across = request->width > 0 ? request->width / width : INFINITY;
    double down = request->height > 0 ? request->height / height : INFINITY;
    double ratio = fmin(across, down);

    return isinf(ratio) || (request->fit == MEDIA_INSIDE && ratio > 1) ? 1 : ratio;
}

static struct plan plan_make(const struct media_request *request, const struct media_facts *facts)
{
    struct plan plan = {.part_w = facts->width, .part_h = facts->height};
    double width = facts->width;
    double height = facts->height;
    bool is_box = request->width > 0 && request->height > 0;

    if (!is_box || request->fit == MEDIA_INSIDE) {
        double ratio = ratio_inside(request, width, height);

        plan.width = plan.inner_width = checked_side(width * ratio);
        plan.height = plan.inner_height = checked_side(height * ratio);
        return plan;
    }
    plan.width = plan.inner_width = checked_side(request->width);
    plan.height = plan.inner_height = checked_side(request->height);
    if (request->fit == MEDIA_CONTAIN)
        plan_inside(&plan, width, height, plan.width, plan.height);
    else if (request->fit == MEDIA_COVER)
        plan_cover(&plan, width, height);
    return plan;
}

/* --- EXIF orientation --- */

static bool is_quarter_turn(unsigned orientation)
{
    return orientation >= 5;
}

/* Return whether the orientation mirrors the stored picture along an axis (EXIF 2.32). */
static bool mirrors_x(unsigned orientation)
{
    return orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
}

static bool mirrors_y(unsigned orientation)
{
    return orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
}

/* Returns the scaler for the part in stored, unrotated coordinates. */
static struct scale
stored_part(const struct plan *plan, const struct media_facts *facts, unsigned orientation)
{
    double width = facts->width;
    double height = facts->height;
    double x = plan->part_x; /* parts are centred, so mirroring does not move them */
    double y = plan->part_y;

    if (!is_quarter_turn(orientation))
        return (struct scale){facts->width,
                              facts->height,
                              x,
                              y,
                              plan->part_w,
                              plan->part_h,
                              plan->inner_width,
                              plan->inner_height,
                              NULL,
                              true,
                              NULL};
    return (struct scale){(uint32_t)height,
                          (uint32_t)width,
                          y,
                          x,
                          plan->part_h,
                          plan->part_w,
                          plan->inner_height,
                          plan->inner_width,
                          NULL,
                          true,
                          NULL};
}

/* Rotates the scaled pixels and centres them in a bitmap of the plan's size. */
static struct bitmap
bitmap_rotate(const struct plan *plan, const struct scale *scale, unsigned orientation)
{
    struct bitmap seen = {
        .width = plan->width,
        .height = plan->height,
        .opaque =
            scale->opaque && plan->inner_width == plan->width && plan->inner_height == plan->height,
    };
    uint32_t left = (plan->width - plan->inner_width) / 2;
    uint32_t top = (plan->height - plan->inner_height) / 2;
    const uint8_t *from = scale->pixels;

    seen.pixels = peer_alloc((size_t)seen.width * seen.height, 4);
    memset(seen.pixels, 0, (size_t)seen.width * seen.height * 4);
    for (uint32_t y = 0; y < scale->to_height; y++) {
        for (uint32_t x = 0; x < scale->to_width; x++, from += 4) {
            uint32_t to_x = mirrors_x(orientation) ? scale->to_width - 1 - x : x;
            uint32_t to_y = mirrors_y(orientation) ? scale->to_height - 1 - y : y;
            if (is_quarter_turn(orientation)) {
                to_x = mirrors_y(orientation) ? scale->to_height - 1 - y : y;
                to_y = mirrors_x(orientation) ? scale->to_width - 1 - x : x;
            }
            memcpy(seen.pixels + ((size_t)(top + to_y) * seen.width + left + to_x) * 4, from, 4);
        }
    }
    return seen;
}

/* Returns the scaled pixels rotated and in sRGB; frees the scaler. */
static struct bitmap
variant_show(const struct plan *plan, struct scale *scale, unsigned orientation)
{
    scale_end(scale);
    color_convert(scale->pixels, (size_t)scale->to_width * scale->to_height);
    struct bitmap bitmap = bitmap_rotate(plan, scale, orientation);
    scale_free(scale);
    return bitmap;
}

/* --- the variant --- */

/* Blends transparent pixels with white, for formats without transparency. */
static void bitmap_flatten(struct bitmap *bitmap)
{
    uint8_t *at = bitmap->pixels;
    size_t count = (size_t)bitmap->width * bitmap->height;

    for (size_t i = 0; i < count && !bitmap->opaque; i++, at += 4) {
        for (int n = 0; n < 3; n++)
            at[n] = (uint8_t)((at[n] * at[3] + 255 * (255 - at[3]) + 127) / 255);
        at[3] = 255;
    }
    bitmap->opaque = true;
}

/* Makes an animated WebP of all frames. Returns false if the picture or its variant is a still. */
static bool variant_animate(const struct media_request *request,
                            struct media_source *source,
                            const struct media_facts *facts,
                            const struct plan *plan)
{
    static bool (*const openers[])(struct media_source * source, struct animation * ret) = {
        [MEDIA_GIF] = animation_open_gif,
        [MEDIA_WEBP] = animation_open_webp,
    };
    struct animation animation;
    const uint8_t *canvas;
    uint32_t ms;

    if (request->format != MEDIA_WEBP || request->is_still || facts->kind >= ARRAY_LEN(openers) ||
        !openers[facts->kind] || !openers[facts->kind](source, &animation))
        return false;
    struct webp_writer *writer = webp_writer_new(plan->width, plan->height, animation.plays);
    for (uint64_t frames = 1; animation.next(animation.arg, &canvas, &ms); frames++) {
        struct scale scale = stored_part(plan, facts, facts->orientation);

        animation_check(frames, frames * plan->width * plan->height);
        scale_check_size(&scale, animation.width, animation.height);
        scale_begin(&scale, scale.from_width, scale.from_height);
        for (uint32_t y = 0; y < scale.from_height; y++)
            scale_add_row(&scale, canvas + (size_t)y * scale.from_width * 4);
        struct bitmap bitmap = variant_show(plan, &scale, facts->orientation);
        webp_writer_add(writer, &bitmap, ms > 0 ? ms : NO_TIME_MS);
        free(bitmap.pixels);
    }
    webp_writer_end(writer);
    return true;
}

static void variant_draw(const struct media_request *request,
                         struct media_source *source,
                         const struct media_facts *facts,
                         const struct plan *plan)
{
    static const struct {
        void (*decode)(struct media_source *source, struct scale *scale);
        bool rotates; /* the decoder rotates the picture itself */
    } decoders[] = {
        [MEDIA_PNG] = {.decode = decode_png},
        [MEDIA_JPEG] = {.decode = decode_jpeg},
        [MEDIA_GIF] = {.decode = decode_gif},
        [MEDIA_WEBP] = {.decode = decode_webp},
        [MEDIA_AVIF] = {.decode = decode_avif},
        [MEDIA_TIFF] = {.decode = decode_tiff},
        [MEDIA_HEIC] = {.decode = decode_heif, .rotates = true},
    };
    if (!decoders[facts->kind].decode)
        peer_send_failure(MEDIA_NOT_PICTURE);
    unsigned orientation = decoders[facts->kind].rotates ? 1 : facts->orientation;
    struct scale scale = stored_part(plan, facts, orientation);

    decoders[facts->kind].decode(source, &scale);
    struct bitmap bitmap = variant_show(plan, &scale, orientation);
    if (request->format == MEDIA_JPEG)
        bitmap_flatten(&bitmap);
    if (request->format == MEDIA_JPEG)
        encode_jpeg(&bitmap);
    else if (request->format == MEDIA_WEBP)
        encode_webp(&bitmap);
    else if (request->format == MEDIA_AVIF)
        encode_avif(&bitmap);
    else
        encode_png(&bitmap);
}

void variant_make(const struct media_request *request,
                  struct media_source *source,
                  const struct media_facts *facts)
{
    if (!media_is_picture(facts->kind))
        peer_send_failure(MEDIA_NOT_PICTURE);
    if (facts->width == 0 || facts->height == 0)
        peer_send_failure(MEDIA_MALFORMED);
    if ((uint64_t)facts->width * facts->height > MEDIA_PIXELS_LIMIT ||
        source->size > MEDIA_INPUT_LIMIT)
        peer_send_failure(MEDIA_TOO_LARGE);
    const struct plan plan = plan_make(request, facts);
    if (!variant_animate(request, source, facts, &plan))
        variant_draw(request, source, facts, &plan);
    peer_send_done(&(struct media_facts){
        .kind = request->format,
        .orientation = 1,
        .width = plan.width,
        .height = plan.height,
    });
}
