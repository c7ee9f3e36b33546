#pragma once
/* Code that both rotations share (rotate.c). */
#include "keys/data_key.h"
#include "keys/rotate.h"

struct rotation {
    const struct rotation_targets *owners;
    void (*say)(const char *text);
    size_t failed_count; /* projects that failed */
};
struct rotation_project { /* a project of the rotation */
    struct db db;
    struct str slug;
};
/* co: Reads the list of active projects. Returns 0 or a DB_*. */
AWAITS int rotation_projects(struct task *task,
                             struct rotation *rotation,
                             struct rotation_project **ret_list,
                             size_t *ret_count) MUSTCHECK;
/* any: Counts a project that failed, and reports it to say(). */
void rotation_count_failure(struct task *task,
                            struct rotation *rotation,
                            const struct rotation_project *project,
                            int rc);
/* any: Returns 0 when all projects are done, else DATA_KEYS_REMAIN with the reason. */
int rotation_end(struct task *task, const struct rotation *rotation, struct str *ret_reason);
/* co: Runs fn with an arena of its own that is freed afterwards, so that a long run needs memory
 * for one batch only. */
AWAITS int rotation_run_scoped(struct task *task,
                               int (*fn)(struct task *task, void *arg),
                               void *arg) MUSTCHECK;
