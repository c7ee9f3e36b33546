#pragma once
/*
 * Delivers events of the processor to a project in any order, as the payments service does: each
 * event is stored, applied and marked in one transaction. An event that had to wait is put back
 * into the queue, an event that was too early is delivered again.
 */
#include "json/jr.h"
#include "orders.h"
#include "payments/apply.h"
#include "project_test.h"

#define AT        1760000000LL /* seconds: when the stories begin */
#define STORY_MAX ORDERS_ITEMS_MAX
#define REPEATED  5 /* one of this many orders is applied twice */

struct world_of_payments {
    struct task *task;
    struct project *project;
    struct payment_settings settings;
    unsigned again, orders;
};

static const char *const listened[] = {"PaymentCreated",
                                       "PaymentSucceeded",
                                       "PaymentFailed",
                                       "SubscriptionCreated",
                                       "SubscriptionActivated",
                                       "SubscriptionExpired",
                                       "PaymentMethodCaptured",
                                       "PaymentMethodCaptureFailed",
                                       "PaymentMethodRemoved"};

static void listen_to_all(struct world_of_payments *world)
{
    for (size_t i = 0; i < ARRAY_LEN(listened); i++)
        exec(world->task,
             &world->project->db,
             arena_printf(world->task->arena,
                          "insert into {p}.workflows (name, trigger_kind, event, editor_id) "
                          "values ('w', 'event', '%s', 1)",
                          listened[i])
                 .ptr);
}

/* Deletes everything in the project but the project itself. */
static void wipe(struct world_of_payments *world)
{
    exec(world->task,
         &world->project->db,
         "with a as (delete from {p}.payments), b as (delete from {p}.subscription_history), "
         "c as (delete from {p}.subscriptions), d as (delete from {p}.payment_methods), "
         "e as (delete from {p}.payment_customers), f as (delete from {p}.subscription_plans), "
         "g as (delete from {p}.webhook_events) delete from {p}.outbox");
}

/* The worlds of a program share one project, because creating a project takes long. */
static void world_begin(struct world_of_payments *world,
                        struct task *task,
                        struct directory *directory,
                        const char *slug)
{
    *world = (struct world_of_payments){.task = task};
    int rc = project_find(task, directory, str_from(slug), &world->project);
    if (rc == 0)
        return;
    assert_int_equal(rc, PROJECT_NOT_FOUND);
    world->project = create(task, directory, slug);
    listen_to_all(world);
}

/* Leaves nothing that the next world could find. */
static void world_end(struct world_of_payments *world)
{
    wipe(world);
    exec(world->task, &world->project->db, "delete from {p}.settings where kind = 'payments'");
}

UNUSED static struct str text(struct world_of_payments *world, const char *sql)
{
    struct sql query = make_sql(sql, SQL_ONE);
    struct rows rows;

    if (db_query(world->task, &world->project->db, &query, NULL, 0, &rows) != 0)
        fail_msg("%s: %.*s", sql, STR_ARG(db_error(world->task)->message));
    return rows_str(&rows, 0, 0);
}

/* --- one event --- */

static const struct sql mark = {
    .name = "test.mark",
    .text =
        "insert into {p}.webhook_events as w (source, event_id, type, created_at, payload, state, "
        "object, effect, next_attempt_at) values ('processor', $1::text, 'x', now(), $2::text, "
        "$3::text, $4::text, $5::text, null) on conflict (source, event_id) do update set state "
        "= excluded.state, object = excluded.object, effect = excluded.effect",
    .hash = 4711,
    .arity = 5,
    .kind = SQL_EXEC,
    .writes = true,
};

static int attempt(struct apply_source *source,
                   struct apply_plan *plan,
                   struct str event,
                   struct applied *applied)
{
    struct task *task = source->task;
    struct db *tx;

    TRY(db_begin(task, &source->project->db, &tx));
    int rc = apply_event(source, tx, plan, applied);
    if (rc == 0) {
        struct db_call call = {
            .sql = &mark,
            PARAMS(P_STR(source->event_id),
                   P_STR(event),
                   P_CSTR(applied->waits ? "ignored" : "applied"),
                   P_STR(applied->object),
                   P_STR(applied->effect)),
        };
        return apply_commit(source, tx, applied, &call, 1);
    }
    db_rollback(tx);
    return rc;
}

/* Applies one event in an arena of its own, because there are thousands of events. Returns the
 * result of apply_event(). */
static int deliver_one(struct world_of_payments *world, struct str event, struct applied *ret)
{
    struct task *task = world->task;
    struct arena *arena = task->arena;
    struct apply_source source = {
        .task = task, .project = world->project, .settings = &world->settings};
    struct apply_plan plan = {.needs_reading = false};
    struct jr_error error;
    json_t *json;

    task->arena = arena_new(0);
    if (jr_parse(task->arena, event, &json, &error) != 0)
        fail_msg("%s in %.*s", error.text, STR_ARG(event));
    int rc = apply_prepare(&source, json, &plan);
    if (rc == 0)
        rc = attempt(&source, &plan, event, ret);
    ret->object = arena_dup(arena, ret->object);
    ret->effect = arena_dup(arena, ret->effect);
    struct arena *own = task->arena;
    task->arena = arena;
    arena_free(own);
    return rc;
}

/* Delivers the events that were put back into the queue. */
static void deliver_woken(struct world_of_payments *world)
{
    struct sql query = make_sql("select payload from {p}.webhook_events where state = 'received' "
                                "order by id desc",
                                SQL_MANY);
    struct applied applied;
    struct rows rows;

    assert_int_equal(db_query(world->task, &world->project->db, &query, NULL, 0, &rows), 0);
    for (size_t i = 0; i < rows.count; i++)
        assert_int_equal(deliver_one(world, rows_str(&rows, i, 0), &applied), 0);
}

/* Delivers an event and those that it woke; returns 0 or APPLY_LATER. */
static int deliver(struct world_of_payments *world, struct str event)
{
    struct applied applied = {.waits = false};
    int rc = deliver_one(world, event, &applied);

    if (rc == 0 && applied.woke_events)
        deliver_woken(world);
    if (rc != 0 && rc != APPLY_LATER)
        fail_msg("%d for %.*s: %.*s", rc, STR_ARG(event), STR_ARG(db_error(world->task)->message));
    return rc;
}

/* --- a story --- */

/* Delivers in this order. Events that are too early are delivered again after each later one. */
static void deliver_all(struct world_of_payments *world, const struct str *events, size_t count)
{
    bool early[STORY_MAX] = {false};

    for (size_t i = 0; i < count; i++) {
        early[i] = deliver(world, events[i]) == APPLY_LATER;
        world->again += early[i];
        for (size_t j = 0; j < i; j++)
            early[j] = early[j] && deliver(world, events[j]) == APPLY_LATER;
    }
    for (size_t j = 0; j < count; j++)
        assert_false(early[j]);
}

/* Returns the state that a story leaves, without columns that count rows or depend on the time of
 * the run. */
static struct str state_of(struct world_of_payments *world)
{
    return text(
        world,
        "select concat_ws(E'\\n', "
        "(select string_agg((to_jsonb(p) - '{id,created_at,updated_at,settle_at,emitted,"
        "subscription_id}'::text[] || jsonb_build_object('of', s.provider_subscription_id))::text, "
        "E'\\n' order by p.intent_id, p.invoice_payment_id, p.session_id) from {p}.payments p left "
        "join {p}.subscriptions s on s.id = p.subscription_id), "
        "(select string_agg((to_jsonb(s) - '{id,created_at,updated_at,settle_at,emitted,plan_id}'"
        "::text[])::text, E'\\n' order by s.provider_subscription_id) from {p}.subscriptions s), "
        "(select string_agg((to_jsonb(h) - '{id,subscription_id}'::text[])::text, E'\\n' order by "
        "h.event_id) from {p}.subscription_history h), "
        "(select string_agg((to_jsonb(m) - '{id,created_at,updated_at,emitted}'::text[])::text, "
        "E'\\n' order by m.provider_id, m.setup_id) from {p}.payment_methods m))");
}

static int64_t emitted(struct world_of_payments *world, const char *event)
{
    return number(world->task,
                  &world->project->db,
                  arena_printf(world->task->arena,
                               "select count(*) from {p}.outbox where event = '%s'",
                               event)
                      .ptr);
}

struct story {
    void (*begin)(struct world_of_payments *world); /* inserts our own rows; may be NULL */
    struct str events[STORY_MAX];
    size_t count;
    const char *once; /* an event that is emitted exactly once; NULL = none is */
};

/* Delivers the events again, last first, and asserts that nothing changes. */
static void check_repeated(struct world_of_payments *world,
                           const struct str *events,
                           size_t count,
                           struct str before)
{
    for (size_t i = count; i > 0; i--)
        assert_int_equal(deliver(world, events[i - 1]), 0);
    struct str after = state_of(world);
    if (!str_eq(after, before))
        fail_msg("repeated:\n%.*s\nwas\n%.*s", STR_ARG(after), STR_ARG(before));
}

static void check_order(struct world_of_payments *world,
                        const struct story *story,
                        const size_t *order,
                        struct str *state)
{
    struct arena *arena = world->task->arena;
    struct str events[STORY_MAX];

    world->task->arena = arena_new(0);
    wipe(world);
    if (story->begin != NULL)
        story->begin(world);
    for (size_t i = 0; i < story->count; i++)
        events[i] = story->events[order[i]];
    deliver_all(world, events, story->count);
    struct str after = state_of(world);
    if (world->orders++ % REPEATED == 0)
        check_repeated(world, events, story->count, after);
    if (state->ptr == NULL)
        *state = arena_dup(arena, after);
    if (!str_eq(*state, after)) {
        for (size_t i = 0; i < story->count; i++)
            print_error("%.*s\n", STR_ARG(events[i]));
        fail_msg("in this order:\n%.*s\nelse\n%.*s", STR_ARG(after), STR_ARG(*state));
    }
    if (story->once != NULL)
        assert_int_equal(emitted(world, story->once), 1);
    struct arena *own = world->task->arena;
    world->task->arena = arena;
    arena_free(own);
}

/* Tries the orders of a story (orders.h); returns the state that all of them lead to. */
UNUSED static struct str check_orders(struct world_of_payments *world, const struct story *story)
{
    struct orders orders = orders_begin(story->count);
    struct str state = STR_NONE;

    do
        check_order(world, story, orders.order, &state);
    while (orders_next(&orders));
    return state;
}

/* An event `seconds` into the story; `object` is JSON. */
UNUSED PRINTF_LIKE(5, 6) static struct str event(struct world_of_payments *world,
                                                 const char *id,
                                                 const char *type,
                                                 int seconds,
                                                 const char *object,
                                                 ...)
{
    va_list args;

    va_start(args, object);
    struct str inner = arena_vprintf(world->task->arena, object, args);
    va_end(args);
    return arena_printf(world->task->arena,
                        "{\"id\": \"%s\", \"object\": \"event\", \"type\": \"%s\", \"created\": "
                        "%lld, \"data\": {\"object\": %.*s}}",
                        id,
                        type,
                        AT + seconds,
                        STR_ARG(inner));
}
