#pragma once
/*
 * The work of this daemon in the queue (common/product/queue): events, which are claimed many at a
 * time and then applied, and settlements, which are done in one pass of a project at a time
 * (settle.c).
 *
 * The claim of an event counts the attempt and moves next_attempt_at into the future by lease_ms.
 * So events of a process that died are due again without being released, and an event that crashes
 * every process becomes dead. Events of a dead process are claimed one at a time, concurrently with
 * other events, so that the next crash has one cause. A sweep also finds rows to settle, and counts
 * the events that wait.
 */
#include "app.h"
#include "queue/queue.h"

/* Call before fork: registers the metrics of both queues. */
void webhook_work_prepare(void);
/* loop: Starts both queues, which consume, sweep and claim from now on. */
void webhook_work_start(void);
/* any: Ends the sweeps and the retention of both queues. */
void webhook_work_stop_polling(void);
/* loop: Ends both queues with queues_end(). Events that were not begun are released. */
void webhook_work_end(int64_t last_call_mono_ms, loop_fn done, void *arg);
/* loop: Frees both queues. No event and no pass may be running. */
void webhook_work_stop(void);

/* any: Return the queue of events and the queue of settlements; NULL while they are not started. */
struct queue *webhook_work_events(void);
struct queue *work_settlements(void);

struct webhook_work_stats {
    uint64_t applied, ignored, unsupported, failed, dead;
    /* Results of this process's last sweep. */
    int64_t backlog;     /* events that wait, at most 100,000 counted per project */
    int64_t oldest_ms;   /* time since the oldest due event became due */
    int64_t dead_events; /* at most 1,000 counted per project */
};
/* any: Returns the counters of this process, which event.c and work.c change. */
struct webhook_work_stats *webhook_work_stats(void);
