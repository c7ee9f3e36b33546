#pragma once
/*
 * How many changed records one batch takes: as many as take what a batch shall take, by the last
 * one. It does not follow a busy machine down to a few: words that records share are written once a
 * batch, so that each record costs more in a smaller one, and the machine is busier.
 */
#include <stddef.h>
#include <stdint.h>

struct pace {
    size_t records;    /* of a batch */
    size_t most;       /* records */
    int64_t wanted_ms; /* what a batch shall take */
};

/* The last batch. */
struct pace_took {
    size_t records;
    size_t words; /* of all of them */
    int64_t ms;
};

/* any: records of the next batch. */
size_t pace_next(const struct pace *pace, const struct pace_took *took);
