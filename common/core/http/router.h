#pragma once
/* Which route a request is for. */
#include "http/route.h"

/* Segment trie over tables; built once at start. */
struct router;

/* Returns owned. Panics on duplicate method+path, duplicate ids, more than REQ_PARAMS_MAX
 * parameters. `mount` prefixes every path of the table, may hold parameters ("/org/{project_id}"),
 * "" for none. PUT routes answer PATCH as well; GET routes answer HEAD. */
struct router *router_new(void);
void router_add(struct router *router, const char *mount, const struct route *routes, size_t count);
void router_free(struct router *router);

/* A route and what stood in its path. */
struct route_match {
    const struct route *route;
    struct str params[REQ_PARAMS_MAX]; /* decoded, in path order; arena-owned */
    const struct str *param_names;     /* of mount and path, same order; owned by the router */
    size_t param_count;
};

/* any: decodes the path once and finds its route. ROUTER_METHOD leaves the allowed methods in
 * *ret_allow (arena), for 405 and OPTIONS. Literal segments win over parameters. ROUTER_BAD_PATH:
 * broken escapes, encoded '/', NUL, '.' or '..' segments, empty segments, not UTF-8. */
int router_find(const struct router *router,
                struct arena *arena,
                enum http_method method,
                struct str path,
                struct route_match *ret_match,
                struct str *ret_allow) MUSTCHECK;
/* Path parameter by its name; STR_NONE when the route has none of this name. */
struct str route_match_param(const struct route_match *match, const char *name);
/* any: the same for a request: fills req->route and req->params. */
int router_match(const struct router *router, struct req *req, struct str *ret_allow) MUSTCHECK;
/* All routes with their mounts, in table order: *cursor from 0, false at the end. */
bool router_next(const struct router *router,
                 size_t *cursor,
                 const char **ret_mount,
                 const struct route **ret_route);
