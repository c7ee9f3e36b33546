#pragma once
/*
 * Shared by the files of /charts, /dashboards and /materialized-views.
 *
 * A chart is a definition: values computed from an entity's records, in groups. The definition is
 * checked against the data model each time it is used. Each caller gets data computed from the rows
 * and fields that it may see. A dashboard is a grid of widgets. Its owner and the roles that it is
 * shared with see the dashboard, which grants no right to the data that its widgets show.
 */
#include "app.h"
#include "records/series.h"

#define CHARTS_MAX        1000 /* of a project */
#define CHART_GROUPS      100  /* rows of a chart that sets no limit */
#define CHART_PERIODS_MAX 1000
#define CHART_GROUPS_MAX  2
#define CHART_VALUES_MAX  5

enum chart_kind {
    CHART_METRIC,
    CHART_BAR,
    CHART_LINE,
    CHART_AREA,
    CHART_PIE,
    CHART_TABLE,
    CHART_KINDS,
};

/* The source of a chart: the records of an entity, or the rows of a view (by its name). */
struct chart_source {
    const struct entity *entity;
    struct str view;
};

struct chart {
    int64_t id;                   /* 0 = a preview */
    struct str name, description; /* STR_NONE: none */
    enum chart_kind kind;
    const struct entity *entity;  /* NULL for a view until chart_find_view() sets it */
    int64_t entity_id, view_id;   /* the id of the source; the other is 0 */
    struct str view;              /* name of the view; STR_NONE for an entity */
    struct records_series series; /* the window is computed when the data are read */
    enum bucket_unit period_unit; /* BUCKET_NONE: no period, all times */
    int64_t period_count;
    int64_t until_ms; /* the period ends with the unit that contains this time; 0 = now */
    bool compare;     /* the data include the preceding period */
    struct str text;  /* the definition as JSON, without name and source; arena-owned */
};

/* any: Returns the ids of the caller's roles, which decide which shared dashboards and views the
 * caller sees. Borrowed from the caller's rights. */
struct sql_i64s caller_roles(const struct caller *caller);

/* --- definitions (chart_definition.c) --- */

extern const struct schema chart_create_schema, chart_update_schema, chart_preview_schema;
extern const struct schema chart_out_schema;

/* any: Returns the name of the kind in the API, such as "bar". Static. */
const char *chart_kind_name(enum chart_kind kind);
/* any: Reads a complete definition, from a request body or from the database, by one of the schemas
 * above. *ret lives as long as the request and `body`. Returns 0, or the status put: 400 with
 * findings. */
int chart_read(struct req *r, const struct schema *schema, const json_t *body, struct chart *ret)
    MUSTCHECK;
/* any: Validates the body of a change. *ret_redefined: the body has members other than name and
 * description. Returns 0, or the status put: 400 with findings. */
int chart_read_change(struct req *r, const json_t *body, bool *ret_redefined) MUSTCHECK;
/* any: Returns a stored chart as a complete body for chart_read(), with the members of `body` (or
 * none: NULL) in place of the stored ones. Arena-owned. Returns NULL when the stored definition is
 * malformed. */
json_t *chart_stored_body(struct req *r,
                          struct str name,
                          struct str description,
                          const struct chart_source *source,
                          struct str definition,
                          const json_t *body);
/* any: Finds the source of a stored chart; `entity_id` is 0 when the source is a view. Returns 0,
 * or the status put: 404 when the entity is gone from the model. */
int chart_find_source(struct req *r,
                      int64_t entity_id,
                      struct str view,
                      struct chart_source *ret_source) MUSTCHECK;

/* Definitions of materialised views use these two schemas as well. */
extern const struct schema chart_aggregate_schema, chart_group_schema;
/* any: chart_read_values() appends a list of chart_aggregate_schema to `series`, and
 * chart_read_groups() a list of chart_group_schema. chart_read_values() returns 0, or the status
 * put: 400 when a function lacks its field, or count has a field. */
int chart_read_values(struct req *r, const struct in_list *in, struct records_series *series)
    MUSTCHECK;
void chart_read_groups(const struct in_list *in, struct records_series *series);
/* any: Writes the members "aggregates" and "group_by" into the open object. */
void chart_print_lists(struct jw *w, const struct records_series *series);

/* --- data (chart_data.c) --- */

extern const struct schema chart_data_schema;

/* co: Sets entity and view_id of a chart that shows a view, if the caller may read the view. Does
 * nothing for a chart of an entity. Results are those of view_find(). */
AWAITS int chart_find_view(struct req *r, struct chart *chart) MUSTCHECK;
/* co: Calls chart_find_view() and checks a definition for its author. Returns 0, or the status put:
 * 403 when the caller may not read the entity's records or the view at all, 400 when the definition
 * does not fit the part of the model that the caller may see. */
AWAITS int chart_check(struct req *r, struct chart *chart) MUSTCHECK;
/* co: Loads the chart of the path. Returns 0, or the status put: 404 when there is none, 403 when
 * the caller may not read its source or one of its fields, 409 when the definition no longer fits
 * the model. */
AWAITS int chart_load(struct req *r, struct chart *ret_chart) MUSTCHECK;
/* co: route.guard of routes that show the data of the chart of the path. Results are those of
 * chart_load(). */
AWAITS int chart_guard(struct req *r);
/* co: Returns the chart's data as JSON text, arena-owned. They are computed now, or come from the
 * cache (chart_cache.h) unless `fresh`. Returns 0, a negative, or the status put. */
AWAITS int chart_data(struct req *r, const struct chart *chart, bool fresh, struct str *ret_data)
    MUSTCHECK;

/* co: Calls chart_load() and chart_data(). Repeats both once when the view's table was replaced
 * between the two. */
AWAITS int chart_load_data(struct req *r, bool fresh, struct chart *ret_chart, struct str *ret_data)
    MUSTCHECK;

/* --- materialised views (view_rows.c) --- */

/* co: Returns the live table of a view as an entity, arena-owned. Returns 0, or the status put:
 * 404; 403 when the caller may not read the rows; 409 before the first refresh, and when an entity
 * or field that the rows were computed from is gone from the model. */
AWAITS int
view_find(struct req *r, struct str name, int64_t *ret_id, const struct entity **ret_entity)
    MUSTCHECK;

/* --- dashboards (dashboards.c) --- */

#define DASHBOARDS_MAX     1000 /* of a project */
#define DASHBOARD_WIDGETS  60   /* of a dashboard */
#define DASHBOARD_COLUMNS  12   /* of the grid */
#define DASHBOARD_ROWS_MAX 1000
#define WIDGET_HEIGHT_MAX  24

extern const struct schema dashboard_out_schema;
extern const struct schema widget_out_schema;

/* any: Sets filter, fields and sort of a list widget to null when they name fields that the caller
 * may not read. The column holds a widget or an array of widgets, as the part "widget" in
 * dashboards.sql writes them. */
void dashboard_hide_fields(struct req *r, const struct rows *rows, size_t row, const char *column);
/* co: Answers with `status`, the dashboard and its widgets, or with 404 when the caller does not
 * see the dashboard. */
AWAITS int dashboard_reply(struct req *r, int status, int64_t id);
/* co: route.guard of routes that change the dashboard of the path. Puts the same 404 and 403 as
 * dashboard_lock(). */
AWAITS int dashboard_guard(struct req *r);
/* co: Begins a transaction and locks the dashboard of the path for a change. *ret_rows holds the
 * row of the statement dashboard_lock in dashboards.sql. Returns 0, a negative, or the status put:
 * 404 when the caller does not see the dashboard, 403 when it may see but not change it. */
AWAITS int
dashboard_lock(struct req *r, int64_t *ret_id, int64_t *ret_version, struct rows *ret_rows)
    MUSTCHECK;

/* --- positions on the grid (widget_positions.c), pure --- */

struct widget_position {
    int64_t id;
    int64_t x, y, width, height;
};
/* any: Finds two widgets that overlap and returns their ids. Returns false when none overlap. */
bool widget_positions_overlap(const struct widget_position *places,
                              size_t count,
                              int64_t *ret_one,
                              int64_t *ret_other);
/* any: Returns the first row that lies below all widgets. */
int64_t widget_positions_next_row(const struct widget_position *places, size_t count);
