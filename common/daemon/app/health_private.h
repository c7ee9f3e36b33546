#pragma once
/* The admin port: /healthz, /readyz, /metrics of a worker. */
#include "app/daemon.h"

/* Call before the fork: registers the metrics that every daemon has. */
void health_prepare(void);
/* any: Starts the admin server on app->admin_fd. Returns 0 or a negative errno. */
int health_start(struct app *app) MUSTCHECK;
/* any: Stops the admin server. Call before the dependencies that it measures are closed. */
void health_stop(struct app *app);
