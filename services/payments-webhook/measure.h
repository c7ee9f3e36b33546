#pragma once
/* The daemon's own metrics, in addition to those that every daemon has. */
#include "app/daemon.h"

/* Call before fork: registers the metrics, and those of the queues. */
void webhook_measure_prepare(void);
/* any: Sets the metrics from the counters of this process. */
void webhook_measure(struct app *app);
