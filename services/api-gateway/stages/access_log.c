/* Writes one access line and one set of metrics per request, after its response was sent. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/panic.h"
#include "metrics/metrics.h"
#include "stages/stages.h"

static const double seconds_bounds[] = {
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30};
static const double bytes_bounds[] = {256, 1024, 4096, 16384, 65536, 262144, 1048576, 16777216};

/* Indexed by the route's position in all tables. The last entry counts requests without a route. */
struct route_metrics {
    const struct route *route;
    struct metric *classes[6]; /* by status / 100 */
    struct metric *seconds;
    struct metric *bytes;
};
static struct route_metrics *metrics;
static size_t metrics_count;

static char *metric_label(const char *id, int class)
{
    char *text = NULL;

    MUST(asprintf(&text, class ? "route=\"%s\",status=\"%dxx\"" : "route=\"%s\"", id, class) > 0);
    return text;
}

static void add_route(const struct route *route)
{
    const char *id = route ? route->id : "none";
    struct route_metrics *m = &metrics[metrics_count++];

    m->route = route;
    for (int class = 2; class <= 5; class ++)
        m->classes[class] = metric_counter("groundwork_requests_total",
                                           metric_label(id, class),
                                           "Requests answered, by route and status");
    m->seconds = metric_histogram("groundwork_request_seconds",
                                  metric_label(id, 0),
                                  "Time from first byte to response, seconds",
                                  seconds_bounds,
                                  ARRAY_LEN(seconds_bounds));
    m->bytes = metric_histogram("groundwork_response_bytes",
                                metric_label(id, 0),
                                "Size of responses, bytes",
                                bytes_bounds,
                                ARRAY_LEN(bytes_bounds));
}

void access_log_prepare(void)
{
    size_t total = 1;

    for (size_t t = 0; t < route_table_count; t++)
        total += route_tables[t]->count;
    metrics = calloc(total, sizeof(*metrics));
    MUST(metrics);
    for (size_t t = 0; t < route_table_count; t++) {
        for (size_t i = 0; i < route_tables[t]->count; i++)
            add_route(&route_tables[t]->routes[i]);
    }
    add_route(NULL);
}

/* Finds the entry by the route's address: there are few tables, and each is one array. */
static struct route_metrics *metrics_of(const struct route *route)
{
    size_t first = 0;

    for (size_t t = 0; route && t < route_table_count; t++) {
        const struct route_table *table = route_tables[t];
        if (route >= table->routes && route < table->routes + table->count)
            return &metrics[first + (size_t)(route - table->routes)];
        first += table->count;
    }
    return &metrics[metrics_count - 1];
}

static const char *caller_name(const struct caller *caller)
{
    static const char *const names[] = {"none", "user", "key", "operator", "system"};

    return caller ? names[caller->kind] : "none";
}

void access_log_write(struct req *r)
{
    struct route_metrics *m = metrics_of(r->route);
    int64_t spent_us = clock_mono_us() - r->started_us;
    int class = r->status / 100;

    if (class >= 2 && class <= 5)
        metric_add(m->classes[class], 1);
    metric_observe(m->seconds, (double)spent_us / 1e6);
    metric_observe(m->bytes, (double)r->bytes_out);
    log_access_line(r, caller_name(r->scope->caller), spent_us);
}
