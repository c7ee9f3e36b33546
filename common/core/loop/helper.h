#pragma once
/*
 * A program for work that this process should not do itself, because its input is untrusted
 * (media-sandbox). The program waits on its fd 0, a socket, where each message brings a connection.
 * It serves each connection with a child of its own, which can do nothing else and ends with its
 * answer. The program is started with the first call, and again after its death; it ends with this
 * process. Concurrent calls are bounded, and an owner has no more calls under way than there are
 * free slots (loop/shares). Loop thread only.
 */
#include "base/result.h"
#include "base/str.h"
#include "loop/shares.h"
#include "loop/task.h"

struct helper;
struct helper_call;

struct helper_config {
    const char *name;    /* of the program, in the folder of this one; borrowed for ever */
    const char *program; /* path of the program; NULL: found by `name` */
    const char *slots;   /* name of the slots in /metrics, borrowed for ever */
    struct str args[3];  /* NUL-terminated; items without ptr are left out */
    unsigned calls;      /* calls under way */
    unsigned waiting;    /* calls of one owner that wait */
};

/* any: NULL when the program can be executed, else its path (errno says why), borrowed until the
 * next call. */
const char *helper_check(const char *name, const char *program);
/* any: makes a helper, whose program is not started yet. Owned. */
struct helper *helper_new(const struct helper_config *config);
/* any: ends the program and, once its calls have ended, frees the helper. NULL is allowed. */
void helper_stop(struct helper *helper);
/* any: how often the program was started (metrics). */
unsigned helper_starts(const struct helper *helper);

/* co: opens a call, arena-owned. The call holds its slot until its child has ended, even if the
 * task ends before. -EAGAIN: too many calls of the owner wait; HELPER_ENDED: the program cannot be
 * started; -ECANCELED, -ETIMEDOUT. */
AWAITS int helper_open(struct task *task,
                       struct helper *helper,
                       struct share_owner owner,
                       struct helper_call **ret_call) MUSTCHECK;
/* co: sends `chunk` to the child: 0, HELPER_ENDED when the child has ended, -ECANCELED or
 * -ETIMEDOUT. */
AWAITS int helper_write(struct helper_call *call, struct str chunk) MUSTCHECK;
/* co: reads exactly `bytes` bytes: 0, HELPER_ENDED when the child has ended before, -ECANCELED or
 * -ETIMEDOUT. */
AWAITS int helper_read(struct helper_call *call, void *into, size_t bytes) MUSTCHECK;
/* any: the task leaves the call. May be called again. */
void helper_close(struct helper_call *call);
