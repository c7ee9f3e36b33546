#pragma once
/*
 * Tools that models may have called, when the project lets them: they read what the caller may
 * read, by the functions and under the rules of lists, with the caller's rights of that moment.
 * What records say is text for the model and nothing else: no tool takes a caller, and none writes.
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

/* co: the result as JSON, arena-owned: what the tool found, or {"error"} with what the caller would
 * be told. 0, or a negative. *ret_caller is for the audit log; it lives as long as the arena. */
AWAITS int ai_tool_run(struct task *task,
                       const struct ai_tool_user *user,
                       struct str name,
                       struct str arguments,
                       struct str *ret_result,
                       struct caller **ret_caller) MUSTCHECK;
