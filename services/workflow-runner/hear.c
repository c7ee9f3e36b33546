/*
 * Bells. An entry is acknowledged when it has been heard: what it speaks of is a row, which the
 * next sweep finds if this process dies before it has looked.
 */
#include "hear.h"

#include "app.h"
#include "aside.h"
#include "base/num.h"
#include "bus/bus.h"
#include "job.h"
#include "redis/redis.h"
#include "work.h"
#include "workflow/jobs.h"

#define GROUP "workflow-runner"

static int
on_events(struct task *task UNUSED, const struct bus_entry *entries, size_t count, void *arg UNUSED)
{
    for (size_t i = 0; i < count; i++)
        work_events_due(entries[i].project);
    return 0;
}

static int
on_jobs(struct task *task UNUSED, const struct bus_entry *entries, size_t count, void *arg UNUSED)
{
    for (size_t i = 0; i < count; i++)
        work_jobs_due(entries[i].project);
    return 0;
}

/* "<project number>:<job id>" */
static void on_cancel(struct str payload, void *arg UNUSED)
{
    struct str rest = payload;
    int64_t number;
    int64_t job;

    if (payload.ptr == NULL || !num_parse_i64(str_split(&rest, ':'), &number) ||
        !num_parse_i64(rest, &job))
        return;
    struct work *work = work_find(number);
    if (work != NULL)
        claim_lost(work, job);
}

void hear_start(void)
{
    redis_subscribe(directory_redis(runner_directory()), JOBS_CANCEL_CHANNEL, on_cancel, NULL);
    if (aside())
        return;
    bus_consume(runner_bus(),
                &(struct bus_consumer){.topic = BUS_EVT, .group = GROUP, .handle = on_events});
    bus_consume(runner_bus(),
                &(struct bus_consumer){.topic = BUS_JOB, .group = GROUP, .handle = on_jobs});
}
