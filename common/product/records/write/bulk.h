#pragma once
/* Writes many records in one call; imports use it, too. */
#include "records/write/body.h"

/* --- one bulk write: bulk.c and bulk_insert.c --- */

#define BULK_MAX          1000
#define UNIQUE_TAKEN_TEXT "another record has this value already"

struct bulk {
    const struct records_bulk *request;
    const struct model_field *key; /* of an upsert: the unique field of on_conflict; else NULL */
    bool atomic;
    struct records_bulk_outcome out;
    /* The items that passed all checks, as parallel arrays. */
    struct write_row *rows;
    int64_t *ids;  /* ids of the records; 0 = the item was refused */
    size_t *index; /* positions of the items in the request */
    size_t count;
};

/* any: Returns "items[3].price", or "items[3]" when `name` is empty. Arena-owned. */
struct str bulk_path(struct arena *arena, size_t index, struct str name);
/* any: Moves ctx->error to the result of an item, with the same texts as a failure of a request for
 * this item alone. `item`: index into bulk->rows. */
void bulk_refuse_item(struct records_ctx *ctx, struct bulk *bulk, size_t item);
/* any: Returns true for a failure that does not depend on the item: every other item would meet the
 * same failure. */
bool bulk_is_general(enum problem code);
/* co: Inserts all items (a write_fn; `arg` is the struct bulk). An item with a unique value that a
 * record already has fails an atomic bulk. Otherwise only this item is refused, and the others are
 * inserted. */
AWAITS int
bulk_insert(struct records_ctx *ctx, const struct entity *entity, struct db *tx, void *arg)
    MUSTCHECK;
