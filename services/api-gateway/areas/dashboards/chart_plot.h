#pragma once
/*
 * What a picture of a chart shows, made of its data: labels, series, the axis. Texts are whatever
 * stands in the records: here they become short and of one line. Any thread; all of it lives in the
 * arena that it is made with.
 */
#include <jansson.h>

#include "areas/dashboards/dashboards.h"

#define PLOT_SERIES  10 /* that have a colour of their own */
#define PLOT_LETTERS 32 /* of a text */
#define PLOT_ROWS    40 /* of a table */
#define PLOT_SLICES  10 /* of a pie; the last one is what is left */
#define PLOT_COLUMNS 7  /* groups and values */

struct plot_series {
    struct str name;
    double *values; /* one a label; NaN: there is none */
    bool before;    /* of the period before */
};

struct plot {
    enum chart_kind kind;
    struct str title;
    struct str *labels;
    size_t count;
    struct plot_series series[PLOT_SERIES];
    size_t series_count;
    size_t series_left; /* others, which are not shown */
    double low, high, step;
    struct str *cells; /* of a table: a heading, then its rows */
    size_t columns, rows;
};

/* Of data as GET /charts/{id}/data answers with. */
void chart_plot(struct arena *arena, struct str title, const json_t *data, struct plot *ret_plot);
/* A text of one line, without what no reader sees, of PLOT_LETTERS at most. */
struct str chart_plot_text(struct arena *arena, struct str text);
/* "1.2M", "12,345.67", "0.004": short for axes, else to six digits. */
struct str chart_plot_number(struct arena *arena, double value, bool is_short);
/* Ends and distance of lines that hold all values and are easy to read. */
void chart_plot_axis(double low, double high, struct plot *plot);
