#pragma once
/*
 * Versions of workflows as the runner uses them: parsed once and shared by the jobs of this
 * process. Beyond DEFINITIONS_BYTES the least recently used versions are dropped. A project that
 * exceeds its share of DEFINITIONS_BYTES loses versions of its own. A version never changes, so a
 * cached version is never outdated.
 */
#include "job.h"
#include "workflow/definition.h"

#define DEFINITIONS_BYTES ((size_t)32 << 20)

struct workflow_version {
    struct definition definition;
    struct str invalid;        /* why the version cannot be run, STR_NONE = it can */
    const struct str *secrets; /* names of the secrets that the version uses */
    size_t secret_count;
    int64_t editor_id, editor_key_id;
};

/* co: Finds the version that the job was queued with. It is held until the job's arena ends. 0,
 * DEFINITION_NOT_FOUND when the version did not exist at the claim because the workflow was
 * deleted, a DB_*, or a negative. */
AWAITS int definition_find(struct job *job, const struct workflow_version **ret_version) MUSTCHECK;
/* co: Finds a given version of any workflow of the project. The version is held until the task's
 * arena ends. Results as definition_find(). */
AWAITS int definition_load(struct task *task,
                           struct db *db,
                           int64_t workflow_id,
                           int64_t number,
                           const struct workflow_version **ret_version) MUSTCHECK;
