/* Reports code that held the loop for longer than 5 ms. */
#include "app/watch_private.h"

#include "log/log.h"
#include "loop/watch.h"
#include "metrics/metrics.h"

static struct metric *long_runs;

void watch_prepare(void)
{
    long_runs = metric_name_counters(
        "groundwork_long_runs_total",
        "task",
        "Runs that held the event loop for more than 5 ms without a wait, by task");
}

static const char *task_label(const struct task *task)
{
    if (task == NULL)
        return "callbacks";
    return task->log.route != NULL ? task->log.route : task->name;
}

static void on_long_run(const struct task *task, int64_t cpu_us)
{
    const char *name = task_label(task);

    metric_count_name(long_runs, name);
    log_context_set(task != NULL ? &task->log : NULL);
    log_warn("loop.long_run", L_CSTR("task", name), L_I64("us", cpu_us));
    log_context_set(NULL);
}

void watch_start(void)
{
    watch_on_long_run(on_long_run);
}
