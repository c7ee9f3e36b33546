#pragma once
/*
 * What a conversation has come to, as a model is told it: the newest messages that fit, from a
 * question on, each answer behind the calls that it was made with and what they told, in OpenAI's
 * shape. What was told is bounded: a result, and all results; the oldest are left out first, with a
 * word in their place, as what the caller of now may not be told (ai_tool_may_tell()).
 */
#include "areas/assistant/ai.h"
#include "json/jw.h"

struct ai_recalled {
    int64_t message_id;
    struct str text;
};
/* Results, newest first; those of older calls are not in it. */
struct ai_recall {
    struct ai_recalled *items;
    size_t count;
};

/* co, outside of transactions: what tools told in the caller's conversation. */
AWAITS int ai_recall_load(struct req *r, int64_t conversation_id, struct ai_recall *ret_recall)
    MUSTCHECK;
/* co: writes the messages into the open array. `recall` NULL: models have no tools (any more),
 * calls are left out. */
AWAITS int
ai_recall_put(struct req *r, struct jw *w, int64_t conversation_id, const struct ai_recall *recall)
    MUSTCHECK;
/* any: one message. */
void ai_recall_put_text(struct jw *w, struct str role, struct str content);
