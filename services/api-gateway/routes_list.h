#pragma once
/* The routes as text, for --list-routes and the tests that pin them. */
#include <stdio.h>

struct router;
struct route;

/* Prints all routes as lines of METHOD PATH AUTH. AUTH is public, user, token-only, admin, operator
 * or a permission. */
void routes_list_print(FILE *out, const struct router *router);
/* Returns the AUTH of a route, such as "public", "svc_users:read" or "{entity}:read". Static
 * text. */
const char *routes_list_auth(const struct route *route);
