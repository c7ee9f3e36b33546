#pragma once
/* The kind of work that the queue claims (common/product/queue): each project has one row, the
 * lease of its index. */
#include "app.h"
#include "queue/queue.h"

/* Before fork: indexer_work_prepare() registers the kind. loop: indexer_work_start() claims
 * projects from then on. */
void indexer_work_prepare(void);
void indexer_work_start(void);
/* loop: Ends the queue, as queues_end(): a run releases its lease after the current transaction.
 * indexer_work_stop() frees the queue. */
void indexer_work_end(int64_t last_call_mono_ms, loop_fn done, void *arg);
void indexer_work_stop(void);
