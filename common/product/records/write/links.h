#pragma once
/* Writes many relations, and collects statements for db_batch(). */
#include "records/write/body.h"

/* A growing list of statements for db_batch(). */
struct write_calls {
    struct arena *arena;
    struct db_call *items;
    size_t count, cap;
};
/* any: write_calls_init() starts an empty list in `arena`; write_calls_add() appends a call. */
void write_calls_init(struct write_calls *calls, struct arena *arena);
void write_calls_add(struct write_calls *calls, struct db_call call);

/* The rows whose links are written, and the ids of their records. An id of 0 skips the row. */
struct link_rows {
    struct write_row *rows;
    const int64_t *ids;
    size_t count;
};
/* any: Adds the statements that write the links of the rows: one statement for each relation.
 * `replace` first deletes the existing links, except links to records that the caller cannot see.
 */
void links_calls(struct records_ctx *ctx,
                 const struct entity *entity,
                 const struct link_rows *of,
                 bool replace,
                 struct write_calls *calls);
