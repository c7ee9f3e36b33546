#pragma once
/*
 * Prepares ticks in advance, because the ticks of many projects come at the same time. A few
 * projects at a time, this process reads the project with its model, the versions of the workflows
 * that are due soon, and the rights of their editors. It also runs the statements of a tick once
 * without a row, so that a connection knows the statements and the tables. Just before the tick it
 * reads the rights once more. A tick itself reads everything that was not prepared, for example
 * when the runner has just started or the workflow was just saved.
 */
#include <stdint.h>

/* loop: Starts the timers that prepare projects. Call it once. */
void tick_prefetch_start(void);
/* loop: Stops the timers. A round that is under way ends before its next project. */
void tick_prefetch_stop(void);
/* loop: Forgets the prepared projects. No task of this process may run at this point. */
void tick_prefetch_end(void);
/* any: The project has just ticked, so it counts as prepared. */
void tick_prefetch_mark_ticked(int64_t number);
