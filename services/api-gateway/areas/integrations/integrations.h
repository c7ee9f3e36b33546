#pragma once
/* What the files of /integrations and /connections share. */
#include "app.h"
#include "integrations/integration.h"

#define CONNECTIONS_MAX 2000 /* of an integration */

/* co: checks one whole and stores it; 201 with it, and with `skipped` if it is given. */
AWAITS int integration_make(struct req *r, const json_t *body, const json_t *skipped);

/* A connection as answers show it. */
extern const struct schema connection_out_schema;
/* co: route.guard of what changes a connection: 404 of other users' ones, to administrators too. */
AWAITS int connection_own_guard(struct req *r);
/* co: route.guard of what ends a connection, or shows what it did: as connection_reply(). */
AWAITS int connection_seen_guard(struct req *r);
/* co: answers with a connection that the caller may see. */
AWAITS int connection_reply(struct req *r, int status, int64_t id);
