/* /api-keys: credentials for servers. A key never has more rights than its creator, now or later.
 * Users create keys; a key cannot create one. */
#include "api_keys_sql.h"
#include "areas/access/access.h"
#include "base/codec.h"
#include "base/rand.h"
#include "crypto/digest.h"

#define KEY_RANDOM_BYTES 32
#define KEY_PREFIX_CHARS 10 /* "ak_" and seven more: enough to tell keys apart in a list */

struct api_key_in {
    struct in_str name;
    struct in_strs permissions;
    struct in_i64 expires_in_days;
};

static const struct field api_key_fields[] = {
    {.name = "name",
     FIELD_AT(struct api_key_in, name),
     .type = FIELD_STR,
     .required = true,
     .min = 1,
     .max = 100,
     .example = "\"Nightly sync\""},
    {.name = "permissions",
     FIELD_AT(struct api_key_in, permissions),
     .type = FIELD_STRS,
     .required = true,
     .max = 5000,
     .doc =
         "Permissions that the caller does not hold are left out and listed in dropped_permissions",
     .example = "[\"orders:read\"]"},
    {.name = "expires_in_days",
     FIELD_AT(struct api_key_in, expires_in_days),
     .type = FIELD_I64,
     .has_min = true,
     .min = 1,
     .has_max = true,
     .max = 3650,
     .doc = "90 when left out",
     .example = "90"},
};
static const struct schema api_key_schema =
    SCHEMA("ApiKeyCreate", struct api_key_in, api_key_fields);

static const struct field api_key_out_fields[] = {
    {.name = "id", .type = FIELD_I64, .required = true},
    {.name = "name", .type = FIELD_STR, .required = true},
    {.name = "prefix",
     .type = FIELD_STR,
     .required = true,
     .doc = "The first characters of the key"},
    {.name = "user_id", .type = FIELD_I64, .required = true, .doc = "The user who created the key"},
    {.name = "permissions", .type = FIELD_STRS, .required = true},
    {.name = "expires_at", .type = FIELD_TIME, .required = true},
    {.name = "last_used_at",
     .type = FIELD_TIME,
     .required = true,
     .nullable = true,
     .is_volatile = true},
    {.name = "created_at", .type = FIELD_TIME, .required = true},
};
static const struct schema api_key_out_schema = SCHEMA_OUT("ApiKey", api_key_out_fields);

static const struct field api_key_created_fields[] = {
    {.name = "id", .type = FIELD_I64, .required = true},
    {.name = "name", .type = FIELD_STR, .required = true},
    {.name = "key", .type = FIELD_STR, .required = true, .doc = "Shown only once"},
    {.name = "prefix", .type = FIELD_STR, .required = true},
    {.name = "permissions", .type = FIELD_STRS, .required = true},
    {.name = "dropped_permissions", .type = FIELD_STRS, .required = true},
    {.name = "expires_at", .type = FIELD_TIME, .required = true},
    {.name = "created_at", .type = FIELD_TIME, .required = true},
};
static const struct schema api_key_created_schema =
    SCHEMA_OUT("ApiKeyCreated", api_key_created_fields);

AWAITS static int api_keys_list(struct req *r)
{
    return reply_page(r, "id", SQL_API_KEYS_LIST());
}

AWAITS static int api_keys_get(struct req *r)
{
    struct rows key;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(sql_one(r, &key, SQL_API_KEY_GET(.id = id)));
    return reply_row(r, 200, &key);
}

AWAITS static int find_creator(struct req *r, int64_t *ret_id, int64_t *ret_creator_id)
{
    struct rows rows;

    TRY(req_id(r, "id", ret_id));
    TRY(sql_one(r, &rows, SQL_API_KEY_CREATOR(.id = *ret_id)));
    *ret_creator_id = sql_api_key_creator_row(&rows, 0).user_id;
    return 0;
}

static void put_names(struct jw *w, const char *key, const struct str *names, size_t count)
{
    jw_lit(w, key);
    jw_arr(w);
    for (size_t i = 0; i < count; i++)
        jw_str(w, names[i]);
    jw_arr_end(w);
}

/* A new value of a key, and the parts of it that are stored. */
struct key_value {
    struct str text;
    struct str prefix;
    struct str hash;
};

static struct key_value key_value_new(struct arena *arena)
{
    uint8_t *hash = arena_alloc(arena, DIGEST_SHA256_BYTES);
    char random[KEY_RANDOM_BYTES];

    rand_bytes(random, sizeof(random));
    struct str text = codec_b64url(arena, (struct str){random, sizeof(random)});
    text = arena_printf(arena, "ak_%.*s", STR_ARG(text));
    digest_sha256(text, hash);
    return (struct key_value){
        .text = text,
        .prefix = {text.ptr, KEY_PREFIX_CHARS},
        .hash = {(const char *)hash, DIGEST_SHA256_BYTES},
    };
}

static int reply_key(struct req *r,
                     const struct api_key_in *in,
                     const struct key_value *key,
                     const struct access_list *permissions,
                     const struct rows *stored)
{
    struct jw w = resp_json(r);

    jw_obj(&w);
    JW_I64(&w, "id", sql_api_key_add_row(stored, 0).id);
    JW_STR(&w, "name", in->name.value);
    JW_STR(&w, "key", key->text);
    JW_STR(&w, "prefix", key->prefix);
    put_names(&w, "permissions", permissions->names, permissions->count);
    put_names(&w, "dropped_permissions", permissions->refused, permissions->refused_count);
    jw_lit(&w, "expires_at");
    jw_time(&w, sql_api_key_add_row(stored, 0).expires_at);
    jw_lit(&w, "created_at");
    jw_time(&w, sql_api_key_add_row(stored, 0).created_at);
    jw_obj_end(&w);
    reply_location(r, sql_api_key_add_row(stored, 0).id);
    return reply_json(r, 201);
}

/* Returns the detail of an audit row: the permissions of the key, and the names that were
 * dropped. */
static struct str permissions_detail(struct req *r, const struct access_list *permissions)
{
    struct strbuf text;
    struct jw w;

    strbuf_init(&text, r->task.arena, req_json_max(r));
    jw_init(&w, &text);
    jw_obj(&w);
    put_names(&w, "permissions", permissions->names, permissions->count);
    jw_obj_end(&w);
    return strbuf_view(&text);
}

AWAITS static int api_keys_create(struct req *r)
{
    struct access_list permissions;
    struct api_key_in in;
    struct rows stored;
    int64_t id;

    TRY(req_json(r, &api_key_schema, &in));
    TRY(access_resolve(r, &in.permissions, &permissions));
    const struct key_value key = key_value_new(r->task.arena);
    TRY(sql_begin(r));
    TRY(sql_one(r,
                &stored,
                SQL_API_KEY_ADD(.user_id = r->scope->caller->user_id,
                                .name = in.name.value,
                                .prefix = key.prefix,
                                .hash = key.hash,
                                .days = in.expires_in_days.set ? in.expires_in_days.value : 90)));
    id = sql_api_key_add_row(&stored, 0).id;
    struct db_call calls[] = {
        db_call(SQL_API_KEY_PERMISSIONS_ADD(.api_key_id = id,
                                            .entity_ids =
                                                sql_i64s(permissions.entity_ids, permissions.count),
                                            .permissions = sql_strs(permissions.permissions,
                                                                    permissions.count))),
        gateway_audit(r, "api_keys.create", "api_key", id, permissions_detail(r, &permissions)),
    };
    TRY(sql_batch(r, calls, ARRAY_LEN(calls)));
    TRY(sql_commit(r));
    return reply_key(r, &in, &key, &permissions, &stored);
}

/* A user may delete the keys that the user created, a key may delete itself, an administrator may
 * delete any key. The permission svc_api_keys:delete does not extend to keys that other users
 * created. */
static int check_can_delete(struct req *r, int64_t id, int64_t creator_id)
{
    const struct caller *caller = r->scope->caller;
    bool own = caller->kind == CALLER_KEY ? id == caller->key_id : creator_id == caller->user_id;

    if (own || caller_is_admin(caller))
        return 0;
    return fail(r, PROBLEM_FORBIDDEN, "Only its creator or an administrator may delete this key.");
}

AWAITS static int api_key_delete_guard(struct req *r)
{
    int64_t creator_id;
    int64_t id;

    TRY(find_creator(r, &id, &creator_id));
    return check_can_delete(r, id, creator_id);
}

AWAITS static int api_keys_delete(struct req *r)
{
    struct rows removed;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(sql_begin(r));
    TRY(sql_one(r, &removed, SQL_API_KEY_REMOVE(.id = id)));
    TRY(check_can_delete(r, id, sql_api_key_remove_row(&removed, 0).user_id));
    TRY(gateway_commit(r, gateway_audit(r, "api_keys.delete", "api_key", id, STR_NONE)));
    gateway_raise_epoch(r);
    return reply_empty(r, 204);
}

/* --- rotation --- */

struct rotate_in {
    struct in_i64 grace_seconds, expires_in_days;
};
static const struct field rotate_fields[] = {
    {.name = "grace_seconds",
     FIELD_AT(struct rotate_in, grace_seconds),
     .type = FIELD_I64,
     .has_min = true,
     .min = 0,
     .has_max = true,
     .max = 30 * 86400,
     .doc = "Seconds for which the current value still works, and earlier values at most; 0 when "
            "left out",
     .example = "3600"},
    {.name = "expires_in_days",
     FIELD_AT(struct rotate_in, expires_in_days),
     .type = FIELD_I64,
     .has_min = true,
     .min = 1,
     .has_max = true,
     .max = 3650,
     .doc = "Counted from now; when left out, the expiry does not change"},
};
static const struct schema rotate_schema = SCHEMA("ApiKeyRotate", struct rotate_in, rotate_fields);

static const struct field rotated_fields[] = {
    {.name = "id", .type = FIELD_I64, .required = true},
    {.name = "name", .type = FIELD_STR, .required = true},
    {.name = "key", .type = FIELD_STR, .required = true, .doc = "The new value, shown only once"},
    {.name = "prefix", .type = FIELD_STR, .required = true},
    {.name = "expires_at", .type = FIELD_TIME, .required = true},
    {.name = "former_ends_at",
     .type = FIELD_TIME,
     .required = true,
     .doc = "When the previous value stops working"},
    {.name = "created_at", .type = FIELD_TIME, .required = true},
};
static const struct schema rotated_schema = SCHEMA_OUT("ApiKeyRotated", rotated_fields);

static int reply_rotated(struct req *r,
                         const struct key_value *value,
                         const struct sql_api_key_rotate_row *key)
{
    struct jw w = resp_json(r);

    jw_obj(&w);
    JW_I64(&w, "id", key->id);
    JW_STR(&w, "name", key->name);
    JW_STR(&w, "key", value->text);
    JW_STR(&w, "prefix", value->prefix);
    jw_lit(&w, "expires_at");
    jw_time(&w, key->expires_at);
    jw_lit(&w, "former_ends_at");
    jw_time(&w, key->former_ends_at);
    jw_lit(&w, "created_at");
    jw_time(&w, key->created_at);
    jw_obj_end(&w);
    return reply_json(r, 200);
}

/* The holder of the key's value acts as the key's creator, so only the creator may get a new
 * value. */
static int check_can_rotate(struct req *r, int64_t creator_id)
{
    if (creator_id == r->scope->caller->user_id)
        return 0;
    return fail(r, PROBLEM_FORBIDDEN, "Only its creator may rotate this key.");
}

AWAITS static int api_key_rotate_guard(struct req *r)
{
    int64_t creator_id;
    int64_t id;

    TRY(find_creator(r, &id, &creator_id));
    return check_can_rotate(r, creator_id);
}

AWAITS static int lock_own_key(struct req *r, int64_t id, const struct rotate_in *in)
{
    struct rows locked;

    TRY(sql_one(r, &locked, SQL_API_KEY_LOCK(.id = id)));
    const struct sql_api_key_lock_row key = sql_api_key_lock_row(&locked, 0);
    TRY(check_can_rotate(r, key.user_id));
    if (key.ended && !in->expires_in_days.set)
        return fail(r, PROBLEM_CONFLICT, "The key has expired; send expires_in_days.");
    return 0;
}

AWAITS static int api_keys_rotate(struct req *r)
{
    const struct key_value value = key_value_new(r->task.arena);
    struct rotate_in in;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(req_json(r, &rotate_schema, &in));
    const int64_t grace = in.grace_seconds.value;
    TRY(sql_begin(r));
    TRY(lock_own_key(r, id, &in));
    struct db_call calls[] = {
        db_call(SQL_API_KEY_FORMER_END(.id = id, .grace_seconds = grace)),
        db_call(SQL_API_KEY_FORMER_SWEEP(.id = id)),
        db_call(SQL_API_KEY_FORMER_ADD(.id = id, .grace_seconds = grace)),
        db_call(SQL_API_KEY_ROTATE(.id = id,
                                   .hash = value.hash,
                                   .prefix = value.prefix,
                                   .days = in.expires_in_days.set
                                               ? some_i64(in.expires_in_days.value)
                                               : NO_I64,
                                   .grace_seconds = grace)),
        gateway_audit(r, "api_keys.rotate", "api_key", id, STR_NONE),
    };
    TRY(sql_batch(r, calls, ARRAY_LEN(calls)));
    const struct sql_api_key_rotate_row rotated = sql_api_key_rotate_row(&calls[3].rows, 0);
    TRY(sql_commit(r));
    gateway_raise_epoch(r);
    return reply_rotated(r, &value, &rotated);
}

static const struct route api_keys_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = "/api-keys",
        .id = "api_keys_list",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_API_KEYS_READ,
        .query = page_query,
        .success = {200, &api_key_out_schema, .list = true},
        .run = api_keys_list,
        .summary = "List API keys, without their values",
    },
    {
        .method = HTTP_GET_M,
        .path = "/api-keys/{id}",
        .id = "api_keys_get",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_API_KEYS_READ,
        .success = {200, &api_key_out_schema},
        .run = api_keys_get,
        .summary = "Get an API key, without its value",
    },
    {
        .method = HTTP_POST_M,
        .path = "/api-keys",
        .id = "api_keys_create",
        .auth = AUTH_USER,
        .perm = PERM_SVC_API_KEYS_CREATE,
        .body = &api_key_schema,
        .success = {201, &api_key_created_schema},
        .run = api_keys_create,
        .summary = "Create an API key; its value is shown only once",
        .doc = "Only users create keys. A key cannot create another key, which could outlive it.",
    },
    {
        .method = HTTP_POST_M,
        .path = "/api-keys/{id}/rotate",
        .id = "api_keys_rotate",
        .auth = AUTH_USER,
        .perm = PERM_SVC_API_KEYS_UPDATE,
        .body = &rotate_schema,
        .body_optional = true,
        .success = {200, &rotated_schema},
        .extra_statuses = {404, 409},
        .run = api_keys_rotate,
        .guard = api_key_rotate_guard,
        .summary = "Give an API key a new value, shown only once",
        .doc = "Only the key's creator may do this. The previous value works for another "
               "grace_seconds, so that servers can be switched one by one.",
    },
    {
        .method = HTTP_DELETE_M,
        .path = "/api-keys/{id}",
        .id = "api_keys_delete",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_API_KEYS_DELETE,
        .success = {204},
        .extra_statuses = {404},
        .run = api_keys_delete,
        .guard = api_key_delete_guard,
        .summary = "Delete an API key: it stops working within a second",
        .doc = "A user may delete the keys that the user created, an administrator any key. A key "
               "may delete itself.",
    },
};
ROUTES(api_keys, "API keys");
