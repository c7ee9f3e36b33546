/* Connects events and settlements with the queue. */
#include "work.h"

#include <limits.h>

#include "base/panic.h"
#include "event.h"
#include "settle.h"
#include "webhook_sweep_sql.h"
#include "webhook_work_sql.h"

#define EVENTS_PREFETCH 64 /* prefetched per project: a claim costs as much as an event */

struct sweep_counters {
    int64_t backlog, oldest_ms, dead;
};

static struct {
    struct queue *events, *settlements;
    struct webhook_work_stats stats;
    struct sweep_counters sweep; /* counts of the sweep that is under way */
} w;

struct webhook_work_stats *webhook_work_stats(void)
{
    return &w.stats;
}

struct queue *webhook_work_events(void)
{
    return w.events;
}

struct queue *work_settlements(void)
{
    return w.settlements;
}

/* --- work that a sweep finds in addition to events --- */

AWAITS static int events_polled(struct task *task UNUSED,
                                struct db *db,
                                const struct rows *projects UNUSED,
                                size_t project UNUSED,
                                const struct rows *found)
{
    const struct sql_pay_sweep_look_row row = sql_pay_sweep_look_row(found, 0);

    w.sweep.backlog += row.backlog;
    w.sweep.dead += row.dead;
    if (row.oldest_ms > w.sweep.oldest_ms)
        w.sweep.oldest_ms = row.oldest_ms;
    if (row.settle)
        queue_project_due(w.settlements, db->schema);
    return 0;
}

static void sweep_ended(void)
{
    w.stats.backlog = w.sweep.backlog;
    w.stats.oldest_ms = w.sweep.oldest_ms;
    w.stats.dead_events = w.sweep.dead;
    w.sweep = (struct sweep_counters){.backlog = 0};
}

/* --- the tables --- */

static const struct sql *const retain_statements[] = {
    &SQL_RETAIN_APPLIED,
    &SQL_RETAIN_IGNORED,
    &SQL_RETAIN_UNSUPPORTED,
    &SQL_RETAIN_IDEMPOTENCY_KEYS,
    NULL,
};

static const struct queue_kind events = {
    .name = "webhook_events",
    .size = sizeof(struct event),
    .read = event_from_row,
    .run = event_run,
    .claim = &SQL_EVENTS_CLAIM,
    .claim_crashed = &SQL_EVENTS_CLAIM_CRASHED,
    .release = &SQL_EVENTS_RELEASE,
    .rescue = &SQL_EVENTS_QUARANTINE,
    .prefetch = EVENTS_PREFETCH,
    .projects = &SQL_PAY_SWEEP_PROJECTS,
    .poll = &SQL_PAY_SWEEP_LOOK,
    .on_polled = events_polled,
    .on_swept = sweep_ended,
    .retain = retain_statements,
    .topic = BUS_PAY,
    .group = "payments-webhook",
    .message = "payment.received",
};

static const struct queue_kind settlements = {
    .name = "settlements",
    .pass = settle_pass,
    .pass_ms = SETTLE_PASS_MS,
};

/* --- life --- */

void webhook_work_prepare(void)
{
    queue_prepare(&events);
    queue_prepare(&settlements);
}

void webhook_work_start(void)
{
    const struct app_conf *conf = webhook_conf();
    struct queue_config config = {
        .directory = webhook_directory(),
        .bus = webhook_bus(),
        .slots = (unsigned)conf->apply_slots,
        .lease_ms = conf->lease_ms,
        .sweep_ms = conf->sweep_ms,
        .attempts = conf->event_attempts,
        .retain_days = conf->event_retention_days,
        .retain_every_ms = conf->retain_ms,
    };

    w.events = queue_start(&events, &config);
    config.slots = UINT_MAX; /* passes wait for the processor most of the time */
    w.settlements = queue_start(&settlements, &config);
}

void webhook_work_stop_polling(void)
{
    queue_stop_sweeps(w.events);
    queue_stop_sweeps(w.settlements);
}

void webhook_work_end(int64_t last_call_mono_ms, loop_fn done, void *arg)
{
    queues_end(webhook_bus(),
               (struct queue *const[]){w.events, w.settlements},
               2,
               last_call_mono_ms,
               done,
               arg);
}

void webhook_work_stop(void)
{
    queue_stop(w.settlements);
    queue_stop(w.events);
    w.events = w.settlements = NULL;
}
