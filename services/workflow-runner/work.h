#pragma once
/*
 * The kinds of work of this runner (common/product/queue): jobs, which are claimed and run, and
 * events, which become jobs, one pass of a project at a time.
 *
 * Jobs whose last runner died are run in an extra worker, in addition to the workers that the
 * setting WORKERS counts. The extra worker runs one job at a time and nothing else, so a job that
 * ends this process again is known to be the cause. The other workers claim no such job. A job that
 * shared its runner with other jobs loses no attempt when the runner dies.
 */
#include "app.h"
#include "queue/queue.h"

/* Call before fork: prepares the metrics of all kinds of work. */
void work_prepare(void);
/* loop: Starts claiming work and polling projects. */
void work_start(void);
/* any: Stops polling projects. */
void work_stop_polling(void);
/* any: Claims nothing new. Running jobs are released at their next step, then mails are drained.
 * Calls done(arg) when no job and no mail is left. */
void work_drain(loop_fn done, void *arg);
/* loop: Frees the queues. No work may run at this point. */
void work_stop(void);

/* any: The queue of jobs; NULL before work_start() and after work_stop(). */
struct queue *work_jobs(void);
/* any: Whether this worker runs jobs whose last runner died, and nothing else. */
bool work_is_isolated(void);

/* Counters that the queue does not have. */
struct work_stats {
    uint64_t succeeded, failed, skipped, events_taken, jobs_made, ticks, guarded;
};
/* any: The counters of this process. They live as long as the process. */
struct work_stats *work_stats(void);
