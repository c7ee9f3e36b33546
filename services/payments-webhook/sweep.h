#pragma once
/*
 * Bells, and what is found without them: every project that has, or once had, credentials is looked
 * at every sweep_ms (faster while Redis is away) for events that are due and payments that nobody has
 * settled; old events and idempotency keys are removed.
 */
#include <stdint.h>

void sweep_start(void);
void sweep_stop(void);

/* Of the last sweep, as this process saw it. */
struct sweep_stats {
    int64_t backlog;       /* events that wait, at most 100,000 of a project counted */
    int64_t oldest_ms;     /* how long the oldest due one has been due */
    int64_t dead;          /* dead events, at most 1,000 of a project counted */
};
const struct sweep_stats *sweep_stats(void);
