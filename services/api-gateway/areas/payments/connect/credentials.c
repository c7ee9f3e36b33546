/* /integrations/svcpay/processor-connect/credentials: the processor's key, and the secrets that
 * sign its events. Both are write-only: answers show only their last characters. */
#include "areas/payments/pay_common.h"
#include "base/clock.h"
#include "base/secret_mask.h"

#include <errno.h>

#define HINT_CHARACTERS 4
#define SECRET_MIN      8
#define SECRET_MAX      255
#define ACCOUNT_MAX     64

static const char *const modes[] = {"connect", "own", NULL};

struct secret_in {
    struct in_str secret;
    struct in_str expires_at;
};

struct credentials_in {
    struct in_str mode;
    struct in_str secret_key;
    struct in_str account_id;
    struct in_list webhook_secrets; /* struct secret_in */
};

static const struct field secret_fields[] = {
    {.name = "secret",
     FIELD_AT(struct secret_in, secret),
     .type = FIELD_STR,
     .required = true,
     .min = SECRET_MIN,
     .max = SECRET_MAX,
     .doc = "The secret as the processor shows it. Answers mask it as ******** and its last "
            "characters; a request with this mask keeps the stored secret",
     .example = "\"whsec_5f2c81d0\""},
    {.name = "expires_at",
     FIELD_AT(struct secret_in, expires_at),
     .type = FIELD_TIME,
     .nullable = true,
     .doc = "Until when events may be signed with the secret; null: until the secret is removed"},
};
static const struct schema secret_schema =
    SCHEMA("ProcessorWebhookSecret", struct secret_in, secret_fields);

#define MODE_FIELD(...)                                                                            \
    {                                                                                              \
        .name = "mode", .type = FIELD_STR, .values = modes,                                        \
        .doc = "connect: the key of a platform, charges go to the project's connected account; "   \
               "own: the key of the project's own account",                                        \
        .example = "\"connect\"", __VA_ARGS__                                                      \
    }

static const struct field in_fields[] = {
    MODE_FIELD(FIELD_AT(struct credentials_in, mode), .nullable = true),
    {.name = "secret_key",
     FIELD_AT(struct credentials_in, secret_key),
     .type = FIELD_STR,
     .nullable = true,
     .min = SECRET_MIN,
     .max = SECRET_MAX,
     .doc = "Secret or restricted key of the processor. Answers mask it as ******** and its last "
            "characters; a request with this mask keeps the stored key",
     .example = "\"sk_test_51Habc4242\""},
    {.name = "account_id",
     FIELD_AT(struct credentials_in, account_id),
     .type = FIELD_STR,
     .nullable = true,
     .max = ACCOUNT_MAX,
     .doc = "An account that is already connected to the platform",
     .example = "\"acct_1Habc\""},
    {.name = "webhook_secrets",
     FIELD_AT(struct credentials_in, webhook_secrets),
     .type = FIELD_LIST,
     .nullable = true,
     .max = WEBHOOK_SECRETS_MAX,
     .sub = &secret_schema,
     .doc = "Replaces the list of secrets with which events may be signed; several secrets are "
            "accepted at the same time, so that a secret can be exchanged"},
};
static const struct schema in_schema =
    SCHEMA("ProcessorCredentialsUpdate", struct credentials_in, in_fields);

static const struct field out_fields[] = {
    MODE_FIELD(.required = true),
    {.name = "configured", .type = FIELD_BOOL, .required = true, .doc = "Whether a key is stored"},
    {.name = "secret_key",
     .type = FIELD_STR,
     .required = true,
     .nullable = true,
     .example = "\"********4242\""},
    {.name = "account_id", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "webhook_secrets", .type = FIELD_LIST, .required = true, .sub = &secret_schema},
    {.name = "webhook_url",
     .type = FIELD_STR,
     .required = true,
     .format = "url",
     .doc = "Address to which the processor must send its events"},
};
static const struct schema out_schema = SCHEMA_OUT("ProcessorCredentials", out_fields);

/* --- the answer --- */

static struct str mask_secret(struct arena *arena, struct str secret)
{
    size_t shown = secret.len < HINT_CHARACTERS ? secret.len : HINT_CHARACTERS;

    return arena_printf(arena, SECRET_MASK "%.*s", (int)shown, secret.ptr + secret.len - shown);
}

static int credentials_reply(struct req *r, const struct processor_account *account)
{
    struct arena *arena = r->task.arena;
    struct jw w = resp_json(r);

    jw_obj(&w);
    JW_CSTR(&w, "mode", modes[account->mode == PROCESSOR_OWN]);
    JW_BOOL(&w, "configured", account->secret_key.len > 0);
    JW_STR_OR_NULL(&w,
                   "secret_key",
                   account->secret_key.len ? mask_secret(arena, account->secret_key) : STR_NONE);
    JW_STR_OR_NULL(&w, "account_id", account->account);
    jw_lit(&w, "webhook_secrets");
    jw_arr(&w);
    for (size_t i = 0; i < account->webhook_secret_count; i++) {
        const struct webhook_secret *secret = &account->webhook_secrets[i];
        jw_obj(&w);
        JW_STR(&w, "secret", mask_secret(arena, secret->secret));
        jw_lit(&w, "expires_at");
        if (secret->expires_ms)
            jw_time(&w, secret->expires_ms);
        else
            jw_null(&w);
        jw_obj_end(&w);
    }
    jw_arr_end(&w);
    JW_STR(&w,
           "webhook_url",
           arena_printf(arena,
                        "%.*s/webhooks/processor/%.*s",
                        STR_ARG(gateway_payments_url(r)),
                        STR_ARG(r->scope->project->slug)));
    jw_obj_end(&w);
    return reply_json(r, 200);
}

AWAITS static int credentials_get(struct req *r)
{
    const struct payment_settings *settings;

    TRY(pay_settings_read(r, &settings));
    return credentials_reply(r, &settings->processor);
}

/* --- changes --- */

/* Whether the text can be sent in a header. A mask passes: merge_key() and merge_secrets() check it
 * against the stored secrets. */
static bool is_header_text(struct str text)
{
    if (secret_classify(text, STR_NONE) != SECRET_NEW)
        return true;
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] <= ' ' || text.ptr[i] > '~')
            return false;
    return true;
}

static bool is_account_id(struct str text)
{
    if (!str_starts(text, STR("acct_")) || text.len == 5)
        return false;
    for (size_t i = 5; i < text.len; i++) {
        char c = text.ptr[i];
        if ((c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && c != '_')
            return false;
    }
    return true;
}

static int credentials_check(struct req *r, const struct credentials_in *in)
{
    struct schema_errors *errors = ARENA_NEW(r->task.arena, errors);
    const struct secret_in *secrets = in->webhook_secrets.items;
    struct arena *arena = r->task.arena;

    if (!is_header_text(in->secret_key.value))
        schema_error_add(arena,
                         errors,
                         STR("secret_key"),
                         PROBLEM_PATTERN,
                         "must be printable ASCII without spaces");
    if (str_starts(in->secret_key.value, STR("pk_")))
        schema_error_add(arena,
                         errors,
                         STR("secret_key"),
                         PROBLEM_PATTERN,
                         "must be a secret or restricted key, not a publishable key");
    if (in->account_id.value.len && !is_account_id(in->account_id.value))
        schema_error_add(
            arena, errors, STR("account_id"), PROBLEM_PATTERN, "must be an account id (acct_...)");
    for (size_t i = 0; i < in->webhook_secrets.count; i++)
        if (!is_header_text(secrets[i].secret.value))
            schema_error_add(arena,
                             errors,
                             arena_printf(arena, "webhook_secrets[%zu].secret", i),
                             PROBLEM_PATTERN,
                             "must be printable ASCII without spaces");
    return errors->count ? fail_fields(r, errors) : 0;
}

/* Returns the stored secret with this mask, preferably the secret at the same position; STR_NONE
 * when no secret has it. */
static struct str find_masked(struct arena *arena,
                              const struct processor_account *account,
                              size_t index,
                              struct str text)
{
    size_t count = account->webhook_secret_count;

    for (size_t i = 0; i < count; i++) {
        struct str secret = account->webhook_secrets[(index + i) % count].secret;
        if (secret_classify(text, mask_secret(arena, secret)) == SECRET_SAME)
            return secret;
    }
    return STR_NONE;
}

static int
merge_secrets(struct req *r, const struct in_list *list, struct processor_account *account)
{
    const struct secret_in *items = list->items;
    struct webhook_secret merged[WEBHOOK_SECRETS_MAX] = {0};

    for (size_t i = 0; i < list->count; i++) {
        struct str secret = items[i].secret.value;
        if (secret_classify(secret, STR_NONE) != SECRET_NEW)
            secret = find_masked(r->task.arena, account, i, secret);
        if (!secret.len) {
            struct str field = arena_printf(r->task.arena, "webhook_secrets[%zu].secret", i);
            return fail_field(r, field.ptr, PROBLEM_VALIDATION_FAILED, SECRET_MASK_WRONG);
        }
        merged[i] = (struct webhook_secret){.secret = secret};
        if (items[i].expires_at.value.len &&
            !clock_parse(items[i].expires_at.value, &merged[i].expires_ms))
            return ERROR(-EINVAL); /* the schema has checked it */
    }
    if (list->count)
        memcpy(account->webhook_secrets, merged, list->count * sizeof(merged[0]));
    account->webhook_secret_count = list->count;
    return 0;
}

static int merge_key(struct req *r, const struct in_str *key, struct processor_account *account)
{
    struct str shown =
        account->secret_key.len ? mask_secret(r->task.arena, account->secret_key) : STR_NONE;
    enum secret_input meant = secret_classify(key->value, shown);

    if (meant == SECRET_WRONG_MASK)
        return fail_field(r, "secret_key", PROBLEM_VALIDATION_FAILED, SECRET_MASK_WRONG);
    if (key->set && meant == SECRET_NEW)
        account->secret_key = key->value;
    return 0;
}

/* Removes what the processor reported about the previous account. The new account is unknown until
 * the processor reports it. */
static void forget_account(struct processor_account *account, json_t *doc)
{
    static const char *const reported[] = {"account",
                                           "charges_enabled",
                                           "payouts_enabled",
                                           "details_submitted",
                                           "requirements",
                                           "event_at",
                                           "event_id",
                                           "creating",
                                           "business_type",
                                           "country",
                                           "email"};

    account->account = STR_NONE;
    for (size_t i = 0; i < ARRAY_LEN(reported); i++)
        (void)json_object_del(doc, reported[i]);
}

static void
merge_account(const struct credentials_in *in, struct processor_account *account, json_t *doc)
{
    enum processor_mode mode = account->mode;
    struct str id = in->account_id.value;

    if (in->mode.set)
        mode = str_is(in->mode.value, "own") ? PROCESSOR_OWN : PROCESSOR_CONNECT;
    if (mode != account->mode || (in->account_id.set && !str_eq(id, account->account)))
        forget_account(account, doc);
    account->mode = mode;
    (void)json_object_set_new(doc, "mode", json_string(modes[mode == PROCESSOR_OWN]));
    if (id.len) {
        account->account = id;
        (void)json_object_set_new(doc, "account", json_stringn(id.ptr, id.len));
    }
}

static struct str secret_text(struct req *r, const struct processor_account *account)
{
    struct strbuf out;
    struct jw w;

    strbuf_init(&out, r->task.arena, 16384);
    jw_init(&w, &out);
    jw_obj(&w);
    JW_STR_OR_NULL(&w, "secret_key", account->secret_key);
    jw_lit(&w, "webhook_secrets");
    jw_arr(&w);
    for (size_t i = 0; i < account->webhook_secret_count; i++) {
        jw_obj(&w);
        JW_STR(&w, "secret", account->webhook_secrets[i].secret);
        if (account->webhook_secrets[i].expires_ms) {
            jw_lit(&w, "expires_at");
            jw_time(&w, account->webhook_secrets[i].expires_ms);
        }
        jw_obj_end(&w);
    }
    jw_arr_end(&w);
    jw_obj_end(&w);
    return strbuf_view(&out);
}

static struct str credentials_changed_members(struct req *r, const struct credentials_in *in)
{
    const struct changed_member members[] = {
        {"mode", in->mode.set},
        {"secret_key", in->secret_key.set},
        {"account_id", in->account_id.set},
        {"webhook_secrets", in->webhook_secrets.set},
    };
    return gateway_changed_detail(r, members, ARRAY_LEN(members));
}

AWAITS static int credentials_update(struct req *r)
{
    struct processor_account account = {0};
    struct credentials_in in;
    json_t *doc = NULL;

    TRY(req_json(r, &in_schema, &in));
    TRY(credentials_check(r, &in));
    TRY(pay_register(r));
    TRY(sql_begin(r));
    TRY(pay_processor_lock(r, &doc, &account));
    TRY(merge_key(r, &in.secret_key, &account));
    if (in.webhook_secrets.set)
        TRY(merge_secrets(r, &in.webhook_secrets, &account));
    merge_account(&in, &account, doc);
    struct db_call audit = gateway_audit(
        r, "processor_credentials.update", "processor", 0, credentials_changed_members(r, &in));
    TRY(pay_settings_save(r,
                          PAYMENT_SETTINGS_PROCESSOR,
                          jr_print(r->task.arena, doc),
                          secret_text(r, &account),
                          audit));
    return credentials_reply(r, &account);
}

/* The account stays at the processor. Storing its id again reconnects it. */
AWAITS static int credentials_delete(struct req *r)
{
    TRY(sql_begin(r));
    struct db_call audit =
        gateway_audit(r, "processor_credentials.delete", "processor", 0, STR_NONE);
    TRY(pay_settings_save(r, PAYMENT_SETTINGS_PROCESSOR, STR("{}"), STR(""), audit));
    return reply_empty(r, 204);
}

static const struct route processor_credentials_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = PAYMENTS_BASE "/processor-connect/credentials",
        .id = "processor_credentials_get",
        .auth = AUTH_ADMIN,
        .success = {200, &out_schema},
        .run = credentials_get,
        .summary = "Read which processor credentials are stored; answers mask the secrets",
    },
    {
        .method = HTTP_PUT_M,
        .path = PAYMENTS_BASE "/processor-connect/credentials",
        .id = "processor_credentials_update",
        .auth = AUTH_ADMIN,
        .body = &in_schema,
        .success = {200, &out_schema},
        .run = credentials_update,
        .summary = "Store the processor's key and webhook secrets",
        .doc = "Members left out keep their value, null removes the value. This request does not "
               "test the key: GET /processor-connect does.",
    },
    {
        .method = HTTP_DELETE_M,
        .path = PAYMENTS_BASE "/processor-connect/credentials",
        .id = "processor_credentials_delete",
        .auth = AUTH_ADMIN,
        .success = {204},
        .run = credentials_delete,
        .summary = "Delete the stored key, webhook secrets and account of the processor",
        .doc = "The account stays at the processor: store its account_id to connect it again.",
    },
};
ROUTES(processor_credentials, "Payments");
