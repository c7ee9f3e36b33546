/* The platform document: all documented routes of the route tables. */
#include "base/map.h"
#include "base/panic.h"
#include "catalog/problem.h"
#include "openapi/parts.h"
#include "stages/conditional.h"

#define TITLE             "Platform API"
#define VERSION           "1.0.0"
#define DESCRIPTION_BYTES 8192
#define PARTIAL_CONTENT   206
#define DESCRIPTION                                                                                \
    "All resources of a project except the records of its entities, which are in the data model "  \
    "document. Errors are problem documents (RFC 9457). HEAD is allowed with GET, and PATCH with " \
    "PUT. Answers have the header X-Request-Id and, where a rate limit applies, RateLimit-Limit, " \
    "RateLimit-Remaining and RateLimit-Reset."

static const struct {
    const char *tag;
    const char *description;
} tag_descriptions[] = {
    {"Project", "Name, allowed origins and settings of this project"},
    {"Sign-in", "Access and refresh tokens, sessions, signing keys"},
    {"Users", "Accounts, their profiles, invitations and confirmations"},
    {"Roles and permissions", "Roles with their permissions, and the list of all permissions"},
    {"API keys", "Long-lived credentials for programs, bound to the user who created them"},
    {"Groups", "Users who share records"},
    {"Audit log", "Changes in the administration of the project, and who made them"},
    {"Entities", "Tables of the project's own data model"},
    {"Fields", "Columns of an entity"},
    {"Enums", "Named lists of values for fields"},
    {"Records", "Operations on records other than reading and writing single records"},
    {"Public records", "Records that anyone may read"},
    {"Row-level security", "Grants of single records to users, groups and roles"},
    {"Workflows", "Automation: triggers and the steps that they start"},
    {"Jobs", "Runs of workflows, with the input and output of each step"},
    {"Push", "Notifications to phones and browsers, and taps on them"},
    {"Files", "Files of the project, in folders, protected by the row rule of records"},
    {"Tasks", "Progress of long-running work"},
    {"Documentation", "This specification"},
};

struct documented_route {
    const struct route *route;
    const char *tag;
};

struct platform_doc {
    struct jw *w;
    struct arena *arena;
    const struct openapi_request *inputs;
    struct openapi_statuses statuses;
    struct documented_route *routes; /* routes of one path are adjacent */
    size_t route_count;
    const struct schema **schemas; /* components, in order of their first use */
    size_t schema_count, schema_cap;
    struct map *schemas_by_name; /* component name -> schema */
};

/* --- documented routes --- */

bool openapi_has_route(const struct route_table *table, const struct route *route)
{
    return str_is(str_from(table->mount), PROJECT_MOUNT) && route->auth != AUTH_OPERATOR &&
           !route->hidden && !route->undocumented_entity;
}

static size_t count_routes(void)
{
    size_t count = 0;

    for (size_t i = 0; i < route_table_count; i++)
        count += route_tables[i]->count;
    return count;
}

static void spec_platform_free_map(void *map)
{
    map_free(map);
}

/* Collects the documented routes in table order, but puts all routes of a path after the first. */
static void collect_routes(struct platform_doc *p)
{
    struct map *seen = map_new();
    size_t total = count_routes();
    struct documented_route *all = ARENA_ARRAY(p->arena, all, total);
    size_t count = 0;

    arena_defer(p->arena, spec_platform_free_map, seen);
    for (size_t i = 0; i < route_table_count; i++) {
        const struct route_table *table = route_tables[i];
        for (size_t k = 0; k < table->count; k++) {
            const struct route *route = &table->routes[k];
            const char *tag = route->tag ? route->tag : table->tag;
            if (openapi_has_route(table, route))
                all[count++] = (struct documented_route){route, tag};
        }
    }
    p->routes = ARENA_ARRAY(p->arena, p->routes, total);
    for (size_t i = 0; i < count; i++) {
        if (map_put(seen, str_from(all[i].route->path), (void *)all[i].route) != NULL)
            continue;
        for (size_t k = i; k < count; k++) {
            if (str_is(str_from(all[i].route->path), all[k].route->path))
                p->routes[p->route_count++] = all[k];
        }
    }
}

static void collect_schema(struct platform_doc *p, const struct schema *schema);

/* A nullable object is written inline and is not a component (json/schema.h). */
/* NOLINTNEXTLINE(misc-no-recursion): over static data */
static void collect_members(struct platform_doc *p, const struct schema *schema)
{
    for (size_t i = 0; i < schema->count; i++) {
        const struct field *field = &schema->fields[i];
        if (field->type == FIELD_OBJ && field->nullable && field->sub->value == NULL)
            collect_members(p, field->sub);
        else
            collect_schema(p, field->sub);
    }
}

/* Adds a schema and all schemas that it refers to. The recursion is as deep as the tables nest. */
/* NOLINTNEXTLINE(misc-no-recursion): over static data */
static void collect_schema(struct platform_doc *p, const struct schema *schema)
{
    const struct schema *known;

    if (schema == NULL)
        return;
    known = map_get(p->schemas_by_name, str_from(schema->name));
    if (known != NULL) {
        MUST(known->fields == schema->fields && known->value == schema->value);
        return;
    }
    (void)map_put(p->schemas_by_name, str_from(schema->name), (void *)schema);
    ARENA_PUSH(p->arena, p->schemas, p->schema_count, p->schema_cap, schema);
    collect_members(p, schema);
}

/* --- operations --- */

static void put_path_params(struct jw *w, const struct route *route)
{
    struct str rest = str_from(route->path);

    while (rest.ptr != NULL) {
        struct str segment = str_split(&rest, '/');
        if (segment.len > 2 && segment.ptr[0] == '{')
            openapi_path_param(w, route, (struct str){segment.ptr + 1, segment.len - 2});
    }
}

static void spec_platform_put_parameters(struct jw *w, const struct route *route)
{
    const struct query_param *param = route->query;
    bool in_path = strchr(route->path, '{') != NULL;

    if (!in_path && !conditional_headers(route) && (param == NULL || param->name == NULL))
        return;
    jw_lit(w, "parameters");
    jw_arr(w);
    put_path_params(w, route);
    for (; param != NULL && param->name != NULL; param++)
        openapi_query_param(w, param);
    openapi_headers(w, conditional_headers(route), false);
    jw_arr_end(w);
}

static void media_begin(struct jw *w, const char *type)
{
    jw_lit(w, "content");
    jw_obj(w);
    jw_lit(w, type);
    jw_obj(w);
    jw_lit(w, "schema");
}

static void media_end(struct jw *w)
{
    jw_obj_end(w);
    jw_obj_end(w);
}

/* Writes the schema of a body or answer that is not JSON: text or binary. */
static void put_non_json(struct jw *w, const char *type)
{
    jw_raw(w,
           str_starts(str_from(type), STR("text/"))
               ? STR("{\"type\":\"string\"}")
               : STR("{\"type\":\"string\",\"format\":\"binary\"}"));
}

static void spec_platform_put_body(struct jw *w, const struct route *route)
{
    bool multipart = route->body_type && str_is(str_from(route->body_type), "multipart/form-data");

    if (route->body == NULL && route->body_type == NULL)
        return;
    jw_lit(w, "requestBody");
    jw_obj(w);
    JW_BOOL(w, "required", !route->body_optional);
    media_begin(w, route->body_type ? route->body_type : "application/json");
    if (route->body != NULL)
        openapi_ref(w, "schemas", str_from(route->body->name));
    else if (multipart)
        jw_raw(w,
               STR("{\"type\":\"object\",\"required\":[\"file\"],\"properties\":"
                   "{\"file\":{\"type\":\"string\",\"format\":\"binary\"}}}"));
    else
        put_non_json(w, route->body_type);
    media_end(w);
    jw_obj_end(w);
}

/* Writes the schema of a success. A dry run answers 200: when the route itself answers 200 as well,
 * the schema is one of two. */
static void
put_schema(struct jw *w, const struct route *route, int status, const struct schema *schema)
{
    struct str name = str_from(schema->name);

    if (route->dry_run == NULL || status != 200) {
        openapi_ref(w, "schemas", name);
        return;
    }
    jw_obj(w);
    jw_lit(w, "oneOf");
    jw_arr(w);
    openapi_ref(w, "schemas", name);
    openapi_ref(w, "schemas", str_from(route->dry_run->name));
    jw_arr_end(w);
    jw_obj_end(w);
}

static void put_answer(struct jw *w, const struct route *route, int status)
{
    const struct route_success *ok = &route->success;
    const char *type = ok->content_type ? ok->content_type : "application/json";

    jw_key(w, arena_printf(w->out->arena, "%d", status));
    jw_obj(w);
    JW_CSTR(w, "description", problem_status_title(status));
    openapi_success_headers(w, status, conditional_has_etag(route));
    if (ok->schema != NULL || ok->content_type != NULL) {
        media_begin(w, type);
        if (ok->list)
            openapi_list_begin(w);
        if (ok->schema != NULL)
            put_schema(w, route, status, ok->schema);
        else
            put_non_json(w, type);
        if (ok->list)
            openapi_list_end(w, openapi_has_cursor(route->query));
        if (ok->other_type != NULL) {
            jw_obj_end(w);
            jw_lit(w, ok->other_type);
            jw_obj(w);
            jw_lit(w, "schema");
            put_non_json(w, ok->other_type);
        }
        media_end(w);
    }
    jw_obj_end(w);
}

static void put_dry_run(struct jw *w, const struct route *route)
{
    JW_CSTR(w, "description", "Result of a dry run: nothing was changed");
    openapi_success_headers(w, 200, false);
    media_begin(w, "application/json");
    openapi_ref(w, "schemas", str_from(route->dry_run->name));
    media_end(w);
}

static void spec_platform_put_success(struct jw *w, const struct route *route)
{
    put_answer(w, route, route->success.status);
    if (route->dry_run != NULL && route->success.status != 200) {
        jw_lit(w, "200");
        jw_obj(w);
        put_dry_run(w, route);
        jw_obj_end(w);
    }
    if (route->headers & HEADER_RANGE)
        put_answer(w, route, PARTIAL_CONTENT);
}

static struct str security_of_auth(enum route_auth auth)
{
    switch (auth) {
    case AUTH_PUBLIC:
        return STR("[]");
    case AUTH_OPTIONAL:
        return STR("[{},{\"" OPENAPI_BEARER "\":[]},{\"" OPENAPI_KEY "\":[]}]");
    case AUTH_USER_OR_KEY:
        return STR("[{\"" OPENAPI_BEARER "\":[]},{\"" OPENAPI_KEY "\":[]}]");
    case AUTH_USER:
    case AUTH_ADMIN:
    case AUTH_OPERATOR:
        break;
    }
    return STR("[{\"" OPENAPI_BEARER "\":[]}]");
}

/* Returns the route's own description, followed by the permission that a caller needs. */
static struct str route_description(struct arena *arena, const struct route *route)
{
    struct strbuf text;

    strbuf_init(&text, arena, DESCRIPTION_BYTES);
    strbuf_cstr(&text, route->doc);
    if (route->auth == AUTH_PUBLIC || route->auth == AUTH_OPTIONAL ||
        (route->auth != AUTH_ADMIN && route->perm == PERM_NONE))
        return strbuf_view(&text);
    if (text.len)
        strbuf_cstr(&text, "\n\n");
    if (route->auth == AUTH_ADMIN) {
        strbuf_cstr(&text, "For administrators of the project.");
        return strbuf_view(&text);
    }
    strbuf_printf(&text, "Needs the permission `%s`", perm_name(route->perm));
    if (route->perm_or != PERM_NONE)
        strbuf_printf(&text, " or `%s`", perm_name(route->perm_or));
    if (route->perm_and != PERM_NONE)
        strbuf_printf(&text, ", and `%s`", perm_name(route->perm_and));
    if (route->own_param)
        strbuf_cstr(&text, "; signed-in users need no permission for themselves");
    strbuf_char(&text, '.');
    return strbuf_view(&text);
}

static const char *method_key(enum http_method method)
{
    switch (method) {
    case HTTP_GET_M:
        return "get";
    case HTTP_POST_M:
        return "post";
    case HTTP_PUT_M:
        return "put";
    case HTTP_PATCH_M:
        return "patch";
    case HTTP_DELETE_M:
        return "delete";
    case HTTP_HEAD_M:
    case HTTP_OPTIONS_M:
    case HTTP_OTHER_M:
        break;
    }
    PANIC("method %d is not for documents", (int)method);
}

AWAITS static int spec_platform_put_operation(struct platform_doc *p,
                                              const struct documented_route *documented)
{
    struct jw *w = p->w;
    const struct route *route = documented->route;
    struct str description = route_description(p->arena, route);

    jw_lit(w, method_key(route->method));
    jw_obj(w);
    jw_lit(w, "tags");
    jw_arr(w);
    jw_cstr(w, documented->tag);
    jw_arr_end(w);
    JW_CSTR(w, "operationId", route->id);
    JW_CSTR(w, "summary", route->summary);
    if (description.len)
        JW_STR(w, "description", description);
    jw_lit(w, "security");
    jw_raw(w, security_of_auth(route->auth));
    spec_platform_put_parameters(w, route);
    spec_platform_put_body(w, route);
    jw_lit(w, "responses");
    jw_obj(w);
    spec_platform_put_success(w, route);
    openapi_failures(w, route, &p->statuses);
    jw_obj_end(w);
    jw_obj_end(w);
    collect_schema(p, route->body);
    collect_schema(p, route->success.schema);
    collect_schema(p, route->dry_run);
    return openapi_chunk_done(p->inputs);
}

AWAITS static int spec_platform_put_paths(struct platform_doc *p)
{
    const char *open = NULL;

    jw_lit(p->w, "paths");
    jw_obj(p->w);
    for (size_t i = 0; i < p->route_count; i++) {
        const char *path = p->routes[i].route->path;
        if (open == NULL || strcmp(open, path) != 0) {
            if (open != NULL)
                jw_obj_end(p->w);
            open = path;
            jw_lit(p->w, open);
            jw_obj(p->w);
        }
        TRY(spec_platform_put_operation(p, &p->routes[i]));
    }
    if (open != NULL)
        jw_obj_end(p->w);
    jw_obj_end(p->w);
    return 0;
}

/* --- the document --- */

static struct str tag_description(struct arena *arena, const char *tag)
{
    for (size_t i = 0; i < ARRAY_LEN(tag_descriptions); i++) {
        if (str_is(str_from(tag), tag_descriptions[i].tag))
            return str_from(tag_descriptions[i].description);
    }
    return arena_printf(arena, "Endpoints of the area %s", tag);
}

static void spec_platform_put_tags(struct platform_doc *p)
{
    struct map *seen = map_new();

    arena_defer(p->arena, spec_platform_free_map, seen);
    jw_lit(p->w, "tags");
    jw_arr(p->w);
    for (size_t i = 0; i < p->route_count; i++) {
        const char *tag = p->routes[i].tag;
        if (map_put(seen, str_from(tag), (void *)tag) == NULL)
            openapi_tag(p->w, str_from(tag), tag_description(p->arena, tag));
    }
    jw_arr_end(p->w);
}

static void put_security_schemes(struct jw *w)
{
    jw_lit(w, "securitySchemes");
    jw_obj(w);
    jw_lit(w, OPENAPI_BEARER);
    jw_raw(w,
           STR("{\"type\":\"http\",\"scheme\":\"bearer\",\"bearerFormat\":\"JWT\","
               "\"description\":\"An access token of POST /auth/v1/token\"}"));
    jw_lit(w, OPENAPI_KEY);
    jw_raw(w,
           STR("{\"type\":\"apiKey\",\"in\":\"header\",\"name\":\"x-api-key\","
               "\"description\":\"An API key; also accepted as bearer token\"}"));
    jw_obj_end(w);
}

AWAITS static int spec_platform_put_schemas(struct platform_doc *p)
{
    jw_lit(p->w, "schemas");
    jw_obj(p->w);
    for (size_t i = 0; i < p->schema_count; i++) {
        jw_lit(p->w, p->schemas[i]->name);
        schema_openapi(p->w, p->schemas[i]);
        TRY(openapi_chunk_done(p->inputs));
    }
    return 0;
}

AWAITS static int spec_platform_put_components(struct platform_doc *p)
{
    struct jw *w = p->w;

    jw_lit(w, "components");
    jw_obj(w);
    TRY(spec_platform_put_schemas(p));
    jw_lit(w, "Problem");
    jw_raw(w, openapi_problem(p->arena, true));
    jw_obj_end(w);
    openapi_responses(w, &p->statuses, STR("{\"$ref\":\"#/components/schemas/Problem\"}"));
    put_security_schemes(w);
    jw_obj_end(w);
    return 0;
}

void openapi_platform_head(struct jw *w, struct str base_url)
{
    openapi_head(w, base_url, "3.0.4", TITLE, STR(VERSION), DESCRIPTION);
}

static struct platform_doc *spec_platform_new(struct jw *w, const struct openapi_request *about)
{
    struct platform_doc *p = ARENA_NEW(about->arena, p);

    p->w = w;
    p->arena = about->arena;
    p->inputs = about;
    p->schemas_by_name = map_new();
    arena_defer(p->arena, spec_platform_free_map, p->schemas_by_name);
    return p;
}

int openapi_operation(struct jw *w, struct arena *arena, const struct route *route, const char *tag)
{
    struct openapi_request about = {.arena = arena};
    struct platform_doc *p = spec_platform_new(w, &about);
    const struct documented_route documented = {route, tag};

    jw_obj(w);
    JW_CSTR(w, "path", route->path);
    TRY(spec_platform_put_operation(p, &documented));
    TRY(spec_platform_put_schemas(p));
    jw_obj_end(w);
    jw_obj_end(w);
    return 0;
}

int openapi_platform(struct jw *w, const struct openapi_request *about)
{
    struct platform_doc *p = spec_platform_new(w, about);

    collect_routes(p);
    jw_obj(w);
    spec_platform_put_tags(p);
    TRY(spec_platform_put_paths(p));
    TRY(spec_platform_put_components(p));
    jw_obj_end(w);
    return openapi_chunk_done(about);
}
