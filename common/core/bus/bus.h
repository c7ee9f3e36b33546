#pragma once
/*
 * Notifications between services over Redis streams. PostgreSQL holds the truth: an entry only
 * names a project (and a row) that has work. A lost entry delays the work until the next sweep, and
 * the handler of an entry that is delivered twice finds the work done. Correctness does not depend
 * on the bus.
 *
 * A topic has 16 streams, named "<topic>:{p<partition>}"; a project's entries are in the stream of
 * its partition. Each service has one consumer group. An entry has one field "e": a serialised
 * Envelope (proto/envelope.proto).
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
/* any: Returns the topic's name in streams: "evt", "job", "push", "search", "pay" or "mail". */
const char *bus_topic_name(enum bus_topic topic);

/* A notification as a producer sends it. Texts are borrowed for the call. */
struct bus_notification {
    int64_t project;
    int partition;
    const char *kind;       /* "event.pending" (BUS_EVT), "job.queued" (BUS_JOB), "push.queued",
                               "search.changed", "payment.received", "mail.queued" */
    struct str id;          /* may be empty: the project has work */
    int64_t row_id;         /* the row that has work, for the body of the envelope; 0 = unknown */
    unsigned depth;         /* how many workflows led to this notification */
    struct str traceparent; /* may be empty */
};

/* Returns a bus, owned by the caller. `redis` is borrowed; each reader of a consumer blocks on a
 * connection that only it uses. */
struct bus *bus_new(struct redis *redis);
/* any: Frees the bus, after the callback of bus_stop() or when it has no consumer; NULL is fine. */
void bus_free(struct bus *bus);

/* any: Sends a notification at the end of this turn of the event loop, or some milliseconds later,
 * and reports no result. Notifications without id of one topic, project and kind become one entry
 * when they are sent together. A notification is dropped and counted when Redis is unavailable.
 * `bus` may be NULL (tests). */
void bus_notify(struct bus *bus, enum bus_topic topic, const struct bus_notification *notification);

/* An entry as a handler receives it; valid until the handler returns. */
struct bus_entry {
    int64_t project;
    int partition;
    struct str kind, id, traceparent;
    int64_t row_id;
    int64_t occurred_ms;
    unsigned depth;
    unsigned deliveries; /* 1 = the first delivery */
};

/* AWAITS: Handles a batch of entries of one partition. The result 0 acknowledges all entries of the
 * batch. Any other result leaves them pending: they are delivered again after retry_ms, to any
 * consumer of the group, and moved to the dead letters ("<topic>:dead:{p<n>}") after
 * max_deliveries. Correctness does not depend on this: the work is in PostgreSQL. */
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
    int64_t retry_ms;        /* age at which pending entries are claimed, 0 = 30,000 */
    unsigned max_deliveries; /* 0 = 10 */
    int64_t handler_ms;      /* deadline of one call, 0 = 30,000 */
};
/* any: Starts to read all partitions of the topic, for the life of the bus; `wanted` is copied.
 * Missing groups are created at id 0, also when Redis was wiped or restarted (NOGROUP). Abandoned
 * entries (pending for retry_ms) are claimed, and entries that all groups have finished are
 * removed. */
void bus_consume(struct bus *bus, const struct bus_consumer *wanted);
/* any: Stops reading, once. Calls done(arg) when the running handlers have ended. */
void bus_stop(struct bus *bus, loop_fn done, void *arg);
/* any: Returns whether entries can be read now. While false, notifications are lost and services
 * poll the database instead. */
bool bus_is_up(const struct bus *bus);

struct bus_stats {
    /* Notifications. Dropped: Redis unavailable or full, or too many at once. */
    uint64_t notified, dropped, coalesced;
    uint64_t read, acked; /* entries */
    uint64_t failed;      /* entries whose handler did not return 0: delivered again */
    uint64_t reclaimed;   /* abandoned entries that were claimed */
    uint64_t dead;        /* entries moved to the dead letters */
    uint64_t lost;        /* entries deleted before they were finished */
    uint64_t trimmed;     /* finished entries removed */
    uint64_t groups_created;
    int64_t backlog;   /* entries not yet delivered to our groups, all partitions (last check) */
    int64_t pending;   /* entries that were delivered and not acknowledged */
    int64_t oldest_ms; /* age of the oldest unfinished entry */
};
/* any: Returns the statistics, borrowed until the next call. */
const struct bus_stats *bus_stats(struct bus *bus);
