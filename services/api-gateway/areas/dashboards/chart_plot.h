#pragma once
/*
 * Converts the data of a chart into labels, series and an axis. Records may hold any text, so every
 * text is shortened to one line here. Any thread. All results live in the arena that is passed in.
 */
#include <jansson.h>

#include "areas/dashboards/dashboards.h"

#define PLOT_SERIES  10 /* each with a colour of its own */
#define PLOT_LETTERS 32 /* code points per text */
#define PLOT_ROWS    40 /* data rows of a table */
#define PLOT_SLICES  10 /* of a pie; the last one sums up the rest */
#define PLOT_COLUMNS 7  /* groups and values */

struct plot_series {
    struct str name;
    double *values;   /* one per label; NaN = no value */
    bool is_previous; /* values of the preceding period */
};

struct plot {
    enum chart_kind kind;
    struct str title;
    struct str *labels;
    size_t count;
    struct plot_series series[PLOT_SERIES];
    size_t series_count;
    size_t hidden_series; /* number of series that are not shown */
    double low, high, step;
    struct str *cells; /* of a table: the heading, then the rows */
    size_t columns, rows;
};

/* Fills *ret_plot from the response of GET /charts/{id}/data. */
void chart_plot(struct arena *arena, struct str title, const json_t *data, struct plot *ret_plot);
/* Returns the text on one line, without invisible characters, shortened to PLOT_LETTERS. */
struct str chart_plot_text(struct arena *arena, struct str text);
/* Returns a number as text. `is_short`, for axes: "1.2M". Otherwise: "12,345.67", "0.004". */
struct str chart_plot_number(struct arena *arena, double value, bool is_short);
/* Sets low, high and step of an axis that covers all values and has round numbers. */
void chart_plot_axis(double low, double high, struct plot *plot);
