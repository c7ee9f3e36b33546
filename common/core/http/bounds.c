/* Limits that the clients of a server share: connections, unfinished bodies, unread responses. */
#include "http/bounds_private.h"

#include <errno.h>

#include "base/num.h"

static void bounds_make(struct http_server *server,
                        struct shares *shares,
                        const char *name,
                        uint64_t limit,
                        uint64_t per_owner)
{
    shares_init(shares,
                &(struct shares_config){
                    .name = server->config.show_shares ? name : NULL,
                    .limit = limit,
                    .per_owner = per_owner,
                    .waiting = server->config.limits.bodies_per_address,
                    .leave_room = true,
                });
}

void bounds_init(struct http_server *server)
{
    const struct http_limits *limits = &server->config.limits;

    bounds_make(
        server, &server->connections, "http_connections", limits->connections_max, SHARES_ANY);
    bounds_make(
        server, &server->bodies, "http_bodies", limits->requests_max, limits->bodies_per_address);
    bounds_make(server, &server->body_bytes, "http_body_bytes", limits->body_bytes, SHARES_ANY);
}

void bounds_done(struct http_server *server)
{
    shares_done(&server->connections);
    shares_done(&server->bodies);
    shares_done(&server->body_bytes);
}

/* Adds `amount` to `held`. Returns false when the limit is reached. */
static bool
hold_add(struct shares *shares, struct share_owner owner, struct share_hold *held, uint64_t amount)
{
    if (shares_try(shares, owner, amount, &held->share) != 0)
        return false;
    held->amount += amount;
    return true;
}

static void bounds_release(struct shares *shares, struct share_hold *held)
{
    if (held->amount > 0)
        shares_release(shares, held->share, held->amount);
    *held = (struct share_hold){0};
}

/* Connections of a trusted proxy do not count, because it carries the requests of many clients. */
bool bounds_connect(struct http_conn *conn)
{
    struct http_server *server = conn->server;

    if (server->config.is_proxy != NULL && server->config.is_proxy(conn->peer))
        return true;
    return hold_add(
        &server->connections, http_address_owner(conn->peer), &conn->connection_hold, 1);
}

void bounds_disconnect(struct http_conn *conn)
{
    bounds_release(&conn->server->connections, &conn->connection_hold);
}

bool bounds_await_body(struct exchange *ex)
{
    return ex->body_held.amount > 0 ||
           hold_add(&ex->req.server->bodies, http_address_owner(ex->req.peer), &ex->body_held, 1);
}

bool bounds_hold_body(struct exchange *ex, uint64_t bytes)
{
    uint64_t held = ex->body_bytes_held.amount;

    return bytes <= held || hold_add(&ex->req.server->body_bytes,
                                     http_address_owner(ex->req.peer),
                                     &ex->body_bytes_held,
                                     bytes - held);
}

int bounds_acquire_body(struct exchange *ex, uint64_t bytes)
{
    struct share_hold *held = &ex->body_bytes_held;

    if (bytes <= held->amount)
        return 0;
    uint64_t more = bytes - held->amount;
    int rc = shares_acquire(&ex->req.task,
                            &ex->req.server->body_bytes,
                            http_address_owner(ex->req.peer),
                            more,
                            http_body_wait_ms(ex->req.server),
                            &held->share);
    if (rc == 0)
        held->amount += more;
    return rc == -EAGAIN || (rc == -ETIMEDOUT && !ex->req.task.cancelled) ? REQ_BODY_REFUSED : rc;
}

void bounds_release_body(struct exchange *ex)
{
    bounds_release(&ex->req.server->bodies, &ex->body_held);
    bounds_release(&ex->req.server->body_bytes, &ex->body_bytes_held);
}

bool bounds_hold_unsent(struct exchange *ex, uint64_t bytes)
{
    struct shares *unsent = ex->req.server->config.unsent;
    uint64_t held = ex->unsent_held.amount;

    if (bytes <= held || ex->req.body_counted || unsent == NULL)
        return true;
    return hold_add(unsent, share_owner_of(&ex->req.task), &ex->unsent_held, bytes - held);
}

void bounds_release_unsent(struct exchange *ex)
{
    if (ex->unsent_held.amount > 0)
        bounds_release(ex->req.server->config.unsent, &ex->unsent_held);
}
