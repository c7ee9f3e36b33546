#pragma once
/* Tests of search: an arena for each test, and random numbers that are the same in each run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/arena.h"

static struct arena *arena;
static uint64_t seed;

static uint64_t number(uint64_t below)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed % below;
}

static int setup(void **state UNUSED)
{
    arena = arena_new(0);
    seed = 88172645463325252;
    return 0;
}

static int teardown(void **state UNUSED)
{
    arena_free(arena);
    return 0;
}
