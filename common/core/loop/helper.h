#pragma once
/*
 * A program that does what this process would rather not do itself, because what it looks at comes
 * from strangers: it waits on its fd 0, a socket, where each message brings a connection; each is
 * served by a child of its own, which can do nothing else and ends with its answer (media-sandbox).
 * Started when it is first needed, and again after its death; it ends with this process. So many
 * calls at once, and of an owner no more than are still free (loop/shares). Loop thread only.
 */
#include "base/result.h"
#include "base/str.h"
#include "loop/shares.h"
#include "loop/task.h"

struct helper;
struct helper_call;

struct helper_config {
    const char *name;    /* of the program beside this one, borrowed for ever */
    const char *program; /* NULL, or its path instead */
    const char *slots;   /* their name in /metrics, borrowed for ever */
    struct str args[3];  /* NUL-terminated; those with a ptr */
    unsigned calls;      /* at once */
    unsigned waiting;    /* that one owner has wait for their turn */
};

/* any: NULL, or the path of a program that cannot be executed (errno says why). Borrowed until the
 * next call. */
const char *helper_check(const char *name, const char *program);
/* any: starts nothing yet. Owned. */
struct helper *helper_new(const struct helper_config *config);
/* any: it ends, and with it what it does; NULL is none. */
void helper_stop(struct helper *helper);
/* any: how often it was started (metrics). */
unsigned helper_starts(const struct helper *helper);

/* co: a call, arena-owned: it is the helper's work until its child has ended, however the task
 * goes. -EAGAIN: too many of the owner's wait; HELPER_ENDED: it cannot be started; -ECANCELED,
 * -ETIMEDOUT. */
AWAITS int helper_open(struct task *task,
                       struct helper *helper,
                       struct share_owner owner,
                       struct helper_call **ret_call) MUSTCHECK;
/* co: HELPER_ENDED when the child has gone. */
AWAITS int helper_write(struct helper_call *call, struct str piece) MUSTCHECK;
/* co: so many bytes, no fewer; else HELPER_ENDED. */
AWAITS int helper_read(struct helper_call *call, void *into, size_t bytes) MUSTCHECK;
/* any: the task wants no more; idempotent. */
void helper_close(struct helper_call *call);
