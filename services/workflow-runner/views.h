#pragma once
/*
 * Materialised views (records/view.h). A view is refreshed when a caller requests it, when its cron
 * is due, or when its sources have changed. A view is claimed under a lease of seconds, which is
 * renewed during the refresh. The refresh is one transaction, whose last statement checks that the
 * claim still holds. A runner that dies or is late therefore leaves nothing, and its view is shown
 * as being refreshed until the lease ends.
 */
#include "loop/loop.h"

/* Call before fork: prepares the metrics of this kind of work. */
void views_prepare(void);
/* loop: Starts polling projects. */
void views_start(void);
/* any: Stops polling projects. */
void views_stop_polling(void);
/* any: Begins nothing new, and calls done(arg) when no refresh is under way. `done` may be NULL. */
void views_drain(int64_t last_call_mono_ms, loop_fn done, void *arg);
/* loop: Frees the queue. No refresh may run at this point. */
void views_stop(void);
