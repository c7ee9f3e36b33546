#pragma once
/*
 * The process's one event loop. All of common/ and services/ runs on it, on one thread; only the
 * functions that work.h is given run elsewhere. A turn: I/O callbacks, ready coroutines, turn-end
 * hooks, poll.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct uv_loop_s; /* uv_loop_t of <uv.h>, which only the callers of loop_uv() need */
typedef void (*loop_fn)(void *arg);

/* Call once per process after fork; again only after loop_run() has returned (tests). Sizes libuv's
 * thread pool and ignores SIGPIPE. */
void loop_init(void);
/* loop_run() runs until loop_stop(), then at most one second longer until every handle is closed,
 * and frees what the loop holds. loop_uv() is libuv's loop, borrowed; it panics when loop_is_open()
 * is false. */
void loop_run(void);
void loop_stop(void);
struct uv_loop_s *loop_uv(void);
/* any: true between loop_init() and the end of loop_run(). */
bool loop_is_open(void);

/* A callback for the end of a turn, embedded in its owner; it stays valid until it has run. */
struct loop_hook {
    loop_fn fn;
    void *arg;
    struct loop_hook *next;
    int queued;
};
/* loop/co: runs fn(arg) once at the end of this turn, after all ready coroutines and before
 * polling, so that it can flush what the turn collected. Nothing happens when the hook is already
 * queued. */
void loop_at_tick_end(struct loop_hook *hook);

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
/* Prepares a timer that calls fn(arg). It does not run yet. */
void loop_timer_init(struct loop_timer *timer, loop_fn fn, void *arg);
/* loop_timer_start() fires once after delay_ms, and restarts a running timer. loop_timer_stop() may
 * be called at any time. */
void loop_timer_start(struct loop_timer *timer, int64_t delay_ms);
void loop_timer_stop(struct loop_timer *timer);
