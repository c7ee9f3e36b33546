/* What became of calls and payments that nobody told us. */
#include "settle.h"

#include "app.h"
#include "base/clock.h"
#include "base/panic.h"
#include "domain/events.h"
#include "log/log.h"
#include "loop/background.h"
#include "payments/announce.h"
#include "payments/apply.h"
#include "payments/processor.h"
#include "webhook_settle_sql.h"
#include "work.h"
#include "json/jr.h"

#define ROWS_AT_ONCE   8
#define ROUNDS         20
#define ROUND_MS       90000                       /* a row belongs to us for 120 s */
#define KEY_LIFE_MS    (INT64_C(23) * 3600 * 1000) /* the processor forgets a key after 24 h */
#define SEARCH_AGE_MS  120000 /* the processor is not at a call any more that began before */
#define SEARCH_ROWS    100    /* of a customer's newest objects: all that it tells at once */
#define CREATE_SESSION "/v1/checkout/sessions"

/* Payments and subscriptions are asked about alike. */
struct kind {
    const char *name;
    const struct sql *claim, *answered, *later, *failed;
    const char *object_head; /* where the processor's object is read, and those of a customer */
    const char *member;      /* of an object's metadata: the row's id */
    const char *all;         /* asks for objects in every state; NULL = they are */
    int (*announce)(struct task *task, struct db *tx, int64_t id, bool *ret_rang); /* AWAITS */
};

static const struct kind kinds[] = {
    {
        .name = "payment",
        .claim = &SQL_SETTLE_PAYMENTS,
        .answered = &SQL_SETTLE_PAYMENT_ANSWERED,
        .later = &SQL_SETTLE_PAYMENT_LATER,
        .failed = &SQL_SETTLE_PAYMENT_FAILED,
        .object_head = "/v1/payment_intents",
        .member = "payment_id",
        .announce = announce_payment,
    },
    {
        .name = "subscription",
        .claim = &SQL_SETTLE_SUBSCRIPTIONS,
        .answered = &SQL_SETTLE_SUBSCRIPTION_ANSWERED,
        .later = &SQL_SETTLE_SUBSCRIPTION_LATER,
        .failed = &SQL_SETTLE_SUBSCRIPTION_FAILED,
        .object_head = "/v1/subscriptions",
        .member = "subscription_id",
        .all = "all",
        .announce = announce_subscription,
    },
};

static struct settle_stats stats;

const struct settle_stats *settle_stats(void)
{
    return &stats;
}

struct settle {
    struct task *task;
    struct project *project;
    const struct payment_settings *settings;
    const struct kind *kind;
    int64_t id, age_ms;
    struct str object_id, session_id, customer, call_key, call_path, call_form;
    bool rang, woke, touch; /* after the commit */
};

/* --- what is written --- */

AWAITS static int run_own(struct settle *s, struct db *db, const struct sql *sql)
{
    return db_query(s->task, db, sql, PARAMS(P_I64(s->id), P_STR(s->call_key)), NULL);
}

AWAITS static void tell(struct settle *s)
{
    if (s->rang)
        events_ring(webhook_directory(), s->project);
    if (s->woke)
        work_due(s->project->number);
    if (s->touch)
        project_touch(s->task, webhook_directory(), s->project);
}

AWAITS static int later(struct settle *s)
{
    return db_query(s->task, &s->project->db, s->kind->later, PARAMS(P_I64(s->id)), NULL);
}

/* It never was, or will never be known: failed, and told as such. */
AWAITS static int give_up(struct settle *s, const char *code, struct str message)
{
    struct db *tx;
    struct rows rows;
    struct str text = message.len > 0 ? message : str_from(code);

    log_warn(
        "settle.failed", L_CSTR("kind", s->kind->name), L_I64("id", s->id), L_CSTR("code", code));
    TRY(db_begin(s->task, &s->project->db, &tx));
    TRY(db_query(s->task,
                 tx,
                 s->kind->failed,
                 PARAMS(P_I64(s->id), P_STR(s->call_key), P_CSTR(code), P_STR(text)),
                 &rows));
    if (rows.affected == 0) { /* it has moved on */
        (void)db_rollback(s->task, tx);
        return later(s);
    }
    TRY(s->kind->announce(s->task, tx, s->id, &s->rang));
    TRY(db_commit(s->task, tx));
    tell(s);
    return 0;
}

/* --- what the processor says --- */

AWAITS static int apply_object(struct settle *s,
                               struct apply_source *source,
                               struct db *tx,
                               const json_t *object,
                               struct applied *applied)
{
    struct str kind = jr_str(object, "object");
    union {
        struct intent_object intent;
        struct session_object session;
        struct subscription_object subscription;
    } read;

    if (str_is(kind, "payment_intent") && intent_read(object, &read.intent) == 0)
        return apply_intent(source, tx, &read.intent, applied);
    if (str_is(kind, "checkout.session") && session_read(object, &read.session) == 0)
        return apply_session(source, tx, &read.session, applied);
    if (str_is(kind, "subscription") && subscription_read(object, &read.subscription) == 0)
        return apply_subscription(source, tx, &read.subscription, applied);
    log_warn("settle.unexpected", L_CSTR("kind", s->kind->name), L_STR("object", kind));
    return APPLY_BROKEN;
}

/* Objects of one answer after the other, and the row's own bookkeeping, in one transaction. */
AWAITS static int
write_answer(struct settle *s, const json_t *const *objects, size_t count, int64_t at_ms)
{
    struct db *tx;

    TRY(db_begin(s->task, &s->project->db, &tx));
    for (size_t i = 0; i < count; i++) {
        struct apply_source source = {
            .task = s->task,
            .project = s->project,
            .settings = s->settings,
            .at_ms = at_ms,
        };
        struct applied applied = {.waits = false};
        if (objects[i] == NULL)
            continue;
        int rc = apply_object(s, &source, tx, objects[i], &applied);
        if (rc != 0) {
            (void)db_rollback(s->task, tx);
            return rc;
        }
        s->rang |= applied.rang;
        s->woke |= applied.woke;
        s->touch |= applied.touch;
    }
    TRY(run_own(s, tx, s->kind->answered));
    return db_commit(s->task, tx);
}

AWAITS static int
apply_answer(struct settle *s, const json_t *const *objects, size_t count, int64_t at_ms)
{
    struct db_tries tries = {0};
    int rc;

    do
        rc = write_answer(s, objects, count, at_ms);
    while (db_again(s->task, &tries, rc));
    if (rc == 0)
        tell(s);
    if (rc == APPLY_FOREIGN || rc == APPLY_BROKEN) /* asking again changes nothing */
        return run_own(s, &s->project->db, s->kind->answered);
    return rc;
}

AWAITS static int
read_object(struct settle *s, const char *head, struct str id, const json_t **ret_object)
{
    struct processor_reply reply;
    const struct processor_request request = {
        .method = "GET",
        .path = processor_path(s->task->arena, head, id, ""),
        .form = str_is(str_from(head), "/v1/payment_intents") ? STR("expand[0]=latest_charge")
                                                              : STR_NONE,
    };

    TRY(processor_call(s->task, s->settings, &request, &reply));
    *ret_object = reply.body;
    return 0;
}

/* The session, and what came of it. */
AWAITS static int
read_session(struct settle *s, const json_t **ret_session, const json_t **ret_object)
{
    struct session_object session;

    *ret_object = NULL;
    TRY(read_object(s, CREATE_SESSION, s->session_id, ret_session));
    if (session_read(*ret_session, &session) != 0)
        return PROCESSOR_NOT_FOUND;
    struct str id = s->kind == &kinds[0] ? session.payment_intent : session.subscription;
    return id.len > 0 ? read_object(s, s->kind->object_head, id, ret_object) : 0;
}

AWAITS static int settle_by_reading(struct settle *s)
{
    const json_t *objects[2] = {NULL, NULL};
    int64_t at_ms = clock_wall_ms();
    int rc;

    if (s->object_id.len > 0)
        rc = read_object(s, s->kind->object_head, s->object_id, &objects[0]);
    else
        rc = read_session(s, &objects[0], &objects[1]);
    if (rc == PROCESSOR_NOT_FOUND) /* of another account: nothing will be found there */
        return run_own(s, &s->project->db, s->kind->answered);
    if (rc > 0)
        return later(s);
    return rc < 0 ? rc : apply_answer(s, objects, 2, at_ms);
}

/* Money moves by it. Without a customer nobody can be charged but by a page or a device that has
 * its answer. */
static bool is_charge(const struct settle *s)
{
    return s->customer.len > 0 && str_is(s->call_path, s->kind->object_head);
}

static bool is_made_by(const struct settle *s, const json_t *object)
{
    const json_t *metadata = json_object_get(object, "metadata");
    struct str id = arena_printf(s->task->arena, "%lld", (long long)s->id);

    return str_eq(jr_str(metadata, "project_id"), s->project->slug) &&
           str_eq(jr_str(metadata, s->kind->member), id);
}

static const struct str not_there = STR_INIT("The processor does not have it.");

/* What the processor does not have by now is not made any more. */
AWAITS static int settle_by_searching(struct settle *s)
{
    struct processor_reply reply = {.status = 0};
    int64_t at_ms = clock_wall_ms();
    struct form form;

    form_init(&form, s->task->arena);
    form_str(&form, "customer", s->customer);
    form_i64(&form, "limit", SEARCH_ROWS);
    if (s->kind->all != NULL)
        form_str(&form, "status", str_from(s->kind->all));
    const struct processor_request request = {
        .method = "GET", .path = str_from(s->kind->object_head), .form = form_text(&form)};
    int rc = processor_call(s->task, s->settings, &request, &reply);
    if (rc != 0)
        return rc < 0 ? rc : later(s);
    const json_t *list = json_object_get(reply.body, "data");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *object = json_array_get(list, i);
        if (is_made_by(s, object))
            return apply_answer(s, &object, 1, at_ms);
    }
    return give_up(s, "not_carried_out", not_there);
}

AWAITS static int settle_by_repeating(struct settle *s)
{
    struct processor_reply reply = {.status = 0};
    const struct processor_request request = {
        .method = "POST",
        .path = s->call_path.len > 0 ? s->call_path : STR(CREATE_SESSION),
        .form = s->call_form,
        .key = s->call_key,
    };
    int64_t at_ms = clock_wall_ms();

    int rc = processor_call(s->task, s->settings, &request, &reply);
    switch (rc) {
    case 0:
        return apply_answer(s, &reply.body, 1, at_ms);
    case PROCESSOR_DECLINED:
        if (reply.intent != NULL)
            return apply_answer(s, &reply.intent, 1, at_ms);
        return give_up(s, arena_cstr(s->task->arena, reply.code), reply.message);
    case PROCESSOR_INVALID:
    case PROCESSOR_NOT_FOUND:
    case PROCESSOR_REUSED_KEY:
        return give_up(
            s, reply.code.len ? arena_cstr(s->task->arena, reply.code) : "refused", reply.message);
    case PROCESSOR_UNAVAILABLE:
        if (!reply.replayed)
            return later(s);
        /* An error that is kept for the key: what was done before it is there, more will not be. */
        return is_charge(s) ? settle_by_searching(s) : give_up(s, "not_carried_out", not_there);
    default:
        return rc < 0 ? rc : later(s);
    }
}

AWAITS static int settle_one(struct task *task, void *arg)
{
    struct settle *s = arg;
    int rc;

    s->task = task;
    stats.asked++;
    if (s->object_id.len > 0 || s->session_id.len > 0) {
        rc = settle_by_reading(s);
    } else if (s->call_key.len == 0) { /* nothing was ever asked for */
        rc = run_own(s, &s->project->db, s->kind->answered);
    } else if (is_charge(s) && processor_key_once(s->call_key)) {
        /* Its sender cannot repeat it, and may have asked anew. */
        rc = s->age_ms < SEARCH_AGE_MS ? later(s) : settle_by_searching(s);
    } else if (s->age_ms > KEY_LIFE_MS) {
        stats.unknown++;
        rc = give_up(s, "outcome_unknown", STR("The processor's answer was never received."));
    } else {
        rc = settle_by_repeating(s);
    }
    if (rc != 0)
        log_debug(
            "settle.failed", L_CSTR("kind", s->kind->name), L_I64("id", s->id), L_I64("rc", rc));
    return 0; /* the others go on; the row comes back */
}

/* --- rounds --- */

AWAITS static int settle_some(struct task *task,
                              struct project *project,
                              const struct payment_settings *settings,
                              const struct kind *kind,
                              size_t *ret_count)
{
    struct rows rows;

    *ret_count = 0;
    TRY(db_query(task, &project->db, kind->claim, PARAMS(P_I64(ROWS_AT_ONCE)), &rows));
    struct settle *settles = ARENA_ARRAY(task->arena, settles, rows.count);
    struct task_call *calls = ARENA_ARRAY(task->arena, calls, rows.count);
    for (size_t i = 0; i < rows.count; i++) {
        const struct row row = rows_at(&rows, i);
        settles[i] = (struct settle){
            .project = project,
            .settings = settings,
            .kind = kind,
            .id = row_i64(&row, "id"),
            .age_ms = row_i64(&row, "age_ms"),
            .object_id = row_str(&row, "object_id"),
            .session_id = row_str(&row, "session_id"),
            .customer = row_str(&row, "customer"),
            .call_key = row_str(&row, "call_key"),
            .call_path = row_str(&row, "call_path"),
            .call_form = row_str(&row, "call_form"),
        };
        calls[i] = (struct task_call){.fn = settle_one, .arg = &settles[i]};
    }
    *ret_count = rows.count;
    return rows.count > 0 ? task_all(task, calls, rows.count) : 0;
}

AWAITS static int settle_kind(struct task *task,
                              struct project *project,
                              const struct payment_settings *settings,
                              const struct kind *kind)
{
    size_t count = ROWS_AT_ONCE;

    for (int round = 0; round < ROUNDS && count == ROWS_AT_ONCE && !work_draining(); round++)
        TRY(settle_some(task, project, settings, kind, &count));
    return 0;
}

static void settle_run(struct task *task, void *arg)
{
    struct work *work = arg;
    struct project *project;
    const struct payment_settings *settings;

    int rc = project_find_number(task, webhook_directory(), work->number, &project);
    if (rc == 0)
        rc = payment_settings_get(task, project, &settings);
    for (size_t i = 0; rc == 0 && i < ARRAY_LEN(kinds); i++)
        rc = settle_kind(task, project, settings, &kinds[i]);
    work->settling = false;
}

void settle_due(int64_t number)
{
    struct work *work = work_get(number);

    if (work->settling || work_draining())
        return;
    work->settling = true;
    background_run(ROUND_MS, settle_run, work);
}
