#pragma once
/*
 * What the files of /charts and /dashboards share. A chart is computed values of an entity's
 * records in groups: a definition, checked against the model whenever it is used, and the data that
 * each caller is given by the rows and fields it may see. A dashboard is a grid of widgets, of its
 * owner and of the roles that it is shared with; it gives no right to what its widgets show.
 */
#include "app.h"
#include "records/series.h"

#define CHARTS_MAX        1000 /* of a project */
#define CHART_GROUPS      100  /* when no limit was given */
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

/* What a chart shows: records of an entity, or rows of a view by its name. */
struct chart_source {
    const struct entity *entity;
    struct str view;
};

struct chart {
    int64_t id;                   /* 0 = a preview */
    struct str name, description; /* STR_NONE: none */
    enum chart_kind kind;
    const struct entity *entity;  /* of a view: set by chart_find_view() */
    int64_t entity_id, view_id;   /* one of them */
    struct str view;              /* its name; STR_NONE: of an entity */
    struct records_series series; /* its window is set when the data are read */
    enum bucket_unit period_unit; /* BUCKET_NONE: all times */
    int64_t period_count;
    int64_t until_ms; /* where the period ends; 0 = now */
    bool compare;     /* with the period before */
    struct str text;  /* the definition as JSON, everything in it; arena-owned */
};

/* any: the caller's roles, with which dashboards and views may be shared. Borrowed. */
struct sql_i64s caller_roles(const struct caller *caller);

/* --- definitions (chart_definition.c) --- */

extern const struct schema chart_create_schema, chart_update_schema, chart_preview_schema;
extern const struct schema chart_out_schema;

const char *chart_kind_name(enum chart_kind kind);
/* any: reads a whole definition, body or stored, by one of the schemas. 0, or the status that was
 * put: 400 with findings. */
int chart_read(struct req *r, const struct schema *schema, const json_t *body, struct chart *ret)
    MUSTCHECK;
/* any: checks the body of a change, member by member; whether it touches more than the names. */
int chart_read_change(struct req *r, const json_t *body, bool *ret_redefined) MUSTCHECK;
/* any: the whole body that a chart becomes when the members of `body` replace its own. NULL body:
 * as it is. */
json_t *chart_merge(struct req *r,
                    struct str name,
                    struct str description,
                    const struct chart_source *source,
                    struct str definition,
                    const json_t *body);
/* any: of a stored chart, whose entity_id may be 0; 404 when its entity is gone. */
int chart_source_of(struct req *r,
                    int64_t entity_id,
                    struct str view,
                    struct chart_source *ret_source) MUSTCHECK;

/* What materialised views write in the same way. */
extern const struct schema chart_aggregate_schema, chart_group_schema;
/* any: lists of those schemas: 400 where a function lacks its field. */
int chart_read_values(struct req *r, const struct in_list *in, struct records_series *series)
    MUSTCHECK;
void chart_read_groups(const struct in_list *in, struct records_series *series);
/* any: the members "aggregates" and "group_by" of the open object. */
void chart_print_lists(struct jw *w, const struct records_series *series);

/* --- data (chart_data.c) --- */

extern const struct schema chart_data_schema;

/* co: of a chart that shows a view: the view as the caller may read it; as view_find(). */
AWAITS int chart_find_view(struct req *r, struct chart *chart) MUSTCHECK;
/* co: 403 when the caller may not read the entity's records, or the view, at all, 400 when the
 * definition does not fit the model as far as the caller knows it. */
AWAITS int chart_check(struct req *r, struct chart *chart) MUSTCHECK;
/* co: the chart of the path as the caller may see it: 404; 403 that names what it may not read; 409
 * when the model has changed under it. */
AWAITS int chart_load(struct req *r, struct chart *ret_chart) MUSTCHECK;
/* co: route.guard of what shows the chart of the path: as chart_load(). */
AWAITS int chart_guard(struct req *r);
/* co: the data as JSON text, arena-owned: computed, or kept from a moment ago unless `fresh`. */
AWAITS int chart_data(struct req *r, const struct chart *chart, bool fresh, struct str *ret_data)
    MUSTCHECK;

/* co: both; once more when the view that it shows was exchanged in between. */
AWAITS int chart_load_data(struct req *r, bool fresh, struct chart *ret_chart, struct str *ret_data)
    MUSTCHECK;

/* --- materialised views (view_rows.c) --- */

/* co: the view's live table as an entity: 404; 403 when the caller may not read it; 409 before it
 * has been made, and when a field that it was made of is gone from the model. */
AWAITS int
view_find(struct req *r, struct str name, int64_t *ret_id, const struct entity **ret_entity)
    MUSTCHECK;

/* --- pictures (chart_image.c) --- */

/* any: at the process's end. */
void chart_image_stop(void);

/* --- dashboards (dashboards.c) --- */

#define DASHBOARDS_MAX     1000 /* of a project */
#define DASHBOARD_WIDGETS  60   /* of a dashboard */
#define DASHBOARD_COLUMNS  12   /* of the grid */
#define DASHBOARD_ROWS_MAX 1000
#define WIDGET_HEIGHT_MAX  24

extern const struct schema dashboard_out_schema;
extern const struct schema widget_out_schema;

/* any: takes out of a column that holds a widget or an array of widgets, as the part "widget" in
 * dashboards.sql writes them, the fields that the caller may not read. */
void dashboard_show(struct req *r, const struct rows *rows, size_t row, const char *column);
/* co: answers with the dashboard and its widgets. */
AWAITS int dashboard_reply(struct req *r, int status, int64_t id);
/* co: route.guard of what changes the dashboard of the path: as dashboard_lock(). */
AWAITS int dashboard_guard(struct req *r);
/* co: opens a transaction and locks the dashboard of the path for a change: 404 when the caller
 * does not see it, 403 when it may see it only. The row is that of dashboard_lock in
 * dashboards.sql. */
AWAITS int
dashboard_lock(struct req *r, int64_t *ret_id, int64_t *ret_version, struct rows *ret_rows)
    MUSTCHECK;

/* --- places on the grid (widget_places.c), pure --- */

struct widget_place {
    int64_t id;
    int64_t x, y, width, height;
};
/* any: the first two of them that lie over each other; false: none do. */
bool widget_places_overlap(const struct widget_place *places,
                           size_t count,
                           int64_t *ret_one,
                           int64_t *ret_other);
/* any: the first row that is free from there on over the whole width. */
int64_t widget_places_below(const struct widget_place *places, size_t count);
