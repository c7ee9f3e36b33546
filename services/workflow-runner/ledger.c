/*
 * What jobs have done, written together: a lane a project, one write under way in each. Entries
 * that come meanwhile gather and leave with the next one. The job's lease is found by its token and
 * locked first, and history goes only to jobs whose lease the same transaction has locked or
 * deleted, so that a runner that was presumed dead writes nothing. Each write may be repeated: it
 * says how things are, not what changes.
 */
#include <errno.h>
#include <stdlib.h>

#include "app.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/panic.h"
#include "job.h"
#include "ledger.h"
#include "log/log.h"
#include "loop/background.h"
#include "runner_claim_sql.h"
#include "runner_ledger_sql.h"

#define BATCH_MAX      256
#define BATCH_BYTES    ((size_t)1 << 20) /* one entry at least */
#define WRITE_LIMIT_MS 20000             /* one attempt; the database's own limits are shorter */
#define LANE_LIMIT_MS  ((int64_t)1 << 40)

/* Lives on the stack of the job's coroutine, which waits whatever happens. */
struct member {
    struct await await;
    struct list link;
    struct job *job;
    const struct ledger_entry *entry;
    int rc;
};

struct ledger_lane {
    int64_t number; /* of the project */
    struct list members;
    struct loop_hook hook;
    bool running;
};

static struct map *lanes; /* 8 bytes -> struct ledger_lane, while it has something to do */

/* --- a write as statements --- */

/* Arrays for ledger_jobs and ledger_steps. */
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
    in->status[i] = str_from(entry->status);
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
        in->status[i] = str_from(step->status);
        in->input[i] = text_or_null(step->input);
        in->output[i] = text_or_null(step->output);
        in->error[i] = text_or_null(step->error);
        in->log[i] = text_or_null(step->log);
    }
}

/* Of all that steps are written with. */
#define STEP_ARGS(in)                                                                              \
    .job_ids = sql_i64s((in)->job, (in)->count), .seqs = sql_i64s((in)->seq, (in)->count),         \
    .runs = sql_i64s((in)->run, (in)->count), .keys = sql_strs((in)->key, (in)->count),            \
    .actions = sql_strs((in)->action, (in)->count),                                                \
    .statuses = sql_strs((in)->status, (in)->count),                                               \
    .started_ms = sql_i64s((in)->started, (in)->count),                                            \
    .finished_ms = sql_i64s((in)->finished, (in)->count),                                          \
    .inputs = sql_strs((in)->input, (in)->count), .outputs = sql_strs((in)->output, (in)->count),  \
    .errors = sql_strs((in)->error, (in)->count), .logs = sql_strs((in)->log, (in)->count)
/* They count as twelve where the statements' own macros begin. */
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

size_t ledger_nothing(struct arena *arena, struct db_call *calls)
{
    struct job_columns jobs = {0};
    struct step_columns steps = {0};

    calls[0] = db_call(SQL_PLAN_BY_INDEX());
    calls[1] = jobs_call(arena, &jobs, &steps);
    return LEDGER_CALLS;
}

/* --- results --- */

/* The database may answer otherwise in a moment. Everything here may be repeated. */
static bool is_passing(int rc)
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
        return rc < 0; /* an attempt that took too long */
    }
}

static bool lease_is_over(const struct job *job)
{
    return queue_lost(&job->item) || clock_mono_ms() >= job->item.lease_mono_ms;
}

/* --- lanes --- */

static struct str lane_name(const struct ledger_lane *lane)
{
    return (struct str){(const char *)&lane->number, sizeof(lane->number)};
}

static void lane_free(struct ledger_lane *lane)
{
    (void)map_remove(lanes, lane_name(lane));
    free(lane);
}

static void member_end(struct member *member, int rc)
{
    list_remove(&member->link);
    member->rc = rc;
    await_done(&member->await, 0);
}

static size_t entry_bytes(const struct ledger_entry *entry)
{
    size_t bytes = entry->error.len;

    for (size_t i = 0; i < entry->count; i++) {
        const struct ledger_step *step = &entry->steps[i];
        bytes += step->input.len + step->output.len + step->error.len + step->log.len;
    }
    return bytes;
}

struct batch {
    struct member *members[BATCH_MAX];
    size_t count, steps;
};

static void take_batch(struct ledger_lane *lane, struct batch *batch, size_t most)
{
    size_t bytes = 0;

    *batch = (struct batch){0};
    LIST_FOR (node, &lane->members) {
        struct member *member = LIST_ITEM(node, struct member, link);
        if (lease_is_over(member->job)) {
            member_end(member, queue_lost(&member->job->item) ? JOB_LOST : JOB_STORE_DOWN);
            continue;
        }
        bytes += entry_bytes(member->entry);
        if (batch->count == most || (batch->count > 0 && bytes > BATCH_BYTES))
            return;
        batch->steps += member->entry->count;
        batch->members[batch->count++] = member;
    }
}

/* What came of a batch: jobs that it found as ours, and jobs that we have ended before, with a
 * write whose answer was lost. */
struct outcome {
    struct rows ours, ended;
};

AWAITS static int
write_batch(struct task *task, const struct batch *batch, struct outcome *ret_outcome)
{
    struct arena *arena = task->arena;
    struct job_columns jobs;
    struct step_columns steps;

    jobs_init(arena, &jobs, batch->count);
    steps_init(arena, &steps, batch->steps);
    for (size_t i = 0; i < batch->count; i++) {
        jobs_add(&jobs, batch->members[i]->job, batch->members[i]->entry);
        steps_add(&steps, batch->members[i]->job, batch->members[i]->entry);
    }
    struct db_call calls[] = {db_call(SQL_PLAN_BY_INDEX()), jobs_call(arena, &jobs, &steps)};
    struct db *db = &batch->members[0]->job->item.db;
    TRY(db_batch(task, db, calls, ARRAY_LEN(calls), NULL));
    *ret_outcome = (struct outcome){.ours = calls[1].rows};
    if (calls[1].rows.count == batch->count)
        return 0;
    return db_query(task,
                    db,
                    SQL_LEDGER_ENDED(.ids = sql_i64s(jobs.id, jobs.count),
                                     .tokens = sql_i64s(jobs.token, jobs.count),
                                     .statuses = sql_strs(jobs.status, jobs.count)),
                    &ret_outcome->ended);
}

static bool is_written(const struct outcome *outcome, int64_t id)
{
    for (size_t i = 0; i < outcome->ours.count; i++)
        if (sql_ledger_jobs_row(&outcome->ours, i).id == id)
            return true;
    for (size_t i = 0; i < outcome->ended.count; i++)
        if (sql_ledger_ended_row(&outcome->ended, i).id == id)
            return true;
    return false;
}

static void end_batch(const struct batch *batch, const struct outcome *outcome)
{
    for (size_t i = 0; i < batch->count; i++) {
        struct member *member = batch->members[i];
        member_end(member, is_written(outcome, member->job->item.id) ? 0 : JOB_LOST);
    }
}

/* One attempt; false when it has to be repeated after a pause. */
AWAITS static bool try_batch(struct task *task, struct ledger_lane *lane, size_t *most)
{
    struct arena *own = task->arena;
    struct batch batch;
    struct outcome outcome;
    int rc = 0;

    take_batch(lane, &batch, *most);
    if (batch.count == 0)
        return true;
    task->arena = arena_new(0);
    task->deadline_ms = clock_mono_ms() + WRITE_LIMIT_MS;
    rc = write_batch(task, &batch, &outcome);
    if (rc == 0) {
        end_batch(&batch, &outcome);
        *most = BATCH_MAX;
    } else if (rc == DB_SCHEMA) { /* the project was removed */
        for (size_t i = 0; i < batch.count; i++)
            member_end(batch.members[i], JOB_LOST);
    } else if (!is_passing(rc) && batch.count > 1) {
        *most = 1; /* one of them cannot be stored: each by itself says which */
    } else if (!is_passing(rc)) {
        log_error("job.not_stored",
                  L_I64("project", lane->number),
                  L_I64("job", batch.members[0]->job->item.id),
                  L_CSTR("sqlstate", db_error(task)->sqlstate));
        member_end(batch.members[0], -EINVAL);
    }
    task->deadline_ms = 0;
    arena_free(task->arena);
    task->arena = own;
    return rc == 0 || !is_passing(rc);
}

static void run_lane(struct task *task, void *arg)
{
    struct ledger_lane *lane = arg;
    struct backoff pause = JOB_PAUSE;
    size_t most = BATCH_MAX;

    while (!list_empty(&lane->members)) {
        if (try_batch(task, lane, &most)) {
            pause.tries = 0;
            continue;
        }
        (void)!task_sleep(task, backoff_next(&pause));
    }
    lane_free(lane);
}

static void on_turn_end(void *arg)
{
    background_run(LANE_LIMIT_MS, run_lane, arg);
}

static struct ledger_lane *find_lane(int64_t number)
{
    if (lanes == NULL)
        lanes = map_new();
    struct ledger_lane *lane = map_get(lanes, (struct str){(const char *)&number, sizeof(number)});
    if (lane != NULL)
        return lane;
    lane = calloc(1, sizeof(*lane));
    MUST(lane != NULL);
    lane->number = number;
    list_init(&lane->members);
    lane->hook = (struct loop_hook){.fn = on_turn_end, .arg = lane};
    (void)map_put(lanes, lane_name(lane), lane);
    loop_at_turn_end(&lane->hook);
    return lane;
}

int ledger_write(struct job *job, const struct ledger_entry *entry)
{
    struct ledger_lane *lane = find_lane(job->item.db.schema);
    struct member member = {.job = job, .entry = entry};

    await_init(&member.await);
    list_append(&lane->members, &member.link);
    int rc = await_wait(&job->item.task, &member.await, 0);
    (void)rc; /* its own end counts, whatever has happened to the job meanwhile */
    return member.rc;
}

/* --- in the job's own transaction --- */

/* A result of the transaction for its job; `passing` may be tried again by whoever can. */
static int tx_result(int rc)
{
    if (rc == DB_SCHEMA)
        return JOB_LOST;
    if (rc == -ECANCELED)
        return JOB_LOST;
    if (is_passing(rc))
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
        (void)db_rollback(task, tx);
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
    if (entry->status != NULL) {
        jobs_init(task->arena, &jobs, 1);
        jobs_add(&jobs, job, entry);
        calls[1] = jobs_call(task->arena, &jobs, &steps);
    } else {
        calls[1] = steps_call(task->arena, &steps);
    }
    int rc = db_batch(task, tx, calls, ARRAY_LEN(calls), NULL);
    return rc == 0 ? 0 : tx_result(rc);
}

/* Whether the step's row is there, once nobody holds the job's lease any more. */
AWAITS static int
ask_outcome(struct task *task, struct job *job, int seq, bool *ret_seen, bool *ret_ours)
{
    struct db_call calls[] = {
        db_call(SQL_LEDGER_WAIT(.id = job->item.id, .token = job->item.token)),
        db_call(SQL_LEDGER_SEEN(.job_id = job->item.id, .seq = seq)),
    };
    struct db *tx;

    TRY(db_begin(task, &job->item.db, &tx));
    int rc = db_batch(task, tx, calls, ARRAY_LEN(calls), NULL);
    (void)db_rollback(task, tx);
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
    while ((rc = ask_outcome(task, job, seq, &seen, &ours)) != 0) {
        if (!is_passing(rc) || rc == -ECANCELED || lease_is_over(job))
            return tx_result(rc);
        TRY(task_sleep(task, backoff_next(&pause)) == 0 ? 0 : JOB_LOST);
    }
    *ret_committed = seen;
    return seen || ours ? 0 : JOB_LOST;
}
