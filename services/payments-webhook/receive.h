#pragma once
/*
 * The public port: POST /webhooks/processor/{project_id} and /webhooks/iap-store/{project_id}. A
 * 2xx means that the event is stored, or that it is about another account or project.
 */
#include "http/server.h"

/* Call before fork: registers the routes and metrics. */
void receive_prepare(void);
/* co: Runs a request (http_config.handle). Returns its status, or a negative. */
AWAITS int receive_run(struct req *r);
/* any: Logs and counts a request that has ended (http_config.finished). */
void receive_finished(struct req *r);
/* any: Writes the problem of a request that the HTTP server refuses (http_config.problem). */
void receive_problem(struct req *r, int status, enum problem problem, const char *detail);
