/* Calls to the processor: noted, sent, applied. */
#include "payments/call.h"

#include "base/clock.h"
#include "call_sql.h"
#include "json/jr.h"
#include "log/log.h"
#include "payments/announce_private.h"
#include "project/events.h"
#include "project/project.h"

#define CLOSED_EXTRA_MS 60000 /* time after the end of a checkout until it is fetched again */

/* --- the kinds --- */

AWAITS static int payment_call_close(const struct call *call, struct db *tx)
{
    return db_query(call->task,
                    tx,
                    SQL_CALL_PAYMENT_CLOSE(.id = call->id,
                                           .call_key = call->key,
                                           .checkout_url = call->session.url),
                    NULL);
}

AWAITS static int subscription_call_close(const struct call *call, struct db *tx)
{
    const struct session_object *session = &call->session;
    int64_t open_ms = session->id.len ? session->expires_ms - call->at_ms + CLOSED_EXTRA_MS : 0;

    return db_query(call->task,
                    tx,
                    SQL_CALL_SUBSCRIPTION_CLOSE(.id = call->id,
                                                .call_key = call->key,
                                                .session_id = session->id,
                                                .open_ms = open_ms),
                    NULL);
}

const struct call_kind call_payment = {
    .name = "payment",
    .objects = "/v1/payment_intents",
    .note = &SQL_CALL_PAYMENT_NOTE,
    .failed = &SQL_CALL_PAYMENT_FAILED,
    .not_begun = &SQL_CALL_PAYMENT_NOT_BEGUN,
    .close = payment_call_close,
    .announce = announce_payment,
};

const struct call_kind call_subscription = {
    .name = "subscription",
    .objects = "/v1/subscriptions",
    .note = &SQL_CALL_SUBSCRIPTION_NOTE,
    .failed = &SQL_CALL_SUBSCRIPTION_FAILED,
    .release = &SQL_CALL_SUBSCRIPTION_RELEASE,
    .not_begun = &SQL_CALL_SUBSCRIPTION_NOT_BEGUN,
    .close = subscription_call_close,
    .announce = announce_subscription,
};

/* --- noting and sending --- */

int call_note(
    struct call *call, struct db *tx, const char *what, struct str salt, int64_t settle_ms)
{
    if (!call->key.len)
        call->key = processor_key(call->task->arena, call->project, what, call->id, salt);
    return db_query(call->task,
                    tx,
                    call->kind->note,
                    SQL_CALL_NOTE_ARGS(.id = call->id,
                                       .call_key = call->key,
                                       .call_path = call->path,
                                       .call_form = call->form,
                                       .delay_ms = settle_ms),
                    NULL);
}

int call_fetch(struct call *call,
               const char *head,
               struct str id,
               int64_t limit_ms,
               struct processor_reply *ret_reply)
{
    bool intent = str_is(str_from(head), "/v1/payment_intents");
    bool invoice = str_is(str_from(head), CALL_INVOICES);
    const struct processor_request request = {
        .method = "GET",
        .path = processor_path(call->task->arena, head, id, ""),
        .form = intent    ? STR("expand[0]=latest_charge")
                : invoice ? STR("expand[0]=" INVOICE_EXPAND)
                          : STR_NONE,
        .limit_ms = limit_ms,
    };

    call->read_ms = clock_wall_ms();
    return processor_call(call->task, call->settings, &request, ret_reply);
}

/* Fetches the payment of a refund, because the refund object says little about it. */
AWAITS static int refunded_intent_fetch(struct call *call)
{
    struct str intent_id = object_ref(call->reply.body, "payment_intent");
    struct processor_reply reply = {0};

    if (!intent_id.len)
        return PROCESSOR_OUTCOME_UNKNOWN;
    int rc = call_fetch(call, "/v1/payment_intents", intent_id, 0, &reply);
    call->object = reply.body;
    return rc > 0 ? PROCESSOR_OUTCOME_UNKNOWN : rc;
}

int call_send(struct call *call)
{
    const struct processor_request request = {
        .method = "POST", .path = call->path, .form = call->form, .key = call->key};

    bool is_refund = false;

    call->reply = (struct processor_reply){0};
    call->object = NULL;
    call->rc = processor_call(call->task, call->settings, &request, &call->reply);
    if (call->rc == 0) {
        call->object = call->reply.body;
        is_refund = str_is(jr_str(call->object, "object"), "refund");
        if (is_refund)
            call->rc = refunded_intent_fetch(call);
    } else if (call->kind == &call_payment) { /* a subscription's reply has an invoice's intent */
        call->object = call->reply.intent;
    }
    if (call->rc < 0)
        return call->rc;
    call->at_ms = is_refund ? call->read_ms : clock_wall_ms();
    if (call->rc == 0)
        call->end = CALL_DONE;
    else if (!call->may_repeat && processor_is_not_done(call->rc, &call->reply))
        call->end = CALL_NOT_DONE;
    else
        call->end = processor_is_refusal(call->rc) ? CALL_REFUSED : CALL_UNSETTLED;
    return 0;
}

/* --- applying the result --- */

struct call_work {
    struct call *call;
    call_fn fn;
    void *arg;
};

AWAITS static int call_work_run(struct task *task, struct db *tx, void *arg)
{
    const struct call_work *work = arg;

    (void)task;
    work->call->emitted = work->call->woke_events = false;
    return work->fn(work->call, tx, work->arg);
}

int call_transact(struct call *call, call_fn fn, void *arg)
{
    struct call_work work = {call, fn, arg};

    TRY(db_transact(call->task, &call->project->db, call_work_run, &work));
    if (call->emitted)
        events_notify(call->directory, call->project);
    return 0;
}

/* Applies an object by the kind that it names: the processor decides which kind a call returns. */
AWAITS static int object_apply(struct call *call,
                               struct apply_source *source,
                               struct db *tx,
                               const json_t *object,
                               struct applied *applied)
{
    struct str kind = jr_str(object, "object");
    struct subscription_object subscription;
    struct invoice_object invoice;

    if (str_is(kind, "payment_intent") && intent_read(object, &call->intent) == 0)
        return apply_intent(source, tx, &call->intent, applied);
    if (str_is(kind, "checkout.session") && session_read(object, &call->session) == 0)
        return apply_session(source, tx, &call->session, applied);
    if (str_is(kind, "subscription") && subscription_read(object, &subscription) == 0)
        return apply_subscription(source, tx, &subscription, applied);
    if (str_is(kind, "invoice") && invoice_read(object, &invoice) == 0)
        return apply_invoice(source, tx, &invoice, applied);
    log_warn("call.unexpected",
             L_CSTR("kind", call->kind->name),
             L_I64("id", call->id),
             L_STR("object", kind));
    return APPLY_MALFORMED;
}

int call_apply(struct call *call, struct db *tx, const json_t *object, int64_t at_ms)
{
    struct apply_source source = {
        .task = call->task,
        .project = call->project,
        .settings = call->settings,
        .at_ms = at_ms,
    };
    struct applied applied = {0};

    call->intent = (struct intent_object){0};
    call->session = (struct session_object){0};
    TRY(object_apply(call, &source, tx, object, &applied));
    call->emitted = call->emitted || applied.emitted;
    call->woke_events = call->woke_events || applied.woke_events;
    return 0;
}

int call_fail(
    struct call *call, struct db *tx, struct str code, struct str message, bool *ret_failed)
{
    struct rows rows;

    TRY(db_query(call->task,
                 tx,
                 call->kind->failed,
                 SQL_CALL_FAILED_ARGS(.id = call->id,
                                      .call_key = call->key,
                                      .failure_code = code,
                                      .failure_message = message),
                 &rows));
    if (ret_failed != NULL)
        *ret_failed = rows.count > 0;
    if (rows.count == 0)
        return 0;
    return call->kind->announce(call->task, tx, call->id, &call->emitted);
}

int call_record(struct call *call, struct db *tx)
{
    const struct processor_reply *reply = &call->reply;
    struct str code = reply->code.len ? reply->code : STR("invalid_request");

    if (call->object != NULL)
        return call_apply(call, tx, call->object, call->at_ms);
    return call->creates ? call_fail(call, tx, code, reply->message, NULL) : 0;
}

int call_close(struct call *call, struct db *tx)
{
    return call->kind->close(call, tx);
}

int call_undo(struct call *call, struct db *tx)
{
    const struct call_kind *kind = call->kind;

    if (!call->creates)
        return call_close(call, tx);
    if (kind->release != NULL)
        TRY(db_query(call->task,
                     tx,
                     kind->release,
                     SQL_CALL_SUBSCRIPTION_RELEASE_ARGS(.id = call->id),
                     NULL));
    return db_query(call->task,
                    tx,
                    kind->not_begun,
                    SQL_CALL_NOT_BEGUN_ARGS(.id = call->id, .call_key = call->key),
                    NULL);
}
