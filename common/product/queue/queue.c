/*
 * Projects with work take turns at the slots. A lane is in its ring while it may have rows and
 * there are slots for them. Each turn claims rows for a share of the free slots. Of the rows that
 * were claimed before slots were free, one begins in each turn, in the order of the projects.
 */
#include "queue/queue.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/panic.h"
#include "metrics/metrics.h"
#include "queue/queue_private.h"

#define CLAIM_MOST  64
#define CLAIM_LEAST 4
#define REFILL_PART 4 /* more is claimed when at most prefetch / 4 claimed items have not begun */

static struct list queues = {&queues, &queues};

/* --- numbers --- */

void queue_item_move(struct queue_item *item, enum queue_state state)
{
    struct queue_project *project = item->owner;
    struct queue *queue = project->queue;

    list_remove(&item->link);
    project->counts[item->state]--;
    queue->counts[item->state]--;
    item->state = state;
    list_append(&project->items[state], &item->link);
    project->counts[state]++;
    queue->counts[state]++;
}

static unsigned count_with_slots(const unsigned counts[QUEUE_STATES])
{
    unsigned held = 0;

    for (int state = QUEUE_CLAIMED + 1; state < QUEUE_STATES; state++)
        held += counts[state];
    return held;
}

unsigned queue_project_used_slots(const struct queue_project *project)
{
    return count_with_slots(project->counts);
}

unsigned queue_free_slots(const struct queue *queue)
{
    unsigned used = count_with_slots(queue->counts) + queue->slots_reserved;

    return used < queue->config.slots ? queue->config.slots - used : 0;
}

unsigned queue_project_free_slots(const struct queue_project *project)
{
    unsigned slots = project->queue->config.slots_per_project;
    unsigned used = queue_project_used_slots(project) + project->slots_reserved;

    return used < slots ? slots - used : 0;
}

void queue_slots_take(struct queue_project *project, unsigned count)
{
    project->slots_reserved += count;
    project->queue->slots_reserved += count;
}

void queue_slots_return(struct queue_project *project, unsigned count)
{
    project->slots_reserved -= count;
    project->queue->slots_reserved -= count;
}

const struct queue_stats *queue_stats(struct queue *queue)
{
    static const struct queue_stats nothing;

    if (queue == NULL)
        return &nothing;
    queue->stats.running = count_with_slots(queue->counts);
    queue->stats.projects = turns_count(&queue->turns);
    return &queue->stats;
}

/* --- lanes --- */

static bool is_claiming(const struct queue_lane *lane)
{
    return lane->state == LANE_CLAIMING || lane->state == LANE_CLAIM_AGAIN;
}

static bool project_wants_claim(const struct queue_project *project)
{
    unsigned prefetched = project->queue->kind->prefetch;

    if (project->lanes[LANE_FRESH].state != LANE_DUE || project->releases_running > 0 ||
        project->paused)
        return false;
    return prefetched == 0 ? queue_project_free_slots(project) > 0
                           : project->counts[QUEUE_CLAIMED] <= prefetched / REFILL_PART;
}

/* Whether an item claimed before slots were free can begin now. */
static bool project_can_begin(const struct queue_project *project)
{
    return project->counts[QUEUE_CLAIMED] > 0 && queue_project_free_slots(project) > 0;
}

static bool project_wants_turn(const struct queue_project *project, int lane)
{
    if (lane == LANE_CRASHED)
        return project->lanes[LANE_CRASHED].state == LANE_DUE;
    return project_can_begin(project) || project_wants_claim(project);
}

void queue_join(struct queue_project *project)
{
    struct queue *queue = project->queue;

    for (int lane = 0; lane < LANE_COUNT; lane++) {
        if (project_wants_turn(project, lane))
            turns_join(&queue->turns, &queue->rings[lane], &project->lanes[lane].ring);
    }
}

void queue_lane_due(struct queue_project *project, int lane)
{
    enum lane_state *state = &project->lanes[lane].state;

    *state = *state == LANE_QUIET || *state == LANE_DUE ? LANE_DUE : LANE_CLAIM_AGAIN;
    queue_join(project);
}

void queue_lane_done(struct queue_project *project, int lane, bool more)
{
    enum lane_state *state = &project->lanes[lane].state;

    MUST(is_claiming(&project->lanes[lane]));
    *state = more || *state == LANE_CLAIM_AGAIN ? LANE_DUE : LANE_QUIET;
}

/* --- turns --- */

static size_t ring_length(const struct list *queue)
{
    size_t length = 0;

    LIST_FOR (node, queue)
        length++;
    return length;
}

/* Slots for one turn: all free slots if no other project waits. */
static unsigned turn_share(const struct queue_project *project, size_t waiting)
{
    unsigned free = queue_free_slots(project->queue);
    unsigned free_count = queue_project_free_slots(project);
    unsigned count = waiting < free ? free / ((unsigned)waiting + 1) : 0;

    if (count < CLAIM_LEAST)
        count = free < CLAIM_LEAST ? free : CLAIM_LEAST;
    if (count > free_count)
        count = free_count;
    return count < CLAIM_MOST ? count : CLAIM_MOST;
}

/* An item that has waited for half of its lease has too little time left, and this kind cannot
 * renew: release it, so that another claim grants a full lease. */
static bool project_is_stale(const struct queue_project *project)
{
    if (project->counts[QUEUE_CLAIMED] == 0 || project->queue->kind->renew != NULL)
        return false;
    const struct queue_item *oldest =
        LIST_ITEM(project->items[QUEUE_CLAIMED].next, struct queue_item, link);
    return oldest->lease_mono_ms - QUEUE_SPARE_MS - clock_mono_ms() <
           (project->queue->config.lease_ms - QUEUE_SPARE_MS) / 2;
}

static void turn_prefetched(struct queue_project *project)
{
    if (project_is_stale(project)) {
        release_claimed(project);
        return;
    }
    if (project_wants_claim(project))
        claim_start(project,
                    LANE_FRESH,
                    project->queue->kind->prefetch - project->counts[QUEUE_CLAIMED],
                    0);
    if (project_can_begin(project))
        queue_item_begin(LIST_ITEM(project->items[QUEUE_CLAIMED].next, struct queue_item, link));
}

static void turn_give(struct queue_project *project, size_t waiting)
{
    if (project->queue->kind->pass != NULL) {
        queue_slots_take(project, 1);
        pass_start(project);
    } else if (project->queue->kind->prefetch > 0) {
        turn_prefetched(project);
    } else {
        unsigned count = turn_share(project, waiting);
        queue_slots_take(project, count);
        claim_start(project, LANE_FRESH, count, count);
    }
}

static struct queue_project *ring_shift_project(struct list *queue, int lane)
{
    struct queue_lane *node = LIST_ITEM(list_shift(queue), struct queue_lane, ring);

    return CONTAINER_OF(node, struct queue_project, lanes[lane]);
}

static void queue_give_turns(void *arg)
{
    struct queue *queue = arg;
    struct list *crashed = &queue->rings[LANE_CRASHED];
    struct list *fresh = &queue->rings[LANE_FRESH];
    size_t waiting = ring_length(fresh);

    if (queue_free_slots(queue) > 0 && queue->crashed_count == 0 && !list_empty(crashed)) {
        struct queue_project *project = ring_shift_project(crashed, LANE_CRASHED);
        queue->crashed_count = 1;
        queue_slots_take(project, 1);
        claim_start(project, LANE_CRASHED, 1, 1);
    }
    while (queue_free_slots(queue) > 0 && !list_empty(fresh)) {
        struct queue_project *project = ring_shift_project(fresh, LANE_FRESH);
        waiting = waiting > 0 ? waiting - 1 : 0;
        if (project_wants_turn(project, LANE_FRESH))
            turn_give(project, waiting);
        queue_join(project);
    }
}

void queue_pump(struct queue *queue)
{
    if (!list_empty(&queue->rings[LANE_FRESH]) || !list_empty(&queue->rings[LANE_CRASHED]))
        turns_pump(&queue->turns);
}

void queue_project_due(struct queue *queue, int64_t number)
{
    queue_lane_due(queue_project(queue, number),
                   queue->config.crashed_only ? LANE_CRASHED : LANE_FRESH);
}

void queue_rows_stored(struct queue *queue, const struct project *project, unsigned count)
{
    struct queue_project *own = queue_project(queue, project->number);
    unsigned prefetched = queue->kind->prefetch;
    unsigned free = queue_free_slots(queue);
    bool full = prefetched > 0 ? free == 0 || own->counts[QUEUE_CLAIMED] > prefetched / REFILL_PART
                               : count > free || count > queue_project_free_slots(own);

    own->rows_waiting += count;
    if (queue_is_draining(queue) || full)
        queue_notify(queue, project);
    queue_lane_due(own, LANE_FRESH);
}

unsigned queue_rows_waiting(struct queue *queue, int64_t number)
{
    return queue_project(queue, number)->rows_waiting;
}

unsigned queue_slots_reserve(struct queue *queue, int64_t number, unsigned wanted)
{
    struct queue_project *project = queue_project(queue, number);
    unsigned free = queue_free_slots(queue);
    unsigned free_count = queue_project_free_slots(project);

    if (queue_is_draining(queue) || !list_empty(&queue->rings[LANE_FRESH]) ||
        project->lanes[LANE_FRESH].state != LANE_QUIET)
        return 0;
    if (wanted > free)
        wanted = free;
    if (wanted > free_count)
        wanted = free_count;
    queue_slots_take(project, wanted);
    return wanted;
}

/* --- projects --- */

struct queue_project *queue_project(struct queue *queue, int64_t number)
{
    return turns_get(&queue->turns, number);
}

static void project_init(void *item, int64_t number, void *arg)
{
    struct queue_project *project = item;

    project->number = number;
    project->queue = arg;
    for (int lane = 0; lane < LANE_COUNT; lane++)
        list_init(&project->lanes[lane].ring);
    for (int state = 0; state < QUEUE_STATES; state++)
        list_init(&project->items[state]);
}

static bool queue_is_idle(const void *item)
{
    const struct queue_project *project = item;

    for (int lane = 0; lane < LANE_COUNT; lane++) {
        if (project->lanes[lane].state != LANE_QUIET || !list_empty(&project->lanes[lane].ring))
            return false;
    }
    return project->slots_reserved == 0 && project->releases_running == 0 && !project->paused &&
           project->counts[QUEUE_CLAIMED] == 0 && queue_project_used_slots(project) == 0;
}

static void project_rejoin(void *item)
{
    queue_join(item);
}

bool queue_is_alive(const struct queue *queue)
{
    LIST_FOR (node, &queues) {
        if (LIST_ITEM(node, struct queue, link) == queue)
            return true;
    }
    return false;
}

/* --- life --- */

static void project_request_release(void *item)
{
    struct queue_project *project = item;

    release_claimed(project);
    LIST_FOR (node, &project->items[QUEUE_RUNNING])
        queue_item_move(LIST_ITEM(node, struct queue_item, link), QUEUE_RELEASING);
}

static void project_cancel_items(struct queue_project *project)
{
    for (int state = QUEUE_RUNNING; state < QUEUE_ENDED; state++) {
        LIST_FOR (node, &project->items[state])
            task_cancel(&LIST_ITEM(node, struct queue_item, link)->task);
    }
}

static void project_end_items(void *item)
{
    struct queue_project *project = item;

    if (project->queue->kind->release_begun)
        release_begun(project);
    else
        project_cancel_items(project);
}

static void queue_on_last_call(void *arg)
{
    turns_each(&((struct queue *)arg)->turns, project_end_items);
}

void queue_check_drained(struct queue *queue)
{
    loop_fn done = queue->on_drained;

    if (done == NULL || count_with_slots(queue->counts) + queue->slots_reserved > 0)
        return;
    queue->on_drained = NULL;
    loop_timer_stop(&queue->last_call);
    done(queue->drained_arg);
}

void queue_drain(struct queue *queue, int64_t last_call_mono_ms, loop_fn done, void *arg)
{
    int64_t left_ms = last_call_mono_ms - clock_mono_ms();

    queue_stop_sweeps(queue);
    turns_close(&queue->turns);
    turns_each(&queue->turns, project_request_release);
    queue->on_drained = done;
    queue->drained_arg = arg;
    loop_timer_start(&queue->last_call, left_ms > 0 ? left_ms : 0);
    queue_check_drained(queue);
}

void queue_stop_sweeps(struct queue *queue)
{
    sweep_stop(queue);
    loop_timer_stop(&queue->retention);
}

bool queue_is_draining(const struct queue *queue)
{
    return queue->turns.closed;
}

struct queue *queue_start(const struct queue_kind *kind, const struct queue_config *config)
{
    struct queue *queue = calloc(1, sizeof(*queue));

    MUST(queue != NULL);
    MUST((kind->pass != NULL) != (kind->run != NULL));
    MUST(kind->pass != NULL || (kind->claim != NULL && kind->release != NULL));
    MUST(kind->pass != NULL || kind->renew != NULL || config->lease_ms >= 2 * QUEUE_SPARE_MS);
    queue->kind = kind;
    queue->config = *config;
    if (queue->config.slots_per_project == 0)
        queue->config.slots_per_project = config->slots;
    queue->share = (struct queue_share){.index = 0, .count = 1};
    for (int lane = 0; lane < LANE_COUNT; lane++)
        list_init(&queue->rings[lane]);
    queue->turns = (struct turns){
        .size = sizeof(struct queue_project),
        .arg = queue,
        .init = project_init,
        .is_idle = queue_is_idle,
        .rejoin = project_rejoin,
        .pump = queue_give_turns,
    };
    turns_start(&queue->turns);
    loop_timer_init(&queue->last_call, queue_on_last_call, queue);
    list_append(&queues, &queue->link);
    lease_start(queue);
    notify_start(queue);
    sweep_start(queue);
    retain_start(queue);
    return queue;
}

static void project_unpause(void *item)
{
    pass_unpause(item);
}

static void queue_free(void *arg)
{
    free(arg);
}

void queue_stop(struct queue *queue)
{
    loop_timer_stop(&queue->last_call);
    loop_timer_stop(&queue->renewals);
    loop_timer_stop(&queue->sweeps);
    loop_timer_stop(&queue->retention);
    turns_each(&queue->turns, project_unpause);
    turns_stop(&queue->turns);
    list_remove(&queue->link);
    if (turns_can_free(&queue->turns, queue_free, queue))
        free(queue);
}

/* --- metrics --- */

#define PREFIX "groundwork_queue_"
enum { CLAIMED, DONE, RELEASED, LOST, RESCUED, QUARANTINED, RUNNING, PROJECTS, METRICS };
static const struct {
    const char *name, *help;
} texts[METRICS] = {
    [CLAIMED] = {PREFIX "claimed_total", "Items claimed"},
    [DONE] = {PREFIX "done_total", "Items that were completed"},
    [RELEASED] = {PREFIX "released_total", "Items released to the queue"},
    [LOST] = {PREFIX "lost_total", "Items that were cancelled or claimed by another process"},
    [RESCUED] = {PREFIX "rescued_total", "Items of crashed processes, released or quarantined"},
    [QUARANTINED] = {PREFIX "quarantined_total", "Items quarantined after too many crashes"},
    [RUNNING] = {PREFIX "running", "Items running"},
    [PROJECTS] = {PREFIX "projects", "Projects with work"},
};

#define KINDS_MAX   8
#define LABEL_BYTES 64
static struct {
    const struct queue_kind *kind;
    char label[LABEL_BYTES]; /* borrowed by the metrics for the life of the process */
    struct metric *metrics[METRICS];
} prepared[KINDS_MAX];
static size_t prepared_count;

void queue_prepare(const struct queue_kind *kind)
{
    size_t at = prepared_count++;

    MUST(at < KINDS_MAX);
    char *label = prepared[at].label;
    (void)snprintf(label, LABEL_BYTES, "queue=\"%s\"", kind->name);
    prepared[at].kind = kind;
    for (int i = 0; i < METRICS; i++)
        prepared[at].metrics[i] = i < RUNNING ? metric_counter(texts[i].name, label, texts[i].help)
                                              : metric_gauge(texts[i].name, label, texts[i].help);
}

static void queue_set_all(struct metric *const metrics[METRICS], const struct queue_stats *stats)
{
    const int64_t values[METRICS] = {
        [CLAIMED] = (int64_t)stats->on_claimed,
        [DONE] = (int64_t)stats->done,
        [RELEASED] = (int64_t)stats->released,
        [LOST] = (int64_t)stats->lost,
        [RESCUED] = (int64_t)stats->rescued,
        [QUARANTINED] = (int64_t)stats->quarantined,
        [RUNNING] = (int64_t)stats->running,
        [PROJECTS] = (int64_t)stats->projects,
    };

    for (int i = 0; i < METRICS; i++)
        metric_set(metrics[i], values[i]);
}

void queue_metrics_update(void)
{
    LIST_FOR (node, &queues) {
        struct queue *queue = LIST_ITEM(node, struct queue, link);
        for (size_t i = 0; i < prepared_count; i++) {
            if (prepared[i].kind == queue->kind)
                queue_set_all(prepared[i].metrics, queue_stats(queue));
        }
    }
}
