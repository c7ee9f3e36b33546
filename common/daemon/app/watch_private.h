#pragma once
/*
 * Long runs of the loop as a metric and a line of the log: groundwork_long_runs_total{task="..."},
 * where the task is a route's id or the name of what ran.
 */

/* Before fork. */
void watch_prepare(void);
/* In each worker: from here on long runs are logged. */
void watch_start(void);
