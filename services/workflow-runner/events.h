#pragma once
/* Turns events into jobs: outbox rows that workflows have not consumed yet are matched with the
 * workflows that are enabled now. */
#include "project/project.h"

#define EVENTS_AT_ONCE 200
#define DEPTH_MAX      8 /* events this deep in a chain of workflows start no further job */

struct events_outcome {
    unsigned taken;   /* events */
    unsigned made;    /* jobs to run */
    unsigned guarded; /* jobs beyond a limit, which do not run */
    bool more;        /* there may be more events */
};
/* co: Takes up to EVENTS_AT_ONCE events of the project in one transaction, fewer when the events
 * make many or large jobs. For each event it makes one job per enabled workflow that listens to the
 * event, and marks the event as taken. Of the jobs beyond a limit it stores one per workflow,
 * skipped as fan_out_guard. It passes over events that another runner is taking. 0, a DB_*, or a
 * negative. */
AWAITS int events_take(struct task *task,
                       struct project *project,
                       struct events_outcome *ret_outcome) MUSTCHECK;
