/*
 * Claims, and the heartbeat that keeps what was claimed. A lease is granted and judged by the
 * database's clock; this process only counts, from before the statement was sent, how long it may
 * believe in it.
 */
#include <stdlib.h>

#include "app.h"
#include "aside.h"
#include "base/clock.h"
#include "base/panic.h"
#include "job.h"
#include "log/log.h"
#include "loop/background.h"
#include "quotas.h"
#include "runner_claim_sql.h"
#include "runner_sweep_sql.h"
#include "work.h"

#define BEATS_A_LEASE 3
#define FRESH_PART    6 /* of a lease: what is younger waits for the next beat */
#define BEAT_LIMIT_MS 10000

/* Columns of claim_jobs, in its order. */
enum {
    C_ID,
    C_WORKFLOW_ID,
    C_TOKEN,
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

static struct {
    struct list jobs; /* struct job.beat: all that run here */
    struct loop_timer timer;
    bool shared; /* it is written down that more than one has run here at a time */
} beats;

int64_t job_now_ms(const struct job *job)
{
    return job->claimed_ms + (clock_mono_ms() - job->claimed_mono_ms);
}

/* --- claims --- */

static struct str keep_text(struct arena *arena, const struct rows *rows, size_t row, size_t column)
{
    struct str text = rows_str(rows, row, column);

    return text.ptr ? arena_dup(arena, text) : STR_NONE;
}

static struct job *job_new(const struct rows *rows, size_t i)
{
    struct arena *arena = arena_new(0);
    struct job *job = calloc(1, sizeof(*job));

    MUST(job != NULL);
    job->arena = arena;
    list_init(&job->turn);
    job->task.arena = arena;
    job->id = rows_i64(rows, i, C_ID);
    job->workflow_id = rows_i64(rows, i, C_WORKFLOW_ID);
    job->token = rows_i64(rows, i, C_TOKEN);
    job->version = (int)rows_i64(rows, i, C_VERSION);
    job->run = (int)rows_i64(rows, i, C_RUN);
    job->attempt = (int)rows_i64(rows, i, C_ATTEMPT);
    job->depth = (int)rows_i64(rows, i, C_DEPTH);
    job->resumed = rows_bool(rows, i, C_RESUMED);
    job->resume_step = keep_text(arena, rows, i, C_RESUME_STEP);
    job->trigger_kind = keep_text(arena, rows, i, C_TRIGGER_KIND);
    job->trigger_event = keep_text(arena, rows, i, C_TRIGGER_EVENT);
    job->trigger_entity = keep_text(arena, rows, i, C_TRIGGER_ENTITY);
    job->trigger_id = rows_i64(rows, i, C_TRIGGER_ID);
    job->trigger_data = keep_text(arena, rows, i, C_TRIGGER_DATA);
    job->traceparent = keep_text(arena, rows, i, C_TRACE);
    job->claimed_ms = rows_time(rows, i, C_CLAIMED_AT);
    job->trigger_entity_id = rows_i64(rows, i, C_TRIGGER_ENTITY_ID);
    job->trigger_at_ms = rows_time(rows, i, C_TRIGGER_AT);
    job->orphan = rows_bool(rows, i, C_ORPHAN);
    job->root = rows_i64(rows, i, C_ROOT);
    job->disabled = rows_bool(rows, i, C_DISABLED);
    job->large = job->trigger_data.ptr == NULL && rows_bool(rows, i, C_HAS_DATA);
    return job;
}

/* co: who looks after this process when it falls silent knows then that it may have been any of
 * them. Once in its life. */
AWAITS static void note_shared(struct task *task, size_t count)
{
    if (beats.shared || count == 0 || (count == 1 && list_empty(&beats.jobs)))
        return;
    int rc = db_query(task,
                      directory_control(runner_directory()),
                      &SQL_RUNNER_SHARED,
                      PARAMS(P_STR(runner_id())),
                      NULL);
    if (rc != 0) /* the next claim tries again */
        log_debug("claim.shared_untold", L_I64("rc", rc));
    beats.shared = rc == 0;
}

unsigned claim_begin(struct task *task,
                     struct work *work,
                     const struct db *db,
                     struct project *project,
                     const struct rows *rows,
                     int64_t sent_ms,
                     void (*start)(struct job *job))
{
    size_t count = 0;
    unsigned begun = 0;

    for (size_t i = 0; i < rows->count; i++)
        count += !rows_null(rows, i, C_ID);
    note_shared(task, count);
    int64_t now = clock_mono_ms();
    for (size_t i = 0; i < rows->count; i++) {
        if (rows_null(rows, i, C_ID))
            continue;
        struct job *job = job_new(rows, i);
        job->work = work;
        job->db = *db;
        job->project = project;
        if (project != NULL)
            project_hold(job->arena, project);
        job->claimed_mono_ms = now;
        job->lease_mono_ms = sent_ms + runner_conf()->lease_ms;
        job->releasing = work_draining();
        list_append(&work->jobs, &job->link);
        list_append(&beats.jobs, &job->beat);
        start(job);
        begun++;
    }
    return begun;
}

int claim_jobs(struct task *task,
               struct work *work,
               struct project *project,
               unsigned count,
               unsigned *ret_claimed)
{
    int64_t lease_ms = runner_conf()->lease_ms;
    int64_t sent_ms = clock_mono_ms();
    struct db_call calls[] = {
        {.sql = &SQL_PLAN_BY_INDEX},
        {.sql = aside() ? &SQL_CLAIM_SUSPECTS : &SQL_CLAIM_JOBS,
         PARAMS(P_I64(count), P_STR(runner_id()), P_I64(lease_ms), P_I64(LARGE_BYTES))},
    };

    int rc = db_batch(task, &project->db, calls, ARRAY_LEN(calls), NULL);
    if (rc == DB_SCHEMA)
        return PROJECT_NOT_FOUND;
    if (rc != 0)
        return rc < 0 ? rc : rc + 100;

    *ret_claimed =
        claim_begin(task, work, &project->db, project, &calls[1].rows, sent_ms, run_start);
    return 0;
}

/* --- the heartbeat --- */

static void lose(struct job *job, const char *why)
{
    if (job->lost)
        return;
    log_info(
        "job.lost", L_I64("project", job->db.schema), L_I64("job", job->id), L_CSTR("why", why));
    job->lost = true;
    task_cancel(&job->task);
}

/* The jobs of one project at one beat, by number: they may end while it waits. */
struct beat {
    struct db db;
    int64_t *ids, *tokens;
    size_t count, cap;
};

static struct job *find_job(int64_t project, int64_t id, int64_t token)
{
    LIST_FOR (node, &beats.jobs) {
        struct job *job = LIST_ITEM(node, struct job, beat);
        if (job->id == id && job->token == token && job->db.schema == project)
            return job;
    }
    return NULL;
}

static bool has_id(const struct rows *rows, int64_t id)
{
    for (size_t i = 0; i < rows->count; i++)
        if (rows_i64(rows, i, 0) == id)
            return true;
    return false;
}

static void beat_run(struct task *task, void *arg)
{
    struct beat *beat = arg;
    int64_t lease_ms = runner_conf()->lease_ms;
    int64_t sent_ms = clock_mono_ms();
    const struct db_param ids = P_I64S(beat->ids, beat->count);
    const struct db_param tokens = P_I64S(beat->tokens, beat->count);
    struct db_call calls[] = {
        {.sql = &SQL_PLAN_BY_INDEX},
        {.sql = &SQL_CLAIM_RENEW, PARAMS(ids, tokens, P_I64(lease_ms))},
        {.sql = &SQL_CLAIM_HELD, PARAMS(ids, tokens)},
    };

    int rc = db_batch(task, &beat->db, calls, ARRAY_LEN(calls), NULL);
    if (rc != 0) { /* the next beat tries again; who cannot be renewed in time is lost */
        log_debug("job.beat_failed", L_I64("project", beat->db.schema), L_I64("rc", rc));
        return;
    }
    for (size_t i = 0; i < beat->count; i++) {
        struct job *job = find_job(beat->db.schema, beat->ids[i], beat->tokens[i]);
        if (job == NULL)
            continue;
        if (has_id(&calls[1].rows, job->id))
            job->lease_mono_ms = sent_ms + lease_ms;
        else if (!has_id(&calls[2].rows, job->id))
            lose(job, "taken");
    }
}

static void beat_add(struct arena *arena, struct beat *beat, const struct job *job)
{
    if (beat->count == beat->cap) {
        size_t cap = beat->cap ? beat->cap * 2 : 16;
        int64_t *ids = ARENA_ARRAY(arena, ids, cap);
        int64_t *tokens = ARENA_ARRAY(arena, tokens, cap);
        for (size_t i = 0; i < beat->count; i++) {
            ids[i] = beat->ids[i];
            tokens[i] = beat->tokens[i];
        }
        *beat = (struct beat){beat->db, ids, tokens, beat->count, cap};
    }
    beat->ids[beat->count] = job->id;
    beat->tokens[beat->count++] = job->token;
}

static bool is_due(const struct job *job, int64_t now)
{
    int64_t lease_ms = runner_conf()->lease_ms;

    /* What was claimed or renewed a moment ago waits for the next beat, which is early enough. */
    return !job->lost && job->lease_mono_ms - now < lease_ms - lease_ms / FRESH_PART;
}

/* Each project by itself: one that does not answer keeps no other waiting. */
static void beat_start(const struct work *work, int64_t now)
{
    struct background *background = background_new(BEAT_LIMIT_MS);
    struct arena *arena = background_arena(background);
    struct beat *beat = ARENA_NEW(arena, beat);

    LIST_FOR (node, &work->jobs) {
        const struct job *job = LIST_ITEM(node, struct job, link);
        if (!is_due(job, now))
            continue;
        beat->db = job->db;
        beat_add(arena, beat, job);
    }
    MUST(beat->count > 0);
    background_start(background, beat_run, beat);
}

static void on_beat(void *arg UNUSED)
{
    int64_t now = clock_mono_ms();

    LIST_FOR (node, &beats.jobs) {
        struct job *job = LIST_ITEM(node, struct job, beat);
        if (now >= job->lease_mono_ms)
            lose(job, "lease ended");
    }
    LIST_FOR (node, &beats.jobs) {
        const struct job *job = LIST_ITEM(node, struct job, beat);
        if (!is_due(job, now) || job->work->beat_ms == now)
            continue;
        job->work->beat_ms = now;
        beat_start(job->work, now);
    }
    loop_timer_start(&beats.timer, runner_conf()->lease_ms / BEATS_A_LEASE);
}

void claim_heartbeat_start(void)
{
    list_init(&beats.jobs);
    loop_timer_init(&beats.timer, on_beat, NULL);
    loop_timer_start(&beats.timer, runner_conf()->lease_ms / BEATS_A_LEASE);
}

void claim_heartbeat_stop(void)
{
    loop_timer_stop(&beats.timer);
}

/* --- hints --- */

void claim_lost(struct work *work, int64_t job_id)
{
    LIST_FOR (node, &work->jobs) {
        const struct job *job = LIST_ITEM(node, struct job, link);
        if (job->id != job_id || job->lost)
            continue;
        struct background *background = background_new(BEAT_LIMIT_MS);
        struct arena *arena = background_arena(background);
        struct beat *beat = ARENA_NEW(arena, beat);
        beat->db = job->db;
        beat_add(arena, beat, job);
        background_start(background, beat_run, beat);
        return;
    }
}
