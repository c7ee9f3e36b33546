#pragma once
/*
 * Entries of an owner (mostly a project) that come together are written together: what one turn of
 * the loop brings leaves at its end, some batches of an owner under way, and what comes meanwhile
 * leaves with the next. A burst costs a commit for some dozen entries in place of one for each.
 *
 *     static struct batches inserts = {.at_once = 4, .most = 64, .write = events_write, ...};
 *     struct event event = {.entry.bytes = body.len, ...}; // entry: a struct batch_entry
 *
 *     int rc = batches_write(task, &inserts, project, &event.entry);
 *
 * What is refused for one entry takes none of the others with it: they are written again without
 * it, and where it is not known which one it is, by halves.
 */
#include "base/backoff.h"
#include "loop/task.h"

struct map;

/* Lives where its task waits in batches_write(). */
struct batch_entry {
    size_t bytes; /* the owner's: what it counts for */
    /* Their own. */
    struct task *task;
    struct await turn, written;
    struct list link;
    bool taken;
    int rc;
};

/* What a result of .write means. */
enum batch_end {
    BATCH_ENDED,   /* for all of them, as 0 does */
    BATCH_REFUSED, /* nothing has happened, and one of them is why */
    BATCH_AGAIN,   /* after a pause; an entry that may not wait for ever is .over one day */
};

struct batches {
    /* The owner's. */
    unsigned at_once;     /* batches of an owner under way */
    size_t most;          /* entries of one */
    size_t bytes;         /* of its entries, one at least */
    int64_t limit_ms;     /* of one .write */
    struct backoff pause; /* before BATCH_AGAIN */
    bool stays;           /* an entry is written whatever happens to its task meanwhile; else its
                             task may leave while it waits for its turn */
    /* any: qsort's, of two struct batch_entry *: their order in a batch; NULL = as they came. */
    int (*order)(const void *left, const void *right);
    /* any: before each .write: the result of an entry that is not to be written any more, else 0;
     * NULL = all are. */
    int (*over)(const struct batch_entry *entry);
    /* AWAITS: all of them or none, in an arena that ends with it. *ret_failed: the entry that is
     * why it failed, where that is known. */
    int (*write)(struct task *task, struct batch_entry **entries, size_t count, size_t *ret_failed);
    enum batch_end (*judge)(int rc); /* any: what a result that is not 0 means */
    /* Their own. */
    struct map *lanes;
};

/* co: 0 when the entry was written, else why not: a result of .write or .over; -ECANCELED or
 * -ETIMEDOUT when its task left before its turn. Once a batch has taken it this waits for its end,
 * so that .write may read what the caller owns. */
AWAITS int
batches_write(struct task *task, struct batches *batches, int64_t owner, struct batch_entry *entry)
    MUSTCHECK;
