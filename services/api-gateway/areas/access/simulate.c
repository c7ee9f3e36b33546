/* POST /permissions/simulate: what a user with certain roles could do, route by route. */
#include "areas/access/access.h"
#include "base/num.h"
#include "catalog/problem.h"
#include "http/router.h"
#include "stages/checks.h"

#define ROLES_MAX 100

struct simulate_in {
    struct in_ids role_ids;
    struct in_str entity;
};
static const struct field simulate_fields[] = {
    {.name = "role_ids",
     FIELD_AT(struct simulate_in, role_ids),
     .type = FIELD_IDS,
     .required = true,
     .max = ROLES_MAX,
     .doc = "The roles of the user; [] for a user without roles",
     .example = "[2]"},
    {.name = "entity",
     FIELD_AT(struct simulate_in, entity),
     .type = FIELD_STR,
     .max = 48,
     .doc = "Of the routes of records, shows only the routes of this entity",
     .example = "\"orders\""},
};
static const struct schema simulate_schema =
    SCHEMA("PermissionSimulation", struct simulate_in, simulate_fields);

static const struct field simulated_fields[] = {
    {.name = "method", .type = FIELD_STR, .required = true},
    {.name = "path",
     .type = FIELD_STR,
     .required = true,
     .example = "\"/entities/orders/items/{id}\""},
    {.name = "route", .type = FIELD_STR, .required = true, .example = "\"items_get\""},
    {.name = "entity", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "allowed",
     .type = FIELD_BOOL,
     .required = true,
     .doc = "Row and field rules apply in addition"},
    {.name = "refused_by",
     .type = FIELD_STR,
     .required = true,
     .nullable = true,
     .doc = "The first check that fails, as in GET /permissions/explain"},
    {.name = "needs", .type = FIELD_STR, .required = true, .nullable = true},
};
static const struct schema simulated_schema = SCHEMA_OUT("PermissionOnRoute", simulated_fields);

static void release_rights(void *arg)
{
    rights_unref(arg);
}

AWAITS static int load_caller(struct req *r, const struct in_ids *roles, struct caller *ret_caller)
{
    struct rights *rights;

    TRY(access_need_roles(r, "role_ids", roles->items, roles->count));
    TRY(sql_check(r,
                  rights_load_roles(&r->task, r->scope->db, roles->items, roles->count, &rights)));
    arena_defer(r->task.arena, release_rights, rights);
    *ret_caller = (struct caller){.kind = CALLER_USER, .rights = rights};
    return 0;
}

/* --- the matrix: one row per route; of a route of records, one row per entity --- */

struct matrix {
    struct req *r;
    struct caller caller;
    const struct entity *only_entity; /* NULL: all entities */
    int64_t skip;                     /* rows before this page */
    int64_t page_rows;                /* most rows on this page */
    int64_t total;
    struct jw w;
};

static struct str entity_path(struct matrix *matrix, const char *path, const struct entity *entity)
{
    static const char mark[] = "{entity}";
    const char *at = entity ? strstr(path, mark) : NULL;

    if (!at)
        return str_from(path);
    return arena_printf(matrix->r->task.arena,
                        "%.*s%.*s%s",
                        (int)(at - path),
                        path,
                        STR_ARG(entity->name),
                        at + sizeof(mark) - 1);
}

static void
matrix_put(struct matrix *matrix, const struct route *route, const struct entity *entity)
{
    struct arena *arena = matrix->r->task.arena;
    struct jw *w = &matrix->w;
    enum access_check check = 0;

    while (check < CHECK_COUNT &&
           (!check_applies(check, route) || check_passes(check, route, &matrix->caller, entity)))
        check++;
    bool allowed = check == CHECK_COUNT;
    jw_obj(w);
    JW_CSTR(w, "method", http_method_name(route->method));
    JW_STR(w, "path", entity_path(matrix, route->path, entity));
    JW_CSTR(w, "route", route->id);
    JW_STR_OR_NULL(w, "entity", entity ? entity->name : STR_NONE);
    JW_BOOL(w, "allowed", allowed);
    JW_STR_OR_NULL(w, "refused_by", allowed ? STR_NONE : str_from(check_answer_name(check)));
    JW_STR_OR_NULL(w, "needs", allowed ? STR_NONE : check_permission(arena, check, route, entity));
    jw_obj_end(w);
}

static void
matrix_add(struct matrix *matrix, const struct route *route, const struct entity *entity)
{
    int64_t position = matrix->total++ - matrix->skip;

    if (position >= 0 && position < matrix->page_rows)
        matrix_put(matrix, route, entity);
}

static void matrix_add_entities(struct matrix *matrix, const struct route *route)
{
    const struct model *model = matrix->r->scope->model;

    for (size_t i = 0; i < model->entity_count; i++)
        if (!matrix->only_entity || matrix->only_entity == &model->entities[i])
            matrix_add(matrix, route, &model->entities[i]);
}

static void put_matrix(struct matrix *matrix)
{
    const struct route *route;
    const char *mount;
    size_t cursor = 0;

    while (router_next(gateway_router, &cursor, &mount, &route)) {
        if (route->auth == AUTH_OPERATOR || mount[0] == '\0')
            continue;
        if (check_applies(CHECK_ENTITY_PERMISSION, route))
            matrix_add_entities(matrix, route);
        else
            matrix_add(matrix, route, NULL);
    }
}

AWAITS static int permissions_simulate(struct req *r)
{
    struct matrix matrix = {.r = r};
    struct simulate_in in;
    struct page page;

    TRY(req_page(r, &page));
    if (page.sort.len)
        return fail(
            r, PROBLEM_INVALID_QUERY, "Query parameter 'sort': this list has a fixed order.");
    TRY(req_json(r, &simulate_schema, &in));
    if (in.entity.set)
        matrix.only_entity = model_entity(r->scope->model, in.entity.value);
    if (in.entity.set && !matrix.only_entity)
        return fail_field(r, "entity", PROBLEM_VALIDATION_FAILED, "there is no such entity");
    TRY(load_caller(r, &in.role_ids, &matrix.caller));
    matrix.skip = page_offset(&page);
    matrix.page_rows = page.limit;
    matrix.w = resp_json(r);
    jw_obj(&matrix.w);
    jw_lit(&matrix.w, "items");
    jw_arr(&matrix.w);
    put_matrix(&matrix);
    jw_arr_end(&matrix.w);
    page_json(&matrix.w,
              &page,
              page.count ? matrix.total : -1,
              matrix.skip + matrix.page_rows < matrix.total);
    jw_obj_end(&matrix.w);
    return reply_json(r, 200);
}

static const struct route simulate_routes[] = {
    {
        .method = HTTP_POST_M,
        .path = "/permissions/simulate",
        .id = "permissions_simulate",
        .auth = AUTH_ADMIN,
        .query = page_query,
        .body = &simulate_schema,
        .success = {200, &simulated_schema, .list = true},
        .class = CLASS_READ,
        .run = permissions_simulate,
        .summary = "Show for every route whether a user with certain roles may use it",
        .doc = "Nothing is changed. Each route of records appears once per entity.",
    },
};
ROUTES(simulate, "Roles and permissions");
