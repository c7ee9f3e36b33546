/* workflow-runner: turns events, ticks and calls into jobs and runs them. */
#include "app.h"

#include <unistd.h>

#include "app/metrics.h"
#include "base/clock.h"
#include "base/panic.h"
#include "base/rand.h"
#include "bus/bus.h"
#include "fetch/mail.h"
#include "hear.h"
#include "schedule.h"
#include "script_pool.h"
#include "sweep.h"
#include "work.h"

/* clang-format off: the list must follow its macros */
#include "conf/conf_items.h"
/* clang-format on */

#define HOST_BYTES 64
#define MEGABYTE   (1024 * 1024)
#define ID_BYTES   128

static char id[ID_BYTES];

const struct app_conf *runner_conf(void)
{
    return (const struct app_conf *)(const void *)daemon_app()->conf;
}

struct directory *runner_directory(void)
{
    return daemon_app()->directory;
}

struct bus *runner_bus(void)
{
    return daemon_app()->bus;
}

struct str runner_id(void)
{
    return str_from(id);
}

static void name_process(void)
{
    char host[HOST_BYTES] = "runner";
    uint8_t salt[4];

    (void)gethostname(host, sizeof(host) - 1);
    rand_bytes(salt, sizeof(salt));
    (void)snprintf(id,
                   sizeof(id),
                   "%s:%d:%02x%02x%02x%02x",
                   host,
                   getpid(),
                   salt[0],
                   salt[1],
                   salt[2],
                   salt[3]);
}

/* --- metrics --- */

static struct {
    struct metric *claimed, *succeeded, *failed, *skipped, *lost, *released, *taken, *made,
        *rescued, *quarantined, *ticks, *running, *projects, *scripts;
} m;

static void prepare(const struct conf_common *conf UNUSED)
{
    m.claimed = metric_counter("groundwork_jobs_claimed_total", "", "Jobs claimed");
    m.succeeded =
        metric_counter("groundwork_jobs_ended_total", "status=\"succeeded\"", "Jobs ended");
    m.failed = metric_counter("groundwork_jobs_ended_total", "status=\"failed\"", "Jobs ended");
    m.skipped = metric_counter("groundwork_jobs_ended_total", "status=\"skipped\"", "Jobs ended");
    m.lost = metric_counter(
        "groundwork_jobs_lost_total", "", "Jobs that were cancelled or went to another runner");
    m.released =
        metric_counter("groundwork_jobs_released_total", "", "Jobs given back at a shutdown");
    m.taken = metric_counter("groundwork_events_taken_total", "", "Events taken out of the outbox");
    m.made = metric_counter("groundwork_jobs_made_total", "", "Jobs made of events");
    m.ticks = metric_counter("groundwork_jobs_ticked_total", "", "Jobs made by timed workflows");
    m.rescued = metric_counter(
        "groundwork_jobs_rescued_total", "", "Jobs taken from runners that fell silent");
    m.quarantined =
        metric_counter("groundwork_jobs_quarantined_total", "", "Jobs that ended too many runners");
    m.running = metric_gauge("groundwork_jobs_running", "", "Jobs running");
    m.projects = metric_gauge("groundwork_runner_projects", "", "Projects with work");
    m.scripts = metric_gauge("groundwork_script_processes", "", "Sandboxed processes alive");
}

static void measure(struct app *app UNUSED)
{
    const struct work_stats *stats = work_stats();

    metric_set(m.claimed, (int64_t)stats->claimed);
    metric_set(m.succeeded, (int64_t)stats->succeeded);
    metric_set(m.failed, (int64_t)stats->failed);
    metric_set(m.skipped, (int64_t)stats->skipped);
    metric_set(m.lost, (int64_t)stats->lost);
    metric_set(m.released, (int64_t)stats->released);
    metric_set(m.taken, (int64_t)stats->events_taken);
    metric_set(m.made, (int64_t)stats->jobs_made);
    metric_set(m.ticks, (int64_t)stats->ticks);
    metric_set(m.rescued, (int64_t)stats->rescued);
    metric_set(m.quarantined, (int64_t)stats->quarantined);
    metric_set(m.running, stats->running);
    metric_set(m.projects, (int64_t)stats->projects);
    struct script_pool_stats scripts;
    script_pool_stats(&scripts);
    metric_set(m.scripts, scripts.alive);
}

/* --- life --- */

static int start(struct task *task UNUSED, struct app *app UNUSED, struct str *ret_reason)
{
    const struct app_conf *conf = runner_conf();
    const struct script_pool_config scripts = {
        .program = conf->script_sandbox.ptr,
        .processes = (unsigned)conf->script_processes,
        .memory_bytes = conf->script_memory_mb * MEGABYTE,
    };

    if (conf->smtp_url.len && mail_server_check(conf->smtp_url) != 0) {
        *ret_reason = STR("GROUNDWORK_SMTP_URL must be smtp://[user:password@]host[:port], "
                          "smtps:// or smtp+plain://");
        return -1;
    }
    name_process();
    script_pool_init(&scripts);
    work_start();
    hear_start();
    sweep_start();
    schedule_start();
    log_info("runner.started", L_STR("runner", runner_id()));
    return 0;
}

static struct {
    loop_fn done;
    void *arg;
} ending;

static void on_work_drained(void *arg UNUSED)
{
    script_pool_drain();
    ending.done(ending.arg);
}

static void on_bus_stopped(void *arg UNUSED)
{
    work_drain(on_work_drained, NULL);
}

static void drain(struct app *app UNUSED, loop_fn done, void *arg)
{
    ending.done = done;
    ending.arg = arg;
    schedule_stop();
    sweep_stop();
    bus_stop(runner_bus(), on_bus_stopped, NULL);
}

static void stop(struct app *app UNUSED)
{
    work_stop();
}

static const struct daemon runner = {
    .name = "workflow-runner",
    .about = "turns events, ticks and calls into jobs and runs them",
    .conf = &app_conf_spec,
    .portless = true,
    .prepare = prepare,
    .start = start,
    .drain = drain,
    .stop = stop,
    .measure = measure,
};

int main(int argc, char **argv)
{
    return daemon_main(argc, argv, &runner);
}
