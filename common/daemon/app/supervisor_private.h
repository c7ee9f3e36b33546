#pragma once
/*
 * Forks the workers and restarts a worker that dies, so that a crash never takes other workers
 * down. Each worker dies with its supervisor. SIGTERM and SIGINT are passed on to the workers. The
 * supervisor ends when all workers have ended.
 */

#define WORKERS_MAX 72 /* WORKERS and a daemon's extra workers */
/* Runs a worker until it ends; returns its exit code. */
typedef int (*supervisor_fn)(unsigned worker);

enum { EXIT_CONFIG = 2, EXIT_DEPENDENCY = 3 };

/* Runs until a stop signal. When a worker ends with EXIT_CONFIG or EXIT_DEPENDENCY before any
 * worker was ready, all workers are stopped, and the exit code of that worker is returned. After a
 * stop signal the supervisor calls `stopping`, then stops the workers; after `timeout_ms` it kills
 * them with SIGKILL. */
int supervisor_run(unsigned workers, long timeout_ms, supervisor_fn fn, void (*stopping)(void));
/* Called in a worker: it serves now. */
void supervisor_ready(void);
