/*
 * Epochs. Once a second a read of the control schema gets the epochs of all loaded projects. When
 * the epoch of a project has moved, its rights and credentials are dropped, and its settings and
 * model are synced. A Redis message only makes the read earlier. The read is also the heartbeat:
 * five seconds after the last successful read nothing is served until a read succeeds.
 */
#include <stdlib.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/panic.h"
#include "project/project_private.h"
#include "project_sql.h"

#define READ_MS  2000
#define SWEEP_MS 60000
#define IDLE_MS  600000 /* unused projects are unloaded after this time */

/* --- one read --- */

static size_t
loaded_numbers(struct arena *arena, const struct directory *directory, int64_t **ret_numbers)
{
    int64_t *numbers = ARENA_ARRAY(arena, numbers, map_size(directory->projects));
    size_t cursor = 0;
    size_t count = 0;
    struct str slug;
    void *value;

    while (map_next(directory->projects, &cursor, &slug, &value))
        numbers[count++] = ((const struct project *)value)->number;
    *ret_numbers = numbers;
    return count;
}

static void epoch_apply(struct directory *directory, int64_t number, int64_t epoch)
{
    struct project *project = directory_by_number(directory, number);

    if (project == NULL)
        return;
    if (project->epoch != epoch) {
        project_cache_drop(project);
        project_sync_start(project);
    } else if (project->cache->epoch_raise_due) {
        project_sync_start(project);
    } else if (clock_mono_ms() - project->cache->used_ms > IDLE_MS) {
        directory_remove(directory, project);
    }
}

static int epoch_read_run(struct task *task, void *arg)
{
    struct directory *directory = arg;
    struct rows rows;
    int64_t *numbers;
    size_t count = loaded_numbers(task->arena, directory, &numbers);

    directory->stats.epoch_reads++;
    struct db pulse = {.server = directory->epoch_server};
    int rc = db_query(task, &pulse, SQL_PROJECT_EPOCHS(.numbers = sql_i64s(numbers, count)), &rows);
    if (directory->closing)
        return 0;
    directory_control_record(directory, rc < 0 ? DB_UNAVAILABLE : rc);
    if (rc != 0)
        return PROJECT_UNAVAILABLE;

    int64_t *seen = ARENA_ARRAY(task->arena, seen, rows.count);
    for (size_t i = 0; i < rows.count; i++) {
        const struct sql_project_epochs_row row = sql_project_epochs_row(&rows, i);
        seen[i] = row.number;
        epoch_apply(directory, row.number, row.epoch);
    }
    if (rows.count > 1)
        qsort(seen, rows.count, sizeof(*seen), num_compare_i64);
    for (size_t i = 0; i < count; i++) { /* numbers missing in the result: deleted projects */
        struct project *project = directory_by_number(directory, numbers[i]);
        if (project != NULL &&
            (rows.count == 0 ||
             bsearch(&numbers[i], seen, rows.count, sizeof(*seen), num_compare_i64) == NULL))
            directory_remove(directory, project);
    }
    return 0;
}

static void epoch_read_end(void *arg)
{
    struct directory *directory = arg;

    directory->reader = NULL;
    if (directory->reader_repeat && !directory->closing)
        epoch_read_now(directory);
}

void epoch_read_now(struct directory *directory)
{
    directory->reader_repeat = directory->reader != NULL;
    if (directory->reader != NULL)
        return;
    directory->reader = singleflight_new(directory, READ_MS);
    singleflight_run(directory->reader, epoch_read_run, epoch_read_end, directory);
}

int epoch_wait_fresh(struct task *task, struct directory *directory)
{
    if (clock_mono_ms() - directory->control_read_ms <= EPOCH_STALE_MS)
        return 0;
    if (directory->control_failures > 0)
        return PROJECT_UNAVAILABLE;
    /* No read failed, so this process itself was suspended. One read decides. */
    if (directory->reader == NULL)
        epoch_read_now(directory);
    return singleflight_join(task, directory->reader);
}

int project_epoch_recheck(struct task *task, struct project *project, bool *ret_changed)
{
    struct directory *directory = project->cache->directory;
    int64_t before = project->epoch;

    epoch_read_now(directory);
    TRY(singleflight_join(task, directory->reader));
    if (directory->reader != NULL) /* the first read had begun before this call */
        TRY(singleflight_join(task, directory->reader));
    if (project->cache->sync != NULL)
        TRY(project_sync_wait(task, project));
    *ret_changed = project->epoch != before;
    if (*ret_changed)
        project_hold(task->arena, project);
    return 0;
}

/* --- the clock --- */

static int epoch_sweep_run(struct task *task, void *arg)
{
    directory_sweep(task, arg);
    return 0;
}

static void sweep_end(void *arg)
{
    struct directory *directory = arg;

    directory->sweeping = false;
}

static void epoch_on_tick(void *arg)
{
    struct directory *directory = arg;
    int64_t now_ms = clock_mono_ms();

    loop_timer_start(&directory->tick, EPOCH_READ_MS);
    if (directory->reader == NULL)
        epoch_read_now(directory);
    if (now_ms < directory->sweep_due_ms || directory->sweeping)
        return;
    directory->sweep_due_ms = now_ms + SWEEP_MS;
    directory->sweeping = true;
    singleflight_run(singleflight_new(directory, SWEEP_MS), epoch_sweep_run, sweep_end, directory);
}

void epoch_start(struct directory *directory)
{
    directory->sweep_due_ms = clock_mono_ms() + SWEEP_MS;
    loop_timer_init(&directory->tick, epoch_on_tick, directory);
    loop_timer_start(&directory->tick, EPOCH_READ_MS);
}

void epoch_stop(struct directory *directory)
{
    loop_timer_stop(&directory->tick);
}
