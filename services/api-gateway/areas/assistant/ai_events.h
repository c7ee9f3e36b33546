#pragma once
/* What listeners of answers are sent: server-sent events, arena-owned. */
#include "app.h"

/* any: one event; `id` below 0 = without. */
struct str ai_event(struct arena *arena, int64_t id, const char *event, struct str data);
/* any: one with one member. */
struct str ai_event_named(
    struct arena *arena, int64_t id, const char *event, const char *member, struct str text);
/* any: "delta" with a text. */
struct str ai_event_delta(struct arena *arena, int64_t id, struct str text);
/* any: "confirm": a message waits for its user. */
struct str ai_event_confirm(struct arena *arena, int64_t message_id);
/* any: "end": why there is no more of it for this listener. */
struct str ai_event_end(struct arena *arena, const char *code);
/* co: "done" with the message as it is shown now. DB_*. */
AWAITS int ai_event_done(struct task *task,
                         struct project *project,
                         int64_t user_id,
                         int64_t conversation_id,
                         int64_t message_id,
                         struct str *ret_event) MUSTCHECK;
