/* The data model document: two paths with five operations for each entity. */
#include "base/panic.h"
#include "items/items.h"
#include "openapi/parts.h"
#include "openapi/spec_entity.h"

#define DESCRIPTION                                                                                \
    "Records of the project's entities, generated from the current data model. An API key may be " \
    "sent instead of the access token, or in the header x-api-key."

/* An operation that the document has once for each entity. The table is in the order of the
 * document: by path, then by method. */
struct operation {
    const char *route_id;
    const char *method;
    const char *verb; /* operationId: verb_entity */
    const char *summary;
    bool opens_path, closes_path;
    bool has_id;
};
static const struct operation operations[] = {
    {"items_list", "get", "list", "List records of", true, false, false},
    {"items_create", "post", "create", "Create a record of", false, true, false},
    {"items_get", "get", "get", "Get a record of", true, false, true},
    {"items_update", "put", "update", "Change a record of", false, false, true},
    {"items_delete", "delete", "delete", "Delete a record of", false, true, true},
};

struct model_doc {
    struct jw *w;
    const struct openapi_request *inputs;
    const struct route *routes[ARRAY_LEN(operations)];
    struct openapi_statuses statuses;
};

static const struct route *route_by_id(const char *id)
{
    for (size_t i = 0; i < route_table_count; i++) {
        for (size_t k = 0; k < route_tables[i]->count; k++) {
            if (str_is(str_from(id), route_tables[i]->routes[k].id))
                return &route_tables[i]->routes[k];
        }
    }
    PANIC("there is no route %s", id);
}

/* --- parameters --- */

AWAITS static int
put_filter(struct jw *w, const struct query_param *param, const struct entity_doc *doc)
{
    jw_obj(w);
    JW_CSTR(w, "name", param->name);
    JW_CSTR(w, "in", "query");
    JW_CSTR(w, "description", param->doc);
    JW_CSTR(w, "style", "deepObject");
    JW_BOOL(w, "explode", true);
    jw_lit(w, "schema");
    TRY(entity_schema_filter(w, doc));
    jw_obj_end(w);
    return 0;
}

AWAITS static int spec_model_put_parameters(const struct model_doc *m,
                                            const struct operation *operation,
                                            const struct route *route,
                                            const struct entity_doc *doc)
{
    struct jw *w = m->w;
    const struct query_param *param = route->query;

    if (param == NULL && !operation->has_id)
        return 0;
    jw_lit(w, "parameters");
    jw_arr(w);
    if (operation->has_id)
        openapi_path_param(w, route, STR("id"));
    for (; param != NULL && param->name != NULL; param++) {
        if (param->deep)
            TRY(put_filter(w, param, doc));
        else
            openapi_ref(w, "parameters", str_from(param->name));
    }
    openapi_headers(w, route->headers, true);
    jw_arr_end(w);
    return 0;
}

/* Writes the parameters that all entities share: the query parameters of the list, except
 * filter[...], and the headers. */
static void put_shared_parameters(const struct model_doc *m)
{
    struct jw *w = m->w;
    unsigned headers = 0;

    for (size_t i = 0; i < ARRAY_LEN(operations); i++)
        headers |= m->routes[i] != NULL ? m->routes[i]->headers : 0;
    jw_lit(w, "parameters");
    jw_obj(w);
    for (const struct query_param *param = items_list_query; param->name != NULL; param++) {
        if (param->deep)
            continue;
        jw_lit(w, param->name);
        openapi_query_param(w, param);
    }
    openapi_header_components(w, headers);
    jw_obj_end(w);
}

/* --- operations --- */

static struct str
operation_id(struct arena *arena, const struct operation *operation, const struct entity_doc *doc)
{
    return arena_printf(arena, "%s_%.*s", operation->verb, STR_ARG(doc->component));
}

static void content_begin(struct jw *w)
{
    jw_lit(w, "content");
    jw_obj(w);
    jw_lit(w, "application/json");
    jw_obj(w);
    jw_lit(w, "schema");
}

static void content_end(struct jw *w)
{
    jw_obj_end(w);
    jw_obj_end(w);
}

AWAITS static int
spec_model_put_body(struct jw *w, const struct route *route, const struct entity_doc *doc)
{
    jw_lit(w, "requestBody");
    jw_obj(w);
    JW_BOOL(w, "required", true);
    content_begin(w);
    if (route->method == HTTP_POST_M)
        openapi_ref(w, "schemas", doc->component);
    else
        TRY(entity_schema_update(w, doc));
    content_end(w);
    jw_obj_end(w);
    return 0;
}

AWAITS static int
spec_model_put_success(struct jw *w, const struct route *route, const struct entity_doc *doc)
{
    jw_key(w, arena_printf(w->out->arena, "%d", route->success.status));
    jw_obj(w);
    JW_CSTR(w,
            "description",
            route->success.list             ? "A page of records"
            : route->success.schema != NULL ? "The record"
                                            : "Done");
    openapi_success_headers(
        w, route->success.status, !route->success.list && route->success.schema != NULL);
    if (route->success.schema != NULL) {
        content_begin(w);
        if (route->success.list)
            openapi_list_begin(w);
        if (route->method == HTTP_GET_M)
            TRY(entity_schema_read(w, doc));
        else
            entity_schema_record(w, doc);
        if (route->success.list)
            openapi_list_end(w, openapi_has_cursor(route->query));
        content_end(w);
    }
    jw_obj_end(w);
    return 0;
}

static struct str
permission_text(struct arena *arena, const struct route *route, const struct entity *entity)
{
    enum perm_action action = (enum perm_action)(route->perm - PERM_ENTITY_READ);

    return arena_printf(arena,
                        "Needs the permission `%.*s:%s` and a role with API access.",
                        STR_ARG(entity->name),
                        perm_action_name(action));
}

AWAITS static int
spec_model_put_operation(struct model_doc *m, size_t index, const struct entity_doc *doc)
{
    const struct operation *operation = &operations[index];
    const struct route *route = m->routes[index];
    struct jw *w = m->w;

    jw_lit(w, operation->method);
    jw_obj(w);
    jw_lit(w, "tags");
    jw_arr(w);
    jw_str(w, doc->entity->name);
    jw_arr_end(w);
    JW_STR(w, "operationId", operation_id(w->out->arena, operation, doc));
    JW_STR(w,
           "summary",
           arena_printf(w->out->arena, "%s %.*s", operation->summary, STR_ARG(doc->entity->name)));
    JW_STR(w, "description", permission_text(w->out->arena, route, doc->entity));
    TRY(spec_model_put_parameters(m, operation, route, doc));
    if (route->body != NULL)
        TRY(spec_model_put_body(w, route, doc));
    jw_lit(w, "responses");
    jw_obj(w);
    TRY(spec_model_put_success(w, route, doc));
    openapi_failures(w, route, &m->statuses);
    jw_obj_end(w);
    jw_obj_end(w);
    return openapi_chunk_done(m->inputs);
}

static struct str
operation_path(struct arena *arena, const struct operation *operation, const struct entity_doc *doc)
{
    return arena_printf(arena,
                        "/entities/%.*s/items%s",
                        STR_ARG(doc->entity->name),
                        operation->has_id ? "/{id}" : "");
}

AWAITS static int
spec_model_put_paths(struct model_doc *m, const struct entity_doc *docs, size_t count)
{
    struct jw *w = m->w;

    jw_lit(w, "paths");
    jw_obj(w);
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < ARRAY_LEN(operations); k++) {
            if (operations[k].opens_path) {
                jw_key(w, operation_path(w->out->arena, &operations[k], &docs[i]));
                jw_obj(w);
            }
            TRY(spec_model_put_operation(m, k, &docs[i]));
            if (operations[k].closes_path)
                jw_obj_end(w);
        }
    }
    jw_obj_end(w);
    return 0;
}

/* --- one operation --- */

static const struct operation *operation_of_route(const struct route *route)
{
    for (size_t i = 0; i < ARRAY_LEN(operations); i++)
        if (str_is(str_from(route->id), operations[i].route_id))
            return &operations[i];
    return NULL;
}

struct str openapi_model_operation_id(struct arena *arena,
                                      const struct route *route,
                                      const struct entity_doc *doc)
{
    const struct operation *operation = operation_of_route(route);

    return operation ? operation_id(arena, operation, doc) : STR_NONE;
}

int openapi_model_operation(struct jw *w, const struct route *route, const struct entity_doc *doc)
{
    const struct operation *operation = operation_of_route(route);
    size_t index = (size_t)(operation - operations);
    struct model_doc m = {.w = w, .inputs = doc->inputs};

    m.routes[index] = route;
    jw_obj(w);
    JW_STR(w, "path", operation_path(w->out->arena, operation, doc));
    TRY(spec_model_put_operation(&m, index, doc));
    jw_lit(w, "schemas");
    jw_obj(w);
    jw_key(w, doc->component);
    TRY(entity_schema(w, doc));
    jw_obj_end(w);
    put_shared_parameters(&m);
    jw_obj_end(w);
    return 0;
}

/* --- the document --- */

/* Writes the components. A model without entities has only the security scheme, because nothing
 * refers to the other components. */
AWAITS static int
spec_model_put_components(struct model_doc *m, const struct entity_doc *docs, size_t count)
{
    struct jw *w = m->w;

    jw_lit(w, "components");
    jw_obj(w);
    if (count > 0) {
        jw_lit(w, "schemas");
        jw_obj(w);
        for (size_t i = 0; i < count; i++) {
            jw_key(w, docs[i].component);
            TRY(entity_schema(w, &docs[i]));
        }
        jw_obj_end(w);
        put_shared_parameters(m);
        openapi_responses(w, &m->statuses, openapi_problem(w->out->arena, false));
    }
    jw_lit(w, "securitySchemes");
    jw_obj(w);
    jw_lit(w, OPENAPI_BEARER);
    jw_raw(w, STR("{\"type\":\"http\",\"scheme\":\"bearer\",\"bearerFormat\":\"JWT\"}"));
    jw_obj_end(w);
    jw_obj_end(w);
    return 0;
}

static void spec_model_put_tags(struct jw *w, const struct entity_doc *docs, size_t count)
{
    jw_lit(w, "tags");
    jw_arr(w);
    for (size_t i = 0; i < count; i++) {
        struct str label = docs[i].entity->label;
        struct str name = docs[i].entity->name;
        openapi_tag(w,
                    name,
                    label.len ? label
                              : arena_printf(w->out->arena, "Records of %.*s", STR_ARG(name)));
    }
    jw_arr_end(w);
}

void openapi_model_head(struct jw *w, const struct model *model, struct str base_url)
{
    openapi_head(w,
                 base_url,
                 "3.0.3",
                 "Data Model API",
                 arena_printf(w->out->arena, "%lld", (long long)model->version),
                 DESCRIPTION);
}

int openapi_model(struct jw *w, const struct openapi_request *about)
{
    struct model_doc m = {.w = w, .inputs = about};
    struct entity_doc *docs = entity_docs(about);
    size_t count = about->model->entity_count;

    for (size_t i = 0; i < ARRAY_LEN(operations); i++)
        m.routes[i] = route_by_id(operations[i].route_id);
    jw_obj(w);
    spec_model_put_tags(w, docs, count);
    jw_lit(w, "security");
    jw_raw(w, STR("[{\"" OPENAPI_BEARER "\":[]}]"));
    TRY(spec_model_put_paths(&m, docs, count));
    TRY(spec_model_put_components(&m, docs, count));
    jw_obj_end(w);
    return openapi_chunk_done(about);
}
