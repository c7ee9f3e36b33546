#pragma once
/*
 * Versions of workflows as they are run: parsed once, shared by the jobs of this process, the least
 * recently used dropped beyond DEFINITIONS_BYTES, a project's own beyond its share of that. A
 * version never changes, so nothing is ever outdated.
 */
#include "job.h"
#include "workflow/definition.h"

#define DEFINITIONS_BYTES ((size_t)32 << 20)

struct workflow_version {
    struct definition definition;
    struct str invalid;        /* why it cannot be run, STR_NONE = it can */
    const struct str *secrets; /* names that it uses */
    size_t secret_count;
    int64_t editor_id, editor_key_id;
};

/* co: the version that the job was queued with, held until the job's arena ends. 0, DEFINITION_GONE
 * when there was no such version at the claim (its workflow was deleted), a DB_*, or a
 * negative. */
AWAITS int definition_find(struct job *job, const struct workflow_version **ret_version) MUSTCHECK;
/* co: the same of any workflow, held until the task's arena ends. */
AWAITS int definition_load(struct task *task,
                           struct db *db,
                           int64_t workflow_id,
                           int64_t number,
                           const struct workflow_version **ret_version) MUSTCHECK;
