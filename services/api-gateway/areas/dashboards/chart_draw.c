/* Pictures of charts. */
#include "areas/dashboards/chart_draw.h"

#include <cairo-svg.h>
#include <fontconfig/fontconfig.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "areas/dashboards/chart_plot.h"
#include "base/arena.h"
#include "json/jr.h"

#define FONT            "DejaVu Sans"
#define TEXT_SIZE       12.0
#define TITLE_SIZE      16.0
#define MARGIN          16.0
#define AXIS_WIDTH      56.0
#define AXIS_HEIGHT     24.0
#define TITLE_AREA      28.0
#define LEGEND_LINE     18.0
#define LABEL_SPACE     64.0 /* least width of a label in the legend */
#define LABEL_WIDTH_MAX 120.0
#define LABEL_GAP       8.0
#define BYTES_FIRST     ((size_t)16 << 10)
#define BYTES_MAX       ((size_t)8 << 20)

struct colour {
    double red, green, blue;
};
#define COLOUR(hex)                                                                                \
    {                                                                                              \
        ((hex) >> 16) / 255.0, ((hex) >> 8 & 0xFF) / 255.0, ((hex)&0xFF) / 255.0                   \
    }

/* Colour-blind-safe palette for both themes. */
static const struct colour series_colours[PLOT_SERIES] = {
    COLOUR(0x4477AA),
    COLOUR(0xEE6677),
    COLOUR(0x228833),
    COLOUR(0xCCBB44),
    COLOUR(0x66CCEE),
    COLOUR(0xAA3377),
    COLOUR(0xEE7733),
    COLOUR(0x009988),
    COLOUR(0x8866CC),
    COLOUR(0x999999),
};

struct theme {
    struct colour paper, ink, faint, line;
};
static const struct theme themes[] = {
    {COLOUR(0xFFFFFF), COLOUR(0x1F2933), COLOUR(0x667380), COLOUR(0xE1E5EA)},
    {COLOUR(0x14181D), COLOUR(0xE8EBEF), COLOUR(0x9AA5B1), COLOUR(0x303841)},
};

struct canvas {
    cairo_t *cairo;
    struct arena *arena;
    const struct theme *theme;
    const struct plot *plot;
    double left, top, right, bottom; /* the area that is still free */
};

static void use_colour(const struct canvas *on, struct colour colour, double alpha)
{
    cairo_set_source_rgba(on->cairo, colour.red, colour.green, colour.blue, alpha);
}

/* --- texts --- */

enum side { SIDE_LEFT, SIDE_MIDDLE, SIDE_RIGHT };

static double text_width(const struct canvas *on, struct str text, double size)
{
    cairo_text_extents_t extents;

    cairo_set_font_size(on->cairo, size);
    cairo_text_extents(on->cairo, arena_cstr(on->arena, text), &extents);
    return extents.x_advance;
}

/* Draws a text that begins at x, is centred on x, or ends at x. A text wider than `most` is cut. */
static void chart_put_text(const struct canvas *on,
                           struct str text,
                           double x,
                           double y,
                           double size,
                           double most,
                           enum side side)
{
    double width = text_width(on, text, size);

    cairo_save(on->cairo);
    if (width > most) {
        double start = side == SIDE_LEFT ? x : side == SIDE_RIGHT ? x - most : x - most / 2;
        cairo_rectangle(on->cairo, start, y - 2 * size, most, 3 * size);
        cairo_clip(on->cairo);
        x = start;
    } else {
        x -= side == SIDE_RIGHT ? width : side == SIDE_MIDDLE ? width / 2 : 0;
    }
    cairo_move_to(on->cairo, x, y);
    cairo_show_text(on->cairo, arena_cstr(on->arena, text));
    cairo_restore(on->cairo);
}

static void draw_title(struct canvas *on)
{
    if (!on->plot->title.len)
        return;
    cairo_select_font_face(on->cairo, FONT, CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_BOLD);
    use_colour(on, on->theme->ink, 1);
    chart_put_text(on,
                   on->plot->title,
                   on->left,
                   on->top + TITLE_SIZE,
                   TITLE_SIZE,
                   on->right - on->left,
                   SIDE_LEFT);
    cairo_select_font_face(on->cairo, FONT, CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
    on->top += TITLE_AREA;
}

static void draw_mark(const struct canvas *on, double x, double y, size_t at, bool before)
{
    use_colour(on, series_colours[at], before ? 0.4 : 1);
    cairo_rectangle(on->cairo, x, y - 9, 10, 10);
    cairo_fill(on->cairo);
    use_colour(on, on->theme->faint, 1);
}

/* Draws the names of the series in one line at the bottom. */
static void draw_legend(struct canvas *on)
{
    const struct plot *plot = on->plot;
    double x = on->left;

    if (plot->series_count < 2)
        return;
    on->bottom -= LEGEND_LINE;
    for (size_t i = 0; i < plot->series_count && x < on->right - LABEL_SPACE; i++) {
        const struct plot_series *series = &plot->series[i];
        double width = text_width(on, series->name, TEXT_SIZE);
        draw_mark(
            on, x, on->bottom + LEGEND_LINE - 4, series->is_previous ? 0 : i, series->is_previous);
        chart_put_text(on,
                       series->name,
                       x + 14,
                       on->bottom + LEGEND_LINE - 4,
                       TEXT_SIZE,
                       on->right - x - 14,
                       SIDE_LEFT);
        x += width + 30;
    }
    if (plot->hidden_series)
        chart_put_text(on,
                       arena_printf(on->arena, "+ %zu", plot->hidden_series),
                       on->right,
                       on->bottom + LEGEND_LINE - 4,
                       TEXT_SIZE,
                       LABEL_SPACE,
                       SIDE_RIGHT);
}

/* --- axes --- */

static double y_of(const struct canvas *on, double value)
{
    const struct plot *plot = on->plot;

    return on->bottom - (value - plot->low) / (plot->high - plot->low) * (on->bottom - on->top);
}

static void draw_lines(struct canvas *on)
{
    const struct plot *plot = on->plot;
    int count = (int)lround((plot->high - plot->low) / plot->step);

    on->left += AXIS_WIDTH;
    on->bottom -= AXIS_HEIGHT;
    cairo_set_line_width(on->cairo, 1);
    for (int i = 0; i <= count; i++) {
        double value = plot->low + i * plot->step;
        double y = floor(y_of(on, value)) + 0.5;
        use_colour(on, on->theme->line, 1);
        cairo_move_to(on->cairo, on->left, y);
        cairo_line_to(on->cairo, on->right, y);
        cairo_stroke(on->cairo);
        use_colour(on, on->theme->faint, 1);
        chart_put_text(on,
                       chart_plot_number(on->arena, fabs(value) < plot->step / 2 ? 0 : value, true),
                       on->left - 6,
                       y + 4,
                       TEXT_SIZE,
                       AXIS_WIDTH - 8,
                       SIDE_RIGHT);
    }
}

static double x_of(const struct canvas *on, size_t at)
{
    double each = (on->right - on->left) / (double)on->plot->count;

    return on->left + each * ((double)at + 0.5);
}

/* Draws as many labels as fit, at regular distances. */
static void draw_labels(const struct canvas *on)
{
    const struct plot *plot = on->plot;
    double each = (on->right - on->left) / (double)plot->count;
    double widest = 1;

    for (size_t i = 0; i < plot->count; i++)
        widest = fmax(widest, text_width(on, plot->labels[i], TEXT_SIZE));
    size_t every = (size_t)ceil((fmin(widest, LABEL_WIDTH_MAX) + LABEL_GAP) / each);
    double most = each * (double)every - LABEL_GAP;

    use_colour(on, on->theme->faint, 1);
    for (size_t i = 0; i < plot->count; i += every)
        chart_put_text(
            on, plot->labels[i], x_of(on, i), on->bottom + 16, TEXT_SIZE, most, SIDE_MIDDLE);
}

/* --- bars, lines, areas --- */

static void draw_bars(const struct canvas *on)
{
    const struct plot *plot = on->plot;
    double each = (on->right - on->left) / (double)plot->count * 0.8;
    double width = each / (double)plot->series_count;

    for (size_t i = 0; i < plot->series_count; i++) {
        const struct plot_series *series = &plot->series[i];
        use_colour(on, series_colours[series->is_previous ? 0 : i], series->is_previous ? 0.4 : 1);
        for (size_t k = 0; k < plot->count; k++) {
            double x = x_of(on, k) - each / 2 + width * (double)i;
            if (isnan(series->values[k]))
                continue;
            cairo_rectangle(
                on->cairo, x, y_of(on, 0), width, y_of(on, series->values[k]) - y_of(on, 0));
        }
        cairo_fill(on->cairo);
    }
}

/* Adds a path for the values up to the next gap and returns the index of the first value. *at
 * becomes the index after the last value. A single value becomes a dot. */
static size_t trace_run(const struct canvas *on, const struct plot_series *series, size_t *at)
{
    size_t count = on->plot->count;

    while (*at < count && isnan(series->values[*at]))
        (*at)++;
    size_t first = *at;
    cairo_new_path(on->cairo);
    for (; *at < count && !isnan(series->values[*at]); (*at)++)
        cairo_line_to(on->cairo, x_of(on, *at), y_of(on, series->values[*at]));
    if (*at == first + 1)
        cairo_line_to(on->cairo, x_of(on, first), y_of(on, series->values[first]));
    return first;
}

static void fill_run(const struct canvas *on, size_t first, size_t end)
{
    cairo_path_t *path = cairo_copy_path(on->cairo);

    cairo_line_to(on->cairo, x_of(on, end - 1), y_of(on, 0));
    cairo_line_to(on->cairo, x_of(on, first), y_of(on, 0));
    cairo_close_path(on->cairo);
    cairo_fill(on->cairo);
    cairo_append_path(on->cairo, path);
    cairo_path_destroy(path);
}

static void draw_traces(const struct canvas *on)
{
    const struct plot *plot = on->plot;

    cairo_set_line_width(on->cairo, 2);
    cairo_set_line_join(on->cairo, CAIRO_LINE_JOIN_ROUND);
    cairo_set_line_cap(on->cairo, CAIRO_LINE_CAP_ROUND);
    for (size_t i = 0; i < plot->series_count; i++) {
        const struct plot_series *series = &plot->series[i];
        struct colour colour = series_colours[series->is_previous ? 0 : i];
        for (size_t at = 0; at < plot->count;) {
            size_t first = trace_run(on, series, &at);
            if (first == at)
                break;
            if (plot->kind == CHART_AREA && !series->is_previous) {
                use_colour(on, colour, 0.25);
                fill_run(on, first, at);
            }
            use_colour(on, colour, series->is_previous ? 0.4 : 1);
            cairo_stroke(on->cairo);
        }
    }
}

static void draw_nothing(const struct canvas *on)
{
    use_colour(on, on->theme->faint, 1);
    chart_put_text(on,
                   STR("No data"),
                   (on->left + on->right) / 2,
                   (on->top + on->bottom) / 2,
                   TEXT_SIZE,
                   on->right - on->left,
                   SIDE_MIDDLE);
}

static void draw_axes_chart(struct canvas *on)
{
    if (!on->plot->count || !on->plot->series_count) {
        draw_nothing(on);
        return;
    }
    draw_legend(on);
    draw_lines(on);
    draw_labels(on);
    if (on->plot->kind == CHART_BAR)
        draw_bars(on);
    else
        draw_traces(on);
}

/* --- pies --- */

static void
draw_slice(const struct canvas *on, double x, double y, double radius, double from, double to)
{
    cairo_move_to(on->cairo, x, y);
    cairo_arc(on->cairo, x, y, radius, from, to);
    cairo_close_path(on->cairo);
    cairo_fill(on->cairo);
}

static void draw_pie(const struct canvas *on)
{
    const struct plot *plot = on->plot;
    const double *values = plot->series_count ? plot->series[0].values : NULL;
    double radius = fmin(on->bottom - on->top, (on->right - on->left) / 2) / 2;
    double x = on->left + radius;
    double y = (on->top + on->bottom) / 2;
    double angle = -M_PI / 2;
    double sum = 0;

    for (size_t i = 0; values && i < plot->count; i++)
        sum += values[i];
    if (!values || !(sum > 0) || !isfinite(sum)) {
        draw_nothing(on);
        return;
    }
    for (size_t i = 0; i < plot->count; i++) {
        double next = angle + values[i] / sum * 2 * M_PI;
        double line = on->top + LEGEND_LINE * (double)(i + 1);
        use_colour(on, series_colours[i], 1);
        draw_slice(on, x, y, radius, angle, next);
        angle = next;
        if (line > on->bottom)
            continue;
        draw_mark(on, x + radius + MARGIN, line, i, false);
        chart_put_text(
            on,
            arena_printf(
                on->arena, "%.*s  %.1f %%", STR_ARG(plot->labels[i]), values[i] / sum * 100),
            x + radius + MARGIN + 16,
            line,
            TEXT_SIZE,
            on->right - x - radius - MARGIN - 16,
            SIDE_LEFT);
    }
}

/* --- one number, or a few; tables --- */

static void draw_metric(const struct canvas *on)
{
    const struct plot *plot = on->plot;
    size_t now = 0;

    while (now < plot->series_count && !plot->series[now].is_previous)
        now++;
    if (now == 0 || plot->count == 0) {
        draw_nothing(on);
        return;
    }
    double each = (on->right - on->left) / (double)now;
    double size = fmin(each / 6, (on->bottom - on->top) / 3);
    for (size_t i = 0; i < now; i++) {
        double x = on->left + each * ((double)i + 0.5);
        double y = (on->top + on->bottom) / 2 + size / 3;
        use_colour(on, on->theme->ink, 1);
        chart_put_text(on,
                       chart_plot_number(on->arena, plot->series[i].values[0], false),
                       x,
                       y,
                       size,
                       each - 8,
                       SIDE_MIDDLE);
        use_colour(on, on->theme->faint, 1);
        chart_put_text(
            on, plot->series[i].name, x, y + TEXT_SIZE * 2, TEXT_SIZE, each - 8, SIDE_MIDDLE);
        if (now + i >= plot->series_count)
            continue;
        struct str before = chart_plot_number(on->arena, plot->series[now + i].values[0], false);
        chart_put_text(on,
                       arena_printf(on->arena, "before: %.*s", STR_ARG(before)),
                       x,
                       y + TEXT_SIZE * 3.5,
                       TEXT_SIZE,
                       each - 8,
                       SIDE_MIDDLE);
    }
}

static void draw_table(const struct canvas *on)
{
    const struct plot *plot = on->plot;
    double each = (on->right - on->left) / (double)(plot->columns ? plot->columns : 1);

    for (size_t row = 0; row < plot->rows; row++) {
        double y = on->top + 20 * (double)(row + 1);
        if (y > on->bottom)
            return;
        for (size_t column = 0; column < plot->columns; column++) {
            use_colour(on, row ? on->theme->ink : on->theme->faint, 1);
            chart_put_text(on,
                           plot->cells[row * plot->columns + column],
                           on->left + each * (double)column,
                           y - 6,
                           TEXT_SIZE,
                           each - 10,
                           SIDE_LEFT);
        }
        use_colour(on, on->theme->line, 1);
        cairo_set_line_width(on->cairo, 1);
        cairo_move_to(on->cairo, on->left, floor(y) + 0.5);
        cairo_line_to(on->cairo, on->right, floor(y) + 0.5);
        cairo_stroke(on->cairo);
    }
}

/* --- the picture --- */

static void draw_plot(struct canvas *on, int width, int height)
{
    use_colour(on, on->theme->paper, 1);
    cairo_paint(on->cairo);
    on->left = MARGIN;
    on->top = MARGIN;
    on->right = width - MARGIN;
    on->bottom = height - MARGIN;
    cairo_select_font_face(on->cairo, FONT, CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
    draw_title(on);
    switch (on->plot->kind) {
    case CHART_METRIC:
        draw_metric(on);
        return;
    case CHART_PIE:
        draw_pie(on);
        return;
    case CHART_TABLE:
        draw_table(on);
        return;
    default:
        draw_axes_chart(on);
    }
}

struct picture_output {
    struct chart_drawing *drawing;
    size_t cap;
};

static cairo_status_t write_bytes(void *closure, const unsigned char *bytes, unsigned count)
{
    struct picture_output *written = closure;
    struct chart_drawing *drawing = written->drawing;

    if (count > BYTES_MAX - drawing->count)
        return CAIRO_STATUS_WRITE_ERROR;
    if (drawing->count + count > written->cap) {
        size_t cap = written->cap ? written->cap : BYTES_FIRST;
        while (cap < drawing->count + count)
            cap *= 2;
        char *grown = realloc(drawing->bytes, cap);
        if (!grown)
            return CAIRO_STATUS_NO_MEMORY;
        drawing->bytes = grown;
        written->cap = cap;
    }
    memcpy(drawing->bytes + drawing->count, bytes, count);
    drawing->count += count;
    return CAIRO_STATUS_SUCCESS;
}

static bool draw_on(cairo_surface_t *surface,
                    struct arena *arena,
                    const struct plot *plot,
                    struct picture_output *written)
{
    struct chart_drawing *drawing = written->drawing;
    struct canvas on = {
        .cairo = cairo_create(surface),
        .arena = arena,
        .theme = &themes[drawing->dark],
        .plot = plot,
    };

    draw_plot(&on, drawing->width, drawing->height);
    bool drawn = cairo_status(on.cairo) == CAIRO_STATUS_SUCCESS;
    cairo_destroy(on.cairo);
    if (drawn && !drawing->svg)
        drawn = cairo_surface_write_to_png_stream(surface, write_bytes, written) ==
                CAIRO_STATUS_SUCCESS;
    cairo_surface_finish(surface);
    drawn = drawn && cairo_surface_status(surface) == CAIRO_STATUS_SUCCESS;
    cairo_surface_destroy(surface);
    return drawn;
}

void chart_draw(void *arg)
{
    struct chart_drawing *drawing = arg;
    struct picture_output written = {.drawing = drawing};
    struct arena *arena = arena_new(0);
    struct plot *plot = ARENA_NEW(arena, plot);
    struct jr_error error;
    json_t *data;
    bool drawn = false;

    if (jr_parse_stored(arena, drawing->data, &data, &error) == 0) {
        chart_plot(arena, drawing->title, data, plot);
        cairo_surface_t *surface =
            drawing->svg
                ? cairo_svg_surface_create_for_stream(
                      write_bytes, &written, drawing->width, drawing->height)
                : cairo_image_surface_create(CAIRO_FORMAT_RGB24, drawing->width, drawing->height);
        drawn = draw_on(surface, arena, plot, &written);
    }
    arena_free(arena);
    if (drawn)
        return;
    free(drawing->bytes);
    drawing->bytes = NULL;
}

void chart_draw_release_fonts(void)
{
    cairo_debug_reset_static_data();
    FcFini();
}
