#pragma once
/*
 * Checks whether the client of a stream may still read it. A stream may last longer than the rights
 * that it began with, so the rights are checked when the project's epoch has changed, and once a
 * minute in any case. Loop thread.
 */
#include "app.h"

struct ai_subscriber {
    int64_t project, user_id, session_id, key_id;
    int64_t expires_ms; /* expiry of the credential, wall clock */
    enum perm perm;     /* the permission that reading needs */
    int64_t epoch, checked_ms,
        failing_since_ms; /* failing_since_ms: since when checks fail; 0 = they do not */
};

/* any: Begins with the request's caller. The first check is due at once, because the rights may
 * have changed since the request was authorized. */
void ai_subscriber_init(struct ai_subscriber *subscriber, const struct req *r, enum perm perm);
/* any: Tells whether a check is due. */
bool ai_subscriber_is_due(const struct ai_subscriber *subscriber);
/* co: Checks the rights when a check is due. Returns NULL when the client may read on, else the
 * reason, as in the event "end" of streams of changes. The reason is "dependency_unavailable" when
 * checks have failed for five seconds. */
AWAITS const char *ai_subscriber_check(struct task *task, struct ai_subscriber *subscriber);
