/*
 * Which project a statement's time is charged to, and whether it is the server's time at all.
 * Waiting for a lock and computing look the same from here, so a query on a shared connection finds
 * out what the long statements do. No task waits for this query.
 */
#include "db/group_private.h"
#include "db/pipe_private.h"
#include "db/probe_private.h"
#include "db/query_private.h"
#include "db/server_private.h"

/* PostgreSQL shows us what a session waits for only when the session has our own role, and with a
 * pooler in between there may be no session of this process id. A statement that is not found keeps
 * its head_report. */
static const struct sql sql_probe = {
    .name = "db.probe",
    .text = "select a.pid::bigint as pid,"
            " coalesce(a.wait_event_type, '') = 'Lock' as locked"
            " from unnest($1::bigint[]) as p(pid), pg_stat_get_activity(p.pid::int) as a"
            " where a.state is not null",
    .hash = 0x4be0c27d91f3a865,
    .arity = 1,
    .kind = SQL_MANY,
    .narrow = true,
};

static bool is_long(const struct db_conn *conn, int64_t now_ms)
{
    return conn->state == CONN_READY && conn->ring_count > 0 &&
           now_ms - conn->head_since_ms >= PROBE_MS;
}

static void probe_charge(struct db_conn *conn, int64_t until_ms, int64_t now_ms)
{
    const struct item *head = pipe_at(conn, 0);
    int64_t ms = until_ms - conn->charged_ms;

    if (ms < 0)
        return;
    conn->charged_ms = until_ms;
    fair_used(&conn->server->fair,
              conn->leased ? conn->lease_schema : head->schema,
              conn->leased && conn->lease_use == LEASE_HEAVY,
              ms,
              now_ms);
}

void server_charge(struct db_conn *conn, int64_t now_ms)
{
    if (!conn->server || conn->server->config.dedicated)
        return;
    if (conn->head_report == HEAD_LOCKED)
        conn->charged_ms = now_ms;
    else if (conn->head_report == HEAD_UNPROBED && now_ms > conn->head_since_ms + UNPROBED_MS)
        /* Later time is charged after a probe's report. */
        probe_charge(conn, conn->head_since_ms + UNPROBED_MS, now_ms);
    else
        probe_charge(conn, now_ms, now_ms);
}

/* --- the probe --- */

static void charge_running(const struct list *pool, int64_t now_ms)
{
    for (const struct list *it = pool->next; it != pool; it = it->next) {
        struct db_conn *conn = CONTAINER_OF(it, struct db_conn, link);
        if (conn->state == CONN_READY && conn->ring_count > 0)
            server_charge(conn, now_ms);
    }
}

static void probe_collect(struct probe *probe, const struct list *pool, int64_t now_ms)
{
    for (const struct list *it = pool->next; it != pool; it = it->next) {
        const struct db_conn *conn = CONTAINER_OF(it, struct db_conn, link);
        if (!is_long(conn, now_ms) || probe->count == PROBED_MAX)
            continue;
        probe->pids[probe->count] = PQbackendPID(conn->pg);
        probe->since_ms[probe->count++] = conn->head_since_ms;
    }
}

static void probe_send(struct db_server *server, int64_t now_ms)
{
    struct probe *probe = &server->probe;
    const struct db db = {.server = server};

    probe->count = 0;
    probe_collect(probe, &server->read, now_ms);
    probe_collect(probe, &server->write, now_ms);
    if (probe->count == 0)
        return;
    probe->under_way = true;
    probe->sent_ms = now_ms;
    probe->param = P_I64S(probe->pids, probe->count);
    op_init(&probe->op, NULL, &db, &sql_probe, &probe->param, 1);
    probe->wait = (struct db_wait){.ops = &probe->op, .count = 1, .pending = 1};
    await_init(&probe->wait.await);
    probe->op.wait = &probe->wait;
    group_add(server, &probe->op);
}

/* Records the server's report on a connection that still runs the same statement. */
static void probe_record_report(const struct list *pool, int64_t pid, int64_t since_ms, bool locked)
{
    for (const struct list *it = pool->next; it != pool; it = it->next) {
        struct db_conn *conn = CONTAINER_OF(it, struct db_conn, link);
        if (conn->state != CONN_READY || conn->ring_count == 0 || PQbackendPID(conn->pg) != pid ||
            conn->head_since_ms != since_ms)
            continue;
        conn->head_report = locked ? HEAD_LOCKED : HEAD_RUNS;
        if (locked && conn->permit)
            heavy_permit_release(conn->permit);
        return;
    }
}

static void probe_read_result(struct db_server *server)
{
    struct probe *probe = &server->probe;
    struct rows rows = {.result = probe->op.result, .columns = 2};

    probe->under_way = false;
    rows.count = probe->op.rc == 0 && probe->op.result ? (size_t)PQntuples(probe->op.result) : 0;
    for (size_t i = 0; i < rows.count; i++) {
        int64_t pid = rows_i64(&rows, i, 0);
        bool locked = rows_bool(&rows, i, 1);
        for (size_t k = 0; k < probe->count; k++) {
            if (probe->pids[k] != pid)
                continue;
            probe_record_report(&server->read, pid, probe->since_ms[k], locked);
            probe_record_report(&server->write, pid, probe->since_ms[k], locked);
        }
    }
    PQclear(probe->op.result);
    probe->op.result = NULL;
}

void probe_tick(struct db_server *server, int64_t now_ms)
{
    struct probe *probe = &server->probe;

    if (server->config.dedicated)
        return;
    if (probe->under_way && probe->wait.await.done)
        probe_read_result(server);
    charge_running(&server->read, now_ms);
    charge_running(&server->write, now_ms);
    if (!probe->under_way && now_ms - probe->sent_ms >= PROBE_MS)
        probe_send(server, now_ms);
}

void probe_done(struct db_server *server)
{
    PQclear(server->probe.op.result);
    server->probe.op.result = NULL;
}
