#pragma once
/*
 * What this runner has in the queue (common/product/queue): jobs, which are claimed and run, and
 * events, of which a project's are taken a pass at a time and become jobs.
 *
 * Jobs whose last runner died are run in a worker beside the WORKERS, one at a time and nothing
 * else, so that whichever ends its process again is alone. The others claim only what has not been
 * tried. What only shared its runner has lost no attempt.
 */
#include "app.h"
#include "queue/queue.h"

/* Before fork. */
void work_prepare(void);
void work_start(void);
/* any: projects are not looked at any more. */
void work_stop_looking(void);
/* any: nothing new is claimed any more; running jobs are given back at their next step. done(arg)
 * when none is left. */
void work_drain(loop_fn done, void *arg);
void work_stop(void);

struct queue *work_jobs(void);
/* any: this worker runs jobs whose last runner died, and nothing else. */
bool work_is_apart(void);

/* What the queue does not count. */
struct work_stats {
    uint64_t succeeded, failed, skipped, events_taken, jobs_made, ticks, guarded;
};
struct work_stats *work_stats(void);
