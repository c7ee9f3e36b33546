#pragma once
/* Shared by the files of /integrations and /connections. */
#include "app.h"
#include "integrations/integration.h"

#define CONNECTIONS_MAX 2000 /* of an integration */

/* co: Checks the integration in `body` and stores it. Answers 201 with the integration, and with
 * `skipped` unless that is NULL. Returns the status, or a negative. */
AWAITS int integration_create(struct req *r, const json_t *body, const json_t *skipped);

/* A connection as the API shows it. */
extern const struct schema connection_out_schema;
/* co: A route.guard for routes that change the connection {id}: 404 unless the connection is the
 * project's or the caller's own, for administrators too. */
AWAITS int connection_own_guard(struct req *r);
/* co: A route.guard for routes that delete or revoke the connection {id}: 404 when the caller may
 * not see the connection. */
AWAITS int connection_visible_guard(struct req *r);
/* co: Answers with a connection. 404 when the caller may not see the connection: administrators see
 * all connections, other callers the project's and their own. */
AWAITS int connection_reply(struct req *r, int status, int64_t id);
