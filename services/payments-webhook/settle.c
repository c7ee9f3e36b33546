/* Settles calls and payments whose outcome no event reported. */
#include "settle.h"

#include "app.h"
#include "base/clock.h"
#include "base/panic.h"
#include "json/jr.h"
#include "log/log.h"
#include "payments/call.h"
#include "webhook_settle_sql.h"
#include "work.h"

#define ROWS_AT_ONCE  8
#define ROUNDS        20
#define KEY_LIFE_MS   (INT64_C(23) * 3600 * 1000) /* the processor forgets a key after 24 h */
#define SEARCH_AGE_MS 120000 /* a call of this age has ended at the processor */
#define SEARCH_ROWS   100    /* newest objects of a customer that one list of the processor has */

/* The differences between payments and subscriptions. */
struct settle_kind_rules {
    const struct call_kind *call;
    const struct sql *claim, *write_answered, *postpone;
    const char *metadata_key; /* key in an object's metadata; the value is the row's id */
    const char *status_all;   /* status= that lists objects in every state; NULL: the default */
};

static const struct settle_kind_rules kinds[] = {
    {
        .call = &call_payment,
        .claim = &SQL_SETTLE_PAYMENTS,
        .write_answered = &SQL_SETTLE_PAYMENT_ANSWERED,
        .postpone = &SQL_SETTLE_PAYMENT_LATER,
        .metadata_key = "payment_id",
    },
    {
        .call = &call_subscription,
        .claim = &SQL_SETTLE_SUBSCRIPTIONS,
        .write_answered = &SQL_SETTLE_SUBSCRIPTION_ANSWERED,
        .postpone = &SQL_SETTLE_SUBSCRIPTION_LATER,
        .metadata_key = "subscription_id",
        .status_all = "all",
    },
};

static struct settle_stats stats;

const struct settle_stats *settle_stats(void)
{
    return &stats;
}

struct settle {
    struct call call; /* the call that the row has, if any */
    const struct settle_kind_rules *kind;
    int64_t age_ms;
    struct str object_id, session_id, customer;
};

/* --- writing --- */

AWAITS static int row_write_answered(struct settle *s, struct db *db)
{
    const struct call *call = &s->call;

    return db_query(call->task,
                    db,
                    s->kind->write_answered,
                    SQL_SETTLE_ANSWERED_ARGS(.id = call->id, .call_key = call->key),
                    NULL);
}

AWAITS static int row_postpone(struct settle *s)
{
    const struct call *call = &s->call;

    return db_query(call->task,
                    &call->project->db,
                    s->kind->postpone,
                    SQL_SETTLE_LATER_ARGS(.id = call->id),
                    NULL);
}

/* Writes the processor's answer and the row's bookkeeping in one transaction. */
AWAITS static int settle_write_answer(struct settle *s, call_fn fn, void *arg)
{
    int rc = call_transact(&s->call, fn, arg);

    if (rc == 0 && s->call.woke_events)
        queue_project_due(webhook_work_events(), s->call.project->number);
    if (rc == APPLY_OTHER_PROJECT || rc == APPLY_MALFORMED) /* asking again would not change it */
        return row_write_answered(s, &s->call.project->db);
    return rc;
}

static void settle_log_failure(const struct settle *s, struct str code)
{
    log_warn("settle.failed",
             L_CSTR("kind", s->kind->call->name),
             L_I64("id", s->call.id),
             L_STR("code", code));
}

/* --- giving up --- */

struct settle_failure {
    struct str code, message;
    bool failed;
};

AWAITS static int write_failure(struct call *call, struct db *tx, void *arg)
{
    struct settle_failure *failure = arg;

    return call_fail(call, tx, failure->code, failure->message, &failure->failed);
}

/* Fails a row whose object was never made, or whose outcome will never be known, and emits the
 * event for this failure. */
AWAITS static int row_fail(struct settle *s, struct str code, struct str message)
{
    struct settle_failure failure = {.code = code, .message = message};

    settle_log_failure(s, failure.code);
    TRY(call_transact(&s->call, write_failure, &failure));
    return failure.failed ? 0 : row_postpone(s); /* the row has changed in the meantime */
}

/* --- the processor's answers --- */

/* The objects that were read for one row, in the order in which they are applied. */
struct settle_objects {
    struct settle *s;
    const json_t *objects[3]; /* NULL = none */
    int64_t at_ms;
};

AWAITS static int write_objects(struct call *call, struct db *tx, void *arg)
{
    const struct settle_objects *reading = arg;

    for (size_t i = 0; i < ARRAY_LEN(reading->objects); i++)
        if (reading->objects[i] != NULL)
            TRY(call_apply(call, tx, reading->objects[i], reading->at_ms));
    return row_write_answered(reading->s, tx);
}

AWAITS static int
read_object(struct settle *s, const char *head, struct str id, const json_t **ret_object)
{
    struct processor_reply reply;

    TRY(call_fetch(&s->call, head, id, 0, &reply));
    *ret_object = reply.body;
    return 0;
}

/* Reads the checkout session, and the payment or subscription that it has created. */
AWAITS static int read_session(struct settle *s, struct settle_objects *reading)
{
    const char *objects = s->kind->call->objects;
    struct session_object session;

    TRY(read_object(s, CALL_SESSIONS, s->session_id, &reading->objects[0]));
    if (session_read(reading->objects[0], &session) != 0)
        return PROCESSOR_NOT_FOUND;
    struct str id = s->kind->call == &call_payment ? session.payment_intent : session.subscription;
    return id.len > 0 ? read_object(s, objects, id, &reading->objects[1]) : 0;
}

/* When a subscription is past due, also reads its latest invoice, whose failure no event may have
 * reported. A missing invoice is ignored. After any other failure the subscription is read again
 * later, as a whole. */
AWAITS static int read_failed_invoice(struct settle *s, struct settle_objects *reading)
{
    struct subscription_object subscription;
    const json_t *object = reading->objects[1] != NULL ? reading->objects[1] : reading->objects[0];

    if (s->kind->call != &call_subscription || subscription_read(object, &subscription) != 0 ||
        !str_is(subscription.status, "past_due") || subscription.latest_invoice.len == 0)
        return 0;
    int rc = read_object(s, CALL_INVOICES, subscription.latest_invoice, &reading->objects[2]);
    return rc == PROCESSOR_NOT_FOUND ? 0 : rc;
}

AWAITS static int settle_by_reading(struct settle *s)
{
    struct settle_objects reading = {.s = s, .at_ms = clock_wall_ms()};
    int rc;

    if (s->object_id.len > 0)
        rc = read_object(s, s->kind->call->objects, s->object_id, &reading.objects[0]);
    else
        rc = read_session(s, &reading);
    if (rc == 0)
        rc = read_failed_invoice(s, &reading);
    if (rc == PROCESSOR_NOT_FOUND) /* the object is of another account and will never be found */
        return row_write_answered(s, &s->call.project->db);
    if (rc > 0)
        return row_postpone(s);
    return rc < 0 ? rc : settle_write_answer(s, write_objects, &reading);
}

/* Whether the call itself can charge money. Without a customer, money moves only through a page or
 * a device that has received the call's answer. */
static bool is_charge(const struct settle *s)
{
    return s->customer.len > 0 && str_is(s->call.path, s->kind->call->objects);
}

static bool is_object_of_row(const struct settle *s, const json_t *object)
{
    const json_t *metadata = json_object_get(object, "metadata");
    struct str id = arena_printf(s->call.task->arena, "%lld", (long long)s->call.id);

    return str_eq(jr_str(metadata, "project_id"), s->call.project->slug) &&
           str_eq(jr_str(metadata, s->kind->metadata_key), id);
}

AWAITS static int row_fail_not_carried_out(struct settle *s)
{
    return row_fail(s, STR("not_carried_out"), STR("The processor did not carry out the call."));
}

/* Searches the customer's objects for the object that the row has made. An object that the
 * processor does not have by now will not be made later. */
AWAITS static int settle_by_searching(struct settle *s)
{
    struct settle_objects reading = {.s = s, .at_ms = clock_wall_ms()};
    struct task *task = s->call.task;
    struct processor_reply reply;
    struct form form;

    form_init(&form, task->arena);
    form_str(&form, "customer", s->customer);
    form_i64(&form, "limit", SEARCH_ROWS);
    if (s->kind->status_all != NULL)
        form_str(&form, "status", str_from(s->kind->status_all));
    const struct processor_request request = {
        .method = "GET", .path = str_from(s->kind->call->objects), .form = form_text(&form)};
    int rc = processor_call(task, s->call.settings, &request, &reply);
    if (rc != 0)
        return rc < 0 ? rc : row_postpone(s);
    const json_t *list = json_object_get(reply.body, "data");
    for (size_t i = 0; i < json_array_size(list); i++) {
        reading.objects[0] = json_array_get(list, i);
        if (is_object_of_row(s, reading.objects[0]))
            return settle_write_answer(s, write_objects, &reading);
    }
    return row_fail_not_carried_out(s);
}

AWAITS static int write_call_end(struct call *call, struct db *tx, void *arg)
{
    TRY(call_record(call, tx));
    return row_write_answered(arg, tx);
}

AWAITS static int settle_by_repeating(struct settle *s)
{
    struct call *call = &s->call;

    if (call->path.len == 0)
        call->path = STR(CALL_SESSIONS);
    TRY(call_send(call));
    if (call->end == CALL_REFUSED)
        settle_log_failure(s, call->reply.code);
    if (call->end != CALL_UNSETTLED)
        return settle_write_answer(s, write_call_end, s);
    if (call->rc == PROCESSOR_REUSED_KEY)
        return row_fail(
            s, call->reply.code.len ? call->reply.code : STR("refused"), call->reply.message);
    if (call->rc != PROCESSOR_UNAVAILABLE || !call->reply.replayed)
        return row_postpone(s);
    /* The processor replays an error that it stored for the key. Objects that it made before the
     * error exist, and it makes no more. */
    return is_charge(s) ? settle_by_searching(s) : row_fail_not_carried_out(s);
}

AWAITS static int settle_row(struct task *task, void *arg)
{
    struct settle *s = arg;
    int rc;

    s->call.task = task;
    stats.handled++;
    if (s->object_id.len > 0 || s->session_id.len > 0) {
        rc = settle_by_reading(s);
    } else if (s->call.key.len == 0) { /* no call was noted in the row */
        rc = row_write_answered(s, &s->call.project->db);
    } else if (is_charge(s) && processor_key_is_once(s->call.key)) {
        /* The client sent no idempotency key. It cannot repeat this charge and may have made
         * another charge instead, so this charge must not be sent again. */
        rc = s->age_ms < SEARCH_AGE_MS ? row_postpone(s) : settle_by_searching(s);
    } else if (s->age_ms > KEY_LIFE_MS) {
        stats.given_up++;
        rc = row_fail(s, STR("outcome_unknown"), STR("No answer of the processor was received."));
    } else {
        rc = settle_by_repeating(s);
    }
    if (rc != 0)
        log_debug("settle.failed",
                  L_CSTR("kind", s->kind->call->name),
                  L_I64("id", s->call.id),
                  L_RESULT("rc", rc));
    return 0; /* the other rows continue, and this row is due again later */
}

/* --- rounds --- */

AWAITS static int settle_rows(struct task *task,
                              struct project *project,
                              const struct payment_settings *settings,
                              const struct settle_kind_rules *kind,
                              size_t *ret_count)
{
    struct rows rows;

    *ret_count = 0;
    TRY(db_query(
        task, &project->db, kind->claim, SQL_SETTLE_CLAIM_ARGS(.most = ROWS_AT_ONCE), &rows));
    struct settle *settles = ARENA_ARRAY(task->arena, settles, rows.count);
    struct task_call *calls = ARENA_ARRAY(task->arena, calls, rows.count);
    for (size_t i = 0; i < rows.count; i++) {
        const struct sql_settle_row row = sql_settle_row(&rows, i);
        settles[i] = (struct settle){
            .kind = kind,
            .age_ms = row.age_ms,
            .object_id = row.object_id,
            .session_id = row.session_id,
            .customer = row.customer,
            .call = {.directory = webhook_directory(),
                     .project = project,
                     .settings = settings,
                     .kind = kind->call,
                     .id = row.id,
                     .key = row.call_key,
                     .path = row.call_path,
                     .form = row.call_form,
                     .creates = true,
                     .may_repeat = true},
        };
        calls[i] = (struct task_call){.fn = settle_row, .arg = &settles[i]};
    }
    *ret_count = rows.count;
    return rows.count > 0 ? task_all(task, calls, rows.count) : 0;
}

AWAITS static int settle_kind(struct task *task,
                              struct project *project,
                              const struct payment_settings *settings,
                              const struct settle_kind_rules *kind)
{
    size_t count = ROWS_AT_ONCE;

    for (int round = 0;
         round < ROUNDS && count == ROWS_AT_ONCE && !queue_is_draining(work_settlements());
         round++)
        TRY(settle_rows(task, project, settings, kind, &count));
    return 0;
}

int settle_pass(struct task *task,
                struct queue *queue UNUSED,
                struct project *project,
                bool *ret_more UNUSED)
{
    const struct payment_settings *settings;

    int rc = payment_settings_get(task, project, &settings);
    for (size_t i = 0; rc == 0 && i < ARRAY_LEN(kinds); i++)
        rc = settle_kind(task, project, settings, &kinds[i]);
    if (rc > 0) /* the rows stay due: the next sweep finds them */
        log_debug("settle.pass_failed", L_I64("project", project->number), L_RESULT("rc", rc));
    return 0;
}
