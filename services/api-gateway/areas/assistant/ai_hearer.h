#pragma once
/*
 * Checks whether the client of a stream may still read it. A stream may last longer than the rights
 * that it began with, so the rights are checked when the project's epoch has changed, and once a
 * minute in any case. Loop thread.
 */
#include "app.h"

struct ai_hearer {
    int64_t project, user_id, session_id, key_id;
    int64_t ends_ms;                  /* expiry of the credential, wall clock */
    enum perm perm;                   /* the permission that reading needs */
    int64_t epoch, looked_ms, due_ms; /* due_ms: since when checks fail; 0 = they do not */
};

/* any: Begins with the request's caller. The first check is due at once, because the rights may
 * have changed since the request was authorized. */
void ai_hearer_init(struct ai_hearer *hearer, const struct req *r, enum perm perm);
/* any: Tells whether a check is due. */
bool ai_hearer_due(const struct ai_hearer *hearer);
/* co: Checks the rights when a check is due. Returns NULL when the client may read on, else the
 * reason, as in the event "end" of streams of changes. The reason is "dependency_unavailable" when
 * checks have failed for five seconds. */
AWAITS const char *ai_hearer_refused(struct task *task, struct ai_hearer *hearer);
