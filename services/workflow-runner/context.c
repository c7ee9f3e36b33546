/*
 * The values that templates of a job can read: {"trigger", "steps", "workflow", "job"}. Callers
 * pass outputs and errors in which secrets are masked, so later steps read the stored values.
 */
#include "context.h"

#include <errno.h>

#include "base/clock.h"
#include "base/panic.h"
#include "json/jr_off_thread.h"
#include "log/log.h"
#include "run.h"
#include "runner_run_sql.h"

static json_t *trigger_json(const struct job *job, json_t *data)
{
    json_t *trigger = json_object();
    char at[CLOCK_TEXT_BYTES];

    (void)json_object_set_new(trigger, "kind", jr_text(job->trigger_kind));
    (void)json_object_set_new(trigger, "event", jr_text(job->trigger_event));
    (void)json_object_set_new(trigger, "entity_name", jr_text(job->trigger_entity));
    (void)json_object_set_new(trigger, "id", json_integer(job->trigger_id));
    (void)json_object_set_new(
        trigger,
        "at",
        job->trigger_at_ms != 0 ? json_string(clock_format(at, job->trigger_at_ms)) : json_null());
    if (data != NULL)
        (void)json_object_set(trigger, "data", data);
    else if (str_is(job->trigger_kind, trigger_kind_name(TRIGGER_TIMED)) ||
             str_is(job->trigger_kind, trigger_kind_name(TRIGGER_MANUAL)))
        (void)json_object_set(trigger, "data", template_no_payload());
    else
        (void)json_object_set_new(trigger, "data", json_object());
    return trigger;
}

bool context_init(struct run *run)
{
    const struct job *job = run->job;
    json_t *workflow = json_object();
    json_t *self = json_object();
    struct jr_error error;
    json_t *data = NULL;

    run->root = jr_attach(job->item.arena, json_object());
    MUST(workflow != NULL && self != NULL);
    (void)json_object_set_new(workflow, "id", json_integer(job->workflow_id));
    (void)json_object_set_new(workflow, "name", jr_text(run->version->definition.name));
    (void)json_object_set_new(self, "id", json_integer(job->item.id));
    (void)json_object_set_new(run->root, "workflow", workflow);
    (void)json_object_set_new(run->root, "job", self);
    run->steps = json_object();
    (void)json_object_set_new(run->root, "steps", run->steps);
    if (job->trigger_data.len &&
        jr_parse_off_thread(
            &run->job->item.task, job->item.arena, job->trigger_data, true, &data, &error) != 0)
        return false;
    (void)json_object_set_new(run->root, "trigger", trigger_json(job, data));
    return true;
}

void context_output(struct run *run, struct str key, json_t *output)
{
    (void)json_object_setn(run->steps, key.ptr, key.len, output);
}

void context_error(struct run *run, struct str key, json_t *error)
{
    json_t *step = json_object();

    (void)json_object_set(step, "error", error);
    (void)json_object_setn_new(run->steps, key.ptr, key.len, step);
}

/* --- history --- */

AWAITS static bool parse_member(struct run *run, struct str text, json_t **ret_value)
{
    struct jr_error error;

    *ret_value = NULL;
    return text.ptr == NULL ||
           jr_parse_off_thread(
               &run->job->item.task, run->job->item.arena, text, true, ret_value, &error) == 0;
}

AWAITS static bool add_history_row(struct run *run, const struct sql_run_history_row *row)
{
    struct step_history *history = &run->history[run->history_count++];

    *history = (struct step_history){
        .key = row->key,
        .seq = (int)row->seq,
        .run = (int)row->run,
        .status = status_read(STATUS_OF_STEP, row->status),
        .input = row->input,
        .started_ms = row->started_at,
    };
    run->output_bytes += row->output.len;
    if (!parse_member(run, row->output, &history->output) ||
        !parse_member(run, row->error, &history->error))
        return false;
    if (history->output != NULL && history->status == STATUS_STEP_SUCCEEDED)
        context_output(run, history->key, history->output);
    else if (history->error != NULL)
        context_error(run, history->key, history->error);
    return true;
}

/* co: Runs the statements, and retries until the lease is over. */
AWAITS static int read_rows(struct run *run, struct db_call *calls, size_t count)
{
    struct job *job = run->job;
    struct backoff pause = JOB_PAUSE;

    for (;;) {
        int rc = db_batch(&job->item.task, &job->item.db, calls, count, NULL);
        if (rc == 0)
            return 0;
        if (rc == DB_SCHEMA || rc == -ECANCELED)
            return JOB_LOST;
        if (rc > 0)
            rc = task_sleep(&job->item.task, backoff_next(&pause));
        if (rc != 0)
            return queue_item_is_lost(&job->item) ? JOB_LOST : JOB_STORE_DOWN;
    }
}

int context_history(struct run *run)
{
    const struct job *job = run->job;
    struct db_call calls[] = {
        db_call(SQL_RUN_HISTORY(.job_id = job->item.id,
                                .run = job->run,
                                .resume_step = job->resume_step.len ? job->resume_step : STR_NONE)),
        db_call(SQL_RUN_LAST_SEQ(.job_id = job->item.id)),
    };

    TRY(read_rows(run, calls, ARRAY_LEN(calls)));
    const struct rows *rows = &calls[0].rows;
    run->seq = (int)sql_run_last_seq_row(&calls[1].rows, 0).seq;
    run->history = ARENA_ARRAY(job->item.arena, run->history, rows->count);
    for (size_t i = 0; i < rows->count; i++) {
        const struct sql_run_history_row row = sql_run_history_row(rows, i);
        if (!add_history_row(run, &row))
            return ERROR(-EINVAL);
    }
    return 0;
}

const struct step_history *context_find_history(const struct run *run, struct str key)
{
    for (size_t i = 0; i < run->history_count; i++) {
        const struct step_history *history = &run->history[i];
        if (history->run == run->job->run && str_eq(history->key, key))
            return history;
    }
    return NULL;
}
