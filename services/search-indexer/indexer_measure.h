#pragma once
/* Numbers of the daemon. */
#include "app.h"

struct index_batch;

/* Before fork. */
void indexer_measure_prepare(void);
void indexer_measure(struct app *app);
/* any: a batch was committed. */
void measure_indexed(const struct index_batch *batch);
/* any: so many records of a rebuild were written. */
void measure_built(size_t count);
/* any: a writer ended with an error. */
void measure_failed(void);
