#pragma once
/* The routes as text, for --list-routes and the tests that pin them. */
#include <stdio.h>

struct router;
struct route;

/* METHOD PATH AUTH lines; AUTH is public, user, token-only, admin, operator or a permission. */
void routes_list_print(FILE *out, const struct router *router);
/* "public", "svc_users:read", "{entity}:read", ...; static text. */
const char *routes_list_auth(const struct route *route);
