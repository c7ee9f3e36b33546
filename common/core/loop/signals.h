#pragma once
/* Signals as loop callbacks. SIGPIPE is ignored since loop_init(). */
typedef void (*signals_fn)(int signum, void *arg);

/* At most 8 registrations per process; handles do not keep the loop alive. */
void signals_on(int signum, signals_fn fn, void *arg);
/* Closes all handles so that the loop can end; loop_run() does it on its way out. */
void signals_close(void);
