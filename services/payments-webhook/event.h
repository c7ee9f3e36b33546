#pragma once
/* Applies one event, and marks it as applied in the same transaction. */
#include "app.h"
#include "queue/queue.h"

struct event {
    struct queue_item item; /* the token is the number of attempts, this one included */
    int64_t received_ms;
    bool is_from_store; /* from the app store; false: from the processor */
    struct str event_id, type, payload;
};

/* any: Fills the event from the row that its claim returned (webhook_work.sql). The texts live as
 * long as the item. */
void event_from_row(struct queue_item *item);
/* co: Applies the event, or records why it was not applied and when it is tried again. Returns
 * QUEUE_UNKNOWN when another process may own the event, or the outcome of its commit is unknown. */
AWAITS enum queue_outcome event_run(struct task *task, struct queue_item *item);
/* Call before fork: registers the metric. */
void event_prepare(void);
