#pragma once
/*
 * A conversation as it is sent to a model, in the form of OpenAI's protocol: the newest messages
 * that fit, beginning with a question, each answer after its tool calls and their results. A single
 * result and the sum of all results are bounded. A note replaces the oldest results when there are
 * too many, and results that the caller may not see now (ai_tool_can_resend()).
 */
#include "areas/assistant/ai.h"
#include "json/jw.h"

struct ai_history_result {
    int64_t message_id;
    struct str text;
};
/* Results of tool calls, newest first. Results of older calls are left out. */
struct ai_history {
    struct ai_history_result *items;
    size_t count;
};

/* co: Loads the results of tools in the caller's conversation. Call it outside of transactions.
 * Arena-owned. Returns 0, a negative, or the status that was put. */
AWAITS int ai_history_load(struct req *r, int64_t conversation_id, struct ai_history *ret_history)
    MUSTCHECK;
/* co: Writes the messages into the open array. `history` NULL: the project's models may call no
 * tools, so earlier tool calls are left out. */
AWAITS int ai_history_put(struct req *r,
                          struct jw *w,
                          int64_t conversation_id,
                          const struct ai_history *history) MUSTCHECK;
/* any: Writes one message. */
void ai_history_put_text(struct jw *w, struct str role, struct str content);
