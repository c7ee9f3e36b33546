/*
 * Trimming removes the entries that every group has finished and no others, so it never trims by
 * length. A group that is created between the check and the trim starts without the entries that
 * all other groups have finished.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "bus/bus_private.h"

struct stream_id {
    uint64_t ms, seq;
};

/* Parses "1700000000000-3". Returns false when the text is not an id. */
static bool parse_id(struct str text, struct stream_id *ret_id)
{
    struct str rest = text;
    struct str ms = str_split(&rest, '-');
    char buf[2][24];
    char *end;

    if (ms.len == 0 || ms.len > 20 || rest.len == 0 || rest.len > 20)
        return false;
    (void)snprintf(buf[0], sizeof(buf[0]), "%.*s", STR_ARG(ms));
    (void)snprintf(buf[1], sizeof(buf[1]), "%.*s", STR_ARG(rest));
    ret_id->ms = strtoull(buf[0], &end, 10);
    if (*end != '\0')
        return false;
    ret_id->seq = strtoull(buf[1], &end, 10);
    return *end == '\0';
}

static bool stream_id_is_less(struct stream_id a, struct stream_id b)
{
    return a.ms != b.ms ? a.ms < b.ms : a.seq < b.seq;
}

static struct stream_id stream_id_next(struct stream_id id)
{
    return id.seq == UINT64_MAX ? (struct stream_id){id.ms + 1, 0}
                                : (struct stream_id){id.ms, id.seq + 1};
}

static int64_t age_ms(struct stream_id id)
{
    int64_t age = clock_wall_ms() - (int64_t)id.ms;

    return age > 0 ? age : 0;
}

/* co: Finds the first entry after `last`, the id of the last entry that the group has received.
 * *ret_any is false when there is no such entry. */
AWAITS static int first_waiting(struct task *task,
                                const struct partition *partition,
                                struct str last,
                                bool *ret_any,
                                struct stream_id *ret_id)
{
    struct redis_reply reply = {0};
    char from[BUS_ID_BYTES];

    *ret_any = false;
    (void)snprintf(from, sizeof(from), "(%.*s", STR_ARG(last));
    TRY(redis_cmd(task,
                  partition->consumer->bus->redis,
                  &reply,
                  REDIS_ARGS(STR("XRANGE"),
                             str_from(partition->stream),
                             str_from(from),
                             STR("+"),
                             STR("COUNT"),
                             STR("1"))));
    if (reply.kind == REDIS_KIND_ARRAY && reply.count == 1 &&
        reply.items[0].kind == REDIS_KIND_ARRAY && reply.items[0].count > 0)
        *ret_any = parse_id(reply.items[0].items[0].text, ret_id);
    return 0;
}

/* co: Finds the id below which this group has finished all entries. */
AWAITS static int first_unfinished(struct task *task,
                                   const struct partition *partition,
                                   const struct redis_reply *group,
                                   struct stream_id *ret_id,
                                   bool *ret_pending)
{
    struct redis_reply reply = {0};
    struct stream_id last;
    struct stream_id pending;

    *ret_pending = false;
    if (!parse_id(reply_member(group, "last-delivered-id")->text, &last))
        return REDIS_ERROR;
    *ret_id = stream_id_next(last);
    if (reply_member(group, "pending")->number == 0)
        return 0;
    TRY(redis_cmd(task,
                  partition->consumer->bus->redis,
                  &reply,
                  REDIS_ARGS(STR("XPENDING"),
                             str_from(partition->stream),
                             reply_member(group, "name")->text)));
    /* Entries that were delivered after XINFO GROUPS have ids above `last`. */
    if (reply.kind == REDIS_KIND_ARRAY && reply.count == 4 &&
        parse_id(reply.items[1].text, &pending)) {
        *ret_pending = true;
        if (stream_id_is_less(pending, *ret_id))
            *ret_id = pending;
    }
    return 0;
}

/* co: Updates the partition's statistics from those of our own group. */
AWAITS static int trim_measure(struct task *task,
                               struct partition *partition,
                               const struct redis_reply *group,
                               bool pending,
                               struct stream_id unfinished)
{
    const struct redis_reply *lag = reply_member(group, "lag");
    bool waiting = false;

    partition->pending = reply_member(group, "pending")->number;
    partition->backlog = lag->number;
    partition->oldest_ms = pending ? age_ms(unfinished) : 0;
    if (pending || (lag->kind == REDIS_KIND_INT && lag->number == 0))
        return 0;
    TRY(first_waiting(
        task, partition, reply_member(group, "last-delivered-id")->text, &waiting, &unfinished));
    if (waiting)
        partition->oldest_ms = age_ms(unfinished);
    if (lag->kind != REDIS_KIND_INT) /* Redis does not know the lag */
        partition->backlog = waiting;
    return 0;
}

AWAITS static int trim_cut(struct task *task, struct partition *partition, struct stream_id below)
{
    struct redis_reply reply = {0};
    char id[BUS_ID_BYTES];

    if (below.ms == 0 || /* some group has read nothing yet */
        (partition->trimmed_ms == below.ms && partition->trimmed_seq == below.seq))
        return 0;
    (void)snprintf(id, sizeof(id), "%" PRIu64 "-%" PRIu64, below.ms, below.seq);
    TRY(redis_cmd(
        task,
        partition->consumer->bus->redis,
        &reply,
        REDIS_ARGS(STR("XTRIM"), str_from(partition->stream), STR("MINID"), str_from(id))));
    partition->trimmed_ms = below.ms;
    partition->trimmed_seq = below.seq;
    partition->consumer->bus->stats.trimmed += (uint64_t)reply.number;
    return 0;
}

int trim_partition(struct task *task, struct partition *partition, const struct redis_reply *groups)
{
    struct stream_id least = {UINT64_MAX, UINT64_MAX};
    struct str own = str_from(partition->consumer->def.group);

    for (size_t i = 0; i < groups->count; i++) {
        const struct redis_reply *group = &groups->items[i];
        struct stream_id unfinished;
        bool pending;
        TRY(first_unfinished(task, partition, group, &unfinished, &pending));
        if (stream_id_is_less(unfinished, least))
            least = unfinished;
        if (str_eq(reply_member(group, "name")->text, own))
            TRY(trim_measure(task, partition, group, pending, unfinished));
    }
    return groups->count > 0 ? trim_cut(task, partition, least) : 0;
}
