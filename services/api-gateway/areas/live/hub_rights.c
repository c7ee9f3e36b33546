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

#define AT_ONCE 32 /* rights that are read concurrently */

/* The check of one listener. */
struct look {
    struct hub_listener *listener;
    const struct live_position *position; /* of its group */
    struct project *project;
    const struct rights *rights; /* held by the task; the listener's own when unchanged */
    int64_t made_of;             /* as hub_listener.made_of, but of now; 0 = unknown */
    int64_t members;             /* as hub_listener.members, but of now */
    struct http_piece *reset;    /* to be sent last; NULL = none */
    int rc;
};

struct looks {
    struct look *items;
    size_t count;
    struct rows sessions;
};

/* --- reading --- */

static void
add_looks(struct looks *looks, struct list *listeners, const struct live_position *position)
{
    LIST_FOR (link, listeners) {
        struct hub_listener *listener = LIST_ITEM(link, struct hub_listener, link);
        if (!listener->gone)
            looks->items[looks->count++] =
                (struct look){.listener = listener, .position = position};
    }
}

static int order_by_user(const void *left, const void *right)
{
    const struct look *a = left;
    const struct look *b = right;
    int64_t one = a->listener->caller.user_id;
    int64_t other = b->listener->caller.user_id;

    return one < other ? -1 : one > other;
}

/* co: Finds the users whose rights are computed from the same rows as before, by one statement for
 * all listeners. They keep their rights. The rights of API keys are always read again. */
AWAITS static int find_unchanged(const struct hub_round *round, struct looks *looks)
{
    int64_t *ids = ARENA_ARRAY(round->task->arena, ids, looks->count);
    struct rows prints;
    size_t at = 0;

    if (looks->count > 1)
        qsort(looks->items, looks->count, sizeof(*looks->items), order_by_user);
    for (size_t i = 0; i < looks->count; i++)
        ids[i] = looks->items[i].listener->caller.user_id;
    TRY(db_query(round->task,
                 &round->project->db,
                 SQL_REALTIME_PRINTS(.ids = sql_i64s(ids, looks->count)),
                 &prints));
    for (size_t i = 0; i < looks->count; i++) {
        struct look *look = &looks->items[i];
        const struct caller *caller = &look->listener->caller;
        while (at < prints.count && sql_realtime_prints_row(&prints, at).id < caller->user_id)
            at++;
        if (at == prints.count || caller->key_id != 0 ||
            sql_realtime_prints_row(&prints, at).id != caller->user_id)
            continue;
        look->made_of = sql_realtime_prints_row(&prints, at).print;
        if (look->made_of != 0 && look->made_of == look->listener->made_of)
            look->rights = caller->rights;
    }
    return 0;
}

static int look_run(struct task *task, void *arg)
{
    struct look *look = arg;
    const struct caller *caller = &look->listener->caller;

    look->rc = project_rights(task, look->project, caller->user_id, caller->key_id, &look->rights);
    return look->rc == RIGHTS_GONE ? 0 : look->rc;
}

AWAITS static int read_all_rights(const struct hub_round *round, struct looks *looks)
{
    for (size_t i = 0; i < looks->count;) {
        struct task_call calls[AT_ONCE];
        size_t count = 0;
        for (; count < AT_ONCE && i < looks->count; i++) {
            struct look *look = &looks->items[i];
            look->project = round->project;
            if (!look->rights)
                calls[count++] = (struct task_call){.fn = look_run, .arg = look};
        }
        TRY(task_all(round->task, calls, count));
    }
    return 0;
}

AWAITS static int read_sessions(const struct hub_round *round, struct looks *looks)
{
    int64_t *ids = ARENA_ARRAY(round->task->arena, ids, looks->count);

    for (size_t i = 0; i < looks->count; i++)
        ids[i] = looks->items[i].listener->caller.session_id;
    return db_query(round->task,
                    &round->project->db,
                    SQL_REALTIME_SESSIONS(.ids = sql_i64s(ids, looks->count)),
                    &looks->sessions);
}

static int64_t *alive_sessions(struct arena *arena, const struct looks *looks, size_t *ret_count)
{
    int64_t *ids = ARENA_ARRAY(arena, ids, looks->sessions.count);

    for (size_t i = 0; i < looks->sessions.count; i++)
        ids[i] = sql_realtime_sessions_row(&looks->sessions, i).id;
    *ret_count = num_sort_once(ids, looks->sessions.count);
    return ids;
}

AWAITS static int is_reachable(const struct hub_round *round, struct look *look, bool *ret)
{
    const struct caller *caller = &look->listener->caller;
    const struct rights *rights = look->rights;
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
        look->members = sql_realtime_group_row(&rows, 0).members;
    bool member = rows.count > 0 && sql_realtime_group_row(&rows, 0).reachable;
    const struct caller now = {.kind = caller->kind, .rights = rights};
    *ret = caller_can(&now, PERM_SVC_GROUP_DATA_READ) && (member || rights->all_rows);
    return 0;
}

/* --- consequences --- */

static bool has_shape(const struct hub *hub, const struct entity *entity)
{
    for (size_t i = 0; i < hub->shape_count; i++)
        if (hub->shape[i].entity_id == entity->id)
            return hub->shape[i].shape == hub_shape_of(entity);
    return true; /* not seen at an earlier check */
}

static void keep_shapes(const struct hub_round *round)
{
    struct hub *hub = round->hub;
    struct arena *arena = arena_new(0);

    hub->shape = ARENA_ARRAY(arena, hub->shape, round->model->entity_count);
    hub->shape_count = round->model->entity_count;
    for (size_t i = 0; i < hub->shape_count; i++)
        hub->shape[i] = (struct hub_shape){
            round->model->entities[i].id,
            hub_shape_of(&round->model->entities[i]),
        };
    arena_free(hub->shapes);
    hub->shapes = arena;
}

/* Replaces the watch's test by one under the listener's present rights. Returns false when the
 * listener may no longer use the filter. */
static bool renew_test(const struct hub_round *round,
                       struct hub_listener *listener,
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
    if (changes_check(ctx, entity, &test->filter) != 0)
        return false;
    watch->test = hub_test_get(round->hub, &listener->caller, entity, &test->filter);
    hub_test_unref(test);
    return true;
}

/* A reset carries the listener's own position, because changes of other entities may still have to
 * be sent. An earlier reset is sent at once, with the old fingerprint. Only the last reset carries
 * the new one, because only then has the listener received all of them. */
static void tell_reset(const struct hub_round *round,
                       struct look *look,
                       const struct entity *entity,
                       const char *reason)
{
    struct arena *arena = round->task->arena;

    if (look->reset)
        hub_tell(look->listener, look->reset);
    look->reset =
        hub_event_reset(arena, live_position_print(arena, look->position), entity, reason);
}

/* Checks one entity of a listener. Returns false when the entity is closed for it. */
static bool renew_watch(const struct hub_round *round,
                        struct look *look,
                        uint64_t sight,
                        struct hub_watch *watch)
{
    struct arena *arena = round->task->arena;
    struct hub_listener *listener = look->listener;
    const struct entity *entity = model_entity_by_id(round->model, watch->entity_id);
    const struct hub_test *test = watch->test;

    if (entity && caller_api_access(&listener->caller) &&
        caller_can_entity(&listener->caller, entity->id, ACT_READ) &&
        renew_test(round, listener, entity, watch)) {
        if (!has_shape(round->hub, entity))
            tell_reset(round, look, entity, "model");
        else if (watch->test != test || sight != hub_sight_of(listener, entity))
            tell_reset(round, look, entity, "rights");
        return true;
    }
    if (entity)
        hub_tell(listener, hub_event_closed(arena, entity->name, "forbidden"));
    hub_test_unref(watch->test);
    return false;
}

static uint64_t sight_of_watch(const struct hub_round *round,
                               const struct hub_listener *listener,
                               const struct hub_watch *watch)
{
    const struct entity *entity = model_entity_by_id(round->model, watch->entity_id);

    return entity ? hub_sight_of(listener, entity) : 0;
}

static void renew(const struct hub_round *round, struct hub_listener *listener, struct look *look)
{
    struct rights *was = (struct rights *)listener->caller.rights;
    uint64_t *sights = ARENA_ARRAY(round->task->arena, sights, listener->watch_count + 1);
    bool gone = listener->work == 0; /* none of its entities exists any longer */
    size_t kept = 0;

    for (size_t i = 0; i < listener->watch_count; i++)
        sights[i] = sight_of_watch(round, listener, &listener->watches[i]);
    listener->caller.rights = rights_ref((struct rights *)look->rights);
    listener->made_of = look->made_of;
    listener->members = look->members;
    for (size_t i = 0; i < listener->watch_count; i++) {
        struct hub_watch watch = listener->watches[i];
        gone = gone && !model_entity_by_id(round->model, watch.entity_id);
        if (renew_watch(round, look, sights[i], &watch))
            listener->watches[kept++] = watch;
    }
    for (int work = 0; work < HUB_WORKS; work++) {
        if (!(listener->work & 1U << work) || hub_work_may(&listener->caller, (enum hub_work)work))
            continue;
        listener->work &= ~(1U << work);
        hub_tell(listener,
                 hub_event_closed(round->task->arena, str_from(hub_work_names[work]), "forbidden"));
    }
    bool lost_all = kept == 0 && listener->work == 0;
    listener->watch_count = kept;
    rights_unref(was);
    hub_print_renew(listener, round->model);
    if (look->reset)
        hub_tell(listener, look->reset);
    if (lost_all)
        hub_dismiss(listener, round->task->arena, gone ? "not_found" : "forbidden");
}

AWAITS static int settle_look(const struct hub_round *round,
                              struct look *look,
                              const int64_t *sessions,
                              size_t session_count)
{
    struct hub_listener *listener = look->listener;
    const struct caller *caller = &listener->caller;
    bool reachable = true;
    bool same_model = round->hub->model_version == round->model->version;

    bool alive =
        caller->key_id != 0 ||
        (session_count > 0 &&
         bsearch(&caller->session_id, sessions, session_count, sizeof(*sessions), num_order_i64) !=
             NULL);
    if (listener->gone)
        return 0;
    if (!alive || look->rc == RIGHTS_GONE || !look->rights->active) {
        hub_dismiss(listener, round->task->arena, "unauthorized");
        return 0;
    }
    const struct caller now = {.kind = caller->kind, .rights = look->rights};
    TRY(is_reachable(round, look, &reachable));
    if (!caller_can(&now, PERM_SVC_REALTIME_READ) || !reachable) {
        hub_dismiss(listener, round->task->arena, "forbidden");
        return 0;
    }
    if (look->rights != caller->rights || look->members != listener->members || !same_model)
        renew(round, listener, look);
    return 0;
}

int hub_look(const struct hub_round *round)
{
    struct hub *hub = round->hub;
    struct arena *arena = round->task->arena;
    int64_t epoch = round->project->epoch;
    int64_t looked_ms = clock_mono_ms();
    struct looks looks = {.items = ARENA_ARRAY(arena, looks.items, hub->listeners)};
    size_t session_count;

    add_looks(&looks, &hub->now.listeners, &hub->now.position);
    add_looks(&looks, &hub->arriving, &hub->now.position);
    LIST_FOR (link, &hub->groups) {
        struct hub_group *group = LIST_ITEM(link, struct hub_group, link);
        add_looks(&looks, &group->listeners, &group->position);
    }
    TRY(read_sessions(round, &looks));
    TRY(find_unchanged(round, &looks));
    TRY(read_all_rights(round, &looks));
    const int64_t *sessions = alive_sessions(arena, &looks, &session_count);
    for (size_t i = 0; i < looks.count; i++) {
        TRY(settle_look(round, &looks.items[i], sessions, session_count));
        TRY(task_yield_if_due(round->task));
    }
    keep_shapes(round);
    hub->epoch = epoch;
    hub->model_version = round->model->version;
    hub->looked_ms = looked_ms;
    return 0;
}
