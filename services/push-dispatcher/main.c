/* push-dispatcher: sends notifications to phones and browsers. */
#include "app.h"

#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/rand.h"
#include "fetch/fetch.h"
#include "measure.h"
#include "providers.h"
#include "work.h"

/* The dispatcher has no public port. */
#define CONF_IGNORED "host", "port"
/* clang-format off: the list must follow its macros */
#include "conf/conf_items.h"
/* clang-format on */

/* One project may use a quarter of the slots for one purpose, which is at least the largest
 * GROUNDWORK_FCM_REQUESTS. */
#define FETCH_SLOTS  2048
#define LAST_CALL_MS 2000 /* before the end of the drain */

const struct app_conf *dispatcher_conf(void)
{
    return (const struct app_conf *)(const void *)daemon_app()->conf;
}

struct directory *dispatcher_directory(void)
{
    return daemon_app()->directory;
}

struct bus *dispatcher_bus(void)
{
    return daemon_app()->bus;
}

/* --- life --- */

static const char *dispatcher_check(const struct conf_common *common)
{
    const struct app_conf *conf = (const struct app_conf *)(const void *)common;

    if (!str_starts(conf->fcm_url, STR("https://")) && !str_starts(conf->fcm_url, STR("http://")))
        return "GROUNDWORK_FCM_URL must be an http(s) URL";
    if (!str_starts(conf->fcm_token_url, STR("https://")) &&
        !str_starts(conf->fcm_token_url, STR("http://")))
        return "GROUNDWORK_FCM_TOKEN_URL must be an http(s) URL";
    return NULL;
}

static void dispatcher_prepare(const struct conf_common *common UNUSED)
{
    dispatcher_measure_prepare();
}

static int
dispatcher_start(struct task *task UNUSED, struct app *app, struct str *ret_reason UNUSED)
{
    dispatcher_work_start();
    log_info("dispatcher.started", L_I64("worker", app->worker));
    return 0;
}

static void dispatcher_drain(struct app *app, loop_fn done, void *arg)
{
    dispatcher_work_end(clock_mono_ms() + app->conf->drain_timeout_ms - LAST_CALL_MS, done, arg);
}

static void dispatcher_stop(struct app *app UNUSED)
{
    dispatcher_work_stop();
    providers_done();
}

static const struct daemon push_dispatcher = {
    .name = "push-dispatcher",
    .about = "sends notifications to phones and browsers",
    .conf = &app_conf_spec,
    .fetch_slots = FETCH_SLOTS,
    .portless = true,
    .check = dispatcher_check,
    .prepare = dispatcher_prepare,
    .start = dispatcher_start,
    .drain = dispatcher_drain,
    .stop = dispatcher_stop,
    .measure = dispatcher_measure,
};

int main(int argc, char **argv)
{
    return daemon_main(argc, argv, &push_dispatcher);
}
