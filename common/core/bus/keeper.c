/*
 * Maintenance of a consumer's streams. The keeper checks one partition after the other, all of them
 * within a quarter of the time after which an entry counts as abandoned, and within ROUND_MS. A
 * check is one cheap command when no entry is unfinished, and notices also that Redis does not
 * answer.
 */
#include "base/clock.h"
#include "base/num.h"
#include "base/panic.h"
#include "base/rand.h"
#include "bus/bus_private.h"
#include "log/log.h"

enum {
    ROUND_MS = 5000,           /* longest time for all partitions */
    TIDY_MS = 300000,          /* between two removals of dead consumers */
    DEAD_CONSUMER_MS = 600000, /* idle time of a dead consumer */
};

/* Atomic, because deleting a consumer also deletes its pending entries. */
#define FORGET_SCRIPT                                                                              \
    "if #redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', 1, ARGV[2]) == 0 then "                \
    "return redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], ARGV[2]) end return -1"

/* --- answers that are flat lists of names and values --- */

const struct redis_reply *reply_member(const struct redis_reply *list, const char *name)
{
    static const struct redis_reply none = {.kind = REDIS_KIND_NIL};

    for (size_t i = 0; list->kind == REDIS_KIND_ARRAY && i + 1 < list->count; i += 2) {
        if (str_is(list->items[i].text, name))
            return &list->items[i + 1];
    }
    return &none;
}

static const struct redis_reply *group_find(const struct redis_reply *list, struct str name)
{
    for (size_t i = 0; list->kind == REDIS_KIND_ARRAY && i < list->count; i++) {
        if (str_eq(reply_member(&list->items[i], "name")->text, name))
            return &list->items[i];
    }
    return NULL;
}

/* --- consumers that are gone --- */

AWAITS static int
keeper_consumer_delete(struct task *task, struct partition *partition, struct str name)
{
    return redis_cmd(task,
                     partition->consumer->bus->redis,
                     NULL,
                     REDIS_ARGS(STR("EVAL"),
                                STR(FORGET_SCRIPT),
                                STR("1"),
                                str_from(partition->stream),
                                str_from(partition->consumer->def.group),
                                name));
}

void keeper_unregister(struct task *task, struct consumer *consumer)
{
    for (int i = 0; i < BUS_PARTITIONS; i++) {
        if (keeper_consumer_delete(task, &consumer->partitions[i], str_from(consumer->name)) ==
            REDIS_UNAVAILABLE)
            return;
    }
}

AWAITS static int keeper_tidy(struct task *task, struct partition *partition)
{
    struct redis_reply reply = {0};

    TRY(redis_cmd(task,
                  partition->consumer->bus->redis,
                  &reply,
                  REDIS_ARGS(STR("XINFO"),
                             STR("CONSUMERS"),
                             str_from(partition->stream),
                             str_from(partition->consumer->def.group))));
    for (size_t i = 0; reply.kind == REDIS_KIND_ARRAY && i < reply.count; i++) {
        const struct redis_reply *it = &reply.items[i];
        struct str name = reply_member(it, "name")->text;
        if (reply_member(it, "pending")->number == 0 &&
            reply_member(it, "idle")->number > DEAD_CONSUMER_MS &&
            !str_is(name, partition->consumer->name))
            TRY(keeper_consumer_delete(task, partition, name));
    }
    return 0;
}

/* --- a check --- */

/* co: Starts to claim when the partition has abandoned entries. */
AWAITS static int claim_abandoned(struct task *task, struct partition *partition)
{
    const struct consumer *consumer = partition->consumer;
    struct redis_reply reply = {0};
    char idle[20];

    TRY(redis_cmd(task,
                  consumer->bus->redis,
                  &reply,
                  REDIS_ARGS(STR("XPENDING"),
                             str_from(partition->stream),
                             str_from(consumer->def.group),
                             STR("IDLE"),
                             ((struct str){idle, num_print_i64(idle, consumer->def.retry_ms)}),
                             STR("-"),
                             STR("+"),
                             STR("1"))));
    if (reply.kind == REDIS_KIND_ARRAY && reply.count > 0 && !partition->busy &&
        !consumer->bus->stopping)
        partition_start_claim(partition);
    return 0;
}

AWAITS static int keeper_check(struct task *task, struct partition *partition, bool tidying)
{
    struct consumer *consumer = partition->consumer;
    struct redis_reply groups = {0};
    int rc = redis_cmd(task,
                       consumer->bus->redis,
                       &groups,
                       REDIS_ARGS(STR("XINFO"), STR("GROUPS"), str_from(partition->stream)));
    const struct redis_reply *ours =
        rc == 0 ? group_find(&groups, str_from(consumer->def.group)) : NULL;

    if (rc == REDIS_ERROR || (rc == 0 && !ours)) {
        partition->backlog = partition->pending = partition->oldest_ms = 0;
        return consumer_make_group(task, partition);
    }
    TRY(rc);
    TRY(trim_partition(task, partition, &groups));
    if (partition->pending > 0 && !partition->busy)
        TRY(claim_abandoned(task, partition));
    return tidying ? keeper_tidy(task, partition) : 0;
}

static int64_t keeper_interval_ms(const struct consumer *consumer)
{
    int64_t round_ms = consumer->def.retry_ms / 4;

    if (round_ms > ROUND_MS)
        round_ms = ROUND_MS;
    return round_ms / BUS_PARTITIONS + 1;
}

void keeper_run(struct task *task, void *arg)
{
    struct consumer *consumer = arg;
    struct bus *bus = consumer->bus;
    /* Processes that start at the same time begin with different partitions. */
    unsigned next = (unsigned)(rand_u64() % BUS_PARTITIONS);
    unsigned tidied = 0;
    int64_t tidy_due_ms = clock_mono_ms() + (int64_t)(rand_u64() % TIDY_MS);

    while (!bus->stopping && task_sleep(task, keeper_interval_ms(consumer)) == 0) {
        bool tidying = clock_mono_ms() >= tidy_due_ms;
        int rc = keeper_check(task, &consumer->partitions[next++ % BUS_PARTITIONS], tidying);
        if (rc >= 0)
            consumer->check_failed = rc != 0;
        if (tidying && ++tidied % BUS_PARTITIONS == 0)
            tidy_due_ms = clock_mono_ms() + TIDY_MS;
        arena_reset(task->arena);
    }
    bus_coroutine_end(bus);
}
