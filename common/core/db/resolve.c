/*
 * Looks up the host names of a DSN on the thread pool, because libpq would do it on the loop. Every
 * address of every host becomes one entry of the lists that libpq tries in order.
 */
#include <stdlib.h>
#include <string.h>

#include "base/panic.h"
#include "base/strbuf.h"
#include "db/conn_private.h"
#include "db/resolve_private.h"

enum { LIST_BYTES = 16384 };

struct resolve {
    uv_getaddrinfo_t req;
    struct db_conn *conn; /* NULL once cancelled */
    resolve_fn done;
    struct arena *arena;
    struct str rest_hosts;
    struct str rest_ports;
    char *host; /* the host that is being looked up */
    struct str port;
    struct strbuf hosts;
    struct strbuf addresses;
    struct strbuf ports;
    const char *failure;
    unsigned found;
};

static void resolve_free(struct resolve *resolve)
{
    arena_free(resolve->arena);
    free(resolve);
}

static void add_entry(struct resolve *resolve, const char *address)
{
    if (resolve->found++ > 0) {
        strbuf_char(&resolve->hosts, ',');
        strbuf_char(&resolve->addresses, ',');
        strbuf_char(&resolve->ports, ',');
    }
    strbuf_cstr(&resolve->hosts, resolve->host);
    strbuf_cstr(&resolve->addresses, address);
    strbuf_str(&resolve->ports, resolve->port);
}

static void host_resolve_next(struct resolve *resolve);

static void resolve_on_resolved(uv_getaddrinfo_t *req, int status, struct addrinfo *found)
{
    struct resolve *resolve = CONTAINER_OF(req, struct resolve, req);
    char text[64];

    if (status != 0)
        resolve->failure = uv_strerror(status);
    for (struct addrinfo *at = status == 0 ? found : NULL; at; at = at->ai_next) {
        int rc = -1;
        if (at->ai_family == AF_INET)
            rc = uv_ip4_name((void *)at->ai_addr, text, sizeof(text));
        else if (at->ai_family == AF_INET6)
            rc = uv_ip6_name((void *)at->ai_addr, text, sizeof(text));
        if (rc == 0)
            add_entry(resolve, text);
    }
    uv_freeaddrinfo(found);
    if (resolve->conn)
        host_resolve_next(resolve);
    else
        resolve_free(resolve);
}

static void resolve_finish(struct resolve *resolve)
{
    struct db_conn *conn = resolve->conn;

    conn->resolve = NULL;
    if (resolve->found == 0)
        resolve->done(conn, NULL, resolve->failure ? resolve->failure : "no address", NULL);
    else
        resolve->done(conn,
                      strbuf_cstring(&resolve->hosts),
                      strbuf_cstring(&resolve->addresses),
                      strbuf_cstring(&resolve->ports));
    resolve_free(resolve);
}

/* Looks up the next host. A folder of Unix sockets needs no lookup. */
static void host_resolve_next(struct resolve *resolve)
{
    static const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};

    while (resolve->rest_hosts.ptr) {
        resolve->host = arena_cstr(resolve->arena, str_split(&resolve->rest_hosts, ','));
        /* The DSN has one port for all hosts, or one for each. */
        if (resolve->rest_ports.ptr)
            resolve->port = str_split(&resolve->rest_ports, ',');
        if (resolve->host[0] == '/' || resolve->host[0] == '@' || resolve->host[0] == '\0') {
            add_entry(resolve, "");
            continue;
        }
        int rc = uv_getaddrinfo(
            loop_uv(), &resolve->req, resolve_on_resolved, resolve->host, NULL, &hints);
        if (rc == 0)
            return;
        resolve->failure = uv_strerror(rc);
    }
    resolve_finish(resolve);
}

void resolve_start(struct db_conn *conn, const char *hosts, const char *ports, resolve_fn done)
{
    struct resolve *resolve = calloc(1, sizeof(*resolve));

    MUST(resolve != NULL);
    resolve->conn = conn;
    conn->resolve = resolve;
    resolve->done = done;
    resolve->arena = arena_new(0);
    resolve->rest_hosts = str_from(arena_strdup(resolve->arena, hosts));
    resolve->rest_ports = str_from(ports ? arena_strdup(resolve->arena, ports) : NULL);
    resolve->port = STR("");
    strbuf_init(&resolve->hosts, resolve->arena, LIST_BYTES);
    strbuf_init(&resolve->addresses, resolve->arena, LIST_BYTES);
    strbuf_init(&resolve->ports, resolve->arena, LIST_BYTES);
    host_resolve_next(resolve);
}

void resolve_cancel(struct resolve *resolve)
{
    resolve->conn = NULL;
    (void)uv_cancel((uv_req_t *)&resolve->req);
}
