/* Pauses that double with each failed try. */
#include "base/backoff.h"

#include "base/rand.h"

int64_t backoff_next(struct backoff *backoff)
{
    int64_t pause_ms = backoff->first_ms;

    for (unsigned i = 0; i < backoff->tries && pause_ms < backoff->most_ms; i++)
        pause_ms *= 2;
    if (pause_ms > backoff->most_ms)
        pause_ms = backoff->most_ms;
    backoff->tries++;
    return pause_ms * 3 / 4 + (int64_t)(rand_u64() % (uint64_t)(pause_ms / 2 + 1));
}
