#pragma once
/*
 * Counters, gauges and histograms in memory shared by the workers of one daemon, printed as
 * Prometheus text by whichever worker is asked (values summed over workers, gauges too). Labels are
 * route ids and other small fixed sets, never user data. Registered before the workers fork.
 */
#include <stdint.h>

#include "base/strbuf.h"

struct metric; /* opaque handle, process-wide */

/* Before fork. `labels` is the text inside the braces ("route=\"users_list\",status=\"2xx\"") or
 * "". */
struct metric *metric_counter(const char *name, const char *labels, const char *help);
struct metric *metric_gauge(const char *name, const char *labels, const char *help);
/* Bounds in ascending order, at most 16, borrowed for ever. */
struct metric *metric_histogram(
    const char *name, const char *labels, const char *help, const double *bounds, size_t count);
/* Counters by names that turn up at work: `label` is what they go by. Names are program texts (of
 * tasks and routes), borrowed for ever; those beyond the first 31 of a worker are counted as
 * "other". */
struct metric *metric_names(const char *name, const char *label, const char *help);
void metric_count_name(struct metric *metric, const char *name);
/* any: cheap, no locks (each worker has its own slots). */
void metric_add(struct metric *metric, uint64_t value);
/* Of a gauge; of a counter that is kept elsewhere, where the value never falls. */
void metric_set(struct metric *metric, int64_t value);
void metric_observe(struct metric *metric, double value);
/* Maps the shared memory for `workers`; then each worker names its slot once after fork. */
void metrics_share(unsigned workers);
void metrics_worker(unsigned index);
void metrics_print(struct strbuf *out);
