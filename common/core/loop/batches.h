#pragma once
/*
 * Entries of an owner (mostly a project) that arrive together are written together. The entries of
 * one turn of the loop are written at its end, a few batches of an owner at a time; entries that
 * arrive during that time are written with the next batch. A burst costs one commit for some dozen
 * entries in place of one for each.
 *
 *     static struct batches inserts = {.max_entries = 64, .write = events_write, ...};
 *     struct event event = {.entry.bytes = body.len, ...}; // entry: a struct batch_entry
 *
 *     int rc = batches_write(task, &inserts, project, &event.entry);
 *
 * When an entry is refused, the other entries of its batch are written again without it; when it is
 * not known which entry was refused, half of the entries are written at a time.
 */
#include "base/backoff.h"
#include "loop/task.h"

struct map;

/* An entry, in the memory of the task that waits in batches_write(). */
struct batch_entry {
    size_t bytes; /* set by the caller: the size that the entry counts for */
    /* Used by batches.c. */
    struct task *task;
    struct await taken_await, written_await;
    struct list link;
    bool taken;
    int rc;
};

/* The meaning of a result of .write. */
enum batch_end {
    BATCH_ENDED,   /* the result of all entries, as 0 is */
    BATCH_REFUSED, /* nothing has happened, because of one of the entries */
    BATCH_AGAIN,   /* write again after a pause; .expired_rc ends entries that waited too long */
};

struct batches {
    /* Set by the caller. */
    unsigned at_once;        /* batches of one owner that are under way */
    size_t max_entries;      /* entries of one batch */
    size_t bytes;            /* bytes of one batch; a batch of one entry may have more */
    int64_t limit_ms;        /* time limit of one .write */
    struct backoff pause;    /* pauses before a repetition (BATCH_AGAIN) */
    bool is_uninterruptible; /* an entry is written even if its task is cancelled; if false, the
                                task may leave until a batch takes the entry */
    /* any: compares two struct batch_entry * for qsort(): the order of entries in a batch; NULL =
     * as they arrived. */
    int (*order)(const void *left, const void *right);
    /* any: called before each .write: the result of an entry that is not to be written, else 0;
     * NULL = all are written. */
    int (*expired_rc)(const struct batch_entry *entry);
    /* AWAITS: writes all entries or none, in an arena that ends with the call. *ret_failed: the
     * entry that caused a failure, where that is known. */
    int (*write)(struct task *task, struct batch_entry **entries, size_t count, size_t *ret_failed);
    enum batch_end (*judge)(int rc); /* any: the meaning of a result other than 0 */
    /* Used by batches.c. */
    struct map *queues;
};

/* co: 0 when the entry was written, else a result of .write or .expired_rc; -ECANCELED or
 * -ETIMEDOUT when its task left before a batch took the entry. Once a batch has taken the entry,
 * the call waits until the entry has a result, so that .write may read memory of the caller. */
AWAITS int
batches_write(struct task *task, struct batches *batches, int64_t owner, struct batch_entry *entry)
    MUSTCHECK;
