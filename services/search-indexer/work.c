/* Connects the queue with the index: statements that claim, renew and release the lease
 * (indexer_claim.sql), and index_run(), which does the work. */
#include "work.h"

#include "index.h"
#include "indexer_claim_sql.h"
#include "word_cache.h"

static struct queue *indexes;

static const struct queue_kind kind = {
    .name = "search_indexes",
    .run = index_run,
    .claim = &SQL_INDEXES_CLAIM,
    .claim_crashed = &SQL_INDEXES_CLAIM_CRASHED,
    .renew = &SQL_INDEXES_RENEW,
    .still_held = &SQL_INDEXES_HELD,
    .release = &SQL_INDEXES_RELEASE,
    .rescue = &SQL_INDEXES_QUARANTINE,
    .projects = &SQL_INDEXES_PROJECTS,
    .poll = &SQL_INDEXES_LOOK,
    .on_swept = word_cache_sweep,
    .topic = BUS_SEARCH,
    .group = "search-indexer",
    .message = "search.changed",
};

void indexer_work_prepare(void)
{
    queue_prepare(&kind);
}

void indexer_work_start(void)
{
    const struct app_conf *conf = indexer_conf();

    indexes = queue_start(&kind,
                          &(struct queue_config){
                              .directory = indexer_directory(),
                              .bus = indexer_bus(),
                              .slots = (unsigned)conf->index_slots,
                              .slots_per_project = 1,
                              .lease_ms = conf->lease_ms,
                              .sweep_ms = conf->sweep_ms,
                              .attempts = conf->index_attempts,
                          });
}

void indexer_work_end(int64_t last_call_mono_ms, loop_fn done, void *arg)
{
    queues_end(indexer_bus(), &indexes, 1, last_call_mono_ms, done, arg);
}

void indexer_work_stop(void)
{
    queue_stop(indexes);
    indexes = NULL;
}
