#pragma once
/*
 * Settles payments and subscriptions whose settle_at has passed. A call that got no answer is
 * repeated with its key, while the processor still knows the key. If no event has reported the
 * outcome of a call, the object is read from the processor, again and again until the row is in a
 * state that only an event can change. A subscription is also read when its period has ended and no
 * event has announced the next period.
 */
#include <stdint.h>

#include "queue/queue.h"

#define SETTLE_PASS_MS 90000 /* shorter than the claim of a row, 120 s */
/* co: Settles the due rows of a project, up to 160 payments and 160 subscriptions
 * (queue_kind.pass). Always returns 0 and does not set *ret_more. Rows that are left, or have
 * failed, are found by a later sweep. */
AWAITS int
settle_pass(struct task *task, struct queue *queue, struct project *project, bool *ret_more);
/* Counters since the process started: rows that were handled, and rows that were given up as
 * outcome_unknown. */
struct settle_stats {
    uint64_t handled, given_up;
};
/* any: Returns the counters. Static. */
const struct settle_stats *settle_stats(void);
