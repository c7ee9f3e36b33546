/*
 * Starts the jobs of one tick a few at a time. Each job reads its project and its editor's rights,
 * and soon has its end written: a thousand jobs at once would delay everything, themselves
 * included. A job that has not ended after a moment gives its place to the next one, so that no job
 * waits for a slow one.
 */
#include "begin.h"
#include "base/clock.h"
#include "job.h"
#include "loop/loop.h"

#define AT_ONCE      8
#define HELD_AT_ONCE 2
#define MOMENT_MS    25
#define LOOK_MS      5

static struct {
    struct list waiting, begun; /* struct job.turn, oldest first */
    unsigned count;             /* jobs in `begun` */
    struct loop_timer timer;
    bool ready, held, armed;
} b;

static void begin_on_timer(void *arg);

static void set_up(void)
{
    if (b.ready)
        return;
    list_init(&b.waiting);
    list_init(&b.begun);
    loop_timer_init(&b.timer, begin_on_timer, NULL);
    b.ready = true;
}

static void forget_slow(int64_t now)
{
    while (!list_empty(&b.begun)) {
        struct job *job = LIST_ITEM(b.begun.next, struct job, turn);
        if (now - job->begun_ms < MOMENT_MS)
            return;
        begin_ended(job);
    }
}

static void begin_more(void)
{
    int64_t now = clock_mono_ms();
    unsigned most = b.held ? HELD_AT_ONCE : AT_ONCE;

    forget_slow(now);
    while (b.count < most && !list_empty(&b.waiting)) {
        struct job *job = LIST_ITEM(list_shift(&b.waiting), struct job, turn);
        job->begun_ms = now;
        list_append(&b.begun, &job->turn);
        b.count++;
        queue_begin(&job->item);
    }
    if (list_empty(&b.waiting) || b.armed)
        return;
    b.armed = true;
    loop_timer_start(&b.timer, LOOK_MS);
}

static void begin_on_timer(void *arg UNUSED)
{
    b.armed = false;
    begin_more();
}

void begin_in_turn(struct queue_item *item)
{
    struct job *job = CONTAINER_OF(item, struct job, item);

    set_up();
    list_append(&b.waiting, &job->turn);
    begin_more();
}

void begin_ended(struct job *job)
{
    if (list_empty(&job->turn))
        return;
    list_remove(&job->turn);
    b.count--;
}

void begin_hold(bool hold)
{
    set_up();
    b.held = hold;
    if (!hold)
        begin_more();
}
