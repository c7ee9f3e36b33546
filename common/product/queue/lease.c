/* Renews leases, and finds lost items. */
#include "base/clock.h"
#include "base/panic.h"
#include "log/log.h"
#include "loop/background.h"
#include "queue/queue_private.h"

#define RENEWALS_A_LEASE 3
#define RENEW_AGE_PART   6 /* leases younger than lease_ms / 6 wait for the next renewal */
#define RENEW_LIMIT_MS   10000

static void item_lose(struct queue_item *item, const char *why)
{
    enum queue_state before = item->state;

    log_info("queue.lost",
             L_CSTR("queue", item->owner->queue->kind->name),
             L_I64("project", item->owner->number),
             L_I64("item", item->id),
             L_CSTR("why", why));
    queue_item_move(item, QUEUE_LOST);
    task_cancel(&item->task);
    if (before != QUEUE_CLAIMED)
        return;
    item->owner->queue->stats.lost++;
    queue_item_free(item); /* the item had not begun */
}

/* The items of one project in one renewal. They are listed by id, because they may end during the
 * statement. */
struct renewal {
    struct background *background;
    struct queue *queue;
    int64_t number; /* number of the project */
    struct db db;
    int64_t *ids, *tokens;
    size_t count;
};

static struct queue_item *
lease_find_item(struct queue_project *project, int64_t id, const int64_t *token)
{
    for (int state = QUEUE_CLAIMED; state < QUEUE_LOST; state++) {
        LIST_FOR (node, &project->items[state]) {
            struct queue_item *item = LIST_ITEM(node, struct queue_item, link);
            if (item->id == id && (token == NULL || item->token == *token))
                return item;
        }
    }
    return NULL;
}

static bool lease_has_id(const struct rows *rows, int64_t id)
{
    for (size_t i = 0; i < rows->count; i++)
        if (rows_i64(rows, i, 0) == id)
            return true;
    return false;
}

/* A row that is neither in `renewed` nor in `held` belongs to another process or does not exist. A
 * row that is still held but was not renewed is locked: the next renewal decides. */
static void lease_apply(const struct renewal *renewal,
                        const struct rows *renewed,
                        const struct rows *held,
                        int64_t lease_mono_ms)
{
    struct queue_project *project = turns_find(&renewal->queue->turns, renewal->number);

    for (size_t i = 0; project != NULL && i < renewal->count; i++) {
        struct queue_item *item = lease_find_item(project, renewal->ids[i], &renewal->tokens[i]);
        if (item == NULL)
            continue;
        if (lease_has_id(renewed, item->id))
            item->lease_mono_ms = lease_mono_ms;
        else if (!lease_has_id(held, item->id))
            item_lose(item, "taken");
    }
}

static void renew_run(struct task *task, void *arg)
{
    struct renewal *renewal = arg;
    const struct queue_kind *kind = renewal->queue->kind;
    int64_t lease_ms = renewal->queue->config.lease_ms;
    int64_t sent_ms = clock_mono_ms();
    const struct db_named values[] = {
        {"ids", P_I64S(renewal->ids, renewal->count)},
        {"tokens", P_I64S(renewal->tokens, renewal->count)},
        {"lease_ms", P_I64(lease_ms)},
    };
    struct db_call calls[] = {
        {0},
        db_call_named(task->arena, kind->renew, values, ARRAY_LEN(values)),
        db_call_named(task->arena, kind->still_held, values, ARRAY_LEN(values)),
    };

    int rc = queue_batch(task, &renewal->db, calls, ARRAY_LEN(calls));
    if (rc != 0) { /* the next renewal tries again; items that are not renewed in time are lost */
        log_debug("queue.renew_failed", L_I64("project", renewal->number), L_RESULT("rc", rc));
        return;
    }
    lease_apply(renewal, &calls[1].rows, &calls[2].rows, sent_ms + lease_ms);
}

static bool item_is_due(const struct queue_item *item, int64_t now)
{
    int64_t lease_ms = item->owner->queue->config.lease_ms;

    /* A lease that was granted a moment ago waits for the next renewal, which is early enough. */
    return item->lease_mono_ms - now < lease_ms - lease_ms / RENEW_AGE_PART;
}

/* Each project has its own renewal: a project whose server does not answer delays no other. */
static struct renewal *renewal_new(struct queue_project *project)
{
    struct background *background = background_new(RENEW_LIMIT_MS);
    struct arena *arena = background_arena(background);
    struct renewal *renewal = ARENA_NEW(arena, renewal);
    size_t most = project->counts[QUEUE_CLAIMED] + queue_project_used_slots(project);

    *renewal = (struct renewal){
        .background = background, .queue = project->queue, .number = project->number};
    renewal->ids = ARENA_ARRAY(arena, renewal->ids, most);
    renewal->tokens = ARENA_ARRAY(arena, renewal->tokens, most);
    return renewal;
}

static void renewal_add(struct renewal *renewal, const struct queue_item *item)
{
    renewal->db = item->db;
    renewal->ids[renewal->count] = item->id;
    renewal->tokens[renewal->count++] = item->token;
}

static void renewal_start(struct renewal *renewal)
{
    MUST(renewal->count > 0);
    background_start(renewal->background, renew_run, renewal);
}

static void project_renew_due(struct queue_project *project, int64_t now)
{
    struct renewal *renewal = renewal_new(project);

    for (int state = QUEUE_CLAIMED; state < QUEUE_LOST; state++) {
        LIST_FOR (node, &project->items[state]) {
            const struct queue_item *item = LIST_ITEM(node, struct queue_item, link);
            if (item_is_due(item, now))
                renewal_add(renewal, item);
        }
    }
    renewal_start(renewal);
}

static bool project_has_due(const struct queue_project *project, int64_t now)
{
    for (int state = QUEUE_CLAIMED; state < QUEUE_LOST; state++) {
        LIST_FOR (node, &project->items[state]) {
            if (item_is_due(LIST_ITEM(node, struct queue_item, link), now))
                return true;
        }
    }
    return false;
}

static void lease_check_project(void *arg)
{
    struct queue_project *project = arg;
    int64_t now = clock_mono_ms();

    for (int state = QUEUE_CLAIMED; state < QUEUE_LOST; state++) {
        LIST_FOR (node, &project->items[state]) {
            struct queue_item *item = LIST_ITEM(node, struct queue_item, link);
            if (now >= item->lease_mono_ms)
                item_lose(item, "lease ended");
        }
    }
    if (project_has_due(project, now))
        project_renew_due(project, now);
}

static void on_renewals(void *arg)
{
    struct queue *queue = arg;

    turns_each(&queue->turns, lease_check_project);
    loop_timer_start(&queue->renewals, queue->config.lease_ms / RENEWALS_A_LEASE);
}

void lease_start(struct queue *queue)
{
    loop_timer_init(&queue->renewals, on_renewals, queue);
    if (queue->kind->renew == NULL)
        return;
    MUST(queue->kind->still_held != NULL);
    loop_timer_start(&queue->renewals, queue->config.lease_ms / RENEWALS_A_LEASE);
}

void lease_check(struct queue_project *project)
{
    struct renewal *renewal;

    if (project->counts[QUEUE_RUNNING] + project->counts[QUEUE_RELEASING] == 0 ||
        project->queue->kind->renew == NULL)
        return;
    renewal = renewal_new(project);
    for (int state = QUEUE_RUNNING; state < QUEUE_LOST; state++) {
        LIST_FOR (node, &project->items[state])
            renewal_add(renewal, LIST_ITEM(node, struct queue_item, link));
    }
    renewal_start(renewal);
}

void queue_item_recheck(struct queue *queue, int64_t number, int64_t id)
{
    struct queue_project *project = turns_find(&queue->turns, number);
    const struct queue_item *item = project != NULL ? lease_find_item(project, id, NULL) : NULL;
    struct renewal *renewal;

    if (item == NULL || queue->kind->renew == NULL)
        return;
    renewal = renewal_new(project);
    renewal_add(renewal, item);
    renewal_start(renewal);
}
