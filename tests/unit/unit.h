#pragma once
/*
 * Unit tests that register themselves. A test program is one source file that includes this header:
 *
 *     TEST(words_are_split) { assert_int_equal(...); }
 *     TEST_WITH(rows_are_read, connect, disconnect) { ... *state ... }
 *     GROUP(start, stop)      what runs before the first and after the last test; optional
 *
 * The tests run in the order of the file. This header defines main(), unless the file defines
 * UNIT_OWN_MAIN and calls unit_run().
 *
 * A test that tries all orders of events, or repeats a step many times, tries a sample of them in
 * `make test`, and tries all of them when is_long_run().
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/result.h"

enum { UNIT_TESTS_MAX = 256 };

static struct CMUnitTest unit_tests[UNIT_TESTS_MAX];
static size_t unit_test_count;
static CMFixtureFunction unit_group_begin, unit_group_end;

#define TEST(name) TEST_WITH(name, NULL, NULL)
#define TEST_WITH(name, begin, end)                                                                \
    static void name(void **state);                                                                \
    __attribute__((constructor)) static void name##_register(void)                                 \
    {                                                                                              \
        unit_tests[unit_test_count++] = (struct CMUnitTest){#name, name, begin, end, NULL};        \
    }                                                                                              \
    static void name(void **state UNUSED)
#define GROUP(begin, end)                                                                          \
    __attribute__((constructor)) static void unit_register_group(void)                             \
    {                                                                                              \
        unit_group_begin = begin;                                                                  \
        unit_group_end = end;                                                                      \
    }

/* Returns whether the environment variable TESTS_LONG is set: the tests try everything, and not
 * only a sample. */
UNUSED static bool is_long_run(void)
{
    const char *text = getenv("TESTS_LONG");
    return text && *text;
}

/* Runs all tests. Returns the number of those that failed. */
UNUSED static int unit_run(void)
{
    return _cmocka_run_group_tests(
        "tests", unit_tests, unit_test_count, unit_group_begin, unit_group_end);
}

#ifndef UNIT_OWN_MAIN
int main(void)
{
    return unit_run();
}
#endif
