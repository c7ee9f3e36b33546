#pragma once
/* Tickets: a credential in an address, for one request within 30 seconds. */
#include "app.h"

/* co: one for the caller. */
AWAITS int realtime_ticket_make(struct req *r, struct str *ret_ticket, int64_t *ret_expires_ms)
    MUSTCHECK;
/* co: the caller who made it, whose ticket it is no more. False when there is no such ticket. A
 * status, or a negative. */
AWAITS int
realtime_ticket_take(struct req *r, struct str ticket, struct caller *caller, bool *ret_found)
    MUSTCHECK;
