#pragma once
/*
 * Pauses before something is tried again: each twice as long as the one before, up to a limit, with
 * up to a quarter more or less by chance, so that those who failed together do not return together.
 *
 *   struct backoff pause = {.first_ms = 50, .most_ms = 1000};
 *   while ((rc = work(task)) == DB_UNAVAILABLE)
 *       TRY(task_sleep(task, backoff_next(&pause)));
 */
#include <stdint.h>

struct backoff {
    int64_t first_ms, most_ms;
    unsigned tries; /* that have failed; 0 begins anew */
};

/* Counts a try that failed: the milliseconds until the next. Any thread. */
int64_t backoff_next(struct backoff *backoff);
