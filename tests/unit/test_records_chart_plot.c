/* The picture of a chart: untrusted texts, axes, series, slices. */
/* chart_plot.c comes before cmocka.h, whose fail() is a macro. */
/* NOLINTNEXTLINE(bugprone-suspicious-include): a daemon has no library */
#include "areas/dashboards/chart_plot.c"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "unit.h"

static const char *const kinds[] = {"metric", "bar", "line", "area", "pie", "table"};

const char *chart_kind_name(enum chart_kind kind)
{
    return kinds[kind];
}

static int set_up(void **state UNUSED)
{
    *state = arena_new(0);
    return 0;
}

static int tear_down(void **state UNUSED)
{
    arena_free(*state);
    return 0;
}

static void assert_text(struct str text, const char *wanted)
{
    assert_int_equal(text.len, strlen(wanted));
    assert_memory_equal(text.ptr, wanted, text.len);
}

static void plot_of(void **state, const char *text, struct plot *ret_plot)
{
    struct jr_error error;
    json_t *data;

    assert_int_equal(jr_parse_stored(*state, str_from(text), &data, &error), 0);
    chart_plot(*state, STR("Title"), data, ret_plot);
}

TEST_WITH(test_texts_are_short_and_of_one_line, set_up, tear_down)
{
    static const struct {
        const char *text, *shown;
    } texts[] = {
        {"plain", "plain"},
        {"", ""},
        {"  two \n\t lines\r", "two lines "},
        {"a\x1b[31mred\x07", "a [31mred "},
        {"\xE2\x80\xAEgpj.exe", "gpj.exe"}, /* right to left override */
        {"broken \xC3( \xFF", "broken ( "}, /* no UTF-8 */
        {"zero\xE2\x80\x8Bwidth", "zero width"},
        {"0123456789012345678901234567890", "0123456789012345678901234567890"},
        {"01234567890123456789012345678901", "0123456789012345678901234567890\xE2\x80\xA6"},
        {"<script>&\"'", "<script>&\"'"},
    };

    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        assert_text(chart_plot_text(*state, str_from(texts[i].text)), texts[i].shown);
}

TEST_WITH(test_numbers, set_up, tear_down)
{
    static const struct {
        double value;
        const char *whole, *brief;
    } numbers[] = {
        {0, "0", "0"},
        {-1234567, "-1,234,567", "-1.235M"},
        {999, "999", "999"},
        {1000, "1,000", "1K"},
        {0.125, "0.125", "0.125"},
        {12345.678, "12,345.7", "12.35K"},
        {-100, "-100", "-100"},
        {1e20, "1e+20", "1e+20"},
    };

    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        assert_text(chart_plot_number(*state, numbers[i].value, false), numbers[i].whole);
        assert_text(chart_plot_number(*state, numbers[i].value, true), numbers[i].brief);
    }
    assert_text(chart_plot_number(*state, NAN, true), "\xE2\x80\x93");
}

TEST(test_axes_hold_their_values)
{
    static const double ends[][2] = {{0, 0},
                                     {0, 1},
                                     {0, 7},
                                     {3, 99},
                                     {-5, 5},
                                     {-1e6, -3},
                                     {0, 1e-9},
                                     {0, 1e300},
                                     {-1e308, 1e308}};

    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        struct plot plot = {0};
        chart_plot_axis(ends[i][0], ends[i][1], &plot);
        double lines = (plot.high - plot.low) / plot.step;
        assert_true(plot.low <= 0 && plot.high >= 0 && plot.high > plot.low);
        assert_true(lines >= 1 && lines <= 13);
        if (fabs(ends[i][0]) <= 1e300)
            assert_true(plot.low <= ends[i][0] && plot.high >= ends[i][1]);
    }
}

#define COLUMN(name, role) "{\"name\":\"" name "\",\"role\":\"" role "\",\"bucket\":null}"

TEST_WITH(test_series_of_two_groups, set_up, tear_down)
{
    struct plot plot;

    plot_of(state,
            "{\"kind\":\"bar\",\"columns\":[{\"name\":\"d\",\"role\":\"group\",\"bucket\":"
            "\"quarter\"}," COLUMN("r", "group") "," COLUMN(
                "count",
                "value") "],\"rows\":[[\"2026-01-01\",\"n\",1],"
                         "[\"2026-01-01\",null,2.5],[\"2026-10-01\",\"n\",-3]],\"previous\":null}",
            &plot);
    assert_int_equal(plot.count, 2);
    assert_int_equal(plot.series_count, 2);
    assert_text(plot.labels[0], "2026 Q1");
    assert_text(plot.labels[1], "2026 Q4");
    assert_text(plot.series[1].name, "\xE2\x80\x93");
    assert_true(plot.series[0].values[1] == -3 && plot.series[1].values[0] == 2.5);
    assert_true(isnan(plot.series[1].values[1]));
    assert_true(plot.low <= -3 && plot.high >= 2.5);
}

TEST_WITH(test_the_period_before_stands_beside, set_up, tear_down)
{
    struct plot plot;

    plot_of(state,
            "{\"kind\":\"line\",\"columns\":[{\"name\":\"d\",\"role\":\"group\",\"bucket\":"
            "\"month\"}," COLUMN(
                "count", "value") "],\"rows\":[[\"2026-03-01\",1]],\"previous\":[[\"2026-01-01\","
                                  "null],[\"2026-02-01\",4]]}",
            &plot);
    assert_int_equal(plot.count, 2);
    assert_int_equal(plot.series_count, 2);
    assert_text(plot.labels[0], "2026-03");
    assert_true(plot.series[1].is_previous && plot.series[1].values[1] == 4);
    assert_true(isnan(plot.series[0].values[1]));
}

TEST_WITH(test_many_series_and_slices, set_up, tear_down)
{
    struct strbuf text;
    struct plot plot;

    strbuf_init(&text, *state, 1 << 16);
    strbuf_cstr(&text,
                "{\"kind\":\"bar\",\"columns\":[" COLUMN("a", "group") "," COLUMN(
                    "b", "group") "," COLUMN("count", "value") "],\"rows\":[");
    for (int i = 0; i < 40; i++)
        strbuf_printf(&text, "%s[\"x\",%d,%d]", i > 0 ? "," : "", i, i);
    strbuf_cstr(&text, "]}");
    plot_of(state, strbuf_cstring(&text), &plot);
    assert_int_equal(plot.series_count, PLOT_SERIES);
    assert_int_equal(plot.hidden_series, 40 - PLOT_SERIES);

    text.len = 0;
    strbuf_cstr(&text,
                "{\"kind\":\"pie\",\"columns\":[" COLUMN("a", "group") "," COLUMN(
                    "count", "value") "],"
                                      "\"rows\":[[\"minus\",-5]");
    for (int i = 1; i < 40; i++)
        strbuf_printf(&text, ",[%d,1]", i);
    strbuf_cstr(&text, "]}");
    plot_of(state, strbuf_cstring(&text), &plot);
    assert_int_equal(plot.count, PLOT_SLICES);
    assert_true(plot.series[0].values[0] == 0);
    assert_true(plot.series[0].values[PLOT_SLICES - 1] == 40 - PLOT_SLICES + 1);
}

TEST_WITH(test_what_is_no_data, set_up, tear_down)
{
    static const char *const texts[] = {
        "{}",
        "[]",
        "{\"kind\":\"pie\"}",
        "{\"kind\":\"table\",\"columns\":[],\"rows\":[[]]}",
        "{\"kind\":\"bar\",\"columns\":[" COLUMN("a", "group") "],\"rows\":[1,null]}",
        "{\"kind\":\"metric\",\"columns\":[" COLUMN("count", "value") "],\"rows\":[]}",
        "{\"kind\":\"line\",\"columns\":[" COLUMN("a", "group") "," COLUMN(
            "b", "group") "],"
                          "\"rows\":[[1]]}",
    };

    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct plot plot;
        plot_of(state, texts[i], &plot);
        assert_true(plot.high > plot.low);
    }
}
