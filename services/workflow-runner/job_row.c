/* A job's row as its claim returned it. */
#include "base/clock.h"
#include "job.h"

/* Columns of claim_jobs, in its order. */
enum {
    C_ID, /* the queue's */
    C_WORKFLOW_ID,
    C_TOKEN, /* the queue's */
    C_VERSION,
    C_RUN,
    C_ATTEMPT,
    C_DEPTH,
    C_RESUMED,
    C_RESUME_STEP,
    C_TRIGGER_KIND,
    C_TRIGGER_EVENT,
    C_TRIGGER_ENTITY,
    C_TRIGGER_ID,
    C_TRIGGER_DATA,
    C_TRACE,
    C_CLAIMED_AT,
    C_TRIGGER_ENTITY_ID,
    C_TRIGGER_AT,
    C_ORPHAN,
    C_ROOT,
    C_DISABLED,
    C_HAS_DATA,
};

int64_t job_now_ms(const struct job *job)
{
    return job->claimed_ms + (clock_mono_ms() - job->item.claimed_mono_ms);
}

void job_read(struct queue_item *item)
{
    struct job *job = CONTAINER_OF(item, struct job, item);
    const struct rows *row = &item->rows;

    list_init(&job->turn);
    job->workflow_id = rows_i64(row, 0, C_WORKFLOW_ID);
    job->version = (int)rows_i64(row, 0, C_VERSION);
    job->run = (int)rows_i64(row, 0, C_RUN);
    job->attempt = (int)rows_i64(row, 0, C_ATTEMPT);
    job->depth = (int)rows_i64(row, 0, C_DEPTH);
    job->resumed = rows_bool(row, 0, C_RESUMED);
    job->resume_step = rows_str(row, 0, C_RESUME_STEP);
    job->trigger_kind = rows_str(row, 0, C_TRIGGER_KIND);
    job->trigger_event = rows_str(row, 0, C_TRIGGER_EVENT);
    job->trigger_entity = rows_str(row, 0, C_TRIGGER_ENTITY);
    job->trigger_id = rows_i64(row, 0, C_TRIGGER_ID);
    job->trigger_data = rows_str(row, 0, C_TRIGGER_DATA);
    job->traceparent = rows_str(row, 0, C_TRACE);
    job->claimed_ms = rows_time(row, 0, C_CLAIMED_AT);
    job->trigger_entity_id = rows_i64(row, 0, C_TRIGGER_ENTITY_ID);
    job->trigger_at_ms = rows_time(row, 0, C_TRIGGER_AT);
    job->orphan = rows_bool(row, 0, C_ORPHAN);
    job->root = rows_i64(row, 0, C_ROOT);
    job->disabled = rows_bool(row, 0, C_DISABLED);
    job->large = job->trigger_data.ptr == NULL && rows_bool(row, 0, C_HAS_DATA);
}
