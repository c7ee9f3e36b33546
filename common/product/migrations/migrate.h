#pragma once
/* The migrations of deploy/migrations, compiled in, and how they are applied. */
#include "servers/servers.h"

/* Each list ends with an entry whose number is 0. */
extern const struct migration *const migrate_platform_list;
extern const struct migration *const migrate_project_list;

/* co: Applies the migrations to the control schema and to every project's schema, each in one
 * transaction, under a lock, with checksums. Progress is passed to say(). Returns 0, or
 * MIGRATE_FAILED with *ret_reason. */
AWAITS int migrate_run(struct task *task,
                       struct servers *servers,
                       const struct migration *platform,
                       const struct migration *project,
                       void (*say)(const char *text),
                       struct str *ret_reason) MUSTCHECK;
/* any: Writes the calls that apply one project migration and record it in the project to `calls`.
 * Returns their number. `calls` NULL: only counts. */
size_t migrate_calls(struct arena *arena, const struct migration *migration, struct db_call *calls);
