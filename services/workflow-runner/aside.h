#pragma once
/*
 * Jobs whose last runner fell silent are suspects: one of them may have taken it down, with all
 * that ran beside it. They are run in a worker of their own, one at a time, so that whoever does it
 * again is alone. The others claim only what has not been tried. What only shared its runner has
 * lost no attempt.
 */
#include <stdbool.h>

#include "base/rc.h"
#include "loop/task.h"

/* any: this worker runs suspects and nothing else. */
bool aside(void);
/* any: looks for projects with suspects every SWEEP_MS; of the worker that runs them. */
void aside_start(void);
void aside_stop(void);
/* co: tells that worker, whichever process it is in. */
AWAITS int aside_tell(struct task *task, int64_t number) MUSTCHECK;
