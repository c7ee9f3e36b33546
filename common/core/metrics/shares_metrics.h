#pragma once
/*
 * What projects share, on /metrics: every named struct shares of every worker. They are made after
 * the workers fork, and are not the same in each daemon: rows are found by name, in memory of their
 * own that all workers map.
 */
#include "base/strbuf.h"

/* Before fork. */
void shares_metrics_share(unsigned workers);
/* any: writes down what this worker's shares hold now. */
void shares_metrics_measure(unsigned worker);
/* any: summed over workers. */
void shares_metrics_print(struct strbuf *out);
