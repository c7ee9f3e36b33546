#pragma once
/*
 * A workflow that listens sees of an event what its last editor may see of it, as of now. Before a
 * job's first step, and before it goes on.
 */
#include "run.h"

/* co: 0 when the job may go on: what the editor may not read of the record is out of
 * `$svc.trigger.data` by then (context_init() goes before). Jobs without an event always may.
 * TRIGGER_NOT_PERMITTED or TRIGGER_EDITOR_GONE; anything else: not known right now. */
AWAITS int trigger_rights(struct run *run) MUSTCHECK;
