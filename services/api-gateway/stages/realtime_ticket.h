#pragma once
/* Tickets: credentials in a URL, for one request within 30 seconds. */
#include "app.h"

/* co: Creates a ticket for the caller. *ret_ticket is arena-owned; *ret_expires_ms is in
 * milliseconds since 1970. Returns 0, a negative, or the status put. */
AWAITS int realtime_ticket_create(struct req *r, struct str *ret_ticket, int64_t *ret_expires_ms)
    MUSTCHECK;
/* co: Uses a ticket up and sets the identity of its creator in *caller, without rights. *ret_found:
 * false when there is no such ticket. Returns 0, a negative, or the status put. */
AWAITS int
realtime_ticket_use(struct req *r, struct str ticket, struct caller *caller, bool *ret_found)
    MUSTCHECK;
