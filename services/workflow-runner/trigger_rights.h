#pragma once
/*
 * Restricts the data of an event to what the workflow's last editor may see now. The rights are
 * checked before a job's first step, and again when another runner continues the job.
 */
#include "run.h"

/* co: Checks the event of a job. 0 when the job may run: fields of the record that the editor may
 * not read have been removed from `$svc.trigger.data`, so call context_init() first. Jobs without
 * an event always may run. TRIGGER_NOT_PERMITTED or TRIGGER_NO_EDITOR; any other result: the
 * rights cannot be determined right now. */
AWAITS int trigger_rights(struct run *run) MUSTCHECK;
