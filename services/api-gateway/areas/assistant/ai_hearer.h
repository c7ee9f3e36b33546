#pragma once
/*
 * Streams last longer than the rights that they began with. Whether whoever hears one still may is
 * looked at when the project's epoch has moved, and once a minute in any case. Loop thread.
 */
#include "app.h"

struct ai_hearer {
    int64_t project, user_id, session_id, key_id;
    int64_t ends_ms; /* of its credential, wall */
    enum perm perm;  /* that it needs */
    int64_t epoch, looked_ms, due_ms;
};

/* any: of the request's caller. The first look is at once: rights may have gone meanwhile. */
void ai_hearer_init(struct ai_hearer *hearer, const struct req *r, enum perm perm);
/* any: is it time to look? */
bool ai_hearer_due(const struct ai_hearer *hearer);
/* co: looks, when it is time. NULL: it may hear on; else why not, as in "end" of streams of
 * changes. When nobody can say for five seconds: "dependency_unavailable". */
AWAITS const char *ai_hearer_refused(struct task *task, struct ai_hearer *hearer);
