/* Tools that search and that read the documents. */
#include "areas/assistant/ai_inner.h"
#include "areas/assistant/ai_tools_private.h"

#include <string.h>

#include "base/codec.h"
#include "catalog/problem.h"
#include "json/jr.h"
#include "openapi/openapi.h"
#include "stages/checks.h"

#define HITS           "10"
#define OPERATIONS_MAX 60
#define WORDS_MAX      10

/* --- search --- */

/* The problem of an answer. */
static int search_refused(struct tool_call *call, struct str body)
{
    struct jr_error error;
    json_t *problem;

    if (jr_parse(call->task->arena, body, &problem, &error) != 0)
        return ai_tool_refuse(call, PROBLEM_DEPENDENCY_UNAVAILABLE, STR("Try again."));
    struct str code = jr_str(problem, "code");
    return ai_tool_refuse(
        call, problem_find(arena_cstr(call->task->arena, code)), jr_str(problem, "detail"));
}

int ai_tool_search(struct tool_call *call)
{
    struct arena *arena = call->task->arena;
    struct str words = codec_percent(arena, jr_str(call->arguments, "words"));
    struct str entity = codec_percent(arena, jr_str(call->arguments, "entity"));
    struct ai_inner inner = {
        .project = call->ctx.project,
        .caller = call->caller,
        .path = "/search",
        .query = arena_printf(arena, "q=%.*s&pageSize=" HITS, STR_ARG(words)),
    };
    struct str body;
    int status;

    if (words.len == 0)
        return ai_tool_refuse(call, PROBLEM_REQUIRED, STR("words is required."));
    if (entity.len > 0)
        inner.query = arena_printf(arena, "%.*s&e=%.*s", STR_ARG(inner.query), STR_ARG(entity));
    TRY(ai_inner_get(call->task, &inner, AI_TOOL_BYTES, &status, &body));
    if (status != 200)
        return search_refused(call, body);
    strbuf_str(&call->out, body);
    return 0;
}

/* --- documentation --- */

static bool may_call(const struct caller *caller, const struct route *route)
{
    for (enum access_check check = 0; check < CHECK_COUNT; check++)
        if (check_asked(check, route) &&
            (check_needs_entity(check) || !check_passed(check, route, caller, NULL)))
            return false;
    return true;
}

/* Each of the words, in any case. */
static bool
is_about(struct arena *arena, const struct route *route, const char *tag, struct str words)
{
    struct str text = arena_lower(arena,
                                  arena_printf(arena,
                                               "%s %s %s %s %s",
                                               route->id,
                                               route->path,
                                               tag,
                                               route->summary,
                                               route->doc ? route->doc : ""));

    for (int count = 0; words.ptr && count < WORDS_MAX; count++) {
        struct str word = str_split(&words, ' ');
        if (word.len > 0 && !memmem(text.ptr, text.len, word.ptr, word.len))
            return false;
    }
    return true;
}

static void put_route(struct jw *w, const struct route *route)
{
    jw_obj(w);
    JW_CSTR(w, "operation", route->id);
    JW_CSTR(w, "method", http_method_name(route->method));
    JW_CSTR(w, "path", route->path);
    JW_CSTR(w, "summary", route->summary);
    jw_obj_end(w);
}

/* What the caller may call, of what the documents describe. */
struct shelf {
    struct tool_call *call;
    struct str words, operation;
    struct arena *scratch;
    struct jw w;
    size_t listed;
    const struct route *found;
    const char *found_tag;
};

static void shelf_look(struct shelf *shelf, const struct route_table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct route *route = &table->routes[i];
        const char *tag = route->tag ? route->tag : table->tag;
        if (!openapi_has(table, route) || !may_call(shelf->call->caller, route))
            continue;
        if (shelf->operation.len > 0) {
            if (!str_is(shelf->operation, route->id))
                continue;
            shelf->found = route;
            shelf->found_tag = tag;
        } else if (shelf->listed < OPERATIONS_MAX &&
                   is_about(shelf->scratch, route, tag, shelf->words)) {
            put_route(&shelf->w, route);
            shelf->listed++;
        }
        arena_reset(shelf->scratch);
    }
}

int ai_tool_documentation(struct tool_call *call)
{
    struct arena *arena = call->task->arena;
    struct shelf shelf = {
        .call = call,
        .words = arena_lower(arena, jr_str(call->arguments, "words")),
        .operation = jr_str(call->arguments, "operation"),
    };

    if (!caller_can(call->caller, PERM_SVC_DOCUMENTATION_READ))
        return ai_tool_refuse(
            call, PROBLEM_FORBIDDEN, STR("The user may not read the documentation."));
    shelf.scratch = arena_new(0);
    jw_init(&shelf.w, &call->out);
    if (shelf.operation.len == 0)
        jw_arr(&shelf.w);
    for (size_t i = 0; i < route_table_count; i++)
        shelf_look(&shelf, route_tables[i]);
    arena_free(shelf.scratch);
    if (shelf.operation.len == 0)
        jw_arr_end(&shelf.w);
    else if (!shelf.found)
        return ai_tool_refuse(
            call, PROBLEM_NOT_FOUND, STR("The user may call no operation of this name."));
    else
        TRY(openapi_operation(&shelf.w, arena, shelf.found, shelf.found_tag));
    return ai_tool_told(call);
}
