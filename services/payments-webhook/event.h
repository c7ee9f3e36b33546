#pragma once
/* One event: read, applied and marked in one transaction. */
#include "app.h"
#include "queue/queue.h"

struct event {
    struct queue_item item; /* its token is the number of attempts with this one */
    int64_t received_ms;
    bool store; /* of the app store */
    struct str event_id, type, payload;
};

/* any: the row that claimed it (webhook_work.sql) into the struct. */
void event_from_row(struct queue_item *item);
/* co: applies it, or notes why not and when it is tried again. */
AWAITS enum queue_outcome event_run(struct task *task, struct queue_item *item);
/* Before fork: metrics. */
void event_prepare(void);
