/* /realtime: streams of changes of records. */
#include "areas/live/hub.h"
#include "items/items.h"
#include "stages/realtime_ticket.h"

#include "base/num.h"
#include "http/query.h"

#define ENTITIES_MAX 20
#define RETRY_AFTER  "5"

/* --- the query --- */

struct listened_entities {
    const struct entity *entities[ENTITIES_MAX];
    size_t count;
};

static bool entities_contain(const struct listened_entities *wishes, const struct entity *entity)
{
    for (size_t i = 0; i < wishes->count; i++)
        if (wishes->entities[i] == entity)
            return true;
    return false;
}

/* Refuses a missing and a forbidden entity differently, as the entity's own routes do. */
static int read_entity_name(struct req *r, struct str name, struct listened_entities *wishes)
{
    const struct entity *entity = model_entity(r->scope->model, name);

    if (!entity)
        return fail(r,
                    PROBLEM_INVALID_QUERY,
                    "Query parameter 'entities': there is no entity '%.*s'.",
                    STR_ARG(name));
    if (!caller_can_entity(r->scope->caller, entity->id, ACT_READ))
        return fail(
            r, PROBLEM_FORBIDDEN, "This needs the permission %.*s:read.", STR_ARG(entity->name));
    if (entities_contain(wishes, entity))
        return 0;
    if (wishes->count == ENTITIES_MAX)
        return fail(r,
                    PROBLEM_INVALID_QUERY,
                    "Query parameter 'entities' names more than %d entities.",
                    ENTITIES_MAX);
    wishes->entities[wishes->count++] = entity;
    return 0;
}

static int read_work(struct req *r, const struct query *query, unsigned *ret_work)
{
    *ret_work = 0;
    for (int work = 0; work < HUB_WORKS; work++) {
        if (!str_is(query_get(query, hub_work_names[work]), "true"))
            continue;
        if (!hub_work_is_allowed(r->scope->caller, (enum hub_work)work))
            return fail(r, PROBLEM_FORBIDDEN, "%s", hub_work_refusal((enum hub_work)work));
        *ret_work |= 1U << work;
    }
    return 0;
}

/* Reads the filters of audit log entries, which mean the same as in GET /audit-log. */
static int
read_audit(struct req *r, const struct query *query, unsigned work, struct hub_audit *ret_audit)
{
    struct str actor = query_get(query, "audit_actor");
    struct str target = query_get(query, "audit_target");
    struct hub_audit audit = {
        .kind = query_get(query, "audit_kind"),
        .action = query_get(query, "audit_action"),
        .target_id = target,
    };

    if (target.ptr)
        audit.target = str_split(&audit.target_id, '/');
    if (actor.ptr && !num_parse_i64(actor, &audit.actor))
        return fail(r, PROBLEM_INVALID_QUERY, NULL);
    bool any = actor.len > 0 || target.len > 0 || audit.kind.len > 0 || audit.action.len > 0;
    if (any && !(work & 1U << HUB_AUDIT))
        return fail(r, PROBLEM_INVALID_QUERY, "Query parameters 'audit_...' need audit=true.");
    *ret_audit = audit;
    return 0;
}

static int read_entities(struct req *r,
                         const struct query *query,
                         unsigned work,
                         struct listened_entities *wishes)
{
    struct str names = query_get(query, "entities");

    if (names.len == 0 && work != 0)
        return 0;
    if (names.len == 0)
        return fail(r,
                    PROBLEM_INVALID_QUERY,
                    "Query parameter 'entities' is required: the entities to listen to, separated "
                    "by commas.");
    if (!caller_has_api_access(r->scope->caller))
        return fail(r, PROBLEM_API_ACCESS_DISABLED, NULL);
    while (names.ptr)
        TRY(read_entity_name(r, str_trim(str_split(&names, ',')), wishes));
    return 0;
}

static int realtime_check_filter(struct req *r,
                                 const struct records_filter *filter,
                                 const struct listened_entities *wishes)
{
    struct records_ctx *ctx = items_ctx(r);

    for (size_t i = 0; i < wishes->count; i++)
        TRY(items_reply_error(r, ctx, changes_check_filter(ctx, wishes->entities[i], filter)));
    return 0;
}

static const char *const realtime_actors[] = {"user", "api_key", "operator", "system", NULL};

static const struct query_param realtime_query[] = {
    {.name = "entities",
     .type = FIELD_STR,
     .doc = "Entities whose changes are sent, separated by commas"},
    {.name = "filter",
     .type = FIELD_STR,
     .deep = true,
     .doc = "As in lists, for each of the entities: a record that begins to match is sent as "
            "created, one that no longer matches as deleted"},
    {.name = "jobs", .type = FIELD_BOOL, .fallback = "false", .doc = "Include jobs of workflows"},
    {.name = "tasks",
     .type = FIELD_BOOL,
     .fallback = "false",
     .doc = "Include imports and other tasks: the caller's own, or all of them for administrators"},
    {.name = "sends",
     .type = FIELD_BOOL,
     .fallback = "false",
     .doc = "Include sends of notifications (administrators)"},
    {.name = "indexes",
     .type = FIELD_BOOL,
     .fallback = "false",
     .doc = "Include the states of search indexes (administrators)"},
    {.name = "audit",
     .type = FIELD_BOOL,
     .fallback = "false",
     .doc = "Include entries of the audit log (svc_audit_log:read)"},
    {.name = "audit_actor",
     .type = FIELD_I64,
     .has_min = true,
     .min = 1,
     .doc = "Only audit entries of the user or key with this id"},
    {.name = "audit_kind",
     .type = FIELD_STR,
     .values = realtime_actors,
     .doc = "Only audit entries of actors of this kind"},
    {.name = "audit_action",
     .type = FIELD_STR,
     .doc = "Only audit entries of this action, such as users.update"},
    {.name = "audit_target",
     .type = FIELD_STR,
     .doc = "Only audit entries of this kind of target, such as user, or of one target, such as "
            "user/5"},
    {.name = "last_event_id",
     .type = FIELD_STR,
     .doc = "The same as the header Last-Event-ID: the id of the last event that was received"},
    {.name = "ticket",
     .type = FIELD_STR,
     .doc = "From POST /realtime/ticket, in place of a header with credentials"},
    {0},
};

static struct str read_position(struct req *r, const struct query *query)
{
    struct str header = req_header(r, "last-event-id");

    return header.len > 0 ? header : query_get(query, "last_event_id");
}

AWAITS static int realtime_listen(struct req *r)
{
    struct listened_entities wishes = {.count = 0};
    struct hub_audit audit;
    const struct query *query;
    struct str begin;
    int64_t members;
    unsigned work;

    TRY(req_query(r, &query));
    TRY(read_work(r, query, &work));
    TRY(read_audit(r, query, work, &audit));
    TRY(read_entities(r, query, work, &wishes));
    const struct records_filter filter = items_filter_read(r->task.arena, query);
    TRY(realtime_check_filter(r, &filter, &wishes));
    if (r->method == HTTP_HEAD_M) {
        r->content_type = STR("text/event-stream");
        return reply_empty(r, 200);
    }
    TRY(hub_group_members_hash(r, &members));
    TRY(hub_begin_logging(r, &begin));
    struct share *share = hub_acquire_slot(r);
    if (!share) {
        resp_header(r, "Retry-After", STR(RETRY_AFTER));
        return fail(
            r,
            PROBLEM_TOO_MANY_REQUESTS_IN_FLIGHT,
            "The project has as many streams as it may have at the moment; try again later.");
    }
    return hub_subscribe(r,
                         &(struct hub_options){
                             .entities = wishes.entities,
                             .count = wishes.count,
                             .filter = &filter,
                             .work = work,
                             .audit = audit,
                             .position = read_position(r, query),
                             .begin_position = begin,
                             .members = members,
                         },
                         share);
}

/* --- tickets --- */

static const struct field ticket_fields[] = {
    {.name = "ticket", .type = FIELD_STR, .required = true, .example = "\"q0x3…\""},
    {.name = "expires_at", .type = FIELD_TIME, .required = true},
};
static const struct schema ticket_schema = SCHEMA_OUT("RealtimeTicket", ticket_fields);

AWAITS static int realtime_ticket(struct req *r)
{
    struct str ticket;
    int64_t expires_ms;
    struct jw w;

    TRY(realtime_ticket_create(r, &ticket, &expires_ms));
    w = resp_json(r);
    jw_obj(&w);
    JW_STR(&w, "ticket", ticket);
    jw_lit(&w, "expires_at");
    jw_time(&w, expires_ms);
    jw_obj_end(&w);
    return reply_json(r, 200);
}

static const struct route realtime_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = "/realtime",
        .id = "realtime_listen",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_REALTIME_READ,
        .takes_ticket = true,
        .query = realtime_query,
        .headers = HEADER_GROUP_ID,
        .success = {200, NULL, .content_type = "text/event-stream"},
        .run = realtime_listen,
        .summary = "Listen to changes of records",
        .doc =
            "Server-sent events: created and updated with {\"entity\", \"id\", \"record\"}, "
            "deleted with {\"entity\", \"id\"}, each as the caller may see the record. A record "
            "that becomes visible or invisible to the caller by a change or a grant is sent as "
            "created or deleted. Every change after the head of the response is sent, and maybe "
            "a few earlier ones. hello says that all earlier changes have been sent. reset "
            "{\"entity\", \"reason\"} says that the records (of that entity, or all) have to be "
            "read again. closed says that the caller may no longer listen to an entity, end that "
            "it may no longer listen at all. With Last-Event-ID the stream continues after that "
            "event, for an hour; when the caller sees other records or fields than at that event, "
            "the stream begins with a reset. Relations to many records of which some may be hidden "
            "from the caller are left out of records. job, task, send and index report long work "
            "from hello on: each in its current state, at most twice a second. audit reports "
            "each new entry of the audit log, in the form of GET /audit-log, before the changes "
            "that came with it; Last-Event-ID covers entries as it covers changes.",
    },
    {
        .method = HTTP_POST_M,
        .path = "/realtime/ticket",
        .id = "realtime_ticket",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_REALTIME_READ,
        .headers = HEADER_GROUP_ID,
        .success = {200, &ticket_schema},
        .run = realtime_ticket,
        .summary = "Create a ticket for one stream",
        .doc = "For EventSource, which cannot send a header: GET /realtime?ticket= works once, "
               "within 30 seconds, with the rights of the caller that created the ticket.",
    },
};
ROUTES(realtime, "Live changes");
