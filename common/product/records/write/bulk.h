#pragma once
/* Many records at once, also for imports. */
#include "records/write/body.h"

/* --- one bulk write: bulk.c and bulk_insert.c --- */

#define BULK_MAX  1000
#define TWIN_TEXT "another record has this value already"

struct bulk {
    const struct records_bulk *in;
    const struct model_field *key; /* upsert, else NULL */
    bool atomic;
    struct records_bulk_outcome out;
    /* The items that passed all checks, side by side. */
    struct write_row *rows;
    int64_t *ids;  /* of the records; 0 = refused */
    size_t *index; /* in the request */
    size_t count;
};

/* any: "items[3].price", or "items[3]" without a name. */
struct str bulk_path(struct arena *arena, size_t index, struct str name);
/* any: moves ctx->error to the result of an item, in the words that a request of its own would have
 * got. */
void bulk_refuse(struct records_ctx *ctx, struct bulk *bulk, size_t item);
/* any: a failure with this code says nothing about an item: others would meet it, too. */
bool bulk_is_general(enum problem code);
/* co: a write_fn: inserts all items. Those that meet a unique value fail it when atomic, else they
 * are refused and the rest goes in. */
AWAITS int
bulk_insert(struct records_ctx *ctx, const struct entity *entity, struct db *tx, void *arg)
    MUSTCHECK;
