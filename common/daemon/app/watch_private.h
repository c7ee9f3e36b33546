#pragma once
/*
 * Reports code that runs long on the loop without a wait, as a line of the log and as the metric
 * groundwork_long_runs_total{task="..."}. The task is a route's id, the name of a coroutine, or
 * "callbacks".
 */

/* Call before the fork. */
void watch_prepare(void);
/* Call in each worker. From here on long runs are logged. */
void watch_start(void);
