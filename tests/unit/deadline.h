#pragma once
/*
 * How long a test waits, and how long an operation may take.
 *
 * Durations in tests are those of an idle machine. `make test` shares its machine with other work,
 * so it allows ten times as long: a test must fail because of the code and not because of other
 * load. `make check-load` has the machine to itself and sets STRICT_TIMES: each duration is allowed
 * as it is written.
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

/* Returns the time to allow, in any unit, for an operation that takes an idle machine at most
 * `duration`. */
UNUSED static int64_t allowed(int64_t duration)
{
    return strict_times() ? duration : 10 * duration;
}

/* Asserts that at least `least_ms` and at most allowed(most_ms) have passed since `begun_ms`. */
#define assert_took(begun_ms, least_ms, most_ms)                                                   \
    assert_in_range(clock_mono_ms() - (begun_ms), least_ms, allowed(most_ms))

/* Repeats `pause` until the condition holds; fails when that takes longer than
 * allowed(within_ms). */
#define UNTIL_WITHIN(within_ms, condition, pause)                                                  \
    do {                                                                                           \
        for (int64_t end_ = clock_mono_ms() + allowed(within_ms); !(condition);) {                 \
            if (clock_mono_ms() > end_)                                                            \
                fail_msg("not within %lld ms: %s", (long long)allowed(within_ms), #condition);     \
            pause;                                                                                 \
        }                                                                                          \
    } while (0)
#define UNTIL(condition, pause) UNTIL_WITHIN(6000, condition, pause)

/* UNTIL_WITHIN() for coroutines. */
#define WAIT_WITHIN(within_ms, task, condition)                                                    \
    UNTIL_WITHIN(within_ms, condition, assert_int_equal(task_sleep(task, 2), 0))
#define WAIT_FOR(task, condition) WAIT_WITHIN(6000, task, condition)
