#pragma once
/* Indexes as a kind of work of the queue (common/product/queue): a project's lease is its one row.
 */
#include "app.h"
#include "queue/queue.h"

/* Before fork. */
void indexer_work_prepare(void);
void indexer_work_start(void);
/* loop: queue_end(): what runs is given back after the transaction under way. */
void indexer_work_end(int64_t last_call_mono_ms, loop_fn done, void *arg);
void indexer_work_stop(void);
/* any: the project may have work. */
void indexer_work_due(int64_t number);
