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
/* Mails being handed to the server, a share for each project. */
extern struct shares quotas_mails;
/* Scripts under way, a share for each project. */
extern struct shares quotas_scripts;

/* Bytes of what jobs hold, as text, of those that hold more than LARGE_BYTES, a share for each
 * project: in memory it takes up to twenty times that (room.h). */
extern struct shares quotas_large;
#define LARGE_BYTES ((size_t)16 << 10)

/* Bytes of what steps make for a moment: trees of answers, messages of mails (room.h). */
extern struct shares quotas_moments;

/* any: once, before the first job. */
void quotas_init(void);
