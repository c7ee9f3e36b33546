/*
 * Notifications over Redis. They only save time: the tables hold the truth and are read each
 * second.
 *
 *   PUBLISH groundwork:epoch "<number>:<epoch>"  a project changed: read its epoch now. Epoch 1 is
 *                                                that of a new project
 *   "event.pending" on the stream evt (bus/)     a project has new outbox rows
 *   "search.changed" on the stream search        a project has work for the search index
 *   PUBLISH groundwork:live "<number>"           the log of the project's changes has new rows
 */
#include "base/num.h"
#include "bus/bus.h"
#include "project/events.h"
#include "project/project.h"
#include "project/project_private.h"
#include "redis/redis.h"

#define EPOCH_CHANNEL "groundwork:epoch"
#define NUMBER_BYTES  24

/* A subscription lives as long as the Redis connection and may outlive its directory. The callback
 * therefore looks up the directory here. */
static struct list subscribers = {&subscribers, &subscribers};
static uintptr_t last_subscriber_id;

static struct directory *subscriber_find(uintptr_t subscriber_id)
{
    LIST_FOR (node, &subscribers) {
        struct directory *directory = LIST_ITEM(node, struct directory, subscribed);
        if (directory->subscriber_id == subscriber_id)
            return directory;
    }
    return NULL;
}

static void on_epoch(struct str payload, void *arg)
{
    struct directory *directory = subscriber_find((uintptr_t)arg);
    struct str rest = payload;
    int64_t number;
    int64_t epoch;

    if (directory == NULL)
        return;
    if (payload.ptr == NULL) { /* reconnected: messages may have been missed */
        epoch_read_now(directory);
        return;
    }
    if (!num_parse_i64(str_split(&rest, ':'), &number) || !num_parse_i64(rest, &epoch))
        return;
    const struct project *project = directory_by_number(directory, number);
    if (project == NULL && epoch == EPOCH_FIRST) /* new: its slug may be cached as missing */
        memset(directory->missing, 0, sizeof(directory->missing));
    else if (project != NULL && project->epoch != epoch)
        epoch_read_now(directory);
}

void epoch_subscribe(struct directory *directory)
{
    list_init(&directory->subscribed);
    if (directory->redis == NULL)
        return;
    directory->subscriber_id = ++last_subscriber_id;
    list_append(&subscribers, &directory->subscribed);
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): a token that is never dereferenced */
    void *token = (void *)directory->subscriber_id;
    redis_subscribe(directory->redis, EPOCH_CHANNEL, on_epoch, token);
}

void epoch_unsubscribe(struct directory *directory)
{
    list_remove(&directory->subscribed);
    /* The owner may free Redis and the bus now, while singleflights still end. */
    directory->redis = NULL;
    directory->bus = NULL;
}

void epoch_publish(struct directory *directory, int64_t number, int64_t epoch)
{
    char text[2 * NUMBER_BYTES];

    if (directory->redis == NULL)
        return;
    size_t len = num_print_i64(text, number);
    text[len++] = ':';
    len += num_print_i64(text + len, epoch);
    redis_post(directory->redis,
               REDIS_ARGS(STR("PUBLISH"), STR(EPOCH_CHANNEL), ((struct str){text, len})));
}

void search_notify(struct directory *directory, const struct project *project)
{
    bus_notify(directory->bus,
               BUS_SEARCH,
               &(struct bus_notification){
                   .project = project->number,
                   .partition = project->partition,
                   .kind = "search.changed",
               });
}

void live_notify(struct directory *directory, const struct project *project)
{
    char text[NUMBER_BYTES];

    if (directory->redis == NULL)
        return;
    size_t len = num_print_i64(text, project->number);
    redis_post(directory->redis,
               REDIS_ARGS(STR("PUBLISH"), STR(LIVE_CHANNEL), ((struct str){text, len})));
}

void events_notify(struct directory *directory, const struct project *project)
{
    bus_notify(directory->bus,
               BUS_EVT,
               &(struct bus_notification){
                   .project = project->number,
                   .partition = project->partition,
                   .kind = "event.pending",
               });
    if (project->model != NULL && project->model->has_index)
        search_notify(directory, project);
    if (project->model != NULL && project->model->live)
        live_notify(directory, project);
}
