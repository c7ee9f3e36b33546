#pragma once
/* The admin port: /healthz, /readyz, /metrics of a worker. */
#include "app/daemon.h"

/* Before fork: registers the metrics every daemon has. */
void health_prepare(void);
/* any: starts the admin server on a port that all workers share. Negative errno. */
int health_start(struct app *app) MUSTCHECK;
/* any: before the dependencies that it measures are closed. */
void health_stop(struct app *app);
