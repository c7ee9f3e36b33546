/* All metrics in one list: type, name, labels, help text and value of each. */
#include "measure.h"

#include "metrics/metrics.h"
#include "settle.h"
#include "work.h"

#define EVENTS  "groundwork_webhooks_"
#define APPLIED EVENTS "applied_total"

/* clang-format off: a metric a line */
#define METRICS(M)                                                                                 \
    M(counter, EVENTS "claimed_total", "", "Events claimed", events->on_claimed)                   \
    M(counter, APPLIED, "state=\"applied\"", "Events finished", work->applied)                     \
    M(counter, APPLIED, "state=\"ignored\"", "Events finished", work->ignored)                     \
    M(counter, APPLIED, "state=\"unsupported\"", "Events finished", work->unsupported)             \
    M(counter, EVENTS "failed_total", "", "Failed attempts to apply", work->failed)                \
    M(counter,                                                                                     \
      EVENTS "dead_total",                                                                         \
      "",                                                                                          \
      "Events whose state became dead",                                                            \
      work->dead + events->quarantined)                                                            \
    M(counter, EVENTS "lost_total", "", "Events taken by another process", events->lost)           \
    M(gauge, EVENTS "applying", "", "Events being applied", events->running)                       \
    M(gauge, EVENTS "projects", "", "Projects with events", events->projects)                      \
    M(gauge, EVENTS "backlog", "", "Events that wait", seen->backlog)                              \
    M(gauge, EVENTS "dead", "", "Dead events", seen->dead_events)                                  \
    M(gauge, EVENTS "oldest_due_ms", "", "Age of the oldest due event, ms", seen->oldest_ms)       \
    M(counter,                                                                                     \
      "groundwork_settled_total",                                                                  \
      "",                                                                                          \
      "Rows whose state was read from the processor",                                              \
      settle->handled)                                                                             \
    M(counter, "groundwork_settle_unknown_total", "", "Calls of unknown outcome", settle->given_up)
/* clang-format on */

#define METRIC_NULL(type, name, labels, text, value) NULL,
static struct metric *metrics[] = {METRICS(METRIC_NULL)};
#undef METRIC_NULL

void webhook_measure_prepare(void)
{
    struct metric **next = metrics;

#define REGISTER(type, name, labels, text, value) *next++ = metric_##type(name, labels, text);
    METRICS(REGISTER)
#undef REGISTER
    webhook_work_prepare();
}

void webhook_measure(struct app *app)
{
    static const struct webhook_work_stats nothing;
    const struct webhook_work_stats *work = webhook_work_stats();
    const struct queue_stats *events = queue_stats(webhook_work_events());
    /* Gauges are summed over the workers, which all see the same rows, so only one reports. */
    const struct webhook_work_stats *seen = app->worker == 0 ? work : &nothing;
    const struct settle_stats *settle = settle_stats();
    struct metric **next = metrics;

#define SET(type, name, labels, text, value) metric_set(*next++, (int64_t)(value));
    METRICS(SET)
#undef SET
    queue_metrics_update();
}
