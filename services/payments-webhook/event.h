#pragma once
/* One event: read, applied and marked in one transaction. */
#include "app.h"
#include "base/arena.h"
#include "base/list.h"

struct event {
    struct list link;    /* work.queue */
    struct arena *arena; /* of its own; the texts live there */
    int64_t id, number /* of the project */, received_ms, lease_mono_ms;
    int attempts; /* with this one; guards every write */
    bool store;   /* of the app store */
    bool suspect; /* came back from a process that did not end with it */
    struct str event_id, type, payload;
};

/* co: applies it, or notes why not and when it is tried again. Never fails. */
AWAITS void event_apply(struct task *task, struct event *event);
/* Before fork: metrics. */
void event_prepare(void);
