/*
 * Reading. A reader is a coroutine that blocks in XREADGROUP for its partitions and passes each
 * partition's batch to the partition's task. After any failure it creates missing groups or pauses,
 * and reads again.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/panic.h"
#include "base/rand.h"
#include "bus/bus_private.h"
#include "log/log.h"

enum {
    BATCH = 256,
    RETRY_MS = 30000,
    MAX_DELIVERIES = 10,
    HANDLER_MS = 30000,
    BLOCK_MS = 5000,
    BLOCK_TRY_MS = 1, /* after a failure, to learn soon whether reads work again */
    BLOCK_SHORT_MS =
        100,          /* while partitions are left out: a wake may come too early, see redis.h */
    ANSWER_MS = 1000, /* in addition to the time of blocking */
    HANDLERS_WAIT_MS = 2, /* how long the next read waits for handlers to end */
    PAUSE_MS = 100,
    MODE_POLL_MS = 5,
    WRONG_KEY_MS = 5000,
};

/* --- groups --- */

int consumer_make_group(struct task *task, struct partition *partition)
{
    struct consumer *consumer = partition->consumer;
    struct redis_reply reply = {0};
    int rc = redis_cmd(task,
                       consumer->bus->redis,
                       &reply,
                       REDIS_ARGS(STR("XGROUP"),
                                  STR("CREATE"),
                                  str_from(partition->stream),
                                  str_from(consumer->def.group),
                                  STR("0"),
                                  STR("MKSTREAM")));

    partition->excluded_until = 0;
    if (rc == 0)
        consumer->bus->stats.groups_created++;
    if (rc != REDIS_ERROR)
        return rc;
    if (str_starts(reply.text, STR("BUSYGROUP")))
        return 0;
    /* Redis has no memory, or the key has another type. The other partitions are still read. */
    log_debug("bus.no_group", L_CSTR("stream", partition->stream), L_STR("reason", reply.text));
    partition->excluded_until =
        clock_mono_ms() + (str_starts(reply.text, STR("OOM")) ? PAUSE_MS * 10 : WRONG_KEY_MS);
    return 0;
}

AWAITS static int make_groups(struct task *task, struct reader *reader)
{
    for (int i = 0; i < reader->count; i++)
        TRY(consumer_make_group(task, &reader->consumer->partitions[reader->first + i]));
    return 0;
}

/* --- waiting for the partitions' tasks --- */

/* Does nothing: reader_wait_free() removes the await itself. */
static void reader_wait_abandon(struct await *await)
{
    (void)await;
}

/* co: Waits until all partitions of the reader are free (`all`), or until one more than now is
 * free. Returns 0 also after limit_ms. */
AWAITS static int
reader_wait_free(struct task *task, struct reader *reader, bool all, int64_t limit_ms)
{
    struct await freed;

    if (reader->busy == 0)
        return 0;
    await_init(&freed);
    reader->waiting = &freed;
    reader->waiting_for_all = all;
    freed.abandon = reader_wait_abandon;
    int rc = await_wait(task, &freed, limit_ms);
    reader->waiting = NULL;
    return rc == -ETIMEDOUT ? 0 : rc;
}

void reader_partition_done(struct reader *reader)
{
    MUST(reader->busy > 0);
    reader->busy--;
    if (reader->waiting && !reader->waiting->done &&
        (reader->busy == 0 || !reader->waiting_for_all))
        await_done(reader->waiting, 0);
    else if (!reader->waiting && reader->excluded_count > 0)
        redis_blocking_wake(reader->connection);
}

/* --- reading --- */

enum { ARGS_FIXED = 10 };

struct read_args {
    struct str items[ARGS_FIXED + 2 * BUS_PARTITIONS];
    size_t count;
    char batch[20], block[20];
};

static void consume_add(struct read_args *args, struct str text)
{
    args->items[args->count++] = text;
}

static bool consume_may_read(const struct partition *partition, int64_t now_ms)
{
    return !partition->busy && partition->excluded_until <= now_ms;
}

/* Builds the command that reads all partitions that can be read now, and counts the partitions left
 * out. Returns how many milliseconds the command may block; 0 = no partition can be read. */
static int64_t prepare_read(struct reader *reader, struct read_args *args, unsigned *ret_left_out)
{
    struct consumer *consumer = reader->consumer;
    int64_t now_ms = clock_mono_ms();
    struct str streams[BUS_PARTITIONS];
    int count = 0;

    for (int i = 0; i < reader->count; i++) {
        const struct partition *partition = &consumer->partitions[reader->first + i];
        if (consume_may_read(partition, now_ms))
            streams[count++] = str_from(partition->stream);
    }
    *ret_left_out = (unsigned)(reader->count - count);
    int64_t block_ms = *ret_left_out > 0 ? BLOCK_SHORT_MS : BLOCK_MS;
    if (!reader->up)
        block_ms = BLOCK_TRY_MS;
    args->count = 0;
    consume_add(args, STR("XREADGROUP"));
    consume_add(args, STR("GROUP"));
    consume_add(args, str_from(consumer->def.group));
    consume_add(args, str_from(consumer->name));
    consume_add(args, STR("COUNT"));
    consume_add(args, (struct str){args->batch, num_print_i64(args->batch, consumer->def.batch)});
    consume_add(args, STR("BLOCK"));
    consume_add(args, (struct str){args->block, num_print_i64(args->block, block_ms)});
    consume_add(args, STR("STREAMS"));
    for (int i = 0; i < count; i++)
        consume_add(args, streams[i]);
    for (int i = 0; i < count; i++)
        consume_add(args, STR(">"));
    return count > 0 ? block_ms : 0;
}

static struct partition *partition_named(struct reader *reader, struct str stream)
{
    for (int i = 0; i < reader->count; i++) {
        struct partition *partition = &reader->consumer->partitions[reader->first + i];
        if (str_is(stream, partition->stream))
            return partition;
    }
    return NULL;
}

/* The answer is a list of [stream, entries], or nil when the time of blocking has passed. */
static void reader_dispatch(struct reader *reader, const struct redis_reply *reply)
{
    for (size_t i = 0; reply->kind == REDIS_KIND_ARRAY && i < reply->count; i++) {
        const struct redis_reply *stream = &reply->items[i];
        if (stream->kind != REDIS_KIND_ARRAY || stream->count != 2)
            continue;
        struct partition *partition = partition_named(reader, stream->items[0].text);
        if (partition)
            partition_take(partition, &stream->items[1]);
    }
}

/* co: Prepares the next read after a failed one. */
AWAITS static int reader_recover(struct task *task, struct reader *reader, int rc, struct str words)
{
    static int64_t said_ms;

    if (rc == REDIS_ERROR && clock_mono_ms() - said_ms > 1000) {
        said_ms = clock_mono_ms();
        log_debug("bus.read_refused", L_STR("reason", words));
    }
    reader->up = false;
    if (rc == REDIS_ERROR && make_groups(task, reader) == 0 && str_starts(words, STR("NOGROUP")))
        return 0;
    return task_sleep(task, backoff_next(&reader->pause));
}

/* co: Returns a negative result when the reader must end. */
AWAITS static int consume_read_once(struct task *task, struct reader *reader)
{
    struct read_args args;
    struct redis_reply reply = {0};
    unsigned left_out;
    int64_t block_ms = prepare_read(reader, &args, &left_out);

    if (block_ms == 0)
        return reader->busy > 0 ? reader_wait_free(task, reader, false, BLOCK_SHORT_MS)
                                : task_sleep(task, PAUSE_MS);
    reader->excluded_count = left_out;
    int rc = redis_blocking_cmd(
        task, reader->connection, block_ms + ANSWER_MS, &reply, args.count, args.items);
    reader->excluded_count = 0;
    if (rc != 0)
        return rc < 0 ? rc
                      : reader_recover(task, reader, rc, rc == REDIS_ERROR ? reply.text : STR_NONE);
    reader->up = true;
    reader->pause.tries = 0;
    reader_dispatch(reader, &reply);
    return reader_wait_free(task, reader, true, HANDLERS_WAIT_MS);
}

/* --- readers --- */

static struct reader *add_reader(struct consumer *consumer, int first, int count);

/* Leaves the reader its first partition and adds a reader for each other partition: in a cluster, a
 * command must not name streams of two slots. */
static void reader_split(struct reader *reader)
{
    struct consumer *consumer = reader->consumer;

    for (; reader->count > 1; reader->count--) {
        struct partition *partition = &consumer->partitions[reader->first + reader->count - 1];
        struct reader *other = add_reader(consumer, partition->number, 1);
        reader->busy -= partition->busy;
        other->busy += partition->busy;
    }
}

/* co: Waits until the kind of Redis is known and the groups exist. */
AWAITS static int reader_wait_ready(struct task *task, struct reader *reader)
{
    while (redis_mode(reader->consumer->bus->redis) == REDIS_MODE_UNKNOWN)
        TRY(task_sleep(task, MODE_POLL_MS));
    while (make_groups(task, reader) != 0)
        TRY(task_sleep(task, backoff_next(&reader->pause)));
    return 0;
}

AWAITS static void run_reader(struct task *task, void *arg)
{
    struct reader *reader = arg;
    struct bus *bus = reader->consumer->bus;
    int rc = reader_wait_ready(task, reader);

    while (rc >= 0) {
        if (redis_mode(bus->redis) == REDIS_MODE_CLUSTER && !bus->stopping)
            reader_split(reader);
        rc = consume_read_once(task, reader);
        arena_reset(reader->arena);
    }
    reader->up = false;
    redis_blocking_free(reader->connection);
    reader->connection = NULL;
    bus_coroutine_end(bus);
}

static struct reader *add_reader(struct consumer *consumer, int first, int count)
{
    struct reader *reader = &consumer->readers[consumer->reader_count++];

    reader->consumer = consumer;
    reader->first = first;
    reader->count = count;
    reader->connection = redis_blocking_new(consumer->bus->redis);
    reader->pause = (struct backoff){.first_ms = 50, .most_ms = 200};
    reader->arena = arena_new(0);
    reader->task = (struct task){.arena = reader->arena};
    for (int i = 0; i < count; i++)
        consumer->partitions[first + i].reader = reader;
    bus_coroutine_begin(consumer->bus);
    task_start(&reader->task, run_reader, reader);
    return reader;
}

/* --- life --- */

static void name_consumer(struct consumer *consumer)
{
    char host[64] = "";

    (void)gethostname(host, sizeof(host) - 1);
    (void)snprintf(consumer->name,
                   sizeof(consumer->name),
                   "%s-%ld-%08lx",
                   host,
                   (long)getpid(),
                   (unsigned long)(rand_u64() & 0xffffffff));
}

static void fill_defaults(struct bus_consumer *def)
{
    if (def->batch == 0)
        def->batch = BATCH;
    if (def->retry_ms == 0)
        def->retry_ms = RETRY_MS;
    if (def->max_deliveries == 0)
        def->max_deliveries = MAX_DELIVERIES;
    if (def->handler_ms == 0)
        def->handler_ms = HANDLER_MS;
}

void bus_consume(struct bus *bus, const struct bus_consumer *wanted)
{
    struct consumer *consumer = calloc(1, sizeof(*consumer));

    MUST(consumer != NULL && !bus->stopping);
    consumer->bus = bus;
    consumer->def = *wanted;
    consumer->def.group = strdup(wanted->group);
    MUST(consumer->def.group != NULL);
    fill_defaults(&consumer->def);
    name_consumer(consumer);
    for (int i = 0; i < BUS_PARTITIONS; i++) {
        struct partition *partition = &consumer->partitions[i];
        partition->consumer = consumer;
        partition->number = i;
        bus_stream_name(partition->stream, wanted->topic, i, false);
        bus_stream_name(partition->dead, wanted->topic, i, true);
        partition->arena = arena_new(0);
        partition->next_arena = arena_new(0);
    }
    list_append(&bus->consumers, &consumer->link);
    (void)add_reader(consumer, 0, BUS_PARTITIONS);
    consumer->keeper_arena = arena_new(0);
    consumer->keeper = (struct task){.arena = consumer->keeper_arena};
    bus_coroutine_begin(bus);
    task_start(&consumer->keeper, keeper_run, consumer);
}

void consumer_stop(struct consumer *consumer)
{
    for (unsigned i = 0; i < consumer->reader_count; i++)
        task_cancel(&consumer->readers[i].task);
    task_cancel(&consumer->keeper);
}

void consumer_free(struct consumer *consumer)
{
    for (int i = 0; i < BUS_PARTITIONS; i++) {
        arena_free(consumer->partitions[i].arena);
        arena_free(consumer->partitions[i].next_arena);
    }
    for (unsigned i = 0; i < consumer->reader_count; i++)
        arena_free(consumer->readers[i].arena);
    arena_free(consumer->keeper_arena);
    free((char *)consumer->def.group);
    free(consumer);
}
