/* Metrics in anonymous shared memory: one slot of numbers per worker, summed when printed. */
#include "metrics/metrics.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/num.h"
#include "base/panic.h"

#define METRICS_MAX 4096
#define NUMBERS_MAX 32768 /* per worker: 256 KB of address space, of which only some is used */
#define BUCKETS_MAX 16

#define NAMES_MAX  32 /* per metric_name_counters(); the last name is "other" */
#define NAME_WORDS 6  /* of eight bytes each */

enum series_kind { COUNTER, GAUGE, HISTOGRAM, NAMES };

/* One name of metric_name_counters() in a worker's slot. */
struct name_counter {
    char name[NAME_WORDS * sizeof(uint64_t)]; /* empty = free, and so are the following entries */
    uint64_t count;
};
#define NAMED_NUMBERS (sizeof(struct name_counter) / sizeof(uint64_t))

struct metric {
    const char *name;
    const char *labels;
    const char *help;
    enum series_kind kind;
    const double *bounds;
    size_t bound_count;
    size_t first; /* index of its numbers in a worker's slot */
};

static struct metric registry[METRICS_MAX];
static size_t registry_count;
static size_t number_count;
static uint64_t *shared; /* workers * NUMBERS_MAX */
static unsigned worker_count;
static unsigned worker_index;

/* Before metrics_share() (unit tests, single tools) numbers go to a private slot. */
static uint64_t private_slot[NUMBERS_MAX];

static uint64_t *worker_numbers(unsigned worker)
{
    return shared ? shared + (size_t)worker * NUMBERS_MAX : private_slot;
}

static struct metric *metrics_add(
    enum series_kind kind, const char *name, const char *labels, const char *help, size_t numbers)
{
    struct metric *metric = &registry[registry_count];

    MUST(!shared); /* registration comes before the workers fork */
    MUST(registry_count < METRICS_MAX && number_count + numbers <= NUMBERS_MAX);
    registry_count++;
    metric->kind = kind;
    metric->name = name;
    metric->labels = labels;
    metric->help = help;
    metric->first = number_count;
    number_count += numbers;
    return metric;
}

struct metric *metric_counter(const char *name, const char *labels, const char *help)
{
    return metrics_add(COUNTER, name, labels, help, 1);
}

struct metric *metric_gauge(const char *name, const char *labels, const char *help)
{
    return metrics_add(GAUGE, name, labels, help, 1);
}

struct metric *metric_histogram(
    const char *name, const char *labels, const char *help, const double *bounds, size_t count)
{
    /* one number per bucket, then +Inf, then the sum as a double */
    struct metric *metric = metrics_add(HISTOGRAM, name, labels, help, count + 2);

    MUST(count <= BUCKETS_MAX);
    metric->bounds = bounds;
    metric->bound_count = count;
    return metric;
}

struct metric *metric_name_counters(const char *name, const char *label, const char *help)
{
    return metrics_add(NAMES, name, label, help, NAMES_MAX * NAMED_NUMBERS);
}

static struct name_counter *name_counters_of(const struct metric *metric, unsigned worker)
{
    return (struct name_counter *)(void *)(worker_numbers(worker) + metric->first);
}

/* Writes the count before the name, because other workers may read at the same time. */
void metric_count_name(struct metric *metric, const char *name)
{
    struct name_counter *names = name_counters_of(metric, worker_index);

    for (size_t i = 0; i < NAMES_MAX; i++) {
        const char *wanted = i < NAMES_MAX - 1 ? name : "other";
        bool is_free = names[i].name[0] == '\0';
        if (!is_free && strncmp(names[i].name, wanted, sizeof(names[i].name) - 1) != 0)
            continue;
        names[i].count++;
        if (is_free)
            (void)snprintf(names[i].name, sizeof(names[i].name), "%s", wanted);
        return;
    }
}

void metric_add(struct metric *metric, uint64_t value)
{
    worker_numbers(worker_index)[metric->first] += value;
}

void metric_set(struct metric *metric, int64_t value)
{
    worker_numbers(worker_index)[metric->first] = (uint64_t)value;
}

void metric_observe(struct metric *metric, double value)
{
    uint64_t *numbers = worker_numbers(worker_index) + metric->first;
    size_t bucket = 0;
    double sum;

    while (bucket < metric->bound_count && value > metric->bounds[bucket])
        bucket++;
    numbers[bucket]++;
    memcpy(&sum, &numbers[metric->bound_count + 1], sizeof(sum));
    sum += value;
    memcpy(&numbers[metric->bound_count + 1], &sum, sizeof(sum));
}

void metrics_share(unsigned workers)
{
    size_t bytes = sizeof(uint64_t) * NUMBERS_MAX * workers;
    void *memory = mmap(
        NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    MUST(memory != MAP_FAILED);
    shared = memory;
    worker_count = workers;
}

void metrics_worker(unsigned index)
{
    MUST(index < worker_count);
    worker_index = index;
}

static uint64_t metrics_total(size_t number)
{
    uint64_t sum = 0;

    for (unsigned worker = 0; worker < (worker_count ? worker_count : 1); worker++)
        sum += worker_numbers(worker)[number];
    return sum;
}

static double total_double(size_t number)
{
    double sum = 0;

    for (unsigned worker = 0; worker < (worker_count ? worker_count : 1); worker++) {
        double one;
        memcpy(&one, &worker_numbers(worker)[number], sizeof(one));
        sum += one;
    }
    return sum;
}

static void metrics_put_number(struct strbuf *out, double value)
{
    char text[32];

    strbuf_str(out, (struct str){text, num_print_f64(text, value)});
}

static void print_histogram(struct strbuf *out, const struct metric *metric)
{
    const char *comma = metric->labels[0] ? "," : "";
    uint64_t count = 0;

    for (size_t i = 0; i <= metric->bound_count; i++) {
        count += metrics_total(metric->first + i);
        strbuf_printf(out, "%s_bucket{%s%sle=\"", metric->name, metric->labels, comma);
        if (i < metric->bound_count)
            metrics_put_number(out, metric->bounds[i]);
        else
            strbuf_cstr(out, "+Inf");
        strbuf_printf(out, "\"} %llu\n", (unsigned long long)count);
    }
    strbuf_printf(out, "%s_sum{%s} ", metric->name, metric->labels);
    metrics_put_number(out, total_double(metric->first + metric->bound_count + 1));
    strbuf_printf(
        out, "\n%s_count{%s} %llu\n", metric->name, metric->labels, (unsigned long long)count);
}

static bool histogram_has_values(const struct metric *metric)
{
    for (size_t i = 0; i <= metric->bound_count; i++) {
        if (metrics_total(metric->first + i))
            return true;
    }
    return false;
}

/* Returns the sum over all workers; 0 when a worker before `worker` has the name, because its sum
 * is printed already. */
static uint64_t name_counter_total(const struct metric *metric, unsigned worker, const char *name)
{
    uint64_t sum = 0;

    for (unsigned w = 0; w < (worker_count ? worker_count : 1); w++) {
        const struct name_counter *names = name_counters_of(metric, w);
        for (size_t i = 0; i < NAMES_MAX && names[i].name[0]; i++) {
            if (strcmp(names[i].name, name) != 0)
                continue;
            if (w < worker)
                return 0;
            sum += names[i].count;
        }
    }
    return sum;
}

static void print_names(struct strbuf *out, const struct metric *metric)
{
    for (unsigned w = 0; w < (worker_count ? worker_count : 1); w++) {
        const struct name_counter *names = name_counters_of(metric, w);
        for (size_t i = 0; i < NAMES_MAX && names[i].name[0]; i++) {
            uint64_t count = name_counter_total(metric, w, names[i].name);
            if (count > 0)
                strbuf_printf(out,
                              "%s{%s=\"%s\"} %llu\n",
                              metric->name,
                              metric->labels,
                              names[i].name,
                              (unsigned long long)count);
        }
    }
}

static void metric_print(struct strbuf *out, const struct metric *metric)
{
    if (metric->kind == HISTOGRAM) {
        /* Print no lines for a route that was never called. */
        if (histogram_has_values(metric))
            print_histogram(out, metric);
    } else if (metric->kind == NAMES) {
        print_names(out, metric);
    } else if (metric->labels[0]) {
        strbuf_printf(out,
                      "%s{%s} %lld\n",
                      metric->name,
                      metric->labels,
                      (long long)metrics_total(metric->first));
    } else {
        strbuf_printf(out, "%s %lld\n", metric->name, (long long)metrics_total(metric->first));
    }
}

void metrics_print(struct strbuf *out)
{
    static const char *const kinds[] = {"counter", "gauge", "histogram", "counter"};

    /* Prometheus wants all lines of a name together: print them where the name first appears. */
    for (size_t i = 0; i < registry_count; i++) {
        bool seen = false;
        for (size_t k = 0; k < i && !seen; k++)
            seen = strcmp(registry[k].name, registry[i].name) == 0;
        if (seen)
            continue;
        strbuf_printf(out,
                      "# HELP %s %s\n# TYPE %s %s\n",
                      registry[i].name,
                      registry[i].help,
                      registry[i].name,
                      kinds[registry[i].kind]);
        for (size_t k = i; k < registry_count; k++) {
            if (strcmp(registry[k].name, registry[i].name) == 0)
                metric_print(out, &registry[k]);
        }
    }
}
