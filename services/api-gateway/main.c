/* api-gateway: the REST API of all projects. */
#include "app.h"

#include <stdio.h>

#include "app/admission.h"
#include "base/panic.h"
#include "db/answer.h"
#include "dns/dns.h"
#include "fetch/fetch.h"
#include "files/collect.h"
#include "files/ledger.h"
#include "files/media.h"
#include "http/router.h"
#include "http/server.h"
#include "live/live.h"
#include "loop/background.h"
#include "metrics/metrics.h"
#include "payments/processor.h"
#include "payments/store.h"
#include "project/project_settings.h"
#include "project/upkeep.h"
#include "routes_list.h"
#include "stages/inner.h"
#include "stages/stages.h"

/* clang-format off: the list must follow its macros */
#include "conf/conf_items.h"
/* clang-format on */

/* Open files reserved for the database, Redis, outgoing requests and the admin port. */
#define OTHER_FILES 512
/* A call to the processor is made at most three times. */
#define PROCESSOR_RETRIES 2
/* Most bytes of answers that arrive at once: issuers and the processor send short answers. */
#define FETCH_BYTES ((uint64_t)8 << 20)
/* Port of the payments service when its address is not configured. */
#define PAYMENTS_PORT 8081

struct router *gateway_router;
static struct http_server *server;
static struct str operator_token;
static struct str public_url;
static struct str payments_url;
static struct x5c_anchors *store_anchors;

struct directory *gateway_directory(void)
{
    return daemon_app()->directory;
}

struct str gateway_operator_token(void)
{
    return operator_token;
}

static struct str url_trim_slash(struct str url)
{
    return str_ends(url, STR("/")) ? (struct str){url.ptr, url.len - 1} : url;
}

struct str gateway_url(struct req *r)
{
    if (public_url.len)
        return url_trim_slash(public_url);
    return arena_printf(r->task.arena, "http://%.*s", STR_ARG(req_header(r, "host")));
}

struct str gateway_base_url(struct req *r)
{
    return arena_printf(
        r->task.arena, "%.*s/org/%.*s", STR_ARG(gateway_url(r)), STR_ARG(r->scope->project->slug));
}

struct str gateway_public_base_url(struct req *r)
{
    return public_url.len ? gateway_base_url(r) : STR_NONE;
}

/* Returns the scheme and host of a URL, without the port and everything after it. */
static struct str url_trim_port(struct str url)
{
    const char *start = memmem(url.ptr, url.len, "://", 3);
    size_t at = start ? (size_t)(start - url.ptr) + 3 : 0;
    bool bracket = at < url.len && url.ptr[at] == '[';

    while (at < url.len && url.ptr[at] != '/' && (bracket || url.ptr[at] != ':')) {
        bracket = bracket && url.ptr[at] != ']';
        at++;
    }
    return (struct str){url.ptr, at};
}

struct str gateway_payments_url(struct req *r)
{
    if (payments_url.len)
        return url_trim_slash(payments_url);
    return arena_printf(
        r->task.arena, "%.*s:%d", STR_ARG(url_trim_port(gateway_url(r))), PAYMENTS_PORT);
}

static void build_router(void)
{
    gateway_router = router_new();
    for (size_t i = 0; i < route_table_count; i++)
        router_add(gateway_router,
                   route_tables[i]->mount,
                   route_tables[i]->routes,
                   route_tables[i]->count);
}

static struct {
    struct metric *connections, *in_flight, *parse_errors, *media_starts;
} m;

static void prepare_gateway(const struct conf_common *conf UNUSED)
{
    m.connections = metric_gauge("groundwork_http_connections", "", "Client connections open");
    m.in_flight = metric_gauge("groundwork_http_in_flight", "", "Requests being answered");
    m.parse_errors =
        metric_counter("groundwork_http_parse_errors_total", "", "Requests refused as malformed");
    m.media_starts = metric_counter(
        "groundwork_media_sandbox_starts_total", "", "Starts of the program that reads pictures");
    build_router();
    access_log_prepare();
    rate_limit_prepare();
    lives_prepare();
}

/* --list-routes: METHOD PATH AUTH, in table order. */
static int list_routes(void)
{
    build_router();
    routes_list_print(stdout, gateway_router);
    return 0;
}

/* A low limit of open files does not stop the gateway: it only accepts fewer connections. */
static unsigned fit_connections(const struct app *app, const struct app_conf *conf)
{
    unsigned wanted = (unsigned)conf->connections_max;
    unsigned given = http_connections_limit(wanted, OTHER_FILES);

    if (given < wanted && app->worker == 0)
        log_warn("gateway.connections_limited",
                 L_I64("wanted", wanted),
                 L_I64("given", given),
                 L_CSTR("by", "limit of open files (ulimit -n)"));
    return given;
}

/* A request that the HTTP server refuses before the pipeline runs gets a request id, too. */
static void put_refusal(struct req *r, int status, enum problem problem, const char *detail)
{
    if (!r->request_id.len)
        request_id_set(r);
    problem_put(r, status, problem, detail);
}

/* Starts the client of the app store's server API. The store's notifications go to the payments
 * service. */
static int start_store(const struct app_conf *conf, struct str *ret_reason)
{
    if (store_anchors_load(conf->store_roots_file, &store_anchors) != 0) {
        *ret_reason = STR("the file of the store's root certificates cannot be used "
                          "(GROUNDWORK_STORE_ROOTS_FILE)");
        return -1;
    }
    if (fetch_url_check(conf->store_url) != 0 || fetch_url_check(conf->store_sandbox_url) != 0) {
        *ret_reason = STR("the store's addresses may not be called (GROUNDWORK_STORE_URL, "
                          "GROUNDWORK_STORE_SANDBOX_URL, GROUNDWORK_FETCH_ALLOW)");
        return -1;
    }
    store_init(&(struct store_config){
        .anchors = store_anchors,
        .production_url = conf->store_url,
        .sandbox_url = conf->store_sandbox_url,
    });
    return 0;
}

AWAITS static int start_directory(struct task *task,
                                  const struct app *app,
                                  const struct app_conf *conf,
                                  struct str *ret_reason)
{
    const char *wrong = NULL;
    bool used = false;

    int rc = files_exist(task, app->directory, &used);
    if (rc == 0)
        wrong = store_check(conf->files_dir.ptr, used);
    if (rc != 0)
        *ret_reason = STR("the database cannot be queried for existing files");
    else if (wrong)
        *ret_reason = arena_printf(task->arena, "GROUNDWORK_FILES_DIR %s", wrong);
    else
        store_start(conf->files_dir.ptr);
    return rc != 0 || wrong ? -1 : 0;
}

/* Fails when the configuration is wrong, or when the bucket's answer shows a fault that an operator
 * must correct, such as wrong credentials. A bucket that is overloaded or cannot be reached is no
 * failure, because each operation on a file sends its own requests. */
AWAITS static int
start_bucket(struct task *task, const struct app_conf *conf, struct str *ret_reason)
{
    const struct store_s3 config = {
        .endpoint = conf->s3_endpoint,
        .bucket = conf->s3_bucket,
        .region = conf->s3_region,
        .key_id = conf->s3_key_id,
        .secret = conf->s3_secret,
        .prefix = conf->s3_prefix,
        .spool_dir = conf->s3_spool_dir,
        .virtual_host = conf->s3_virtual_host,
        .idle_ms = conf->s3_timeout_ms,
    };
    const char *wrong = store_s3_check(&config);
    struct str answer = STR_NONE;

    *ret_reason = str_from(wrong);
    if (wrong)
        return -1;
    store_start_s3(&config);
    if (store_s3_probe(task, &answer) == 0)
        return 0;
    *ret_reason = arena_printf(
        task->arena, "the store of GROUNDWORK_S3_ENDPOINT answers: %.*s", STR_ARG(answer));
    return -1;
}

/* Configures the sandboxed program that reads pictures. */
static int start_media(struct task *task, const struct app_conf *conf, struct str *ret_reason)
{
    const char *missing = media_check(conf->media_sandbox.ptr);

    if (missing) {
        *ret_reason =
            arena_printf(task->arena, "%s cannot be executed (GROUNDWORK_MEDIA_SANDBOX)", missing);
        return -1;
    }
    media_start(&(struct media_config){
        .program = conf->media_sandbox.ptr,
        .processes = (unsigned)conf->media_processes,
        .memory_bytes = (int64_t)conf->media_memory_bytes,
        .time_ms = conf->media_time_ms,
    });
    return 0;
}

/* Without a configured store only uploads and downloads are refused. */
AWAITS static int start_files(struct task *task,
                              const struct app *app,
                              const struct app_conf *conf,
                              struct str *ret_reason)
{
    ledger_start(((int64_t)conf->upload_time_ms + 999) / 1000,
                 ((int64_t)conf->files_collect_ms + 999) / 1000);
    if (conf->files_dir.len && conf->s3_endpoint.len) {
        *ret_reason = STR(
            "GROUNDWORK_FILES_DIR and GROUNDWORK_S3_ENDPOINT exclude each other; set one of them");
        return -1;
    }
    if (!conf->files_dir.len && !conf->s3_endpoint.len)
        return 0;
    TRY(start_media(task, conf, ret_reason));
    if (conf->s3_endpoint.len)
        TRY(start_bucket(task, conf, ret_reason));
    else
        TRY(start_directory(task, app, conf, ret_reason));
    collect_start(app->directory, (int64_t)conf->files_collect_ms);
    return 0;
}

/* Returns the bytes of the largest body that any route reads as a whole. */
static size_t largest_body(const struct app_conf *conf)
{
    size_t largest = conf->json_body_bytes;

    for (size_t i = 0; i < route_table_count; i++)
        for (size_t j = 0; j < route_tables[i]->count; j++)
            if (route_tables[i]->routes[j].body_max > largest)
                largest = route_tables[i]->routes[j].body_max;
    return largest;
}

/* Budget of bodies that are still arriving: at least 5/4 of the largest body, so that the first
 * bytes of other bodies fit in as well. */
static uint64_t bodies_bytes(const struct app_conf *conf)
{
    uint64_t least = largest_body(conf) / 4 * 5;

    return conf->bodies_bytes > least ? conf->bodies_bytes : least;
}

/* Each pool has its own bound. The sum of the bounds must fit the memory of a process. */
static const char *gateway_check(const struct conf_common *common)
{
    const struct app_conf *conf = (const struct app_conf *)(const void *)common;
    uint64_t least = db_answers_least(common->answer_bytes);
    uint64_t requests = common->requests_bytes > least ? common->requests_bytes : least;

    if (FETCH_BYTES + requests + admission_bytes(largest_body(conf)) + bodies_bytes(conf) +
            conf->docs_cache_bytes + conf->charts_cache_bytes >
        conf->memory_bytes)
        return "GROUNDWORK_REQUESTS_BYTES (at least four of GROUNDWORK_ANSWER_BYTES), "
               "GROUNDWORK_BODIES_BYTES (at least 20 MB, or 5/4 of GROUNDWORK_JSON_BODY_BYTES), "
               "GROUNDWORK_DOCS_CACHE_BYTES, GROUNDWORK_CHARTS_CACHE_BYTES, bodies in flight (64 "
               "MB, or four of GROUNDWORK_JSON_BODY_BYTES) and answers of other servers (8 MB) are "
               "together more than GROUNDWORK_MEMORY_BYTES";
    return NULL;
}

AWAITS static int gateway_start(struct task *task, struct app *app, struct str *ret_reason)
{
    const struct app_conf *conf = (const struct app_conf *)(const void *)app->conf;
    struct http_config config = {
        .host = conf->common.host.ptr,
        .port = conf->common.port,
        .listen_fd = app->listen_fd,
        .limits = http_limits_default,
        .request_timeout_ms = conf->request_timeout_ms,
        .scope_bytes = sizeof(struct scope),
        .handle = pipeline_run,
        .finished = access_log_write,
        .problem = put_refusal,
        .is_proxy = peer_is_proxy,
        .show_shares = true,
    };

    config.limits.header_time_ms = conf->header_time_ms;
    config.limits.idle_ms = conf->idle_ms;
    config.limits.json_body_bytes = conf->json_body_bytes;
    config.limits.requests_max = (unsigned)conf->requests_max;
    config.limits.connections_max = fit_connections(app, conf);
    project_settings_ceilings(&(struct project_rates){
        .read = conf->rate_read_max,
        .write = conf->rate_write_max,
        .heavy = conf->rate_heavy_max,
        .sign_in = conf->rate_sign_in_max,
        .storage = (int64_t)conf->storage_quota_max,
    });
    config.limits.bodies_per_address = (unsigned)conf->bodies_per_address;
    config.limits.body_bytes = bodies_bytes(conf);
    config.unsent = db_answers_shares();
    admission_start(config.limits.requests_max, largest_body(conf));
    if (start_files(task, app, conf, ret_reason) != 0)
        return -1;
    if (dns_start(conf->dns_servers) != 0) {
        *ret_reason = STR("GROUNDWORK_DNS_SERVERS must be addresses separated by commas");
        return -1;
    }
    operator_token = conf->operator_token;
    public_url = conf->public_url;
    payments_url = conf->payments_url;
    if (fetch_url_check(conf->processor_url) != 0) {
        *ret_reason = STR("the processor's address may not be called (GROUNDWORK_PROCESSOR_URL, "
                          "GROUNDWORK_FETCH_ALLOW)");
        return -1;
    }
    processor_init(&(struct processor_config){
        .base_url = conf->processor_url,
        .timeout_ms = conf->processor_timeout_ms,
        .retries = PROCESSOR_RETRIES,
    });
    if (start_store(conf, ret_reason) != 0)
        return -1;
    const char *wrong = peer_set_trusted(&conf->trusted_proxies);
    if (wrong) {
        *ret_reason = str_from(wrong);
        return -1;
    }
    lives_start(app->directory, conf);
    live_sweep_start(app->directory);
    if (http_server_start(&config, &server) != 0) {
        *ret_reason = STR("the port cannot be used (GROUNDWORK_HOST, GROUNDWORK_PORT)");
        return -1;
    }
    inner_start(server);
    log_info("gateway.listening", L_I64("port", http_server_port(server)));
    return 0;
}

static void gateway_measure(struct app *app UNUSED)
{
    const struct http_stats *stats = server ? http_server_stats(server) : NULL;

    if (!stats)
        return;
    metric_set(m.connections, (int64_t)stats->connections_open);
    metric_set(m.in_flight, (int64_t)stats->requests_in_flight);
    metric_set(m.parse_errors, (int64_t)stats->parse_errors);
    metric_set(m.media_starts, media_starts());
}

static struct {
    loop_fn done;
    void *arg;
} draining;

/* Background tasks that remove bytes use the database, which is closed next. The collector of
 * another process, or of a later one, removes the remaining bytes. */
static void gateway_on_requests_ended(void *arg UNUSED)
{
    collect_stop();
    live_sweep_stop();
    lives_drain();
    background_cancel();
    lives_settle();
    background_wait(draining.done, draining.arg);
}

static void gateway_drain(struct app *app, loop_fn done, void *arg)
{
    draining.done = done;
    draining.arg = arg;
    http_server_drain(server, app->conf->drain_timeout_ms, gateway_on_requests_ended, NULL);
}

static void gateway_stop(struct app *app UNUSED)
{
    http_server_stop(server);
    collect_stop();
    live_sweep_stop();
    lives_stop();
    dns_stop();
    media_stop();
    x5c_anchors_free(store_anchors);
    store_anchors = NULL;
}

static const struct daemon_flag flags[] = {
    {"--list-routes", "print METHOD PATH AUTH of every route, then exit", list_routes},
    {NULL, NULL, NULL},
};

static int rotate_data_keys(struct task *task,
                            struct directory *directory,
                            void (*say)(const char *text),
                            struct str *ret_reason)
{
    return data_keys_rotate(task, directory, DATA_KEY_SETTLE_MS, say, ret_reason);
}

static const struct daemon_job jobs[] = {
    {.name = "--rotate-master-key",
     .text = "wrap every project's data keys with the current master key, then exit",
     .run = data_keys_rewrap},
    {.name = "--rotate-data-keys",
     .text = "give every project a new data key and seal its secrets with it, then exit",
     .run = rotate_data_keys},
    {.name = NULL},
};

static const struct daemon gateway = {
    .name = "api-gateway",
    .about = "the REST API of all projects",
    .fetch_bytes = FETCH_BYTES,
    .conf = &app_conf_spec,
    .flags = flags,
    .jobs = jobs,
    .check = gateway_check,
    .prepare = prepare_gateway,
    .start = gateway_start,
    .drain = gateway_drain,
    .stop = gateway_stop,
    .measure = gateway_measure,
};

int main(int argc, char **argv)
{
    return daemon_main(argc, argv, &gateway);
}
