#pragma once
/*
 * Sends to the devices of one send at one provider: reads pending rows a page at a time, keeps a
 * limited number of requests in flight, and records results in batches. Requests in flight and
 * results that are not recorded yet are together never more than GROUNDWORK_FCM_REQUESTS or
 * GROUNDWORK_WEB_PUSH_REQUESTS, because all of them may be sent again when the process is killed.
 */
#include "send.h"

/* co: Sends to the pending devices until no row is pending or the send stops. If the provider is
 * not configured, the pending rows fail as NO_PROVIDER. Returns 0, a DB_*, or a negative. */
AWAITS int sender_run(struct task *task, struct send *send, enum push_provider provider) MUSTCHECK;
/* co: Fails all pending rows with `code`, or stops the send with SEND_LOST if this process no
 * longer owns it. Returns 0, a DB_*, or a negative. */
AWAITS int sender_fail_pending(struct task *task,
                               struct send *send,
                               enum push_provider provider,
                               struct str code) MUSTCHECK;
