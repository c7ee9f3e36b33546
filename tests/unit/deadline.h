#pragma once
/*
 * How long a test waits, and how long a promise may take.
 *
 * Every duration that a test names is one of an idle machine. `make test` shares its machine with
 * other work, so it allows ten times as long: a test there fails for what the code does, and not
 * for what else the machine does. `make check-load` has the machine to itself and sets
 * STRICT_TIMES: it allows each duration as it is written.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "base/clock.h"
#include "base/result.h"

UNUSED static bool strict_times(void)
{
    const char *text = getenv("STRICT_TIMES");
    return text && *text;
}

/* What may pass, in whatever unit, for what takes an idle machine at most `duration`. */
UNUSED static int64_t allowed(int64_t duration)
{
    return strict_times() ? duration : 10 * duration;
}

/* At least `least_ms` have passed since `begun_ms`, and at most allowed(most_ms). */
#define assert_took(begun_ms, least_ms, most_ms)                                                   \
    assert_in_range(clock_mono_ms() - (begun_ms), least_ms, allowed(most_ms))

/* Does `pause` again and again until the condition holds, which an idle machine brings about within
 * `within_ms`. */
#define UNTIL_WITHIN(within_ms, condition, pause)                                                  \
    do {                                                                                           \
        for (int64_t end_ = clock_mono_ms() + allowed(within_ms); !(condition);) {                 \
            if (clock_mono_ms() > end_)                                                            \
                fail_msg("not within %lld ms: %s", (long long)allowed(within_ms), #condition);     \
            pause;                                                                                 \
        }                                                                                          \
    } while (0)
#define UNTIL(condition, pause) UNTIL_WITHIN(6000, condition, pause)

/* The same in a coroutine. */
#define WAIT_WITHIN(within_ms, task, condition)                                                    \
    UNTIL_WITHIN(within_ms, condition, assert_int_equal(task_sleep(task, 2), 0))
#define WAIT_FOR(task, condition) WAIT_WITHIN(6000, task, condition)
