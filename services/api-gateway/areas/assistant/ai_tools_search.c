/* The tool that searches: as the user's own request does. */
#include "areas/assistant/ai_inner.h"
#include "areas/assistant/ai_tools_private.h"

#include "base/codec.h"
#include "catalog/problem.h"
#include "json/jr.h"

#define HITS "10"

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
