/* Hosts, their HTTP/2 connections, and the exchanges that wait for a stream. */
#include "fetch/fetch_h2_private.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/panic.h"
#include "fetch/fetch_h2_conn_private.h"

enum {
    MAX_SOCKETS = 2 * FETCH_H2_CONNECTIONS, /* including connections in H2_LEAVING */
    PAUSE_MS = 1000, /* no dialling for this long after a failure if other connections are usable */
    MAX_FRUITLESS = 3, /* consecutive connections without a response */
    NO_H2_MS = 600000, /* time for which a host counts as not supporting HTTP/2 */
    MAX_CHOSEN_HOSTS = 256,
};

struct fetch_h2_host {
    struct list link;
    struct list conns;
    struct list waiting; /* struct fetch_exchange; exchanges to be repeated come first */
    size_t waiting_count;
    unsigned fruitless_count; /* consecutive connections that ended without a response */
    int64_t failed_ms;        /* mono: when a connection last failed */
    int64_t no_h2_until_ms;   /* mono */
    unsigned request_count;   /* from fetch_h2_host_acquire() to fetch_h2_host_release() */
    bool is_user_chosen;
    long port;
    char name[FETCH_HOST_BYTES];
};

static struct list hosts;
static bool h2_running;

void fetch_h2_init(const char *ca_file)
{
    fetch_tls_init(ca_file);
    list_init(&hosts);
    h2_running = true;
}

/* --- waiting exchanges --- */

static void waiting_add(struct fetch_h2_host *host, struct fetch_exchange *exchange, bool first)
{
    list_append(first ? host->waiting.next : &host->waiting, &exchange->link);
    host->waiting_count++;
}

static void waiting_remove(struct fetch_h2_host *host, struct fetch_exchange *exchange)
{
    list_remove(&exchange->link);
    host->waiting_count--;
}

static void waiting_end(struct fetch_h2_host *host, int rc)
{
    LIST_FOR (node, &host->waiting) {
        struct fetch_exchange *exchange = LIST_ITEM(node, struct fetch_exchange, link);
        waiting_remove(host, exchange);
        await_done(&exchange->await, rc);
    }
}

/* --- connections --- */

struct conn_counts {
    unsigned sockets, opening, usable;
};

static struct conn_counts conns_count(const struct fetch_h2_host *host)
{
    struct conn_counts census = {0};

    LIST_FOR (node, &host->conns) {
        const struct fetch_h2_conn *conn = LIST_ITEM(node, struct fetch_h2_conn, link);
        census.sockets++;
        census.opening += fetch_h2_conn_is_opening(conn);
        census.usable += conn->state <= H2_OPEN;
    }
    return census;
}

/* Dials as many connections as the waiting exchanges need, within the limits. After a failure it
 * pauses for PAUSE_MS if other connections are usable. If no connection is usable, the waiting
 * exchanges end with the error. */
static void connections_dial(struct fetch_h2_host *host)
{
    struct conn_counts now = conns_count(host);
    int rc = 0;

    while (host->waiting_count > (size_t)now.opening * FETCH_H2_STREAMS &&
           now.usable < FETCH_H2_CONNECTIONS && now.sockets < MAX_SOCKETS) {
        const struct list *first = host->waiting.next;
        if (now.usable > 0 && clock_mono_ms() < host->failed_ms + PAUSE_MS)
            break;
        if (fetch_h2_conn_new(
                host, &host->conns, LIST_ITEM(first, struct fetch_exchange, link), &rc) == NULL) {
            host->failed_ms = clock_mono_ms();
            break;
        }
        now.opening++;
        now.usable++;
        now.sockets++;
    }
    if (rc != 0 && now.usable == 0)
        waiting_end(host, rc);
}

/* Returns the first connection with a free stream. A few busy connections need fewer writes than
 * many that each have little to send. */
static struct fetch_h2_conn *conn_pick(struct fetch_h2_host *host, bool any_address)
{
    LIST_FOR (node, &host->conns) {
        struct fetch_h2_conn *conn = LIST_ITEM(node, struct fetch_h2_conn, link);
        if (fetch_h2_conn_has_free_stream(conn, any_address))
            return conn;
    }
    return NULL;
}

void fetch_h2_host_dispatch(struct fetch_h2_host *host)
{
    while (host->waiting_count > 0) {
        struct fetch_exchange *exchange =
            LIST_ITEM(host->waiting.next, struct fetch_exchange, link);
        struct fetch_h2_conn *conn = conn_pick(host, exchange->url->any_address);
        if (conn == NULL)
            break;
        waiting_remove(host, exchange);
        fetch_h2_conn_send(conn, exchange);
    }
    if (host->waiting_count > 0)
        connections_dial(host);
}

void fetch_exchange_requeue(struct fetch_exchange *exchange)
{
    waiting_add(exchange->host, exchange, true);
}

void fetch_h2_host_on_conn_end(struct fetch_h2_host *host, int rc, bool fruitless)
{
    struct conn_counts now = conns_count(host);

    host->fruitless_count = fruitless ? host->fruitless_count + 1 : 0;
    if (rc != 0 || fruitless)
        host->failed_ms = clock_mono_ms();
    if (rc != 0 && now.usable == 0)
        waiting_end(host, rc);
    if (host->fruitless_count > MAX_FRUITLESS && now.usable == now.opening)
        waiting_end(host, FETCH_UNREACHABLE);
    fetch_h2_host_dispatch(host);
}

void fetch_h2_host_on_unsupported(struct fetch_h2_host *host)
{
    host->no_h2_until_ms = clock_mono_ms() + NO_H2_MS;
    LIST_FOR (node, &host->waiting)
        LIST_ITEM(node, struct fetch_exchange, link)->no_h2 = true;
    waiting_end(host, 0);
}

/* --- hosts --- */

static void host_free(struct fetch_h2_host *host)
{
    list_remove(&host->link);
    free(host);
}

/* Frees unused hosts; if `forgetful`, also hosts remembered as not supporting HTTP/2. Returns how
 * many user-chosen hosts remain. */
static unsigned hosts_clear(bool forgetful)
{
    unsigned chosen = 0;

    LIST_FOR (node, &hosts) {
        struct fetch_h2_host *host = LIST_ITEM(node, struct fetch_h2_host, link);
        if (host->request_count == 0 && list_empty(&host->conns) &&
            (forgetful || host->no_h2_until_ms <= clock_mono_ms()))
            host_free(host);
        else
            chosen += host->is_user_chosen;
    }
    return chosen;
}

static struct fetch_h2_host *host_new(const struct fetch_url *url, bool chosen)
{
    if (hosts_clear(false) >= MAX_CHOSEN_HOSTS && chosen && hosts_clear(true) >= MAX_CHOSEN_HOSTS)
        return NULL;
    struct fetch_h2_host *host = calloc(1, sizeof(*host));
    MUST(host != NULL && strlen(url->host) < sizeof(host->name));
    list_init(&host->conns);
    list_init(&host->waiting);
    host->port = url->port;
    host->is_user_chosen = chosen;
    memcpy(host->name, url->host, strlen(url->host) + 1);
    list_append(&hosts, &host->link);
    return host;
}

/* Returns the host, a new struct if necessary, or NULL when there are too many hosts. A host that
 * the operator chose shares nothing with the same host chosen by a user. */
static struct fetch_h2_host *host_get(const struct fetch_url *url, bool chosen)
{
    LIST_FOR (node, &hosts) {
        struct fetch_h2_host *host = LIST_ITEM(node, struct fetch_h2_host, link);
        if (host->port == url->port && host->is_user_chosen == chosen &&
            strcmp(host->name, url->host) == 0)
            return host;
    }
    return host_new(url, chosen);
}

struct fetch_h2_host *fetch_h2_host_acquire(const struct fetch_url *url, bool chosen)
{
    struct fetch_h2_host *host = h2_running ? host_get(url, chosen) : NULL;

    if (host != NULL)
        host->request_count++;
    return host;
}

void fetch_h2_host_release(struct fetch_h2_host *host)
{
    if (--host->request_count == 0 && !h2_running)
        host_free(host);
}

bool fetch_h2_is_worthwhile(const struct fetch_h2_host *host)
{
    unsigned others = 0;

    if (!host->is_user_chosen || !list_empty(&host->conns))
        return true;
    if (host->request_count <= FETCH_H2_MIN_REQUESTS)
        return false;
    LIST_FOR (node, &hosts) {
        const struct fetch_h2_host *other = LIST_ITEM(node, struct fetch_h2_host, link);
        others += other->is_user_chosen && !list_empty(&other->conns);
    }
    return others < FETCH_H2_MAX_CHOSEN_HOSTS;
}

void fetch_h2_done(void)
{
    h2_running = false;
    LIST_FOR (node, &hosts) {
        struct fetch_h2_host *host = LIST_ITEM(node, struct fetch_h2_host, link);
        LIST_FOR (conn, &host->conns)
            fetch_h2_conn_free(LIST_ITEM(conn, struct fetch_h2_conn, link));
        waiting_end(host, FETCH_UNREACHABLE);
        if (host->request_count == 0)
            host_free(host);
    }
    fetch_tls_done();
}

/* --- the call --- */

static void exchange_abandon(struct await *await)
{
    struct fetch_exchange *exchange = CONTAINER_OF(await, struct fetch_exchange, await);

    if (exchange->conn != NULL)
        fetch_exchange_cancel(exchange);
    else
        waiting_remove(exchange->host, exchange);
}

int fetch_exchange_run(struct task *task, struct fetch_exchange *exchange, int64_t limit_ms)
{
    if (!h2_running)
        return FETCH_UNREACHABLE;
    struct fetch_h2_host *host = exchange->host;
    if (clock_mono_ms() < host->no_h2_until_ms) {
        exchange->no_h2 = true;
        return 0;
    }
    await_init(&exchange->await);
    exchange->await.abandon = exchange_abandon;
    waiting_add(host, exchange, false);
    fetch_h2_host_dispatch(host);
    return await_wait(task, &exchange->await, limit_ms);
}
