/* search-indexer: keeps the search index of each project. */
#include "app.h"

#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "indexer_measure.h"
#include "verify.h"
#include "work.h"

/* The daemon has no public port, so it has no such settings. */
#define CONF_IGNORED "host", "port"
/* clang-format off: the list must follow its macros */
#include "conf/conf_items.h"
/* clang-format on */

#define LAST_CALL_MS 2000 /* before the end of the drain: running work is released */

const struct app_conf *indexer_conf(void)
{
    return (const struct app_conf *)(const void *)daemon_app()->conf;
}

struct directory *indexer_directory(void)
{
    return daemon_app()->directory;
}

struct bus *indexer_bus(void)
{
    return daemon_app()->bus;
}

/* --- start and end --- */

static void indexer_prepare(const struct conf_common *common UNUSED)
{
    indexer_measure_prepare();
}

static int indexer_start(struct task *task UNUSED, struct app *app, struct str *ret_reason UNUSED)
{
    indexer_work_start();
    log_info("indexer.started", L_I64("worker", app->worker));
    return 0;
}

static void indexer_drain(struct app *app, loop_fn done, void *arg)
{
    indexer_work_end(clock_mono_ms() + app->conf->drain_timeout_ms - LAST_CALL_MS, done, arg);
}

static void indexer_stop(struct app *app UNUSED)
{
    indexer_work_stop();
}

static const struct daemon_job jobs[] = {
    {.name = "--verify",
     .text = "compare indexes with records, repair differences, then exit",
     .run = verify_all,
     .argument = "[PROJECT]"},
    {.name = NULL},
};

static const struct daemon search_indexer = {
    .name = "search-indexer",
    .about = "keeps the search index of each project",
    .conf = &app_conf_spec,
    .jobs = jobs,
    .portless = true,
    .prepare = indexer_prepare,
    .start = indexer_start,
    .drain = indexer_drain,
    .stop = indexer_stop,
    .measure = indexer_measure,
};

int main(int argc, char **argv)
{
    return daemon_main(argc, argv, &search_indexer);
}
