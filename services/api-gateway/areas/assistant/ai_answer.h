#pragma once
/*
 * Answers that are being made, in this process. One is read from its model server in the
 * background; whoever asked for it hears it as it comes. What has come is written down twice a
 * second, so that others may follow it, here or through another gateway, and so that it is there
 * when this process dies. When nobody has listened for some seconds, or it is cancelled, the
 * server is left. Loop thread.
 */
#include "areas/assistant/ai.h"
#include "http/feed.h"

struct ai_question {
    int64_t conversation_id, question_id, message_id;
    const struct ai_config *config;
    const struct ai_bill *bill;
    struct str body; /* of the request to the server */
    struct ai_hold *hold;
};

/* any: as the last thing that a handler does: the response becomes a feed of the answer. Its result
 * is the handler's. Copies what it needs. */
int ai_answer_begin(struct req *r, const struct ai_question *question);
