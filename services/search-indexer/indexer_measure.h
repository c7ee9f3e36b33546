#pragma once
/* Metrics of the daemon. */
#include "app.h"

struct index_batch;

/* Before fork: indexer_measure_prepare() registers the metrics. indexer_measure() sets their
 * values. */
void indexer_measure_prepare(void);
void indexer_measure(struct app *app);
/* any: Counts the records of a committed batch. */
void measure_indexed(const struct index_batch *batch);
/* any: Counts records that a rebuild has written. */
void measure_built(size_t count);
/* any: Counts a run that ended with an error. */
void measure_failed(void);
