/* /webhook-events: received events, their effects and errors, and applying an event again. */
#include "areas/payments/pay_common.h"
#include "bus/bus.h"
#include "http/query.h"
#include "keyset.h"
#include "webhook_events_sql.h"

static const char *const states[] = {
    "received", "applied", "ignored", "unsupported", "failed", "dead", NULL};
static const char *const sources[] = {"processor", "iap_store", NULL};

#define EVENT_MEMBERS                                                                              \
    {.name = "id", .type = FIELD_I64, .required = true},                                           \
        {.name = "source", .type = FIELD_STR, .required = true, .values = sources},                \
        {.name = "event_id",                                                                       \
         .type = FIELD_STR,                                                                        \
         .required = true,                                                                         \
         .doc = "The sender's id; an id of the app store begins with the environment"},            \
        {.name = "type", .type = FIELD_STR, .required = true},                                     \
        {.name = "subtype", .type = FIELD_STR, .required = true, .nullable = true},                \
        {.name = "api_version", .type = FIELD_STR, .required = true, .nullable = true},            \
        {.name = "account", .type = FIELD_STR, .required = true, .nullable = true},                \
        {.name = "state",                                                                          \
         .type = FIELD_STR,                                                                        \
         .required = true,                                                                         \
         .values = states,                                                                         \
         .doc = "failed: tried again at next_attempt_at; dead: not tried again"},                  \
        {.name = "attempts", .type = FIELD_I64, .required = true},                                 \
        {.name = "object",                                                                         \
         .type = FIELD_STR,                                                                        \
         .required = true,                                                                         \
         .nullable = true,                                                                         \
         .doc = "What the event is about",                                                         \
         .example = "\"payment:12\""},                                                             \
        {.name = "effect",                                                                         \
         .type = FIELD_STR,                                                                        \
         .required = true,                                                                         \
         .nullable = true,                                                                         \
         .doc = "What the event has changed"},                                                     \
        {.name = "error",                                                                          \
         .type = FIELD_STR,                                                                        \
         .required = true,                                                                         \
         .nullable = true,                                                                         \
         .doc = "Why the last attempt failed"},                                                    \
        {.name = "created_at",                                                                     \
         .type = FIELD_TIME,                                                                       \
         .required = true,                                                                         \
         .doc = "When the event was created, by the sender's clock"},                              \
        {.name = "received_at", .type = FIELD_TIME, .required = true},                             \
        {.name = "next_attempt_at", .type = FIELD_TIME, .required = true, .nullable = true},       \
    {                                                                                              \
        .name = "applied_at", .type = FIELD_TIME, .required = true, .nullable = true               \
    }

static const struct field listed_fields[] = {EVENT_MEMBERS};
static const struct field event_fields[] = {
    EVENT_MEMBERS,
    {.name = "payload",
     .type = FIELD_MAP,
     .required = true,
     .doc = "The event as it was received, without client_secret"},
};
static const struct schema listed_schema = SCHEMA_OUT("WebhookEventListed", listed_fields);
static const struct schema event_schema = SCHEMA_OUT("WebhookEvent", event_fields);

static const struct query_param events_query[] = {
    KEYSET_QUERY,
    {.name = "state", .type = FIELD_STR, .values = states, .doc = "Only events in this state"},
    {.name = "source", .type = FIELD_STR, .values = sources, .doc = "Only events of this sender"},
    {.name = "type", .type = FIELD_STR, .doc = "Only events of this type"},
    {0},
};

static const struct keyset_list webhook_events_keyset = {
    &SQL_WEBHOOK_EVENTS_DESC, &SQL_WEBHOOK_EVENTS_ASC, &SQL_WEBHOOK_EVENTS_COUNT, "id"};

AWAITS static int webhook_events_list(struct req *r)
{
    const struct query *query;

    TRY(req_query(r, &query));
    return keyset_reply(r,
                        &webhook_events_keyset,
                        SQL_WEBHOOK_EVENTS_ARGS(.state = query_get(query, "state"),
                                                .source = query_get(query, "source"),
                                                .type = query_get(query, "type")));
}

AWAITS static int webhook_events_get(struct req *r)
{
    struct rows event;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(sql_one(r, &event, SQL_WEBHOOK_EVENT_GET(.id = id)));
    return reply_row(r, 200, &event);
}

/* Accepts any state: applying an event again does not change data that is up to date. */
AWAITS static int webhook_events_replay(struct req *r)
{
    struct rows event;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(sql_begin(r));
    TRY(sql_one(r, &event, SQL_WEBHOOK_EVENT_REPLAY(.id = id)));
    TRY(gateway_commit(r,
                       gateway_audit(r, "webhook_events.replay", "webhook_event", id, STR_NONE)));
    bus_notify(directory_bus(gateway_directory()),
               BUS_PAY,
               &(struct bus_notification){.project = r->scope->project->number,
                                          .partition = r->scope->project->partition,
                                          .kind = "payment.received",
                                          .row_id = id});
    return reply_row(r, 202, &event);
}

static const struct route webhook_events_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = PAYMENTS_BASE "/webhook-events",
        .id = "webhook_events_list",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_WEBHOOK_EVENTS_READ,
        .query = events_query,
        .success = {200, &listed_schema, .list = true},
        .run = webhook_events_list,
        .summary = "List events received from the processor and the app store",
    },
    {
        .method = HTTP_GET_M,
        .path = PAYMENTS_BASE "/webhook-events/{id}",
        .id = "webhook_events_get",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_WEBHOOK_EVENTS_READ,
        .success = {200, &event_schema},
        .extra_statuses = {404},
        .run = webhook_events_get,
        .summary = "Get a received event with its payload",
    },
    {
        .method = HTTP_POST_M,
        .path = PAYMENTS_BASE "/webhook-events/{id}/replay",
        .id = "webhook_events_replay",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_WEBHOOK_EVENTS_UPDATE,
        .success = {202, &listed_schema},
        .extra_statuses = {404},
        .run = webhook_events_replay,
        .guard = webhook_events_get,
        .summary = "Apply a received event again",
    },
};
ROUTES(webhook_events, "Payments");
