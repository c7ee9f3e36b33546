#pragma once
/*
 * Forks the workers and restarts one that dies, so that a crash never takes the others down. Each
 * worker dies with its supervisor. SIGTERM and SIGINT are passed on; the supervisor ends when all
 * have ended.
 */

/* A worker's whole life; returns its exit code. */
#define WORKERS_MAX 72 /* WORKERS, and a daemon's extra ones */
typedef int (*supervisor_fn)(unsigned worker);

enum { EXIT_CONFIG = 2, EXIT_DEPENDENCY = 3 };

/* Runs until it is stopped. A worker that ends with EXIT_CONFIG or EXIT_DEPENDENCY before any was
 * ready ends everything with that code. `timeout_ms`: after a stop signal workers have this long,
 * then SIGKILL. `stopping` is called in the supervisor before they are stopped. */
int supervisor_run(unsigned workers, long timeout_ms, supervisor_fn fn, void (*stopping)(void));
/* In a worker: it serves. */
void supervisor_ready(void);
