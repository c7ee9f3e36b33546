#pragma once
/*
 * One send, from its claim to its end. What it has come to stands in its row, so that another
 * process goes on where this one died.
 */
#include "app.h"
#include "providers.h"
#include "push/request.h"
#include "queue/queue.h"

/* Why no further request is begun. */
enum send_stop {
    SEND_GOES_ON,
    SEND_CANCELLED, /* by an administrator, or in quarantine: what is left fails */
    SEND_RELEASED,  /* somebody else goes on */
    SEND_LOST,      /* somebody else has it, or nobody knows: nothing is written any more */
};

struct send {
    struct queue_item item;
    struct str request_text, category;
    int64_t started_ms, key_id, spread, spread_after; /* as in the row */
    struct push_request request;
    struct str fcm_rest, web_payload; /* of the payloads, the same for all devices */
    size_t fcm_bytes;                 /* as FCM counts */
    struct providers *providers;      /* held: as of the last look */
    enum send_stop stop;
    bool quarantined;  /* it has ended too many processes: what is left of it fails */
    uint64_t recorded; /* devices, by this process */
};

void send_from_row(struct queue_item *item);
AWAITS enum queue_outcome send_run(struct task *task, struct queue_item *item);

/* any: looks at what has happened to the item meanwhile. */
enum send_stop send_stopped(struct send *send);
/* any: the first reason stays, but what is lost is lost. */
void send_stop(struct send *send, enum send_stop stop);
