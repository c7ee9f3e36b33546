#pragma once
/*
 * The process's one event loop. All of common/ and services/ runs on it, on one thread; only
 * work_run() bodies run elsewhere. A turn: I/O callbacks, ready coroutines, turn-end hooks, poll.
 */
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

typedef void (*loop_fn)(void *arg);

/* Once per process after fork; again only after loop_run() returned (tests). Sizes libuv's thread
 * pool and ignores SIGPIPE. */
void loop_init(void);
/* Runs until loop_stop() and every handle is closed, at most one second more; then frees what the
 * loop holds. */
void loop_run(void);
void loop_stop(void);
uv_loop_t *loop_uv(void);
/* any: between loop_init() and the end of loop_run(). */
bool loop_is_open(void);

/* loop/co: runs fn(arg) once at the end of this turn, after all ready coroutines, before polling.
 * For flushing what the turn collected. `hook` is embedded in its owner and stays valid until it
 * ran. */
struct loop_hook {
    loop_fn fn;
    void *arg;
    struct loop_hook *next;
    int queued;
};
void loop_at_turn_end(struct loop_hook *hook);

/* The longest busy time of a turn since the last call, milliseconds (metrics). */
int64_t loop_lag_take_ms(void);

/* One-shot timer embedded in its owner; cheap to start and stop. The owner calls loop_timer_stop()
 * before it dies; nothing needs closing (one uv timer serves all, ordered in a heap). */
struct loop_timer {
    loop_fn fn;
    void *arg;
    int64_t due_ms;    /* monotonic */
    uint64_t order;    /* equal due times fire in the order of their starts */
    size_t heap_index; /* 0 = not running */
};
void loop_timer_init(struct loop_timer *timer, loop_fn fn, void *arg);
/* Restarts when running. */
void loop_timer_start(struct loop_timer *timer, int64_t delay_ms);
void loop_timer_stop(struct loop_timer *timer);
