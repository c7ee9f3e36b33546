/*
 * The tool that reads the API documentation: the operations of the platform, and the project's
 * entities with their operations. Its result is a part of what GET /docs shows the same caller:
 * operations that the caller may not call are left out, and so are entities and fields that the
 * caller may not read. The result has to fit into AI_TOOL_BYTES, so words select its content.
 */
#include "areas/assistant/ai_tools_private.h"

#include <string.h>

#include "json/jr.h"
#include "openapi/openapi.h"
#include "openapi/spec_entity.h"
#include "stages/checks.h"

#define ENTITIES_MAX   30
#define ENTITIES_BYTES (AI_TOOL_BYTES / 2)
#define OPERATIONS_MAX 60
#define FIELDS_BYTES   (AI_TOOL_BYTES - 1024)
#define TEXT_BYTES     ((size_t)256 * 1024) /* of an entity, in which words are searched */
#define WORDS_MAX      10

/* One call of the tool. */
struct documentation_call {
    struct tool_call *call;
    struct str words; /* in lower case; empty = all */
    struct openapi_request openapi;
    const struct entity_doc *docs; /* of all entities of the model */
    struct arena *scratch;         /* for one entity, field or route */
    struct jw w;
};

typedef int (*documentation_fn)(struct documentation_call *shelf); /* AWAITS; 0, or a negative */

/* --- access --- */

/* `entity` NULL: a route that needs an entity is refused. */
static bool
caller_can_call(const struct caller *caller, const struct route *route, const struct entity *entity)
{
    for (enum access_check check = 0; check < CHECK_COUNT; check++)
        if (check_applies(check, route) &&
            ((check_needs_entity(check) && !entity) || !check_passes(check, route, caller, entity)))
            return false;
    return true;
}

static bool entity_is_readable(const struct documentation_call *shelf, const struct entity *entity)
{
    return caller_can_entity(shelf->call->caller, entity->id, ACT_READ);
}

static bool route_is_of_records(const struct route *route)
{
    return check_applies(CHECK_ENTITY_PERMISSION, route);
}

/* Whether the caller may call the route. For a route of records: whether the caller may read at
 * least one entity and call the route for that entity. */
static bool caller_can_call_any(const struct documentation_call *shelf, const struct route *route)
{
    const struct model *model = shelf->openapi.model;

    if (!route_is_of_records(route))
        return caller_can_call(shelf->call->caller, route, NULL);
    for (size_t i = 0; i < model->entity_count; i++)
        if (entity_is_readable(shelf, &model->entities[i]) &&
            caller_can_call(shelf->call->caller, route, &model->entities[i]))
            return true;
    return false;
}

/* --- words --- */

/* Whether the text contains each of the words, in upper or lower case. */
static bool text_has_words(const struct documentation_call *shelf, struct str text)
{
    struct str lower = arena_lower(shelf->scratch, text);
    struct str words = shelf->words;

    for (int count = 0; words.ptr && count < WORDS_MAX; count++) {
        struct str word = str_split(&words, ' ');
        if (word.len > 0 && !memmem(lower.ptr, lower.len, word.ptr, word.len))
            return false;
    }
    return true;
}

static bool
route_has_words(const struct documentation_call *shelf, const struct route *route, const char *tag)
{
    return text_has_words(shelf,
                          arena_printf(shelf->scratch,
                                       "%s %s %s %s %s",
                                       route->id,
                                       route->path,
                                       tag,
                                       route->summary,
                                       route->doc ? route->doc : ""));
}

static bool field_has_words(const struct documentation_call *shelf, const struct model_field *field)
{
    return text_has_words(
        shelf,
        arena_printf(
            shelf->scratch, "%.*s %s", STR_ARG(field->name), model_type_info(field->type)->name));
}

/* --- routes --- */

typedef void (*route_fn)(struct documentation_call *shelf,
                         const struct route_table *table,
                         const struct route *route,
                         void *arg);

static void routes_each(struct documentation_call *shelf, route_fn fn, void *arg)
{
    for (size_t i = 0; i < route_table_count; i++) {
        const struct route_table *table = route_tables[i];
        for (size_t k = 0; k < table->count; k++) {
            fn(shelf, table, &table->routes[k], arg);
            arena_reset(shelf->scratch);
        }
    }
}

static const char *documents_tag_of(const struct route_table *table, const struct route *route)
{
    return route->tag ? route->tag : table->tag;
}

/* --- an entity --- */

/* The path of the route, with the entity's name in place of {entity}. */
static struct str
entity_path(struct arena *arena, const struct route *route, const struct entity *entity)
{
    static const char word[] = "{entity}";
    const char *at = strstr(route->path, word);

    if (!at)
        return str_from(route->path);
    return arena_printf(arena,
                        "%.*s%.*s%s",
                        (int)(at - route->path),
                        route->path,
                        STR_ARG(entity->name),
                        at + sizeof(word) - 1);
}

static struct str
documents_name_of(struct arena *arena, const struct route *route, const struct entity_doc *doc)
{
    struct str name = openapi_model_operation_id(arena, route, doc);

    return name.len > 0 ? name : str_from(route->id);
}

static void operation_put_of_entity(struct documentation_call *shelf,
                                    const struct route_table *table UNUSED,
                                    const struct route *route,
                                    void *arg)
{
    const struct entity_doc *doc = arg;
    struct arena *arena = shelf->scratch;
    struct jw *w = &shelf->w;

    if (route->hidden || !route_is_of_records(route) ||
        !caller_can_call(shelf->call->caller, route, doc->entity))
        return;
    jw_obj(w);
    JW_STR(w, "operation", documents_name_of(arena, route, doc));
    JW_CSTR(w, "method", http_method_name(route->method));
    JW_STR(w, "path", entity_path(arena, route, doc->entity));
    JW_CSTR(w, "summary", route->summary);
    JW_STR(w, "needs", check_permission(arena, CHECK_ENTITY_PERMISSION, route, doc->entity));
    jw_obj_end(w);
}

/* Writes the fields that match the words, as many as fit. */
static void documents_put_fields(struct documentation_call *shelf, const struct entity_doc *doc)
{
    int64_t left = 0;

    jw_lit(&shelf->w, "fields");
    jw_arr(&shelf->w);
    for (size_t i = 0; i < doc->entity->field_count; i++) {
        const struct model_field *field = &doc->entity->fields[i];
        struct strbuf one;
        struct jw w;
        arena_reset(shelf->scratch);
        if (!field_has_words(shelf, field))
            continue;
        strbuf_init(&one, shelf->scratch, AI_TOOL_BYTES);
        jw_init(&w, &one);
        entity_schema_member(&w, doc, field);
        if (one.overflow || shelf->call->out.len + one.len > FIELDS_BYTES)
            left++;
        else if (one.len > 0)
            jw_raw(&shelf->w, strbuf_view(&one));
    }
    jw_arr_end(&shelf->w);
    if (left > 0)
        JW_I64(&shelf->w, "fields_left_out", left);
}

static struct str entity_label(struct arena *arena, const struct entity *entity)
{
    return entity->label.len > 0 ? entity->label
                                 : arena_printf(arena, "Records of %.*s", STR_ARG(entity->name));
}

static const struct entity_doc *documents_doc_of(const struct documentation_call *shelf,
                                                 struct str name)
{
    for (size_t i = 0; i < shelf->openapi.model->entity_count; i++)
        if (str_eq(shelf->docs[i].entity->name, name))
            return entity_is_readable(shelf, shelf->docs[i].entity) ? &shelf->docs[i] : NULL;
    return NULL;
}

AWAITS static int entity_put(struct documentation_call *shelf)
{
    const struct entity_doc *doc =
        documents_doc_of(shelf, jr_str(shelf->call->arguments, "entity"));

    if (!doc)
        return ai_tool_refuse(shelf->call,
                              PROBLEM_NOT_FOUND,
                              STR("There is no entity of this name that the user may read."));
    jw_obj(&shelf->w);
    JW_STR(&shelf->w, "entity", doc->entity->name);
    JW_STR(&shelf->w, "summary", entity_label(shelf->scratch, doc->entity));
    jw_lit(&shelf->w, "operations");
    jw_arr(&shelf->w);
    routes_each(shelf, operation_put_of_entity, (void *)doc);
    jw_arr_end(&shelf->w);
    documents_put_fields(shelf, doc);
    jw_obj_end(&shelf->w);
    return 0;
}

/* --- an operation --- */

/* An operation that is searched by its name. `doc` is set when the operation belongs to an
 * entity. */
struct operation_search {
    struct str name;
    const struct route *route;
    const char *tag;
    const struct entity_doc *doc;
};

static void operation_match(struct documentation_call *shelf,
                            const struct route_table *table,
                            const struct route *route,
                            void *arg)
{
    struct operation_search *sought = arg;

    if (!openapi_has_route(table, route)) { /* documented for each entity, if at all */
        for (size_t i = 0; route_is_of_records(route) && i < shelf->openapi.model->entity_count;
             i++) {
            const struct entity_doc *doc = &shelf->docs[i];
            if (!str_eq(openapi_model_operation_id(shelf->scratch, route, doc), sought->name) ||
                !entity_is_readable(shelf, doc->entity) ||
                !caller_can_call(shelf->call->caller, route, doc->entity))
                continue;
            sought->route = route;
            sought->doc = doc;
        }
    } else if (str_is(sought->name, route->id) && caller_can_call_any(shelf, route)) {
        sought->route = route;
        sought->tag = documents_tag_of(table, route);
    }
}

AWAITS static int operation_put(struct documentation_call *shelf)
{
    struct tool_call *call = shelf->call;
    struct operation_search sought = {.name = jr_str(call->arguments, "operation")};

    routes_each(shelf, operation_match, &sought);
    if (!sought.route)
        return ai_tool_refuse(call,
                              PROBLEM_NOT_FOUND,
                              STR("There is no operation of this name that the user may call."));
    if (sought.doc)
        TRY(openapi_model_operation(&shelf->w, sought.route, sought.doc));
    else
        TRY(openapi_operation(&shelf->w, call->task->arena, sought.route, sought.tag));
    if (call->out.overflow)
        return ai_tool_refuse(
            call,
            PROBLEM_TOO_LARGE_ANSWER,
            STR("The operation is too large: request the entity, with words of the fields."));
    return 0;
}

/* --- the list --- */

static void operation_put_name(struct documentation_call *shelf,
                               const struct route_table *table UNUSED,
                               const struct route *route,
                               void *arg)
{
    const struct entity_doc *doc = arg;
    struct str name = openapi_model_operation_id(shelf->scratch, route, doc);

    if (name.len > 0 && caller_can_call(shelf->call->caller, route, doc->entity))
        jw_str(&shelf->w, name);
}

/* Searches the words in the entity's names and in the names of the fields that the caller may read.
 */
static bool entity_has_words(const struct documentation_call *shelf, const struct entity *entity)
{
    struct strbuf text;

    strbuf_init(&text, shelf->scratch, TEXT_BYTES);
    strbuf_printf(&text, "%.*s %.*s records fields", STR_ARG(entity->name), STR_ARG(entity->label));
    for (size_t i = 0; i < entity->field_count; i++) {
        if (!caller_can_field(shelf->call->caller, &entity->fields[i], ACT_READ))
            continue;
        strbuf_char(&text, ' ');
        strbuf_str(&text, entity->fields[i].name);
    }
    return text_has_words(shelf, strbuf_view(&text));
}

AWAITS static int entities_put(struct documentation_call *shelf)
{
    const struct model *model = shelf->openapi.model;
    size_t listed = 0;

    for (size_t i = 0; i < model->entity_count && listed < ENTITIES_MAX; i++) {
        const struct entity *entity = &model->entities[i];
        arena_reset(shelf->scratch);
        TRY(task_yield_if_due(shelf->call->task));
        if (!entity_is_readable(shelf, entity) || !entity_has_words(shelf, entity))
            continue;
        if (shelf->call->out.len > ENTITIES_BYTES)
            break;
        jw_obj(&shelf->w);
        JW_STR(&shelf->w, "entity", entity->name);
        JW_STR(&shelf->w, "summary", entity_label(shelf->scratch, entity));
        jw_lit(&shelf->w, "operations");
        jw_arr(&shelf->w);
        routes_each(shelf, operation_put_name, (void *)&shelf->docs[i]);
        jw_arr_end(&shelf->w);
        jw_obj_end(&shelf->w);
        listed++;
    }
    return 0;
}

static void operation_put_of_platform(struct documentation_call *shelf,
                                      const struct route_table *table,
                                      const struct route *route,
                                      void *arg)
{
    struct jw *w = &shelf->w;
    size_t *listed = arg;

    if (*listed == OPERATIONS_MAX || !openapi_has_route(table, route) ||
        !route_has_words(shelf, route, documents_tag_of(table, route)) ||
        !caller_can_call_any(shelf, route))
        return;
    jw_obj(w);
    JW_CSTR(w, "operation", route->id);
    JW_CSTR(w, "method", http_method_name(route->method));
    JW_CSTR(w, "path", route->path);
    JW_CSTR(w, "summary", route->summary);
    jw_obj_end(w);
    (*listed)++;
}

AWAITS static int list_put(struct documentation_call *shelf)
{
    size_t listed = 0;

    jw_arr(&shelf->w);
    TRY(entities_put(shelf));
    routes_each(shelf, operation_put_of_platform, &listed);
    jw_arr_end(&shelf->w);
    return 0;
}

/* --- the tool --- */

int ai_tool_run_documentation(struct tool_call *call)
{
    struct arena *arena = call->task->arena;
    struct documentation_call shelf = {
        .call = call,
        .words = arena_lower(arena, jr_str(call->arguments, "words")),
        .openapi = {.arena = arena,
                    .model = call->ctx.model,
                    .caller = call->caller,
                    .readable_only = true},
    };
    documentation_fn document = list_put;

    if (!caller_can(call->caller, PERM_SVC_DOCUMENTATION_READ))
        return ai_tool_refuse(
            call, PROBLEM_FORBIDDEN, STR("The user may not read the documentation."));
    if (jr_str(call->arguments, "operation").len > 0)
        document = operation_put;
    else if (jr_str(call->arguments, "entity").len > 0)
        document = entity_put;
    shelf.docs = entity_docs(&shelf.openapi);
    shelf.scratch = arena_new(0);
    jw_init(&shelf.w, &call->out);
    int rc = document(&shelf);
    arena_free(shelf.scratch);
    return rc != 0 ? rc : ai_tool_check_size(call);
}
