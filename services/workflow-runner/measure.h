#pragma once
/* What /metrics of a runner shows beside what every daemon shows. */
#include "app/daemon.h"

/* In the parent before fork: registers the metrics. */
void runner_measure_prepare(const struct conf_common *conf);
/* loop: sets them from the counters of this process. */
void runner_measure(struct app *app);
