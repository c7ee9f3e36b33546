/* All metrics in one list: type, name, labels, help text and value of each. */
#include "measure.h"

#include "metrics/metrics.h"
#include "quotas.h"
#include "script_pool.h"
#include "work.h"

#define JOBS    "groundwork_jobs_"
#define SCRIPTS "groundwork_scripts_"

/* clang-format off: a metric a line */
#define METRICS(M)                                                                                 \
    M(counter, JOBS "claimed_total", "", "Jobs claimed", jobs->on_claimed)                         \
    M(counter, JOBS "ended_total", "status=\"succeeded\"", "Jobs ended", work->succeeded)          \
    M(counter, JOBS "ended_total", "status=\"failed\"", "Jobs ended", work->failed)                \
    M(counter, JOBS "ended_total", "status=\"skipped\"", "Jobs ended", work->skipped)              \
    M(counter,                                                                                     \
      JOBS "lost_total",                                                                           \
      "",                                                                                          \
      "Jobs that were cancelled or went to another runner",                                        \
      jobs->lost)                                                                                  \
    M(counter, JOBS "released_total", "", "Jobs released at a shutdown", jobs->released)           \
    M(counter, JOBS "made_total", "", "Jobs made from events", work->jobs_made)                    \
    M(counter, JOBS "ticked_total", "", "Jobs made by timed workflows", work->ticks)               \
    M(counter,                                                                                     \
      JOBS "rescued_total",                                                                        \
      "",                                                                                          \
      "Jobs taken from runners whose leases timed out",                                            \
      jobs->rescued)                                                                               \
    M(counter,                                                                                     \
      JOBS "quarantined_total",                                                                    \
      "",                                                                                          \
      "Jobs quarantined: too many of their runners crashed",                                       \
      jobs->quarantined)                                                                           \
    M(counter,                                                                                     \
      JOBS "guarded_total",                                                                        \
      "",                                                                                          \
      "Jobs not made because the limit of an event or of the queue was reached",                   \
      work->guarded)                                                                               \
    M(gauge, JOBS "running", "", "Jobs running", jobs->running)                                    \
    M(counter,                                                                                     \
      "groundwork_events_taken_total",                                                             \
      "",                                                                                          \
      "Events taken out of the outbox",                                                            \
      work->events_taken)                                                                          \
    M(gauge, "groundwork_runner_projects", "", "Projects with work", jobs->projects)               \
    M(counter, SCRIPTS "run_total", "", "Scripts run", scripts.runs)                               \
    M(counter,                                                                                     \
      SCRIPTS "failed_total",                                                                      \
      "",                                                                                          \
      "Scripts that failed, for any reason",                                                       \
      scripts.failures)                                                                            \
    M(counter, SCRIPTS "timed_out_total", "", "Scripts beyond the time limit", scripts.timeouts)   \
    M(counter, SCRIPTS "memory_total", "", "Scripts beyond the memory limit", scripts.memory)      \
    M(counter, SCRIPTS "crashed_total", "", "Scripts whose process crashed", scripts.crashes)      \
    M(gauge, SCRIPTS "running", "", "Scripts running", scripts.busy)                               \
    M(gauge, SCRIPTS "waiting", "", "Scripts that wait for a process", quotas_scripts.waiting)     \
    M(gauge, "groundwork_calls_running", "", "Requests of steps under way", quotas_calls.held)     \
    M(gauge, "groundwork_calls_waiting", "", "Requests of steps waiting", quotas_calls.waiting)    \
    M(gauge,                                                                                       \
      "groundwork_step_writes_waiting",                                                            \
      "",                                                                                          \
      "Steps that wait to write to an entity",                                                     \
      quotas_writes.waiting)                                                                       \
    M(gauge, "groundwork_script_processes", "", "Sandboxed processes alive", scripts.alive)
/* clang-format on */

#define ONE(type, name, labels, text, value) NULL,
static struct metric *metrics[] = {METRICS(ONE)};
#undef ONE

void runner_measure_prepare(const struct conf_common *conf UNUSED)
{
    struct metric **next = metrics;

#define REGISTER(type, name, labels, text, value) *next++ = metric_##type(name, labels, text);
    METRICS(REGISTER)
#undef REGISTER
    work_prepare();
}

void runner_measure(struct app *app UNUSED)
{
    const struct work_stats *work = work_stats();
    const struct queue_stats *jobs = queue_stats(work_jobs());
    struct script_pool_stats scripts;
    struct metric **next = metrics;

    script_pool_stats(&scripts);
#define SET(type, name, labels, text, value) metric_set(*next++, (int64_t)(value));
    METRICS(SET)
#undef SET
    queue_metrics_update();
}
