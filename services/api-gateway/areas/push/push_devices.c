/* /push/devices: devices that receive notifications. */
#include "areas/access/access.h"
#include "areas/push/push.h"
#include "base/codec.h"
#include "base/num.h"
#include "crypto/digest.h"
#include "http/query.h"
#include "keyset.h"
#include "limit.h"
#include "push/webpush_subscription.h"
#include "push_devices_sql.h"

enum { METADATA_BYTES = 4096, DEVICES_OF_USER = 100 };

struct device_in {
    struct in_str provider, token;
    struct in_json metadata;
    struct in_i64 user_id;
    struct in_str owner_entity_name;
    struct in_i64 owner_entity_id;
};

static const struct field in_fields[] = {
    {.name = "provider",
     FIELD_AT(struct device_in, provider),
     .type = FIELD_STR,
     .required = true,
     .values = push_providers},
    {.name = "token",
     FIELD_AT(struct device_in, token),
     .type = FIELD_STR,
     .required = true,
     .min = 1,
     .max = WEBPUSH_SUBSCRIPTION_BYTES,
     .write_only = true,
     .doc = "fcm: the registration token; web_push: the browser's subscription as JSON text",
     .example = "\"f81d4fae7dec11d0a76500a0c91e6bf6\""},
    {.name = "metadata",
     FIELD_AT(struct device_in, metadata),
     .type = FIELD_MAP,
     .nullable = true,
     .doc = "When left out, the stored metadata stays",
     .example = "{\"model\":\"Pixel 8\"}"},
    {.name = "user_id",
     FIELD_AT(struct device_in, user_id),
     .type = FIELD_I64,
     .nullable = true,
     .has_min = true,
     .min = 1,
     .doc = "The caller when left out; only administrators may name another user"},
    {.name = "owner_entity_name",
     FIELD_AT(struct device_in, owner_entity_name),
     .type = FIELD_STR,
     .nullable = true,
     .max = 48,
     .doc = "Entity of the record that the device belongs to (owner_entity_id). For administrators "
            "only; the device then belongs to a user only if user_id is given"},
    {.name = "owner_entity_id",
     FIELD_AT(struct device_in, owner_entity_id),
     .type = FIELD_I64,
     .nullable = true,
     .has_min = true,
     .min = 1},
};
static const struct schema in_schema = SCHEMA("PushDeviceRegister", struct device_in, in_fields);

static const struct field registered_fields[] = {
    {.name = "id", .type = FIELD_I64, .required = true},
    {.name = "registered_at", .type = FIELD_TIME, .required = true},
};
static const struct schema registered_schema =
    SCHEMA_OUT("PushDeviceRegistered", registered_fields);

static const struct field out_fields[] = {
    {.name = "id", .type = FIELD_I64, .required = true},
    {.name = "provider", .type = FIELD_STR, .required = true, .values = push_providers},
    {.name = "user_id", .type = FIELD_I64, .required = true, .nullable = true},
    {.name = "owner_entity_name", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "owner_entity_id", .type = FIELD_I64, .required = true, .nullable = true},
    {.name = "token_preview",
     .type = FIELD_STR,
     .required = true,
     .doc = "The token's first characters, or the address of a subscription's push service",
     .example = "\"f81d4fae...\""},
    {.name = "metadata", .type = FIELD_MAP, .required = true},
    {.name = "registered_at", .type = FIELD_TIME, .required = true},
    {.name = "last_seen_at",
     .type = FIELD_TIME,
     .required = true,
     .is_volatile = true,
     .doc = "When the device was registered last"},
    {.name = "unregistered_at",
     .type = FIELD_TIME,
     .required = true,
     .nullable = true,
     .is_volatile = true,
     .doc = "When the provider reported the token as dead; the device receives nothing until it "
            "is registered again"},
};
static const struct schema out_schema = SCHEMA_OUT("PushDevice", out_fields);

/* --- registering --- */

/* A provider's token: the text to store, and the hash that identifies the device. */
struct token {
    struct str text;
    uint8_t hash[DIGEST_SHA256_BYTES];
};

static int fcm_token(struct req *r, struct str text, struct token *ret_token)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] <= ' ' || text.ptr[i] > '~')
            return fail_field(
                r, "token", PROBLEM_PATTERN, "must be printable ASCII without spaces");
    ret_token->text = text;
    digest_sha256(text, ret_token->hash);
    return 0;
}

static const char *subscription_reason(int result)
{
    switch (result) {
    case WEBPUSH_BAD_JSON:
        return "must be a subscription as JSON text";
    case WEBPUSH_BAD_ENDPOINT:
        return "has an endpoint that is not an http or https URL";
    case WEBPUSH_BAD_POINT:
        return "has a keys.p256dh that is not a point of P-256";
    default:
        return "has a keys.auth that is not 16 bytes";
    }
}

/* Returns the subscription as it is stored: only the members that sends need. */
static struct str subscription_text(struct req *r, const struct webpush_subscription *from)
{
    struct arena *arena = r->task.arena;
    const struct str point = {(const char *)from->point, sizeof(from->point)};
    const struct str auth = {(const char *)from->auth, sizeof(from->auth)};
    struct strbuf text;
    struct jw w;

    strbuf_init(&text, arena, WEBPUSH_SUBSCRIPTION_BYTES);
    jw_init(&w, &text);
    jw_obj(&w);
    JW_STR(&w, "endpoint", from->endpoint);
    jw_lit(&w, "keys");
    jw_obj(&w);
    JW_STR(&w, "p256dh", codec_b64url(arena, point));
    JW_STR(&w, "auth", codec_b64url(arena, auth));
    jw_obj_end(&w);
    jw_obj_end(&w);
    return strbuf_view(&text);
}

static int web_push_token(struct req *r, struct str text, struct token *ret_token)
{
    struct webpush_subscription subscription;
    int rc = webpush_subscription_read(r->task.arena, text, &subscription);

    if (rc != 0)
        return rc < 0 ? rc : fail_field(r, "token", PROBLEM_PATTERN, "%s", subscription_reason(rc));
    ret_token->text = subscription_text(r, &subscription);
    digest_sha256(subscription.endpoint, ret_token->hash);
    return 0;
}

static int read_token(struct req *r, const struct device_in *in, struct token *ret_token)
{
    return str_is(in->provider.value, "fcm") ? fcm_token(r, in->token.value, ret_token)
                                             : web_push_token(r, in->token.value, ret_token);
}

struct owner {
    int64_t user_id, entity_id, record_id; /* 0: none */
};

static int device_read_owner(struct req *r, const struct device_in *in, struct owner *ret_owner)
{
    struct str name = in->owner_entity_name.value;
    bool is_admin = caller_is_admin(r->scope->caller);
    int64_t self = r->scope->caller->user_id;
    int64_t named = in->user_id.null ? 0 : in->user_id.value;
    int64_t record = in->owner_entity_id.null ? 0 : in->owner_entity_id.value;

    if (!is_admin && named && named != self)
        return fail(
            r, PROBLEM_FORBIDDEN, "Only administrators may register devices of other users.");
    if (!is_admin && (name.len || record))
        return fail(r, PROBLEM_FORBIDDEN, "Only administrators may register devices of records.");
    if (!name.len != !record)
        return fail_field(r,
                          name.len ? "owner_entity_id" : "owner_entity_name",
                          PROBLEM_REQUIRED,
                          "is required: owner_entity_name and owner_entity_id belong together");
    *ret_owner = (struct owner){named ? named : name.len ? 0 : self, 0, record};
    return name.len ? push_owner_entity(r, name, &ret_owner->entity_id) : 0;
}

int push_owner_entity(struct req *r, struct str name, int64_t *ret_id)
{
    const struct entity *entity = model_entity(r->scope->model, name);

    r->scope->may_be_stale = !entity;
    if (!entity)
        return fail_field(r, "owner_entity_name", PROBLEM_NOT_FOUND, "there is no such entity");
    *ret_id = entity->id;
    return 0;
}

/* co: Locks the record until the device is written, so that a concurrent deletion of the record
 * waits and then finds the device. */
AWAITS static int device_lock_owner(struct req *r, const struct owner *owner)
{
    bool found = true;

    if (owner->entity_id)
        TRY(access_find_record(r,
                               model_entity_by_id(r->scope->model, owner->entity_id),
                               owner->record_id,
                               true,
                               &found));
    return found ? 0
                 : fail_field(r, "owner_entity_id", PROBLEM_NOT_FOUND, "there is no such record");
}

static int device_read_metadata(struct req *r, const struct in_json *in, struct str *ret_text)
{
    *ret_text = STR_NONE;
    if (!in->set)
        return 0;
    *ret_text = in->null ? STR("{}") : jr_print(r->task.arena, in->value);
    if (ret_text->len > METADATA_BYTES)
        return fail_field(
            r, "metadata", PROBLEM_TOO_LONG, "must have at most %d bytes", METADATA_BYTES);
    return 0;
}

static const struct limit devices_limit = {"push_devices", "A user", "devices", DEVICES_OF_USER};

/* co: Runs after the request's device was written, so that a device that was already registered is
 * counted once. */
AWAITS static int device_check_limit(struct req *r, int64_t user_id)
{
    struct db_call own = db_call(
        SQL_PUSH_DEVICES_COUNT_OF_USER(.user_id = user_id, .most = (int64_t)DEVICES_OF_USER + 1));

    return user_id ? limit_check(r, &devices_limit, user_id, &own, 0) : 0;
}

AWAITS static int push_devices_register(struct req *r)
{
    struct device_in in;
    struct owner owner = {0};
    struct token token;
    struct str metadata;
    struct rows rows;

    TRY(req_json(r, &in_schema, &in));
    TRY(device_read_owner(r, &in, &owner));
    TRY(read_token(r, &in, &token));
    TRY(device_read_metadata(r, &in.metadata, &metadata));
    TRY(push_register_project(r));
    TRY(sql_begin(r));
    TRY(device_lock_owner(r, &owner));
    TRY(sql_all(r,
                &rows,
                SQL_PUSH_DEVICE_REGISTER(.provider = in.provider.value,
                                         .token = token.text,
                                         .token_hash = ((struct str){(const char *)token.hash,
                                                                     sizeof(token.hash)}),
                                         .user_id = some_id(owner.user_id),
                                         .owner_entity_id = some_id(owner.entity_id),
                                         .owner_record_id = some_id(owner.record_id),
                                         .metadata = metadata,
                                         .take = caller_is_admin(r->scope->caller))));
    if (!rows.count)
        return fail(r, PROBLEM_CONFLICT, "This token is registered for another user or a record.");
    TRY(device_check_limit(r, owner.user_id));
    TRY(sql_commit(r));
    reply_location(r, sql_push_device_register_row(&rows, 0).id);
    return reply_row(r, 201, &rows);
}

/* --- reading --- */

static const struct query_param list_query[] = {
    KEYSET_QUERY,
    {.name = "provider",
     .type = FIELD_STR,
     .values = push_providers,
     .doc = "Only devices of this provider"},
    {.name = "user_id",
     .type = FIELD_I64,
     .has_min = true,
     .min = 1,
     .doc = "Only devices of this user"},
    {.name = "owner_entity_name",
     .type = FIELD_STR,
     .doc = "Only devices of records of this entity"},
    {.name = "owner_entity_id",
     .type = FIELD_I64,
     .has_min = true,
     .min = 1,
     .doc = "Only devices of the record with this id"},
    {.name = "live",
     .type = FIELD_BOOL,
     .doc = "true: only devices whose token is not known to be dead; false: only devices whose "
            "token is dead"},
    {0},
};
static const struct query_param my_query[] = {
    KEYSET_QUERY,
    {.name = "provider",
     .type = FIELD_STR,
     .values = push_providers,
     .doc = "Only devices of this provider"},
    {.name = "live",
     .type = FIELD_BOOL,
     .doc = "true: only devices whose token is not known to be dead; false: only devices whose "
            "token is dead"},
    {0},
};

static const struct keyset_list all_devices = {
    &SQL_PUSH_DEVICES_DESC, &SQL_PUSH_DEVICES_ASC, &SQL_PUSH_DEVICES_COUNT, "id"};

/* Reads a number of the query; the route table has checked its form. */
static struct opt_i64 query_number(const struct query *query, const char *name)
{
    int64_t value = 0;

    return num_parse_i64(query_get(query, name), &value) ? some_i64(value) : NO_I64;
}

static struct opt_bool query_live(const struct query *query)
{
    struct str live = query_get(query, "live");

    return live.ptr ? some_bool(str_is(live, "true")) : NO_BOOL;
}

AWAITS static int push_devices_list(struct req *r)
{
    const struct query *query;
    struct opt_i64 entity_id = NO_I64;

    TRY(req_query(r, &query));
    struct str name = query_get(query, "owner_entity_name");
    if (name.ptr) {
        const struct entity *entity = model_entity(r->scope->model, name);
        entity_id = some_i64(entity ? entity->id : 0); /* 0 matches no device */
    }
    return keyset_reply(
        r,
        &all_devices,
        SQL_PUSH_DEVICES_ARGS(.provider = query_get(query, "provider"),
                              .user_id = query_number(query, "user_id"),
                              .owner_entity_id = entity_id,
                              .owner_record_id = query_number(query, "owner_entity_id"),
                              .live = query_live(query)));
}

AWAITS static int push_devices_my(struct req *r)
{
    const struct query *query;

    TRY(req_query(r, &query));
    return keyset_reply(r,
                        &all_devices,
                        SQL_PUSH_DEVICES_ARGS(.provider = query_get(query, "provider"),
                                              .user_id = some_i64(r->scope->caller->user_id),
                                              .owner_entity_id = NO_I64,
                                              .owner_record_id = NO_I64,
                                              .live = query_live(query)));
}

AWAITS static int push_devices_get(struct req *r)
{
    struct rows device;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(sql_one(r, &device, SQL_PUSH_DEVICE_GET(.id = id)));
    return reply_row(r, 200, &device);
}

/* --- deleting --- */

AWAITS static int push_devices_delete(struct req *r)
{
    struct rows rows;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(sql_begin(r));
    TRY(sql_one(r, &rows, SQL_PUSH_DEVICE_REMOVE(.id = id, .user_id = NO_I64)));
    TRY(gateway_commit(r, gateway_audit(r, "push_devices.delete", "push_device", id, STR_NONE)));
    return reply_empty(r, 204);
}

AWAITS static int device_of_user_guard(struct req *r)
{
    struct rows rows;
    int64_t id;

    TRY(req_id(r, "id", &id));
    return sql_one(
        r, &rows, SQL_PUSH_DEVICE_OF_USER(.id = id, .user_id = r->scope->caller->user_id));
}

AWAITS static int push_devices_delete_my(struct req *r)
{
    struct rows rows;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(sql_one(r,
                &rows,
                SQL_PUSH_DEVICE_REMOVE(.id = id, .user_id = some_i64(r->scope->caller->user_id))));
    return reply_empty(r, 204);
}

static const struct route push_devices_routes[] = {
    {
        .method = HTTP_POST_M,
        .path = "/push/devices",
        .id = "push_devices_register",
        .auth = AUTH_USER,
        .perm = PERM_SVC_TENANT_DEVICES_CREATE,
        .body = &in_schema,
        .body_max = 65536,
        .success = {201, &registered_schema},
        .extra_statuses = {409},
        .run = push_devices_register,
        .summary = "Register a device, or register it again",
        .doc = "A token that is already registered gets a new last_seen_at and becomes live again. "
               "409 when the token belongs to another user or to a record, unless the caller is an "
               "administrator, who takes the token over. 409 when the user has 100 devices.",
    },
    {
        .method = HTTP_GET_M,
        .path = "/push/devices",
        .id = "push_devices_list",
        .auth = AUTH_ADMIN,
        .query = list_query,
        .success = {200, &out_schema, .list = true},
        .run = push_devices_list,
        .summary = "List devices",
    },
    {
        .method = HTTP_GET_M,
        .path = "/push/devices/my",
        .id = "push_devices_my",
        .auth = AUTH_USER,
        .query = my_query,
        .success = {200, &out_schema, .list = true},
        .run = push_devices_my,
        .summary = "List the caller's own devices",
    },
    {
        .method = HTTP_DELETE_M,
        .path = "/push/devices/my/{id}",
        .id = "push_devices_delete_my",
        .auth = AUTH_USER,
        .success = {204},
        .extra_statuses = {404},
        .run = push_devices_delete_my,
        .guard = device_of_user_guard,
        .summary = "Delete one of the caller's devices, for example before signing out",
    },
    {
        .method = HTTP_GET_M,
        .path = "/push/devices/{id}",
        .id = "push_devices_get",
        .auth = AUTH_ADMIN,
        .success = {200, &out_schema},
        .extra_statuses = {404},
        .run = push_devices_get,
        .summary = "Get a device",
    },
    {
        .method = HTTP_DELETE_M,
        .path = "/push/devices/{id}",
        .id = "push_devices_delete",
        .auth = AUTH_ADMIN,
        .success = {204},
        .extra_statuses = {404},
        .run = push_devices_delete,
        .guard = push_devices_get,
        .summary = "Delete a device",
    },
};
ROUTES(push_devices, "Push");
