#pragma once
/*
 * Sends to one device: makes the request and its repetitions, and determines the outcome. A
 * delivery is a slot of its sender (sender.h), and its coroutine continues with the next device.
 */
#include "providers.h"

struct send;
struct webpush_prepared;

struct delivery {
    struct task task;
    struct arena *arena;
    struct list link;              /* in one of the sender's lists: free, busy or ended */
    bool has_coroutine, is_parked; /* the coroutine exists; it waits for the next device */
    struct await next_device;
    struct loop_hook left_hook;
    struct push_sender *sender;
    const struct send *send;
    struct providers *providers; /* held */
    struct window_slot slot;     /* in the providers' window */
    struct str token;
    int64_t target_id, read_at_ms; /* the row's target_id; database time when the token was read */
    bool is_registered;            /* the token is that of a registered device */
    bool is_idle;                  /* no request is under way: the task may be cancelled */
    const struct webpush_prepared *prepared; /* for web push */
    unsigned tries;
    enum push_outcome outcome; /* PUSH_RETRY: no outcome, the row stays pending */
    char code[PUSH_CODE_MAX + 1];
};

/* co: Send to the device until the provider's answer is final or the task is cancelled, and set the
 * outcome. */
AWAITS void deliver_fcm(struct task *task, struct delivery *delivery);
AWAITS void deliver_web(struct task *task, struct delivery *delivery);

/* co: Used by both: calls `request`, which makes one request, until the answer is final, but
 * repeats it at most `retries` times. Sets the outcome. */
typedef int (*deliver_request_fn)(struct task *task,
                                  struct delivery *delivery,
                                  struct push_answer *ret_answer); /* AWAITS */
AWAITS void deliver_until_final(struct task *task,
                                struct delivery *delivery,
                                unsigned retries,
                                deliver_request_fn request);
/* any: Sets the outcome and its code, of which at most PUSH_CODE_MAX bytes are kept. */
void delivery_set_outcome(struct delivery *delivery, enum push_outcome outcome, struct str code);

struct deliver_stats {
    uint64_t requests, retries, grants, grants_failed;
    uint64_t delivered[PUSH_PROVIDERS + 1], failed[PUSH_PROVIDERS + 1],
        unregistered[PUSH_PROVIDERS + 1];
};
/* any: Returns the counters of this process, which the deliveries change. */
struct deliver_stats *deliver_stats(void);
