#pragma once
/* What the files of conversations share. */
#include "areas/assistant/ai.h"

extern const struct schema ai_message_schema;

/* co: the caller's conversation {id}: 404 when there is none. */
AWAITS int ai_conversation_find(struct req *r, int64_t *ret_id, struct rows *ret_rows) MUSTCHECK;
/* co: route.guard of what is about it. */
AWAITS int ai_conversation_guard(struct req *r);
/* co: the message {messageId} of the caller's conversation {id}, as it is shown: 404. */
AWAITS int
ai_message_find(struct req *r, int64_t *ret_conversation_id, int64_t *ret_id, struct rows *ret_rows)
    MUSTCHECK;
/* co: route.guard of what is about it. */
AWAITS int ai_message_guard(struct req *r);
