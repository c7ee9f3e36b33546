#pragma once
/*
 * Events of a project that come together are inserted together: a few transactions under way for
 * each project, and what comes meanwhile leaves with the next. A burst costs the database a commit
 * for some dozen events in place of one for each.
 */
#include "http/req.h"

/* An event as it is stored; the texts stay the caller's. */
struct event_row {
    struct str source, id, type, subtype, api_version, account, payload;
    int64_t created_ms;
    bool supported;
};

/* co: 0 when the event is there: *ret_new, or it was there before. Else what the database said of
 * it, or of the transaction that it was in: then the event may be there or not. r->scope->db is its
 * project. */
AWAITS int insert_event(struct req *r, const struct event_row *event, bool *ret_new) MUSTCHECK;
