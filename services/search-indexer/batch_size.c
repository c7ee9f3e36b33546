/* A batch is at most twice and at least half as large as the previous batch, within the bounds
 * batch_size_least() and limits->most. */
#include "batch_size.h"

#define LEAST_WORDS         30000 /* smaller batches are hardly faster, unless their records are large */
#define LEAST_RECORDS       10
#define SMALL_BATCH_RECORDS 400 /* a batch of small records need not be smaller */

static size_t batch_size_least(const struct batch_timing *took)
{
    size_t words = took->words / took->records + 1;
    size_t least = LEAST_WORDS / words;

    return least < LEAST_RECORDS         ? LEAST_RECORDS
           : least < SMALL_BATCH_RECORDS ? least
                                         : SMALL_BATCH_RECORDS;
}

size_t batch_size_next(const struct batch_limits *limits, const struct batch_timing *took)
{
    size_t fits = took->records * (size_t)limits->target_ms / (took->ms > 0 ? (size_t)took->ms : 1);
    size_t least = batch_size_least(took);

    if (fits > limits->records && took->records < limits->records) /* no measure of a full batch */
        return limits->records;
    if (fits > limits->records * 2)
        fits = limits->records * 2;
    if (fits < limits->records / 2)
        fits = limits->records / 2;
    if (fits < least)
        fits = least;
    return fits < limits->most ? fits : limits->most;
}
