/*
 * All one-shot timers of the process on one uv timer: a binary heap ordered by due time, then by
 * start. Most timers are stopped before they fire, so stopping leaves the uv timer alone: at worst
 * it wakes the loop once for nothing. Due times are compared with the real clock, not with libuv's
 * cached one, so a timer never fires early.
 */
#include "loop/timer_private.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/panic.h"
#include "loop/loop.h"

#define NOT_ARMED INT64_MAX

static struct {
    uv_timer_t uv;
    struct loop_timer **at; /* 1-based: children of i are 2i and 2i + 1 */
    size_t count;
    size_t cap;
    uint64_t starts;
    int64_t armed_due_ms;
    bool firing;
} heap;

static bool timer_before(const struct loop_timer *a, const struct loop_timer *b)
{
    return a->due_ms != b->due_ms ? a->due_ms < b->due_ms : a->order < b->order;
}

static void timer_put(size_t index, struct loop_timer *timer)
{
    heap.at[index] = timer;
    timer->heap_index = index;
}

static void sift_up(size_t index, struct loop_timer *timer)
{
    for (; index > 1 && timer_before(timer, heap.at[index / 2]); index /= 2)
        timer_put(index, heap.at[index / 2]);
    timer_put(index, timer);
}

static void sift_down(size_t index, struct loop_timer *timer)
{
    for (size_t child = index * 2; child <= heap.count; child = index * 2) {
        if (child < heap.count && timer_before(heap.at[child + 1], heap.at[child]))
            child++;
        if (!timer_before(heap.at[child], timer))
            break;
        timer_put(index, heap.at[child]);
        index = child;
    }
    timer_put(index, timer);
}

static void heap_grow(void)
{
    size_t cap = heap.cap ? heap.cap * 2 : 64;
    struct loop_timer **at = realloc(heap.at, (cap + 1) * sizeof(struct loop_timer *));

    if (at == NULL)
        PANIC("out of memory: %zu timers", cap);
    heap.at = at;
    heap.cap = cap;
}

static void timer_on_due(uv_timer_t *uv);

static void timer_arm(int64_t least_delay_ms)
{
    heap.armed_due_ms = heap.at[1]->due_ms;
    int64_t delay_ms = heap.armed_due_ms - clock_mono_ms();
    if (delay_ms < least_delay_ms)
        delay_ms = least_delay_ms;
    uv_update_time(heap.uv.loop);
    MUST(uv_timer_start(&heap.uv, timer_on_due, (uint64_t)delay_ms, 0) == 0);
}

/* Fires timers that are due, at most as many as ran at the start: a timer that restarts itself at
 * once must not hold the loop. For the same reason the next timers fire a millisecond later at the
 * earliest. */
static void timer_on_due(uv_timer_t *uv)
{
    (void)uv;
    int64_t now_ms = clock_mono_ms();

    heap.firing = true;
    for (size_t left = heap.count; left > 0 && heap.count > 0; left--) {
        struct loop_timer *timer = heap.at[1];
        if (timer->due_ms > now_ms)
            break;
        loop_timer_stop(timer);
        timer->fn(timer->arg);
    }
    heap.firing = false;
    heap.armed_due_ms = NOT_ARMED;
    if (heap.count > 0)
        timer_arm(1);
}

void loop_timer_init(struct loop_timer *timer, loop_fn fn, void *arg)
{
    *timer = (struct loop_timer){.fn = fn, .arg = arg};
}

void loop_timer_start(struct loop_timer *timer, int64_t delay_ms)
{
    loop_timer_stop(timer);
    timer->due_ms = clock_mono_ms() + (delay_ms > 0 ? delay_ms : 0);
    timer->order = heap.starts++;
    if (heap.count == heap.cap)
        heap_grow();
    heap.count++;
    sift_up(heap.count, timer);
    if (!heap.firing && timer->due_ms < heap.armed_due_ms)
        timer_arm(0);
}

void loop_timer_stop(struct loop_timer *timer)
{
    size_t index = timer->heap_index;

    if (index == 0)
        return;
    MUST(index <= heap.count && heap.at[index] == timer);
    struct loop_timer *last = heap.at[heap.count--];
    timer->heap_index = 0;
    if (last == timer)
        return;
    if (index > 1 && timer_before(last, heap.at[index / 2]))
        sift_up(index, last);
    else
        sift_down(index, last);
}

void timer_open(uv_loop_t *uv)
{
    MUST(uv_timer_init(uv, &heap.uv) == 0);
    heap.armed_due_ms = NOT_ARMED;
}

void timer_unref(void)
{
    uv_unref((uv_handle_t *)&heap.uv);
}

void timer_close(void)
{
    uv_close((uv_handle_t *)&heap.uv, NULL);
    for (size_t i = 1; i <= heap.count; i++)
        heap.at[i]->heap_index = 0;
    free(heap.at);
    heap.at = NULL;
    heap.count = 0;
    heap.cap = 0;
}
