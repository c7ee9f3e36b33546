/*
 * Checks what listeners may still follow, when the project's epoch or model has changed and at
 * intervals. A listener whose credential is gone is dismissed. An entity that a listener may no
 * longer read is closed for it. A listener that may see other rows or fields than before receives a
 * reset.
 */
#include "areas/live/hub.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/num.h"
#include "realtime_sql.h"

#define CONCURRENT_MAX 32 /* rights that are read concurrently */

/* The check of one listener. */
struct rights_check {
    struct hub_subscriber *listener;
    const struct live_position *position; /* of its group */
    struct project *project;
    const struct rights *rights; /* held by the task; the listener's own when unchanged */
    int64_t rights_source;       /* as hub_subscriber.rights_source, but of now; 0 = unknown */
    int64_t members;             /* as hub_subscriber.group_members_hash, but of now */
    struct http_chunk *reset;    /* to be sent last; NULL = none */
    int rc;
};

struct rights_checks {
    struct rights_check *items;
    size_t count;
    struct rows sessions;
};

/* --- reading --- */

static void checks_add(struct rights_checks *checks,
                       struct list *listeners,
                       const struct live_position *position)
{
    LIST_FOR (link, listeners) {
        struct hub_subscriber *listener = LIST_ITEM(link, struct hub_subscriber, link);
        if (!listener->is_gone)
            checks->items[checks->count++] =
                (struct rights_check){.listener = listener, .position = position};
    }
}

static int order_by_user(const void *left, const void *right)
{
    const struct rights_check *a = left;
    const struct rights_check *b = right;
    int64_t one = a->listener->caller.user_id;
    int64_t other = b->listener->caller.user_id;

    return one < other ? -1 : one > other;
}

/* co: Finds the users whose rights are computed from the same rows as before, by one statement for
 * all listeners. They keep their rights. The rights of API keys are always read again. */
AWAITS static int checks_find_unchanged(const struct hub_round *round, struct rights_checks *checks)
{
    int64_t *ids = ARENA_ARRAY(round->task->arena, ids, checks->count);
    struct rows prints;
    size_t at = 0;

    if (checks->count > 1)
        qsort(checks->items, checks->count, sizeof(*checks->items), order_by_user);
    for (size_t i = 0; i < checks->count; i++)
        ids[i] = checks->items[i].listener->caller.user_id;
    TRY(db_query(round->task,
                 &round->project->db,
                 SQL_REALTIME_RIGHTS_SOURCES(.ids = sql_i64s(ids, checks->count)),
                 &prints));
    for (size_t i = 0; i < checks->count; i++) {
        struct rights_check *check = &checks->items[i];
        const struct caller *caller = &check->listener->caller;
        while (at < prints.count &&
               sql_realtime_rights_sources_row(&prints, at).id < caller->user_id)
            at++;
        if (at == prints.count || caller->key_id != 0 ||
            sql_realtime_rights_sources_row(&prints, at).id != caller->user_id)
            continue;
        check->rights_source = sql_realtime_rights_sources_row(&prints, at).print;
        if (check->rights_source != 0 && check->rights_source == check->listener->rights_source)
            check->rights = caller->rights;
    }
    return 0;
}

static int check_read_rights(struct task *task, void *arg)
{
    struct rights_check *check = arg;
    const struct caller *caller = &check->listener->caller;

    check->rc =
        project_rights(task, check->project, caller->user_id, caller->key_id, &check->rights);
    return check->rc == RIGHTS_NOT_FOUND ? 0 : check->rc;
}

AWAITS static int read_all_rights(const struct hub_round *round, struct rights_checks *checks)
{
    for (size_t i = 0; i < checks->count;) {
        struct task_call calls[CONCURRENT_MAX];
        size_t count = 0;
        for (; count < CONCURRENT_MAX && i < checks->count; i++) {
            struct rights_check *check = &checks->items[i];
            check->project = round->project;
            if (!check->rights)
                calls[count++] = (struct task_call){.fn = check_read_rights, .arg = check};
        }
        TRY(task_all(round->task, calls, count));
    }
    return 0;
}

AWAITS static int read_sessions(const struct hub_round *round, struct rights_checks *checks)
{
    int64_t *ids = ARENA_ARRAY(round->task->arena, ids, checks->count);

    for (size_t i = 0; i < checks->count; i++)
        ids[i] = checks->items[i].listener->caller.session_id;
    return db_query(round->task,
                    &round->project->db,
                    SQL_REALTIME_SESSIONS(.ids = sql_i64s(ids, checks->count)),
                    &checks->sessions);
}

static int64_t *
sorted_session_ids(struct arena *arena, const struct rights_checks *checks, size_t *ret_count)
{
    int64_t *ids = ARENA_ARRAY(arena, ids, checks->sessions.count);

    for (size_t i = 0; i < checks->sessions.count; i++)
        ids[i] = sql_realtime_sessions_row(&checks->sessions, i).id;
    *ret_count = num_sort_unique(ids, checks->sessions.count);
    return ids;
}

AWAITS static int
check_group_scope(const struct hub_round *round, struct rights_check *check, bool *ret)
{
    const struct caller *caller = &check->listener->caller;
    const struct rights *rights = check->rights;
    struct rows rows;

    *ret = true;
    if (caller->group_scope == 0)
        return 0;
    TRY(db_query(round->task,
                 &round->project->db,
                 SQL_REALTIME_GROUP(.id = caller->group_scope,
                                    .user_id = caller->user_id,
                                    .role_ids = sql_i64s(rights->role_ids, rights->role_count)),
                 &rows));
    if (rows.count > 0)
        check->members = sql_realtime_group_row(&rows, 0).members;
    bool member = rows.count > 0 && sql_realtime_group_row(&rows, 0).reachable;
    const struct caller now = {.kind = caller->kind, .rights = rights};
    *ret = caller_can(&now, PERM_SVC_GROUP_DATA_READ) && (member || rights->all_rows);
    return 0;
}

/* --- consequences --- */

static bool entity_has_known_shape(const struct hub *hub, const struct entity *entity)
{
    for (size_t i = 0; i < hub->entity_shape_count; i++)
        if (hub->entity_shapes[i].entity_id == entity->id)
            return hub->entity_shapes[i].shape == hub_entity_shape(entity);
    return true; /* not seen at an earlier check */
}

static void hub_store_shapes(const struct hub_round *round)
{
    struct hub *hub = round->hub;
    struct arena *arena = arena_new(0);

    hub->entity_shapes = ARENA_ARRAY(arena, hub->entity_shapes, round->model->entity_count);
    hub->entity_shape_count = round->model->entity_count;
    for (size_t i = 0; i < hub->entity_shape_count; i++)
        hub->entity_shapes[i] = (struct hub_shape){
            round->model->entities[i].id,
            hub_entity_shape(&round->model->entities[i]),
        };
    arena_free(hub->shapes_arena);
    hub->shapes_arena = arena;
}

/* Replaces the watch's test by one under the listener's present rights. Returns false when the
 * listener may no longer use the filter. */
static bool watch_update_test(const struct hub_round *round,
                              struct hub_subscriber *listener,
                              const struct entity *entity,
                              struct hub_watch *watch)
{
    struct hub_test *test = watch->test;
    struct records_ctx *ctx = ARENA_NEW(round->task->arena, ctx);

    if (!test)
        return true;
    *ctx = (struct records_ctx){
        .task = round->task,
        .directory = gateway_directory(),
        .project = round->project,
        .db = &round->project->db,
        .model = round->model,
        .caller = &listener->caller,
    };
    if (changes_check_filter(ctx, entity, &test->filter) != 0)
        return false;
    watch->test = hub_test_get(round->hub, &listener->caller, entity, &test->filter);
    hub_test_unref(test);
    return true;
}

/* A reset carries the listener's own position, because changes of other entities may still have to
 * be sent. An earlier reset is sent at once, with the old fingerprint. Only the last reset carries
 * the new fingerprint, because only then has the listener received all resets. */
static void check_add_reset(const struct hub_round *round,
                            struct rights_check *check,
                            const struct entity *entity,
                            const char *reason)
{
    struct arena *arena = round->task->arena;

    if (check->reset)
        hub_send(check->listener, check->reset);
    check->reset =
        hub_event_reset(arena, live_position_print(arena, check->position), entity, reason);
}

/* Checks one entity of a listener. Returns false when the entity is closed for the listener. */
static bool watch_update(const struct hub_round *round,
                         struct rights_check *check,
                         uint64_t visibility,
                         struct hub_watch *watch)
{
    struct arena *arena = round->task->arena;
    struct hub_subscriber *listener = check->listener;
    const struct entity *entity = model_entity_by_id(round->model, watch->entity_id);
    const struct hub_test *test = watch->test;

    if (entity && caller_has_api_access(&listener->caller) &&
        caller_can_entity(&listener->caller, entity->id, ACT_READ) &&
        watch_update_test(round, listener, entity, watch)) {
        if (!entity_has_known_shape(round->hub, entity))
            check_add_reset(round, check, entity, "model");
        else if (watch->test != test || visibility != hub_entity_visibility(listener, entity))
            check_add_reset(round, check, entity, "rights");
        return true;
    }
    if (entity)
        hub_send(listener, hub_event_closed(arena, entity->name, "forbidden"));
    hub_test_unref(watch->test);
    return false;
}

static uint64_t sight_of_watch(const struct hub_round *round,
                               const struct hub_subscriber *listener,
                               const struct hub_watch *watch)
{
    const struct entity *entity = model_entity_by_id(round->model, watch->entity_id);

    return entity ? hub_entity_visibility(listener, entity) : 0;
}

static void listener_update_rights(const struct hub_round *round,
                                   struct hub_subscriber *listener,
                                   struct rights_check *check)
{
    struct rights *was = (struct rights *)listener->caller.rights;
    uint64_t *sights = ARENA_ARRAY(round->task->arena, sights, listener->watch_count + 1);
    bool gone = listener->work == 0; /* none of its entities exists any longer */
    size_t kept_count = 0;

    for (size_t i = 0; i < listener->watch_count; i++)
        sights[i] = sight_of_watch(round, listener, &listener->watches[i]);
    listener->caller.rights = rights_ref((struct rights *)check->rights);
    listener->rights_source = check->rights_source;
    listener->group_members_hash = check->members;
    for (size_t i = 0; i < listener->watch_count; i++) {
        struct hub_watch watch = listener->watches[i];
        gone = gone && !model_entity_by_id(round->model, watch.entity_id);
        if (watch_update(round, check, sights[i], &watch))
            listener->watches[kept_count++] = watch;
    }
    for (int work = 0; work < HUB_WORKS; work++) {
        if (!(listener->work & 1U << work) ||
            hub_work_is_allowed(&listener->caller, (enum hub_work)work))
            continue;
        listener->work &= ~(1U << work);
        hub_send(listener,
                 hub_event_closed(round->task->arena, str_from(hub_work_names[work]), "forbidden"));
    }
    bool lost_all = kept_count == 0 && listener->work == 0;
    listener->watch_count = kept_count;
    rights_unref(was);
    hub_fingerprint_update(listener, round->model);
    if (check->reset)
        hub_send(listener, check->reset);
    if (lost_all)
        hub_dismiss(listener, round->task->arena, gone ? "not_found" : "forbidden");
}

AWAITS static int check_apply(const struct hub_round *round,
                              struct rights_check *check,
                              const int64_t *sessions,
                              size_t session_count)
{
    struct hub_subscriber *listener = check->listener;
    const struct caller *caller = &listener->caller;
    bool reachable = true;
    bool same_model = round->hub->model_version == round->model->version;

    bool alive = caller->key_id != 0 || (session_count > 0 && bsearch(&caller->session_id,
                                                                      sessions,
                                                                      session_count,
                                                                      sizeof(*sessions),
                                                                      num_compare_i64) != NULL);
    if (listener->is_gone)
        return 0;
    if (!alive || check->rc == RIGHTS_NOT_FOUND || !check->rights->active) {
        hub_dismiss(listener, round->task->arena, "unauthorized");
        return 0;
    }
    const struct caller now = {.kind = caller->kind, .rights = check->rights};
    TRY(check_group_scope(round, check, &reachable));
    if (!caller_can(&now, PERM_SVC_REALTIME_READ) || !reachable) {
        hub_dismiss(listener, round->task->arena, "forbidden");
        return 0;
    }
    if (check->rights != caller->rights || check->members != listener->group_members_hash ||
        !same_model)
        listener_update_rights(round, listener, check);
    return 0;
}

int hub_check_rights(const struct hub_round *round)
{
    struct hub *hub = round->hub;
    struct arena *arena = round->task->arena;
    int64_t epoch = round->project->epoch;
    int64_t checked_ms = clock_mono_ms();
    struct rights_checks checks = {.items = ARENA_ARRAY(arena, checks.items, hub->listeners)};
    size_t session_count;

    checks_add(&checks, &hub->current.listeners, &hub->current.position);
    checks_add(&checks, &hub->new_listeners, &hub->current.position);
    LIST_FOR (link, &hub->late_groups) {
        struct hub_group *group = LIST_ITEM(link, struct hub_group, link);
        checks_add(&checks, &group->listeners, &group->position);
    }
    TRY(read_sessions(round, &checks));
    TRY(checks_find_unchanged(round, &checks));
    TRY(read_all_rights(round, &checks));
    const int64_t *sessions = sorted_session_ids(arena, &checks, &session_count);
    for (size_t i = 0; i < checks.count; i++) {
        TRY(check_apply(round, &checks.items[i], sessions, session_count));
        TRY(task_yield_if_due(round->task));
    }
    hub_store_shapes(round);
    hub->epoch = epoch;
    hub->model_version = round->model->version;
    hub->rights_checked_ms = checked_ms;
    return 0;
}
