#pragma once
/*
 * Payments and subscriptions whose settle_at has come: what became of a call that got no answer is
 * asked by repeating it, with its key, while the processor still knows the key; what nobody
 * reported is read: until a state is reached that only an event can change, and again when a
 * subscription's period is over with no word of the next.
 */
#include <stdint.h>

#include "queue/queue.h"

#define SETTLE_PASS_MS 90000 /* a row belongs to us for 120 s */
/* co: all such rows of a project (queue_kind.pass). */
AWAITS int
settle_pass(struct task *task, struct queue *queue, struct project *project, bool *ret_more);
/* Since start: rows asked about; rows given up as outcome_unknown. */
struct settle_stats {
    uint64_t asked, unknown;
};
const struct settle_stats *settle_stats(void);
