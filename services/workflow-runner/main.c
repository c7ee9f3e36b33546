/* workflow-runner: turns events, ticks and calls into jobs and runs them. */
#include "app.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/panic.h"
#include "base/rand.h"
#include "bus/bus.h"
#include "fetch/mail.h"
#include "loop/background.h"
#include "measure.h"
#include "quotas.h"
#include "schedule.h"
#include "script_pool.h"
#include "tick_prefetch.h"
#include "work.h"

/* The runner has no public port. */
#define CONF_IGNORED "host", "port"
/* clang-format off: the list must follow its macros */
#include "conf/conf_items.h"
/* clang-format on */

#define HOST_BYTES 64
#define MEGABYTE   ((int64_t)1024 * 1024)
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

/* --- life --- */

static const char *runner_check(const struct conf_common *common)
{
    const struct app_conf *conf = (const struct app_conf *)(const void *)common;
    static char reason[PATH_MAX + 256];

    if (conf->smtp_url.len && mail_server_check(conf->smtp_url) != 0)
        return "GROUNDWORK_SMTP_URL must be smtp://[user:password@]host[:port], smtps:// or "
               "smtp+plain://";
    const char *program = script_pool_check(conf->script_sandbox.ptr);
    if (program == NULL)
        return NULL;
    (void)snprintf(reason,
                   sizeof(reason),
                   "the program for RunScript, %s (GROUNDWORK_SCRIPT_SANDBOX), cannot be run: %s",
                   program,
                   strerror(errno));
    return reason;
}

static int
runner_start(struct task *task UNUSED, struct app *app UNUSED, struct str *ret_reason UNUSED)
{
    const struct app_conf *conf = runner_conf();
    const struct script_pool_config scripts = {
        .program = conf->script_sandbox.ptr,
        .processes = (unsigned)conf->script_processes,
        .memory_bytes = conf->script_memory_mb * MEGABYTE,
    };

    name_process();
    script_pool_init(&scripts);
    quotas_init();
    work_start();
    if (!work_is_isolated())
        schedule_start();
    log_info("runner.started", L_STR("runner", runner_id()));
    return 0;
}

static struct {
    loop_fn done;
    void *arg;
} ending;

static void on_work_ended(void *arg UNUSED)
{
    script_pool_drain();
    ending.done(ending.arg);
}

static void runner_on_work_drained(void *arg UNUSED)
{
    background_wait(on_work_ended, NULL);
}

static void runner_on_bus_stopped(void *arg UNUSED)
{
    work_drain(runner_on_work_drained, NULL);
}

static void runner_drain(struct app *app UNUSED, loop_fn done, void *arg)
{
    ending.done = done;
    ending.arg = arg;
    if (!work_is_isolated())
        schedule_stop();
    work_stop_polling();
    bus_stop(runner_bus(), runner_on_bus_stopped, NULL);
}

static void runner_stop(struct app *app UNUSED)
{
    if (!work_is_isolated())
        tick_prefetch_end();
    work_stop();
}

static const struct daemon runner = {
    .name = "workflow-runner",
    .about = "turns events, ticks and calls into jobs and runs them",
    .conf = &app_conf_spec,
    .portless = true,
    .extra_workers = 1,
    .check = runner_check,
    .prepare = runner_measure_prepare,
    .start = runner_start,
    .drain = runner_drain,
    .stop = runner_stop,
    .measure = runner_measure,
};

int main(int argc, char **argv)
{
    return daemon_main(argc, argv, &runner);
}
