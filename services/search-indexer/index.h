#pragma once
/* A project's index in the hands of its one writer. */
#include "queue/queue.h"
#include "shape.h"

struct index {
    struct queue_item *item; /* NULL: somebody verifies it */
    struct project *project;
    struct db *db;   /* autocommit */
    int64_t token;   /* of the lease: every transaction asks for it */
    int64_t attempt; /* processes that have died with it, and this one */
    const struct model *model;
    struct arena *arena;   /* the model lives there */
    size_t batch;          /* changed records at a time, as long as they take what they shall */
    bool more;             /* its turn is over, and there is more to do */
    struct kept *kept;     /* NULL: nothing is */
    int64_t words_at_once; /* that are counted together; 0: none yet */
};

/* A generation, as its row says. */
struct generation {
    int64_t idx;
    int64_t entity_id;
    struct str state;
    struct sql_i64s field_ids;
    struct str text; /* of its shape; STR_NONE: it has not begun */
    int64_t cursor_id;
    int64_t documents;
    int64_t created_ms;
    bool began; /* it has, or once had, rows of its own */
};
struct generations {
    struct generation *items;
    size_t count;
};

enum queue_outcome index_run(struct task *task, struct queue_item *item);
/* any: it is not ours any more, or is to be given back. */
bool index_over(const struct index *index);
/* co: the model of this moment, and all generations. */
AWAITS int index_look(struct task *task, struct index *index, struct generations *ret) MUSTCHECK;
/* any: the entity's in this state; NULL = none. */
const struct generation *
generation_find(const struct generations *all, int64_t entity_id, const char *state);
