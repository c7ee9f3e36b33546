/* Reads the row of a job, as returned by its claim or by the tick that made the job. */
#include "base/clock.h"
#include "job.h"
#include "runner_claim_sql.h"
#include "runner_schedule_sql.h"

int64_t job_now_ms(const struct job *job)
{
    return job->claimed_ms + (clock_mono_ms() - job->item.claimed_mono_ms);
}

static void read_claimed(struct job *job)
{
    const struct sql_job_row row = sql_job_row(&job->item.rows, 0);

    job->workflow_id = row.workflow_id;
    job->version = (int)row.version;
    job->run = (int)row.run;
    job->attempt = (int)row.attempt;
    job->depth = (int)row.depth;
    job->resumed = row.resumed;
    job->resume_step = row.resume_step;
    job->trigger_kind = row.trigger_kind;
    job->trigger_event = row.trigger_event;
    job->trigger_entity = row.trigger_entity;
    job->trigger_id = row.trigger_id.value;
    job->trigger_data = row.trigger_data;
    job->traceparent = row.trace;
    job->claimed_ms = row.claimed_at;
    job->trigger_entity_id = row.trigger_entity_id.value;
    job->trigger_at_ms = row.trigger_at;
    job->orphan = row.orphan;
    job->root = row.root;
    job->disabled = row.disabled;
    job->has_large_data = row.has_data && row.trigger_data.ptr == NULL;
}

/* Reads the row of a job that a tick has just made. Its other members keep their zero values. */
static void read_ticked(struct job *job)
{
    const struct sql_schedule_tick_row row = sql_schedule_tick_row(&job->item.rows, 0);

    job->workflow_id = row.workflow_id.value;
    job->version = (int)row.version.value;
    job->run = 1;
    job->attempt = 1;
    job->trigger_kind = str_from(trigger_kind_name(TRIGGER_TIMED));
    job->trigger_at_ms = row.trigger_at;
    job->claimed_ms = row.claimed_at;
    job->root = -job->item.id;
}

void job_read(struct queue_item *item)
{
    struct job *job = CONTAINER_OF(item, struct job, item);

    list_init(&job->begin_link);
    if (rows_have_shape(&item->rows, &sql_job_shape))
        read_claimed(job);
    else
        read_ticked(job);
}
