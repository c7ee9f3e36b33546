#pragma once
/* Signals as loop callbacks. SIGPIPE is ignored since loop_init(). */
typedef void (*signals_fn)(int signum, void *arg);

/* Calls fn(signum, arg) on the loop after each such signal. At most 8 registrations per process;
 * handles do not keep the loop alive. */
void signals_on(int signum, signals_fn fn, void *arg);
/* Closes all handles so that the loop can end; loop_run() calls it at its end. */
void signals_close(void);
