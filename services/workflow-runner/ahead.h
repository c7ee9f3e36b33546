#pragma once
/*
 * Ticks come at once for many: what they need is made ready before, a few projects at a time. The
 * project with its model, the workflows' versions and their editors' rights are read into this
 * process, and the statements of a tick run once without a row, so that a connection knows them and
 * the tables; just before the tick the rights are read once more. What was not made ready (a runner
 * that has just started, a workflow that was just saved) is read when it is needed.
 */
#include <stdint.h>

void ahead_start(void);
void ahead_stop(void);
/* loop: forgets what was made ready; nothing runs any more. */
void ahead_end(void);
/* any: the project has just ticked: it is ready. */
void ahead_ticked(int64_t number);
