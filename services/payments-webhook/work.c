/*
 * Projects with due events take turns. A turn claims as many as its project's queue has room for
 * and begins as many as there are free slots; what is claimed ahead keeps the slots busy, for a
 * claim costs as much as an event.
 */
#include "work.h"

#include "base/clock.h"
#include "bus/bus.h"
#include "event.h"
#include "log/log.h"
#include "loop/background.h"
#include "queue/turns.h"
#include "webhook_work_sql.h"

#define CLAIM_AT_ONCE 64 /* events of a project, claimed ahead */
#define CLAIM_AGAIN   16 /* when so few are left */
#define CLAIM_MS      15000
#define GIVE_BACK_MS  2000
#define SPARE_MS      1000 /* of a lease: what is begun has to end within it */

/* Columns of a claim, in their order. */
enum { C_ID, C_SOURCE, C_EVENT_ID, C_TYPE, C_ATTEMPTS, C_RECEIVED_AT, C_PAYLOAD };

static struct turns turns;
static struct {
    struct list ring, suspects;
    unsigned running;
    bool suspect; /* one is claimed or runs */
    struct work_stats stats;
} w;

struct work_stats *work_stats(void)
{
    w.stats.running = w.running;
    w.stats.projects = turns_count(&turns);
    return &w.stats;
}

bool work_draining(void)
{
    return turns.closed;
}

struct work *work_get(int64_t number)
{
    return turns_get(&turns, number);
}

static unsigned free_slots(void)
{
    unsigned slots = (unsigned)webhook_conf()->apply_slots;

    return w.running < slots ? slots - w.running : 0;
}

static bool wants_claim(const struct work *work)
{
    return work->due && !work->claiming && work->queued <= CLAIM_AGAIN;
}

static void to_ring(struct work *work)
{
    if (work->queued > 0 || wants_claim(work))
        turns_join(&turns, &w.ring, &work->ring);
}

static void to_suspects(struct work *work)
{
    if (work->suspects_due)
        turns_join(&turns, &w.suspects, &work->suspects);
}

/* --- events --- */

static void event_free(struct event *event)
{
    arena_free(event->arena);
}

/* It lives in an arena of its own, from the claim to its end. */
static struct event *
event_new(const struct work *work, const struct rows *rows, size_t i, int64_t lease_mono_ms)
{
    struct arena *arena = arena_new(0);
    struct event *event = ARENA_NEW(arena, event);

    *event = (struct event){
        .arena = arena,
        .id = rows_i64(rows, i, C_ID),
        .number = work->number,
        .received_ms = rows_time(rows, i, C_RECEIVED_AT),
        .lease_mono_ms = lease_mono_ms,
        .attempts = (int)rows_i64(rows, i, C_ATTEMPTS),
        .store = str_is(rows_str(rows, i, C_SOURCE), "iap_store"),
        .event_id = arena_dup(arena, rows_str(rows, i, C_EVENT_ID)),
        .type = arena_dup(arena, rows_str(rows, i, C_TYPE)),
        .payload = arena_dup(arena, rows_str(rows, i, C_PAYLOAD)),
    };
    list_init(&event->link);
    return event;
}

static void ring_others(const struct project *project)
{
    bus_ring(webhook_bus(),
             BUS_PAY,
             &(struct bus_bell){.project = project->number,
                                .partition = project->partition,
                                .kind = "payment.received"});
}

static void suspect_over(void)
{
    w.suspect = false;
    turns_pump(&turns);
}

static void event_run(struct task *task, void *arg)
{
    struct event *event = arg;
    struct work *work = work_get(event->number);
    bool suspect = event->suspect;

    event_apply(task, event);
    event_free(event);
    work->running--;
    w.running--;
    to_ring(work);
    if (suspect)
        suspect_over();
    if (!list_empty(&w.ring))
        turns_pump(&turns);
}

static int64_t left_ms(const struct event *event)
{
    return event->lease_mono_ms - SPARE_MS - clock_mono_ms();
}

/* Within its lease, or not at all. */
static void event_begin(struct work *work, struct event *event)
{
    work->running++;
    w.running++;
    background_run(left_ms(event), event_run, event);
}

/* --- claims --- */

struct claim {
    struct work *work;
    unsigned count;
    bool suspect;
};

AWAITS static int claim_events(struct task *task, struct claim *claim, unsigned *ret_claimed)
{
    const struct app_conf *conf = webhook_conf();
    int64_t lease_mono_ms = clock_mono_ms() + conf->lease_ms;
    struct work *work = claim->work;
    struct project *project;
    struct rows rows;

    TRY(project_find_number(task, webhook_directory(), work->number, &project));
    TRY(db_query(task,
                 &project->db,
                 claim->suspect ? &SQL_EVENTS_CLAIM_SUSPECT : &SQL_EVENTS_CLAIM,
                 PARAMS(P_I64(claim->count), P_I64(conf->lease_ms)),
                 &rows));
    for (size_t i = 0; i < rows.count; i++) {
        struct event *event = event_new(work, &rows, i, lease_mono_ms);
        event->suspect = claim->suspect;
        if (claim->suspect && !turns.closed) {
            event_begin(work, event);
            continue;
        }
        list_append(&work->queue, &event->link);
        work->queued++;
    }
    *ret_claimed = (unsigned)rows.count;
    w.stats.claimed += rows.count;
    return 0;
}

/* What was claimed and not begun. */
struct unbegun {
    struct work *work;
    struct list events;
    unsigned count;
};

AWAITS static void give_back(struct task *task, void *arg)
{
    struct unbegun *unbegun = arg;
    struct work *work = unbegun->work;
    struct project *project;
    size_t count = 0;
    int64_t *ids = ARENA_ARRAY(task->arena, ids, unbegun->count);
    int64_t *attempts = ARENA_ARRAY(task->arena, attempts, unbegun->count);
    struct list *node;

    while ((node = list_shift(&unbegun->events)) != NULL) {
        struct event *event = LIST_ITEM(node, struct event, link);
        ids[count] = event->id;
        attempts[count++] = event->attempts;
        event_free(event);
    }
    int rc = project_find_number(task, webhook_directory(), work->number, &project);
    if (rc == 0)
        rc = db_query(task,
                      &project->db,
                      &SQL_EVENTS_GIVE_BACK,
                      PARAMS(P_I64S(ids, count), P_I64S(attempts, count)),
                      NULL);
    work->claiming = false;
    if (rc != 0) { /* their leases end */
        log_warn("work.give_back_failed", L_I64("project", work->number), L_I64("rc", rc));
        return;
    }
    if (turns.closed)
        ring_others(project);
    else
        work_due(work->number);
}

/* any: the project's queue is empty afterwards, and stays so until they are given back. */
static void take_back(struct work *work)
{
    struct background *background;
    struct unbegun *unbegun;
    struct list *node;

    if (work->queued == 0)
        return;
    background = background_new(GIVE_BACK_MS);
    unbegun = ARENA_NEW(background_arena(background), unbegun);
    unbegun->work = work;
    unbegun->count = work->queued;
    list_init(&unbegun->events);
    while ((node = list_shift(&work->queue)) != NULL)
        list_append(&unbegun->events, node);
    work->queued = 0;
    work->claiming = true;
    background_start(background, give_back, unbegun);
}

static void claim_run(struct task *task, void *arg)
{
    struct claim *claim = arg;
    struct work *work = claim->work;
    unsigned claimed = 0;

    int rc = claim_events(task, claim, &claimed);
    bool refused = rc != 0 && rc != PROJECT_NOT_FOUND;
    if (claim->suspect) {
        work->suspects_due |= refused || claimed > 0;
        if (claimed == 0)
            suspect_over();
        if (!refused)
            to_suspects(work);
    } else {
        work->claiming = false;
        work->due |= refused || claimed == claim->count;
    }
    if (turns.closed)
        take_back(work);
    else if (refused)
        turns_retry(&turns);
    else
        to_ring(work);
}

static void claim_start(struct work *work, unsigned count, bool suspect)
{
    struct background *background = background_new(CLAIM_MS);
    struct claim *claim = ARENA_NEW(background_arena(background), claim);

    *claim = (struct claim){.work = work, .count = count, .suspect = suspect};
    if (suspect) {
        w.suspect = true;
        work->suspects_due = false;
    } else {
        work->claiming = true;
        work->due = false; /* a bell from now on asks for another claim */
    }
    background_start(background, claim_run, claim);
}

/* --- turns --- */

/* What has waited for half of its lease would have too little of it left: claimed again, it has
 * all.
 */
static bool gone_stale(const struct work *work)
{
    return work->queued > 0 && left_ms(LIST_ITEM(work->queue.next, struct event, link)) <
                                   (webhook_conf()->lease_ms - SPARE_MS) / 2;
}

static void turn(struct work *work)
{
    if (gone_stale(work)) {
        take_back(work);
        return;
    }
    if (wants_claim(work))
        claim_start(work, CLAIM_AT_ONCE - work->queued, false);
    if (work->queued > 0 && free_slots() > 0) {
        struct event *event = LIST_ITEM(list_shift(&work->queue), struct event, link);
        work->queued--;
        event_begin(work, event);
    }
}

static void pump(void *arg UNUSED)
{
    if (free_slots() > 0 && !w.suspect && !list_empty(&w.suspects))
        claim_start(LIST_ITEM(list_shift(&w.suspects), struct work, suspects), 1, true);
    while (free_slots() > 0 && !list_empty(&w.ring)) {
        struct work *work = LIST_ITEM(list_shift(&w.ring), struct work, ring);
        turn(work);
        to_ring(work);
    }
}

void work_due(int64_t number)
{
    struct work *work = work_get(number);

    work->due = true;
    to_ring(work);
}

void work_suspects_due(int64_t number)
{
    struct work *work = work_get(number);

    work->suspects_due = true;
    to_suspects(work);
}

void work_received(const struct project *project)
{
    struct work *work = work_get(project->number);

    if (turns.closed || free_slots() == 0 || work->queued > CLAIM_AGAIN)
        ring_others(project);
    work->due = true;
    to_ring(work);
}

/* --- life --- */

static void work_init(void *item, int64_t number)
{
    struct work *work = item;

    work->number = number;
    list_init(&work->ring);
    list_init(&work->suspects);
    list_init(&work->queue);
}

static bool is_idle(const void *item)
{
    const struct work *work = item;

    return work->running == 0 && work->queued == 0 && !work->due && !work->suspects_due &&
           !work->claiming && !work->settling && list_empty(&work->ring) &&
           list_empty(&work->suspects);
}

static void again(void *item)
{
    to_ring(item);
    to_suspects(item);
}

static void give_back_all(void *item)
{
    take_back(item);
}

void work_start(void)
{
    list_init(&w.ring);
    list_init(&w.suspects);
    turns = (struct turns){
        .size = sizeof(struct work),
        .init = work_init,
        .idle = is_idle,
        .again = again,
        .pump = pump,
    };
    turns_start(&turns);
}

void work_drain(loop_fn done, void *arg)
{
    turns_close(&turns);
    turns_each(&turns, give_back_all);
    background_wait(done, arg);
}

void work_stop(void)
{
    turns_stop(&turns);
}
