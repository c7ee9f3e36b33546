#pragma once
/* The migrations of deploy/migrations, compiled in, and how they are applied. */
#include "servers/servers.h"

/* They end with number 0. */
extern const struct migration *const migrate_platform_list;
extern const struct migration *const migrate_project_list;

/* co: applies them to the control schema and every project's, one transaction each, with checksums,
 * under a lock row; calls say(text) for progress. 0, or MIGRATE_FAILED with *ret_reason. */
AWAITS int migrate_run(struct task *task,
                       struct servers *servers,
                       const struct migration *platform,
                       const struct migration *project,
                       void (*say)(const char *text),
                       struct str *ret_reason) MUSTCHECK;
/* any: calls that apply one project migration and note it in the project; appended to `calls`,
 * returns how many. `calls` NULL counts only. */
size_t migrate_calls(struct arena *arena, const struct migration *migration, struct db_call *calls);
