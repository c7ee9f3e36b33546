/* Writes entries that arrive together in one batch. Each owner has a queue. */
#include "loop/batches.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/panic.h"
#include "loop/background.h"

#define QUEUE_LIMIT_MS ((int64_t)1 << 40)

struct batch_queue {
    struct batches *batches;
    int64_t owner;
    struct list entries; /* waiting entries, oldest first */
    unsigned running;
    struct loop_hook hook;
};

/* Entries that were taken from the queue and have no result yet. */
struct batch {
    struct batch_entry **entries;
    size_t count;
};

static void batch_on_leave(struct await *await)
{
    list_remove(&CONTAINER_OF(await, struct batch_entry, taken_await)->link);
}

static struct batch_entry *entry_take(struct list *node)
{
    struct batch_entry *entry = LIST_ITEM(node, struct batch_entry, link);

    list_remove(node);
    entry->taken = true;
    await_done(&entry->taken_await, 0);
    return entry;
}

static void entry_end(struct batch_entry *entry, int rc)
{
    entry->rc = rc;
    await_done(&entry->written_await, 0);
}

/* Ends `count` entries of the batch, from index `from` on. */
static void batch_cut(struct batch *batch, size_t from, size_t count, int rc)
{
    struct batch_entry **cut = &batch->entries[from];

    for (size_t i = 0; i < count; i++)
        entry_end(cut[i], rc);
    batch->count -= count;
    memmove(cut, cut + count, (batch->count - from) * sizeof(struct batch_entry *));
}

/* Takes as many waiting entries as fit in the batch. */
static void fill_batch(struct batch_queue *queue, struct batch *batch)
{
    const struct batches *batches = queue->batches;
    size_t bytes = 0;

    while (!list_empty(&queue->entries) && batch->count < batches->max_entries) {
        bytes += LIST_ITEM(queue->entries.next, struct batch_entry, link)->bytes;
        if (batch->count > 0 && bytes > batches->bytes)
            break;
        batch->entries[batch->count++] = entry_take(queue->entries.next);
    }
    if (batches->order != NULL)
        qsort(batch->entries, batch->count, sizeof(struct batch_entry *), batches->order);
}

/* Ends the entries of the batch, and of the queue, that are not to be written (.expired_rc). */
static void entries_end_expired(struct batch_queue *queue, struct batch *batch)
{
    int (*over)(const struct batch_entry *) = queue->batches->expired_rc;
    int rc;

    if (over == NULL)
        return;
    for (size_t i = batch->count; i-- > 0;)
        if ((rc = over(batch->entries[i])) != 0)
            batch_cut(batch, i, 1, rc);
    LIST_FOR (node, &queue->entries)
        if ((rc = over(LIST_ITEM(node, struct batch_entry, link))) != 0)
            entry_end(entry_take(node), rc);
}

AWAITS static int entries_write_once(struct task *task,
                                     const struct batches *batches,
                                     struct batch_entry **entries,
                                     size_t count,
                                     size_t *ret_failed)
{
    struct arena *own = task->arena;
    int64_t started_us = clock_mono_us();

    *ret_failed = count;
    task->arena = arena_new(0);
    task->deadline_ms = clock_mono_ms() + batches->limit_ms;
    int rc = batches->write(task, entries, count, ret_failed);
    task->deadline_ms = 0;
    arena_free(task->arena);
    task->arena = own;
    for (size_t i = 0; i < count; i++)
        entries[i]->task->db_us += clock_mono_us() - started_us;
    return rc;
}

/* co: writes the batch: all of its entries have a result afterwards. */
AWAITS static void write_batch(struct task *task, struct batch_queue *queue, struct batch *batch)
{
    const struct batches *batches = queue->batches;
    struct backoff pause = batches->pause;
    size_t most = batches->max_entries;
    size_t failed;

    for (entries_end_expired(queue, batch); batch->count > 0; entries_end_expired(queue, batch)) {
        size_t count = batch->count < most ? batch->count : most;
        int rc = entries_write_once(task, batches, batch->entries, count, &failed);
        enum batch_end end = rc == 0 || task->cancelled ? BATCH_ENDED : batches->judge(rc);
        if (end == BATCH_AGAIN) {
            (void)!task_sleep(task, backoff_next(&pause));
        } else if (end == BATCH_REFUSED && failed < count) {
            batch_cut(batch, failed, 1, rc);
        } else if (end == BATCH_REFUSED && count > 1) {
            most = count / 2;
        } else {
            batch_cut(batch, 0, count, rc);
            most = most < batches->max_entries / 2 ? most * 2 : batches->max_entries;
        }
    }
}

static struct str batch_queue_key(const struct batch_queue *queue)
{
    return (struct str){(const char *)&queue->owner, sizeof(queue->owner)};
}

static void free_idle(struct batch_queue *queue)
{
    if (queue->running > 0 || queue->hook.queued || !list_empty(&queue->entries))
        return;
    (void)map_remove(queue->batches->queues, batch_queue_key(queue));
    free(queue);
}

static void batch_queue_run(struct task *task, void *arg)
{
    struct batch_queue *queue = arg;
    struct batch_entry **slot = ARENA_ARRAY(task->arena, slot, queue->batches->max_entries);

    while (!list_empty(&queue->entries)) {
        struct batch batch = {.entries = slot};
        fill_batch(queue, &batch);
        if (!list_empty(&queue->entries) && queue->running < queue->batches->at_once)
            loop_at_tick_end(&queue->hook);
        write_batch(task, queue, &batch);
    }
    queue->running--;
    free_idle(queue);
}

static void batches_on_tick_end(void *arg)
{
    struct batch_queue *queue = arg;

    if (list_empty(&queue->entries) || queue->running == queue->batches->at_once) {
        free_idle(queue);
        return;
    }
    queue->running++;
    background_run(QUEUE_LIMIT_MS, batch_queue_run, queue);
}

static struct batch_queue *batch_queue_find(struct batches *batches, int64_t owner)
{
    struct batch_queue wanted = {.batches = batches, .owner = owner};

    if (batches->queues == NULL)
        batches->queues = map_new();
    struct batch_queue *queue = map_get(batches->queues, batch_queue_key(&wanted));
    if (queue != NULL)
        return queue;
    queue = calloc(1, sizeof(*queue));
    MUST(queue != NULL);
    *queue = wanted;
    list_init(&queue->entries);
    queue->hook = (struct loop_hook){.fn = batches_on_tick_end, .arg = queue};
    (void)map_put(batches->queues, batch_queue_key(queue), queue);
    return queue;
}

int batches_write(struct task *task,
                  struct batches *batches,
                  int64_t owner,
                  struct batch_entry *entry)
{
    struct batch_queue *queue = batch_queue_find(batches, owner);

    entry->task = task;
    await_init(&entry->taken_await);
    await_init(&entry->written_await);
    entry->taken_await.abandon = batches->is_uninterruptible ? NULL : batch_on_leave;
    list_append(&queue->entries, &entry->link);
    if (queue->running < batches->at_once)
        loop_at_tick_end(&queue->hook);
    int rc = await_wait(task, &entry->taken_await, 0);
    if (!entry->taken)
        return rc;
    rc = await_wait(task, &entry->written_await, 0);
    (void)rc; /* the result of the entry counts, even if its task was cancelled */
    return entry->rc;
}
