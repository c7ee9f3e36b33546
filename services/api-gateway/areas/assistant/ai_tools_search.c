/* The tool that searches, as a request of the user does. */
#include "areas/assistant/ai_tools_private.h"

#include "base/codec.h"
#include "catalog/problem.h"
#include "json/jr.h"
#include "stages/inner.h"

#define HITS "10"

/* Refuses with the problem that the search answered. */
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

int ai_tool_run_search(struct tool_call *call)
{
    struct arena *arena = call->task->arena;
    struct str words = codec_percent(arena, jr_str(call->arguments, "words"));
    struct str entity = codec_percent(arena, jr_str(call->arguments, "entity"));
    struct inner_req inner = {
        .project = call->ctx.project,
        .caller = call->caller,
        .method = HTTP_GET_M,
        .path = arena_printf(arena, "/org/%.*s/search", STR_ARG(call->ctx.project->slug)),
        .answer = inner_handle,
        .query = arena_printf(arena, "q=%.*s&pageSize=" HITS, STR_ARG(words)),
    };
    struct inner_answer answer;

    if (words.len == 0)
        return ai_tool_refuse(call, PROBLEM_REQUIRED, STR("words is required."));
    if (entity.len > 0)
        inner.query = arena_printf(arena, "%.*s&e=%.*s", STR_ARG(inner.query), STR_ARG(entity));
    TRY(inner_run(call->task, &inner, AI_TOOL_BYTES, &answer));
    if (answer.status != 200)
        return search_refused(call, answer.body);
    strbuf_str(&call->out, answer.body);
    return 0;
}
