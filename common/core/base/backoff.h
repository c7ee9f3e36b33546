#pragma once
/*
 * Pauses between retries. Each pause is twice as long as the previous one, up to a limit, and
 * varies at random by up to a quarter, so that callers that failed at the same time do not retry at
 * the same time.
 *
 *   struct backoff pause = {.first_ms = 50, .most_ms = 1000};
 *   while ((rc = work(task)) == DB_UNAVAILABLE)
 *       TRY(task_sleep(task, backoff_next(&pause)));
 */
#include <stdint.h>

struct backoff {
    int64_t first_ms, most_ms;
    unsigned tries; /* failed tries; 0 starts again at first_ms */
};

/* Counts a failed try and returns the milliseconds to wait before the next try. Any thread. */
int64_t backoff_next(struct backoff *backoff);
