#pragma once
/* Metrics of the daemon. */
#include "app/daemon.h"

/* Before fork. */
void webhook_measure_prepare(void);
/* any: sets gauges and counters that are kept elsewhere. */
void webhook_measure(struct app *app);
