#pragma once
/*
 * Inserts concurrent events of a project together. A few transactions of each project are under way
 * at a time, and the events that arrive during these transactions wait for the next transaction. A
 * burst costs the database one commit for some dozen events, instead of one commit for each event.
 */
#include "http/req.h"

/* An event as it is stored. The texts are borrowed until insert_event() returns. */
struct event_row {
    struct str source, id, type, subtype, api_version, account, payload;
    int64_t created_ms;
    bool supported;
};

/* co: Stores the event in the project of r->scope->db. Returns 0 when the event is stored; *ret_new
 * is false if it was stored before. Otherwise returns the result of the event's own statement, or
 * of the transaction that it shared with other events, or a negative. After a failed transaction
 * the event may be stored or not. */
AWAITS int insert_event(struct req *r, const struct event_row *event, bool *ret_new) MUSTCHECK;
