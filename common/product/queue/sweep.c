/* Finds work without a notification, and rescues rows of processes that died. */
#include "log/log.h"
#include "loop/background.h"
#include "queue/queue_private.h"

#define POLLS_AT_ONCE      32
#define SWEEP_LIMIT_MS     20000
#define NO_NOTIFICATION_MS 500 /* between sweeps while the bus is away */
#define LEAVE_MS           1000

struct queue_share queue_share(const struct queue *queue)
{
    return queue->share;
}

bool sweep_is_own_project(const struct queue *queue, int64_t number)
{
    return (size_t)number % queue->share.count == queue->share.index;
}

static bool has_notifications(const struct queue *queue)
{
    return queue->config.bus == NULL || bus_is_up(queue->config.bus);
}

static struct db *control_db(const struct queue *queue)
{
    return directory_control(queue->config.directory);
}

/* --- the live processes --- */

AWAITS static int peers_refresh(struct task *task, struct queue *queue)
{
    const struct queue_peers *peers = queue->kind->peers;

    if (peers == NULL)
        return 0;
    struct db_call calls[] = {
        QUEUE_CALL(task->arena, peers->put_alive, {"holder", P_STR(queue->config.holder)}),
        {.sql = peers->list_live},
        {.sql = peers->forget},
    };
    TRY(db_batch(task, control_db(queue), calls, ARRAY_LEN(calls), NULL));
    const struct rows *live = &calls[1].rows;
    queue->share = (struct queue_share){.index = 0, .count = live->count > 0 ? live->count : 1};
    for (size_t i = 0; i < live->count; i++) {
        if (str_eq(rows_str(live, i, 0), queue->config.holder))
            queue->share.index = i;
    }
    return 0;
}

/* --- one project --- */

/* co: makes sure that crashed rows are claimed: by an ordinary claim, separately in this process,
 * or by the dedicated process. */
AWAITS static void crashed_announce(struct task *task, struct queue *queue, int64_t number)
{
    const struct queue_kind *kind = queue->kind;

    if (kind->claim_crashed == NULL) {
        queue_project_due(queue, number);
    } else if (kind->crashed_put == NULL) {
        queue_lane_due(queue_project(queue, number), LANE_CRASHED);
    } else {
        int rc = queue_query(task,
                             control_db(queue),
                             QUEUE_CALL(task->arena, kind->crashed_put, {"number", P_I64(number)}),
                             NULL);
        if (rc != 0) /* the next sweep finds them again */
            log_debug("queue.crashed_put_failed", L_I64("project", number), L_RESULT("rc", rc));
    }
}

/* co: finds, of the processes whose leases have ended, those that never had two items at a time. */
AWAITS static int alone_holders_find(struct task *task,
                                     struct queue *queue,
                                     struct db *db,
                                     struct db_param *ret_isolated)
{
    struct rows holders;
    struct rows isolated;
    struct str *names;

    *ret_isolated = P_STRS(NULL, 0);
    if (queue->kind->holders == NULL)
        return 0;
    TRY(db_query(task, db, queue->kind->holders, NULL, 0, &holders));
    names = ARENA_ARRAY(task->arena, names, holders.count);
    for (size_t i = 0; i < holders.count; i++)
        names[i] = rows_str(&holders, i, 0);
    TRY(queue_query(task,
                    control_db(queue),
                    QUEUE_CALL(task->arena,
                               queue->kind->peers->list_alone,
                               {"holders", P_STRS(names, holders.count)}),
                    &isolated));
    for (size_t i = 0; i < isolated.count; i++)
        names[i] = rows_str(&isolated, i, 0);
    *ret_isolated = P_STRS(names, isolated.count);
    return 0;
}

/* co: puts rows whose process died back into the queue, or quarantines them. *ret_found: there were
 * such rows. */
AWAITS static int
rows_rescue(struct task *task, struct queue *queue, struct db *db, bool *ret_found)
{
    struct db_param isolated;

    TRY(alone_holders_find(task, queue, db, &isolated));
    struct db_call calls[] = {
        {0},
        QUEUE_CALL(task->arena,
                   queue->kind->rescue,
                   {"attempts", P_I64(queue->config.attempts)},
                   {"alone", isolated}),
    };
    TRY(queue_batch(task, db, calls, ARRAY_LEN(calls)));
    const struct rows rows = calls[1].rows;
    for (size_t i = 0; i < rows.count; i++) {
        bool quarantined = rows_bool(&rows, i, rows_column(&rows, "quarantined"));
        log_warn(quarantined ? "queue.quarantined" : "queue.rescued",
                 L_CSTR("queue", queue->kind->name),
                 L_I64("project", db->schema),
                 L_I64("item", rows_i64(&rows, i, rows_column(&rows, "id"))),
                 L_I64("attempt", rows_i64(&rows, i, rows_column(&rows, "attempt"))));
        queue->stats.rescued++;
        queue->stats.quarantined += quarantined;
    }
    *ret_found = rows.count > 0;
    return 0;
}

bool sweep_project(const struct queue *queue,
                   const struct rows *projects,
                   size_t project,
                   struct db *ret_db)
{
    struct str server = rows_str(projects, project, rows_column(projects, "server"));

    ret_db->schema = rows_i64(projects, project, rows_column(projects, "number"));
    ret_db->server = directory_server(queue->config.directory, server);
    return ret_db->server != NULL && sweep_is_own_project(queue, ret_db->schema);
}

static bool row_flag(const struct rows *found, const char *column)
{
    return rows_has(found, column) && rows_bool(found, 0, rows_column(found, column));
}

AWAITS static int
poll_project(struct task *task, struct queue *queue, const struct rows *projects, size_t project)
{
    const struct queue_kind *kind = queue->kind;
    struct db db = {0};
    bool crashed = false;
    struct rows found;

    if (!sweep_project(queue, projects, project, &db) || !db_server_up(db.server))
        return 0;
    TRY(db_query(task, &db, kind->poll, NULL, 0, &found));
    if (row_flag(&found, "due"))
        queue_project_due(queue, db.schema);
    if (row_flag(&found, "expired")) {
        int rc = rows_rescue(task, queue, &db, &crashed);
        if (rc < 0)
            return rc;
    }
    if (crashed || row_flag(&found, "crashed"))
        crashed_announce(task, queue, db.schema);
    return kind->on_polled != NULL ? kind->on_polled(task, &db, projects, project, &found) : 0;
}

/* --- all of them --- */

struct sweep_polls {
    struct queue *queue;
    const struct rows *projects;
    size_t *next; /* index, shared by the tasks of one sweep */
};

/* co: one of several tasks that share the list. A project whose poll fails does not delay the other
 * projects. */
AWAITS static int poll_projects(struct task *task, void *arg)
{
    struct sweep_polls *polls = arg;

    while (*polls->next < polls->projects->count && !polls->queue->sweeps_stopped) {
        int rc = poll_project(task, polls->queue, polls->projects, (*polls->next)++);
        if (rc < 0)
            return rc;
    }
    return 0;
}

AWAITS static int sweep_all(struct task *task, struct queue *queue)
{
    struct rows projects;
    size_t next = 0;

    TRY(peers_refresh(task, queue));
    TRY(db_query(task, control_db(queue), queue->kind->projects, NULL, 0, &projects));
    struct sweep_polls polls = {.queue = queue, .projects = &projects, .next = &next};
    size_t most = queue->kind->polls_at_once > 0 ? queue->kind->polls_at_once : POLLS_AT_ONCE;
    size_t count = projects.count < most ? projects.count : most;
    struct task_call *calls = ARENA_ARRAY(task->arena, calls, count);
    for (size_t i = 0; i < count; i++)
        calls[i] = (struct task_call){.fn = poll_projects, .arg = &polls};
    int rc = count > 0 ? task_all(task, calls, count) : 0;
    if (queue->kind->on_swept != NULL)
        queue->kind->on_swept();
    return rc;
}

/* co: for the dedicated process: takes the projects that other processes have recorded. */
AWAITS static int crashed_projects_take(struct task *task, struct queue *queue)
{
    struct rows projects;

    TRY(db_query(task, control_db(queue), queue->kind->crashed_take, NULL, 0, &projects));
    for (size_t i = 0; i < projects.count; i++)
        queue_project_due(queue, rows_i64(&projects, i, 0));
    return 0;
}

/* --- the clock --- */

static int64_t period_ms(const struct queue *queue)
{
    int64_t period = queue->config.sweep_ms;

    if (queue->config.crashed_only || has_notifications(queue))
        return period;
    return period < NO_NOTIFICATION_MS ? period : NO_NOTIFICATION_MS;
}

static void sweep_run(struct task *task, void *arg)
{
    struct queue *queue = arg;

    int rc =
        queue->config.crashed_only ? crashed_projects_take(task, queue) : sweep_all(task, queue);
    if (rc > 0)
        log_debug("queue.sweep_failed", L_CSTR("queue", queue->kind->name), L_RESULT("rc", rc));
    if (!queue->sweeps_stopped)
        loop_timer_start(&queue->sweeps, period_ms(queue));
}

static void sweep_on_timer(void *arg)
{
    background_run(SWEEP_LIMIT_MS, sweep_run, arg);
}

void sweep_start(struct queue *queue)
{
    loop_timer_init(&queue->sweeps, sweep_on_timer, queue);
    if (queue->kind->poll != NULL)
        loop_timer_start(&queue->sweeps, 0);
}

static void leave_run(struct task *task, void *arg)
{
    const struct queue *queue = arg;

    int rc = queue_query(task,
                         control_db(queue),
                         QUEUE_CALL(task->arena,
                                    queue->kind->peers->remove,
                                    {"holder", P_STR(queue->config.holder)}),
                         NULL);
    if (rc > 0)
        log_debug("queue.leave_failed", L_RESULT("rc", rc));
}

void sweep_stop(struct queue *queue)
{
    if (queue->sweeps_stopped)
        return;
    queue->sweeps_stopped = true;
    loop_timer_stop(&queue->sweeps);
    if (queue->kind->peers != NULL && !queue->config.crashed_only)
        background_run(LEAVE_MS, leave_run, queue);
}
