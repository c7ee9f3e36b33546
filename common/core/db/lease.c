/*
 * Leases: each connection of the write pool is used by one task at a time. Waiters are served first
 * come, first served, with these exceptions:
 * - a project that holds a quarter of the pool is served after the others, and holds at most three
 *   times as many connections as are free
 * - reads hold at most half of the pool
 * - a project that keeps the server busy while others have statements too runs few at once
 *   (fair_private.h)
 * - a waiter waits a moment for a busy connection that knows its schema
 */
#include <string.h>

#include "base/panic.h"
#include "db/lease_private.h"
#include "db/pipe_private.h"
#include "db/query_private.h"
#include "db/server_private.h"

enum {
    PROJECT_MAX_FACTOR = 3,
    PROJECT_MAX_POOL_MIN = 4, /* in a pool with fewer connections one project may hold all */
};

struct lease_wait {
    struct await await;
    struct list link;
    struct db_server *server;
    struct db_conn *conn; /* granted */
    int64_t schema;
    int64_t queued_ms;
    int64_t limit_ms; /* longest wait */
    bool held;        /* waits for statements of its own project to end, not for a connection */
    enum lease_use use;
    bool warm_conn_busy; /* when the wait began, a connection that has served the schema was busy
                            for another schema */
};

static bool is_free(const struct db_conn *conn)
{
    return conn->state == CONN_READY && !conn->leased && conn->ring_count == 0;
}

static uint32_t *served_slot(struct db_conn *conn, int64_t schema)
{
    uint64_t hash = (uint64_t)schema * 0x9e3779b97f4a7c15ULL;

    return &conn->served_schemas[(hash >> 32) & (SERVED_SCHEMAS - 1)];
}

static bool has_served(struct db_conn *conn, int64_t schema)
{
    return *served_slot(conn, schema) == (uint32_t)schema + 1;
}

/* A free connection: preferably the connection that served this schema last, then a connection that
 * has served it before, because its plans and caches are warm. *ret_soon: no free connection knows
 * the schema, but a connection that is busy for another schema does. */
static struct db_conn *find_free(struct db_server *server, int64_t schema, bool *ret_soon)
{
    struct db_conn *found = NULL;
    struct db_conn *known = NULL;

    *ret_soon = false;
    LIST_FOR (it, &server->write) {
        struct db_conn *conn = LIST_ITEM(it, struct db_conn, link);
        bool last = conn->lease_schema == schema;
        if (!is_free(conn)) {
            *ret_soon = *ret_soon || (!last && has_served(conn, schema));
            continue;
        }
        if (last) {
            known = conn;
            break;
        }
        if (!known && has_served(conn, schema))
            known = conn;
        if (!found)
            found = conn;
    }
    if (known)
        *ret_soon = false;
    return known ? known : found;
}

static unsigned held_conn_count(struct db_server *server, int64_t schema)
{
    unsigned held = 0;

    LIST_FOR (it, &server->write) {
        struct db_conn *conn = LIST_ITEM(it, struct db_conn, link);
        held += conn->leased && conn->lease_schema == schema;
    }
    return held;
}

static unsigned leased_conn_count(const struct db_server *server)
{
    unsigned leased = 0;

    for (const struct list *it = server->write.next; it != &server->write; it = it->next)
        leased += CONTAINER_OF(it, struct db_conn, link)->leased;
    return leased;
}

/* True when the project holds three times as many connections as are free. So one connection is
 * always left for projects that hold none. */
static bool is_at_cap(struct db_server *server, int64_t schema)
{
    unsigned leased = leased_conn_count(server);
    unsigned most = server->config.write_connections;

    return schema != 0 && leased > 0 && leased <= most &&
           held_conn_count(server, schema) >= PROJECT_MAX_FACTOR * (most - leased) &&
           most >= PROJECT_MAX_POOL_MIN;
}

/* True when the lease uses the server's time now. A lease that has had no statement for
 * LEASE_IDLE_MS does not use it: its task may be the task that waits. A lease that waits for a lock
 * does not use it: the other tables of the project are not locked. A long statement that the server
 * has not reported on yet counts only when it is known to be heavy. */
static bool lease_keeps_busy(const struct db_conn *conn, int64_t now_ms)
{
    int64_t since_ms = now_ms - conn->head_since_ms;

    if (conn->ring_count == 0)
        return since_ms < LEASE_IDLE_MS;
    if (conn->head_report != HEAD_UNPROBED)
        return conn->head_report == HEAD_RUNS;
    return conn->lease_use == LEASE_HEAVY || since_ms < UNPROBED_MS;
}

static unsigned running_lease_count(struct db_server *server, int64_t schema, bool slow)
{
    int64_t now_ms = server_now_ms();
    unsigned running = 0;

    LIST_FOR (it, &server->write) {
        struct db_conn *conn = LIST_ITEM(it, struct db_conn, link);
        running += conn->leased && conn->lease_schema == schema &&
                   (conn->lease_use == LEASE_HEAVY) == slow && lease_keeps_busy(conn, now_ms);
    }
    return running;
}

/* True when the project keeps the server busy, and has busy_share statements of this kind under way
 * or has used this process's part of them (fair_is_resting()). Heavy reads and other statements are
 * counted separately, so that the others do not wait for the project's own heavy reads. */
static bool is_held(struct db_server *server, int64_t schema, enum lease_use use)
{
    bool slow = use == LEASE_HEAVY;
    int64_t now_ms = server_now_ms();

    return fair_is_over(&server->fair, schema, now_ms) &&
           (running_lease_count(server, schema, slow) >= server->config.busy_share ||
            fair_is_resting(&server->fair, schema, slow, now_ms));
}

static bool is_heavy_full(const struct db_server *server)
{
    unsigned half = server->config.write_connections / 2;
    return server->read_lease_count >= (half > 0 ? half : 1);
}

static void
lease_grant(struct db_server *server, struct db_conn *conn, int64_t schema, enum lease_use use)
{
    bool heavy = use != LEASE_WRITE;

    conn->leased = true;
    conn->lease_is_read = heavy;
    conn->lease_use = use;
    conn->release_when_idle = false;
    conn->lease_schema = schema;
    conn->head_since_ms = server_now_ms();
    *served_slot(conn, schema) = (uint32_t)schema + 1;
    server->read_lease_count += heavy;
}

/* A free connection for the waiter. NULL when there is none, or when a connection that knows the
 * schema will soon be free: any other connection has to prepare the statements and read the catalog
 * entries of their tables, which takes longer than most statements. */
static struct db_conn *conn_find_for_wait(struct db_server *server, const struct lease_wait *wait)
{
    bool soon;
    struct db_conn *conn = find_free(server, wait->schema, &soon);

    return soon && server_now_ms() - wait->queued_ms < WARM_CONN_WAIT_MS ? NULL : conn;
}

static bool has_free_conn(struct db_server *server)
{
    LIST_FOR (it, &server->write)
        if (is_free(LIST_ITEM(it, struct db_conn, link)))
            return true;
    return false;
}

/* Records whether the waiter waits for other statements of its project. That justifies a longer
 * wait than a full pool. */
static void wait_set_held(struct lease_wait *wait, bool held)
{
    if (held && !wait->held)
        wait->limit_ms = HELD_WAIT_FACTOR * wait->server->config.lease_timeout_ms;
    wait->held = held;
}

/* The next waiter and its connection: the first waiter that may run and whose schema holds less
 * than a quarter of the pool, else the first that may run at all. */
static struct lease_wait *pick_waiter(struct db_server *server, struct db_conn **ret_conn)
{
    struct lease_wait *first = NULL;
    struct db_conn *first_conn = NULL;
    unsigned quarter = server->config.write_connections / 4;
    int64_t seen = INT64_MIN; /* consecutive waiters of one schema are judged once */
    bool seen_over = false;
    bool seen_at_cap = false;
    bool seen_held[2] = {false, false};

    if (!has_free_conn(server))
        return NULL;
    LIST_FOR (it, &server->leases) {
        struct lease_wait *wait = LIST_ITEM(it, struct lease_wait, link);
        if (wait->use != LEASE_WRITE && is_heavy_full(server))
            continue;
        if (wait->schema != seen) {
            seen = wait->schema;
            seen_over = held_conn_count(server, seen) >= (quarter > 0 ? quarter : 1);
            seen_at_cap = seen_over && is_at_cap(server, seen);
            seen_held[0] = is_held(server, seen, LEASE_WRITE);
            seen_held[1] = is_held(server, seen, LEASE_HEAVY);
        }
        wait_set_held(wait, seen_held[wait->use == LEASE_HEAVY]);
        if (wait->held)
            continue;
        if ((seen_over && first) || (seen_over && seen_at_cap))
            continue;
        struct db_conn *conn = conn_find_for_wait(server, wait);
        if (!conn)
            continue;
        *ret_conn = conn;
        if (!seen_over)
            return wait;
        first = wait;
        first_conn = conn;
    }
    *ret_conn = first_conn;
    return first;
}

static void lease_leave_queue(struct db_server *server, struct lease_wait *wait)
{
    list_remove(&wait->link);
    server->leases_count--;
}

void lease_serve(struct db_server *server)
{
    while (server->leases_count > 0) {
        struct db_conn *conn;
        struct lease_wait *wait = pick_waiter(server, &conn);
        if (!wait)
            return;
        lease_leave_queue(server, wait);
        lease_grant(server, conn, wait->schema, wait->use);
        wait->conn = conn;
        await_done(&wait->await, 0);
    }
}

void lease_expire(struct db_server *server, int64_t now_ms)
{
    LIST_FOR (it, &server->leases) {
        struct lease_wait *wait = LIST_ITEM(it, struct lease_wait, link);
        if (now_ms - wait->queued_ms < wait->limit_ms)
            continue;
        lease_leave_queue(server, wait);
        await_done(&wait->await, DB_UNAVAILABLE);
    }
    lease_serve(server); /* serve waiters that have waited WARM_CONN_WAIT_MS */
}

unsigned lease_wanting_count(const struct db_server *server)
{
    int64_t now_ms = server_now_ms();
    unsigned wanting = 0;

    for (const struct list *it = server->leases.next; it != &server->leases; it = it->next) {
        const struct lease_wait *wait = CONTAINER_OF(it, struct lease_wait, link);
        wanting +=
            !wait->held && (!wait->warm_conn_busy || now_ms - wait->queued_ms >= WARM_CONN_WAIT_MS);
    }
    return wanting;
}

static void lease_abandon(struct await *await)
{
    struct lease_wait *wait = CONTAINER_OF(await, struct lease_wait, await);
    lease_leave_queue(wait->server, wait);
}

int lease_take(struct task *task,
               struct db_server *server,
               int64_t schema,
               enum lease_use use,
               struct db_conn **ret_conn)
{
    bool may_run = server->leases_count == 0 && !(use != LEASE_WRITE && is_heavy_full(server)) &&
                   !is_at_cap(server, schema) && !is_held(server, schema, use);
    bool soon = false;
    struct db_conn *conn = find_free(server, schema, &soon);

    if (conn && may_run && !soon) {
        lease_grant(server, conn, schema, use);
        *ret_conn = conn;
        return 0;
    }
    struct lease_wait wait = {
        .server = server, .schema = schema, .use = use, .warm_conn_busy = soon};
    wait.queued_ms = server_now_ms();
    wait.limit_ms = server->config.lease_timeout_ms;
    await_init(&wait.await);
    wait.await.abandon = lease_abandon;
    list_append(&server->leases, &wait.link);
    server->leases_count++;
    lease_serve(server); /* the free connection may be for a waiter of another schema */
    server_grow(server);
    int rc = await_wait(task, &wait.await, 0);
    if (rc == 0)
        *ret_conn = wait.conn;
    else if (wait.conn)
        lease_release(wait.conn);
    return rc;
}

void lease_release(struct db_conn *conn)
{
    struct db_server *server = conn->server;

    if (conn->state == CONN_LOST) {
        conn->leased = false;
        list_remove(&conn->link);
        if (!server) {
            conn_free(conn);
            return;
        }
        list_append(&server->dead, &conn->link);
        server_tick_start(server);
        return;
    }
    if (conn->ring_count > 0) {
        conn->release_when_idle = true;
        return;
    }
    conn->limit_ms = server->config.statement_timeout_ms + 1000;
    conn->release_when_idle = false;
    conn->leased = false;
    if (conn->lease_is_read)
        server->read_lease_count--;
    conn->lease_is_read = false;
    /* Close a connection that may still be in a transaction: the next lease must not get it. */
    if (conn->retired || PQtransactionStatus(conn->pg) != PQTRANS_IDLE)
        conn_close(conn, NULL);
    else
        server_shrink(conn);
    lease_serve(server);
}

/* --- running on a lease --- */

static void lease_run_abandon(struct await *await)
{
    struct db_wait *wait = CONTAINER_OF(await, struct db_wait, await);

    for (size_t i = 0; i < wait->count; i++)
        if (wait->ops[i].conn)
            pipe_forget(wait->ops[i].conn, &wait->ops[i]);
    pipe_forget_wait(wait->leased, wait);
}

/* First failure of a group that has ended. A failure of the Sync itself counts as the last
 * statement's. */
static int first_failure(struct db_wait *wait, size_t *ret_failed)
{
    struct db_op *last = &wait->ops[wait->count - 1];

    for (size_t i = 0; i < wait->count; i++) {
        if (wait->ops[i].rc == 0 || wait->ops[i].rc == OP_ABORTED)
            continue;
        *ret_failed = i;
        PQclear(wait->sync_result);
        return wait->ops[i].rc;
    }
    if (wait->sync_rc == OP_LOST &&
        last->is_truncated) /* closed on purpose, with all wanted rows */
        return 0;
    if (wait->sync_rc != 0) {
        *ret_failed = wait->count - 1;
        PQclear(last->result);
        last->result = wait->sync_result;
        last->rc = wait->sync_rc;
        return wait->sync_rc;
    }
    PQclear(wait->sync_result);
    return 0;
}

int lease_run(struct task *task,
              struct db_conn *conn,
              struct db_op *ops,
              size_t count,
              bool interruptible,
              size_t *ret_failed)
{
    struct db_wait wait = {.ops = ops, .count = count, .pending = 1, .leased = conn};

    *ret_failed = 0;
    if (conn->state != CONN_READY)
        return OP_UNSENT;
    await_init(&wait.await);
    wait.await.abandon = interruptible ? lease_run_abandon : NULL;
    for (size_t i = 0; i < count; i++) {
        ops[i].wait = NULL;
        pipe_op(conn, &ops[i]);
    }
    pipe_sync(conn, &wait);
    int rc = await_wait(task, &wait.await, 0);
    if (interruptible && rc < 0) {
        PQclear(wait.sync_result);
        ops_clear(ops, count);
        return rc;
    }
    return first_failure(&wait, ret_failed);
}
