#pragma once
/*
 * A workflow that listens sees of an event what its last editor may see of it, as of now. Before a
 * job's first step, and before it goes on.
 */
#include "run.h"

enum trigger_result {
    TRIGGER_NOT_PERMITTED = 40, /* the editor may not see what happened */
    TRIGGER_EDITOR_GONE,        /* nobody in whose name it could run */
    TRIGGER_UNAVAILABLE,        /* cannot be told right now */
};

/* co: 0 when the job may go on: what the editor may not read of the record is out of
 * `$svc.trigger.data` by then (context_init() goes before). Jobs without an event always may. An
 * enum trigger_result, or a negative. */
AWAITS int trigger_rights(struct run *run) MUSTCHECK;
