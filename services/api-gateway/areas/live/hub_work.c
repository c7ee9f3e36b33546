/*
 * Long work: jobs, imports, sends, search indexes. Their rows have no log. While a kind has
 * listeners, its newest rows and those that have not ended are polled twice a second, and the rows
 * that have changed are sent.
 */
#include "areas/live/hub.h"

#include "base/clock.h"
#include "realtime_sql.h"

#define WORK_MS    500
#define RECENT     100  /* newest ids: rows may become visible after rows with a higher id */
#define WATCHED    1000 /* rows of a kind that have not ended */
#define FIRST_LOOK 500

static bool may_all(const struct caller *caller)
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

#define OF_ADMINISTRATORS "Only an administrator may listen to this."

static const struct long_work {
    const char *event;
    const struct sql *sql; /* NULL = read with the log of changes (hub_audit.c) */
    int64_t recent;
    bool (*may)(const struct caller *caller);
    const char *needs;
} kinds[HUB_WORKS] = {
    [HUB_JOBS] = {"job",
                  &SQL_REALTIME_JOBS,
                  RECENT,
                  may_workflows,
                  "This needs the permission svc_workflows:read."},
    [HUB_TASKS] = {"task", &SQL_REALTIME_TASKS, RECENT, may_all, ""},
    [HUB_SENDS] = {"send", &SQL_REALTIME_SENDS, RECENT, caller_is_admin, OF_ADMINISTRATORS},
    [HUB_INDEXES] = {"index", &SQL_REALTIME_INDEXES, RECENT, caller_is_admin, OF_ADMINISTRATORS},
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

bool hub_work_may(const struct caller *caller, enum hub_work work)
{
    return kinds[work].may(caller);
}

const char *hub_work_needs(enum hub_work work)
{
    return kinds[work].needs;
}

/* --- listeners --- */

static bool listens_to(const struct list *listeners, enum hub_work work)
{
    LIST_FOR (link, listeners) {
        const struct hub_listener *listener = LIST_ITEM(link, struct hub_listener, link);
        if (!listener->gone && (listener->work & 1U << work))
            return true;
    }
    return false;
}

AWAITS static void send_work(const struct hub_round *round,
                             enum hub_work work,
                             const struct sql_realtime_work_row *row)
{
    struct http_piece *piece = http_piece_new(arena_printf(
        round->task->arena, "event: %s\ndata: %.*s\n\n", kinds[work].event, STR_ARG(row->doc)));

    LIST_FOR (link, &round->hub->now.listeners) {
        struct hub_listener *listener = LIST_ITEM(link, struct hub_listener, link);
        const struct caller *caller = &listener->caller;
        bool own = row->owner_id == 0 || row->owner_id == caller->user_id;
        if (listener->gone || !(listener->work & 1U << work))
            continue;
        task_pause_if_due(round->task);
        if (caller_is_admin(caller) || (own && !row->hidden))
            http_feed_send(&listener->feed, piece);
    }
    http_piece_unref(piece);
}

/* --- changed rows --- */

static const struct hub_state *known_state(const struct hub_states *states, int64_t id)
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
compare(const struct hub_round *round, enum hub_work work, const struct rows *rows)
{
    struct hub_states *was = &round->hub->works[work];
    struct hub_states is = {.arena = arena_new(0), .begun = true};

    is.items = ARENA_ARRAY(is.arena, is.items, rows->count);
    for (size_t i = 0; i < rows->count; i++) {
        const struct sql_realtime_work_row row = sql_realtime_work_row(rows, i);
        const struct hub_state *known = known_state(was, row.id);
        const struct hub_state state = {row.id, str_hash(row.doc), row.ended};
        if (was->begun && (!known || known->hash != state.hash))
            send_work(round, work, &row);
        is.items[is.count++] = state;
    }
    arena_free(was->arena);
    *was = is;
}

AWAITS static int hub_work_look(const struct hub_round *round, enum hub_work work)
{
    const struct hub_states *states = &round->hub->works[work];
    int64_t *ids = ARENA_ARRAY(round->task->arena, ids, states->count);
    size_t count = 0;
    struct rows rows;

    for (size_t i = states->count; i-- > 0 && count < WATCHED;)
        if (!states->items[i].ended)
            ids[count++] = states->items[i].id;
    TRY(db_query(round->task,
                 &round->project->db,
                 kinds[work].sql,
                 SQL_REALTIME_WORK_ARGS(.recent = states->begun ? kinds[work].recent : FIRST_LOOK,
                                        .ids = sql_i64s(ids, count)),
                 &rows));
    compare(round, work, &rows);
    return 0;
}

void hub_work_forget(struct hub *hub)
{
    for (int work = 0; work < HUB_WORKS; work++) {
        arena_free(hub->works[work].arena);
        hub->works[work] = (struct hub_states){0};
    }
}

int hub_work(const struct hub_round *round)
{
    struct hub *hub = round->hub;
    int64_t now_ms = clock_mono_ms();

    if (now_ms < hub->work_due_ms)
        return 0;
    hub->work_due_ms = INT64_MAX;
    for (int work = 0; work < HUB_WORKS; work++) {
        if (!listens_to(&hub->now.listeners, (enum hub_work)work) &&
            !listens_to(&hub->arriving, (enum hub_work)work)) {
            arena_free(hub->works[work].arena);
            hub->works[work] = (struct hub_states){0};
            continue;
        }
        hub->work_due_ms = now_ms + WORK_MS;
        if (kinds[work].sql)
            TRY(hub_work_look(round, (enum hub_work)work));
    }
    return 0;
}
