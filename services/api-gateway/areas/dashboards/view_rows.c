/*
 * Rows of materialised views, and the callers that may read them. A generation is the rows of one
 * refresh. Rights on a generation depend on the entities and fields that the rows were computed
 * from. Rights on a definition depend on the entities and fields that the definition names. The two
 * differ after a change of the definition, until the runner has computed the next generation.
 */
#include "areas/dashboards/view_rows.h"

#include <errno.h>

#include "items/items.h"
#include "records/pick.h"
#include "records/view.h"
#include "views_sql.h"

/* Facts that decide who may read a generation: columns of the part "made" in views.sql. */
struct view_generation {
    int64_t number;  /* 0 = not computed yet */
    bool is_known;   /* entity_ids and field_ids are known */
    bool is_current; /* computed from the current definition */
    bool is_shared;  /* shared with a role of the caller */
    struct sql_i64s entity_ids, field_ids;
};

static struct view_generation generation_read(struct req *r, const struct rows *rows, size_t row)
{
    struct arena *arena = r->task.arena;

    return (struct view_generation){
        .number = rows_i64(rows, row, rows_column(rows, "_generation")),
        .is_known = rows_bool(rows, row, rows_column(rows, "_is_known")),
        .is_current = rows_bool(rows, row, rows_column(rows, "_is_current")),
        .is_shared = rows_bool(rows, row, rows_column(rows, "_is_shared")),
        .entity_ids = rows_sql_i64s(arena, rows, row, rows_column(rows, "_made_entities")),
        .field_ids = rows_sql_i64s(arena, rows, row, rows_column(rows, "_made_fields")),
    };
}

/* Returns NULL when the field is gone from the model. */
static const struct model_field *
generation_find_field(const struct model *model, const struct view_generation *made, int64_t id)
{
    const struct model_field *field = NULL;

    for (size_t i = 0; i < made->entity_ids.count && !field; i++) {
        const struct entity *entity = model_entity_by_id(model, made->entity_ids.items[i]);
        if (entity)
            field = entity_field_by_id(entity, id);
    }
    return field;
}

/* Returns whether the model still has all that the generation was computed from. */
static bool generation_fits_model(const struct model *model, const struct view_generation *made)
{
    for (size_t i = 0; i < made->entity_ids.count; i++)
        if (!model_entity_by_id(model, made->entity_ids.items[i]))
            return false;
    for (size_t i = 0; i < made->field_ids.count; i++)
        if (!generation_find_field(model, made, made->field_ids.items[i]))
            return false;
    return true;
}

/* Returns whether the caller may read records of all source entities. With `whole`: whether the
 * caller may read all of these records and all fields that the rows were computed from. */
static bool
generation_is_readable(struct records_ctx *ctx, const struct view_generation *made, bool whole)
{
    if (!made->is_known)
        return false;
    for (size_t i = 0; i < made->entity_ids.count; i++) {
        const struct entity *entity = model_entity_by_id(ctx->model, made->entity_ids.items[i]);
        if (!entity || !records_can_read(ctx, entity) ||
            (whole && records_has_row_rule(ctx, entity)))
            return false;
    }
    for (size_t i = 0; whole && i < made->field_ids.count; i++) {
        const struct model_field *field =
            generation_find_field(ctx->model, made, made->field_ids.items[i]);
        if (!field || !records_can_read_field(ctx, field))
            return false;
    }
    return true;
}

/* Administrators may read every row. A role that the view is shared with may read the rows of the
 * current definition, regardless of the records that its holders see; an API key of a holder also
 * needs the permission to read the records. All other callers may only read what they could have
 * computed themselves. */
static bool generation_is_served(struct req *r, const struct view_generation *made)
{
    const struct caller *caller = r->scope->caller;
    struct records_ctx *ctx = items_ctx(r);

    if (caller_is_admin(caller))
        return true;
    if (made->is_shared && made->is_current && made->is_known)
        return caller->kind == CALLER_USER || generation_is_readable(ctx, made, false);
    return caller_has_api_access(caller) && generation_is_readable(ctx, made, true);
}

bool view_has_row_rules(const struct series_sources *sources)
{
    for (size_t i = 0; i < sources->count; i++)
        if (sources->entities[i]->row_level_security)
            return true;
    return !sources->is_complete;
}

bool view_definition_is_readable(struct req *r, int64_t entity_id, struct str query)
{
    const struct entity *entity = model_entity_by_id(r->scope->model, entity_id);
    struct records_series *series = ARENA_NEW(r->task.arena, series);

    return caller_is_admin(r->scope->caller) ||
           (entity && view_query_read(r->task.arena, query, series) &&
            series_is_readable(items_ctx(r), entity, series));
}

/* Returns the facts of a generation that would be computed from the current definition. */
static struct view_generation
generation_of_definition(struct req *r, const struct rows *rows, size_t row, bool is_shared)
{
    static const struct caller everybody = {.kind = CALLER_SYSTEM};
    struct view_generation made = {.is_current = true, .is_shared = is_shared};
    int64_t entity_id = rows_i64(rows, row, rows_column(rows, "_entity_id"));
    struct str query = rows_str(rows, row, rows_column(rows, "_query"));
    const struct entity *entity = model_entity_by_id(r->scope->model, entity_id);
    struct records_series *series = ARENA_NEW(r->task.arena, series);
    struct series_sources *sources = ARENA_NEW(r->task.arena, sources);
    struct records_ctx *ctx = items_ctx(r);

    ctx->caller = &everybody;
    if (!entity || !view_query_read(r->task.arena, query, series) ||
        series_forbidden_path(ctx, entity, series).ptr)
        return made;
    series_sources(ctx, entity, series, sources);
    int64_t *ids = ARENA_ARRAY(r->task.arena, ids, sources->count);
    for (size_t i = 0; i < sources->count; i++)
        ids[i] = sources->entities[i]->id;
    made.is_known = sources->is_complete;
    made.entity_ids = sql_i64s(ids, sources->count);
    made.field_ids = sql_i64s(sources->field_ids, sources->field_count);
    return made;
}

/* Members of a view that reveal something about its rows, definition and last refresh. */
static const char *const members_of_rows[] = {"columns", "refreshed_at", "refresh_ms", "row_count"};
static const char *const members_of_definition[] = {"aggregates", "group_by", "filter"};
static const char *const members_of_refresh[] = {"error"};

bool view_rows_are_readable(struct req *r, const struct rows *rows, size_t row)
{
    struct view_generation made = generation_read(r, rows, row);

    return generation_is_served(r, &made);
}

void view_hide_members(struct req *r, const struct rows *rows, size_t row)
{
    struct view_generation made = generation_read(r, rows, row);
    struct view_generation next = generation_of_definition(r, rows, row, made.is_shared);
    int64_t entity_id = rows_i64(rows, row, rows_column(rows, "_entity_id"));
    struct str query = rows_str(rows, row, rows_column(rows, "_query"));

    if (!generation_is_served(r, &made))
        rows_clear(rows, row, members_of_rows, ARRAY_LEN(members_of_rows));
    if (!generation_is_served(r, &next)) /* the error is from computing the next generation */
        rows_clear(rows, row, members_of_refresh, ARRAY_LEN(members_of_refresh));
    if (!view_definition_is_readable(r, entity_id, query))
        rows_clear(rows, row, members_of_definition, ARRAY_LEN(members_of_definition));
}

int view_find(struct req *r, struct str name, int64_t *ret_id, const struct entity **ret_entity)
{
    const struct model *model = r->scope->model;
    struct rows rows;

    TRY(sql_all(r, &rows, SQL_VIEW_LOAD(.name = name, .role_ids = caller_roles(r->scope->caller))));
    if (!rows.count)
        return fail(r, PROBLEM_NOT_FOUND, "There is no such materialised view.");
    struct view_generation made = generation_read(r, &rows, 0);
    if (!made.number)
        made = generation_of_definition(r, &rows, 0, made.is_shared);
    r->scope->may_be_stale = !generation_fits_model(model, &made) && !r->scope->is_rechecked;
    if (!generation_is_served(r, &made))
        return fail(r,
                    PROBLEM_FORBIDDEN,
                    "The caller needs the right to read all records and fields that the view was "
                    "computed from, or a role that the view is shared with.");
    if (!made.number)
        return fail(r, PROBLEM_CONFLICT, "The view has no rows yet; wait for its first refresh.");
    if (!generation_fits_model(model, &made))
        return fail(r,
                    PROBLEM_CONFLICT,
                    "A field or an entity that the view was computed from has been deleted; change "
                    "the view's definition.");
    *ret_id = rows_i64(&rows, 0, rows_column(&rows, "id"));
    *ret_entity = view_entity(
        r->task.arena, *ret_id, made.number, rows_str(&rows, 0, rows_column(&rows, "columns")));
    return *ret_entity ? 0 : fail_internal(r, -EBADMSG);
}

/* co: Writes a list of the live table's rows; RECORDS_SCHEMA when the table was replaced. */
AWAITS static int view_list(struct req *r, struct records_ctx **ret_ctx)
{
    static const struct caller everybody = {.kind = CALLER_SYSTEM};
    struct records_ctx *ctx = items_ctx(r);
    const struct entity *entity = NULL;
    struct records_query query;
    int64_t id;

    TRY(view_find(r, req_param(r, "name"), &id, &entity));
    *ret_ctx = ctx;
    ctx->caller = &everybody;
    TRY(items_query(r, ctx, &query));
    return records_list(ctx, entity, &query, &r->body);
}

int view_rows_guard(struct req *r)
{
    const struct entity *entity;
    int64_t id;

    return view_find(r, req_param(r, "name"), &id, &entity);
}

int view_rows(struct req *r)
{
    struct records_ctx *ctx = NULL;
    const struct query *query;

    TRY(req_query(r, &query)); /* an invalid query is refused first */
    int rc = view_list(r, &ctx);
    if (rc == RECORDS_SCHEMA) { /* the table was replaced between the two statements */
        r->body.len = 0;
        rc = view_list(r, &ctx);
    }
    if (rc == RECORDS_SCHEMA || rc == RECORDS_FAILED)
        return items_reply_error(r, ctx, rc);
    return rc != 0 ? rc : reply_json(r, 200);
}
