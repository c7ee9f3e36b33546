/* The memory budget for what jobs hold. */
#include "job_budget.h"

#include <errno.h>

#include "base/clock.h"
#include "quotas.h"
#include "runner_run_sql.h"

/* The part of the quota that a job of `bytes` needs. A job that holds more than a project's share
 * reserves the whole share. */
static uint64_t job_budget_of_bytes(size_t bytes)
{
    uint64_t most = quotas_large.config.per_owner;

    if (bytes <= LARGE_BYTES)
        return 0;
    return bytes < most ? bytes : most;
}

/* co: Reads one row of the job, and retries until the lease is over. JOB_LOST when the row is
 * gone. */
AWAITS static int read_budget_row(struct run *run, const struct sql *sql, struct rows *ret_rows)
{
    struct job *job = run->job;
    struct backoff pause = JOB_PAUSE;

    for (;;) {
        int rc = db_query(&job->item.task,
                          &job->item.db,
                          sql,
                          SQL_RUN_JOB_ARGS(.id = job->item.id, .token = job->item.token),
                          ret_rows);
        if (rc == 0)
            return ret_rows->count > 0 ? 0 : JOB_LOST;
        if (rc == DB_SCHEMA || rc == -ECANCELED)
            return JOB_LOST;
        if (rc > 0)
            rc = task_sleep(&job->item.task, backoff_next(&pause));
        if (rc != 0 || clock_mono_ms() >= job->item.lease_mono_ms)
            return queue_item_is_lost(&job->item) ? JOB_LOST : JOB_STORE_DOWN;
    }
}

int job_budget_acquire(struct run *run)
{
    struct job *job = run->job;
    const struct share_owner owner = {job->item.db.schema, 0};
    struct rows rows;

    if (!job->has_large_data && !job->resumed)
        return 0;
    TRY(read_budget_row(run, &SQL_RUN_SIZES, &rows));
    const struct sql_run_sizes_row sizes = sql_run_sizes_row(&rows, 0);
    uint64_t capacity = job_budget_of_bytes((size_t)(sizes.trigger_bytes + sizes.output_bytes));
    if (capacity > 0) {
        if (shares_acquire(
                &job->item.task, &quotas_large, owner, capacity, 0, &run->budget_share) != 0)
            return JOB_LOST;
        run->budget_bytes = capacity;
        if (queue_item_is_releasing(&job->item))
            return RUN_RELEASING;
    }
    if (!job->has_large_data)
        return 0;
    TRY(read_budget_row(run, &SQL_RUN_TRIGGER, &rows));
    job->trigger_data = arena_dup(job->item.arena, sql_run_trigger_row(&rows, 0).trigger_data);
    return 0;
}

bool job_budget_extend(struct run *run)
{
    const struct job *job = run->job;
    const struct share_owner owner = {job->item.db.schema, 0};
    uint64_t capacity = job_budget_of_bytes(job->trigger_data.len + run->output_bytes);

    if (capacity <= run->budget_bytes)
        return true;
    if (shares_try(&quotas_large, owner, capacity - run->budget_bytes, &run->budget_share) != 0)
        return false;
    run->budget_bytes = capacity;
    return true;
}

void job_budget_release(struct run *run)
{
    if (run->budget_bytes > 0)
        shares_release(&quotas_large, run->budget_share, run->budget_bytes);
    run->budget_bytes = 0;
}

int job_budget_temporary_acquire(struct task *task,
                                 uint64_t bytes,
                                 struct job_budget_temporary *ret_moment)
{
    *ret_moment = (struct job_budget_temporary){0};
    if (bytes <= LARGE_BYTES)
        return 0;
    if (bytes > quotas_temporary.config.limit)
        return BUDGET_EXCEEDED;
    int rc =
        shares_acquire(task, &quotas_temporary, share_owner_of(task), bytes, 0, &ret_moment->share);
    if (rc == 0)
        ret_moment->bytes = bytes;
    return rc == -EAGAIN ? -ETIMEDOUT : rc;
}

void job_budget_temporary_release(struct job_budget_temporary *moment)
{
    if (moment->bytes > 0)
        shares_release(&quotas_temporary, moment->share, moment->bytes);
    *moment = (struct job_budget_temporary){0};
}
