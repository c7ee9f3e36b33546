/*
 * Servers: pools that grow on demand, reconnecting with backoff, and the coarse clock that runs
 * while there is work.
 */
#include "db/group_private.h"
#include "db/lease_private.h"
#include "db/pipe_private.h"
#include "db/probe_private.h"
#include "db/server_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/panic.h"
#include "log/log.h"

struct up_wait {
    struct await await;
    struct list link;
};

/* The loop's cached time, which is read once a turn. */
int64_t server_now_ms(void)
{
    uv_loop_t *uv = loop_uv();
    return (int64_t)uv_now(uv);
}

/* --- counting --- */

struct pool_counters {
    unsigned ready, connecting, idle, stuck, in_flight;
};

static struct pool_counters count_pool(const struct list *pool)
{
    struct pool_counters counters = {0};

    for (const struct list *it = pool->next; it != pool; it = it->next) {
        const struct db_conn *conn = CONTAINER_OF(it, struct db_conn, link);
        if (conn->state == CONN_CONNECTING) {
            counters.connecting++;
            continue;
        }
        counters.ready++;
        counters.stuck += conn->stuck;
        counters.idle += conn->ring_count == 0 && !conn->leased;
        counters.in_flight += conn->ring_count;
    }
    return counters;
}

bool db_server_up(const struct db_server *server)
{
    return count_pool(&server->read).ready > 0;
}

void db_server_stats(const struct db_server *server, struct db_stats *ret_stats)
{
    struct pool_counters read = count_pool(&server->read);
    struct pool_counters write = count_pool(&server->write);

    *ret_stats = server->stats;
    ret_stats->read_open = read.ready;
    ret_stats->write_open = write.ready;
    for (const struct list *it = server->write.next; it != &server->write; it = it->next)
        ret_stats->write_leased += CONTAINER_OF(it, struct db_conn, link)->leased;
    ret_stats->waiting = server->reads_count + server->leases_count;
    ret_stats->in_flight = read.in_flight + write.in_flight;
}

/* --- growing --- */

static void conn_open_new(struct db_server *server, enum conn_pool pool)
{
    struct db_conn *conn = conn_new(server, pool);

    if (pool == POOL_READ) {
        list_append(&server->read, &conn->link);
        conn->extra = server->read_count >= server->config.read_connections;
        server->read_count++;
    } else {
        list_append(&server->write, &conn->link);
        server->write_count++;
    }
    db_conn_open(conn);
}

static bool may_connect(const struct db_server *server)
{
    return !server->freeing && server_now_ms() >= server->next_connect_ms;
}

static void grow_reads(struct db_server *server)
{
    struct pool_counters read = count_pool(&server->read);
    unsigned extra = read.stuck < READ_EXTRA ? read.stuck : READ_EXTRA;

    if (read.connecting > 0 || server->read_count >= server->config.read_connections + extra)
        return;
    if (read.ready == 0 || read.stuck == read.ready || (server->reads_wanted && read.idle == 0))
        conn_open_new(server, POOL_READ);
    server->reads_wanted = false;
}

static void grow_writes(struct db_server *server)
{
    struct pool_counters write = count_pool(&server->write);
    /* Keep one connection open, so that the first write after a pause does not wait for one. */
    unsigned wanted = lease_wanting_count(server);

    if (server->config.dedicated)
        return;
    if (wanted == 0 && server->write_count == 0 && db_server_up(server))
        wanted = 1;
    while (write.connecting < wanted && server->write_count < server->config.write_connections &&
           may_connect(server)) {
        conn_open_new(server, POOL_WRITE);
        write.connecting++;
    }
}

void server_grow(struct db_server *server)
{
    if (may_connect(server))
        grow_reads(server);
    if (may_connect(server))
        grow_writes(server);
    server_tick_start(server);
}

/* --- connections come and go --- */

void server_conn_ready(struct db_conn *conn)
{
    struct db_server *server = conn->server;
    struct list *node;

    server->backoff.tries = 0;
    if (server->was_down) {
        server->was_down = false;
        log_info("db.up", L_CSTR("server", server->name));
    }
    if (conn->pool == POOL_WRITE) {
        lease_serve(server);
    } else {
        while ((node = list_shift(&server->up_waits)))
            await_done(&LIST_ITEM(node, struct up_wait, link)->await, 0);
        if (!list_empty(&server->reads))
            loop_at_tick_end(&server->flush_hook);
    }
    server_grow(server);
}

static void server_back_off(struct db_server *server, const char *reason)
{
    server->next_connect_ms = server_now_ms() + backoff_next(&server->backoff);
    snprintf(server->reason, sizeof(server->reason), "%s", reason);
}

/* Sum of swollen_bytes of all connections of the process; count_swollen() brings a connection's
 * part up to date. */
static uint64_t swollen_total;

static void count_swollen(struct db_conn *conn)
{
    swollen_total += conn->swollen_bytes - conn->swollen_counted;
    conn->swollen_counted = conn->swollen_bytes;
}

void server_shrink(struct db_conn *conn)
{
    if (conn->swollen_bytes == 0)
        return;
    count_swollen(conn);
    if (swollen_total > SWOLLEN_MAX)
        conn_close(conn, NULL);
}

void server_conn_lost(struct db_conn *conn, const char *reason, bool was_connecting)
{
    struct db_server *server = conn->server;

    if (conn->pool == POOL_READ)
        server->read_count--;
    else
        server->write_count--;
    conn->swollen_bytes = 0;
    count_swollen(conn);
    list_remove(&conn->link);
    if (conn->release_when_idle)
        conn->leased = false;
    if (!conn->leased)
        list_append(&server->dead, &conn->link);
    else
        list_append(&server->dead_leased, &conn->link);
    if (conn->lease_is_read) {
        conn->lease_is_read = false;
        server->read_lease_count--;
    }
    if (reason && was_connecting)
        server_back_off(server, reason);
    if (reason && !was_connecting)
        server->stats.reconnects++;
    if (reason && !server->was_down && !db_server_up(server)) {
        server->was_down = true;
        log_warn("db.down", L_CSTR("server", server->name), L_CSTR("reason", reason));
    }
    /* The clock opens new connections and frees lost connections: the caller of this function may
     * be iterating over a pool. */
    server_tick_start(server);
}

void server_conn_progress(struct db_conn *conn)
{
    struct db_server *server = conn->server;

    if (conn->ring_count == 0 && conn->release_when_idle)
        lease_release(conn);
    else if (conn->ring_count == 0 && conn->pool == POOL_READ)
        server_shrink(conn);
    if (!list_empty(&server->reads))
        loop_at_tick_end(&server->flush_hook);
}

/* --- the clock --- */

static void server_reap(struct db_server *server)
{
    struct list *node;

    while ((node = list_shift(&server->dead)))
        conn_free(LIST_ITEM(node, struct db_conn, link));
}

/* Closes connections whose server does not answer, although the server's own timeout should have
 * ended the statement. */
static void check_timeouts(struct list *pool, int64_t now_ms)
{
    LIST_FOR (it, pool) {
        struct db_conn *conn = LIST_ITEM(it, struct db_conn, link);
        if (conn->state == CONN_READY && conn->ring_count > 0 &&
            now_ms - conn->head_since_ms > conn->limit_ms && conn_read(conn) &&
            conn->ring_count > 0 && now_ms - conn->head_since_ms > conn->limit_ms)
            conn_close(conn, "the server did not answer in time");
    }
}

/* Closes idle connections that are too old, and idle extra connections beyond the limit. A
 * connection that was stuck is not extra and stays: it has statements prepared. */
static void server_trim(struct db_server *server, int64_t now_ms)
{
    unsigned limit = server->config.read_connections + count_pool(&server->read).stuck;

    LIST_FOR (it, &server->read) {
        struct db_conn *conn = LIST_ITEM(it, struct db_conn, link);
        if (conn->state != CONN_READY || conn->ring_count > 0 || server->read_count == 1)
            continue;
        if (server->read_count <= server->config.read_connections)
            conn->extra = false; /* replaces a lost connection */
        if ((server->read_count > limit && conn->extra) || now_ms - conn->born_ms > CONN_AGE_MS)
            conn_close(conn, NULL);
    }
    LIST_FOR (it, &server->write) {
        struct db_conn *conn = LIST_ITEM(it, struct db_conn, link);
        if (conn->state == CONN_READY && !conn->leased && conn->ring_count == 0 &&
            now_ms - conn->born_ms > CONN_AGE_MS)
            conn_close(conn, NULL);
    }
}

static void expire_reads(struct db_server *server, int64_t now_ms)
{
    while (!list_empty(&server->reads)) {
        struct db_op *op = LIST_ITEM(server->reads.next, struct db_op, link);
        if (now_ms - op->queued_ms < server->config.lease_timeout_ms)
            return;
        group_remove(server, op);
        op_end(op, DB_UNAVAILABLE, NULL);
    }
}

static bool has_work(const struct db_server *server)
{
    struct pool_counters read = count_pool(&server->read);
    struct pool_counters write = count_pool(&server->write);

    return read.in_flight > 0 || write.in_flight > 0 || read.ready == 0 ||
           server->reads_count > 0 || server->leases_count > 0 || !list_empty(&server->dead) ||
           server->read_count > server->config.read_connections;
}

static void server_on_tick(void *arg)
{
    struct db_server *server = arg;
    int64_t now_ms = server_now_ms();

    server->ticking = false;
    server_reap(server);
    check_timeouts(&server->read, now_ms);
    check_timeouts(&server->write, now_ms);
    probe_tick(server, now_ms);
    group_check_stuck(server, now_ms);
    expire_reads(server, now_ms);
    lease_expire(server, now_ms);
    server_trim(server, now_ms);
    if (has_work(server))
        server_grow(server);
}

void server_tick_start(struct db_server *server)
{
    if (server->ticking || server->freeing)
        return;
    server->ticking = true;
    loop_timer_start(&server->tick, TICK_MS);
}

/* --- life --- */

void heavy_gate_free_if_idle(struct heavy_gate *gate)
{
    if (!gate->closed || gate->shares.held > 0 || gate->shares.waiting > 0)
        return;
    shares_done(&gate->shares);
    free(gate);
}

void heavy_permit_release(struct heavy_permit *permit)
{
    struct share *share = permit->share;

    permit->share = NULL;
    if (share != NULL)
        shares_release(&permit->gate->shares, share, 1);
}

static void server_release(struct db_server *server)
{
    arena_free(server->scratch);
    fair_done(&server->fair);
    probe_done(server);
    server->gate->closed = true;
    heavy_gate_free_if_idle(server->gate);
    free((char *)server->config.dsn);
    free((char *)server->config.ddl_dsn);
    free(server->name);
    free(server);
}

static void server_on_flush(void *arg)
{
    struct db_server *server = arg;

    if (server->free_at_flush)
        server_release(server);
    else
        group_flush(server);
}

/* Heavy reads may lease half of the write connections, those of one project a quarter of this
 * half. */
static void init_heavy_shares(struct db_server *server)
{
    unsigned half = server->config.write_connections / 2;
    unsigned own = half / 4;

    server->gate = calloc(1, sizeof(*server->gate));
    MUST(server->gate != NULL);
    shares_init(&server->gate->shares,
                &(struct shares_config){
                    .name = "heavy_reads",
                    .limit = half > 0 ? half : 1,
                    .per_owner = own > 0 ? own : 1,
                    .waiting = SHARES_ANY,
                });
}

struct db_server *db_server_new(const char *name, const struct db_config *config)
{
    struct db_server *server = calloc(1, sizeof(*server));

    MUST(server != NULL);
    server->name = strdup(name);
    server->config = *config;
    server->config.dsn = strdup(config->dsn);
    if (config->ddl_dsn)
        server->config.ddl_dsn = strdup(config->ddl_dsn);
    MUST(server->name != NULL && server->config.dsn != NULL &&
         !config->ddl_dsn == !server->config.ddl_dsn);
    if (config->read_connections == 0)
        server->config.read_connections = 4;
    if (config->write_connections == 0)
        server->config.write_connections = 16;
    if (config->statement_timeout_ms == 0)
        server->config.statement_timeout_ms = 5000;
    if (config->lease_timeout_ms == 0)
        server->config.lease_timeout_ms = 1000;
    if (server->config.busy_share == 0)
        server->config.busy_share = (uv_available_parallelism() + 1) / 2;
    if (server->config.processes == 0)
        server->config.processes = 1;
    init_heavy_shares(server);
    fair_init(&server->fair, server->config.busy_share, server->config.processes);
    list_init(&server->read);
    list_init(&server->write);
    list_init(&server->dead);
    list_init(&server->dead_leased);
    list_init(&server->reads);
    list_init(&server->leases);
    list_init(&server->up_waits);
    server->backoff = (struct backoff){.first_ms = 50, .most_ms = 1000};
    server->scratch = arena_new(65536);
    server->flush_hook = (struct loop_hook){.fn = server_on_flush, .arg = server};
    loop_timer_init(&server->tick, server_on_tick, server);
    server_grow(server);
    return server;
}

bool db_server_has_ddl(const struct db_server *server)
{
    return server->config.ddl_dsn != NULL;
}

struct db_server *server_ddl(struct db_server *server)
{
    if (!server->config.ddl_dsn)
        return server;
    if (!server->ddl) {
        struct db_config config = server->config;
        config.dsn = config.ddl_dsn;
        config.ddl_dsn = NULL;
        config.read_connections = 1;
        config.write_connections = DDL_CONNECTIONS;
        server->ddl = db_server_new("ddl", &config);
    }
    return server->ddl;
}

static void close_pool(struct list *pool)
{
    while (!list_empty(pool))
        conn_close(LIST_ITEM(pool->next, struct db_conn, link), NULL);
}

static void fail_waiters(struct db_server *server)
{
    struct list *node;

    while (!list_empty(&server->reads)) {
        struct db_op *op = LIST_ITEM(server->reads.next, struct db_op, link);
        group_remove(server, op);
        op_end(op, DB_UNAVAILABLE, NULL);
    }
    lease_expire(server, INT64_MAX);
    while ((node = list_shift(&server->up_waits)))
        await_done(&LIST_ITEM(node, struct up_wait, link)->await, DB_UNAVAILABLE);
}

static void server_close(struct db_server *server)
{
    server->freeing = true;
    loop_timer_stop(&server->tick);
    close_pool(&server->read);
    close_pool(&server->write);
    fail_waiters(server);
    server_reap(server);
    /* lease_release() frees a connection that is still leased, when its arena ends at the
     * latest. */
    LIST_FOR (it, &server->dead_leased) {
        LIST_ITEM(it, struct db_conn, link)->server = NULL;
        list_remove(it);
    }
    if (server->flush_hook.queued)
        server->free_at_flush = true;
    else
        server_release(server);
}

void db_server_free(struct db_server *server)
{
    if (!server)
        return;
    if (server->ddl)
        server_close(server->ddl);
    server_close(server);
}

static void up_abandon(struct await *await)
{
    list_remove(&CONTAINER_OF(await, struct up_wait, await)->link);
}

int db_server_wait(struct task *task,
                   struct db_server *server,
                   int64_t limit_ms,
                   struct str *ret_reason)
{
    struct up_wait wait;

    if (db_server_up(server))
        return 0;
    await_init(&wait.await);
    wait.await.abandon = up_abandon;
    list_append(&server->up_waits, &wait.link);
    int64_t end_ms = clock_mono_ms() + limit_ms;
    int rc = await_wait(task, &wait.await, limit_ms);
    if (rc == -ETIMEDOUT && clock_mono_ms() >= end_ms)
        rc = DB_UNAVAILABLE;
    if (rc != 0 && ret_reason)
        *ret_reason = arena_dup(task->arena, str_from(server->freeing ? "closed" : server->reason));
    return rc;
}
