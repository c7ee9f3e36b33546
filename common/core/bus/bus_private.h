#pragma once
/*
 * A consumer has readers (coroutines that block in XREADGROUP on a lane of their
 * own), one keeper (a coroutine that looks at one partition after the other: abandoned entries,
 * trimming, figures) and sixteen partitions. A partition is handled by one task at a time, in a
 * coroutine of its own; while it runs, its partition is not read. So a slow handler holds up its
 * partition alone, and nothing is taken that cannot start at once.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/backoff.h"
#include "base/list.h"
#include "bus/bus.h"
#include "loop/loop.h"
#include "loop/task.h"
#include "redis/redis.h"

#define BUS_NAME_BYTES           32 /* "search:dead:{p15}" */
#define BUS_NOTIFICATIONS_MAX    4096
#define BUS_NOTIFICATION_BUCKETS 64
#define BUS_ID_BYTES             48 /* "1700000000000-18446744073709551615" */

struct consumer;
struct reader;

/* An entry as it lies in the stream. */
struct raw_entry {
    struct str id;
    struct str bytes; /* of its field "e"; {NULL, 0} = has none */
    unsigned deliveries;
    bool gone; /* deleted while it was pending */
};

struct partition {
    struct consumer *consumer;
    struct reader *reader;
    int number;
    char stream[BUS_NAME_BYTES];
    char dead[BUS_NAME_BYTES];

    bool busy;              /* its task runs, or is about to */
    int64_t excluded_until; /* mono: not read before, for its key is wrong; 0 = all is well */
    struct task task;
    struct arena *arena; /* of the task */
    struct raw_entry *raw;
    size_t raw_count;
    /* What was read while abandoned entries were handled: next. */
    struct arena *held_arena;
    struct raw_entry *held;
    size_t held_count;

    /* Last look. */
    int64_t backlog, pending, oldest_ms;
    uint64_t trimmed_ms, trimmed_seq; /* id before which nothing is left */
};

struct reader {
    struct consumer *consumer;
    struct redis_lane *lane;
    struct task task;
    struct arena *arena;
    int first, count;     /* partitions */
    unsigned busy;        /* of these */
    unsigned left_out;    /* of the read under way */
    bool up;              /* the last read worked */
    struct backoff pause; /* after a read that failed */
    struct await *waiting;
    bool waiting_for_all;
};

struct consumer {
    struct list link;
    struct bus *bus;
    struct bus_consumer def;
    char name[128]; /* of this process in its group */
    struct partition partitions[BUS_PARTITIONS];
    struct reader readers[BUS_PARTITIONS];
    unsigned reader_count;
    struct task keeper;
    struct arena *keeper_arena;
    bool look_failed;
};

struct notification {
    struct list link; /* in bus->notifications, in order */
    struct list same; /* in its bucket */
    enum bus_topic topic;
    struct bus_notification notification; /* texts in bus->notification_arena */
};

struct bus {
    struct redis *redis;
    struct bus_stats stats;
    struct list consumers;

    struct list notifications;
    struct list buckets[BUS_NOTIFICATION_BUCKETS];
    size_t notification_count;
    struct arena *notification_arena;
    struct loop_hook flush;
    struct loop_timer pace; /* notifications wait for it */
    int64_t flushed_ms;     /* mono: when notifications last left */
    unsigned in_flight;     /* posts whose result is not known yet */
    bool freed;             /* by its owner; its memory goes when nothing points to it any more */

    unsigned running; /* readers, keepers, partitions: coroutines */
    bool stopping;
    struct task closer;
    struct arena *closer_arena;
    struct await *closer_waits;
    struct loop_hook closed;
    loop_fn stopped;
    void *stopped_arg;
};

/* any: "evt:{p3}" or "evt:dead:{p3}" into buf. */
void bus_stream_name(char buf[BUS_NAME_BYTES], enum bus_topic topic, int partition, bool dead);

/* any: one coroutine more, or less: the last one lets bus_stop() end. */
void bus_entered(struct bus *bus);
void bus_left(struct bus *bus);

/* any: frees the memory of a bus that was freed, once nothing points to it. */
void bus_release(struct bus *bus);

/* --- publishing (publish.c) --- */
void publish_init(struct bus *bus);
void publish_done(struct bus *bus);

/* --- reading (consume.c) --- */
void consumer_stop(struct consumer *consumer);
void consumer_free(struct consumer *consumer);
/* co: makes the group where it is missing. 0, or as redis_cmd(). */
AWAITS int consumer_make_group(struct task *task, struct partition *partition) MUSTCHECK;

/* --- one partition's work (partition.c) --- */

/* any: copies what an answer says about entries; handled now, or when the partition is free. */
void partition_take(struct partition *partition, const struct redis_reply *entries);
/* any: claims abandoned entries and handles them; not busy before. */
void partition_start_claim(struct partition *partition);
/* any: called by a partition at its end (consume.c). */
void reader_freed(struct reader *reader);

/* --- looking after (keep.c, trim.c) --- */
void keeper_run(struct task *task, void *arg);
/* any: the value of a name in an answer that is a flat list of names and values; of kind NIL when
 * it has none. */
const struct redis_reply *reply_member(const struct redis_reply *list, const char *name);
/* co: takes the consumer's name out of the groups, unless entries are pending under it. */
AWAITS void keeper_say_goodbye(struct task *task, struct consumer *consumer);
/* co: removes what every group has finished, given the answer of XINFO GROUPS. */
AWAITS int trim_partition(struct task *task,
                          struct partition *partition,
                          const struct redis_reply *groups) MUSTCHECK;
