#pragma once
/* Finds the route of a request. */
#include "http/route.h"

/* A trie of path segments over route tables; built once at start. */
struct router;

/* router_new() returns an empty router, to be freed with router_free(). router_add() adds a table,
 * which must outlive the router. It panics on a duplicate method and path, a duplicate id, or more
 * than REQ_PARAMS_MAX parameters. `mount` prefixes every path of the table and may hold parameters
 * ("/org/{project_id}"); "" for none. PUT routes also serve PATCH, GET routes also serve HEAD. */
struct router *router_new(void);
void router_add(struct router *router, const char *mount, const struct route *routes, size_t count);
void router_free(struct router *router);

/* A route and the parameters of its path. */
struct route_match {
    const struct route *route;
    struct str params[REQ_PARAMS_MAX]; /* decoded, in path order; arena-owned */
    const struct str *param_names;     /* of mount and path, same order; owned by the router */
    size_t param_count;
};

/* any: Decodes the path once and finds its route. Literal segments win over parameters. Returns 0,
 * ROUTER_NOT_FOUND, ROUTER_METHOD with the allowed methods in *ret_allow (arena-owned), for 405 and
 * OPTIONS, or ROUTER_BAD_PATH: malformed escapes, encoded '/', NUL, '.' or '..' segments, empty
 * segments, not UTF-8. */
int router_find(const struct router *router,
                struct arena *arena,
                enum http_method method,
                struct str path,
                struct route_match *ret_match,
                struct str *ret_allow) MUSTCHECK;
/* any: Returns the path parameter of that name; STR_NONE when the route has none. */
struct str route_match_param(const struct route_match *match, const char *name);
/* any: Like router_find() for a request: fills req->route and the path parameters. */
int router_match(const struct router *router, struct req *req, struct str *ret_allow) MUSTCHECK;
/* any: Iterates over all routes with their mounts, in table order. *cursor starts at 0; false at
 * the end. */
bool router_next(const struct router *router,
                 size_t *cursor,
                 const char **ret_mount,
                 const struct route **ret_route);
