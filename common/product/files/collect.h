#pragma once
/*
 * The collector removes bytes that, by the ledger, are not files (of uploads whose process died and
 * of unfinished deletions), and all bytes of deleted projects. Every gateway runs a collector. A
 * project is collected by one gateway at a time.
 */
#include "project/project.h"

/* any: Starts the collector; call once in each worker. A round runs every `interval_ms`, the first
 * one after `interval_ms`. */
void collect_start(struct directory *directory, int64_t interval_ms);
/* any: Starts no more rounds. A round that is running ends with the background tasks. */
void collect_stop(void);
