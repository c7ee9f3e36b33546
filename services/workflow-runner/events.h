#pragma once
/* Events become jobs: the outbox rows that workflows have not taken yet, matched with the workflows
 * that are enabled now. */
#include "project/project.h"

#define EVENTS_AT_ONCE 200
#define DEPTH_MAX      8 /* a chain of workflows that start each other ends here */

struct events_outcome {
    unsigned taken;
    unsigned made;    /* jobs to run */
    unsigned guarded; /* that are too many and do not run */
    bool more;        /* there may be more events */
};
/* co: takes up to EVENTS_AT_ONCE events of the project, fewer of those that make many jobs or large
 * ones, in one transaction: one job for each enabled workflow that listens, and the event marked as
 * taken. Of jobs that are too many one a workflow is made, skipped as fan_out_guard. An event that
 * another runner is taking is passed over. A DB_* or a negative. */
AWAITS int events_take(struct task *task,
                       struct project *project,
                       struct events_outcome *ret_outcome) MUSTCHECK;
