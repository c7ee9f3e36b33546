/* payments-webhook: stores events of the payment processor and the app store, and applies them. */
#include "app.h"

#include "app/admission.h"
#include "app/request.h"
#include "app/scope.h"
#include "base/clock.h"
#include "base/panic.h"
#include "db/answer.h"
#include "event.h"
#include "http/server.h"
#include "log/log.h"
#include "loop/background.h"
#include "measure.h"
#include "payments/processor.h"
#include "payments/store.h"
#include "receive.h"
#include "work.h"

/* clang-format off: the list must follow its macros */
#include "conf/conf_items.h"
/* clang-format on */

#define OTHER_FILES 256 /* open files: database, Redis, outgoing requests, admin port */
#define LAST_CALL_MS                                                                               \
    2000 /* work that still runs this long before the end of the drain is cancelled */
#define PROCESSOR_RETRIES 2

static struct http_server *server;
static struct x5c_anchors *anchors;

const struct app_conf *webhook_conf(void)
{
    return (const struct app_conf *)(const void *)daemon_app()->conf;
}

struct directory *webhook_directory(void)
{
    return daemon_app()->directory;
}

struct bus *webhook_bus(void)
{
    return daemon_app()->bus;
}

/* --- life --- */

static const char *webhook_check(const struct conf_common *common)
{
    const struct app_conf *conf = (const struct app_conf *)(const void *)common;
    struct x5c_anchors *roots;

    if (store_anchors_load(conf->store_roots_file, &roots) != 0)
        return "GROUNDWORK_STORE_ROOTS_FILE must be a PEM file of root certificates";
    x5c_anchors_free(roots);
    return NULL;
}

static void prepare_webhook(const struct conf_common *common UNUSED)
{
    receive_prepare();
    event_prepare();
    webhook_measure_prepare();
}

static int start_payments(const struct app_conf *conf)
{
    if (store_anchors_load(conf->store_roots_file, &anchors) != 0)
        return -1;
    store_init(&(struct store_config){
        .anchors = anchors,
        .production_url = conf->store_url,
        .sandbox_url = conf->store_sandbox_url,
    });
    processor_init(&(struct processor_config){
        .base_url = conf->processor_url,
        .timeout_ms = conf->processor_timeout_ms,
        .retries = PROCESSOR_RETRIES,
    });
    return 0;
}

static int webhook_start(struct task *task UNUSED, struct app *app, struct str *ret_reason)
{
    const struct app_conf *conf = webhook_conf();
    struct http_config config = {
        .host = conf->common.host.ptr,
        .port = conf->common.port,
        .listen_fd = app->listen_fd,
        .limits = http_limits_default,
        .request_timeout_ms = conf->request_timeout_ms,
        .scope_bytes = sizeof(struct scope),
        .handle = receive_run,
        .finished = receive_finished,
        .problem = receive_problem,
        .is_proxy = peer_is_proxy,
        .show_shares = true,
    };

    config.limits.requests_max = (unsigned)conf->requests_max;
    config.unsent = db_answers_shares();
    admission_start(config.limits.requests_max, conf->event_bytes);
    config.limits.connections_max =
        http_connections_limit((unsigned)conf->connections_max, OTHER_FILES);
    const char *wrong = peer_set_trusted(&conf->trusted_proxies);
    if (wrong != NULL) {
        *ret_reason = str_from(wrong);
        return -1;
    }
    if (start_payments(conf) != 0) {
        *ret_reason =
            STR("the app store's root certificates cannot be read (GROUNDWORK_STORE_ROOTS_FILE)");
        return -1;
    }
    webhook_work_start();
    if (http_server_start(&config, &server) != 0) {
        *ret_reason = STR("the port cannot be used (GROUNDWORK_HOST, GROUNDWORK_PORT)");
        return -1;
    }
    log_info(
        "webhook.listening", L_I64("port", http_server_port(server)), L_I64("worker", app->worker));
    return 0;
}

/* The state of the drain. Requests end first, so that other processes are still notified of the
 * events that requests store. */
static struct {
    loop_fn done;
    void *arg;
    struct loop_timer last_call;
    int64_t last_call_ms; /* mono */
} ending;

/* Cancels the passes and statements that still run, such as a pass that waits for the processor.
 * The rows of a pass are due again when its claim has ended. */
static void on_last_call(void *arg UNUSED)
{
    background_cancel();
}

static void on_queues_drained(void *arg UNUSED)
{
    loop_timer_stop(&ending.last_call);
    ending.done(ending.arg);
}

static void on_requests_drained(void *arg UNUSED)
{
    webhook_work_end(ending.last_call_ms, on_queues_drained, NULL);
}

static void webhook_drain(struct app *app, loop_fn done, void *arg)
{
    int64_t timeout_ms = app->conf->drain_timeout_ms - LAST_CALL_MS;

    loop_timer_init(&ending.last_call, on_last_call, NULL);
    loop_timer_start(&ending.last_call, timeout_ms > 0 ? timeout_ms : 0);
    ending.last_call_ms = clock_mono_ms() + timeout_ms;
    ending.done = done;
    ending.arg = arg;
    webhook_work_stop_polling();
    http_server_drain(server, app->conf->drain_timeout_ms / 2, on_requests_drained, NULL);
}

static void webhook_stop(struct app *app UNUSED)
{
    http_server_stop(server);
    webhook_work_stop();
    x5c_anchors_free(anchors);
}

static const struct daemon payments_webhook = {
    .name = "payments-webhook",
    .about = "stores events of the payment processor and the app store, and applies them",
    .conf = &app_conf_spec,
    .check = webhook_check,
    .prepare = prepare_webhook,
    .start = webhook_start,
    .drain = webhook_drain,
    .stop = webhook_stop,
    .measure = webhook_measure,
};

int main(int argc, char **argv)
{
    return daemon_main(argc, argv, &payments_webhook);
}
