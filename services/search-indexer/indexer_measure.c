/* All metrics in one list: type, name, labels, help text and value. */
#include "indexer_measure.h"

#include "batch.h"
#include "metrics/metrics.h"
#include "work.h"

#define SEARCH "groundwork_search_"

static struct {
    uint64_t indexed, changed, built, failed;
} numbers;

/* clang-format off: one metric per line */
#define METRICS(M)                                                                                 \
    M(counter,                                                                                     \
      SEARCH "indexed_total",                                                                      \
      "",                                                                                          \
      "Records that were indexed because of a change",                                             \
      numbers.indexed)                                                                             \
    M(counter,                                                                                     \
      SEARCH "changed_total",                                                                      \
      "",                                                                                          \
      "Indexed records whose words had changed",                                                   \
      numbers.changed)                                                                             \
    M(counter, SEARCH "built_total", "", "Records that rebuilds have written", numbers.built)      \
    M(counter, SEARCH "failed_total", "", "Runs that ended with an error", numbers.failed)
/* clang-format on */

#define ONE(type, name, labels, text, value) NULL,
static struct metric *metrics[] = {METRICS(ONE)};
#undef ONE

void indexer_measure_prepare(void)
{
    struct metric **next = metrics;

#define REGISTER(type, name, labels, text, value) *next++ = metric_##type(name, labels, text);
    METRICS(REGISTER)
#undef REGISTER
    indexer_work_prepare();
}

void measure_indexed(const struct index_batch *batch)
{
    for (size_t i = 0; i < batch->part_count; i++) {
        numbers.indexed += batch->parts[i].ids.count;
        numbers.changed += batch->parts[i].changed;
    }
}

void measure_built(size_t count)
{
    numbers.built += count;
}

void measure_failed(void)
{
    numbers.failed++;
}

void indexer_measure(struct app *app UNUSED)
{
    struct metric **next = metrics;

#define SET(type, name, labels, text, value) metric_set(*next++, (int64_t)(value));
    METRICS(SET)
#undef SET
    queue_metrics_update();
}
