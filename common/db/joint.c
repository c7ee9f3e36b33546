/*
 * Joint writes: single statements of the same text that tasks send at the same time share one
 * transaction, so that many of them cost one commit, one round trip and one lease.
 *
 * A lane is one statement in one schema while somebody runs it. What a turn collected leaves at the
 * turn's end; while LANE_RUNNERS groups are on their way the rest gathers and leaves when one of
 * them is back. A group that fails has done nothing: its members run again by themselves, each
 * in a transaction of its own, and only what they meet there is told.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/panic.h"
#include "db/server.h"

enum { LANE_RUNNERS = 3, JOINT_MAX = 32, JOINT_LIMIT_MS = 60000 };

struct lane {
    struct db_server *server; /* NULL = it was freed */
    int64_t schema;
    uint64_t key;
    struct list members; /* struct member, first come first served */
    unsigned running;
    struct loop_hook hook;
};

/* Lives on the stack of the task that waits, and so does its op: the wait cannot be interrupted. */
struct member {
    struct await await;
    struct list link;
    struct db_op *op;
};

/* A group on its way, and the coroutine that sends it and those after it. */
struct runner {
    struct task task;
    struct arena *arena; /* it lives there itself */
    struct lane *lane;
    struct member *members[JOINT_MAX];
    struct db_op ops[JOINT_MAX]; /* copies */
    size_t count;
    struct loop_hook hook;
};

static struct str lane_name(const struct lane *lane)
{
    return (struct str){(const char *)&lane->key, sizeof(lane->key)};
}

static void lane_free(struct lane *lane)
{
    if (lane->running > 0 || lane->hook.queued || !list_empty(&lane->members))
        return;
    if (lane->server)
        (void)map_remove(lane->server->lanes, lane_name(lane));
    free(lane);
}

/* --- a group ------------------------------------------------------------------------------------
 */

static void member_end(struct member *member, int rc)
{
    member->op->rc = rc;
    await_done(&member->await, 0);
}

/* What a member is told: a group of several did not happen when one of it failed, and who waits
 * for a locked table would wait there again. */
static int member_rc(size_t count, int rc)
{
    switch (rc) {
    case 0:
    case OP_LOST:
    case DB_LOCKED:
    case DB_UNAVAILABLE:
        return rc;
    case OP_UNSENT:
        return OP_ABORTED;
    default:
        return count == 1 ? rc : OP_ABORTED;
    }
}

/* The first of those who wait; who waited for too long is told so. */
static void take_group(struct runner *runner)
{
    struct lane *lane = runner->lane;
    int64_t now_ms = server_now_ms();

    runner->count = 0;
    while (runner->count < JOINT_MAX && !list_empty(&lane->members)) {
        struct member *member = LIST_ITEM(list_shift(&lane->members), struct member, link);
        if (now_ms - member->op->queued_ms >= lane->server->config.lease_timeout_ms) {
            member_end(member, DB_UNAVAILABLE);
            continue;
        }
        runner->members[runner->count] = member;
        runner->ops[runner->count] = *member->op;
        list_init(&runner->ops[runner->count].link);
        runner->count++;
    }
}

AWAITS static int run_ops(struct task *task, struct runner *runner)
{
    struct lane *lane = runner->lane;
    struct db_conn *conn;
    size_t failed;

    TRY(lease_take(task, lane->server, lane->schema, false, &conn));
    int rc = lease_run(task, conn, runner->ops, runner->count, false, &failed);
    lease_release(conn);
    return rc;
}

AWAITS static void run_group(struct task *task, struct runner *runner)
{
    task->deadline_ms = clock_mono_ms() + JOINT_LIMIT_MS;
    int rc = run_ops(task, runner);
    if (rc < 0)
        rc = DB_UNAVAILABLE; /* nothing was sent */
    for (size_t i = 0; i < runner->count; i++) {
        runner->members[i]->op->result = runner->ops[i].result;
        member_end(runner->members[i], member_rc(runner->count, rc));
    }
}

static void free_runner(void *arg)
{
    const struct runner *runner = arg;

    arena_free(runner->arena);
}

static void run_lane(struct task *task, void *arg)
{
    struct runner *runner = arg;
    struct lane *lane = runner->lane;

    while (runner->count > 0) {
        run_group(task, runner);
        take_group(runner);
    }
    lane->running--;
    lane_free(lane);
    /* The task's memory must last until its coroutine has left. */
    runner->hook = (struct loop_hook){.fn = free_runner, .arg = runner};
    loop_at_turn_end(&runner->hook);
}

static void start_runner(struct lane *lane)
{
    struct arena *arena = arena_new(0);
    struct runner *runner = ARENA_NEW(arena, runner);

    runner->arena = arena;
    runner->lane = lane;
    runner->task.arena = arena;
    take_group(runner);
    lane->running++;
    task_start(&runner->task, run_lane, runner);
}

/* --- lanes --------------------------------------------------------------------------------------
 */

static void on_turn_end(void *arg)
{
    struct lane *lane = arg;

    while (!list_empty(&lane->members) && lane->running < LANE_RUNNERS)
        start_runner(lane);
    lane_free(lane);
}

static struct lane *find_lane(struct db_server *server, const struct db_op *op)
{
    struct lane *lane = map_get(server->lanes, (struct str){(const char *)&op->key, 8});

    if (lane)
        return lane;
    lane = calloc(1, sizeof(*lane));
    MUST(lane != NULL);
    lane->server = server;
    lane->schema = op->schema;
    lane->key = op->key;
    list_init(&lane->members);
    lane->hook = (struct loop_hook){.fn = on_turn_end, .arg = lane};
    (void)map_put(server->lanes, lane_name(lane), lane);
    return lane;
}

int joint_run(struct task *task, struct db_server *server, struct db_op *op)
{
    struct lane *lane = find_lane(server, op);
    struct member member = {.op = op};

    await_init(&member.await);
    list_append(&lane->members, &member.link);
    loop_at_turn_end(&lane->hook);
    int rc = await_wait(task, &member.await, 0);
    /* Its own end counts, whatever has happened to the task meanwhile. */
    (void)rc;
    return op->rc;
}

void joint_close(struct db_server *server)
{
    struct str name;
    size_t cursor = 0;
    void *value;

    while (map_next(server->lanes, &cursor, &name, &value)) {
        struct lane *lane = value;
        struct list *node;
        while ((node = list_shift(&lane->members)))
            member_end(LIST_ITEM(node, struct member, link), DB_UNAVAILABLE);
        lane->server = NULL;
        /* Its runner or its hook frees it. */
        MUST(lane->running > 0 || lane->hook.queued);
    }
    map_free(server->lanes);
    server->lanes = NULL;
}
