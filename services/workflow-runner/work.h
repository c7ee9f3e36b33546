#pragma once
/*
 * What this process knows of the projects that have work, and who gets the next free slots:
 * projects take turns, so that one project's flood delays its own jobs only.
 */
#include "app.h"
#include "base/list.h"

struct job;

struct work {
    int64_t number;    /* of the project */
    struct list ring;  /* in the ring of projects whose turn comes, while it waits for slots */
    struct list taker; /* in the queue of projects whose events are to be taken */
    struct list jobs;  /* struct job.link: running here */
    unsigned running;
    unsigned reserved;     /* slots kept for jobs that are being claimed */
    bool jobs_due;         /* there may be queued jobs */
    bool events_due;       /* there may be events to take */
    bool claiming, taking; /* a claim, an event take is under way */
    int64_t fresh_for_ms; /* wall: the tick that its editors' rights were last read for (ahead.c) */
    int64_t ready_ms;     /* mono: it ticked, or was made ready for a tick, last (ahead.c) */
    int64_t beat_ms;      /* mono: the heartbeat that saw it last (claim.c) */
};

void work_start(void);
/* any: nothing new is claimed any more; running jobs are given back at their next step. done(arg)
 * when none is left. */
void work_drain(loop_fn done, void *arg);
void work_stop(void);
bool work_draining(void);

/* any: a bell: the project may have queued jobs / pending events. */
void work_jobs_due(int64_t number);
void work_events_due(int64_t number);
/* any: the project's work when something runs, NULL otherwise. */
struct work *work_find(int64_t number);
/* any: the same, made when there is none. Stays while it has slots reserved or jobs. */
struct work *work_get(int64_t number);
/* any: keeps slots for jobs that are about to be made by this runner, as many of `wanted` as are
 * free while nobody waits for one. work_claimed() gives them back. */
unsigned work_reserve(int64_t number, unsigned wanted);
/* any: ends a reservation: so many of the jobs it was for run here now. */
void work_claimed(struct work *work, unsigned reserved, unsigned claimed);
/* any: a job left (run.c). */
void work_job_ended(struct job *job);

struct work_stats {
    uint64_t claimed, succeeded, failed, skipped, lost, released, events_taken, jobs_made, rescued,
        quarantined, ticks, guarded;
    unsigned running;
    size_t projects;
};
struct work_stats *work_stats(void);
