/* All metrics in one list: type, name, labels, help text and value of each. */
#include "measure.h"

#include "catalog/status.h"
#include "deliver.h"
#include "fetch/fetch.h"
#include "metrics/metrics.h"
#include "work.h"

#define PUSH    "groundwork_push_"
#define DEVICES PUSH "devices_total"
#define SENDS   PUSH "sends_total"
#define FCM     "provider=\"fcm\",outcome="
#define WEB     "provider=\"web_push\",outcome="

/* clang-format off: a metric a line */
#define METRICS(M)                                                                                 \
    M(counter, SENDS, "status=\"Succeeded\"", "Sends that ended", ends_by_status[0])               \
    M(counter, SENDS, "status=\"Partial\"", "Sends that ended", ends_by_status[1])                 \
    M(counter, SENDS, "status=\"Failed\"", "Sends that ended", ends_by_status[2])                  \
    M(counter, DEVICES, FCM "\"delivered\"", "Devices, by outcome", it->delivered[PUSH_FCM])       \
    M(counter, DEVICES, FCM "\"failed\"", "Devices, by outcome", it->failed[PUSH_FCM])             \
    M(counter, DEVICES, FCM "\"unregistered\"", "Devices, by outcome", it->unregistered[PUSH_FCM]) \
    M(counter, DEVICES, WEB "\"delivered\"", "Devices, by outcome", it->delivered[PUSH_WEB])       \
    M(counter, DEVICES, WEB "\"failed\"", "Devices, by outcome", it->failed[PUSH_WEB])             \
    M(counter, DEVICES, WEB "\"unregistered\"", "Devices, by outcome", it->unregistered[PUSH_WEB]) \
    M(counter, PUSH "requests_total", "", "Requests to providers", it->requests)                   \
    M(counter, PUSH "retries_total", "", "Requests that were repeated", it->retries)               \
    M(counter, PUSH "grants_total", "", "Access tokens requested", it->grants)                     \
    M(counter, PUSH "grants_failed_total", "", "Access tokens not received", it->grants_failed)    \
    M(gauge, PUSH "requests_in_flight", "", "Requests under way", fetch_in_flight())
/* clang-format on */

#define ONE(type, name, labels, text, value) NULL,
static struct metric *metrics[] = {METRICS(ONE)};
#undef ONE
static struct metric *wait_histogram;
static uint64_t ends_by_status[3];

void dispatcher_measure_prepare(void)
{
    static const double bounds[] = {0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 60};
    struct metric **next = metrics;

#define REGISTER(type, name, labels, text, value) *next++ = metric_##type(name, labels, text);
    METRICS(REGISTER)
#undef REGISTER
    wait_histogram = metric_histogram(PUSH "waited_seconds",
                                      "",
                                      "Time from a send's creation to its first claim, seconds",
                                      bounds,
                                      ARRAY_LEN(bounds));
    dispatcher_work_prepare();
}

void measure_send_wait(int64_t ms)
{
    metric_observe(wait_histogram, (double)ms / 1000.0);
}

void measure_send_end(struct str status)
{
    enum status end = status_read(STATUS_OF_SEND, status);

    ends_by_status[end == STATUS_SEND_SUCCEEDED ? 0 : end == STATUS_SEND_PARTIAL ? 1 : 2]++;
}

void dispatcher_measure(struct app *app UNUSED)
{
    const struct deliver_stats *it = deliver_stats();
    struct metric **next = metrics;

#define SET(type, name, labels, text, value) metric_set(*next++, (int64_t)(value));
    METRICS(SET)
#undef SET
    queue_metrics_update();
}
