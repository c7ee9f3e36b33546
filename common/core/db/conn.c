/*
 * The life of a connection: name lookup, libpq's connecting steps on a uv_poll handle, pipeline
 * mode, loss.
 *
 * libpq may close and open sockets in each of its connecting steps, so the poll handle is stopped
 * before every step and PQsocket() is read again after it. A handle has memory of its own, because
 * libuv needs it until the handle is closed, which may be after the connection is freed.
 */
#include "db/conn_private.h"
#include "db/pipe_private.h"
#include "db/resolve_private.h"
#include "db/stmt_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/panic.h"
#include "db/server_private.h"

enum { KEYWORDS_MAX = 64, RING_FIRST = 64, LOCK_TIMEOUT_MAX_MS = 20000 };

/* --- poll handle --- */

static void on_poll_closed(uv_handle_t *handle)
{
    free(CONTAINER_OF(handle, struct conn_poll, handle));
}

static void poll_close(struct db_conn *conn)
{
    struct conn_poll *poll = conn->poll;

    if (!poll)
        return;
    conn->poll = NULL;
    conn->events = 0;
    poll->conn = NULL;
    (void)uv_poll_stop(&poll->handle);
    uv_close((uv_handle_t *)&poll->handle, on_poll_closed);
}

static void poll_stop(struct db_conn *conn)
{
    if (conn->poll)
        (void)uv_poll_stop(&conn->poll->handle);
    conn->events = 0;
}

static void conn_on_poll(uv_poll_t *handle, int status, int events);

/* Watches the current socket of libpq. Returns false when that is impossible. */
static bool poll_set(struct db_conn *conn, int events)
{
    int fd = PQsocket(conn->pg);

    if (conn->poll && conn->poll->fd == fd && conn->events == events)
        return true;
    if (conn->poll && conn->poll->fd != fd)
        poll_close(conn);
    if (fd < 0)
        return false;
    if (!conn->poll) {
        struct conn_poll *poll = calloc(1, sizeof(*poll));
        MUST(poll != NULL);
        if (uv_poll_init(loop_uv(), &poll->handle, fd) != 0) {
            free(poll);
            return false;
        }
        poll->fd = fd;
        poll->conn = conn;
        conn->poll = poll;
    }
    conn->events = events;
    return uv_poll_start(&conn->poll->handle, events, conn_on_poll) == 0;
}

/* --- connecting --- */

static void ignore_notice(void *arg, const PGresult *result)
{
    (void)arg;
    (void)result;
}

static void on_connect_timeout(void *arg)
{
    conn_close(arg, "the connection was not established in time");
}

static void become_ready(struct db_conn *conn)
{
    loop_timer_stop(&conn->connect_timer);
    (void)PQsetNoticeReceiver(conn->pg, ignore_notice, NULL);
    if (PQsetnonblocking(conn->pg, 1) != 0 || !PQenterPipelineMode(conn->pg) ||
        !poll_set(conn, UV_READABLE)) {
        conn_close(conn, PQerrorMessage(conn->pg));
        return;
    }
    conn->state = CONN_READY;
    conn->born_ms = server_now_ms();
    server_conn_ready(conn);
}

static void connect_step(struct db_conn *conn)
{
    poll_stop(conn);
    switch (PQconnectPoll(conn->pg)) {
    case PGRES_POLLING_READING:
        if (!poll_set(conn, UV_READABLE))
            conn_close(conn, "cannot watch the socket");
        return;
    case PGRES_POLLING_WRITING:
        if (!poll_set(conn, UV_WRITABLE))
            conn_close(conn, "cannot watch the socket");
        return;
    case PGRES_POLLING_OK:
        become_ready(conn);
        return;
    default:
        conn_close(conn, PQerrorMessage(conn->pg));
        return;
    }
}

/* A statement may wait for a lock for two fifths of its own time limit, at most 20 seconds. */
static int64_t lock_timeout_ms(int64_t statement_timeout_ms)
{
    int64_t share_ms = statement_timeout_ms * 2 / 5;

    return share_ms < LOCK_TIMEOUT_MAX_MS ? share_ms : LOCK_TIMEOUT_MAX_MS;
}

/* Our settings, in the syntax of the connection string's `options`. They follow the DSN's own
 * options (`theirs`), so they take precedence. Parallel plans stay allowed, because such a plan may
 * also be the better one for a single process, but get no workers. */
static const char *
session_options(struct arena *arena, const struct db_config *config, const char *theirs)
{
    struct str text = arena_printf(arena,
                                   "%s -c timezone=UTC -c datestyle=ISO -c intervalstyle=postgres"
                                   " -c bytea_output=hex -c extra_float_digits=1"
                                   " -c client_min_messages=error -c statement_timeout=%lld"
                                   " -c lock_timeout=%lld"
                                   " -c idle_in_transaction_session_timeout=%lld"
                                   " -c plan_cache_mode=auto -c jit=off"
                                   " -c max_parallel_workers=0",
                                   theirs ? theirs : "",
                                   (long long)config->statement_timeout_ms,
                                   (long long)lock_timeout_ms(config->statement_timeout_ms),
                                   (long long)config->statement_timeout_ms * 2);
    return text.ptr;
}

struct keywords {
    const char *names[KEYWORDS_MAX];
    const char *values[KEYWORDS_MAX];
    int count;
};

static void keyword_add(struct keywords *words, const char *name, const char *value)
{
    MUST(words->count < KEYWORDS_MAX - 1);
    words->names[words->count] = name;
    words->values[words->count++] = value;
}

/* Defaults that the DSN may replace: libpq takes the last value of a keyword. */
static void keyword_defaults(struct keywords *words)
{
    keyword_add(words, "application_name", "groundwork");
    keyword_add(words, "client_encoding", "UTF8");
    keyword_add(words, "gssencmode", "disable");
    keyword_add(words, "keepalives_idle", "15");
    keyword_add(words, "keepalives_interval", "5");
    keyword_add(words, "keepalives_count", "3");
    keyword_add(words, "tcp_user_timeout", "15000");
}

/* `hosts` NULL: connects to the hosts of the DSN without a lookup. */
static void
conn_start(struct db_conn *conn, const char *hosts, const char *addresses, const char *ports)
{
    struct keywords words = {.count = 0};
    struct arena *arena = arena_new(0);
    const char *theirs = NULL;
    char *problem = NULL;
    PQconninfoOption *parsed = PQconninfoParse(conn->server->config.dsn, &problem);

    MUST(parsed != NULL); /* db_conn_open() has parsed the same DSN */
    keyword_defaults(&words);
    for (PQconninfoOption *at = parsed; at->keyword; at++) {
        if (!at->val)
            continue;
        if (strcmp(at->keyword, "options") == 0)
            theirs = at->val;
        else
            keyword_add(&words, at->keyword, at->val);
    }
    if (hosts) {
        keyword_add(&words, "host", hosts);
        keyword_add(&words, "hostaddr", addresses);
        keyword_add(&words, "port", ports);
    }
    keyword_add(&words, "options", session_options(arena, &conn->server->config, theirs));
    conn->pg = PQconnectStartParams(words.names, words.values, 0);
    PQconninfoFree(parsed);
    arena_free(arena);
    MUST(conn->pg != NULL);
    /* libpq's manual (PQconnectStartParams): begin as if PQconnectPoll() had returned
     * PGRES_POLLING_WRITING. */
    if (PQstatus(conn->pg) == CONNECTION_BAD || !poll_set(conn, UV_WRITABLE))
        conn_close(conn, PQerrorMessage(conn->pg));
}

static void
conn_on_resolved(struct db_conn *conn, const char *hosts, const char *addresses, const char *ports)
{
    if (hosts)
        conn_start(conn, hosts, addresses, ports);
    else
        conn_close(conn, addresses);
}

struct db_conn *conn_new(struct db_server *server, enum conn_pool pool)
{
    struct db_conn *conn = calloc(1, sizeof(*conn));

    MUST(conn != NULL);
    list_init(&conn->link);
    conn->server = server;
    conn->pool = pool;
    conn->state = CONN_CONNECTING;
    conn->limit_ms = server->config.statement_timeout_ms + 1000;
    conn->lease_schema = -1;
    conn->ring_cap = RING_FIRST;
    conn->ring = calloc(conn->ring_cap, sizeof(*conn->ring));
    MUST(conn->ring != NULL);
    stmt_cache_init(&conn->stmts);
    loop_timer_init(&conn->connect_timer, on_connect_timeout, conn);
    return conn;
}

static const char *option_value(const PQconninfoOption *parsed, const char *keyword)
{
    for (; parsed->keyword; parsed++)
        if (strcmp(parsed->keyword, keyword) == 0)
            return parsed->val;
    return NULL;
}

void db_conn_open(struct db_conn *conn)
{
    char *problem = NULL;
    PQconninfoOption *parsed = PQconninfoParse(conn->server->config.dsn, &problem);

    if (!parsed) {
        conn_close(conn, problem ? problem : "the DSN is malformed");
        PQfreemem(problem);
        return;
    }
    loop_timer_start(&conn->connect_timer, CONNECT_MS);
    const char *host = option_value(parsed, "host");
    if (host && !option_value(parsed, "hostaddr"))
        resolve_start(conn, host, option_value(parsed, "port"), conn_on_resolved);
    else
        conn_start(conn, NULL, NULL, NULL);
    PQconninfoFree(parsed);
}

/* --- traffic --- */

bool conn_read(struct db_conn *conn)
{
    if (conn->state != CONN_READY)
        return false;
    int rc = PQconsumeInput(conn->pg);
    /* Results before the end of the stream still count: they may have the reason of a shutdown. */
    pipe_receive(conn);
    if (conn->state != CONN_READY)
        return false;
    if (rc == 0 || PQstatus(conn->pg) != CONNECTION_OK) {
        conn_close(conn, PQerrorMessage(conn->pg));
        return false;
    }
    server_conn_progress(conn);
    return conn->state == CONN_READY;
}

void conn_flush(struct db_conn *conn)
{
    if (conn->state != CONN_READY)
        return;
    int left = PQflush(conn->pg);
    if (left < 0 || !poll_set(conn, left > 0 ? UV_READABLE | UV_WRITABLE : UV_READABLE))
        conn_close(conn, PQerrorMessage(conn->pg));
}

static void conn_on_poll(uv_poll_t *handle, int status, int events)
{
    struct db_conn *conn = CONTAINER_OF(handle, struct conn_poll, handle)->conn;

    if (!conn)
        return;
    if (status < 0)
        conn->events = 0; /* libuv has stopped the handle and reports an error only once */
    if (conn->state == CONN_CONNECTING) {
        connect_step(conn);
        return;
    }
    if ((events & UV_READABLE || status < 0) && !conn_read(conn))
        return;
    if (status < 0)
        conn_close(conn, uv_strerror(status));
    else if (events & UV_WRITABLE)
        conn_flush(conn);
}

/* --- end --- */

void conn_close(struct db_conn *conn, const char *reason)
{
    char text[256] = "";

    if (conn->state == CONN_LOST)
        return;
    /* `reason` may point into memory that PQfinish() frees: copy it. */
    if (reason)
        snprintf(text, sizeof(text), "%.*s", (int)strcspn(reason, "\n"), reason);
    bool was_connecting = conn->state == CONN_CONNECTING;
    conn->state = CONN_LOST;
    loop_timer_stop(&conn->connect_timer);
    if (conn->resolve)
        resolve_cancel(conn->resolve);
    conn->resolve = NULL;
    poll_close(conn);
    PQclear(conn->head_result);
    conn->head_result = NULL;
    PQclear(conn->head_rows);
    conn->head_rows = NULL;
    PQfinish(conn->pg);
    conn->pg = NULL;
    pipe_fail(conn);
    if (conn->server)
        server_conn_lost(conn, reason ? text : NULL, was_connecting);
}

void conn_free(struct db_conn *conn)
{
    MUST(conn->state == CONN_LOST);
    stmt_cache_done(&conn->stmts);
    free(conn->ring);
    free(conn);
}
