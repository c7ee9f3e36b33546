/*
 * Health and metrics. /healthz answers while the loop runs. /readyz answers 200 while the database
 * is reachable, the worker has started and is not draining; its body shows the state of each
 * dependency. /metrics shows the sum of all workers, regardless of which worker answers.
 */
#include "app/health_private.h"

#include "app/reply.h"
#include "bus/bus.h"
#include "fetch/fetch.h"
#include "http/resp.h"
#include "metrics/metrics.h"
#include "metrics/shares_metrics.h"
#include "redis/redis.h"

static struct {
    struct metric *tasks, *stacks, *arenas, *lag_ms, *fetches, *redis_up;
    struct metric *db_statements, *db_groups, *db_in_flight, *db_waiting, *db_leased, *db_retries,
        *db_redispatched, *db_reconnects, *db_open;
    struct metric *bus_up, *bus_notifications, *bus_coalesced, *bus_dropped, *bus_read, *bus_acked,
        *bus_failed, *bus_reclaimed, *bus_dead, *bus_lost, *bus_backlog, *bus_pending,
        *bus_oldest_ms;
    struct metric *projects, *rights_hits, *rights_misses, *token_hits, *token_misses, *model_loads;
} health_metrics;

static void prepare_bus(void)
{
    health_metrics.bus_up =
        metric_gauge("groundwork_bus_up", "", "Workers whose streams can be read");
    health_metrics.bus_notifications =
        metric_counter("groundwork_bus_notifications_total", "", "Notifications passed to the bus");
    health_metrics.bus_coalesced = metric_counter(
        "groundwork_bus_coalesced_total", "", "Notifications merged into an equal pending entry");
    health_metrics.bus_dropped =
        metric_counter("groundwork_bus_dropped_total",
                       "",
                       "Notifications dropped: Redis unreachable or full, or too many waiting");
    health_metrics.bus_read = metric_counter("groundwork_bus_read_total", "", "Entries read");
    health_metrics.bus_acked =
        metric_counter("groundwork_bus_acked_total", "", "Entries handled and acknowledged");
    health_metrics.bus_failed =
        metric_counter("groundwork_bus_failed_total", "", "Entries whose handling failed");
    health_metrics.bus_reclaimed =
        metric_counter("groundwork_bus_reclaimed_total",
                       "",
                       "Entries taken over because another consumer held them too long");
    health_metrics.bus_dead =
        metric_counter("groundwork_bus_dead_total", "", "Entries moved to the dead letters");
    health_metrics.bus_lost =
        metric_counter("groundwork_bus_lost_total", "", "Entries deleted before they were handled");
    health_metrics.bus_backlog =
        metric_gauge("groundwork_bus_backlog", "", "Entries not read yet, in all partitions");
    health_metrics.bus_pending =
        metric_gauge("groundwork_bus_pending", "", "Entries read but not acknowledged");
    health_metrics.bus_oldest_ms =
        metric_gauge("groundwork_bus_oldest_ms", "", "Age of the oldest unacknowledged entry, ms");
}

void health_prepare(void)
{
    health_metrics.tasks = metric_gauge("groundwork_tasks", "", "Coroutines alive");
    health_metrics.stacks = metric_gauge("groundwork_stacks", "", "Coroutine stacks allocated");
    health_metrics.arenas = metric_gauge("groundwork_arenas", "", "Arenas alive");
    health_metrics.lag_ms = metric_gauge(
        "groundwork_loop_lag_ms", "", "Longest tick of the event loop since the last sample, ms");
    health_metrics.fetches = metric_gauge("groundwork_fetches", "", "Outgoing requests in flight");
    health_metrics.redis_up = metric_gauge("groundwork_redis_up", "", "Workers connected to Redis");
    health_metrics.db_statements =
        metric_counter("groundwork_db_statements_total", "", "Statements run");
    health_metrics.db_groups =
        metric_counter("groundwork_db_groups_total", "", "Pipelined groups sent");
    health_metrics.db_in_flight =
        metric_gauge("groundwork_db_in_flight", "", "Statements in flight");
    health_metrics.db_waiting =
        metric_gauge("groundwork_db_waiting", "", "Statements waiting for a connection");
    health_metrics.db_leased = metric_gauge("groundwork_db_leased", "", "Connections leased");
    health_metrics.db_open = metric_gauge("groundwork_db_connections", "", "Connections open");
    health_metrics.db_retries =
        metric_counter("groundwork_db_retries_total", "", "Statements retried");
    health_metrics.db_redispatched =
        metric_counter("groundwork_db_redispatched_total",
                       "",
                       "Reads moved to another connection because theirs was stuck");
    health_metrics.db_reconnects =
        metric_counter("groundwork_db_reconnects_total", "", "Connections reopened");
    prepare_bus();
    health_metrics.projects =
        metric_gauge("groundwork_projects_cached", "", "Projects in the cache");
    health_metrics.rights_hits =
        metric_counter("groundwork_rights_cache_hits_total", "", "Rights found in the cache");
    health_metrics.rights_misses =
        metric_counter("groundwork_rights_cache_misses_total", "", "Rights read from the database");
    health_metrics.token_hits =
        metric_counter("groundwork_token_cache_hits_total", "", "Tokens found in the cache");
    health_metrics.token_misses = metric_counter(
        "groundwork_token_cache_misses_total", "", "Tokens verified because the cache lacked them");
    health_metrics.model_loads =
        metric_counter("groundwork_model_loads_total", "", "Models read from the database");
}

static void measure_database(struct app *app)
{
    struct db_stats stats;

    db_server_stats(directory_control(app->directory)->server, &stats);
    metric_set(health_metrics.db_statements, (int64_t)stats.statements);
    metric_set(health_metrics.db_groups, (int64_t)stats.groups);
    metric_set(health_metrics.db_in_flight, stats.in_flight);
    metric_set(health_metrics.db_waiting, stats.waiting);
    metric_set(health_metrics.db_leased, stats.write_leased);
    metric_set(health_metrics.db_open, (int64_t)stats.read_open + stats.write_open);
    metric_set(health_metrics.db_retries, (int64_t)stats.retries);
    metric_set(health_metrics.db_redispatched, (int64_t)stats.redispatched);
    metric_set(health_metrics.db_reconnects, (int64_t)stats.reconnects);
}

static void measure_bus(struct bus *bus, bool first)
{
    const struct bus_stats *stats = bus_stats(bus);

    metric_set(health_metrics.bus_up, bus_is_up(bus));
    metric_set(health_metrics.bus_notifications, (int64_t)stats->notified);
    metric_set(health_metrics.bus_coalesced, (int64_t)stats->coalesced);
    metric_set(health_metrics.bus_dropped, (int64_t)stats->dropped);
    metric_set(health_metrics.bus_read, (int64_t)stats->read);
    metric_set(health_metrics.bus_acked, (int64_t)stats->acked);
    metric_set(health_metrics.bus_failed, (int64_t)stats->failed);
    metric_set(health_metrics.bus_reclaimed, (int64_t)stats->reclaimed);
    metric_set(health_metrics.bus_dead, (int64_t)stats->dead);
    metric_set(health_metrics.bus_lost, (int64_t)stats->lost);
    if (!first) /* gauges are summed over workers, and every worker sees the same value */
        return;
    metric_set(health_metrics.bus_backlog, stats->backlog);
    metric_set(health_metrics.bus_pending, stats->pending);
    metric_set(health_metrics.bus_oldest_ms, stats->oldest_ms);
}

static void health_measure(struct app *app)
{
    const struct directory_stats *stats = directory_stats(app->directory);

    metric_set(health_metrics.tasks, (int64_t)task_count());
    metric_set(health_metrics.stacks, (int64_t)task_stack_count());
    metric_set(health_metrics.arenas, (int64_t)arena_count());
    metric_set(health_metrics.lag_ms, loop_lag_take_ms());
    metric_set(health_metrics.fetches, fetch_in_flight());
    metric_set(health_metrics.redis_up, redis_up(app->redis));
    metric_set(health_metrics.projects, (int64_t)stats->projects);
    metric_set(health_metrics.rights_hits, (int64_t)stats->rights_hits);
    metric_set(health_metrics.rights_misses, (int64_t)stats->rights_misses);
    metric_set(health_metrics.token_hits, (int64_t)stats->token_hits);
    metric_set(health_metrics.token_misses, (int64_t)stats->token_misses);
    metric_set(health_metrics.model_loads, (int64_t)stats->model_loads);
    shares_metrics_measure(app->worker);
    measure_database(app);
    measure_bus(app->bus, app->worker == 0);
    if (app->daemon->measure)
        app->daemon->measure(app);
}

/* Each worker samples its gauges once a second: /metrics shows the last samples of the other
 * workers. */
static struct loop_timer sample_timer;

static void gauges_sample(void *arg)
{
    health_measure(arg);
    loop_timer_start(&sample_timer, 1000);
}

static int answer_live(struct req *r)
{
    struct jw w = resp_json(r);

    jw_obj(&w);
    JW_CSTR(&w, "status", "ok");
    jw_obj_end(&w);
    return reply_json(r, 200);
}

static int answer_ready(struct req *r, struct app *app)
{
    bool database = db_server_up(directory_control(app->directory)->server);
    bool redis = redis_up(app->redis);
    /* start() may still wait for a store. Without Redis a worker serves, only more slowly. */
    bool ready = database && app->started && !app->draining;
    struct jw w = resp_json(r);

    jw_obj(&w);
    JW_CSTR(&w, "status", ready ? "ready" : "not_ready");
    jw_lit(&w, "dependencies");
    jw_obj(&w);
    JW_CSTR(&w, "postgresql", database ? "up" : "down");
    JW_CSTR(&w, "redis", redis ? "up" : "down");
    jw_obj_end(&w);
    JW_BOOL(&w, "draining", app->draining);
    jw_obj_end(&w);
    return reply_json(r, ready ? 200 : 503);
}

static int answer_metrics(struct req *r, struct app *app)
{
    health_measure(app);
    metrics_print(&r->body);
    shares_metrics_print(&r->body);
    r->content_type = STR("text/plain; version=0.0.4; charset=utf-8");
    r->status = 200;
    return 200;
}

static int health_get(struct req *r)
{
    struct app *app = daemon_app();

    if (r->method != HTTP_GET_M && r->method != HTTP_HEAD_M)
        return fail(r, PROBLEM_METHOD_NOT_ALLOWED, NULL);
    if (str_is(r->path, "/healthz"))
        return answer_live(r);
    if (str_is(r->path, "/readyz"))
        return answer_ready(r, app);
    if (str_is(r->path, "/metrics"))
        return answer_metrics(r, app);
    return fail(
        r, PROBLEM_ROUTE_NOT_FOUND, "This port serves only /healthz, /readyz and /metrics.");
}

int health_start(struct app *app)
{
    struct http_config config = {
        .listen_fd = app->admin_fd,
        .limits = http_limits_default,
        .request_timeout_ms = 5000,
        .handle = health_get,
        .problem = problem_put,
    };

    loop_timer_init(&sample_timer, gauges_sample, app);
    loop_timer_start(&sample_timer, 1000);
    return http_server_start(&config, &app->admin);
}

void health_stop(struct app *app)
{
    if (!app->admin) /* stopped before it was started */
        return;
    loop_timer_stop(&sample_timer);
    http_server_stop(app->admin);
}
