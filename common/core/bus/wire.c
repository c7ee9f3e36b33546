/* Converts envelopes to bytes and back by protobuf-c, which allocates from the caller's arena. */
#include "bus/wire_private.h"

#include <string.h>

#include "base/panic.h"
#include "base/utf8.h"
#include "envelope.pb-c.h"

enum {
    BYTES_MAX = 4096,
    ID_MAX = 128,
    KIND_MAX = 64,
    TRACE_MAX = 256,
    UNPACK_MAX = 64 * 1024, /* what protobuf-c may allocate for one envelope */
};

/* --- packing --- */

union body {
    Groundwork__EventPending event;
    Groundwork__JobQueued job;
    Groundwork__PushQueued push;
    Groundwork__SearchChanged search;
    Groundwork__PaymentReceived payment;
    Groundwork__MailQueued mail;
};

static void wire_put_body(Groundwork__Envelope *envelope,
                          union body *body,
                          enum bus_topic topic,
                          int64_t row_id)
{
    switch (topic) {
    case BUS_EVT:
        body->event = (Groundwork__EventPending)GROUNDWORK__EVENT_PENDING__INIT;
        body->event.outbox_id = row_id;
        envelope->body_case = GROUNDWORK__ENVELOPE__BODY_EVENT;
        envelope->event = &body->event;
        break;
    case BUS_JOB:
        body->job = (Groundwork__JobQueued)GROUNDWORK__JOB_QUEUED__INIT;
        body->job.job_id = row_id;
        envelope->body_case = GROUNDWORK__ENVELOPE__BODY_JOB;
        envelope->job = &body->job;
        break;
    case BUS_PUSH:
        body->push = (Groundwork__PushQueued)GROUNDWORK__PUSH_QUEUED__INIT;
        body->push.send_id = row_id;
        envelope->body_case = GROUNDWORK__ENVELOPE__BODY_PUSH;
        envelope->push = &body->push;
        break;
    case BUS_SEARCH:
        body->search = (Groundwork__SearchChanged)GROUNDWORK__SEARCH_CHANGED__INIT;
        body->search.record_id = row_id;
        envelope->body_case = GROUNDWORK__ENVELOPE__BODY_SEARCH;
        envelope->search = &body->search;
        break;
    case BUS_PAY:
        body->payment = (Groundwork__PaymentReceived)GROUNDWORK__PAYMENT_RECEIVED__INIT;
        body->payment.event_id = row_id;
        envelope->body_case = GROUNDWORK__ENVELOPE__BODY_PAYMENT;
        envelope->payment = &body->payment;
        break;
    case BUS_MAIL:
        body->mail = (Groundwork__MailQueued)GROUNDWORK__MAIL_QUEUED__INIT;
        body->mail.mail_id = row_id;
        envelope->body_case = GROUNDWORK__ENVELOPE__BODY_MAIL;
        envelope->mail = &body->mail;
        break;
    case BUS_TOPICS:
        break;
    }
}

/* Returns the text, or "" when wire_unpack() would refuse its length. */
static char *text_or_empty(struct arena *arena, struct str text, size_t max)
{
    return arena_cstr(arena, text.len <= max ? text : STR(""));
}

struct str wire_pack(struct arena *arena,
                     enum bus_topic topic,
                     const struct bus_notification *notification,
                     int64_t now_ms)
{
    Groundwork__Envelope envelope = GROUNDWORK__ENVELOPE__INIT;
    union body body;

    MUST(strlen(notification->kind) <= KIND_MAX);
    envelope.project = notification->project;
    envelope.kind = arena_strdup(arena, notification->kind);
    envelope.id = text_or_empty(arena, notification->id, ID_MAX);
    envelope.traceparent = text_or_empty(arena, notification->traceparent, TRACE_MAX);
    envelope.occurred_at_ms = now_ms;
    envelope.depth = notification->depth;
    if (notification->row_id != 0)
        wire_put_body(&envelope, &body, topic, notification->row_id);

    size_t len = groundwork__envelope__get_packed_size(&envelope);
    uint8_t *bytes = arena_alloc(arena, len + 1);
    MUST(groundwork__envelope__pack(&envelope, bytes) == len && len <= BYTES_MAX);
    return (struct str){(const char *)bytes, len};
}

/* --- unpacking --- */

struct budget {
    struct arena *arena;
    size_t left;
};

/* Returns NULL beyond the budget: protobuf-c then gives up for lack of memory. */
static void *budget_alloc(void *data, size_t bytes)
{
    struct budget *budget = data;

    if (bytes > budget->left)
        return NULL;
    budget->left -= bytes;
    return arena_alloc(budget->arena, bytes);
}

static void budget_free(void *data, void *ptr)
{
    (void)data;
    (void)ptr; /* the arena owns it */
}

static int64_t wire_row_of(const Groundwork__Envelope *envelope)
{
    switch (envelope->body_case) {
    case GROUNDWORK__ENVELOPE__BODY_EVENT:
        return envelope->event->outbox_id;
    case GROUNDWORK__ENVELOPE__BODY_JOB:
        return envelope->job->job_id;
    case GROUNDWORK__ENVELOPE__BODY_PUSH:
        return envelope->push->send_id;
    case GROUNDWORK__ENVELOPE__BODY_SEARCH:
        return envelope->search->record_id;
    case GROUNDWORK__ENVELOPE__BODY_PAYMENT:
        return envelope->payment->event_id;
    case GROUNDWORK__ENVELOPE__BODY_MAIL:
        return envelope->mail->mail_id;
    default:
        return 0;
    }
}

static bool text_is_valid(const char *text, size_t least, size_t max, struct str *ret_text)
{
    *ret_text = str_from(text);
    return ret_text->len >= least && ret_text->len <= max && utf8_valid(*ret_text);
}

int wire_unpack(struct arena *arena, struct str bytes, struct bus_entry *ret_entry)
{
    struct budget budget = {arena, UNPACK_MAX};
    ProtobufCAllocator allocator = {budget_alloc, budget_free, &budget};
    struct bus_entry entry = {0};

    if (bytes.len == 0 || bytes.len > BYTES_MAX)
        return WIRE_BAD;
    /* The envelope is not freed: the arena owns all of its memory. */
    const Groundwork__Envelope *envelope =
        groundwork__envelope__unpack(&allocator, bytes.len, (const uint8_t *)bytes.ptr);
    if (!envelope || envelope->project <= 0 || envelope->occurred_at_ms < 0 ||
        !text_is_valid(envelope->kind, 1, KIND_MAX, &entry.kind) ||
        !text_is_valid(envelope->id, 0, ID_MAX, &entry.id) ||
        !text_is_valid(envelope->traceparent, 0, TRACE_MAX, &entry.traceparent))
        return WIRE_BAD;
    entry.project = envelope->project;
    entry.row_id = wire_row_of(envelope) > 0 ? wire_row_of(envelope) : 0;
    entry.occurred_ms = envelope->occurred_at_ms;
    entry.depth = envelope->depth;
    *ret_entry = entry;
    return 0;
}
