/* Pictures of charts: /charts/{id}/image.svg and .png, as the caller sees the records. */
#include <errno.h>
#include <stdlib.h>

#include "areas/dashboards/chart_draw.h"
#include "areas/dashboards/dashboards.h"
#include "base/num.h"
#include "loop/shares.h"
#include "loop/work.h"
#include "stages/refusals.h"

#define WIDTH           800
#define HEIGHT          450
#define PIXEL_BYTES     4
#define PICTURE_BYTES   ((uint64_t)12 << 20) /* of all pictures that are being drawn in a process */
#define PICTURE_WAITING 32
/* Bytes that a picture needs in addition to its pixels: fonts, and the encoded result. */
#define PICTURE_BASE_BYTES ((uint64_t)256 << 10)

static const char *const image_themes[] = {"light", "dark", NULL};

/* clang-format off */
#define SIDE_PARAM(side, usual)                                                                    \
    {.name = (side), .type = FIELD_I64, .has_min = true, .min = CHART_SIDE_MIN, .has_max = true,   \
     .max = CHART_SIDE_MAX, .fallback = (usual), .doc = "In pixels"}
/* clang-format on */
static const struct query_param chart_image_query[] = {
    {.name = "theme",
     .type = FIELD_STR,
     .values = image_themes,
     .fallback = "light",
     .doc = "Background that the colours are made for"},
    SIDE_PARAM("width", "800"),
    SIDE_PARAM("height", "450"),
    {.name = "fresh",
     .type = FIELD_BOOL,
     .fallback = "false",
     .doc = "true computes the data now, as in GET /charts/{id}/data"},
    {0},
};

static struct shares *chart_pictures(void)
{
    static struct shares pictures;

    if (pictures.config.limit == 0)
        shares_init(&pictures,
                    &(struct shares_config){
                        .name = "chart_pictures",
                        .limit = PICTURE_BYTES,
                        .per_owner = SHARES_ANY,
                        .waiting = PICTURE_WAITING,
                    });
    return &pictures;
}

/* Releases the fonts, unless a thread is still drawing with them. */
static void chart_image_stop(void)
{
    if (chart_pictures()->held == 0)
        chart_draw_release_fonts();
}

const struct area_life chart_image_life = {.stop = chart_image_stop};

static int image_side(const struct query *query, const char *name, int usual)
{
    int64_t side;

    return num_parse_i64(query_get(query, name), &side) ? (int)side : usual;
}

/* co: Draws on a worker thread, within the limit on bytes of pictures. */
AWAITS static int image_draw(struct req *r, struct chart_drawing *drawing)
{
    uint64_t bytes =
        PICTURE_BASE_BYTES + (uint64_t)drawing->width * (uint64_t)drawing->height * PIXEL_BYTES;
    struct share *share;
    int rc = shares_acquire(&r->task, chart_pictures(), share_owner_of(&r->task), bytes, 0, &share);

    if (rc == 0) {
        rc = work_run(&r->task, WORK_PARSE, chart_draw, drawing);
        shares_release(chart_pictures(), share, bytes);
    }
    return rc == -EAGAIN ? refusal(r,
                                   REFUSE_BUSY,
                                   "Too many pictures of the project are being drawn; try again.")
                         : rc;
}

AWAITS static int reply_image(struct req *r, bool svg)
{
    struct chart_drawing *drawing = ARENA_NEW(r->task.arena, drawing);
    const struct query *query;
    struct chart chart;

    TRY(req_query(r, &query));
    TRY(chart_load_data(r, str_is(query_get(query, "fresh"), "true"), &chart, &drawing->data));
    drawing->title = chart.name;
    drawing->width = image_side(query, "width", WIDTH);
    drawing->height = image_side(query, "height", HEIGHT);
    drawing->dark = str_is(query_get(query, "theme"), "dark");
    drawing->svg = svg;
    int rc = image_draw(r, drawing);
    if (rc != 0 || !drawing->bytes) {
        free(drawing->bytes);
        return rc != 0 ? rc : fail_internal(r, -EIO);
    }
    strbuf_str(&r->body, (struct str){drawing->bytes, drawing->count});
    free(drawing->bytes);
    if (r->body.overflow)
        return fail_too_large(r);
    resp_header(r, "Content-Security-Policy", STR("default-src 'none'; sandbox"));
    r->content_type = svg ? STR("image/svg+xml") : STR("image/png");
    r->status = 200;
    return 200;
}

AWAITS static int charts_image_svg(struct req *r)
{
    return reply_image(r, true);
}

AWAITS static int charts_image_png(struct req *r)
{
    return reply_image(r, false);
}

/* clang-format off */
#define IMAGE_ROUTE(type, media)                                                                   \
    .method = HTTP_GET_M, .path = "/charts/{id}/image." #type, .id = "charts_image_" #type,        \
    .auth = AUTH_USER_OR_KEY, .perm = PERM_SVC_ENTITIES_READ, .query = chart_image_query,          \
    .headers = HEADER_GROUP_ID, .success = {200, NULL, .content_type = (media)}, .extra_statuses = {404, 409},   \
    .run = charts_image_##type, .guard = chart_guard,                                              \
    .summary = "Get a chart as a picture, from the records that the caller sees"
/* clang-format on */

static const struct route chart_image_routes[] = {
    {
        IMAGE_ROUTE(svg, "image/svg+xml"),
        .doc = "For emails and documents: letters are drawn as outlines, so the picture holds no "
               "text, script or address. It needs the same rights as the chart's data.",
    },
    {
        IMAGE_ROUTE(png, "image/png"),
        .doc = "The picture of image.svg in pixels.",
    },
};
ROUTES(chart_image, "Charts");
