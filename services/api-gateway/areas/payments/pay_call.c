/* Answers a request that makes a call to the processor: with the call's outcome, or with the row
 * that will show it. */
#include "areas/payments/pay_call.h"
#include "areas/payments/idempotency.h"
#include "base/clock.h"

#define SETTLE_EXTRA_MS 15000 /* after the request's deadline */

struct call pay_call_begin(struct req *r,
                           const struct call_kind *kind,
                           const struct payment_settings *settings,
                           int64_t id)
{
    return (struct call){
        .task = &r->task,
        .directory = gateway_directory(),
        .project = r->scope->project,
        .settings = settings,
        .kind = kind,
        .id = id,
    };
}

/* Returns the milliseconds from now until the timer of payments-webhook may settle the call. */
static int64_t settle_delay_ms(const struct req *r)
{
    int64_t left = r->task.deadline_ms ? r->task.deadline_ms - clock_mono_ms() : 0;

    return (left > 0 ? left : 0) + SETTLE_EXTRA_MS;
}

int pay_call_note(struct pay_call *pay, const char *what)
{
    struct req *r = pay->r;
    TRY(sql_check(r,
                  call_note(&pay->call, r->scope->db, what, pay->idem->salt, settle_delay_ms(r))));
    TRY(idem_set_target(r, pay->idem, pay->call.kind->name, pay->call.id));
    return sql_commit(r);
}

/* Answers that the outcome of the call is unknown: the processor may have carried out the call. The
 * row that Location names shows the outcome once it is known. */
static int answer_unknown(struct pay_call *pay)
{
    bool away = pay->call.rc == PROCESSOR_UNAVAILABLE || pay->call.rc == PROCESSOR_CONFLICT;
    const char *what = pay->call.kind->name;

    pay_location(pay->r, str_from(what), pay->call.id);
    (void)fail(pay->r,
               away ? PROBLEM_DEPENDENCY_UNAVAILABLE : PROBLEM_OUTCOME_UNKNOWN,
               "%s: %s %lld is checked in the background. Read it at the address in Location, or "
               "repeat the request with the same Idempotency-Key.",
               away ? "The processor is not available right now" : "The outcome is not known",
               what,
               (long long)pay->call.id);
    if (pay->extend_unknown)
        pay->extend_unknown(pay);
    return pay->r->status;
}

AWAITS static int record_outcome(struct call *call, struct db *tx, void *arg)
{
    struct pay_call *pay = arg;
    struct req *r = pay->r;

    r->scope->db = tx;
    TRY(call_record(call, tx));
    TRY(call_close(call, tx));
    r->body.len = 0;
    TRY(pay->write_answer(pay));
    return idem_store_answer(r, pay->idem, r->status);
}

AWAITS static int undo_call(struct call *call, struct db *tx, void *arg)
{
    struct pay_call *pay = arg;

    pay->r->scope->db = tx;
    pay->idem->closed = false;
    TRY(call_undo(call, tx));
    idem_release(pay->r, pay->idem, call->creates);
    return 0;
}

/* co: Runs `fn` in the request's last transaction. After a failure no answer is stored. */
AWAITS static int run_last_transaction(struct pay_call *pay, call_fn fn)
{
    int rc = call_transact(&pay->call, fn, pay);

    pay->r->scope->db = &pay->r->scope->project->db;
    if (rc)
        pay->idem->closed = false;
    return rc;
}

AWAITS static int pay_call_finish(struct pay_call *pay)
{
    int rc = run_last_transaction(pay, record_outcome);

    if (rc < 0)
        return rc;
    if (rc) {
        log_warn("payments.not_recorded",
                 L_CSTR("kind", pay->call.kind->name),
                 L_I64("id", pay->call.id),
                 L_RESULT("result", pay->call.rc),
                 L_RESULT("rc", rc));
        return answer_unknown(pay);
    }
    if (pay->r->status == 201)
        pay_location(pay->r, str_from(pay->call.kind->name), pay->call.id);
    return pay->r->status;
}

int pay_call_run(struct pay_call *pay)
{
    struct call *call = &pay->call;

    TRY(call_send(call));
    if (call->end == CALL_UNSETTLED)
        return answer_unknown(pay);
    if (call->end != CALL_NOT_DONE)
        return pay_call_finish(pay);
    TRY(sql_check(pay->r, run_last_transaction(pay, undo_call)));
    return pay_fail(pay->r, call->rc, &call->reply);
}

int pay_call_repeat(struct pay_call *pay, struct str key, struct str path, struct str form)
{
    pay->call.key = key;
    pay->call.path = path;
    pay->call.form = form;
    pay->call.may_repeat = true;
    return pay_call_run(pay);
}
