#pragma once
/*
 * The public port: POST /webhooks/processor/{project_id} and /webhooks/iap-store/{project_id}. A
 * 2xx means that the event is stored.
 */
#include "http/server.h"

/* Before fork: routes and metrics. */
void receive_prepare(void);
/* co: http_config.handle. */
AWAITS int receive_run(struct req *r);
/* any: http_config.finished. */
void receive_finished(struct req *r);
/* any: http_config.problem: what the server refuses before receive_run() saw it. */
void receive_refusal(struct req *r, int status, enum problem problem, const char *detail);
