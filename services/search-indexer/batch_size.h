#pragma once
/*
 * How many changed records a batch takes: as many as fit INDEX_BATCH_MS (config.def), judged by the
 * last batch.
 *
 * On a busy machine the size does not fall to a few records. Words that several records share are
 * written once per batch, so in smaller batches each record costs more, and the machine would be
 * busier still.
 */
#include <stddef.h>
#include <stdint.h>

struct batch_limits {
    size_t records;    /* per batch */
    size_t most;       /* upper bound of records */
    int64_t target_ms; /* how long a batch should take */
};

/* The last batch. */
struct batch_timing {
    size_t records;
    size_t words; /* of all its records */
    int64_t ms;
};

/* any: How many records the next batch takes. took->records is above 0. */
size_t batch_size_next(const struct batch_limits *limits, const struct batch_timing *took);
