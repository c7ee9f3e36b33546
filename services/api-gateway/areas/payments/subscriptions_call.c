/*
 * The call that creates a subscription. Written down before it is made, with its key; made; and
 * what came of it is applied, the call closed and the answer kept, all at once. Whoever finds it
 * open repeats it: the processor does nothing twice for one key, and tells what it did.
 */
#include "areas/payments/subscriptions.h"
#include "base/clock.h"
#include "base/num.h"
#include "payments/announce.h"
#include "payments/apply.h"
#include "subscriptions_call_sql.h"
#include "json/jr.h"

#define CLOSED_EXTRA_MS 60000 /* behind the end of a checkout */

/* --- writing it down --- */

int subscription_call_note(struct req *r, struct subscription_call *call)
{
    call->key =
        processor_key(r->task.arena, r->project, "subscription", call->id, call->idem->salt);
    TRY(sql_exec(r,
                 NULL,
                 &SQL_SUBSCRIPTION_CALL_NOTE,
                 PARAMS(P_I64(call->id),
                        P_STR(call->key),
                        P_STR(call->path),
                        P_STR(call->form),
                        P_I64(pay_settle_ms(r)))));
    TRY(idem_note(r, call->idem, "subscription", call->id));
    return sql_commit(r);
}

/* --- what the processor says --- */

int subscription_take_news(struct req *r,
                           const struct payment_settings *settings,
                           const json_t *object,
                           struct str *ret_url,
                           bool *ret_rang)
{
    struct apply_source source = {
        .task = &r->task, .project = r->project, .settings = settings, .at_ms = clock_wall_ms()};
    struct subscription_object subscription;
    struct session_object session;
    struct applied applied = {0};
    int rc;

    if (str_is(jr_str(object, "object"), "checkout.session")) {
        if (session_read(object, &session))
            return APPLY_BROKEN;
        *ret_url = session.url;
        rc = apply_session(&source, r->db, &session, &applied);
    } else {
        if (subscription_read(object, &subscription))
            return APPLY_BROKEN;
        rc = apply_subscription(&source, r->db, &subscription, &applied);
    }
    if (applied.rang)
        *ret_rang = true;
    return rc;
}

/* --- what came of it --- */

struct outcome {
    struct subscription_call *call;
    int rc;
    const struct processor_reply *reply;
    struct str url;
    bool rang;
};

static int64_t open_ms(const json_t *object)
{
    struct session_object session;

    if (!str_is(jr_str(object, "object"), "checkout.session") || session_read(object, &session))
        return 0;
    return session.expires_ms - clock_wall_ms() + CLOSED_EXTRA_MS;
}

AWAITS static int bring_done(struct req *r, struct outcome *outcome)
{
    const struct subscription_call *call = outcome->call;
    const json_t *object = outcome->reply->body;
    bool session = str_is(jr_str(object, "object"), "checkout.session");
    int rc = subscription_take_news(r, call->settings, object, &outcome->url, &outcome->rang);

    if (rc)
        return rc;
    return db_query(&r->task,
                    r->db,
                    &SQL_SUBSCRIPTION_CALL_CLOSE,
                    PARAMS(P_I64(call->id),
                           P_STR(call->key),
                           session ? P_STR(jr_str(object, "id")) : P_NULL,
                           P_I64(open_ms(object))),
                    NULL);
}

AWAITS static int bring_refused(struct req *r, struct outcome *outcome)
{
    const struct processor_reply *reply = outcome->reply;
    const struct subscription_call *call = outcome->call;
    struct str code = reply->code.len ? reply->code : STR("invalid_request");
    struct rows rows;
    int rc = db_query(&r->task,
                      r->db,
                      &SQL_SUBSCRIPTION_REFUSED,
                      PARAMS(P_I64(call->id), P_STR(call->key), P_STR(code), P_STR(reply->message)),
                      &rows);

    if (rc || !rows.affected)
        return rc;
    struct db_call calls[] = {
        {.sql = &SQL_SUBSCRIPTION_REFUSED_HISTORY, PARAMS(P_I64(call->id), P_STR(code))},
        {.sql = &SQL_SUBSCRIPTION_CODE_FREE, PARAMS(P_I64(call->id))},
    };
    rc = db_batch(&r->task, r->db, calls, ARRAY_LEN(calls), NULL);
    return rc ? rc : announce_subscription(&r->task, r->db, call->id, &outcome->rang);
}

/* co: everything of the last transaction but its commit; the answer is in the response. */
AWAITS static int bring_home(struct req *r, void *arg)
{
    struct outcome *outcome = arg;

    outcome->rang = false;
    int rc = outcome->rc ? bring_refused(r, outcome) : bring_done(r, outcome);

    if (rc)
        return rc;
    r->body.len = 0;
    if (outcome->rc)
        (void)pay_fail(r, outcome->rc, outcome->reply);
    else if (subscription_reply(r, 201, outcome->call->id, outcome->url) != 201)
        return DB_FAILED;
    rc = idem_keep(r, outcome->call->idem, r->status);
    return rc > 0 ? DB_FAILED : rc;
}

/* Behind the commit: the transaction may have been begun more than once. */
static int located(struct req *r, int status, int64_t id)
{
    if (status == 201)
        pay_location(r, STR("subscription"), id);
    return status;
}

AWAITS static int finish(struct req *r, struct outcome *outcome)
{
    int rc = pay_transact(r, bring_home, outcome);

    if (rc < 0)
        return rc;
    if (rc) {
        log_warn("subscriptions.not_recorded",
                 L_I64("subscription", outcome->call->id),
                 L_I64("result", outcome->rc),
                 L_I64("rc", rc));
        outcome->call->idem->ended = false;
        return pay_unknown(r, outcome->rc, STR("subscription"), outcome->call->id);
    }
    if (outcome->rang)
        events_ring(gateway_directory(), r->project);
    return located(r, r->status, outcome->call->id);
}

/* co: certainly not carried out. */
AWAITS static int take_back(struct req *r, struct subscription_call *call)
{
    TRY(sql_begin(r));
    TRY(sql_exec(r, NULL, &SQL_SUBSCRIPTION_CODE_FREE, PARAMS(P_I64(call->id))));
    TRY(sql_exec(r, NULL, &SQL_SUBSCRIPTION_NOT_BEGUN, PARAMS(P_I64(call->id), P_STR(call->key))));
    idem_release(r, call->idem, true);
    return sql_commit(r);
}

int subscription_call_run(struct req *r, struct subscription_call *call)
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
        return pay_unknown(r, rc, STR("subscription"), call->id);
    struct outcome outcome = {.call = call, .rc = rc, .reply = &reply};
    return finish(r, &outcome);
}

/* --- going on --- */

/* The checkout's address, while it can be used. */
AWAITS static int read_url(struct req *r,
                           const struct payment_settings *settings,
                           struct str session_id,
                           struct str *ret_url)
{
    struct processor_reply reply = {0};
    const struct processor_request request = {
        .method = "GET",
        .path = processor_path(r->task.arena, "/v1/checkout/sessions", session_id, "")};
    int rc = processor_call(&r->task, settings, &request, &reply);

    *ret_url = STR_NONE;
    if (rc < 0)
        return rc;
    if (rc)
        return pay_fail(r, rc, &reply);
    if (str_is(jr_str(reply.body, "status"), "open"))
        *ret_url = jr_str(reply.body, "url");
    return 0;
}

/* The timer has settled it meanwhile: as it stands. */
AWAITS static int answer_settled(struct req *r,
                                 const struct subscription_call *call,
                                 const struct subscription *known)
{
    struct str url = STR_NONE;

    if (known->failure_code.len && subscription_has_ended(known)) {
        const struct processor_reply reply = {.code = known->failure_code,
                                              .message = known->failure_message};
        return pay_fail(r, PROCESSOR_DECLINED, &reply);
    }
    if (known->session_id.len && !known->provider_id.len && !subscription_has_ended(known))
        TRY(read_url(r, call->settings, known->session_id, &url));
    return located(r, subscription_reply(r, 201, known->id, url), known->id);
}

int subscription_call_resume(struct req *r, struct subscription_call *call)
{
    struct str id = call->idem->target;
    struct subscription known;

    (void)str_split(&id, ':');
    if (!num_parse_i64(id, &call->id))
        return fail(r, "idempotency_mismatch", NULL);
    TRY(subscription_load(r, call->id, &known));
    if (!known.call_key.len)
        return answer_settled(r, call, &known);
    call->path = known.call_path;
    call->form = known.call_form;
    call->key = known.call_key;
    call->again = true;
    return subscription_call_run(r, call);
}
