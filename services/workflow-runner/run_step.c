/*
 * Runs one step: prepares it, runs its action, masks and writes the results. Changes of the
 * database commit together with the history row that records them. A `sent` row is committed before
 * an action that cannot be repeated. Every other step may run again.
 */
#include "run_step.h"

#include <errno.h>

#include "app.h"
#include "base/clock.h"
#include "base/panic.h"
#include "context.h"
#include "json/jr.h"
#include "ledger.h"
#include "log/log.h"
#include "project/events.h"
#include "project/project.h"
#include "quotas.h"
#include "step_row.h"

static const struct action {
    step_fn fn;
    enum {
        PLAIN,
        COMPUTES,   /* in a process of the pool of scripts */
        WRITES,     /* writes records of an entity, in the step's transaction */
        SENDS,      /* sends something out of the process, at most once */
        HANDS_OVER, /* its effect is a row that the action writes itself, and finds again by the
                       step's number */
    } kind;
} actions[STEP_ACTIONS] = {
#define STEP(constant, action, function, kind, seconds, about) [constant] = {function, kind},
#include "catalog/step.def"
};

int run_next(const struct step *step, bool holds)
{
    if (step->action == STEP_CONDITION)
        return holds ? step->on_true : step->on_false;
    return step->next;
}

/* --- functions for actions --- */

static int stop_step(struct step_call *call, int why)
{
    call->run->stop_reason = why;
    return STEP_STOP;
}

/* Retries until the step's time is over, because nothing has happened yet. */
int step_begin(struct step_call *call)
{
    struct backoff pause = JOB_PAUSE;

    for (;;) {
        int rc = ledger_begin(call->job, call->task, &call->tx);
        if (rc == 0)
            return 0;
        if (rc == JOB_LOST)
            return stop_step(call, rc);
        if (rc < 0)
            return rc;
        TRY(task_sleep(call->task, backoff_next(&pause)));
    }
}

int step_sent(struct step_call *call)
{
    const struct ledger_step row = {
        .seq = call->seq,
        .key = call->step->key,
        .action = call->step->action,
        .status = STATUS_STEP_SENT,
        .started_ms = call->started_ms,
        .input = step_input_text(call),
    };
    struct run *run = call->run;

    run_add_pending(run, &row);
    const struct ledger_entry entry = {.steps = run->pending, .count = run->pending_count};
    int rc = ledger_write(call->job, &entry);
    if (rc > 0)
        return stop_step(call, rc);
    if (rc < 0)
        return rc;
    run->pending_count = 0;
    call->sent = true;
    /* Send nothing when another runner has taken the job, or when the lease is over. */
    if (queue_item_is_lost(&call->job->item) || clock_mono_ms() >= call->job->item.lease_mono_ms)
        return stop_step(call, JOB_LOST);
    return 0;
}

/* --- before --- */

/* Reads the project again, because its model may have changed since the last step. RUN_RETRY while
 * it cannot be read. */
AWAITS static int refresh_project(struct step_call *call)
{
    struct job *job = call->job;
    struct project *project;

    int rc =
        project_find_number(call->task, runner_directory(), job->item.project->number, &project);
    if (rc == PROJECT_NOT_FOUND)
        return stop_step(call, JOB_LOST);
    if (rc != 0)
        return rc > 0 ? RUN_RETRY : rc;
    if (project != job->item.project) {
        project_hold(job->item.arena, project);
        job->item.project = project;
    }
    return 0;
}

/* Finds the workflow's last editor: a job may do what this editor may do now. RUN_RETRY while the
 * rights cannot be read. */
AWAITS static int find_caller(struct step_call *call)
{
    const struct workflow_version *version = call->run->version;
    struct caller *caller = ARENA_NEW(call->task->arena, caller);

    *caller = (struct caller){
        .kind = version->editor_key_id != 0 ? CALLER_KEY : CALLER_USER,
        .user_id = version->editor_id,
        .key_id = version->editor_key_id,
    };
    int rc = project_rights(call->task,
                            call->job->item.project,
                            version->editor_id,
                            version->editor_key_id,
                            &caller->rights);
    if (rc == RIGHTS_NOT_FOUND || (rc == 0 && !caller->rights->active))
        return step_fail(
            call, PROBLEM_EDITOR_GONE, "The workflow's last editor may no longer sign in.");
    call->caller = caller;
    return rc > 0 ? RUN_RETRY : rc;
}

/* Waits for one unit of a shared quota. The step's time begins after the wait. */
AWAITS static int acquire_quota(struct step_call *call, struct shares *shares, int64_t part)
{
    const struct share_owner owner = {call->job->item.project->number, part};
    int64_t deadline_ms = call->task->deadline_ms;
    int64_t since_ms = clock_mono_ms();
    struct share *share;

    call->task->deadline_ms = 0;
    TRY(shares_acquire(call->task, shares, owner, 1, 0, &share));
    call->shares = shares;
    call->share = share;
    call->waited_ms = clock_mono_ms() - since_ms;
    call->task->deadline_ms = deadline_ms + call->waited_ms;
    return queue_item_is_releasing(&call->job->item) ? RUN_RELEASING : 0;
}

AWAITS static int acquire_step_quota(struct step_call *call)
{
    const struct entity *entity;

    switch (actions[call->step->action].kind) {
    case COMPUTES:
        return acquire_quota(call, &quotas_scripts, 0);
    case SENDS:
        return acquire_quota(call, &quotas_calls, 0);
    case WRITES:
        entity = model_entity(call->job->item.project->model, jr_str(call->step->params, "entity"));
        return acquire_quota(call, &quotas_writes, entity != NULL ? entity->id : 0);
    default:
        return 0;
    }
}

AWAITS static int prepare_and_run_action(struct step_call *call)
{
    call->run->unprepared = true;
    TRY(refresh_project(call));
    TRY(acquire_step_quota(call));
    if (call->waited_ms > 0) /* the model may have changed */
        TRY(refresh_project(call));
    TRY(find_caller(call));
    call->run->unprepared = false;
    return actions[call->step->action].fn(call);
}

/* --- after --- */

static struct str
job_error(struct run *run, const struct step_call *call, const struct step_outcome *outcome)
{
    const json_t *message = json_object_get(outcome->error, "message");

    return run_job_error(run,
                         call->step->key,
                         call->error.code,
                         call->error.status_code,
                         (struct str){json_string_value(message), json_string_length(message)});
}

/* Puts the result of a stored or pending step into the context, and finds the next step. */
static void
apply_step_outcome(struct step_call *call, const struct step_outcome *outcome, int *ret_next)
{
    struct run *run = call->run;
    const struct step *step = call->step;

    run->seq = call->seq;
    run->output_bytes += outcome->output_bytes;
    if (outcome->error == NULL) {
        context_output(run, step->key, outcome->output);
        *ret_next = run_next(step, call->holds);
        return;
    }
    context_error(run, step->key, outcome->error);
    *ret_next = step->on_failure;
    if (step->on_failure == STEP_NONE || problem_find(call->error.code) == PROBLEM_EDITOR_GONE) {
        *ret_next = RUN_FAILED;
        run->error = job_error(run, call, outcome);
    }
}

/* co: Commits the step's effect and its history in one transaction, and the job's end too when this
 * was the last step. RUN_RETRY when nothing was committed. */
AWAITS static int commit_step(struct step_call *call, const struct step_outcome *outcome)
{
    struct run *run = call->run;
    size_t waiting = run->pending_count;
    bool last = run_next(call->step, call->holds) == STEP_NONE;
    bool committed = false;

    run_add_pending(run, &outcome->row);
    const struct ledger_entry entry = {
        .steps = run->pending,
        .count = run->pending_count,
        .status = last ? STATUS_JOB_SUCCEEDED : STATUS_NONE,
    };
    int rc = ledger_write_tx(call->job, call->tx, &entry);
    if (rc == 0)
        rc = ledger_commit(call->job, call->task, call->tx, call->seq, &committed);
    if (rc == 0 && committed) {
        run->pending_count = 0;
        run->finished = last;
        if (call->notify_events)
            events_notify(runner_directory(), call->job->item.project);
        return 0;
    }
    run->pending_count = waiting;
    db_rollback(call->tx);
    return rc == JOB_STORE_DOWN || rc == 0 ? RUN_RETRY : rc;
}

/* Whether the failure may pass in a moment, and the step has sent nothing yet. */
static bool may_repeat(const struct step_call *call, int rc, int64_t deadline_ms)
{
    enum problem problem = problem_find(call->error.code);

    return rc == STEP_FAILED && !call->sent &&
           (problem == PROBLEM_DEPENDENCY_UNAVAILABLE ||
            problem == PROBLEM_TOO_MANY_REQUESTS_IN_FLIGHT) &&
           clock_mono_ms() + JOB_PAUSE.most_ms < deadline_ms;
}

static void log_step_failed(const struct step_call *call, int rc)
{
    log_error("step.failed",
              L_I64("job", call->job->item.id),
              L_STR("step", call->step->key),
              L_RESULT("error", rc),
              L_AT(&call->task->site, rc));
}

static int fail_internal(struct step_call *call, int rc)
{
    log_step_failed(call, rc);
    return step_fail(call, PROBLEM_INTERNAL, "The step could not be run.");
}

/* co: Translates an action's result into 0, STEP_FAILED, RUN_RETRY, or what ends the job. */
AWAITS static int translate_action_result(struct step_call *call, int rc, int64_t deadline_ms)
{
    struct job *job = call->job;

    call->task->deadline_ms = 0; /* bookkeeping has its own limits */
    if (queue_item_is_lost(&job->item))
        return JOB_LOST;
    if (rc == STEP_STOP)
        return call->run->stop_reason != 0 ? call->run->stop_reason : JOB_STORE_DOWN;
    if (rc == -ECANCELED)
        return JOB_LOST;
    if (rc == RUN_RETRY || may_repeat(call, rc, deadline_ms))
        return RUN_RETRY;
    if (rc == -ETIMEDOUT)
        rc = step_fail(call,
                       PROBLEM_TIMEOUT,
                       "The step did not end within %lld ms.",
                       (long long)call->step->timeout_ms);
    else if (rc < 0)
        rc = fail_internal(call, rc);
    else if (rc == STEP_FAILED && problem_find(call->error.code) == PROBLEM_INTERNAL)
        log_step_failed(call, call->task->site.rc);
    return rc;
}

/* --- attempts --- */

/* co: Makes the result of an action the step's history. */
AWAITS static int conclude_step(struct step_call *call, int rc, int *ret_next)
{
    struct step_outcome outcome;

    if (rc != 0 && rc != STEP_FAILED) {
        if (call->tx != NULL)
            db_rollback(call->tx);
        return rc;
    }
    rc = step_settle(call, rc, &outcome);
    if (rc != 0 && call->tx != NULL)
        db_rollback(call->tx);
    if (rc == 0 && call->tx != NULL)
        TRY(commit_step(call, &outcome));
    else
        run_add_pending(call->run, &outcome.row);
    apply_step_outcome(call, &outcome, ret_next);
    return 0;
}

/* Adds to *deadline_ms the time that the step waited for a quota. */
AWAITS static int
run_step_attempt(struct run *run, const struct step *step, int64_t *deadline_ms, int *ret_next)
{
    struct job *job = run->job;
    struct step_call *call = ARENA_NEW(run->step_arena, call);

    *call = (struct step_call){
        .run = run,
        .task = &job->item.task,
        .job = job,
        .definition = &run->version->definition,
        .step = step,
        .seq = run->seq + 1,
        .started_ms = job_now_ms(job),
        .context = run->root,
        .secrets = run->secrets,
    };
    run->stop_reason = 0;
    job->item.task.site.rc = 0;
    secrets_reset_used(run->secrets);
    job->item.task.deadline_ms = *deadline_ms;
    int rc = prepare_and_run_action(call);
    *deadline_ms += call->waited_ms;
    rc = conclude_step(call, translate_action_result(call, rc, *deadline_ms), ret_next);
    if (call->share != NULL)
        shares_release(call->shares, call->share, 1);
    return rc;
}

/* co: Stores the pending rows. Called where a step's number must keep its meaning: after a crash,
 * the number of a row that was not stored would be given to another step. */
AWAITS static int write_pending_rows(struct run *run)
{
    const struct ledger_entry entry = {.steps = run->pending, .count = run->pending_count};

    if (run->pending_count == 0)
        return 0;
    TRY(ledger_write(run->job, &entry));
    run->pending_count = 0;
    return 0;
}

int run_step(struct run *run, const struct step *step, int *ret_next)
{
    struct job *job = run->job;
    int64_t deadline_ms = clock_mono_ms() + step->timeout_ms;
    struct backoff pause = JOB_PAUSE;
    int rc;

    if (actions[step->action].kind == HANDS_OVER)
        TRY(write_pending_rows(run));
    for (;;) {
        arena_reset(run->step_arena);
        job->item.task.arena = run->step_arena;
        rc = run_step_attempt(run, step, &deadline_ms, ret_next);
        job->item.task.arena = job->item.arena;
        job->item.task.deadline_ms = 0;
        if (rc != RUN_RETRY)
            break;
        if (run->unprepared) /* the step's own time has not begun */
            deadline_ms = clock_mono_ms() + step->timeout_ms;
        if (task_sleep(&job->item.task, backoff_next(&pause)) != 0)
            return JOB_LOST;
    }
    /* A step that has sent something and whose row is not stored would count as interrupted after a
     * crash. After the last step the job's last write includes the pending rows. */
    if (rc == 0 && actions[step->action].kind >= SENDS && *ret_next >= 0)
        return write_pending_rows(run);
    return rc;
}
