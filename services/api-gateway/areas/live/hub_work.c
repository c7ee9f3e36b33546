/*
 * Long work: jobs, imports, sends, search indexes. Their rows have no log. While a kind has
 * listeners, the newest rows of the kind and the rows that have not ended are polled twice a
 * second, and the rows that have changed are sent.
 */
#include "areas/live/hub.h"

#include "base/clock.h"
#include "realtime_sql.h"

#define WORK_MS        500
#define RECENT_MAX     100  /* newest ids: rows may become visible after rows with a higher id */
#define UNFINISHED_MAX 1000 /* rows of a kind that have not ended */
#define FIRST_POLL_MAX 500

static bool caller_is_known(const struct caller *caller)
{
    return caller->rights != NULL;
}

static bool may_workflows(const struct caller *caller)
{
    return caller_can(caller, PERM_SVC_WORKFLOWS_READ);
}

static bool may_audit(const struct caller *caller)
{
    return caller_can(caller, PERM_SVC_AUDIT_LOG_READ);
}

#define NEEDS_ADMIN "Only an administrator may listen to this."

static const struct long_work {
    const char *event;
    const struct sql *sql; /* NULL = read with the log of changes (hub_audit.c) */
    int64_t recent;
    bool (*may)(const struct caller *caller);
    const char *refusal;
} work_kinds[HUB_WORKS] = {
    [HUB_JOBS] = {"job",
                  &SQL_REALTIME_JOBS,
                  RECENT_MAX,
                  may_workflows,
                  "This needs the permission svc_workflows:read."},
    [HUB_TASKS] = {"task", &SQL_REALTIME_TASKS, RECENT_MAX, caller_is_known, ""},
    [HUB_SENDS] = {"send", &SQL_REALTIME_SENDS, RECENT_MAX, caller_is_admin, NEEDS_ADMIN},
    [HUB_INDEXES] = {"index", &SQL_REALTIME_INDEXES, RECENT_MAX, caller_is_admin, NEEDS_ADMIN},
    [HUB_AUDIT] = {"audit", NULL, 0, may_audit, "This needs the permission svc_audit_log:read."},
};

const char *const hub_work_names[HUB_WORKS + 1] = {
    [HUB_JOBS] = "jobs",
    [HUB_TASKS] = "tasks",
    [HUB_SENDS] = "sends",
    [HUB_INDEXES] = "indexes",
    [HUB_AUDIT] = "audit",
    [HUB_WORKS] = NULL,
};

bool hub_work_is_allowed(const struct caller *caller, enum hub_work work)
{
    return work_kinds[work].may(caller);
}

const char *hub_work_refusal(enum hub_work work)
{
    return work_kinds[work].refusal;
}

/* --- listeners --- */

static bool listeners_want_work(const struct list *listeners, enum hub_work work)
{
    LIST_FOR (link, listeners) {
        const struct hub_subscriber *listener = LIST_ITEM(link, struct hub_subscriber, link);
        if (!listener->is_gone && (listener->work & 1U << work))
            return true;
    }
    return false;
}

AWAITS static void send_work(const struct hub_round *round,
                             enum hub_work work,
                             const struct sql_realtime_work_row *row)
{
    struct http_chunk *chunk = http_chunk_new(arena_printf(round->task->arena,
                                                           "event: %s\ndata: %.*s\n\n",
                                                           work_kinds[work].event,
                                                           STR_ARG(row->doc)));

    LIST_FOR (link, &round->hub->current.listeners) {
        struct hub_subscriber *listener = LIST_ITEM(link, struct hub_subscriber, link);
        const struct caller *caller = &listener->caller;
        bool own = row->owner_id == 0 || row->owner_id == caller->user_id;
        if (listener->is_gone || !(listener->work & 1U << work))
            continue;
        task_pause_if_due(round->task);
        if (caller_is_admin(caller) || (own && !row->hidden))
            http_feed_send(&listener->feed, chunk);
    }
    http_chunk_unref(chunk);
}

/* --- changed rows --- */

static const struct hub_work_state *states_find(const struct hub_work_states *states, int64_t id)
{
    size_t low = 0;
    size_t high = states->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (states->items[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < states->count && states->items[low].id == id ? &states->items[low] : NULL;
}

/* co: Sends the rows that have changed since the last poll, and stores the new states. Rows and
 * states are sorted by ascending id. */
AWAITS static void
work_send_changes(const struct hub_round *round, enum hub_work work, const struct rows *rows)
{
    struct hub_work_states *was = &round->hub->works[work];
    struct hub_work_states is = {.arena = arena_new(0), .is_polled = true};

    is.items = ARENA_ARRAY(is.arena, is.items, rows->count);
    for (size_t i = 0; i < rows->count; i++) {
        const struct sql_realtime_work_row row = sql_realtime_work_row(rows, i);
        const struct hub_work_state *known = states_find(was, row.id);
        const struct hub_work_state state = {row.id, str_hash(row.doc), row.ended};
        if (was->is_polled && (!known || known->hash != state.hash))
            send_work(round, work, &row);
        is.items[is.count++] = state;
    }
    arena_free(was->arena);
    *was = is;
}

AWAITS static int work_poll(const struct hub_round *round, enum hub_work work)
{
    const struct hub_work_states *states = &round->hub->works[work];
    int64_t *ids = ARENA_ARRAY(round->task->arena, ids, states->count);
    size_t count = 0;
    struct rows rows;

    for (size_t i = states->count; i-- > 0 && count < UNFINISHED_MAX;)
        if (!states->items[i].has_ended)
            ids[count++] = states->items[i].id;
    TRY(db_query(round->task,
                 &round->project->db,
                 work_kinds[work].sql,
                 SQL_REALTIME_WORK_ARGS(.recent = states->is_polled ? work_kinds[work].recent
                                                                    : FIRST_POLL_MAX,
                                        .ids = sql_i64s(ids, count)),
                 &rows));
    work_send_changes(round, work, &rows);
    return 0;
}

void hub_work_clear(struct hub *hub)
{
    for (int work = 0; work < HUB_WORKS; work++) {
        arena_free(hub->works[work].arena);
        hub->works[work] = (struct hub_work_states){0};
    }
}

int hub_work_poll(const struct hub_round *round)
{
    struct hub *hub = round->hub;
    int64_t now_ms = clock_mono_ms();

    if (now_ms < hub->work_due_ms)
        return 0;
    hub->work_due_ms = INT64_MAX;
    for (int work = 0; work < HUB_WORKS; work++) {
        if (!listeners_want_work(&hub->current.listeners, (enum hub_work)work) &&
            !listeners_want_work(&hub->new_listeners, (enum hub_work)work)) {
            arena_free(hub->works[work].arena);
            hub->works[work] = (struct hub_work_states){0};
            continue;
        }
        hub->work_due_ms = now_ms + WORK_MS;
        if (work_kinds[work].sql)
            TRY(work_poll(round, (enum hub_work)work));
    }
    return 0;
}
