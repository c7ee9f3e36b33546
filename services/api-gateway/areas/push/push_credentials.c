/* /push/credentials: the project's credentials of push providers, and the source of FCM's tokens.
 */
#include "areas/push/push.h"
#include "crypto/ec.h"
#include "keys/sealed_aad.h"
#include "push/fcm_account.h"
#include "push/vapid.h"
#include "push_credentials_sql.h"

struct fcm_in {
    struct in_str service_account_json;
};
struct web_push_in {
    struct in_str subject;
};
struct source_in {
    struct in_str kind, entity, token_field, owner_user_field;
};

static const struct field fcm_fields[] = {
    {.name = "service_account_json",
     FIELD_AT(struct fcm_in, service_account_json),
     .type = FIELD_STR,
     .required = true,
     .write_only = true,
     .max = FCM_ACCOUNT_BYTES_MAX,
     .doc = "The key file of a service account, as downloaded from Firebase. token_uri is not used",
     .example = "\"{\\\"type\\\":\\\"service_account\\\"}\""},
};
static const struct schema fcm_schema = SCHEMA("PushFcmCredentials", struct fcm_in, fcm_fields);

static const struct field web_push_fields[] = {
    {.name = "subject",
     FIELD_AT(struct web_push_in, subject),
     .type = FIELD_STR,
     .required = true,
     .max = VAPID_SUBJECT_MAX,
     .doc = "Contact address of the sender, for push services: mailto:... or https://...",
     .example = "\"mailto:push@example.org\""},
};
static const struct schema web_push_schema =
    SCHEMA("PushWebPushCredentials", struct web_push_in, web_push_fields);

static const char *const source_kinds[] = {"entity_field", NULL};
static const struct field source_fields[] = {
    {.name = "kind",
     FIELD_AT(struct source_in, kind),
     .type = FIELD_STR,
     .nullable = true,
     .values = source_kinds},
    {.name = "entity",
     FIELD_AT(struct source_in, entity),
     .type = FIELD_STR,
     .nullable = true,
     .max = 48,
     .example = "\"phones\""},
    {.name = "token_field",
     FIELD_AT(struct source_in, token_field),
     .type = FIELD_STR,
     .nullable = true,
     .max = 48,
     .doc = "A varchar or text field of the entity, with the registration token",
     .example = "\"token\""},
    {.name = "owner_user_field",
     FIELD_AT(struct source_in, owner_user_field),
     .type = FIELD_STR,
     .nullable = true,
     .max = 48,
     .doc = "An integer field of the entity, with the id of the user who owns the device",
     .example = "\"owner\""},
};
static const struct schema source_schema =
    SCHEMA("PushDeviceSource", struct source_in, source_fields);

static const struct field out_fields[] = {
    {.name = "provider", .type = FIELD_STR, .required = true, .values = push_providers},
    {.name = "is_configured", .type = FIELD_BOOL, .required = true},
    {.name = "is_active",
     .type = FIELD_BOOL,
     .required = true,
     .doc = "Whether notifications are sent through this provider"},
    {.name = "project_id",
     .type = FIELD_STR,
     .required = true,
     .nullable = true,
     .doc = "fcm: project of the service account"},
    {.name = "client_email",
     .type = FIELD_STR,
     .required = true,
     .nullable = true,
     .doc = "fcm: email address of the service account"},
    {.name = "subject",
     .type = FIELD_STR,
     .required = true,
     .nullable = true,
     .doc = "web_push: contact address of the sender"},
    {.name = "public_key",
     .type = FIELD_STR,
     .required = true,
     .nullable = true,
     .doc = "web_push: applicationServerKey for subscriptions, as in GET /push/vapid-public-key"},
    {.name = "device_source",
     .type = FIELD_OBJ,
     .required = true,
     .nullable = true,
     .sub = &source_schema,
     .doc = "fcm: the entity field that has the tokens; null: the tokens of registered devices"},
    {.name = "updated_at", .type = FIELD_TIME, .required = true, .nullable = true},
};
static const struct schema out_schema = SCHEMA_OUT("PushCredential", out_fields);

static const struct field public_fields[] = {
    {.name = "public_key", .type = FIELD_STR, .required = true},
};
static const struct schema public_schema = SCHEMA_OUT("PushPublicKey", public_fields);

/* --- shared by all changes --- */

/* Reads before it writes, because the project is usually registered already and a request that has
 * written something cannot be run again after a failure. */
int push_register_project(struct req *r)
{
    struct db *control = directory_control(gateway_directory());
    int64_t number = r->scope->project->number;
    struct rows known;

    int rc = db_query(&r->task, control, SQL_PUSH_PROJECT_KNOWN(.number = number), &known);
    if (rc == 0 && known.count == 0)
        rc = db_query(&r->task, control, SQL_PUSH_PROJECT_REGISTER(.number = number), NULL);
    return sql_check(r, rc);
}

static struct str credential_seal(struct req *r, const char *provider, struct str secret)
{
    struct arena *arena = r->task.arena;

    return aead_seal(
        arena,
        &r->scope->project->data_key,
        secret,
        aad_setting(arena, r->scope->project->number, STR("push"), str_from(provider)));
}

static struct db_call credential_audit(struct req *r, const char *action, const char *provider)
{
    return gateway_audit(r,
                         action,
                         "push_credential",
                         0,
                         arena_printf(r->task.arena, "{\"provider\":\"%s\"}", provider));
}

/* co: Writes the audit row, commits the open transaction and answers with the credential as it is
 * now. */
AWAITS static int
credential_commit_and_reply(struct req *r, const char *action, const char *provider)
{
    struct db_call calls[] = {
        credential_audit(r, action, provider),
        db_call(SQL_PUSH_CREDENTIAL_GET(.provider = str_from(provider))),
    };

    TRY(sql_batch(r, calls, ARRAY_LEN(calls)));
    TRY(sql_commit(r));
    return reply_row(r, 200, &calls[1].rows);
}

AWAITS static int push_credentials_list(struct req *r)
{
    return reply_page(r, "provider", SQL_PUSH_CREDENTIALS_LIST());
}

/* --- FCM --- */

AWAITS static int push_credentials_fcm(struct req *r)
{
    struct fcm_account account;
    struct strbuf doc;
    struct fcm_in in;
    struct jw w;

    TRY(req_json(r, &fcm_schema, &in));
    int rc = fcm_account_read(r->task.arena, in.service_account_json.value, &account);
    if (rc != 0)
        return rc < 0 ? rc
                      : fail_field(r,
                                   "service_account_json",
                                   PROBLEM_VALIDATION_FAILED,
                                   "%s",
                                   fcm_account_reason(rc));
    strbuf_init(&doc, r->task.arena, 4096);
    jw_init(&w, &doc);
    jw_obj(&w);
    JW_STR(&w, "project_id", account.project_id);
    JW_STR(&w, "client_email", account.client_email);
    jw_obj_end(&w);
    TRY(push_register_project(r));
    TRY(sql_begin(r));
    TRY(sql_exec(
        r,
        NULL,
        SQL_PUSH_FCM_PUT(.doc = strbuf_view(&doc),
                         .sealed = credential_seal(r, "fcm", in.service_account_json.value))));
    return credential_commit_and_reply(r, "push_credentials.update", "fcm");
}

static bool in_str_is_given(const struct in_str *in)
{
    return in->set && in->value.len > 0;
}

static const struct model_field *
source_field(const struct entity *entity, struct str name, enum model_type one, enum model_type two)
{
    const struct model_field *field = entity_field(entity, name);

    return field && !field->system && (field->type == one || field->type == two) ? field : NULL;
}

/* Refuses a name that this process's model does not have. `may_be_stale` makes the handler run
 * again if the model is outdated. */
static int fail_missing_in_model(struct req *r, const char *member, const char *message)
{
    r->scope->may_be_stale = true;
    return fail_field(r, member, PROBLEM_NOT_FOUND, "%s", message);
}

static int read_source(struct req *r, const struct source_in *in, struct str *ret_source)
{
    const char *needed = !in_str_is_given(&in->kind)               ? "kind"
                         : !in_str_is_given(&in->entity)           ? "entity"
                         : !in_str_is_given(&in->token_field)      ? "token_field"
                         : !in_str_is_given(&in->owner_user_field) ? "owner_user_field"
                                                                   : NULL;

    *ret_source = STR_NONE;
    if (!in_str_is_given(&in->kind) && !in_str_is_given(&in->entity) &&
        !in_str_is_given(&in->token_field) && !in_str_is_given(&in->owner_user_field))
        return 0;
    if (needed)
        return fail_field(r, needed, PROBLEM_REQUIRED, "is required");
    const struct entity *entity = model_entity(r->scope->model, in->entity.value);
    if (!entity)
        return fail_missing_in_model(r, "entity", "there is no such entity");
    const struct model_field *token =
        source_field(entity, in->token_field.value, TYPE_VARCHAR, TYPE_TEXT);
    if (!token)
        return fail_missing_in_model(
            r, "token_field", "must be a varchar or text field of the entity");
    const struct model_field *owner =
        source_field(entity, in->owner_user_field.value, TYPE_INTEGER, TYPE_INTEGER);
    if (!owner)
        return fail_missing_in_model(
            r, "owner_user_field", "must be an integer field of the entity");
    *ret_source = arena_printf(r->task.arena,
                               "{\"kind\":\"entity_field\",\"entity_id\":%lld,"
                               "\"token_field_id\":%lld,\"owner_field_id\":%lld}",
                               (long long)entity->id,
                               (long long)token->id,
                               (long long)owner->id);
    return 0;
}

AWAITS static int push_credentials_source(struct req *r)
{
    struct source_in in;
    struct str source;
    struct rows rows;

    TRY(req_json(r, &source_schema, &in));
    TRY(read_source(r, &in, &source));
    TRY(sql_begin(r));
    TRY(sql_one(r, &rows, SQL_PUSH_SOURCE_PUT(.source = source)));
    return credential_commit_and_reply(r, "push_credentials.device_source", "fcm");
}

/* --- web push --- */

/* Generates a key pair. Returns the public key; *ret_sealed is the encrypted private key. */
static struct str key_pair_generate(struct req *r, struct str *ret_sealed)
{
    struct arena *arena = r->task.arena;
    struct ec_key *key = ec_key_generate();

    arena_defer(arena, ec_key_free_deferred, key);
    *ret_sealed = credential_seal(r, "web_push", ec_key_to_pkcs8(arena, key));
    return vapid_public_key(arena, key);
}

AWAITS static int push_credentials_web_push(struct req *r)
{
    struct web_push_in in;
    struct str sealed;

    TRY(req_json(r, &web_push_schema, &in));
    if (!vapid_subject_ok(r->task.arena, in.subject.value))
        return fail_field(
            r,
            "subject",
            PROBLEM_PATTERN,
            "must be mailto: with an email address, or an https URL, at a public domain "
            "name; push services refuse other subjects");
    struct str public_key = key_pair_generate(r, &sealed);
    TRY(push_register_project(r));
    TRY(sql_begin(r));
    TRY(sql_exec(r,
                 NULL,
                 SQL_PUSH_WEB_PUSH_PUT(.subject = in.subject.value,
                                       .public_key = public_key,
                                       .sealed = sealed)));
    return credential_commit_and_reply(r, "push_credentials.update", "web_push");
}

AWAITS static int push_credentials_rotate(struct req *r)
{
    struct str sealed;
    struct rows rows;
    struct str public_key = key_pair_generate(r, &sealed);

    TRY(sql_begin(r));
    TRY(sql_one(r, &rows, SQL_PUSH_WEB_PUSH_ROTATE(.public_key = public_key, .sealed = sealed)));
    return credential_commit_and_reply(r, "push_credentials.rotate", "web_push");
}

AWAITS static int push_public_key(struct req *r)
{
    struct rows rows;

    TRY(sql_one(r, &rows, SQL_PUSH_PUBLIC_KEY()));
    return reply_row(r, 200, &rows);
}

/* --- both providers --- */

AWAITS static int remove_credential(struct req *r, const char *provider)
{
    struct rows rows;

    TRY(sql_begin(r));
    TRY(sql_one(r, &rows, SQL_PUSH_CREDENTIAL_REMOVE(.provider = str_from(provider))));
    TRY(gateway_commit(r, credential_audit(r, "push_credentials.delete", provider)));
    return reply_empty(r, 204);
}

/* A path without parameters hides /push/credentials/{provider} for all methods: the paths of the
 * two PUT routes need DELETE routes of their own. */
AWAITS static int push_credentials_delete_fcm(struct req *r)
{
    return remove_credential(r, "fcm");
}

AWAITS static int push_credentials_delete_web_push(struct req *r)
{
    return remove_credential(r, "web_push");
}

AWAITS static int provider_guard(struct req *r)
{
    if (str_is(req_param(r, "provider"), "web_push"))
        return 0;
    return fail(r, PROBLEM_NOT_FOUND, "There is no such provider.");
}

AWAITS static int push_credentials_delete(struct req *r)
{
    return remove_credential(r, "web_push");
}

static const struct route push_credentials_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = "/push/credentials",
        .id = "push_credentials_list",
        .auth = AUTH_ADMIN,
        .query = page_query,
        .success = {200, &out_schema, .list = true},
        .run = push_credentials_list,
        .summary = "List the push providers and their configuration, without secrets",
    },
    {
        .method = HTTP_PUT_M,
        .path = "/push/credentials/fcm",
        .id = "push_credentials_fcm",
        .auth = AUTH_ADMIN,
        .body = &fcm_schema,
        .body_max = (size_t)4 * FCM_ACCOUNT_BYTES_MAX,
        .success = {200, &out_schema},
        .run = push_credentials_fcm,
        .summary = "Store or replace the service account for FCM",
        .doc =
            "The file must have type service_account, project_id, client_email and a private_key "
            "that can sign. The file is stored encrypted and is not tested with Firebase.",
    },
    {
        .method = HTTP_PUT_M,
        .path = "/push/credentials/fcm/device-source",
        .id = "push_credentials_source",
        .auth = AUTH_ADMIN,
        .body = &source_schema,
        .success = {200, &out_schema},
        .extra_statuses = {404},
        .run = push_credentials_source,
        .summary = "Read FCM tokens from a field of an entity",
        .doc =
            "An empty object {} switches back to registered devices. With a source, FCM does not "
            "use registered devices. Sends to all go to every record of the entity that has a "
            "token, even where row-level security hides the record. A send to a record goes to the "
            "record's token. Dead tokens stay in the field. 404 until FCM is configured.",
    },
    {
        .method = HTTP_PUT_M,
        .path = "/push/credentials/web-push",
        .id = "push_credentials_web_push",
        .auth = AUTH_ADMIN,
        .body = &web_push_schema,
        .success = {200, &out_schema},
        .run = push_credentials_web_push,
        .summary = "Configure web push",
        .doc = "The first configuration creates a key pair. A new subject keeps the key pair and "
               "all subscriptions.",
    },
    {
        .method = HTTP_POST_M,
        .path = "/push/credentials/web-push/rotate",
        .id = "push_credentials_rotate",
        .auth = AUTH_ADMIN,
        .success = {200, &out_schema},
        .extra_statuses = {404},
        .run = push_credentials_rotate,
        .summary = "Replace the key pair of web push",
        .doc = "All existing subscriptions stop working: browsers created them for the old public "
               "key, and push services answer 401 or 403 to requests signed with another key. Each "
               "browser has to unsubscribe, subscribe with the new key (GET "
               "/push/vapid-public-key) and register again; until then sends to the browser fail. "
               "Rotate when the private key may have been exposed. A new subject needs no "
               "rotation.",
    },
    {
        .method = HTTP_DELETE_M,
        .path = "/push/credentials/fcm",
        .id = "push_credentials_delete_fcm",
        .auth = AUTH_ADMIN,
        .success = {204},
        .extra_statuses = {404},
        .run = push_credentials_delete_fcm,
        .summary = "Remove the service account of FCM",
        .doc = "FCM devices no longer receive notifications, but stay registered.",
    },
    {
        .method = HTTP_DELETE_M,
        .path = "/push/credentials/web-push",
        .id = "push_credentials_delete_web_push",
        .auth = AUTH_ADMIN,
        .success = {204},
        .extra_statuses = {404},
        .run = push_credentials_delete_web_push,
        .summary = "Remove the key pair of web push",
        .doc = "The same as DELETE /push/credentials/web_push.",
    },
    {
        .method = HTTP_DELETE_M,
        .path = "/push/credentials/{provider}",
        .id = "push_credentials_delete",
        .auth = AUTH_ADMIN,
        .success = {204},
        .extra_statuses = {404},
        .run = push_credentials_delete,
        .guard = provider_guard,
        .summary = "Remove a provider's credentials",
        .doc =
            "provider is fcm or web_push. The provider's devices no longer receive notifications, "
            "but stay registered. The next configuration of web push creates a new key pair, as "
            "a rotation does.",
    },
    {
        .method = HTTP_GET_M,
        .path = "/push/vapid-public-key",
        .id = "push_public_key",
        .auth = AUTH_PUBLIC,
        .success = {200, &public_schema},
        .extra_statuses = {404},
        .run = push_public_key,
        .guard = push_public_key,
        .summary = "Get the public key that browsers subscribe with",
    },
};
ROUTES(push_credentials, "Push");
