#pragma once
/*
 * Followers: clients that receive an answer through another connection than the request that asked
 * the question, possibly of another gateway. One coroutine at a time serves all followers of an
 * answer in this process. It reads the text that was stored since its last round when the process
 * that makes the answer sends a notification, and once a second in any case; every 300 ms without
 * Redis. No text is cached here. Loop thread.
 */
#include "areas/assistant/ai.h"

/* The parameters of a new follower. */
struct ai_follow_params {
    int64_t conversation_id, message_id;
    int64_t characters_seen; /* characters that the client has already */
};

/* any: Turns the response into a feed of the answer. Call it as the last step of a handler and
 * return its result: 200, 429 when no slot is free, or -ECANCELED when the client has left. */
int ai_follow_begin(struct req *r, const struct ai_follow_params *params);
/* any: Notifies the followers in all processes that more text, or the end of the answer, is stored.
 * Fire and forget. */
void ai_follow_notify(int64_t project, int64_t message_id);
