/* Turns the body of a request into a row of webhook_events. */
#include "ingest.h"

#include <errno.h>
#include <stdio.h>

#include "app.h"
#include "app/admission.h"
#include "app/reply.h"
#include "base/clock.h"
#include "base/num.h"
#include "base/panic.h"
#include "bus/bus.h"
#include "insert.h"
#include "json/skim.h"
#include "metrics/metrics.h"
#include "payments/apply.h"
#include "payments/store.h"
#include "payments/webhook_signature.h"
#include "work.h"

#define ID_BYTES      255 /* of the id and the type of an event */
#define THIN_EVENT    "v2.core.event"
#define CREATED_MAX_S INT64_C(253402300799) /* the last second of the year 9999 */

/* The outcome of a request, as the metric names it. */
enum outcome {
    OUTCOME_STORED,
    OUTCOME_DUPLICATE,
    OUTCOME_UNSUPPORTED,
    OUTCOME_MALFORMED_HEADER,
    OUTCOME_STALE,
    OUTCOME_WRONG_SIGNATURE,
    OUTCOME_NO_SECRET,
    OUTCOME_MALFORMED_BODY,
    OUTCOME_OTHER_PROJECT,
    OUTCOME_UNAVAILABLE,
    OUTCOME_COUNT
};
enum source { SOURCE_PROCESSOR, SOURCE_STORE, SOURCE_COUNT };

static struct metric *metrics[SOURCE_COUNT][OUTCOME_COUNT];

static const char *const outcome_names[OUTCOME_COUNT] = {
    [OUTCOME_STORED] = "stored",
    [OUTCOME_DUPLICATE] = "duplicate",
    [OUTCOME_UNSUPPORTED] = "unsupported",
    [OUTCOME_MALFORMED_HEADER] = "malformed_signature",
    [OUTCOME_STALE] = "stale",
    [OUTCOME_WRONG_SIGNATURE] = "wrong_signature",
    [OUTCOME_NO_SECRET] = "no_secret",
    [OUTCOME_MALFORMED_BODY] = "malformed",
    [OUTCOME_OTHER_PROJECT] = "foreign",
    [OUTCOME_UNAVAILABLE] = "unavailable",
};
static const char *const source_names[SOURCE_COUNT] = {"processor", "iap_store"};

void ingest_prepare(void)
{
    for (int source = 0; source < SOURCE_COUNT; source++) {
        for (int outcome = 0; outcome < OUTCOME_COUNT; outcome++) {
            char *labels = NULL;
            MUST(asprintf(&labels,
                          "source=\"%s\",outcome=\"%s\"",
                          source_names[source],
                          outcome_names[outcome]) > 0);
            metrics[source][outcome] = metric_counter(
                "groundwork_webhooks_received_total", labels, "Events received, by outcome");
        }
    }
}

static void count_event(enum source source, enum outcome outcome)
{
    metric_add(metrics[source][outcome], 1);
}

/* --- shared by both sources --- */

/* Answers 503, after which the sender sends the event again. The answer must never say that an
 * event is stored when it may not be. */
static int answer_unavailable(struct req *r, enum source source)
{
    count_event(source, OUTCOME_UNAVAILABLE);
    return fail(r, PROBLEM_DEPENDENCY_UNAVAILABLE, "The event could not be stored; send it again.");
}

AWAITS static int
settings_get(struct req *r, enum source source, const struct payment_settings **ret)
{
    int rc = payment_settings_get(&r->task, r->scope->project, ret);

    return rc > 0 ? answer_unavailable(r, source) : rc;
}

/* Counts the request for its project, now that its body has been read. */
AWAITS static int permit_take(struct req *r, struct str body)
{
    struct permit *permit;

    TRY(admission_enter(r, ADMIT_AUTHENTICATED, &permit));
    return admission_body(r, permit, body);
}

AWAITS static int ingest_read_body(struct req *r, size_t max, struct str *ret_body)
{
    TRY(req_encoding(r, NULL)); /* the signature covers the bytes as sent */
    switch (req_body_read_all(r, max, ret_body)) {
    case 0:
        return permit_take(r, *ret_body);
    case REQ_BODY_TOO_LARGE:
        return fail(r, PROBLEM_PAYLOAD_TOO_LARGE, "An event may have at most %zu bytes.", max);
    case REQ_BODY_TIMEOUT:
        return fail(r, PROBLEM_REQUEST_TIMEOUT, "The event arrived too slowly.");
    case REQ_BODY_REFUSED:
        return fail(r,
                    PROBLEM_TOO_MANY_REQUESTS_IN_FLIGHT,
                    "Too many request bodies from your address are being received; try again.");
    case REQ_BODY_MALFORMED:
        return fail(r,
                    PROBLEM_BAD_REQUEST,
                    "The body of the request ended early or is not framed correctly.");
    default:
        return -ECANCELED;
    }
}

static int answer_received(struct req *r, enum source source, enum outcome outcome)
{
    struct jw w = resp_json(r);

    count_event(source, outcome);
    jw_obj(&w);
    JW_BOOL(&w, "received", true);
    if (outcome == OUTCOME_DUPLICATE)
        JW_BOOL(&w, "duplicate", true);
    if (outcome == OUTCOME_UNSUPPORTED)
        JW_CSTR(&w, "message", "event type not supported");
    if (outcome == OUTCOME_OTHER_PROJECT)
        JW_CSTR(&w, "message", "the event is about another account or project and was not stored");
    jw_obj_end(&w);
    return reply_json(r, 200);
}

/* Stores the event and answers. The row is committed before the answer. When the connection to the
 * database is lost, it is unknown whether the row exists. The answer is then 503, and the sender's
 * next try decides. */
AWAITS static int store_and_answer(struct req *r, enum source source, const struct event_row *event)
{
    bool is_new = false;
    int rc = insert_event(r, event, &is_new);

    if (rc == DB_CHECK)
        return fail(r, PROBLEM_BAD_REQUEST, "The event holds a value that cannot be stored.");
    if (rc == -ETIMEDOUT || rc > 0)
        return answer_unavailable(r, source);
    if (rc < 0)
        return rc;
    if (event->supported)
        queue_rows_stored(webhook_work_events(), r->scope->project, 1);
    if (!event->supported)
        return answer_received(r, source, OUTCOME_UNSUPPORTED);
    return answer_received(r, source, is_new ? OUTCOME_STORED : OUTCOME_DUPLICATE);
}

/* --- the processor --- */

static int refuse_signature(struct req *r, int rc)
{
    enum outcome outcome = OUTCOME_WRONG_SIGNATURE;
    const char *detail =
        "No signature in Stripe-Signature matches the body and an active webhook secret.";

    switch (rc) {
    case WEBHOOK_SIGNATURE_MALFORMED:
        outcome = OUTCOME_MALFORMED_HEADER;
        detail = "The header Stripe-Signature is missing or malformed.";
        break;
    case WEBHOOK_SIGNATURE_STALE:
        outcome = OUTCOME_STALE;
        detail = "The time t in Stripe-Signature differs from the current time by more than 300 "
                 "seconds.";
        break;
    case WEBHOOK_SIGNATURE_NO_SECRET:
        outcome = OUTCOME_NO_SECRET;
        detail = "The project has no active webhook secret.";
        break;
    default:
        break;
    }
    count_event(SOURCE_PROCESSOR, outcome);
    return fail(r, PROBLEM_BAD_REQUEST, "%s", detail);
}

static int refuse_body(struct req *r, enum source source, const char *detail)
{
    count_event(source, OUTCOME_MALFORMED_BODY);
    return fail(r, PROBLEM_BAD_REQUEST, "%s", detail);
}

/* Members that are needed to store an event. The other members are read when it is applied. */
enum member {
    MEMBER_ID,
    MEMBER_OBJECT,
    MEMBER_TYPE,
    MEMBER_API_VERSION,
    MEMBER_ACCOUNT,
    MEMBER_CREATED,
    MEMBER_PROJECT_ID,
    MEMBER_COUNT
};

static struct str member_text(const struct skim_item *members, enum member member)
{
    const struct skim_item *found = &members[member];

    return found->kind == SKIM_STRING && found->text.len > 0 ? found->text : STR_NONE;
}

/* Whether the event is about another project or account. False also when only the event's object
 * can tell, which apply_prepare() checks later. */
static bool is_other_project(const struct project *project,
                             const struct processor_account *account,
                             const struct skim_item *members)
{
    struct str named = member_text(members, MEMBER_PROJECT_ID);
    struct str from = member_text(members, MEMBER_ACCOUNT);

    if (named.len > 0 && !str_eq(named, project->slug))
        return true;
    /* A project in mode `own` may not know the id of its account. */
    bool known = account->mode == PROCESSOR_CONNECT || account->account.len > 0;
    return from.len > 0 && known && !str_eq(from, account->account);
}

/* Decides whether the event is about another account or project. The processor does not send an
 * event again after a 2xx, so a foreign event is checked again with the settings that the database
 * has now, because the cache may lack an account that was created a moment ago. */
AWAITS static int check_other_project(struct req *r,
                                      const struct processor_account *account,
                                      const struct skim_item *members,
                                      bool *ret_is_other_account)
{
    struct project *project = r->scope->project;
    const struct payment_settings *now;

    *ret_is_other_account = is_other_project(project, account, members);
    if (!*ret_is_other_account)
        return 0;
    int rc = payment_settings_read(&r->task, project, &project->db, &now);
    if (rc != 0)
        return rc > 0 ? answer_unavailable(r, SOURCE_PROCESSOR) : rc;
    *ret_is_other_account = is_other_project(project, &now->processor, members);
    return 0;
}

static bool is_valid_id(struct str text)
{
    return text.len > 0 && text.len <= ID_BYTES;
}

static int64_t members_created_ms(const struct skim_item *members, int64_t now_ms)
{
    int64_t seconds = 0;

    if (members[MEMBER_CREATED].kind != SKIM_NUMBER ||
        !num_parse_i64(members[MEMBER_CREATED].text, &seconds) || seconds <= 0 ||
        seconds > CREATED_MAX_S)
        return now_ms;
    return seconds * 1000;
}

/* Reads the members of the event. Returns 0, or the status of the refusal. */
static int members_read(struct req *r, struct str body, struct skim_item *members)
{
    const char *reason = NULL;

    members[MEMBER_ID].path = "id";
    members[MEMBER_OBJECT].path = "object";
    members[MEMBER_TYPE].path = "type";
    members[MEMBER_API_VERSION].path = "api_version";
    members[MEMBER_ACCOUNT].path = "account";
    members[MEMBER_CREATED].path = "created";
    members[MEMBER_PROJECT_ID].path = "data.object.metadata.project_id";
    if (skim_parse(r->task.arena, body, members, MEMBER_COUNT, &reason) != 0)
        return refuse_body(
            r,
            SOURCE_PROCESSOR,
            arena_printf(r->task.arena, "The event is not valid JSON: %s.", reason).ptr);
    struct str object = member_text(members, MEMBER_OBJECT);
    if (!is_valid_id(member_text(members, MEMBER_ID)) ||
        !is_valid_id(member_text(members, MEMBER_TYPE)) ||
        (object.len > 0 && !str_is(object, "event") && !str_is(object, THIN_EVENT)))
        return refuse_body(r,
                           SOURCE_PROCESSOR,
                           "The body is not an event: id or type is missing or too long, or object "
                           "is not \"event\".");
    return 0;
}

int ingest_processor(struct req *r)
{
    const struct payment_settings *settings;
    struct skim_item members[MEMBER_COUNT];
    struct str body = STR_NONE;
    bool is_other_account;

    TRY(settings_get(r, SOURCE_PROCESSOR, &settings));
    TRY(ingest_read_body(r, (size_t)webhook_conf()->event_bytes, &body));
    const struct processor_account *account = &settings->processor;
    int64_t now_ms = clock_wall_ms();
    int rc = webhook_signature_check(req_header(r, "stripe-signature"),
                                     body,
                                     account->webhook_secrets,
                                     account->webhook_secret_count,
                                     now_ms);
    if (rc != 0)
        return refuse_signature(r, rc);
    TRY(members_read(r, body, members));
    TRY(check_other_project(r, account, members, &is_other_account));
    /* A platform's endpoint receives the events of all its accounts. If we refused an event, the
     * processor would repeat it for days and then close the endpoint for every project. */
    if (is_other_account)
        return answer_received(r, SOURCE_PROCESSOR, OUTCOME_OTHER_PROJECT);
    const struct event_row event = {
        .source = str_from(source_names[SOURCE_PROCESSOR]),
        .id = member_text(members, MEMBER_ID),
        .type = member_text(members, MEMBER_TYPE),
        .api_version = member_text(members, MEMBER_API_VERSION),
        .account = member_text(members, MEMBER_ACCOUNT),
        .payload = body,
        .created_ms = members_created_ms(members, now_ms),
        .supported = !str_is(member_text(members, MEMBER_OBJECT), THIN_EVENT) &&
                     apply_event_is_known(member_text(members, MEMBER_TYPE)),
    };
    return store_and_answer(r, SOURCE_PROCESSOR, &event);
}

/* --- the store --- */

static int refuse_notification(struct req *r, int rc, struct str reason)
{
    log_info("webhook.store_refused", L_STR("reason", reason));
    switch (rc) {
    case STORE_OTHER_APP:
        count_event(SOURCE_STORE, OUTCOME_OTHER_PROJECT);
        return fail(r, PROBLEM_FORBIDDEN, "The notification is about another app or environment.");
    case STORE_STALE:
        count_event(SOURCE_STORE, OUTCOME_STALE);
        return fail(
            r, PROBLEM_BAD_REQUEST, "The notification was signed too long ago, or in the future.");
    default:
        count_event(SOURCE_STORE, OUTCOME_WRONG_SIGNATURE);
        return fail(r, PROBLEM_BAD_REQUEST, "The notification is not signed by the app store.");
    }
}

int ingest_store(struct req *r)
{
    const struct payment_settings *settings;
    struct store_notification notification;
    struct str body = STR_NONE;
    struct str reason = STR_NONE;

    TRY(settings_get(r, SOURCE_STORE, &settings));
    TRY(ingest_read_body(r, STORE_BODY_BYTES_MAX, &body));
    if (!settings->store.configured) {
        count_event(SOURCE_STORE, OUTCOME_NO_SECRET);
        return fail(r, PROBLEM_BAD_REQUEST, "The project has no credentials for the app store.");
    }
    int rc = store_notification_read(
        r->task.arena, body, &settings->store, clock_wall_ms(), &notification, &reason);
    if (rc != 0)
        return refuse_notification(r, rc, reason);
    const struct event_row event = {
        .source = str_from(source_names[SOURCE_STORE]),
        .id = notification.event_id,
        .type = notification.type,
        .subtype = notification.subtype.len ? notification.subtype : STR_NONE,
        .payload = notification.document,
        .created_ms = notification.signed_ms,
        .supported = true,
    };
    return store_and_answer(r, SOURCE_STORE, &event);
}
