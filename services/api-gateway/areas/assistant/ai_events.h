#pragma once
/* The server-sent events of answers. All results are arena-owned. */
#include "app.h"

/* any: Returns an event with the data `data`. An `id` below 0 is left out. */
struct str ai_event(struct arena *arena, int64_t id, const char *event, struct str data);
/* any: Returns an event whose data is an object with one member. */
struct str ai_event_named(
    struct arena *arena, int64_t id, const char *event, const char *member, struct str text);
/* any: Returns "delta" with a part of the text. `id`: the number of characters so far. */
struct str ai_event_delta(struct arena *arena, int64_t id, struct str text);
/* any: Returns "confirm": the message waits for its user's decision. */
struct str ai_event_confirm(struct arena *arena, int64_t message_id);
/* any: Returns "end" with the reason why this client receives no more of the answer. */
struct str ai_event_end(struct arena *arena, const char *code);
/* co: Reads the message as the API shows it now, for the event "done". 0, a DB_*, or a negative. */
AWAITS int ai_event_done(struct task *task,
                         struct project *project,
                         int64_t user_id,
                         int64_t conversation_id,
                         int64_t message_id,
                         struct str *ret_event) MUSTCHECK;
