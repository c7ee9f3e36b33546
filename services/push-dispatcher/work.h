#pragma once
/*
 * Connects sends with the queue (common/product/queue). The claim of a send is a lease, which is
 * renewed while the send runs. A send whose process died is claimed separately from other sends,
 * until it has recorded the results of PROVEN_DEVICES devices (send.c). Then it is claimed among
 * the other sends again.
 */
#include "app.h"
#include "queue/queue.h"

/* Call before fork: registers the metrics of the queue. */
void dispatcher_work_prepare(void);
/* loop: Starts the queue, which consumes, sweeps and claims from now on. */
void dispatcher_work_start(void);
/* loop: Ends the queue with queues_end(). Running sends are released as soon as their requests in
 * flight are answered. */
void dispatcher_work_end(int64_t last_call_mono_ms, loop_fn done, void *arg);
/* loop: Frees the queue. No send may be running. */
void dispatcher_work_stop(void);
