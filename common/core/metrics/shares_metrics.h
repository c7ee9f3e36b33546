#pragma once
/*
 * Metrics of the resources that projects share: every struct shares that has a name, of every
 * worker. Shares are created after the workers fork and differ between daemons. So they have shared
 * memory of their own, with rows that are found by name.
 */
#include "base/strbuf.h"

/* Maps the memory that `workers` processes share; call it before the fork. */
void shares_metrics_share(unsigned workers);
/* any: Records the present numbers of this worker's shares. */
void shares_metrics_measure(unsigned worker);
/* any: Prints the recorded numbers, summed over all workers. */
void shares_metrics_print(struct strbuf *out);
