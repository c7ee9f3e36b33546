/*
 * Writes the results of jobs of one project together. The lease of a job is found by its token and
 * locked first. History is written only for jobs whose lease the same transaction has locked or
 * deleted, so a runner that was presumed dead writes nothing. Each write may be repeated, because
 * it states the new values instead of changes.
 */
#include "ledger.h"

#include <errno.h>

#include "app.h"
#include "base/clock.h"
#include "job.h"
#include "log/log.h"
#include "loop/batches.h"
#include "queue_sql.h"
#include "runner_ledger_sql.h"

/* One job's part of a write, on the stack of the job's coroutine. */
struct ledger_member {
    struct batch_entry entry;
    struct job *job;
    const struct ledger_entry *rows;
    bool written; /* the job's lease had our token */
};

/* --- a write as statements --- */

/* The parameters about jobs of the statement ledger_jobs, a column each. */
struct job_columns {
    int64_t *id, *token;
    struct str *status, *error, *reason;
    size_t count;
};
struct step_columns {
    int64_t *job, *seq, *run, *started, *finished;
    struct str *key, *action, *status, *input, *output, *error, *log;
    size_t count;
};

static struct str text_or_null(struct str text)
{
    return text.len ? text : STR_NONE;
}

static void jobs_init(struct arena *arena, struct job_columns *in, size_t most)
{
    *in = (struct job_columns){
        .id = ARENA_ARRAY(arena, in->id, most),
        .token = ARENA_ARRAY(arena, in->token, most),
        .status = ARENA_ARRAY(arena, in->status, most),
        .error = ARENA_ARRAY(arena, in->error, most),
        .reason = ARENA_ARRAY(arena, in->reason, most),
    };
}

static void
jobs_add(struct job_columns *in, const struct job *job, const struct ledger_entry *entry)
{
    size_t i = in->count++;

    in->id[i] = job->item.id;
    in->token[i] = job->item.token;
    in->status[i] = status_text(entry->status);
    in->error[i] = text_or_null(entry->error);
    in->reason[i] = text_or_null(entry->reason);
}

static void steps_init(struct arena *arena, struct step_columns *in, size_t most)
{
    *in = (struct step_columns){
        .job = ARENA_ARRAY(arena, in->job, most),
        .seq = ARENA_ARRAY(arena, in->seq, most),
        .run = ARENA_ARRAY(arena, in->run, most),
        .started = ARENA_ARRAY(arena, in->started, most),
        .finished = ARENA_ARRAY(arena, in->finished, most),
        .key = ARENA_ARRAY(arena, in->key, most),
        .action = ARENA_ARRAY(arena, in->action, most),
        .status = ARENA_ARRAY(arena, in->status, most),
        .input = ARENA_ARRAY(arena, in->input, most),
        .output = ARENA_ARRAY(arena, in->output, most),
        .error = ARENA_ARRAY(arena, in->error, most),
        .log = ARENA_ARRAY(arena, in->log, most),
    };
}

static void
steps_add(struct step_columns *in, const struct job *job, const struct ledger_entry *entry)
{
    for (size_t k = 0; k < entry->count; k++) {
        const struct ledger_step *step = &entry->steps[k];
        size_t i = in->count++;
        in->job[i] = job->item.id;
        in->seq[i] = step->seq;
        in->run[i] = job->run;
        in->started[i] = step->started_ms;
        in->finished[i] = step->finished_ms;
        in->key[i] = step->key;
        in->action[i] = str_from(step_action_name(step->action));
        in->status[i] = status_text(step->status);
        in->input[i] = text_or_null(step->input);
        in->output[i] = text_or_null(step->output);
        in->error[i] = text_or_null(step->error);
        in->log[i] = text_or_null(step->log);
    }
}

/* The parameters that all statements with steps have. */
#define STEP_ARGS(in)                                                                              \
    .job_ids = sql_i64s((in)->job, (in)->count), .seqs = sql_i64s((in)->seq, (in)->count),         \
    .runs = sql_i64s((in)->run, (in)->count), .keys = sql_strs((in)->key, (in)->count),            \
    .actions = sql_strs((in)->action, (in)->count),                                                \
    .statuses = sql_strs((in)->status, (in)->count),                                               \
    .started_ms = sql_i64s((in)->started, (in)->count),                                            \
    .finished_ms = sql_i64s((in)->finished, (in)->count),                                          \
    .inputs = sql_strs((in)->input, (in)->count), .outputs = sql_strs((in)->output, (in)->count),  \
    .errors = sql_strs((in)->error, (in)->count), .logs = sql_strs((in)->log, (in)->count)
/* These macros expand STEP_ARGS into twelve arguments before the statement's own macro counts
 * them. */
#define LEDGER_JOBS(...)  SQL_LEDGER_JOBS(__VA_ARGS__)
#define LEDGER_STEPS(...) SQL_LEDGER_STEPS(__VA_ARGS__)

static struct db_call
jobs_call(struct arena *arena, const struct job_columns *in, const struct step_columns *steps)
{
    return db_call_new(arena,
                       LEDGER_JOBS(STEP_ARGS(steps),
                                   .ids = sql_i64s(in->id, in->count),
                                   .tokens = sql_i64s(in->token, in->count),
                                   .job_statuses = sql_strs(in->status, in->count),
                                   .job_errors = sql_strs(in->error, in->count),
                                   .reasons = sql_strs(in->reason, in->count),
                                   .lease_ms = runner_conf()->lease_ms));
}

static struct db_call steps_call(struct arena *arena, const struct step_columns *in)
{
    return db_call_new(arena, LEDGER_STEPS(STEP_ARGS(in)));
}

size_t ledger_prepare_calls(struct arena *arena, struct db_call *calls)
{
    struct job_columns jobs = {0};
    struct step_columns steps = {0};

    calls[0] = db_call(SQL_PLAN_BY_INDEX());
    calls[1] = jobs_call(arena, &jobs, &steps);
    return LEDGER_CALLS;
}

/* --- results --- */

/* Whether a repetition may succeed in a moment. Every statement of this file may be repeated. */
static bool is_transient_result(int rc)
{
    switch (rc) {
    case DB_CONFLICT:
    case DB_LOCKED:
    case DB_TIMEOUT:
    case DB_UNAVAILABLE:
    case DB_UNKNOWN:
    case DB_FULL:
    case DB_BUSY:
        return true;
    default:
        return rc < 0; /* a batch that took too long */
    }
}

static bool lease_is_over(const struct job *job)
{
    return queue_item_is_lost(&job->item) || clock_mono_ms() >= job->item.lease_mono_ms;
}

/* --- batches --- */

static struct ledger_member *ledger_member_of(const struct batch_entry *entry)
{
    return (struct ledger_member *)CONTAINER_OF(entry, const struct ledger_member, entry);
}

static int ledger_entry_result(const struct batch_entry *entry)
{
    const struct job *job = ledger_member_of(entry)->job;

    if (!lease_is_over(job))
        return 0;
    return queue_item_is_lost(&job->item) ? JOB_LOST : JOB_STORE_DOWN;
}

static void mark_written(struct batch_entry **entries, size_t count, int64_t id)
{
    for (size_t i = 0; i < count; i++)
        if (ledger_member_of(entries[i])->job->item.id == id)
            ledger_member_of(entries[i])->written = true;
}

AWAITS static int write_members(struct task *task,
                                struct batch_entry **entries,
                                size_t count,
                                size_t *ret_failed UNUSED)
{
    struct arena *arena = task->arena;
    struct db *db = &ledger_member_of(entries[0])->job->item.db;
    struct job_columns jobs;
    struct step_columns steps;
    struct rows ended;
    size_t step_count = 0;

    for (size_t i = 0; i < count; i++)
        step_count += ledger_member_of(entries[i])->rows->count;
    jobs_init(arena, &jobs, count);
    steps_init(arena, &steps, step_count);
    for (size_t i = 0; i < count; i++) {
        jobs_add(&jobs, ledger_member_of(entries[i])->job, ledger_member_of(entries[i])->rows);
        steps_add(&steps, ledger_member_of(entries[i])->job, ledger_member_of(entries[i])->rows);
    }
    struct db_call calls[] = {db_call(SQL_PLAN_BY_INDEX()), jobs_call(arena, &jobs, &steps)};
    TRY(db_batch(task, db, calls, ARRAY_LEN(calls), NULL));
    for (size_t i = 0; i < calls[1].rows.count; i++)
        mark_written(entries, count, sql_ledger_jobs_row(&calls[1].rows, i).id);
    if (calls[1].rows.count == count)
        return 0;
    /* Jobs without such a lease may have ended with an earlier write of ours whose answer was
     * lost. */
    TRY(db_query(task,
                 db,
                 SQL_LEDGER_ENDED(.ids = sql_i64s(jobs.id, jobs.count),
                                  .tokens = sql_i64s(jobs.token, jobs.count),
                                  .statuses = sql_strs(jobs.status, jobs.count)),
                 &ended));
    for (size_t i = 0; i < ended.count; i++)
        mark_written(entries, count, sql_ledger_ended_row(&ended, i).id);
    return 0;
}

static enum batch_end ledger_judge(int rc)
{
    if (rc == DB_SCHEMA) /* the project was removed */
        return BATCH_ENDED;
    return is_transient_result(rc) ? BATCH_AGAIN : BATCH_REFUSED;
}

static struct batches writes = {
    .at_once = 1,
    .max_entries = 256,
    .bytes = (size_t)1 << 20,
    .limit_ms = 20000, /* longer than the database's default limits */
    .pause = JOB_PAUSE,
    .is_uninterruptible = true,
    .expired_rc = ledger_entry_result,
    .write = write_members,
    .judge = ledger_judge,
};

static size_t entry_bytes(const struct ledger_entry *entry)
{
    size_t bytes = entry->error.len;

    for (size_t i = 0; i < entry->count; i++) {
        const struct ledger_step *step = &entry->steps[i];
        bytes += step->input.len + step->output.len + step->error.len + step->log.len;
    }
    return bytes;
}

int ledger_write(struct job *job, const struct ledger_entry *entry)
{
    struct ledger_member member = {.entry.bytes = entry_bytes(entry), .job = job, .rows = entry};
    int64_t project = job->item.db.schema;
    int rc = batches_write(&job->item.task, &writes, project, &member.entry);

    if (rc == DB_SCHEMA || (rc == 0 && !member.written))
        return JOB_LOST;
    if (rc <= 0 || rc == JOB_LOST || rc == JOB_STORE_DOWN)
        return rc;
    log_error("job.not_stored",
              L_I64("project", project),
              L_I64("job", job->item.id),
              L_RESULT("rc", rc));
    return ERROR(-EINVAL);
}

/* --- in the job's own transaction --- */

/* Translates a result of the transaction for its job. JOB_STORE_DOWN means that a caller that can
 * repeat the transaction may do so. */
static int tx_result(int rc)
{
    if (rc == DB_SCHEMA)
        return JOB_LOST;
    if (rc == -ECANCELED)
        return JOB_LOST;
    if (is_transient_result(rc))
        return JOB_STORE_DOWN;
    return rc > 0 ? ERROR(-EINVAL) : rc;
}

int ledger_begin(struct job *job, struct task *task, struct db **ret_tx)
{
    struct db_call calls[] = {
        db_call(SQL_PLAN_BY_INDEX()),
        db_call(SQL_LEDGER_LOCK(.id = job->item.id,
                                .token = job->item.token,
                                .lease_ms = runner_conf()->lease_ms)),
        db_call(SQL_PLAN_FREELY()),
    };
    struct db *tx;

    int rc = db_begin(task, &job->item.db, &tx);
    if (rc == 0)
        rc = db_batch(task, tx, calls, ARRAY_LEN(calls), NULL);
    if (rc != 0)
        return tx_result(rc);
    if (calls[1].rows.count == 0) {
        db_rollback(tx);
        return JOB_LOST;
    }
    *ret_tx = tx;
    return 0;
}

int ledger_write_tx(struct job *job, struct db *tx, const struct ledger_entry *entry)
{
    struct task *task = &job->item.task;
    struct db_call calls[2] = {db_call(SQL_PLAN_BY_INDEX())};
    struct job_columns jobs;
    struct step_columns steps;

    steps_init(task->arena, &steps, entry->count);
    steps_add(&steps, job, entry);
    if (entry->status != STATUS_NONE) {
        jobs_init(task->arena, &jobs, 1);
        jobs_add(&jobs, job, entry);
        calls[1] = jobs_call(task->arena, &jobs, &steps);
    } else {
        calls[1] = steps_call(task->arena, &steps);
    }
    int rc = db_batch(task, tx, calls, ARRAY_LEN(calls), NULL);
    return rc == 0 ? 0 : tx_result(rc);
}

/* Waits until no other transaction holds the lock on the job's lease. *ret_seen: whether the step's
 * row exists. *ret_ours: whether the lease still has our token. */
AWAITS static int
query_commit_outcome(struct task *task, struct job *job, int seq, bool *ret_seen, bool *ret_ours)
{
    struct db_call calls[] = {
        db_call(SQL_LEDGER_WAIT(.id = job->item.id, .token = job->item.token)),
        db_call(SQL_LEDGER_STEP_EXISTS(.job_id = job->item.id, .seq = seq)),
    };
    struct db *tx;

    TRY(db_begin(task, &job->item.db, &tx));
    int rc = db_batch(task, tx, calls, ARRAY_LEN(calls), NULL);
    db_rollback(tx);
    if (rc != 0)
        return rc;
    *ret_seen = calls[1].rows.count > 0;
    *ret_ours = calls[0].rows.count > 0 && sql_ledger_wait_row(&calls[0].rows, 0).ours;
    return 0;
}

int ledger_commit(struct job *job, struct task *task, struct db *tx, int seq, bool *ret_committed)
{
    struct backoff pause = JOB_PAUSE;
    bool seen = false;
    bool ours = false;

    int rc = db_commit(task, tx);
    if (rc == 0) {
        *ret_committed = true;
        return 0;
    }
    if (rc != DB_UNKNOWN)
        return tx_result(rc);
    while ((rc = query_commit_outcome(task, job, seq, &seen, &ours)) != 0) {
        if (!is_transient_result(rc) || rc == -ECANCELED || lease_is_over(job))
            return tx_result(rc);
        TRY(task_sleep(task, backoff_next(&pause)) == 0 ? 0 : JOB_LOST);
    }
    *ret_committed = seen;
    return seen || ours ? 0 : JOB_LOST;
}
