/* Turns events into jobs. */
#include "events.h"

#include "app.h"
#include "base/panic.h"
#include "json/jr_off_thread.h"
#include "log/log.h"
#include "queue_sql.h"
#include "rights/audit.h"
#include "runner_events_sql.h"
#include "workflow/condition.h"

#define JOBS_AT_ONCE  1000               /* jobs of several events */
#define JOBS_MAX      5000               /* jobs of one event */
#define BYTES_AT_ONCE ((size_t)16 << 20) /* of the jobs' data, by its stored size */
#define READ_AT_ONCE  ((size_t)1 << 20)  /* of events whose data a filter reads, as text */

struct listener {
    int64_t id, version, entity_id;
    struct str event;
    struct str category; /* STR_NONE = any */
    struct condition *filter;
};

struct event_matches {
    int64_t *events, *workflows, *versions;
    size_t count, cap;
    bool chained; /* some of the events were caused by jobs */
};

static void match_add(struct arena *arena,
                      struct event_matches *match,
                      int64_t event,
                      const struct listener *listener)
{
    if (match->count == match->cap) {
        size_t cap = match->cap ? match->cap * 2 : 64;
        struct event_matches grown = {
            .events = ARENA_ARRAY(arena, grown.events, cap),
            .workflows = ARENA_ARRAY(arena, grown.workflows, cap),
            .versions = ARENA_ARRAY(arena, grown.versions, cap),
            .count = match->count,
            .cap = cap,
            .chained = match->chained,
        };
        for (size_t i = 0; i < match->count; i++) {
            grown.events[i] = match->events[i];
            grown.workflows[i] = match->workflows[i];
            grown.versions[i] = match->versions[i];
        }
        *match = grown;
    }
    match->events[match->count] = event;
    match->workflows[match->count] = listener->id;
    match->versions[match->count++] = listener->version;
}

/* Parses a listener's filter. Filters were checked when their workflows were saved: a filter that
 * does not parse now matches nothing. */
static bool events_read_filter(struct arena *arena, struct str text, struct condition **ret_filter)
{
    struct jr_error error;
    struct str reason;
    struct str path;
    json_t *value;

    *ret_filter = NULL;
    if (text.ptr == NULL)
        return true;
    return jr_parse_stored(arena, text, &value, &error) == 0 &&
           condition_parse(arena, value, true, ret_filter, &path, &reason) == 0;
}

static size_t
read_listeners(struct arena *arena, const struct rows *rows, struct listener **ret_listeners)
{
    struct listener *listeners = ARENA_ARRAY(arena, listeners, rows->count);
    size_t count = 0;

    for (size_t i = 0; i < rows->count; i++) {
        const struct sql_events_listeners_row row = sql_events_listeners_row(rows, i);
        struct listener listener = {
            .id = row.id,
            .version = row.version,
            .entity_id = row.entity_id.value,
            .event = row.event,
            .category = row.category,
        };
        if (events_read_filter(arena, row.filter, &listener.filter))
            listeners[count++] = listener;
        else
            log_warn("events.bad_filter", L_I64("workflow", listener.id));
    }
    *ret_listeners = listeners;
    return count;
}

static bool listener_matches(struct arena *arena,
                             const struct listener *listener,
                             const struct sql_events_claim_row *event,
                             const json_t *data)
{
    struct str reason;
    bool holds = false;

    if (!str_eq(listener->event, event->event) || listener->entity_id != event->entity_id.value)
        return false;
    if (listener->category.len && !str_eq(listener->category, jr_str(data, "category")))
        return false;
    if (listener->filter == NULL)
        return true;
    const struct template_context context = {.root = data};
    return condition_eval(arena, listener->filter, &context, &holds, &reason) == 0 && holds;
}

/* co: Matches events with listeners. *ret_taken: how many of the events, from the first on, are to
 * be taken now. The number is limited because each job holds a copy of its event, and because all
 * jobs must be made before the statement times out. */
AWAITS static int match_events(struct task *task,
                               const struct rows *events,
                               const struct rows *rows,
                               struct event_matches *match,
                               size_t *ret_taken)
{
    struct arena *arena = task->arena;
    struct arena *event_arena = arena_new(0); /* reset per event: a tree is large */
    struct listener *listeners;
    size_t count = read_listeners(arena, rows, &listeners);
    size_t taken = events->count;
    size_t bytes = 0;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < events->count; i++) {
        const struct sql_events_claim_row event = sql_events_claim_row(events, i);
        size_t before = match->count;
        struct jr_error error;
        json_t *data = NULL;

        arena_reset(event_arena);
        if (event.data.ptr != NULL &&
            jr_parse_off_thread(task, event_arena, event.data, true, &data, &error) != 0)
            data = NULL;
        for (size_t j = 0; j < count; j++) {
            if (listener_matches(event_arena, &listeners[j], &event, data))
                match_add(arena, match, event.id, &listeners[j]);
        }
        bytes += (match->count - before) * (size_t)event.bytes;
        match->chained |= event.depth > 0;
        if (i > 0 && (match->count > JOBS_AT_ONCE || bytes > BYTES_AT_ONCE)) {
            match->count = before;
            taken = i;
            break;
        }
        rc = task_yield_if_due(task);
    }
    arena_free(event_arena);
    *ret_taken = taken;
    return rc;
}

/* co: Makes the jobs of the events that are taken, within the project's limits. */
AWAITS static int events_start_jobs(struct task *task,
                                    struct db *tx,
                                    const struct event_matches *match,
                                    int64_t capacity,
                                    struct events_outcome *outcome)
{
    const struct caller system = {.kind = CALLER_SYSTEM};
    struct rows rows;

    if (!match->chained && (int64_t)match->count <= capacity) {
        TRY(db_query(task,
                     tx,
                     SQL_EVENTS_MAKE_JOBS(.event_ids = sql_i64s(match->events, match->count),
                                          .workflow_ids = sql_i64s(match->workflows, match->count),
                                          .versions = sql_i64s(match->versions, match->count)),
                     &rows));
        outcome->made = (unsigned)rows.affected;
        return 0;
    }
    TRY(db_query(task,
                 tx,
                 SQL_EVENTS_MAKE_GUARDED(.event_ids = sql_i64s(match->events, match->count),
                                         .workflow_ids = sql_i64s(match->workflows, match->count),
                                         .versions = sql_i64s(match->versions, match->count),
                                         .depth_max = DEPTH_MAX,
                                         .chain_max = runner_conf()->fan_out_jobs,
                                         .room = capacity > 0 ? capacity : 0),
                 &rows));
    const struct sql_events_make_guarded_row few = sql_events_make_guarded_row(&rows, 0);
    outcome->made = (unsigned)few.made;
    outcome->guarded = (unsigned)few.guarded;
    if (outcome->guarded == 0)
        return 0;
    struct str detail = arena_printf(task->arena,
                                     "{\"jobs\":%u,\"reason\":\"fan_out_guard\",\"queue_full\":%s}",
                                     outcome->guarded,
                                     (int64_t)match->count > capacity ? "true" : "false");
    struct db_call audit = audit_call(task->arena,
                                      &system,
                                      "workflows.fan_out_guard",
                                      "workflow",
                                      few.workflow_id.value,
                                      detail,
                                      STR_NONE);
    log_warn("events.fan_out_guard",
             L_I64("project", tx->schema),
             L_I64("workflow", few.workflow_id.value),
             L_I64("jobs", outcome->guarded));
    return db_batch(task, tx, &audit, 1, NULL);
}

AWAITS static int events_take_in(struct task *task, struct db *tx, void *arg)
{
    struct events_outcome *ret_outcome = arg;
    struct arena *arena = task->arena;
    struct event_matches match = {0};

    *ret_outcome = (struct events_outcome){0};
    struct db_call reads[] = {
        db_call(SQL_PLAN_BY_KEY()),
        db_call(SQL_EVENTS_CLAIM(.most = EVENTS_AT_ONCE, .bytes = READ_AT_ONCE)),
        db_call(SQL_EVENTS_LISTENERS()),
        db_call(SQL_EVENTS_ROOM(.limit = runner_conf()->common.queued_jobs, .most = JOBS_MAX)),
    };
    TRY(db_batch(task, tx, reads, ARRAY_LEN(reads), NULL));
    const struct rows *events = &reads[1].rows;
    if (events->count == 0) {
        db_rollback(tx);
        return 0;
    }

    size_t taken;
    TRY(match_events(task, events, &reads[2].rows, &match, &taken));
    int64_t *ids = ARENA_ARRAY(arena, ids, taken);
    for (size_t i = 0; i < taken; i++)
        ids[i] = sql_events_claim_row(events, i).id;
    size_t found = (size_t)sql_events_claim_row(events, 0).found;
    struct events_outcome outcome = {
        .taken = (unsigned)taken,
        .more = taken < found || found == EVENTS_AT_ONCE,
    };
    TRY(db_query(task, tx, SQL_EVENTS_TAKEN(.ids = sql_i64s(ids, taken)), NULL));
    if (match.count > 0)
        TRY(events_start_jobs(
            task, tx, &match, sql_events_room_row(&reads[3].rows, 0).room, &outcome));
    *ret_outcome = outcome;
    return 0;
}

int events_take(struct task *task, struct project *project, struct events_outcome *ret_outcome)
{
    return db_transact(task, &project->db, events_take_in, ret_outcome);
}
