#pragma once
/* Helpers of the tests of workflow/: an arena for each test, and JSON from text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/strbuf.h"
#include "json/jr.h"

static struct arena *arena;

static int set_up(void **state UNUSED)
{
    arena = arena_new(0);
    return 0;
}

static int tear_down(void **state UNUSED)
{
    arena_free(arena);
    return 0;
}

static json_t *json(struct str text)
{
    struct jr_error error;
    json_t *value = NULL;

    if (jr_parse(arena, text, &value, &error) != 0)
        fail_msg("%.*s: %s", STR_ARG(text), error.text);
    return value;
}
