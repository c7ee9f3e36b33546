/*
 * Runs a job from claim to end: definition, secrets, history, then one step after the other.
 */
#include "run.h"
#include "context.h"

#include <errno.h>
#include <stdlib.h>

#include "app.h"
#include "base/clock.h"
#include "base/panic.h"
#include "base/utf8.h"
#include "begin.h"
#include "job_budget.h"
#include "json/jr.h"
#include "json/jw.h"
#include "ledger.h"
#include "log/log.h"
#include "trigger_rights.h"
#include "work.h"

#define PENDING_MS     1000 /* older pending rows are written when the next step ends */
#define PENDING_BYTES  ((size_t)1 << 20) /* history that waits, at most, plus one step's rows */
#define ERROR_BYTES    ((size_t)64 << 10)
#define MESSAGE_BYTES  2000
#define STEPS_OF_A_JOB (2 * STEPS_MAX)

/* --- rows and ends --- */

void run_add_pending(struct run *run, const struct ledger_step *row)
{
    struct arena *arena = run->job->item.arena;

    if (run->pending_count == 0)
        run->pending_since_ms = clock_mono_ms();
    ARENA_PUSH(arena, run->pending, run->pending_count, run->pending_cap, *row);
}

static bool is_time_to_write(const struct run *run)
{
    size_t bytes = 0;

    for (size_t i = 0; i < run->pending_count; i++) {
        const struct ledger_step *row = &run->pending[i];
        bytes += row->input.len + row->output.len + row->error.len + row->log.len;
    }
    return bytes > PENDING_BYTES ||
           (run->pending_count > 0 && clock_mono_ms() - run->pending_since_ms > PENDING_MS);
}

struct str run_job_error(
    struct run *run, struct str key, const char *code, long status_code, struct str message)
{
    struct strbuf out;
    struct jw w;

    strbuf_init(&out, run->job->item.arena, ERROR_BYTES);
    jw_init(&w, &out);
    jw_obj(&w);
    jw_lit(&w, "step_key");
    if (key.len)
        jw_str(&w, key);
    else
        jw_null(&w);
    JW_CSTR(&w, "code", code);
    jw_lit(&w, "status_code");
    if (status_code != 0)
        jw_i64(&w, status_code);
    else
        jw_null(&w);
    JW_STR(&w, "message", utf8_cut(message, MESSAGE_BYTES));
    jw_obj_end(&w);
    MUST(!out.overflow);
    return strbuf_view(&out);
}

AWAITS static int run_write_all(struct run *run, enum status status, struct str error)
{
    const struct ledger_entry entry = {
        .steps = run->pending,
        .count = run->pending_count,
        .status = status,
        .error = error,
    };

    TRY(ledger_write(run->job, &entry));
    run->pending_count = 0;
    return 0;
}

static void log_job_failed(const struct job *job, int rc)
{
    log_error("job.failed",
              L_I64("job", job->item.id),
              L_RESULT("error", rc),
              L_AT(&job->item.task.site, rc));
}

/* co: Fails a job whose pending rows cannot be stored. Its pending steps are stored as failed,
 * without input, output and log, so that none of them appears to be under way. */
AWAITS static int fail_unstored(struct run *run, int why)
{
    static const char error[] =
        "{\"code\":\"internal\",\"message\":\"The results of this step could not be stored.\"}";

    log_job_failed(run->job, why);
    for (size_t i = 0; i < run->pending_count; i++) {
        struct ledger_step *row = &run->pending[i];
        row->input = row->output = row->log = STR_NONE;
        row->error = STR_NONE;
        if (row->status == STATUS_STEP_SKIPPED)
            continue;
        row->status = STATUS_STEP_FAILED;
        row->error = STR(error);
    }
    int rc = run_write_all(run,
                           STATUS_JOB_FAILED,
                           run_job_error(run,
                                         STR_NONE,
                                         problem_code(PROBLEM_INTERNAL),
                                         0,
                                         STR("The results of a step could not be stored.")));
    run->pending_count = 0;
    if (rc < 0)
        return JOB_STORE_DOWN;
    return rc > 0 ? rc : RUN_ENDED_FAILED;
}

AWAITS static int fail_job(struct run *run, struct str error)
{
    int rc = run_write_all(run, STATUS_JOB_FAILED, error);

    if (rc < 0)
        return fail_unstored(run, rc);
    return rc > 0 ? rc : RUN_ENDED_FAILED;
}

AWAITS static int
run_fail_with(struct run *run, struct str key, enum problem problem, struct str message)
{
    return fail_job(run, run_job_error(run, key, problem_code(problem), 0, message));
}

AWAITS static int succeed_job(struct run *run)
{
    int rc = run->finished ? 0 : run_write_all(run, STATUS_JOB_SUCCEEDED, STR_NONE);

    if (rc < 0)
        return fail_unstored(run, rc);
    return rc > 0 ? rc : RUN_SUCCEEDED;
}

AWAITS static int skip_job(struct run *run, struct str reason)
{
    const struct ledger_entry entry = {.status = STATUS_JOB_SKIPPED, .reason = reason};
    int rc = ledger_write(run->job, &entry);

    if (rc < 0)
        return fail_unstored(run, rc);
    return rc > 0 ? rc : RUN_SKIPPED;
}

AWAITS static int release_job(struct run *run)
{
    int rc = run_write_all(run, STATUS_JOB_QUEUED, STR_NONE);

    if (rc < 0)
        return fail_unstored(run, rc);
    return rc > 0 ? rc : RUN_RELEASED;
}

/* --- before the first step --- */

/* co: Pauses before a retry. 0, JOB_LOST (cancelled), or JOB_STORE_DOWN (the lease is over). */
AWAITS static int pause_retry(struct job *job, struct backoff *pause)
{
    if (clock_mono_ms() >= job->item.lease_mono_ms)
        return JOB_STORE_DOWN;
    return task_sleep(&job->item.task, backoff_next(pause)) == 0 ? 0 : JOB_LOST;
}

/* co: Finds the project of a job that was claimed without it. */
AWAITS static int run_find_project(struct job *job)
{
    struct backoff pause = JOB_PAUSE;

    while (job->item.project == NULL) {
        int rc = project_find_number(
            &job->item.task, runner_directory(), job->item.db.schema, &job->item.project);
        if (rc == 0)
            break;
        job->item.project = NULL;
        if (rc == PROJECT_NOT_FOUND || rc == -ECANCELED)
            return JOB_LOST;
        TRY(pause_retry(job, &pause));
    }
    job->item.task.log.project = job->item.project->slug;
    job->item.task.project = job->item.project->number;
    return 0;
}

AWAITS static int run_load_version(struct run *run)
{
    struct backoff pause = JOB_PAUSE;

    for (;;) {
        int rc = definition_find(run->job, &run->version);
        if (rc == DEFINITION_NOT_FOUND)
            return run_fail_with(
                run, STR_NONE, PROBLEM_WORKFLOW_GONE, STR("The workflow no longer exists."));
        if (rc == 0 && run->version->invalid.ptr != NULL)
            return run_fail_with(run, STR_NONE, PROBLEM_WORKFLOW_INVALID, run->version->invalid);
        if (rc == 0)
            return 0;
        if (rc == -ECANCELED)
            return JOB_LOST;
        TRY(pause_retry(run->job, &pause));
    }
}

AWAITS static int open_secrets(struct run *run)
{
    const struct workflow_version *version = run->version;
    struct job *job = run->job;
    struct backoff pause = JOB_PAUSE;

    if (version->secret_count == 0)
        return 0;
    for (;;) {
        int rc = secrets_open(&job->item.task,
                              job->item.project,
                              version->secrets,
                              version->secret_count,
                              &run->secrets);
        if (rc == 0)
            return 0;
        if (rc == SECRETS_UNREADABLE)
            return run_fail_with(run,
                                 STR_NONE,
                                 PROBLEM_SECRET_UNREADABLE,
                                 STR("A secret of this workflow cannot be decrypted."));
        if (rc == -ECANCELED)
            return JOB_LOST;
        TRY(pause_retry(run->job, &pause));
    }
}

AWAITS static int run_check_trigger(struct run *run)
{
    struct backoff pause = JOB_PAUSE;

    for (;;) {
        int rc = trigger_rights(run);
        if (rc == TRIGGER_NOT_PERMITTED)
            return skip_job(run, STR("not_permitted"));
        if (rc == TRIGGER_NO_EDITOR)
            return run_fail_with(run,
                                 STR_NONE,
                                 PROBLEM_EDITOR_GONE,
                                 STR("The workflow's last editor may no longer sign in."));
        if (rc == -ECANCELED)
            return JOB_LOST;
        if (rc == 0)
            return 0;
        TRY(pause_retry(run->job, &pause));
    }
}

AWAITS static int prepare_job(struct run *run)
{
    if (run->job->disabled && !run->job->orphan)
        return skip_job(run, str_from(problem_code(PROBLEM_WORKFLOW_DISABLED)));
    TRY(run_find_project(run->job));
    int rc = job_budget_acquire(run);
    if (rc == RUN_RELEASING)
        return release_job(run);
    TRY(rc);
    TRY(run_load_version(run));
    TRY(open_secrets(run));
    if (!context_init(run)) {
        log_job_failed(run->job, ERROR(-EINVAL));
        return run_fail_with(
            run, STR_NONE, PROBLEM_INTERNAL, STR("The data of the trigger cannot be read."));
    }
    TRY(run_check_trigger(run));
    if (!run->job->resumed)
        return 0;
    rc = context_history(run);
    if (rc >= 0)
        return rc;
    log_job_failed(run->job, rc);
    return run_fail_with(
        run, STR_NONE, PROBLEM_INTERNAL, STR("The history of the job cannot be read."));
}

/* --- steps --- */

static int find_start(const struct run *run)
{
    const struct definition *definition = &run->version->definition;
    struct str wanted = run->job->resume_step;

    if (wanted.len == 0)
        return definition->start;
    for (size_t i = 0; i < definition->step_count; i++)
        if (str_eq(definition->steps[i].key, wanted))
            return (int)i;
    return STEP_NONE;
}

static void skip_disabled_step(struct run *run, const struct step *step, int *ret_next)
{
    int64_t now = job_now_ms(run->job);
    const struct ledger_step row = {
        .seq = ++run->seq,
        .key = step->key,
        .action = step->action,
        .status = STATUS_STEP_SKIPPED,
        .started_ms = now,
        .finished_ms = now,
    };

    run_add_pending(run, &row);
    *ret_next = run_next(step, true);
}

/* Ends a step that had been sent when its runner's lease ended. Its outcome is unknown. Returns the
 * step's error. */
static json_t *
interrupt_step(struct run *run, const struct step *step, const struct step_history *history)
{
    static const char text[] =
        "{\"code\":\"interrupted\",\"message\":\"The runner stopped after this "
        "step had been sent. The step is not sent again.\"}";
    struct ledger_step row = {
        .seq = history->seq,
        .key = step->key,
        .action = step->action,
        .status = STATUS_STEP_INTERRUPTED,
        .started_ms = history->started_ms,
        .finished_ms = job_now_ms(run->job),
        .input = history->input,
        .error = STR(text),
    };
    struct jr_error ignored;
    json_t *error;

    MUST(jr_parse(run->job->item.arena, row.error, &error, &ignored) == 0);
    run_add_pending(run, &row);
    context_error(run, step->key, error);
    return error;
}

/* Continues after a step that ran before this runner had the job. The context has its result. */
static void replay_step(struct run *run,
                        const struct step *step,
                        const struct step_history *history,
                        int *ret_next)
{
    const json_t *data = json_object_get(history->output, "data");
    const json_t *error = history->error;

    if (history->status == STATUS_STEP_SUCCEEDED || history->status == STATUS_STEP_SKIPPED) {
        bool holds =
            history->status == STATUS_STEP_SKIPPED || json_is_true(json_object_get(data, "result"));
        *ret_next = run_next(step, holds);
        return;
    }
    if (history->status == STATUS_STEP_SENT)
        error = interrupt_step(run, step, history);
    *ret_next = step->on_failure;
    if (step->on_failure != STEP_NONE)
        return;
    struct str code = jr_str(error, "code");
    run->error = run_job_error(run,
                               step->key,
                               code.len ? arena_cstr(run->job->item.arena, code)
                                        : problem_code(PROBLEM_INTERNAL),
                               (long)jr_i64(error, "status_code", 0),
                               jr_str(error, "message"));
    *ret_next = RUN_FAILED;
}

AWAITS static int replay_or_run_step(struct run *run, int at, int *ret_next)
{
    const struct step *step = &run->version->definition.steps[at];
    const struct step_history *history = context_find_history(run, step->key);

    if (history != NULL) {
        replay_step(run, step, history, ret_next);
        return 0;
    }
    if (!step->enabled) {
        skip_disabled_step(run, step, ret_next);
        return 0;
    }
    return run_step(run, step, ret_next);
}

AWAITS static int run_steps(struct run *run)
{
    const struct job *job = run->job;
    int at = find_start(run);

    if (at == STEP_NONE)
        return run_fail_with(run,
                             job->resume_step,
                             PROBLEM_WORKFLOW_INVALID,
                             STR("The workflow has no step with this key."));
    for (int steps = 0; at >= 0; steps++) {
        if (queue_item_is_lost(&job->item))
            return JOB_LOST;
        if (queue_item_is_releasing(&job->item))
            return release_job(run);
        if (steps == STEPS_OF_A_JOB)
            return run_fail_with(
                run, STR_NONE, PROBLEM_WORKFLOW_INVALID, STR("The job has run too many steps."));
        int rc = replay_or_run_step(run, at, &at);
        if (rc == 0 && at >= 0 && is_time_to_write(run))
            rc = run_write_all(run, STATUS_NONE, STR_NONE);
        if (rc < 0)
            return fail_unstored(run, rc);
        if (rc == RUN_RELEASING)
            return release_job(run);
        if (rc > 0)
            return rc;
        if (at >= 0 && !job_budget_extend(run))
            return release_job(run);
    }
    return at == RUN_FAILED ? fail_job(run, run->error) : succeed_job(run);
}

/* --- life --- */

static enum queue_outcome queue_outcome_of_run(const struct job *job, int rc)
{
    struct work_stats *stats = work_stats();

    switch (rc) {
    case RUN_SUCCEEDED:
        stats->succeeded++;
        return QUEUE_DONE;
    case RUN_ENDED_FAILED:
        stats->failed++;
        return QUEUE_DONE;
    case RUN_SKIPPED:
        stats->skipped++;
        return QUEUE_DONE;
    case RUN_RELEASED:
        return QUEUE_RELEASED;
    default:
        log_debug("job.left", L_I64("job", job->item.id), L_RESULT("outcome", rc));
        return QUEUE_UNKNOWN;
    }
}

enum queue_outcome job_run(struct task *task, struct queue_item *item)
{
    struct job *job = CONTAINER_OF(item, struct job, item);
    struct run *run = ARENA_NEW(task->arena, run);

    run->job = job;
    run->step_arena = arena_new(0);
    int rc = prepare_job(run);
    if (rc == 0)
        rc = run_steps(run);
    arena_free(run->step_arena);
    job_budget_release(run);
    begin_ended(job);
    return queue_outcome_of_run(job, rc);
}
