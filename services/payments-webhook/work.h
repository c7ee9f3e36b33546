#pragma once
/*
 * What this daemon has in the queue (common/product/queue): events, which are claimed many at a
 * time and applied, and rows to settle, of which a project's are taken a pass at a time (settle.c).
 * The claim of an event counts the attempt and moves next_attempt_at ahead by lease_ms, so what a
 * process leaves behind when it dies comes back by itself, and an event that takes every process
 * down with it ends as dead. What came back that way is claimed one at a time, beside the others:
 * the next crash has one cause. A sweep also finds rows to settle, and counts what waits.
 */
#include "app.h"
#include "queue/queue.h"

/* Before fork. */
void webhook_work_prepare(void);
void webhook_work_start(void);
/* any: projects are not looked at any more. */
void webhook_work_stop_looking(void);
/* loop: queue_end(): events that have not begun are given back. */
void webhook_work_end(int64_t last_call_mono_ms, loop_fn done, void *arg);
void webhook_work_stop(void);

struct queue *webhook_work_events(void);
struct queue *work_settlements(void);

struct webhook_work_stats {
    uint64_t applied, ignored, unsupported, failed, dead;
    /* Of the last sweep, as this process saw it. */
    int64_t backlog;     /* events that wait, at most 100,000 of a project counted */
    int64_t oldest_ms;   /* how long the oldest due one has been due */
    int64_t dead_events; /* at most 1,000 of a project counted */
};
struct webhook_work_stats *webhook_work_stats(void);
