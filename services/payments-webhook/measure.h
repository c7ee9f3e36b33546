#pragma once
/* Metrics of the daemon. */
#include "app/daemon.h"

/* Before fork. */
void measure_prepare(void);
/* any: sets gauges and counters that are kept elsewhere. */
void measure(struct app *app);
