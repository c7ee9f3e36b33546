/* Tasks: start, cancel, and running several calls concurrently. */
#include "loop/task.h"

#include "base/panic.h"
#include "loop/co_private.h"

static void task_launch(struct task *task, struct task *parent, task_fn fn, void *arg)
{
    task->waiting = NULL;
    task->parent = parent;
    list_init(&task->children);
    list_init(&task->sibling);
    if (parent != NULL)
        list_append(&parent->children, &task->sibling);
    co_start(task, fn, arg);
}

void task_start_as(struct task *task, const char *name, task_fn fn, void *arg)
{
    MUST(task->co == NULL);
    task->name = name;
    task_launch(task, NULL, fn, arg);
}

struct task *task_current(void)
{
    struct co *co = co_current();

    return co ? co->task : NULL;
}

size_t task_count(void)
{
    return co_count();
}

size_t task_stack_count(void)
{
    return co_pool_count();
}

/* --- cancel --- */

void task_mark_lasting(struct task *task)
{
    for (; task != NULL; task = task->parent)
        task->lasting_count++;
}

/* Next in the tree below `root`, parents first; NULL after the last. */
static struct task *task_next_below(const struct task *root, struct task *task)
{
    if (!list_empty(&task->children))
        return LIST_ITEM(task->children.next, struct task, sibling);
    for (; task != root; task = task->parent) {
        if (task->sibling.next != &task->parent->children)
            return LIST_ITEM(task->sibling.next, struct task, sibling);
    }
    return NULL;
}

void task_cancel(struct task *task)
{
    if (task->cancelled)
        return;
    task->cancelled = true;
    if (task->co == NULL) /* not started or ended: no coroutine to wake, no children */
        return;
    for (struct task *it = task; it != NULL; it = task_next_below(task, it)) {
        it->cancelled = true;
        if (it->waiting != NULL && it->waiting->abandon != NULL)
            co_ready(it->co);
    }
}

/* --- several together --- */

struct task_group {
    struct await await;
    size_t running;
};

struct task_child {
    struct task task;
    struct task_call *call;
    struct task_group *together;
};

static void task_run_child(struct task *task, void *arg)
{
    struct task_child *child = arg;

    child->call->rc = child->call->fn(task, child->call->arg);
    list_remove(&task->sibling);
    if (--child->together->running == 0)
        await_done(&child->together->await, 0);
}

int task_all(struct task *task, struct task_call *calls, size_t count)
{
    MUST(task == task_current());
    if (count == 0)
        return 0;

    struct task_group *together = ARENA_NEW(task->arena, together);
    struct task_child *children = ARENA_ARRAY(task->arena, children, count);
    await_init(&together->await);
    together->running = count;
    for (size_t i = 0; i < count; i++) {
        struct task_child *child = &children[i];
        child->call = &calls[i];
        child->together = together;
        child->task.arena = task->arena;
        child->task.deadline_ms = task->deadline_ms;
        child->task.cancelled = task->cancelled;
        child->task.log = task->log;
        child->task.name = task->name;
        child->task.project = task->project;
        task_launch(&child->task, task, task_run_child, child);
    }
    int rc = await_wait(task, &together->await, 0);
    int64_t db_us = 0; /* the children waited concurrently: the longest wait counts */
    for (size_t i = 0; i < count; i++) {
        if (rc == 0 && calls[i].rc != 0) {
            rc = calls[i].rc;
            task->site = children[i].task.site;
        }
        if (children[i].task.db_us > db_us)
            db_us = children[i].task.db_us;
    }
    task->db_us += db_us;
    return rc;
}
