/*
 * Events that come together are inserted together. Each is a statement of its own in a transaction
 * of all of them, in the order of their ids, so that two processes that are sent the same events
 * wait for each other in one direction only. A statement that the database refuses takes none of
 * the others with it: they go again without it.
 */
#include "insert.h"

#include <stdlib.h>

#include "app/scope.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/panic.h"
#include "loop/background.h"
#include "loop/loop.h"
#include "project/project.h"
#include "webhook_ingest_sql.h"

#define AT_ONCE        4 /* batches of a project */
#define BATCH_MAX      64
#define BATCH_BYTES    ((size_t)1 << 20) /* one event at least */
#define WRITE_LIMIT_MS 6000              /* a little more than a statement may take */
#define LANE_LIMIT_MS  ((int64_t)1 << 40)

/* Lives on the stack of the request's coroutine. It may leave while it waits for its turn; once it
 * is being written it stays, since the statement reads its texts. */
struct member {
    struct await turn, written;
    struct list link;
    struct task *task;
    const struct db *db;
    const struct event_row *event;
    bool taken, is_new;
    int rc;
};

struct lane {
    int64_t number; /* of the project */
    struct list members;
    unsigned running;
    struct loop_hook hook;
};

static struct map *lanes; /* 8 bytes -> struct lane, while it has something to do */

static struct str insert_lane_name(const struct lane *lane)
{
    return (struct str){(const char *)&lane->number, sizeof(lane->number)};
}

static void insert_abandon(struct await *await)
{
    list_remove(&CONTAINER_OF(await, struct member, turn)->link);
}

static int by_id(const void *left, const void *right)
{
    const struct event_row *a = (*(struct member *const *)left)->event;
    const struct event_row *b = (*(struct member *const *)right)->event;
    int order = str_cmp(a->source, b->source);

    return order != 0 ? order : str_cmp(a->id, b->id);
}

struct batch {
    struct member *members[BATCH_MAX];
    struct db_call calls[BATCH_MAX];
    size_t count;
};

/* The first of those that wait, so many at most. */
static void insert_take_batch(struct lane *lane, struct batch *batch)
{
    size_t bytes = 0;

    batch->count = 0;
    while (!list_empty(&lane->members) && batch->count < BATCH_MAX) {
        struct member *member = LIST_ITEM(lane->members.next, struct member, link);
        bytes += member->event->payload.len;
        if (batch->count > 0 && bytes > BATCH_BYTES)
            break;
        list_remove(&member->link);
        member->taken = true;
        await_done(&member->turn, 0);
        batch->members[batch->count++] = member;
    }
    qsort(batch->members, batch->count, sizeof(struct member *), by_id);
}

static struct db_call insert_call(struct arena *arena, const struct event_row *event)
{
    return db_call_new(arena,
                       SQL_EVENT_STORE(.source = event->source,
                                       .event_id = event->id,
                                       .type = event->type,
                                       .subtype = event->subtype,
                                       .api_version = event->api_version,
                                       .account = event->account,
                                       .created_at = event->created_ms,
                                       .payload = event->payload,
                                       .supported = event->supported));
}

static void insert_end(struct member *member, int rc)
{
    member->rc = rc;
    await_done(&member->written, 0);
}

/* It is one event's fault, and nothing has happened. */
static bool insert_is_refused(int rc)
{
    return rc == DB_CHECK || rc == DB_FAILED || rc == DB_TOO_LARGE;
}

/* co: all of the batch have an answer afterwards. */
AWAITS static void write_events_of(struct task *task, struct batch *batch)
{
    struct arena *own = task->arena;
    int64_t started_us = clock_mono_us();
    size_t failed = 0;
    int rc;

    task->arena = arena_new(0);
    for (size_t i = 0; i < batch->count; i++)
        batch->calls[i] = insert_call(task->arena, batch->members[i]->event);
    do {
        struct db db = *batch->members[0]->db;
        task->deadline_ms = clock_mono_ms() + WRITE_LIMIT_MS;
        rc = db_batch(task, &db, batch->calls, batch->count, &failed);
        if (rc == 0 || batch->count == 1 || !insert_is_refused(rc))
            break;
        insert_end(batch->members[failed], rc);
        batch->count--;
        for (size_t i = failed; i < batch->count; i++) {
            batch->members[i] = batch->members[i + 1];
            batch->calls[i] = batch->calls[i + 1];
        }
    } while (true);
    for (size_t i = 0; i < batch->count; i++) {
        struct member *member = batch->members[i];
        member->is_new = rc == 0 && batch->calls[i].rows.affected == 1;
        member->task->db_us += clock_mono_us() - started_us;
        insert_end(member, rc);
    }
    task->deadline_ms = 0;
    arena_free(task->arena);
    task->arena = own;
}

static void free_idle(struct lane *lane)
{
    if (lane->running > 0 || lane->hook.queued || !list_empty(&lane->members))
        return;
    (void)map_remove(lanes, insert_lane_name(lane));
    free(lane);
}

static void insert_run_lane(struct task *task, void *arg)
{
    struct lane *lane = arg;
    struct batch *batch = ARENA_NEW(task->arena, batch);

    while (!list_empty(&lane->members)) {
        insert_take_batch(lane, batch);
        if (!list_empty(&lane->members) && lane->running < AT_ONCE)
            loop_at_turn_end(&lane->hook);
        write_events_of(task, batch);
    }
    lane->running--;
    free_idle(lane);
}

static void insert_on_turn_end(void *arg)
{
    struct lane *lane = arg;

    if (list_empty(&lane->members) || lane->running == AT_ONCE) {
        free_idle(lane);
        return;
    }
    lane->running++;
    background_run(LANE_LIMIT_MS, insert_run_lane, lane);
}

static struct lane *insert_find_lane(int64_t number)
{
    if (lanes == NULL)
        lanes = map_new();
    struct lane *lane = map_get(lanes, (struct str){(const char *)&number, sizeof(number)});
    if (lane != NULL)
        return lane;
    lane = calloc(1, sizeof(*lane));
    MUST(lane != NULL);
    lane->number = number;
    list_init(&lane->members);
    lane->hook = (struct loop_hook){.fn = insert_on_turn_end, .arg = lane};
    (void)map_put(lanes, insert_lane_name(lane), lane);
    return lane;
}

int insert_event(struct req *r, const struct event_row *event, bool *ret_new)
{
    struct member member = {.task = &r->task, .db = r->scope->db, .event = event};
    struct lane *lane = insert_find_lane(r->scope->db->schema);

    await_init(&member.turn);
    await_init(&member.written);
    member.turn.abandon = insert_abandon;
    list_append(&lane->members, &member.link);
    if (lane->running < AT_ONCE)
        loop_at_turn_end(&lane->hook);
    int rc = await_wait(&r->task, &member.turn, 0);
    if (!member.taken)
        return rc;
    rc = await_wait(&r->task, &member.written, 0);
    (void)rc; /* what became of the event counts, whatever has happened to the request meanwhile */
    *ret_new = member.is_new;
    return member.rc;
}
