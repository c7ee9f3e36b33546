#pragma once
/*
 * Tools that models may have called, when the project lets them: they read what the caller may
 * read, by the functions and under the rules of lists, with the caller's rights of that moment.
 * What records say is text for the model and nothing else: no tool takes a caller, and none writes:
 * a workflow is proposed, and started by the user's own request.
 */
#include "app.h"

#define AI_TOOL_BYTES ((size_t)32 * 1024) /* of a result */

/* Of requests to model servers: an array, JSON. */
extern const char ai_tools_json[];

/* Who asked, and where. */
struct ai_tool_user {
    struct project *project;
    int64_t user_id, key_id; /* 0 = the user itself */
};

/* What a call came to; it lives as long as the task's arena. */
struct ai_told {
    struct str text; /* JSON: what was found, or {"error"} as the caller would be told */
    const struct caller *caller; /* for the audit log */
    bool waits;                  /* nothing was done: the user decides (ai_tools_workflows.c) */
};
/* co: 0, or a negative. */
AWAITS int ai_tool_run(struct task *task,
                       const struct ai_tool_user *user,
                       struct str name,
                       struct str arguments,
                       struct ai_told *ret_told) MUSTCHECK;

/* any: is there one of this name? */
bool ai_tool_known(struct str name);

/* What a tool told in an earlier turn. */
struct ai_tool_past {
    struct str tool, arguments, text;
    int64_t told_ms;
};
/* co: whether a model that this caller asks may be told it again. 0, or the status that was put. */
AWAITS int ai_tool_may_tell(struct req *r, const struct ai_tool_past *told, bool *ret_may)
    MUSTCHECK;
