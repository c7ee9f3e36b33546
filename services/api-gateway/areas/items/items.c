/* /entities/{entity}/items: list, aggregate, get, create, update, delete, lock and unlock. */
#include "items/items.h"

AWAITS static int items_list(struct req *r)
{
    struct records_ctx *ctx = items_ctx(r);
    struct records_query query;

    TRY(items_query(r, ctx, &query));
    TRY(items_reply_error(r, ctx, records_list(ctx, r->scope->entity, &query, &r->body)));
    return reply_json(r, 200);
}

AWAITS static int items_aggregate(struct req *r)
{
    struct records_ctx *ctx = items_ctx(r);
    const struct query *query;

    TRY(req_query(r, &query));
    const struct records_aggregate groups = items_aggregate_read(r->task.arena, query);
    TRY(items_reply_error(r, ctx, records_aggregate(ctx, r->scope->entity, &groups, &r->body)));
    return reply_json(r, 200);
}

AWAITS static int items_get(struct req *r)
{
    struct records_ctx *ctx = items_ctx(r);
    struct records_query query = {.fields = STR_NONE};
    int64_t version;
    int64_t id;

    TRY(req_id(r, "id", &id));
    if (r->query.len)
        TRY(items_query(r, ctx, &query));
    TRY(items_reply_error(
        r, ctx, records_get(ctx, r->scope->entity, id, &query, &r->body, &version)));
    TRY(items_etag_or_304(r, version));
    return reply_json(r, 200);
}

AWAITS static int items_create(struct req *r)
{
    struct records_ctx *ctx = items_ctx(r);
    json_t *body;
    int64_t version;
    int64_t id;

    TRY(req_json_any(r, &body));
    TRY(items_reply_error(
        r, ctx, records_create(ctx, r->scope->entity, body, &r->body, &id, &version)));
    TRY(items_etag(r, version));
    reply_location(r, id);
    return reply_json(r, 201);
}

AWAITS static int items_update(struct req *r)
{
    struct records_ctx *ctx = items_ctx(r);
    struct items_match match;
    json_t *body;
    int64_t version;
    int64_t id;
    int rc;

    TRY(req_id(r, "id", &id));
    TRY(items_if_match(r, &match));
    TRY(req_json_any(r, &body));
    do
        rc = records_update(
            ctx, r->scope->entity, id, body, items_match_version(&match), &r->body, &version);
    while (items_match_next(&match, ctx, rc));
    TRY(items_reply_error(r, ctx, rc));
    TRY(items_etag(r, version));
    return reply_json(r, 200);
}

AWAITS static int items_delete(struct req *r)
{
    struct records_ctx *ctx = items_ctx(r);
    struct items_match match;
    int64_t id;
    int rc;

    TRY(req_id(r, "id", &id));
    TRY(items_if_match(r, &match));
    do
        rc = records_delete(ctx, r->scope->entity, id, items_match_version(&match));
    while (items_match_next(&match, ctx, rc));
    TRY(items_reply_error(r, ctx, rc));
    return reply_empty(r, 204);
}

struct lock_in {
    struct in_i64 ttl_seconds;
};

static const struct field lock_fields[] = {
    {.name = "ttl_seconds",
     FIELD_AT(struct lock_in, ttl_seconds),
     .type = FIELD_I64,
     .has_min = true,
     .min = 1,
     .has_max = true,
     .max = 3600,
     .doc = "For how many seconds the lock is held, 60 when left out",
     .example = "60"},
};
static const struct schema lock_schema = SCHEMA("LockCreate", struct lock_in, lock_fields);

static const struct field lock_out_fields[] = {
    {.name = "lock_token",
     .type = FIELD_STR,
     .required = true,
     .doc = "Send this token in the header X-Lock-Token"},
    {.name = "locked_by", .type = FIELD_I64, .required = true, .doc = "User who holds the lock"},
    {.name = "expires_at", .type = FIELD_TIME, .required = true},
};
static const struct schema lock_out_schema = SCHEMA_OUT("Lock", lock_out_fields);

AWAITS static int items_lock(struct req *r)
{
    struct records_ctx *ctx = items_ctx(r);
    struct lock_in in;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(req_json(r, &lock_schema, &in));
    TRY(items_reply_error(
        r,
        ctx,
        records_lock(
            ctx, r->scope->entity, id, in.ttl_seconds.set ? in.ttl_seconds.value : 60, &r->body)));
    return reply_json(r, 200);
}

AWAITS static int items_unlock(struct req *r)
{
    struct records_ctx *ctx = items_ctx(r);
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(items_reply_error(r, ctx, records_unlock(ctx, r->scope->entity, id)));
    return reply_empty(r, 204);
}

static const struct query_param aggregate_query[] = {
    {.name = "filter", .type = FIELD_STR, .deep = true, .doc = "As in the list of records"},
    {.name = "group_by", .type = FIELD_STR, .doc = "Up to three fields, separated by commas"},
    {.name = "count", .type = FIELD_STR, .doc = "* counts the records of each group"},
    {.name = "sum", .type = FIELD_STR, .doc = "Number fields, separated by commas"},
    {.name = "avg", .type = FIELD_STR, .doc = "Number fields, separated by commas"},
    {.name = "min", .type = FIELD_STR, .doc = "Fields, separated by commas"},
    {.name = "max", .type = FIELD_STR, .doc = "Fields, separated by commas"},
    {.name = "limit",
     .type = FIELD_I64,
     .has_min = true,
     .min = 1,
     .has_max = true,
     .max = 1000,
     .fallback = "1000",
     .doc = "Maximum number of groups"},
    {0},
};

static const struct field aggregate_fields[] = {
    {.name = "items", .type = FIELD_JSON, .required = true, .doc = "One object for each group"},
    {.name = "has_next_page",
     .type = FIELD_BOOL,
     .required = true,
     .doc = "Whether there are more groups than limit"},
};
static const struct schema aggregate_schema = SCHEMA_OUT("Aggregate", aggregate_fields);

static const struct route items_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = "/entities/{entity}/items",
        .id = "items_list",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_ENTITY_READ,
        .query = items_list_query,
        .headers = HEADER_GROUP_ID,
        .success = {200, &record_schema, .list = true},
        .extra_statuses = {404},
        .run = items_list,
        .undocumented_entity = true,
        .summary = "List the records of an entity",
    },
    {
        .method = HTTP_GET_M,
        .path = "/entities/{entity}/items/aggregate",
        .id = "items_aggregate",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_ENTITY_READ,
        .query = aggregate_query,
        .headers = HEADER_GROUP_ID,
        .success = {200, &aggregate_schema},
        .extra_statuses = {404},
        .run = items_aggregate,
        .class = CLASS_HEAVY,
        .summary = "Count, sum and average records by group",
    },
    {
        .method = HTTP_GET_M,
        .path = "/entities/{entity}/items/{id}",
        .id = "items_get",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_ENTITY_READ,
        .query = items_one_query,
        .headers = HEADER_GROUP_ID | HEADER_IF_NONE_MATCH,
        .success = {200, &record_schema},
        .extra_statuses = {304, 404},
        .run = items_get,
        .undocumented_entity = true,
        .summary = "Get one record",
    },
    {
        .method = HTTP_POST_M,
        .path = "/entities/{entity}/items",
        .id = "items_create",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_ENTITY_CREATE,
        .body = &record_schema,
        .exact_numbers = true,
        .success = {201, &record_schema},
        .extra_statuses = {404, 409},
        .run = items_create,
        .undocumented_entity = true,
        .summary = "Create a record",
        .doc = RECORD_BYTES_DOC,
    },
    {
        .method = HTTP_PUT_M,
        .path = "/entities/{entity}/items/{id}",
        .id = "items_update",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_ENTITY_UPDATE,
        .body = &record_schema,
        .exact_numbers = true,
        .headers = HEADER_IF_MATCH | HEADER_LOCK_TOKEN,
        .success = {200, &record_schema},
        .extra_statuses = {404, 409, 412, 423},
        .run = items_update,
        .undocumented_entity = true,
        .summary = "Change a record: fields that are left out keep their value",
        .doc = RECORD_BYTES_DOC,
    },
    {
        .method = HTTP_DELETE_M,
        .path = "/entities/{entity}/items/{id}",
        .id = "items_delete",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_ENTITY_DELETE,
        .headers = HEADER_IF_MATCH | HEADER_LOCK_TOKEN,
        .success = {204},
        .extra_statuses = {404, 409, 412, 423},
        .run = items_delete,
        .undocumented_entity = true,
        .summary = "Delete a record",
        .doc = "The setting on_delete of each relation decides about records that refer to the "
               "record: such records prevent the deletion (409), lose the reference, or are "
               "deleted too. The caller needs no permission for these records. 423 when another "
               "user has locked one of these records. While a workflow listens to their events, or "
               "another user has locked any record of their entities, at most 10,000 of these "
               "records are changed or deleted; 409 too_many_rows when there are more.",
    },
    {
        .method = HTTP_POST_M,
        .path = "/entities/{entity}/items/{id}/lock",
        .id = "items_lock",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_ENTITY_UPDATE,
        .body = &lock_schema,
        .body_optional = true,
        .headers = HEADER_LOCK_TOKEN,
        .success = {200, &lock_out_schema},
        .extra_statuses = {404, 423},
        .run = items_lock,
        .summary = "Lock a record, or extend the lock whose token is sent in X-Lock-Token",
    },
    {
        .method = HTTP_DELETE_M,
        .path = "/entities/{entity}/items/{id}/lock",
        .id = "items_unlock",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_ENTITY_UPDATE,
        .headers = HEADER_LOCK_TOKEN,
        .success = {204},
        .extra_statuses = {404, 409, 423},
        .run = items_unlock,
        .summary = "Unlock a record, as the holder with the token or as an administrator",
    },
};
ROUTES(items, "Records");
