/*
 * What travels by Redis: hints only. The tables tell the truth, within a second.
 *
 *   PUBLISH groundwork:epoch "<number>:<epoch>"  a project changed: read its epoch now; 1 = new
 *   "event.pending" on the stream evt (bus/)     a project has new outbox rows
 */
#include "base/num.h"
#include "bus/bus.h"
#include "project/events.h"
#include "project/project_private.h"
#include "redis/redis.h"

#define EPOCH_CHANNEL "groundwork:epoch"
#define NUMBER_BYTES  24

/* Subscriptions live as long as the Redis connection, which may be longer than their directory: the
 * callback looks for it here. */
static struct list listeners = {&listeners, &listeners};
static uintptr_t last_ear;

static struct directory *listener(uintptr_t ear)
{
    LIST_FOR (node, &listeners) {
        struct directory *directory = LIST_ITEM(node, struct directory, listening);
        if (directory->ear == ear)
            return directory;
    }
    return NULL;
}

static void on_epoch(struct str payload, void *arg)
{
    struct directory *directory = listener((uintptr_t)arg);
    struct str rest = payload;
    int64_t number;
    int64_t epoch;

    if (directory == NULL)
        return;
    if (payload.ptr == NULL) { /* connected again: messages may have been missed */
        epoch_read_now(directory);
        return;
    }
    if (!num_parse_i64(str_split(&rest, ':'), &number) || !num_parse_i64(rest, &epoch))
        return;
    const struct project *project = directory_by_number(directory, number);
    if (project == NULL && epoch == EPOCH_FIRST) /* new: its slug may be known as missing here */
        memset(directory->missing, 0, sizeof(directory->missing));
    else if (project != NULL && project->epoch != epoch)
        epoch_read_now(directory);
}

void doorbell_listen(struct directory *directory)
{
    list_init(&directory->listening);
    if (directory->redis == NULL)
        return;
    directory->ear = ++last_ear;
    list_append(&listeners, &directory->listening);
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): a token that nobody follows */
    void *token = (void *)directory->ear;
    redis_subscribe(directory->redis, EPOCH_CHANNEL, on_epoch, token);
}

void doorbell_stop(struct directory *directory)
{
    list_remove(&directory->listening);
    /* Their owner may free them now, while flights still end. */
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

void events_ring(struct directory *directory, const struct project *project)
{
    bus_ring(directory->bus,
             BUS_EVT,
             &(struct bus_bell){
                 .project = project->number,
                 .partition = project->partition,
                 .kind = "event.pending",
             });
}
