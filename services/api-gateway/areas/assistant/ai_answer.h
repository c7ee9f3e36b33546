#pragma once
/*
 * Answers that this process is making. A background task reads an answer from its model server, and
 * the client that asked receives the text as it arrives. The text is stored about twice a second,
 * so that other clients can follow the answer through any gateway, and so that the text survives
 * the death of this process. The task cancels its request to the server when the answer is
 * cancelled, or when no client has listened for some seconds. Loop thread.
 */
#include "areas/assistant/ai.h"
#include "http/feed.h"

struct ai_question {
    int64_t conversation_id, question_id, message_id;
    const struct ai_config *config;
    const struct ai_reservation *bill;
    struct str body; /* of the request to the model server */
    struct ai_slot_hold *hold;
};

/* any: Begins the answer and turns the response into a feed of its text. Call it as the last step
 * of a handler and return its result: 200, or -ECANCELED when the client has left or the process is
 * stopping. Copies `question`, and takes the slot out of its hold. */
int ai_answer_begin(struct req *r, const struct ai_question *question);
