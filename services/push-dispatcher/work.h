#pragma once
/*
 * Sends as a kind of work of the queue (common/product/queue). Their claim is a lease, renewed
 * while they run; what a process leaves behind when it dies is claimed apart from the others, until
 * it has recorded what came of a few devices: then it goes on among them.
 */
#include "app.h"
#include "queue/queue.h"

/* Before fork. */
void dispatcher_work_prepare(void);
void dispatcher_work_start(void);
/* loop: queue_end(): what runs is given back as soon as what is in flight has been answered. */
void dispatcher_work_end(int64_t last_call_mono_ms, loop_fn done, void *arg);
void dispatcher_work_stop(void);
