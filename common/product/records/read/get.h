#pragma once
/* How single records are read together: for the test that counts statements. */
#include "records/records.h"

#define GET_BATCH_IDS 64 /* at most, by one statement */

struct get_stats {
    uint64_t gets, statements; /* since the process started */
};
void get_stats(struct get_stats *ret_stats);
