#pragma once
/* Many relations, and lists of statements. */
#include "records/write/body.h"

/* A growing list of statements for db_batch. */
struct write_calls {
    struct arena *arena;
    struct db_call *items;
    size_t count, cap;
};
void write_calls_init(struct write_calls *calls, struct arena *arena);
void write_calls_add(struct write_calls *calls, struct db_call call);

/* The rows whose links are written, with their ids; id 0 leaves a row out. */
struct links_of {
    struct write_row *rows;
    const int64_t *ids;
    size_t count;
};
/* any: adds the statements that write the links of rows, one for each relation. With `replace` what
 * was linked before goes, except links to records that the caller cannot see. */
void links_calls(struct records_ctx *ctx,
                 const struct entity *entity,
                 const struct links_of *of,
                 bool replace,
                 struct write_calls *calls);
