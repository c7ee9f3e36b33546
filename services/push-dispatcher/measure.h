#pragma once
/* The daemon's own metrics, in addition to those that every daemon has. */
#include "app.h"

/* Call before fork: registers the metrics, and those of the queue. */
void dispatcher_measure_prepare(void);
/* any: Sets the metrics from the counters of this process. */
void dispatcher_measure(struct app *app);
/* any: Counts how long a send waited for its first claim. */
void measure_send_wait(int64_t ms);
/* any: Counts a send that has ended, by its final status. */
void measure_send_end(struct str status);
