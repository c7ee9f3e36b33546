/*
 * Projects with work take turns. A project stands in the ring while it may have queued jobs and
 * room for them; each turn claims a share of the free slots. Events are taken beside that, a few
 * projects at a time.
 */
#include "work.h"

#include "aside.h"
#include "events.h"
#include "job.h"
#include "log/log.h"
#include "loop/background.h"
#include "queue/turns.h"
#include "runner_sweep_sql.h"
#include "workflow/jobs.h"

#define CLAIM_AT_ONCE  64
#define CLAIM_AT_LEAST 4
#define CLAIM_MS       15000
#define TAKES_AT_ONCE  16
#define LAST_CALL_MS   2000 /* before the end of the drain */

static struct turns turns;
static struct {
    struct list ring, takers;
    struct loop_timer last_call;
    unsigned running, reserved, taking;
    loop_fn drained;
    void *drained_arg;
    struct work_stats stats;
} w;

struct work_stats *work_stats(void)
{
    w.stats.running = w.running;
    w.stats.projects = turns_count(&turns);
    return &w.stats;
}

struct work *work_find(int64_t number)
{
    return turns_find(&turns, number);
}

struct work *work_get(int64_t number)
{
    return turns_get(&turns, number);
}

static unsigned free_slots(void)
{
    unsigned slots = aside() ? 1 : (unsigned)runner_conf()->job_slots;
    unsigned used = w.running + w.reserved;

    return used < slots ? slots - used : 0;
}

static unsigned room_of(const struct work *work)
{
    unsigned slots = (unsigned)runner_conf()->job_slots_per_project;
    unsigned used = work->running + work->reserved;

    return used < slots ? slots - used : 0;
}

static void to_ring(struct work *work)
{
    if (work->jobs_due && !work->claiming)
        turns_join(&turns, &w.ring, &work->ring);
}

/* --- ending --- */

/* Jobs give themselves back at their next step. */
static void release_jobs(struct work *work)
{
    LIST_FOR (node, &work->jobs)
        LIST_ITEM(node, struct job, link)->releasing = true;
}

static void check_drained(void)
{
    loop_fn done = w.drained;

    if (done == NULL || w.running + w.reserved > 0)
        return;
    w.drained = NULL;
    loop_timer_stop(&w.last_call);
    background_wait(done, w.drained_arg);
}

/* --- claiming --- */

static void reserve(struct work *work, unsigned count)
{
    w.reserved += count;
    work->reserved += count;
}

unsigned work_reserve(int64_t number, unsigned wanted)
{
    struct work *work = work_get(number);
    unsigned free = free_slots();
    unsigned room = room_of(work);
    bool others = !list_empty(&w.ring) || work->jobs_due || work->claiming;

    if (turns.closed || others)
        return 0;
    if (wanted > free)
        wanted = free;
    if (wanted > room)
        wanted = room;
    reserve(work, wanted);
    return wanted;
}

void work_claimed(struct work *work, unsigned reserved, unsigned claimed)
{
    w.reserved -= reserved;
    work->reserved -= reserved;
    if (turns.closed)
        release_jobs(work);
    w.running += claimed;
    work->running += claimed;
    w.stats.claimed += claimed;
    to_ring(work);
    if (claimed < reserved && !list_empty(&w.ring)) /* others may have them */
        turns_pump(&turns);
    check_drained();
}

struct claim {
    struct work *work;
    unsigned count;
};

static void claim_run(struct task *task, void *arg)
{
    struct claim *claim = arg;
    struct work *work = claim->work;
    struct project *project;
    unsigned claimed = 0;

    int rc = project_find_number(task, runner_directory(), work->number, &project);
    if (rc == 0)
        rc = claim_jobs(task, work, project, claim->count, &claimed);
    work_claimed(work, claim->count, claimed);
    work->claiming = false;
    if (rc == 0 && claimed == claim->count)
        work->jobs_due = true;
    if (rc != 0 && rc != PROJECT_NOT_FOUND) {
        work->jobs_due = true;
        turns_retry(&turns);
    } else {
        to_ring(work);
    }
    check_drained();
}

static void claim_start(struct work *work, unsigned count)
{
    struct background *background = background_new(CLAIM_MS);
    struct claim *claim = ARENA_NEW(background_arena(background), claim);

    *claim = (struct claim){.work = work, .count = count};
    work->claiming = true;
    work->jobs_due = false; /* a bell from now on asks for another claim */
    reserve(work, count);
    background_start(background, claim_run, claim);
}

/* The share of one turn: all that is free when nobody else waits. */
static unsigned share(const struct work *work, size_t waiting)
{
    unsigned free = free_slots();
    unsigned room = room_of(work);
    unsigned count = waiting < free ? free / ((unsigned)waiting + 1) : 0;

    if (count < CLAIM_AT_LEAST)
        count = free < CLAIM_AT_LEAST ? free : CLAIM_AT_LEAST;
    if (count > room)
        count = room;
    return count < CLAIM_AT_ONCE ? count : CLAIM_AT_ONCE;
}

static size_t ring_length(void)
{
    size_t length = 0;

    LIST_FOR (node, &w.ring)
        length++;
    return length;
}

static void take_start(struct work *work);

static void pump(void *arg UNUSED)
{
    size_t waiting = ring_length();

    while (free_slots() > 0 && !list_empty(&w.ring)) {
        struct work *work = LIST_ITEM(list_shift(&w.ring), struct work, ring);
        waiting--;
        unsigned count = share(work, waiting);
        if (count > 0) /* without room it comes back when a job of it ends */
            claim_start(work, count);
    }
    while (w.taking < TAKES_AT_ONCE && !list_empty(&w.takers))
        take_start(LIST_ITEM(list_shift(&w.takers), struct work, taker));
}

void work_jobs_due(int64_t number)
{
    struct work *work = work_get(number);

    work->jobs_due = true;
    to_ring(work);
}

void work_job_ended(struct job *job)
{
    struct work *work = job->work;

    list_remove(&job->link);
    work->running--;
    w.running--;
    to_ring(work);
    if (!list_empty(&w.ring))
        turns_pump(&turns);
    check_drained();
}

/* --- events --- */

static void to_takers(struct work *work)
{
    if (work->events_due && !work->taking)
        turns_join(&turns, &w.takers, &work->taker);
}

/* Jobs that this process has no room for are another one's: its bell. */
static void share_jobs(struct work *work, const struct project *project, unsigned made)
{
    w.stats.jobs_made += made;
    if (made == 0)
        return;
    if (made > room_of(work) || made > free_slots())
        jobs_ring(runner_directory(), project, 0);
    work_jobs_due(work->number);
}

static void take_run(struct task *task, void *arg)
{
    struct work *work = arg;
    struct events_outcome outcome = {0};
    struct project *project;

    int rc = project_find_number(task, runner_directory(), work->number, &project);
    if (rc == 0)
        rc = events_take(task, project, &outcome);
    work->taking = false;
    w.taking--;
    if (rc == 0) {
        w.stats.events_taken += outcome.taken;
        w.stats.guarded += outcome.guarded;
        share_jobs(work, project, outcome.made);
        if (outcome.more)
            work->events_due = true;
    } else if (rc != PROJECT_NOT_FOUND) {
        work->events_due = true;
        turns_retry(&turns);
        return;
    }
    to_takers(work);
    turns_pump(&turns);
}

static void take_start(struct work *work)
{
    work->taking = true;
    work->events_due = false;
    w.taking++;
    background_run(CLAIM_MS, take_run, work);
}

void work_events_due(int64_t number)
{
    struct work *work = work_get(number);

    work->events_due = true;
    to_takers(work);
}

/* --- life --- */

static void work_init(void *item, int64_t number)
{
    struct work *work = item;

    work->number = number;
    list_init(&work->ring);
    list_init(&work->taker);
    list_init(&work->jobs);
}

static bool is_idle(const void *item)
{
    const struct work *work = item;

    return work->running == 0 && work->reserved == 0 && !work->jobs_due && !work->events_due &&
           !work->claiming && !work->taking && list_empty(&work->ring) && list_empty(&work->taker);
}

static void again(void *item)
{
    to_ring(item);
    to_takers(item);
}

/* What does not end in time is given back as it is: a step that was sent is found interrupted. */
static void give_back(struct task *task, void *arg)
{
    struct work *work = arg;
    struct project *project;
    size_t count = 0;

    if (project_find_number(task, runner_directory(), work->number, &project) != 0)
        return;
    int64_t *ids = ARENA_ARRAY(task->arena, ids, work->running);
    int64_t *tokens = ARENA_ARRAY(task->arena, tokens, work->running);
    LIST_FOR (node, &work->jobs) {
        const struct job *job = LIST_ITEM(node, struct job, link);
        ids[count] = job->id;
        tokens[count++] = job->token;
    }
    int rc = db_query(task,
                      &project->db,
                      &SQL_JOBS_GIVE_BACK,
                      PARAMS(P_I64S(ids, count), P_I64S(tokens, count)),
                      NULL);
    if (rc != 0)
        log_warn("work.give_back_failed",
                 L_I64("project", work->number),
                 L_I64("jobs", (int64_t)count),
                 L_I64("rc", rc));
    w.stats.released += count;
    for (size_t i = 0; i < count; i++)
        claim_lost(work, ids[i]);
    jobs_ring(runner_directory(), project, 0);
}

static void last_call(void *item)
{
    const struct work *work = item;

    if (!list_empty(&work->jobs))
        background_run(LAST_CALL_MS, give_back, item);
}

static void on_last_call(void *arg UNUSED)
{
    turns_each(&turns, last_call);
}

void work_start(void)
{
    list_init(&w.ring);
    list_init(&w.takers);
    turns = (struct turns){
        .size = sizeof(struct work),
        .init = work_init,
        .idle = is_idle,
        .again = again,
        .pump = pump,
    };
    turns_start(&turns);
    loop_timer_init(&w.last_call, on_last_call, NULL);
    claim_heartbeat_start();
}

static void release_all(void *item)
{
    release_jobs(item);
}

void work_drain(loop_fn done, void *arg)
{
    int64_t patience = runner_conf()->common.drain_timeout_ms - LAST_CALL_MS;

    w.drained = done;
    w.drained_arg = arg;
    turns_close(&turns);
    turns_each(&turns, release_all);
    loop_timer_start(&w.last_call, patience > 0 ? patience : 0);
    check_drained();
}

bool work_draining(void)
{
    return turns.closed;
}

void work_stop(void)
{
    claim_heartbeat_stop();
    turns_stop(&turns);
}
