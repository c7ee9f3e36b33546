#pragma once
/* The runner's own metrics, in addition to those that every daemon has. */
#include "app/daemon.h"

/* Call in the parent before fork: registers the metrics, those of the kinds of work included. */
void runner_measure_prepare(const struct conf_common *conf);
/* loop: Sets the metrics from the counters of this process. */
void runner_measure(struct app *app);
