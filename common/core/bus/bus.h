#pragma once
/*
 * Notifications between services over Redis streams. PostgreSQL holds the truth: an entry only says
 * which project (and row) to look at, so a lost one costs the time until the next sweep, and one
 * delivered twice finds the work done. Nothing here is needed for correctness.
 *
 * Streams are "<topic>:{p<partition>}", 16 partitions a topic, the project's own; a consumer group
 * per service. Entries hold one field "e": a serialised Envelope (proto/envelope.proto).
 *
 * Producer:
 *     bus_notify(bus, BUS_JOB, &(struct bus_notification){
 *         .project = 7, .partition = 3, .kind = "job.queued"});
 * Consumer:
 *     static int on_jobs(struct task *task, const struct bus_entry *entries, size_t count,
 *                        void *arg);
 *     bus_consume(bus, &(struct bus_consumer){
 *         .topic = BUS_JOB, .group = "workflow-runner", .handle = on_jobs});
 *
 * Loop thread only. One struct bus per process.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/result.h"
#include "base/str.h"
#include "base/strbuf.h"
#include "loop/loop.h"
#include "loop/task.h"

struct bus;
struct redis;

#define BUS_PARTITIONS 16

enum bus_topic { BUS_EVT, BUS_JOB, BUS_PUSH, BUS_SEARCH, BUS_PAY, BUS_MAIL, BUS_TOPICS };
const char *
bus_topic_name(enum bus_topic topic); /* "evt", "job", "push", "search", "pay", "mail" */

/* What a producer sends. Texts are borrowed for the call. */
struct bus_notification {
    int64_t project;
    int partition;
    const char *kind; /* "event.pending" (BUS_EVT), "job.queued" (BUS_JOB), "push.queued",
                         "search.changed", "payment.received" */
    struct str id;    /* may be empty: "there is work in this project" */
    int64_t row_id;   /* into the body of the topic's message; 0 = unknown */
    unsigned depth;
    struct str traceparent; /* may be empty */
};

/* Returns owned. `redis` is borrowed; consumers block on connections of their own to it. */
struct bus *bus_new(struct redis *redis);
/* any: after bus_stop()'s callback, or when nothing consumes. */
void bus_free(struct bus *bus);

/* any: fire and forget, at the end of this turn. Notifications without id of one topic, project and
 * kind sent within a turn become one entry. Dropped and counted when Redis is away. bus may be NULL
 * (tests). */
void bus_notify(struct bus *bus, enum bus_topic topic, const struct bus_notification *notification);

/* An entry as a consumer sees it; valid until the handler returns. */
struct bus_entry {
    int64_t project;
    int partition;
    struct str kind, id, traceparent;
    int64_t row_id;
    int64_t occurred_ms;
    unsigned depth;
    unsigned deliveries; /* 1 = first */
};

/* AWAITS: handles a batch of one partition. 0 acknowledges all of them; anything else leaves them
 * pending: they come again after retry_ms, to this consumer or another one, and to the dead letters
 * ("<topic>:dead:{p<n>}") after max_deliveries. What must not be lost is in PostgreSQL anyway. */
typedef int (*bus_handler_fn)(struct task *task,
                              const struct bus_entry *entries,
                              size_t count,
                              void *arg);

struct bus_consumer {
    enum bus_topic topic;
    const char *group; /* the service's name */
    bus_handler_fn handle;
    void *arg;
    unsigned batch;          /* entries per call, 0 = 256 */
    int64_t retry_ms;        /* claim entries that another consumer left this long, 0 = 30,000 */
    unsigned max_deliveries; /* 0 = 10 */
    int64_t handler_ms;      /* deadline of one call, 0 = 30,000 */
};
/* any: starts reading all partitions of the topic: groups are made at 0 where missing (again after
 * NOGROUP, a wiped or restarted Redis), abandoned entries are claimed, finished ones trimmed. For
 * the life of the bus. */
void bus_consume(struct bus *bus, const struct bus_consumer *wanted);
/* any: reads no more; done(arg) when the running handlers have ended. */
void bus_stop(struct bus *bus, loop_fn done, void *arg);
/* any: entries can be read now. While false, notifications are lost and consumers poll the database
 * instead. */
bool bus_up(const struct bus *bus);

struct bus_stats {
    uint64_t notified, dropped,
        coalesced;        /* notifications; dropped: Redis away, full, or too many in one turn */
    uint64_t read, acked; /* entries */
    uint64_t failed;      /* entries whose handler did not return 0: they come again */
    uint64_t reclaimed;   /* entries taken over because they were left too long */
    uint64_t dead;        /* entries put to the dead letters */
    uint64_t lost;        /* entries deleted before anybody had finished them */
    uint64_t trimmed;     /* finished entries removed */
    uint64_t group_made;
    int64_t backlog;   /* entries not yet delivered to our groups, all partitions (last look) */
    int64_t pending;   /* delivered, not acknowledged */
    int64_t oldest_ms; /* age of the oldest unfinished entry */
};
/* any: borrowed until the next call. */
const struct bus_stats *bus_stats(struct bus *bus);
