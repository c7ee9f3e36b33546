#pragma once
/*
 * Resources that all jobs of this process share, and the part of each resource that one project may
 * use, so that a project with many jobs does not stop the jobs of other projects. The time that a
 * step waits for quotas_writes, quotas_calls or quotas_scripts does not count as the step's time.
 */
#include <stddef.h>

#include "loop/shares.h"

/* Transactions of steps, a share for each entity. When the table of an entity is locked, no more
 * connections than this share wait for the lock. */
extern struct shares quotas_writes;
/* Outgoing requests of steps under way, a share for each project. */
extern struct shares quotas_calls;
/* Mails that are being handed to the server, a share for each project. */
extern struct shares quotas_mails;
/* Scripts under way. Projects take turns. */
extern struct shares quotas_scripts;

/* Bytes that jobs hold, counted as text, a share for each project. Only jobs that hold more than
 * LARGE_BYTES count. In memory the values take up to twenty times as much (job_budget.h). */
extern struct shares quotas_large;
#define LARGE_BYTES ((size_t)16 << 10)

/* Bytes that steps hold for a moment: trees of answers, messages of mails (job_budget.h). */
extern struct shares quotas_temporary;

/* any: Call once, before the first job. */
void quotas_init(void);
