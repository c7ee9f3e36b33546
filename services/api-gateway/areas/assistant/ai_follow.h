#pragma once
/*
 * Followers: who hears an answer through another connection than the one that asked, maybe of
 * another gateway. All followers of an answer in this process are served by one coroutine at a
 * time, which reads what has been written down since: when the doorbell of whoever makes the answer
 * rings, and once a second in any case. Nothing of the answer is kept here. Loop thread.
 */
#include "areas/assistant/ai.h"

/* What one wants to follow. */
struct ai_follow_wish {
    int64_t conversation_id, message_id;
    int64_t seen; /* letters that it has */
};

/* any: once in each worker. */
void ai_follow_start(struct directory *directory);
/* any: nothing is sent any more; the feeds end with their server. */
void ai_follow_stop(void);

/* any: as the last thing that a handler does: the response becomes a feed of the answer. Its result
 * is the handler's; 429 when there is no place. */
int ai_follow_begin(struct req *r, const struct ai_follow_wish *wish);
/* any: fire and forget: tells followers that there is more of the answer, or its end. */
void ai_follow_ring(int64_t project, int64_t message_id);
