/*
 * One call about one payment. Written down before it is made, with its key; made; and what came of
 * it is applied, the call closed and the answer kept, all at once. Whoever finds it open repeats
 * it: the processor does nothing twice for one key, and tells what it did.
 *
 * Ends by the outcome: done and refused for good are kept; what was certainly not done is taken
 * back; everything else stays open and is settled by whoever comes next, the caller with his key or
 * the timer.
 */
#include "areas/payments/payments.h"
#include "base/clock.h"
#include "base/num.h"
#include "payments/announce.h"
#include "payments_sql.h"
#include "json/jr.h"

/* Who asks how a payment stands waits for the processor this long, then hears what is stored. */
#define READ_LIMIT_MS 5000

/* --- the row --- */

static struct db_param id_or_null(int64_t id)
{
    return id ? P_I64(id) : P_NULL;
}

static struct db_param text_or_null(struct str text)
{
    return text.len ? P_STR(text) : P_NULL;
}

int payment_add(struct req *r, const struct payment_draft *draft, int64_t *ret_id)
{
    struct rows rows;

    TRY(sql_begin(r));
    TRY(sql_one(r,
                &rows,
                &SQL_PAYMENT_ADD,
                PARAMS(P_CSTR(draft->type),
                       P_I64(draft->amount_minor),
                       P_STR(draft->currency),
                       text_or_null(draft->description),
                       text_or_null(draft->customer),
                       text_or_null(draft->customer_email),
                       id_or_null(draft->subscriber_id),
                       id_or_null(draft->payment_method_id),
                       P_I64(draft->fee_minor),
                       P_STR(jr_print(r->task.arena, draft->metadata)),
                       P_I64(r->caller->user_id))));
    *ret_id = rows_i64(&rows, 0, 0);
    return 0;
}

int payment_call_note(struct req *r, struct payment_call *call, const char *what)
{
    if (!call->key.len)
        call->key =
            processor_key(r->task.arena, r->project, what, call->payment_id, call->idem->salt);
    TRY(sql_exec(r,
                 NULL,
                 &SQL_PAYMENT_CALL_NOTE,
                 PARAMS(P_I64(call->payment_id),
                        P_STR(call->key),
                        P_STR(call->path),
                        P_STR(call->form),
                        P_I64(pay_settle_ms(r)))));
    TRY(idem_note(r, call->idem, "payment", call->payment_id));
    return sql_commit(r);
}

/* --- answers --- */

/* Members beside the ones that every problem has: which payment failed, and what brings its payer
 * back. */
static void extend_problem(struct req *r, int64_t payment_id, struct str client_secret)
{
    struct strbuf text;
    struct jw w;

    strbuf_init(&text, r->task.arena, 4096);
    jw_init(&w, &text);
    jw_obj(&w);
    JW_I64(&w, "payment_id", payment_id);
    if (client_secret.len)
        JW_STR(&w, "client_secret", client_secret);
    jw_obj_end(&w);
    struct str members = strbuf_view(&text);
    if (text.overflow || !r->body.len)
        return;
    r->body.len--; /* the closing brace */
    strbuf_char(&r->body, ',');
    strbuf_str(&r->body, (struct str){members.ptr + 1, members.len - 1});
}

/* Who has to say yes himself is brought back with it; a card that was declined is of no use to
 * him. */
static struct str secret_for(struct str code, const struct payment_extra *extra)
{
    return str_is(code, "authentication_required") ? extra->client_secret : STR_NONE;
}

/* It may have been done: the row tells, later. */
static int answer_unknown(struct req *r, const struct payment_call *call, int rc)
{
    (void)pay_unknown(r, rc, STR("payment"), call->payment_id);
    extend_problem(r, call->payment_id, STR_NONE);
    return r->status;
}

static void intent_extra(const struct intent_object *intent, struct payment_extra *extra)
{
    /* Nothing is left to do for the payer where money has moved or is about to. */
    bool waits =
        str_starts(intent->status, STR("requires_")) && !str_is(intent->status, "requires_capture");

    *extra = (struct payment_extra){
        .client_secret = waits ? intent->client_secret : STR_NONE,
        .next_action = intent->next_action,
    };
}

/* --- what came of it --- */

/* The processor's objects in an answer. */
struct outcome {
    struct payment_call *call;
    int rc;
    const struct processor_reply *reply;
    const json_t *object; /* NULL: a refusal without one */
    struct payment_extra extra;
    struct str checkout_url;
    bool rang;
};

/* co: a refund says little of its payment: that is read behind it. */
AWAITS static int read_refunded(struct req *r, struct outcome *outcome)
{
    struct str intent_id = object_ref(outcome->reply->body, "payment_intent");
    struct processor_reply reply = {0};
    struct form form;

    if (!intent_id.len)
        return PROCESSOR_UNKNOWN;
    form_init(&form, r->task.arena);
    form_str(&form, "expand[0]", STR("latest_charge"));
    const struct processor_request request = {
        .method = "GET",
        .path = processor_path(r->task.arena, "/v1/payment_intents", intent_id, ""),
        .form = form_text(&form),
    };
    int rc = processor_call(&r->task, outcome->call->settings, &request, &reply);
    if (rc == 0)
        outcome->object = reply.body;
    return rc;
}

static struct apply_source source_of(struct req *r, const struct payment_settings *settings)
{
    return (struct apply_source){
        .task = &r->task,
        .project = r->project,
        .settings = settings,
        .event_id = STR_NONE,
        .event_type = STR_NONE,
        .at_ms = clock_wall_ms(),
    };
}

/* co: in the open transaction: an intent or a session into its row. Results of apply.h. */
AWAITS static int apply_object(struct req *r,
                               const struct payment_settings *settings,
                               const json_t *object,
                               struct payment_extra *extra,
                               struct str *ret_url,
                               bool *ret_rang)
{
    struct apply_source source = source_of(r, settings);
    struct session_object session;
    struct intent_object intent;
    struct applied applied = {0};
    int rc;

    *ret_url = STR_NONE;
    if (str_is(jr_str(object, "object"), "checkout.session")) {
        if (session_read(object, &session))
            return APPLY_BROKEN;
        *ret_url = session.url;
        rc = apply_session(&source, r->db, &session, &applied);
    } else {
        if (intent_read(object, &intent))
            return APPLY_BROKEN;
        intent_extra(&intent, extra);
        rc = apply_intent(&source, r->db, &intent, &applied);
    }
    *ret_rang = *ret_rang || applied.rang;
    return rc;
}

/* co: a refusal that no object came with. */
AWAITS static int note_refusal(struct req *r, struct outcome *outcome)
{
    const struct processor_reply *reply = outcome->reply;
    const struct payment_call *call = outcome->call;
    struct rows rows;

    if (!call->creates)
        return 0;
    int rc = db_query(&r->task,
                      r->db,
                      &SQL_PAYMENT_REFUSED,
                      PARAMS(P_I64(call->payment_id),
                             P_STR(call->key),
                             P_STR(reply->code.len ? reply->code : STR("invalid_request")),
                             P_STR(reply->message)),
                      &rows);
    if (rc)
        return rc;
    return announce_payment(&r->task, r->db, call->payment_id, &outcome->rang);
}

/* co: everything of the last transaction but its commit; the answer is in the response. */
AWAITS static int bring_home(struct req *r, void *arg)
{
    struct outcome *outcome = arg;
    struct payment_call *call = outcome->call;
    struct payment payment;
    struct rows rows;
    int rc;

    outcome->rang = false;
    if (outcome->object)
        rc = apply_object(r,
                          call->settings,
                          outcome->object,
                          &outcome->extra,
                          &outcome->checkout_url,
                          &outcome->rang);
    else
        rc = note_refusal(r, outcome);
    if (rc)
        return rc;
    rc = db_query(&r->task,
                  r->db,
                  &SQL_PAYMENT_CALL_CLOSE,
                  PARAMS(P_I64(call->payment_id), P_STR(call->key), P_STR(outcome->checkout_url)),
                  &rows);
    if (rc)
        return rc;
    rc = payment_load(r, call->payment_id, false, &payment);
    if (rc)
        return rc < 0 ? rc : DB_FAILED;
    if (pay_refused(outcome->rc))
        pay_customer_gone(r, outcome->reply, payment.customer);
    r->body.len = 0;
    if (outcome->rc == 0) {
        (void)payment_reply(r, call->status, &payment, &outcome->extra);
    } else {
        (void)pay_fail(r, outcome->rc, outcome->reply);
        extend_problem(r, call->payment_id, secret_for(outcome->reply->code, &outcome->extra));
    }
    rc = idem_keep(r, call->idem, r->status);
    return rc > 0 ? DB_FAILED : rc;
}

AWAITS static int finish(struct req *r, struct outcome *outcome)
{
    int rc = pay_transact(r, bring_home, outcome);

    if (rc < 0)
        return rc;
    if (rc) {
        log_warn("payments.not_recorded",
                 L_I64("payment_id", outcome->call->payment_id),
                 L_I64("result", outcome->rc),
                 L_I64("rc", rc));
        outcome->call->idem->ended = false;
        return answer_unknown(r, outcome->call, outcome->rc);
    }
    if (outcome->rang)
        events_ring(gateway_directory(), r->project);
    if (r->status == 201)
        pay_location(r, STR("payment"), outcome->call->payment_id);
    return r->status;
}

/* co: certainly not carried out: as if nothing had been asked for. */
AWAITS static int take_back(struct req *r, struct payment_call *call)
{
    const struct db_param params[] = {P_I64(call->payment_id), P_STR(call->key), P_NULL};

    TRY(sql_begin(r));
    TRY(sql_exec(r,
                 NULL,
                 call->creates ? &SQL_PAYMENT_NOT_BEGUN : &SQL_PAYMENT_CALL_CLOSE,
                 params,
                 call->creates ? 2 : 3));
    idem_release(r, call->idem, call->creates);
    return sql_commit(r);
}

int payment_call_run(struct req *r, struct payment_call *call)
{
    const struct processor_request request = {
        .method = "POST", .path = call->path, .form = call->form, .key = call->key};
    struct processor_reply reply = {0};
    int rc = processor_call(&r->task, call->settings, &request, &reply);

    if (rc < 0)
        return rc;
    if (!call->again && pay_not_done(rc, &reply)) {
        TRY(take_back(r, call));
        return pay_fail(r, rc, &reply);
    }
    if (rc && !pay_refused(rc))
        return answer_unknown(r, call, rc);
    struct outcome outcome = {
        .call = call, .rc = rc, .reply = &reply, .object = rc ? reply.intent : reply.body};
    if (rc == 0 && str_is(jr_str(reply.body, "object"), "refund")) {
        rc = read_refunded(r, &outcome);
        if (rc)
            return rc < 0 ? rc : answer_unknown(r, call, PROCESSOR_UNKNOWN);
    }
    return finish(r, &outcome);
}

/* --- going on --- */

/* Somebody else has settled it meanwhile: as it stands. */
AWAITS static int
answer_settled(struct req *r, const struct payment_call *call, struct payment *payment)
{
    struct payment_extra extra = {0};

    TRY(payment_reread(r, call->settings, payment, &extra));
    if (call->creates && str_is(payment->status, "failed")) {
        struct processor_reply reply = {
            .code = payment->failure_code,
            .message = payment->failure_message,
        };
        (void)pay_fail(r, PROCESSOR_DECLINED, &reply);
        extend_problem(r, payment->id, secret_for(payment->failure_code, &extra));
        return r->status;
    }
    if (call->status == 201)
        pay_location(r, STR("payment"), payment->id);
    return payment_reply(r, call->status, payment, &extra);
}

int payment_load_target(struct req *r, const struct idem *idem, struct payment *ret_payment)
{
    struct str id = idem->target;
    int64_t number = 0;

    (void)str_split(&id, ':');
    if (!num_parse_i64(id, &number))
        return fail(r, "idempotency_mismatch", NULL);
    return payment_load(r, number, false, ret_payment);
}

bool payment_call_is_ours(const struct idem *idem, const struct payment *payment)
{
    return str_ends(payment->call_key, idem->salt);
}

int payment_call_resume(struct req *r, struct payment_call *call)
{
    struct payment payment = {0};

    TRY(payment_load_target(r, call->idem, &payment));
    call->payment_id = payment.id;
    if (!payment_call_is_ours(call->idem, &payment))
        return answer_settled(r, call, &payment);
    call->path = payment.call_path;
    call->form = payment.call_form;
    call->key = payment.call_key;
    call->again = true;
    return payment_call_run(r, call);
}

/* --- reading --- */

/* co: the payment's intent or session as it is now; NULL when it cannot be had. */
AWAITS static int read_object(struct req *r,
                              const struct payment_settings *settings,
                              const struct payment *payment,
                              const json_t **ret_object)
{
    struct processor_request request = {.method = "GET", .limit_ms = READ_LIMIT_MS};
    struct processor_reply reply = {0};
    struct form form;

    *ret_object = NULL;
    form_init(&form, r->task.arena);
    if (payment->intent_id.len) {
        request.path = processor_path(r->task.arena, "/v1/payment_intents", payment->intent_id, "");
        form_str(&form, "expand[0]", STR("latest_charge"));
    } else if (payment->session_id.len) {
        request.path =
            processor_path(r->task.arena, "/v1/checkout/sessions", payment->session_id, "");
    } else {
        return 0;
    }
    request.form = form_text(&form);
    int rc = processor_call(&r->task, settings, &request, &reply);
    if (rc == 0)
        *ret_object = reply.body;
    return rc < 0 ? rc : 0;
}

AWAITS static int apply_read(struct req *r,
                             const struct payment_settings *settings,
                             const json_t *object,
                             struct payment_extra *extra)
{
    bool rang = false;
    struct str url;

    TRY(sql_begin(r));
    int rc = apply_object(r, settings, object, extra, &url, &rang);
    if (rc) {
        (void)db_rollback(&r->task, r->db);
        r->db = &r->project->db;
        return rc < 0 ? rc : 0; /* what is stored holds */
    }
    TRY(sql_commit(r));
    if (rang)
        events_ring(gateway_directory(), r->project);
    return 0;
}

int payment_reread(struct req *r,
                   const struct payment_settings *settings,
                   struct payment *payment,
                   struct payment_extra *ret_extra)
{
    const json_t *object;

    *ret_extra = (struct payment_extra){0};
    if (!str_is(payment->provider, "processor"))
        return 0;
    TRY(read_object(r, settings, payment, &object));
    if (!object)
        return 0;
    TRY(apply_read(r, settings, object, ret_extra));
    return payment_load(r, payment->id, false, payment);
}
