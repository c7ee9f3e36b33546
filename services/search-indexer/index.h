#pragma once
/* A project's index as its one writer sees it: the lease, the model and the generations. */
#include "queue/queue.h"
#include "shape.h"

struct index {
    struct queue_item *item; /* NULL: `--verify` has the lease */
    struct project *project;
    struct db *db;   /* autocommit */
    int64_t token;   /* of the lease: every transaction checks it */
    int64_t attempt; /* claims since a batch was last committed, this one included */
    const struct model *model;
    struct arena *arena;      /* memory of the model */
    size_t batch;             /* changed records per batch (batch_size.h) */
    bool more;                /* the run ended with work left */
    struct word_cache *cache; /* word cache; NULL: none */
    int64_t words_at_once;    /* words that one statement counts (drop.c); 0: not chosen yet */
};

/* A build of an entity's index: a row of search_indexes. */
struct generation {
    int64_t idx;
    int64_t entity_id;
    struct str state;
    struct sql_i64s field_ids;
    struct str shape_text; /* text of its shape (shape.h); STR_NONE: the build has not begun */
    int64_t cursor_id;
    int64_t documents;
    int64_t created_ms;
    bool has_rows; /* leaves or forward lists may exist */
};
struct generations {
    struct generation *items;
    size_t count;
};

/* AWAITS, a queue_kind.run: runs rounds on the project's index until no work is left, the time is
 * over, the lease is lost, or the queue wants the lease released. Then releases the lease. */
enum queue_outcome index_run(struct task *task, struct queue_item *item);
/* any: Whether the writer must stop: the lease is lost, or the queue wants the lease released. */
bool index_must_stop(const struct index *index);
/* co: Reads all generations into *ret (in the task's arena), and the model again if it has changed.
 * Compares the generations with the model first (reconcile_run()) if this was not done yet for this
 * version of the model, or if reconcile_has_old_tokens(). Results as batch_run(). */
AWAITS int index_read_state(struct task *task, struct index *index, struct generations *ret)
    MUSTCHECK;
/* any: The entity's newest generation in this state; NULL: none. */
const struct generation *
generation_find(const struct generations *all, int64_t entity_id, const char *state);
