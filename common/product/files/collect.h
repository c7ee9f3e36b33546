#pragma once
/*
 * The collector: removes from the store what the ledger says is no file (uploads whose process
 * died, deletions that were not finished) and everything of projects that are gone. Every gateway
 * runs it; each project is one's at a time.
 */
#include "project/project.h"

/* any: once in each worker: a round each `interval_ms`, the first after one. */
void collect_start(struct directory *directory, int64_t interval_ms);
/* any: no more rounds; one under way ends with the background tasks. */
void collect_stop(void);
