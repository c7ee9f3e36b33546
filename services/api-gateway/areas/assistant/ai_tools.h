#pragma once
/*
 * Tools that models may call when the project allows it. Tools read what the caller may read, with
 * the functions and rules of lists and with the caller's rights at that moment. The content of
 * records is text for the model and nothing else: no argument of a tool chooses the caller, and no
 * tool writes. A tool only proposes a workflow, which the user's own request starts.
 */
#include "app.h"

#define AI_TOOL_BYTES ((size_t)32 * 1024) /* limit of one result */

/* The member "tools" of requests to model servers: an array as JSON text. */
extern const char ai_tools_json[];

/* The user for whom tools run, and the project. */
struct ai_tool_user {
    struct project *project;
    int64_t user_id, key_id; /* key_id 0 = no API key */
};

/* The result of a call. It lives as long as the task's arena. */
struct ai_tool_result {
    struct str text; /* JSON: the data, or {"error"} as a request of the caller would get */
    const struct caller *caller; /* for the audit log */
    bool needs_confirmation;     /* nothing was done yet: the user decides (ai_tools_workflows.c) */
};
/* co: Runs the tool `name` with `arguments`, a JSON text, for the user. A refusal is a result, too.
 * Returns 0, or a negative. */
AWAITS int ai_tool_run(struct task *task,
                       const struct ai_tool_user *user,
                       struct str name,
                       struct str arguments,
                       struct ai_tool_result *ret_result) MUSTCHECK;

/* any: Tells whether a tool has this name. */
bool ai_tool_exists(struct str name);

/* A stored call of a tool, with its result `text` and the time of that result. */
struct ai_tool_stored {
    struct str tool, arguments, text;
    int64_t created_ms;
};
/* co: Decides whether the result may be sent to a model again, for the request's caller. Returns 0
 * with *ret_may, a negative, or the status that was put. */
AWAITS int ai_tool_can_resend(struct req *r, const struct ai_tool_stored *stored, bool *ret_may)
    MUSTCHECK;
