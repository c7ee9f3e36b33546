/*
 * Starts the jobs of one tick a few at a time. Each job reads its project and its editor's rights,
 * and soon has its end written: a thousand jobs at once would delay all work, and each other. A job
 * that has not ended after MOMENT_MS gives its place to the next job, so that no job waits for a
 * slow job.
 */
#include "begin.h"
#include "base/clock.h"
#include "job.h"
#include "loop/loop.h"

#define AT_ONCE      8
#define HELD_AT_ONCE 2
#define MOMENT_MS    25
#define POLL_MS      5

static struct {
    struct list waiting, begun; /* struct job.begin_link, oldest first */
    unsigned count;             /* jobs in `begun` */
    struct loop_timer timer;
    bool ready, held, armed;
} b;

static void begin_on_timer(void *arg);

static void begin_init(void)
{
    if (b.ready)
        return;
    list_init(&b.waiting);
    list_init(&b.begun);
    loop_timer_init(&b.timer, begin_on_timer, NULL);
    b.ready = true;
}

static void release_slow_places(int64_t now)
{
    while (!list_empty(&b.begun)) {
        struct job *job = LIST_ITEM(b.begun.next, struct job, begin_link);
        if (now - job->begun_ms < MOMENT_MS)
            return;
        begin_ended(job);
    }
}

static void begin_next_jobs(void)
{
    int64_t now = clock_mono_ms();
    unsigned most = b.held ? HELD_AT_ONCE : AT_ONCE;

    release_slow_places(now);
    while (b.count < most && !list_empty(&b.waiting)) {
        struct job *job = LIST_ITEM(list_shift(&b.waiting), struct job, begin_link);
        job->begun_ms = now;
        list_append(&b.begun, &job->begin_link);
        b.count++;
        queue_item_begin(&job->item);
    }
    if (list_empty(&b.waiting) || b.armed)
        return;
    b.armed = true;
    loop_timer_start(&b.timer, POLL_MS);
}

static void begin_on_timer(void *arg UNUSED)
{
    b.armed = false;
    begin_next_jobs();
}

void begin_enqueue(struct queue_item *item)
{
    struct job *job = CONTAINER_OF(item, struct job, item);

    begin_init();
    list_append(&b.waiting, &job->begin_link);
    begin_next_jobs();
}

void begin_ended(struct job *job)
{
    if (list_empty(&job->begin_link))
        return;
    list_remove(&job->begin_link);
    b.count--;
}

void begin_hold(bool hold)
{
    begin_init();
    b.held = hold;
    if (!hold)
        begin_next_jobs();
}
