#pragma once
/*
 * One device of a send: the request, its repetitions, and what became of it. Each has a slot of its
 * lane (lane.h), whose task goes on with the next.
 */
#include "providers.h"

struct send;
struct prepared;

struct delivery {
    struct task task;
    struct arena *arena;
    struct list link;   /* lane's: free, busy or ended */
    bool alive, parked; /* its coroutine: there, waiting for the next device */
    struct await next;
    struct loop_hook left;
    struct lane *lane;
    const struct send *send;
    struct providers *providers; /* held */
    struct window_place place;   /* of the providers' window */
    struct str token;
    int64_t target, read_at_ms;      /* when its token was read */
    bool device;                     /* the token is a registered device's */
    bool idle;                       /* no request is under way: it may be woken up to end */
    const struct prepared *prepared; /* of web push */
    unsigned tries;
    enum push_outcome outcome; /* PUSH_RETRY: nothing came of it, it stays as it was */
    char code[PUSH_CODE_MAX + 1];
};

/* co: until the provider has said what becomes of it, or the task is cancelled. */
AWAITS void deliver_fcm(struct task *task, struct delivery *delivery);
AWAITS void deliver_web(struct task *task, struct delivery *delivery);

/* What both use: asks until the answer is final. `ask` makes one request. */
typedef int (*deliver_ask)(struct task *task,
                           struct delivery *delivery,
                           struct push_answer *ret_answer); /* AWAITS */
AWAITS void deliver_until_final(struct task *task,
                                struct delivery *delivery,
                                unsigned retries,
                                deliver_ask ask);
/* any: the outcome, with a code that is cut to what fits. */
void deliver_ended(struct delivery *delivery, enum push_outcome outcome, struct str code);

struct deliver_stats {
    uint64_t requests, retries, grants, grants_failed;
    uint64_t delivered[PUSH_PROVIDERS + 1], failed[PUSH_PROVIDERS + 1],
        unregistered[PUSH_PROVIDERS + 1];
};
struct deliver_stats *deliver_stats(void);
