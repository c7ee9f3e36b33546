#pragma once
/* Counters of how concurrent reads of single records share statements, for tests. */
#include "records/records.h"

#define GET_BATCH_IDS 64 /* maximum for one statement */

struct get_stats {
    uint64_t gets, statements; /* since the process started */
};
/* any: copies the counters. */
void get_stats(struct get_stats *ret_stats);
