#pragma once
/*
 * Counters, gauges and histograms in memory that the workers of one daemon share. Each worker can
 * print all of them as Prometheus text, summed over the workers, gauges too. Labels come from route
 * ids and other small fixed sets, never from user data. Metrics are registered before the workers
 * fork.
 */
#include <stdint.h>

#include "base/strbuf.h"

struct metric; /* opaque handle, process-wide */

/* Register a counter or a gauge. `labels` is the text inside of the braces
 * ("route=\"users_list\",status=\"2xx\"") or "". All texts are borrowed for ever. */
struct metric *metric_counter(const char *name, const char *labels, const char *help);
struct metric *metric_gauge(const char *name, const char *labels, const char *help);
/* Registers a histogram with at most 16 bounds in ascending order, borrowed for ever. */
struct metric *metric_histogram(
    const char *name, const char *labels, const char *help, const double *bounds, size_t count);
/* Registers a set of counters whose names become known at run time; `label` is the label for the
 * name. Names are texts of the program (of tasks and routes). A worker counts all names after its
 * first 31 as "other". */
struct metric *metric_name_counters(const char *name, const char *label, const char *help);
/* any: Adds 1 to the counter of a name. The first 47 bytes of a name count, and are copied. */
void metric_count_name(struct metric *metric, const char *name);
/* any: Adds to a counter. Cheap and without locks, because each worker has its own numbers. */
void metric_add(struct metric *metric, uint64_t value);
/* any: Sets a gauge, or a counter that other code counts; the value of a counter never falls. */
void metric_set(struct metric *metric, int64_t value);
/* any: Adds a value to a histogram. */
void metric_observe(struct metric *metric, double value);
/* Maps the memory that `workers` processes share; after the fork each worker sets its index. */
void metrics_share(unsigned workers);
void metrics_worker(unsigned index);
/* any: Prints all metrics. */
void metrics_print(struct strbuf *out);
