/*
 * Applies one event. If the event needs objects that the payment processor has, they are read from
 * its API before the transaction begins. The transaction first locks the event's row: even if this
 * process has lost its claim of the event to another process, only one of them applies the event.
 */
#include "event.h"

#include <errno.h>

#include "base/backoff.h"
#include "base/clock.h"
#include "base/panic.h"
#include "json/jr_off_thread.h"
#include "log/log.h"
#include "metrics/metrics.h"
#include "payments/apply.h"
#include "payments/store.h"
#include "project/events.h"
#include "project/project.h"
#include "webhook_work_sql.h"
#include "work.h"

/* How long an event that needs the processor is tried: as long as the processor repeats events. */
#define PROCESSOR_WAIT_MS (INT64_C(72) * 3600 * 1000)

static const double seconds_bounds[] = {
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 600, 3600};
static struct metric *latency;

void event_prepare(void)
{
    latency = metric_histogram("groundwork_webhooks_apply_seconds",
                               "",
                               "Time from an event's arrival to its application, seconds",
                               seconds_bounds,
                               ARRAY_LEN(seconds_bounds));
}

struct event_run {
    struct task *task;
    struct event *event;
    struct apply_source source;
    struct apply_plan plan;
    struct applied applied;
    json_t *json; /* NULL for an event of the app store */
};

/* --- in the transaction --- */

static struct db_call
event_done_call(struct arena *arena, const struct event_run *run, const char *state)
{
    const struct applied *applied = &run->applied;

    return db_call_new(arena,
                       SQL_EVENT_DONE(.id = run->event->item.id,
                                      .token = run->event->item.token,
                                      .state = str_from(state),
                                      .object = applied->object.len ? applied->object : STR_NONE,
                                      .effect = applied->effect.len ? applied->effect : STR_NONE));
}

AWAITS static int event_lock(struct event_run *run, struct db *tx)
{
    struct rows rows;

    TRY(db_query(run->task,
                 tx,
                 SQL_EVENT_LOCK(.id = run->event->item.id, .token = run->event->item.token),
                 &rows));
    return rows.count == 1 ? 0 : EVENT_LOST;
}

static const char *event_state_of_applied(const struct event_run *run)
{
    return run->applied.waits || run->applied.object.len == 0 ? "ignored" : "applied";
}

AWAITS static int event_apply_in_tx(struct task *task, struct db *tx, void *arg)
{
    struct event_run *run = arg;

    run->applied = (struct applied){.waits = false};
    TRY(event_lock(run, tx));
    if (run->event->is_from_store)
        TRY(store_apply(&run->source, tx, run->event->payload, &run->applied));
    else
        TRY(apply_event(&run->source, tx, &run->plan, &run->applied));
    struct db_call call = event_done_call(run->task->arena, run, event_state_of_applied(run));
    if (run->event->is_from_store)
        return db_batch_commit(task, tx, &call, 1, NULL);
    return apply_commit(&run->source, tx, &run->applied, &call, 1);
}

/* Prepares the event. If the event is foreign by the cached settings, checks again with the
 * settings that the database has now, because the cache may lack an account that was created a
 * moment ago. */
AWAITS static int event_plan(struct event_run *run)
{
    struct apply_source *source = &run->source;
    int rc = apply_prepare(source, run->json, &run->plan);

    if (rc != APPLY_OTHER_PROJECT)
        return rc;
    TRY(payment_settings_read(run->task, source->project, &source->project->db, &source->settings));
    return apply_prepare(source, run->json, &run->plan);
}

/* Applies the event. If its order relative to other events is unknown, reads the object from the
 * processor and applies the event once more. */
AWAITS static int event_apply_once_more(struct event_run *run)
{
    struct db *db = &run->source.project->db;

    if (!run->event->is_from_store)
        TRY(event_plan(run));
    int rc = db_transact(run->task, db, event_apply_in_tx, run);
    if (rc != APPLY_LATER || !run->plan.needs_reading)
        return rc;
    TRY(apply_prepare(&run->source, run->json, &run->plan));
    return db_transact(run->task, db, event_apply_in_tx, run);
}

/* --- the outcome --- */

/* Writes the state of an event that had no effect, and the reason. */
AWAITS static void
event_write_state(struct event_run *run, const char *state, const char *effect, uint64_t *counter)
{
    run->applied = (struct applied){.effect = str_from(effect)};
    struct db_call call = event_done_call(run->task->arena, run, state);
    int rc = db_query(
        run->task, &run->source.project->db, call.sql, call.params, call.param_count, NULL);

    if (rc == 0)
        (*counter)++;
}

static int64_t backoff_ms(int64_t attempts)
{
    struct backoff pause = {
        .first_ms = 2000, .most_ms = 3600000, .tries = (unsigned)(attempts - 1)};

    return backoff_next(&pause);
}

static const char *failure_reason(int rc)
{
    switch (rc) {
    case APPLY_MALFORMED:
        return "the object of the event is missing or malformed";
    case APPLY_LATER:
        return "an object that the event needs is missing, or the processor cannot be reached";
    case DB_CONFLICT:
    case DB_LOCKED:
        return "other transactions are changing the same rows";
    case DB_TIMEOUT:
    case -ETIMEDOUT:
        return "a time limit was exceeded";
    case DB_UNAVAILABLE:
    case DB_FULL:
        return "the database is not available";
    default:
        return "an internal error";
    }
}

static bool is_last_attempt(const struct event *event, int rc)
{
    if (rc == APPLY_LATER && clock_wall_ms() - event->received_ms < PROCESSOR_WAIT_MS)
        return false;
    return rc == APPLY_MALFORMED || event->item.token >= webhook_conf()->event_attempts;
}

AWAITS static void
event_write_failure(struct task *task, struct event *event, struct project *project, int rc)
{
    bool dead = is_last_attempt(event, rc);
    struct str reason = str_from(failure_reason(rc));

    log_warn(dead ? "webhook.dead" : "webhook.failed",
             L_I64("event", event->item.id),
             L_STR("type", event->type),
             L_I64("attempts", event->item.token),
             L_RESULT("rc", rc),
             L_AT(&task->site, rc),
             L_STR("reason", reason));
    /* The deadline of the task may have passed, but the failure must be recorded. */
    task->deadline_ms = clock_mono_ms() + 5000;
    int step = db_query(
        task,
        &project->db,
        SQL_EVENT_FAILED(.id = event->item.id,
                         .token = event->item.token,
                         .error = reason,
                         .again_ms = dead ? NO_I64 : some_i64(backoff_ms(event->item.token))),
        NULL);
    if (step != 0) /* the event is due again when its lease ends */
        return;
    webhook_work_stats()->failed += !dead;
    webhook_work_stats()->dead += dead;
}

AWAITS static void event_after_commit(struct event_run *run)
{
    struct event *event = run->event;
    struct project *project = run->source.project;
    bool ignored = run->applied.object.len == 0 || run->applied.waits;

    webhook_work_stats()->applied += !ignored;
    webhook_work_stats()->ignored += ignored;
    metric_observe(latency, (double)(clock_wall_ms() - event->received_ms) / 1000.0);
    if (run->applied.emitted)
        events_notify(webhook_directory(), project);
    if (run->applied.woke_events)
        queue_project_due(webhook_work_events(), event->item.db.schema);
    if (run->applied.touches_project)
        project_epoch_raise(run->task, webhook_directory(), project);
}

AWAITS static enum queue_outcome event_end(struct event_run *run, int rc)
{
    switch (rc) {
    case 0:
        event_after_commit(run);
        return QUEUE_DONE;
    case EVENT_LOST:
    case DB_UNKNOWN: /* if it was not applied, it is due again when its lease ends */
        return QUEUE_UNKNOWN;
    case APPLY_UNSUPPORTED:
        event_write_state(run,
                          "unsupported",
                          "nothing: event type not supported",
                          &webhook_work_stats()->unsupported);
        return QUEUE_DONE;
    case APPLY_OTHER_PROJECT:
        event_write_state(run,
                          "ignored",
                          "nothing: the event belongs to another account or project",
                          &webhook_work_stats()->ignored);
        return QUEUE_DONE;
    default:
        event_write_failure(run->task, run->event, run->source.project, rc);
        return QUEUE_DONE;
    }
}

void event_from_row(struct queue_item *item)
{
    struct event *event = CONTAINER_OF(item, struct event, item);
    const struct sql_event_row row = sql_event_row(&item->rows, 0);

    event->received_ms = row.received_at;
    event->is_from_store = str_is(row.source, "iap_store");
    event->event_id = row.event_id;
    event->type = row.type;
    event->payload = row.payload;
}

enum queue_outcome event_run(struct task *task, struct queue_item *item)
{
    struct event *event = CONTAINER_OF(item, struct event, item);
    struct event_run run = {.task = task, .event = event};
    struct project *project;
    struct jr_error error;

    int rc = project_find_number(task, webhook_directory(), event->item.db.schema, &project);
    if (rc != 0) /* the project is deleted, or the event is due again when its lease ends */
        return QUEUE_UNKNOWN;
    run.source = (struct apply_source){
        .task = task,
        .project = project,
        .event_id = event->event_id,
        .event_type = event->type,
        .at_ms = event->received_ms / 1000 * 1000, /* for an event without a time of its own */
    };
    task->log.project = project->slug;
    task->project = project->number;
    rc = payment_settings_get(task, project, &run.source.settings);
    if (rc == 0 && !event->is_from_store &&
        jr_parse_off_thread(task, task->arena, event->payload, false, &run.json, &error) != 0)
        rc = APPLY_MALFORMED;
    if (rc == 0)
        rc = event_apply_once_more(&run);
    return event_end(&run, rc);
}
