#pragma once
/*
 * A consumer has sixteen partitions, readers, and one keeper. A reader is a coroutine that blocks
 * in XREADGROUP on its own connection (reader->connection). The keeper is a coroutine that checks
 * one partition after the other: it claims abandoned entries, trims and counts. A partition has one
 * task at a time, a coroutine of its own, and is not read while the task runs. So a slow handler
 * delays only its partition, and no entry is read that cannot be handled at once.
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

/* An entry as the stream holds it. */
struct raw_entry {
    struct str id;
    struct str bytes; /* value of the field "e"; {NULL, 0} = no such field */
    unsigned deliveries;
    bool is_deleted; /* deleted while it was pending */
};

struct partition {
    struct consumer *consumer;
    struct reader *reader;
    int number;
    char stream[BUS_NAME_BYTES];
    char dead[BUS_NAME_BYTES];

    bool busy;              /* the task runs or is about to run */
    int64_t excluded_until; /* monotonic: not read before, for lack of a group; 0 = readable */
    struct task task;
    struct arena *arena;   /* of the task */
    struct raw_entry *raw; /* the batch of the task */
    size_t raw_count;
    /* The next batch, which waits here while the task handles abandoned entries. */
    struct arena *next_arena;
    struct raw_entry *next;
    size_t next_count;

    /* Results of the keeper's last check. */
    int64_t backlog, pending, oldest_ms;
    uint64_t trimmed_ms, trimmed_seq; /* id below which all entries were removed */
};

struct reader {
    struct consumer *consumer;
    struct redis_blocking *connection;
    struct task task;
    struct arena *arena;
    int first, count;        /* partitions */
    unsigned busy;           /* number of partitions whose task runs */
    unsigned excluded_count; /* number of partitions that the current read leaves out */
    bool up;                 /* the last read succeeded */
    struct backoff pause;    /* after a failed read */
    struct await *waiting;   /* set while the reader waits for free partitions */
    bool waiting_for_all;
};

struct consumer {
    struct list link;
    struct bus *bus;
    struct bus_consumer def;
    char name[128]; /* of this process in the group */
    struct partition partitions[BUS_PARTITIONS];
    struct reader readers[BUS_PARTITIONS];
    unsigned reader_count;
    struct task keeper;
    struct arena *keeper_arena;
    bool check_failed; /* the keeper's last check failed */
};

struct notification {
    struct list link;        /* in bus->notifications, in order */
    struct list bucket_link; /* in a bucket of bus->buckets */
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
    struct loop_timer flush_timer; /* delays the next flush */
    int64_t flushed_ms;            /* monotonic: when notifications were last sent */
    unsigned in_flight;            /* commands whose result is not known yet */
    bool is_freed;                 /* bus_free() was called; bus_release() frees the memory */

    unsigned running; /* coroutines of readers, keepers and partitions */
    bool stopping;
    struct task closer;
    struct arena *closer_arena;
    struct await *closer_await;
    struct loop_hook close_hook;
    loop_fn on_stopped;
    void *on_stopped_arg;
};

/* any: Writes "evt:{p3}" into buf, or "evt:dead:{p3}" for dead letters. */
void bus_stream_name(char buf[BUS_NAME_BYTES], enum bus_topic topic, int partition, bool dead);

/* any: Count a coroutine that starts or ends. The end of the last coroutine lets bus_stop()
 * continue. */
void bus_coroutine_begin(struct bus *bus);
void bus_coroutine_end(struct bus *bus);

/* any: Frees the memory of the bus after bus_free(), once no command and no hook refers to it. */
void bus_release(struct bus *bus);

/* --- publishing (publish.c) --- */
void publish_init(struct bus *bus);
void publish_done(struct bus *bus);

/* --- reading (consume.c) --- */
void consumer_stop(struct consumer *consumer);
void consumer_free(struct consumer *consumer);
/* co: Creates the partition's group when it is missing. When Redis refuses, the partition is not
 * read for some seconds, and the result is 0 too. Returns 0, or a result of redis_cmd() other than
 * REDIS_ERROR. */
AWAITS int consumer_make_group(struct task *task, struct partition *partition) MUSTCHECK;

/* --- one partition's work (partition.c) --- */

/* any: Copies the entries of an answer as the next batch and starts the task, unless it runs. */
void partition_take(struct partition *partition, const struct redis_reply *entries);
/* any: Starts a task that claims and handles abandoned entries. The partition must not be busy. */
void partition_start_claim(struct partition *partition);
/* any: Informs a reader that the task of one of its partitions has ended (consume.c). */
void reader_partition_done(struct reader *reader);

/* --- maintenance (keeper.c, trim.c) --- */
void keeper_run(struct task *task, void *arg);
/* any: Returns the value of a name in an answer that is a flat list of names and values; a value of
 * kind NIL when the list lacks the name. */
const struct redis_reply *reply_member(const struct redis_reply *list, const char *name);
/* co: Deletes the consumer's name from the groups, unless entries are pending under the name. */
AWAITS void keeper_unregister(struct task *task, struct consumer *consumer);
/* co: Removes the entries that every group has finished and updates the partition's statistics.
 * `groups` is the answer of XINFO GROUPS. */
AWAITS int trim_partition(struct task *task,
                          struct partition *partition,
                          const struct redis_reply *groups) MUSTCHECK;
