#pragma once
/*
 * Runs one send, from its claim to its end. The progress is in the send's row, so that another
 * process can continue when this one dies.
 */
#include "app.h"
#include "providers.h"
#include "push/request.h"
#include "queue/queue.h"

/* Why a send begins no further request. */
enum send_stop {
    SEND_CONTINUES,
    SEND_CANCELLED, /* by an administrator, or in quarantine: the remaining devices fail */
    SEND_RELEASED,  /* a later claim continues the send */
    SEND_LOST,      /* another process may have the send: nothing is written from now on */
};

struct send {
    struct queue_item item;
    struct str request_text, category;
    int64_t started_ms, key_id, fan_out_stage, fan_out_after; /* as in the row */
    struct push_request request;
    struct str fcm_rest, web_payload; /* the parts of payloads that all devices share */
    size_t fcm_bytes;                 /* the size, as FCM counts it */
    struct providers *providers;      /* held; as read when the run began */
    enum send_stop stop;
    bool quarantined;  /* it crashed too many processes: its remaining devices fail */
    uint64_t recorded; /* devices recorded by this process */
};

/* any: Fills the send from the row that its claim returned. The texts live as long as the item. */
void send_from_row(struct queue_item *item);
/* co: Runs the send until it has ended or stopped (queue_kind.run). */
AWAITS enum queue_outcome send_run(struct task *task, struct queue_item *item);

/* any: Checks whether the item was lost or must be released. Returns the updated send->stop. */
enum send_stop send_check_stop(struct send *send);
/* any: Sets send->stop, unless it already has a reason that is later in the enum. */
void send_stop(struct send *send, enum send_stop stop);
