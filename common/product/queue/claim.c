/* Claims, and the life of an item from its claim to its end. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/panic.h"
#include "log/log.h"
#include "loop/background.h"
#include "queue/queue_private.h"

#define CLAIM_MS 15000

/* --- items --- */

/* The rows that a statement has claimed. */
struct claimed_batch {
    struct queue_project *project;
    const struct db *db;
    struct project *held; /* NULL for rows of queue_items_adopt() */
    const struct rows *rows;
    int64_t sent_ms; /* mono: before the statement was sent */
    int lane;
};

static struct queue_item *item_new(const struct claimed_batch *batch, size_t i)
{
    struct queue_project *project = batch->project;
    const struct queue_kind *kind = project->queue->kind;
    struct queue_item *item = calloc(1, kind->size > 0 ? kind->size : sizeof(*item));

    MUST(item != NULL);
    item->arena = arena_new(0);
    item->task.arena = item->arena;
    item->owner = project;
    item->crashed_count = batch->lane == LANE_CRASHED;
    item->db = *batch->db;
    item->project = batch->held;
    if (item->project != NULL) {
        project_hold(item->arena, item->project);
        item->task.project = item->project->number;
        item->task.log.project = item->project->slug;
    }
    rows_copy_row(item->arena, batch->rows, i, &item->rows);
    item->id = rows_i64(&item->rows, 0, rows_column(&item->rows, "id"));
    item->token = rows_i64(&item->rows, 0, rows_column(&item->rows, "token"));
    item->claimed_mono_ms = clock_mono_ms();
    item->lease_mono_ms = batch->sent_ms + project->queue->config.lease_ms;
    if (kind->renew == NULL)
        item->task.deadline_ms = item->lease_mono_ms - QUEUE_SPARE_MS;
    item->state = QUEUE_CLAIMED;
    project->counts[QUEUE_CLAIMED]++;
    project->queue->counts[QUEUE_CLAIMED]++;
    list_append(&project->items[QUEUE_CLAIMED], &item->link);
    if (kind->read != NULL)
        kind->read(item);
    return item;
}

/* Frees the arena before queue_check_drained(): when the drain is reported done, no item holds its
 * project. */
void queue_item_free(struct queue_item *item)
{
    struct queue_project *project = item->owner;
    struct queue *queue = project->queue;

    arena_free(item->arena);
    list_remove(&item->link);
    project->counts[item->state]--;
    queue->counts[item->state]--;
    if (item->crashed_count)
        queue->crashed_count = 0;
    free(item);
    queue_join(project);
    queue_pump(queue);
    queue_check_drained(queue);
}

/* Runs at the end of a tick of the loop: by then the item's coroutine has ended. */
static void item_on_ended(void *arg)
{
    queue_item_free(arg);
}

static void item_main(struct task *task, void *arg)
{
    struct queue_item *item = arg;
    struct queue_project *project = item->owner;
    struct queue *queue = project->queue;

    enum queue_outcome outcome = queue->kind->run(task, item);
    queue->stats.done += outcome == QUEUE_DONE;
    queue->stats.released += outcome == QUEUE_RELEASED;
    queue->stats.lost += outcome == QUEUE_UNKNOWN;
    if (outcome == QUEUE_RELEASED && !queue_is_draining(queue))
        queue_project_due(queue, project->number);
    queue_item_move(item, QUEUE_ENDED);
    item->free_hook = (struct loop_hook){.fn = item_on_ended, .arg = item};
    loop_at_tick_end(&item->free_hook);
}

void queue_item_begin(struct queue_item *item)
{
    if (item->state == QUEUE_CLAIMED)
        queue_item_move(item, QUEUE_RUNNING);
    task_start_as(&item->task, item->owner->queue->kind->name, item_main, item);
}

static size_t claim_count_ids(const struct rows *rows, size_t id)
{
    size_t count = 0;

    for (size_t i = 0; i < rows->count; i++)
        count += !rows_null(rows, i, id);
    return count;
}

/* co: records, once in the life of the process, that it has had two items at a time. If the process
 * dies, the rescue then knows that any of its items may have been the cause. A single item begins
 * without this wait, so that a concurrent claim already counts it. */
AWAITS static void shared_record(struct task *task, struct queue *queue, size_t count)
{
    const struct queue_peers *peers = queue->kind->peers;
    bool is_isolated =
        count < 2 && queue->counts[QUEUE_CLAIMED] == 0 && queue_stats(queue)->running == 0;

    if (peers == NULL || peers->put_shared == NULL || queue->shared_recorded || count == 0 ||
        is_isolated)
        return;
    int rc = queue_query(
        task,
        directory_control(queue->config.directory),
        QUEUE_CALL(task->arena, peers->put_shared, {"holder", P_STR(queue->config.holder)}),
        NULL);
    if (rc != 0) /* the next claim tries again */
        log_debug("queue.shared_put_failed", L_RESULT("rc", rc));
    queue->shared_recorded = queue->shared_recorded || rc == 0;
}

/* co: makes items of the rows and returns the `reserved` slots. Items begin at once, unless they
 * were claimed before slots were free or the queue drains. Returns the number of items. */
AWAITS static unsigned items_from_rows(struct task *task,
                                       const struct claimed_batch *batch,
                                       unsigned reserved,
                                       void (*begin)(struct queue_item *item))
{
    struct queue *queue = batch->project->queue;
    size_t id = batch->rows->count > 0 ? rows_column(batch->rows, "id") : 0;
    unsigned taken = 0;

    shared_record(task, queue, claim_count_ids(batch->rows, id));
    bool begins =
        (queue->kind->prefetch == 0 || batch->lane == LANE_CRASHED) && !queue_is_draining(queue);
    queue_slots_return(batch->project, reserved);
    for (size_t i = 0; i < batch->rows->count; i++) {
        if (rows_null(batch->rows, i, id))
            continue;
        struct queue_item *item = item_new(batch, i);
        taken++;
        if (!begins)
            continue;
        queue_item_move(item, QUEUE_RUNNING);
        begin(item);
    }
    queue->stats.on_claimed += taken;
    if (queue_is_draining(queue))
        release_claimed(batch->project);
    return taken;
}

void queue_items_adopt(struct task *task,
                       struct queue *queue,
                       const struct db *db,
                       unsigned reserved,
                       const struct rows *rows,
                       int64_t sent_ms,
                       void (*begin)(struct queue_item *item))
{
    struct queue_project *project = queue_project(queue, db->schema);

    if (rows == NULL) {
        queue_slots_return(project, reserved);
    } else {
        const struct claimed_batch batch = {
            .project = project, .db = db, .rows = rows, .sent_ms = sent_ms, .lane = LANE_FRESH};
        (void)items_from_rows(task, &batch, reserved, begin ? begin : queue_item_begin);
    }
    queue_join(project);
    queue_pump(queue);
    queue_check_drained(queue);
}

/* --- claims --- */

struct claim {
    struct queue_project *project;
    int lane;
    unsigned count, reserved;
};

/* co: returns 0 or the database's result. *ret_gone: the project does not exist. */
AWAITS static int
claim_rows(struct task *task, const struct claim *claim, unsigned *ret_claimed, bool *ret_gone)
{
    const struct queue *queue = claim->project->queue;
    const struct queue_kind *kind = queue->kind;
    const struct queue_config *config = &queue->config;
    struct project *held;
    struct db_call calls[] = {
        {0},
        QUEUE_CALL(task->arena,
                   claim->lane == LANE_CRASHED ? kind->claim_crashed : kind->claim,
                   {"most", P_I64(claim->count)},
                   {"lease_ms", P_I64(config->lease_ms)},
                   {"holder", P_STR(config->holder)},
                   {"bytes", P_I64(kind->claim_bytes)}),
    };

    int rc = project_find_number(task, config->directory, claim->project->number, &held);
    *ret_gone = rc == PROJECT_NOT_FOUND;
    if (rc != 0)
        return rc;
    int64_t sent_ms = clock_mono_ms();
    rc = queue_batch(task, &held->db, calls, ARRAY_LEN(calls));
    *ret_gone = rc == DB_SCHEMA;
    if (rc != 0)
        return rc;
    const struct claimed_batch batch = {
        .project = claim->project,
        .db = &held->db,
        .held = held,
        .rows = &calls[1].rows,
        .sent_ms = sent_ms,
        .lane = claim->lane,
    };
    *ret_claimed = items_from_rows(task, &batch, claim->reserved, queue_item_begin);
    return 0;
}

/* A claim that gets fewer rows than its limit has taken all waiting rows. */
static void claim_update_waiting(const struct claim *claim, unsigned claimed)
{
    struct queue_project *project = claim->project;
    const struct queue_kind *kind = project->queue->kind;

    if (claim->lane != LANE_FRESH)
        return;
    bool more = claimed == claim->count && project->rows_waiting > claimed;
    project->rows_waiting = more ? project->rows_waiting - claimed : 0;
    if (kind->on_claimed != NULL)
        kind->on_claimed(project->number, project->rows_waiting);
}

static void claim_run(struct task *task, void *arg)
{
    struct claim *claim = arg;
    struct queue_project *project = claim->project;
    struct queue *queue = project->queue;
    unsigned claimed = 0;
    bool gone = false;

    int rc = claim_rows(task, claim, &claimed, &gone);
    bool refused = rc != 0 && !gone;
    if (rc != 0)
        queue_slots_return(project, claim->reserved);
    else
        claim_update_waiting(claim, claimed);
    if (claim->lane == LANE_CRASHED && claimed == 0)
        queue->crashed_count = 0;
    queue_lane_done(project, claim->lane, refused || (rc == 0 && claimed == claim->count));
    if (refused)
        turns_retry(&queue->turns);
    else
        queue_join(project);
    queue_pump(queue); /* slots that this claim did not use are free for other projects */
    queue_check_drained(queue);
}

void claim_start(struct queue_project *project, int lane, unsigned count, unsigned reserved)
{
    struct background *background = background_new(CLAIM_MS);
    struct claim *claim = ARENA_NEW(background_arena(background), claim);

    *claim = (struct claim){project, lane, count, reserved};
    project->lanes[lane].state = LANE_CLAIMING; /* work that arrives now needs another claim */
    background_start(background, claim_run, claim);
}
