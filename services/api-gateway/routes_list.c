/* Prints the route table as lines of METHOD PATH AUTH. */
#include "routes_list.h"

#include "http/route.h"
#include "http/router.h"

const char *routes_list_auth(const struct route *route)
{
    switch (route->auth) {
    case AUTH_PUBLIC:
    case AUTH_OPTIONAL:
        return "public";
    case AUTH_ADMIN:
        return "admin";
    case AUTH_OPERATOR:
        return "operator";
    case AUTH_USER:
    case AUTH_USER_OR_KEY:
        break;
    }
    if (route->perm == PERM_NONE)
        return route->auth == AUTH_USER ? "token-only" : "user";
    return perm_name(route->perm);
}

void routes_list_print(FILE *out, const struct router *router)
{
    const struct route *route;
    const char *mount;
    size_t cursor = 0;

    while (router_next(router, &cursor, &mount, &route))
        fprintf(out,
                "%s %s %s\n",
                http_method_name(route->method),
                route->path[0] ? route->path : mount,
                routes_list_auth(route));
}
