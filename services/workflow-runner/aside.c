/* The worker for suspects, and how it hears of them. */
#include "aside.h"

#include "app.h"
#include "log/log.h"
#include "loop/background.h"
#include "loop/loop.h"
#include "runner_sweep_sql.h"
#include "work.h"

#define LOOK_LIMIT_MS 10000

static struct {
    struct loop_timer timer;
    bool stopped;
} s;

bool aside(void)
{
    return daemon_app()->worker >= (unsigned)runner_conf()->common.workers;
}

int aside_tell(struct task *task, int64_t number)
{
    return db_query(task,
                    directory_control(runner_directory()),
                    &SQL_SUSPECTS_TELL,
                    PARAMS(P_I64(number)),
                    NULL);
}

static void look(struct task *task, void *arg UNUSED)
{
    struct rows projects;

    int rc = db_query(
        task, directory_control(runner_directory()), &SQL_SUSPECTS_TAKE, NULL, 0, &projects);
    if (rc != 0)
        log_debug("aside.failed", L_I64("rc", rc));
    for (size_t i = 0; rc == 0 && i < projects.count; i++)
        work_jobs_due(rows_i64(&projects, i, 0));
    if (!s.stopped)
        loop_timer_start(&s.timer, runner_conf()->sweep_ms);
}

static void on_timer(void *arg UNUSED)
{
    background_run(LOOK_LIMIT_MS, look, NULL);
}

void aside_start(void)
{
    loop_timer_init(&s.timer, on_timer, NULL);
    loop_timer_start(&s.timer, 0);
}

void aside_stop(void)
{
    s.stopped = true;
    loop_timer_stop(&s.timer);
}
