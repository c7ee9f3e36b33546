/* One list: each metric's type, name, labels, meaning, and where its value stands. */
#include "measure.h"

#include "metrics/metrics.h"
#include "settle.h"
#include "sweep.h"
#include "work.h"

#define EVENTS  "groundwork_webhooks_"
#define APPLIED EVENTS "applied_total"

/* clang-format off: a metric a line */
#define METRICS(M)                                                                                 \
    M(counter, EVENTS "claimed_total", "", "Events claimed", work->claimed)                        \
    M(counter, APPLIED, "state=\"applied\"", "Events done with", work->applied)                    \
    M(counter, APPLIED, "state=\"ignored\"", "Events done with", work->ignored)                    \
    M(counter, APPLIED, "state=\"unsupported\"", "Events done with", work->unsupported)            \
    M(counter, EVENTS "failed_total", "", "Applications that failed", work->failed)                \
    M(counter, EVENTS "dead_total", "", "Events given up", work->dead)                             \
    M(counter, EVENTS "lost_total", "", "Events that went to another process", work->lost)         \
    M(gauge, EVENTS "applying", "", "Events being applied", work->running)                         \
    M(gauge, EVENTS "projects", "", "Projects with events", work->projects)                        \
    M(gauge, EVENTS "backlog", "", "Events that wait", sweep->backlog)                             \
    M(gauge, EVENTS "dead", "", "Dead events", sweep->dead)                                        \
    M(gauge, EVENTS "oldest_due_ms", "", "Age of the oldest due event, ms", sweep->oldest_ms)      \
    M(counter, "groundwork_settled_total", "", "Rows asked about", settle->asked)                  \
    M(counter, "groundwork_settle_unknown_total", "", "Calls of unknown outcome", settle->unknown)
/* clang-format on */

#define ONE(type, name, labels, text, value) NULL,
static struct metric *metrics[] = {METRICS(ONE)};
#undef ONE

void measure_prepare(void)
{
    struct metric **next = metrics;

#define REGISTER(type, name, labels, text, value) *next++ = metric_##type(name, labels, text);
    METRICS(REGISTER)
#undef REGISTER
}

void measure(struct app *app)
{
    static const struct sweep_stats nothing;
    const struct work_stats *work = work_stats();
    /* Gauges are summed over the workers, and each sees the same: one tells. */
    const struct sweep_stats *sweep = app->worker == 0 ? sweep_stats() : &nothing;
    const struct settle_stats *settle = settle_stats();
    struct metric **next = metrics;

#define SET(type, name, labels, text, value) metric_set(*next++, (int64_t)(value));
    METRICS(SET)
#undef SET
}
