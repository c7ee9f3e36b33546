#pragma once
/*
 * What all jobs of this process share, and how much of it one project takes: however many jobs it
 * has, those of others go on. Who waits here holds nothing else, and the step's time has not begun.
 */
#include <stddef.h>

#include "loop/shares.h"

/* Transactions of steps, a share for each entity: when somebody holds its table, so many
 * connections wait there and no more. */
extern struct shares quotas_writes;
/* Requests and mails under way, a share for each project. */
extern struct shares quotas_calls;
/* Scripts under way, a share for each project. */
extern struct shares quotas_scripts;

/* Jobs whose trigger brought much data, a share for each project: in memory it takes twenty times
 * the room that it has as text. */
extern struct shares quotas_large;
#define LARGE_BYTES ((size_t)64 << 10)

/* any: once, before the first job. */
void quotas_init(void);
