/*
 * Notifications. Entries of a topic name projects that have work. A channel of Redis names
 * cancelled rows. An entry is acknowledged as soon as it has been read: the work is stored in a
 * row, which the next sweep finds if this process dies first.
 */
#include "base/num.h"
#include "queue/queue_private.h"
#include "redis/redis.h"

static int
on_entries(struct task *task UNUSED, const struct bus_entry *entries, size_t count, void *arg)
{
    for (size_t i = 0; i < count; i++)
        queue_project_due(arg, entries[i].project);
    return 0;
}

/* "<project number>:<row's id>" */
static void on_cancelled(struct str payload, void *arg)
{
    struct str rest = payload;
    int64_t number;
    int64_t id;

    if (!queue_is_alive(arg) || payload.ptr == NULL ||
        !num_parse_i64(str_split(&rest, ':'), &number) || !num_parse_i64(rest, &id))
        return;
    queue_item_recheck(arg, number, id);
}

void notify_start(struct queue *queue)
{
    const struct queue_kind *kind = queue->kind;
    const struct queue_config *config = &queue->config;
    struct redis *redis = directory_redis(config->directory);

    if (kind->cancel_channel != NULL && redis != NULL)
        redis_subscribe(redis, kind->cancel_channel, on_cancelled, queue);
    /* Only one process reads an entry: a process that would not claim the work must not consume. */
    if (kind->group == NULL || config->bus == NULL || config->slots == 0 || config->crashed_only)
        return;
    bus_consume(
        config->bus,
        &(struct bus_consumer){
            .topic = kind->topic, .group = kind->group, .handle = on_entries, .arg = queue});
}

void queue_notify(struct queue *queue, const struct project *project)
{
    if (queue->kind->group == NULL)
        return;
    bus_notify(queue->config.bus,
               queue->kind->topic,
               &(struct bus_notification){.project = project->number,
                                          .partition = project->partition,
                                          .kind = queue->kind->message});
}
