#pragma once
/* Parameters in the form that libpq takes. */
#include <stdbool.h>
#include <stddef.h>

struct arena;
struct db_param;

struct wire {
    const char **values;
    int *lengths;
    int *formats;
    int count;
};
/* False when a text holds a NUL byte, which PostgreSQL cannot store. */
bool params_valid(const struct db_param *params, size_t count);
/* Encodes into the arena. params_valid() must hold. */
void params_encode(struct arena *arena,
                   const struct db_param *params,
                   size_t count,
                   struct wire *ret_wire);
