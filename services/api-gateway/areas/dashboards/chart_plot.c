/* Converts the data of a chart into what chart_draw.c draws. */
#include "areas/dashboards/chart_plot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

#define UTF8_BYTES_MAX 4 /* bytes of a code point */
#define LINES          5 /* of an axis, approximately */
#define THOUSAND       1000.0
#define LARGE          1e15
#define AXIS_MAX       1e300 /* bound of an axis; larger values could not be distinguished */
#define NO_VALUE       "\xE2\x80\x93" /* an en dash */
#define SHORTENED      0x2026         /* an ellipsis */
#define OTHERS         "others"

/* --- texts and numbers --- */

/* Returns whether the code point is a control character, a direction mark, or has no width. */
static bool plot_is_unseen(uint32_t code)
{
    return code < 0x20 || (code >= 0x7F && code < 0xA0) || (code >= 0x200B && code <= 0x200F) ||
           (code >= 0x2028 && code <= 0x202E) || (code >= 0x2060 && code <= 0x206F) ||
           code == 0xFEFF || (code >= 0xFFF9 && code <= 0xFFFB) ||
           (code >= 0xE0000 && code <= 0xE0FFF);
}

struct str chart_plot_text(struct arena *arena, struct str text)
{
    char *buffer = arena_alloc(arena, (size_t)(PLOT_LETTERS + 1) * UTF8_BYTES_MAX);
    size_t letters = 0;
    size_t len = 0;

    for (size_t at = 0; at < text.len;) {
        uint32_t code;
        size_t bytes = utf8_decode(text, at, &code);
        at += bytes > 0 ? bytes : 1;
        if (bytes == 0 || plot_is_unseen(code))
            code = ' ';
        if (code == ' ' && (len == 0 || buffer[len - 1] == ' '))
            continue;
        if (letters++ == PLOT_LETTERS - 1) {
            len += utf8_encode(buffer + len, SHORTENED);
            return (struct str){buffer, len};
        }
        len += utf8_encode(buffer + len, code);
    }
    return (struct str){buffer, len};
}

/* Inserts separators of thousands: "12345.5" becomes "12,345.5". */
static struct str group_digits(struct arena *arena, const char *text)
{
    struct strbuf out;
    size_t len = strlen(text);
    size_t sign = text[0] == '-';
    size_t whole = strcspn(text, ".e");

    strbuf_init(&out, arena, len * 2 + 2);
    for (size_t i = 0; i < len; i++) {
        if (i > sign && i < whole && (whole - i) % 3 == 0)
            strbuf_char(&out, ',');
        strbuf_char(&out, text[i]);
    }
    return strbuf_view(&out);
}

struct str chart_plot_number(struct arena *arena, double value, bool is_short)
{
    static const char *const units[] = {"", "K", "M", "B", "T"};
    char text[64];
    size_t unit = 0;

    if (isnan(value))
        return STR(NO_VALUE);
    if (fabs(value) >= LARGE)
        return arena_printf(arena, "%.3g", value);
    while (is_short && fabs(value) >= THOUSAND && unit + 1 < ARRAY_LEN(units)) {
        value /= THOUSAND;
        unit++;
    }
    if (is_short)
        return arena_printf(arena, "%.4g%s", value, units[unit]);
    if (fabs(value) >= 1e6 || value == floor(value))
        (void)snprintf(text, sizeof(text), "%.0f", value);
    else
        (void)snprintf(text, sizeof(text), "%.6g", value);
    return group_digits(arena, text);
}

/* Returns 1, 2 or 5 times a power of ten, for about LINES lines. */
static double nice_step(double span)
{
    double power = pow(10, floor(log10(span / LINES)));
    double part = span / LINES / power;

    return power * (part <= 1 ? 1 : part <= 2 ? 2 : part <= 5 ? 5 : 10);
}

void chart_plot_axis(double low, double high, struct plot *plot)
{
    low = low < -AXIS_MAX ? -AXIS_MAX : low < 0 ? low : 0;
    high = high > AXIS_MAX ? AXIS_MAX : high > 0 ? high : 0;
    if (!(high - low > 0))
        high = 1;
    plot->step = nice_step(high - low);
    plot->low = floor(low / plot->step) * plot->step;
    plot->high = ceil(high / plot->step) * plot->step;
}

/* --- values of the data --- */

static double value_of(const json_t *cell)
{
    if (json_is_integer(cell))
        return (double)json_integer_value(cell);
    return json_is_real(cell) && isfinite(json_real_value(cell)) ? json_real_value(cell) : NAN;
}

/* Returns the name of the span that begins on `date`, such as "2026-01" for a month. */
static struct str date_label(struct arena *arena, struct str date, struct str bucket)
{
    if (date.len != 10)
        return date;
    if (str_is(bucket, "year"))
        return (struct str){date.ptr, 4};
    if (str_is(bucket, "month"))
        return (struct str){date.ptr, 7};
    if (str_is(bucket, "quarter"))
        return arena_printf(
            arena, "%.4s Q%d", date.ptr, ((date.ptr[5] - '0') * 10 + date.ptr[6] - '0' + 2) / 3);
    return date;
}

static struct str plot_cell_text(struct arena *arena, const json_t *cell, const json_t *column)
{
    struct str bucket = jr_str(column, "bucket");

    if (json_is_string(cell)) {
        struct str text = {json_string_value(cell), json_string_length(cell)};
        return chart_plot_text(arena, bucket.ptr ? date_label(arena, text, bucket) : text);
    }
    if (json_is_boolean(cell))
        return json_is_true(cell) ? STR("true") : STR("false");
    if (json_is_number(cell))
        return chart_plot_number(arena, value_of(cell), false);
    return !cell || json_is_null(cell) ? STR(NO_VALUE)
                                       : chart_plot_text(arena, jr_print(arena, cell));
}

struct plot_data {
    struct arena *arena;
    const json_t *columns, *rows, *previous;
    size_t groups, values;
};

static const json_t *data_cell(const json_t *rows, size_t row, size_t column)
{
    return json_array_get(json_array_get(rows, row), column);
}

static struct plot_series *
add_series(const struct plot_data *in, struct plot *plot, struct str name)
{
    if (plot->series_count == PLOT_SERIES) {
        plot->hidden_series++;
        return NULL;
    }
    struct plot_series *series = &plot->series[plot->series_count++];
    series->name = name;
    series->values = ARENA_ARRAY(in->arena, series->values, plot->count + 1);
    for (size_t i = 0; i < plot->count; i++)
        series->values[i] = NAN;
    return series;
}

static struct str column_name(const struct plot_data *in, size_t column)
{
    return chart_plot_text(in->arena, jr_str(json_array_get(in->columns, column), "name"));
}

/* Adds a series for each value. The preceding period adds series at the same labels: for each value
 * when there are no groups, otherwise for the first value only. */
static void plot_values(const struct plot_data *in, struct plot *plot)
{
    const json_t *label = json_array_get(in->columns, 0);

    plot->count = json_array_size(in->rows);
    if (in->previous && json_array_size(in->previous) > plot->count && in->groups)
        plot->count = json_array_size(in->previous);
    plot->labels = ARENA_ARRAY(in->arena, plot->labels, plot->count + 1);
    for (size_t row = 0; row < json_array_size(in->rows) && in->groups; row++)
        plot->labels[row] = plot_cell_text(in->arena, data_cell(in->rows, row, 0), label);
    for (size_t value = 0; value < in->values; value++) {
        size_t column = in->groups + value;
        struct plot_series *series = add_series(in, plot, column_name(in, column));
        for (size_t row = 0; series && row < json_array_size(in->rows); row++)
            series->values[row] = value_of(data_cell(in->rows, row, column));
    }
    for (size_t value = 0; in->previous && value < (in->groups ? 1 : in->values); value++) {
        size_t column = in->groups + value;
        struct plot_series *series = add_series(in, plot, STR("before"));
        if (!series)
            return;
        series->is_previous = true;
        for (size_t row = 0; row < json_array_size(in->previous) && row < plot->count; row++)
            series->values[row] = value_of(data_cell(in->previous, row, column));
    }
}

/* Returns the index of the cell in `known`. Appends the cell when it is new. */
static size_t cells_find_or_add(const json_t *cell, const json_t **known, size_t *count)
{
    for (size_t i = *count; i-- > 0;)
        if (json_equal(known[i], cell))
            return i;
    known[(*count)++] = cell;
    return *count - 1;
}

/* With two groups the first one gives the labels, and the second one gives the series. */
static void plot_pivot(const struct plot_data *in, struct plot *plot)
{
    size_t rows = json_array_size(in->rows);
    const json_t **labels = ARENA_ARRAY(in->arena, labels, rows + 1);
    const json_t **names = ARENA_ARRAY(in->arena, names, rows + 1);
    size_t name_count = 0;

    for (size_t row = 0; row < rows; row++)
        (void)cells_find_or_add(data_cell(in->rows, row, 0), labels, &plot->count);
    plot->labels = ARENA_ARRAY(in->arena, plot->labels, plot->count + 1);
    for (size_t i = 0; i < plot->count; i++)
        plot->labels[i] = plot_cell_text(in->arena, labels[i], json_array_get(in->columns, 0));
    for (size_t row = 0; row < rows; row++) {
        size_t known = name_count;
        const json_t *name = data_cell(in->rows, row, 1);
        size_t at = cells_find_or_add(name, names, &name_count);
        if (at == known)
            (void)add_series(
                in, plot, plot_cell_text(in->arena, name, json_array_get(in->columns, 1)));
        if (at < PLOT_SERIES)
            plot->series[at]
                .values[cells_find_or_add(data_cell(in->rows, row, 0), labels, &plot->count)] =
                value_of(data_cell(in->rows, row, 2));
    }
}

static void plot_table(const struct plot_data *in, struct plot *plot)
{
    size_t rows = json_array_size(in->rows);

    plot->columns = in->groups + in->values;
    plot->rows = 1 + (rows < PLOT_ROWS ? rows : PLOT_ROWS);
    plot->cells = ARENA_ARRAY(in->arena, plot->cells, plot->rows * plot->columns + 1);
    for (size_t column = 0; column < plot->columns; column++) {
        plot->cells[column] = column_name(in, column);
        for (size_t row = 1; row < plot->rows; row++)
            plot->cells[row * plot->columns + column] =
                plot_cell_text(in->arena,
                               data_cell(in->rows, row - 1, column),
                               json_array_get(in->columns, column));
    }
}

/* Prepares a pie: negative values become 0, the values from PLOT_SLICES on become one slice. */
static void plot_slices(struct plot *plot)
{
    double *values = plot->series[0].values;
    double left = 0;

    for (size_t i = 0; i < plot->count; i++)
        if (!(values[i] > 0))
            values[i] = 0;
    if (plot->count <= PLOT_SLICES)
        return;
    for (size_t i = PLOT_SLICES - 1; i < plot->count; i++)
        left += values[i];
    values[PLOT_SLICES - 1] = left;
    plot->labels[PLOT_SLICES - 1] = STR(OTHERS);
    plot->count = PLOT_SLICES;
}

static void plot_extremes(struct plot *plot)
{
    double low = 0;
    double high = 0;

    for (size_t i = 0; i < plot->series_count; i++) {
        for (size_t k = 0; k < plot->count; k++) {
            double value = plot->series[i].values[k];
            low = value < low ? value : low;
            high = value > high ? value : high;
        }
    }
    chart_plot_axis(low, high, plot);
}

static enum chart_kind plot_kind_of(struct str name)
{
    int kind = CHART_METRIC;

    while (kind < CHART_TABLE && !str_is(name, chart_kind_name((enum chart_kind)kind)))
        kind++;
    return (enum chart_kind)kind;
}

void chart_plot(struct arena *arena, struct str title, const json_t *data, struct plot *ret_plot)
{
    struct plot_data in = {
        .arena = arena,
        .columns = json_object_get(data, "columns"),
        .rows = json_object_get(data, "rows"),
        .previous = json_object_get(data, "previous"),
    };

    *ret_plot = (struct plot){
        .kind = plot_kind_of(jr_str(data, "kind")),
        .title = chart_plot_text(arena, title),
    };
    if (!json_is_array(in.previous))
        in.previous = NULL;
    for (size_t i = 0; i < json_array_size(in.columns) && i < PLOT_COLUMNS; i++) {
        bool group = str_is(jr_str(json_array_get(in.columns, i), "role"), "group");
        in.groups += group;
        in.values += !group;
    }
    if (ret_plot->kind == CHART_TABLE)
        plot_table(&in, ret_plot);
    else if (in.groups == CHART_GROUPS_MAX)
        plot_pivot(&in, ret_plot);
    else
        plot_values(&in, ret_plot);
    if (ret_plot->kind == CHART_PIE && ret_plot->series_count)
        plot_slices(ret_plot);
    plot_extremes(ret_plot);
}
