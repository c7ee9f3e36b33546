#pragma once
/* Shared by the files of conversations. */
#include "areas/assistant/ai.h"

/* A message as the API shows it. */
extern const struct schema ai_message_schema;

/* co: Reads {id} of the path, and the caller's conversation of that id. 404 when there is none.
 * Returns 0, a negative, or the status that was put. */
AWAITS int ai_conversation_find(struct req *r, int64_t *ret_id, struct rows *ret_rows) MUSTCHECK;
/* co: A route.guard: 404 when the caller has no conversation {id}. */
AWAITS int ai_conversation_guard(struct req *r);
/* co: Reads {id} and {messageId} of the path, and that message of the caller's conversation, as the
 * API shows it. 404 when there is none. Returns as ai_conversation_find(). */
AWAITS int
ai_message_find(struct req *r, int64_t *ret_conversation_id, int64_t *ret_id, struct rows *ret_rows)
    MUSTCHECK;
/* co: A route.guard: 404 when the caller's conversation {id} has no message {messageId}. */
AWAITS int ai_message_guard(struct req *r);
