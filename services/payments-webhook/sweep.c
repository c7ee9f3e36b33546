/* Bells, and what is found without one. */
#include "sweep.h"

#include "app.h"
#include "base/clock.h"
#include "base/panic.h"
#include "bus/bus.h"
#include "log/log.h"
#include "loop/background.h"
#include "settle.h"
#include "webhook_sweep_sql.h"
#include "webhook_work_sql.h"
#include "work.h"

#define GROUP          "payments-webhook"
#define LOOKS_AT_ONCE  16
#define SWEEP_LIMIT_MS 20000
#define NO_BELLS_MS    1000 /* between sweeps while Redis is away */
#define RETAIN_ROUNDS  20

static struct {
    struct loop_timer timer;
    int64_t retained_ms;
    bool stopped;
    struct sweep_stats stats, next;
} s;

const struct sweep_stats *sweep_stats(void)
{
    return &s.stats;
}

/* --- bells --- */

/* Heard is enough: what an entry speaks of is a row, which the next sweep finds. */
static int
on_bells(struct task *task UNUSED, const struct bus_entry *entries, size_t count, void *arg UNUSED)
{
    for (size_t i = 0; i < count; i++)
        work_due(entries[i].project);
    return 0;
}

/* --- one project --- */

struct look {
    const struct rows *projects;
    size_t *next; /* shared by the tasks of one sweep */
    bool retain;
};

AWAITS static int bury(struct task *task, struct db *db)
{
    struct rows rows;

    TRY(db_query(
        task, db, &SQL_EVENTS_BURY_SUSPECTS, PARAMS(P_I64(webhook_conf()->event_attempts)), &rows));
    for (size_t i = 0; i < rows.count; i++) {
        const struct row row = rows_at(&rows, i);
        log_warn("webhook.quarantined",
                 L_I64("project", db->schema),
                 L_I64("event", row_i64(&row, "id")),
                 L_STR("type", row_str(&row, "type")),
                 L_I64("attempts", row_i64(&row, "attempts")));
    }
    work_stats()->dead += rows.count;
    return 0;
}

AWAITS static int retain(struct task *task, struct db *db)
{
    static const char *const states[] = {"applied", "ignored", "unsupported"};
    struct rows rows;

    for (size_t i = 0; i < ARRAY_LEN(states); i++) {
        rows.affected = 1;
        for (int round = 0; round < RETAIN_ROUNDS && rows.affected > 0; round++)
            TRY(db_query(task,
                         db,
                         &SQL_RETAIN_WEBHOOK_EVENTS,
                         PARAMS(P_CSTR(states[i]), P_I64(webhook_conf()->event_retention_days)),
                         &rows));
    }
    rows.affected = 1;
    for (int round = 0; round < RETAIN_ROUNDS && rows.affected > 0; round++)
        TRY(db_query(task, db, &SQL_RETAIN_IDEMPOTENCY_KEYS, NULL, 0, &rows));
    return 0;
}

static void count(const struct row *found)
{
    int64_t oldest_ms = row_i64(found, "oldest_ms");

    s.next.backlog += row_i64(found, "backlog");
    s.next.dead += row_i64(found, "dead");
    if (oldest_ms > s.next.oldest_ms)
        s.next.oldest_ms = oldest_ms;
}

AWAITS static int look_at(struct task *task, const struct row *project, bool retain_now)
{
    struct db_server *server = directory_server(webhook_directory(), row_str(project, "server"));
    int64_t number = row_i64(project, "number");
    struct db db = {.server = server, .schema = number};
    struct rows rows;

    if (server == NULL)
        return 0;
    TRY(db_query(task, &db, &SQL_PAY_SWEEP_LOOK, NULL, 0, &rows));
    const struct row found = rows_at(&rows, 0);
    count(&found);
    if (row_bool(&found, "suspects")) {
        TRY(bury(task, &db));
        work_suspects_due(number);
    }
    if (row_bool(&found, "due"))
        work_due(number);
    if (row_bool(&found, "settle"))
        settle_due(number);
    return retain_now ? retain(task, &db) : 0;
}

/* One of several tasks that share the list. A project that cannot be asked does not keep the others
 * waiting. */
AWAITS static int look_around(struct task *task, void *arg)
{
    struct look *look = arg;

    while (*look->next < look->projects->count && !s.stopped) {
        const struct row project = rows_at(look->projects, (*look->next)++);
        int rc = look_at(task, &project, look->retain);
        if (rc < 0)
            return rc;
    }
    return 0;
}

AWAITS static int sweep_once(struct task *task)
{
    struct rows projects;
    size_t next = 0;
    int64_t now = clock_mono_ms();
    bool retain_now = now - s.retained_ms > webhook_conf()->retain_ms;

    TRY(db_query(
        task, directory_control(webhook_directory()), &SQL_PAY_SWEEP_PROJECTS, NULL, 0, &projects));
    struct look look = {.projects = &projects, .next = &next, .retain = retain_now};
    size_t calls_count = projects.count < LOOKS_AT_ONCE ? projects.count : LOOKS_AT_ONCE;
    struct task_call *calls = ARENA_ARRAY(task->arena, calls, calls_count);
    for (size_t i = 0; i < calls_count; i++)
        calls[i] = (struct task_call){.fn = look_around, .arg = &look};
    if (retain_now)
        s.retained_ms = now;
    s.next = (struct sweep_stats){.backlog = 0};
    int rc = calls_count > 0 ? task_all(task, calls, calls_count) : 0;
    s.stats = s.next;
    return rc;
}

/* --- the clock --- */

static void sweep_run(struct task *task, void *arg UNUSED)
{
    int64_t period = webhook_conf()->sweep_ms;

    int rc = sweep_once(task);
    if (rc > 0)
        log_debug("sweep.failed", L_I64("rc", rc));
    if (!bus_up(webhook_bus()) && period > NO_BELLS_MS)
        period = NO_BELLS_MS;
    if (!s.stopped)
        loop_timer_start(&s.timer, period);
}

static void on_timer(void *arg UNUSED)
{
    background_run(SWEEP_LIMIT_MS, sweep_run, NULL);
}

void sweep_start(void)
{
    s.retained_ms = clock_mono_ms();
    if (webhook_conf()->apply_slots > 0) /* a bell is heard by one process */
        bus_consume(webhook_bus(),
                    &(struct bus_consumer){.topic = BUS_PAY, .group = GROUP, .handle = on_bells});
    loop_timer_init(&s.timer, on_timer, NULL);
    loop_timer_start(&s.timer, 0);
}

void sweep_stop(void)
{
    s.stopped = true;
    loop_timer_stop(&s.timer);
}
