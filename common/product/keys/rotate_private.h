#pragma once
/* What both rotations share (rotate.c). */
#include "keys/data_key.h"
#include "keys/rotate.h"

struct rotation {
    const struct key_owners *owners;
    void (*say)(const char *text);
    size_t left; /* projects that could not be done */
};
struct rotated { /* one project */
    struct db db;
    struct str slug;
};
/* co: the active projects. A DB_*. */
AWAITS int rotation_projects(struct task *task,
                             struct rotation *rotation,
                             struct rotated **ret_list,
                             size_t *ret_count) MUSTCHECK;
/* any: counts and logs. */
void rotation_failed(struct task *task,
                     struct rotation *rotation,
                     const struct rotated *project,
                     int rc);
/* any: 0, or 1 with the reason. */
int rotation_end(struct task *task, const struct rotation *rotation, struct str *ret_reason);
/* co: runs fn with an arena of its own that ends with it: long runs hold no more than a batch. */
AWAITS int rotation_scope(struct task *task, int (*fn)(struct task *task, void *arg), void *arg)
    MUSTCHECK;
