/* /integrations/svcpay/iap-store/credentials: the project's app in the app store, and the
 * write-only key for the store's server API. */
#include "areas/payments/pay_common.h"
#include "base/ascii.h"
#include "base/codec.h"
#include "json/jr.h"
#include "payments/store.h"

#define SECRET_BYTES_MAX 8192

static const char *const environment_names[] = {"production", "sandbox", NULL};
static const unsigned environment_bits[] = {STORE_PRODUCTION, STORE_SANDBOX};

struct store_in {
    struct in_str issuer_id;
    struct in_str key_id;
    struct in_str private_key;
    struct in_str bundle_id;
    struct in_i64 app_apple_id;
    struct in_strs environments;
};

static const struct field in_fields[] = {
    {.name = "issuer_id",
     FIELD_AT(struct store_in, issuer_id),
     .type = FIELD_STR,
     .min = 1,
     .max = 64,
     .doc = "UUID, from App Store Connect: Users and Access, Integrations, In-App Purchase",
     .example = "\"57246542-96fe-1a63-e053-0824d011072a\""},
    {.name = "key_id",
     FIELD_AT(struct store_in, key_id),
     .type = FIELD_STR,
     .min = 1,
     .max = 32,
     .doc = "Id of the In-App Purchase key; a new key_id requires its private_key",
     .example = "\"2X9R4HXF34\""},
    {.name = "private_key",
     FIELD_AT(struct store_in, private_key),
     .type = FIELD_STR,
     .min = 1,
     .max = 4096,
     .write_only = true,
     .doc = "Text of the key's .p8 file (PEM, PKCS #8, P-256); never returned",
     .example = "\"-----BEGIN PRIVATE KEY-----\\n...\\n-----END PRIVATE KEY-----\""},
    {.name = "bundle_id",
     FIELD_AT(struct store_in, bundle_id),
     .type = FIELD_STR,
     .min = 1,
     .max = 155,
     .doc = "The app; notifications about other apps are refused",
     .example = "\"com.example.app\""},
    {.name = "app_apple_id",
     FIELD_AT(struct store_in, app_apple_id),
     .type = FIELD_I64,
     .nullable = true,
     .has_min = true,
     .min = 1,
     .doc = "The app's number in the store; required for production notifications",
     .example = "1234567890"},
    {.name = "environments",
     FIELD_AT(struct store_in, environments),
     .type = FIELD_STRS,
     .max = 2,
     .doc = "Environments whose notifications are accepted: production, sandbox. By default both, "
            "or only sandbox without app_apple_id",
     .example = "[\"production\",\"sandbox\"]"},
};
static const struct schema in_schema = SCHEMA("StoreCredentialsUpdate", struct store_in, in_fields);

static const struct field out_fields[] = {
    {.name = "configured", .type = FIELD_BOOL, .required = true},
    {.name = "issuer_id", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "key_id", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "bundle_id", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "app_apple_id", .type = FIELD_I64, .required = true, .nullable = true},
    {.name = "environments", .type = FIELD_STRS, .required = true},
    {.name = "notification_url",
     .type = FIELD_STR,
     .required = true,
     .format = "url",
     .doc = "For App Store Connect: production and sandbox server URL, version 2 notifications"},
};
static const struct schema out_schema = SCHEMA_OUT("StoreCredentials", out_fields);

/* --- answers --- */

/* Writes the members that the stored document and the answer have in common. */
static void put_members(struct jw *w, const struct store_account *account)
{
    JW_STR_OR_NULL(w, "issuer_id", account->issuer_id);
    JW_STR_OR_NULL(w, "key_id", account->key_id);
    JW_STR_OR_NULL(w, "bundle_id", account->bundle_id);
    jw_lit(w, "app_apple_id");
    if (account->app_apple_id)
        jw_i64(w, account->app_apple_id);
    else
        jw_null(w);
    jw_lit(w, "environments");
    jw_arr(w);
    for (size_t i = 0; i < ARRAY_LEN(environment_bits); i++)
        if (account->environments & environment_bits[i])
            jw_cstr(w, environment_names[i]);
    jw_arr_end(w);
}

static int iap_reply(struct req *r, const struct store_account *account)
{
    struct jw w = resp_json(r);

    jw_obj(&w);
    JW_BOOL(&w, "configured", account->configured);
    put_members(&w, account);
    JW_STR(&w,
           "notification_url",
           arena_printf(r->task.arena,
                        "%.*s/webhooks/iap-store/%.*s",
                        STR_ARG(gateway_payments_url(r)),
                        STR_ARG(r->scope->project->slug)));
    jw_obj_end(&w);
    return reply_json(r, 200);
}

AWAITS static int store_get(struct req *r)
{
    const struct payment_settings *settings;

    TRY(pay_settings_read(r, &settings));
    return iap_reply(r, &settings->store);
}

/* --- changes --- */

static void
add_pattern_error(struct req *r, struct schema_errors *errors, const char *field, const char *text)
{
    schema_error_add(r->task.arena, errors, str_from(field), PROBLEM_PATTERN, "%s", text);
}

/* Returns the bits of the given names. */
static unsigned
read_environments(struct req *r, const struct in_strs *names, struct schema_errors *errors)
{
    unsigned bits = 0;

    for (size_t i = 0; i < names->count; i++) {
        unsigned bit = 0;
        for (size_t k = 0; k < ARRAY_LEN(environment_bits); k++)
            if (str_is(names->items[i], environment_names[k]))
                bit = environment_bits[k];
        if (!bit)
            add_pattern_error(r,
                              errors,
                              arena_printf(r->task.arena, "environments[%zu]", i).ptr,
                              "must be production or sandbox");
        bits |= bit;
    }
    if (names->set && !names->count)
        add_pattern_error(r, errors, "environments", "must name at least one environment");
    return bits;
}

static void check_texts(struct req *r, const struct store_in *in, struct schema_errors *errors)
{
    if (in->issuer_id.set && !schema_format_ok("uuid", in->issuer_id.value))
        add_pattern_error(r, errors, "issuer_id", "must be a UUID");
    if (!ascii_has_only(in->key_id.value, ASCII_ALNUM, ""))
        add_pattern_error(r, errors, "key_id", "must be letters and digits");
    if (!ascii_has_only(in->bundle_id.value, ASCII_ALNUM, ".-"))
        add_pattern_error(r, errors, "bundle_id", "must be letters, digits, '.' and '-'");
}

static void merge_text(struct str *member, const struct in_str *in)
{
    if (in->set)
        *member = in->value;
}

/* Checks the merged account for missing members. */
static void check_required_members(struct req *r,
                                   const struct store_account *account,
                                   struct schema_errors *errors)
{
    const struct {
        const char *name;
        struct str value;
    } required[] = {
        {"issuer_id", account->issuer_id},
        {"key_id", account->key_id},
        {"private_key", account->private_key},
        {"bundle_id", account->bundle_id},
    };

    for (size_t i = 0; i < ARRAY_LEN(required); i++)
        if (!required[i].value.len)
            schema_error_add(
                r->task.arena, errors, str_from(required[i].name), PROBLEM_REQUIRED, "is required");
    if ((account->environments & STORE_PRODUCTION) && !account->app_apple_id)
        schema_error_add(r->task.arena,
                         errors,
                         STR("app_apple_id"),
                         PROBLEM_REQUIRED,
                         "is required for production");
}

/* Merges the body into the stored account, or returns the 400 that names the wrong members. */
static int iap_merge(struct req *r, const struct store_in *in, struct store_account *account)
{
    struct schema_errors *errors = ARENA_NEW(r->task.arena, errors);
    bool other_key = in->key_id.set && !str_eq(in->key_id.value, account->key_id);
    unsigned environments = read_environments(r, &in->environments, errors);

    check_texts(r, in, errors);
    if (in->private_key.set &&
        store_key_read(r->task.arena, in->private_key.value, &account->private_key) != 0)
        add_pattern_error(
            r, errors, "private_key", "must be a .p8 file: PEM with a PKCS #8 key of P-256");
    else if (!in->private_key.set && other_key)
        account->private_key = STR_NONE;
    merge_text(&account->issuer_id, &in->issuer_id);
    merge_text(&account->key_id, &in->key_id);
    merge_text(&account->bundle_id, &in->bundle_id);
    if (in->app_apple_id.set)
        account->app_apple_id = in->app_apple_id.value;
    if (in->environments.set)
        account->environments = environments;
    else if (!account->environments)
        account->environments =
            account->app_apple_id ? STORE_PRODUCTION | STORE_SANDBOX : STORE_SANDBOX;
    if (!errors->count)
        check_required_members(r, account, errors);
    account->configured = true;
    return errors->count ? fail_fields(r, errors) : 0;
}

static struct str stored_text(struct req *r, const struct store_account *account)
{
    struct strbuf text;
    struct jw w;

    strbuf_init(&text, r->task.arena, SECRET_BYTES_MAX);
    jw_init(&w, &text);
    jw_obj(&w);
    put_members(&w, account);
    jw_obj_end(&w);
    return strbuf_view(&text);
}

static struct str sealed_text(struct req *r, const struct store_account *account)
{
    struct strbuf text;
    struct jw w;

    strbuf_init(&text, r->task.arena, SECRET_BYTES_MAX);
    jw_init(&w, &text);
    jw_obj(&w);
    JW_STR(&w, "private_key", codec_b64(r->task.arena, account->private_key));
    jw_obj_end(&w);
    return strbuf_view(&text);
}

static struct str iap_changed_members(struct req *r, const struct store_in *in)
{
    const struct changed_member members[] = {
        {"issuer_id", in->issuer_id.set},
        {"key_id", in->key_id.set},
        {"private_key", in->private_key.set},
        {"bundle_id", in->bundle_id.set},
        {"app_apple_id", in->app_apple_id.set},
        {"environments", in->environments.set},
    };
    return gateway_changed_detail(r, members, ARRAY_LEN(members));
}

/* Reads the stored account and locks it until the transaction ends. */
AWAITS static int lock_account(struct req *r, struct store_account *ret_account)
{
    struct jr_error error;
    json_t *secret = NULL;
    struct str sealed;
    json_t *doc;

    TRY(pay_settings_lock(r, PAYMENT_SETTINGS_STORE, &doc, &sealed));
    if (sealed.len && jr_parse(r->task.arena, sealed, &secret, &error) != 0)
        secret = NULL; /* check_required_members() then requires the key again */
    store_account_read(r->task.arena, doc, secret, ret_account);
    return 0;
}

AWAITS static int store_put(struct req *r)
{
    struct store_account account = {0};
    struct store_in in = {0};

    TRY(req_json(r, &in_schema, &in));
    TRY(pay_register(r));
    TRY(sql_begin(r));
    TRY(lock_account(r, &account));
    TRY(iap_merge(r, &in, &account));
    struct db_call audit =
        gateway_audit(r, "iap_store.update", "iap_store", 0, iap_changed_members(r, &in));
    TRY(pay_settings_save(
        r, PAYMENT_SETTINGS_STORE, stored_text(r, &account), sealed_text(r, &account), audit));
    return iap_reply(r, &account);
}

AWAITS static int store_delete(struct req *r)
{
    TRY(sql_begin(r));
    struct db_call audit = gateway_audit(r, "iap_store.delete", "iap_store", 0, STR_NONE);
    TRY(pay_settings_save(r, PAYMENT_SETTINGS_STORE, STR("{}"), STR(""), audit));
    return reply_empty(r, 204);
}

static const struct route iap_store_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = PAYMENTS_BASE "/iap-store/credentials",
        .id = "iap_store_get",
        .auth = AUTH_ADMIN,
        .success = {200, &out_schema},
        .run = store_get,
        .summary = "Read the app store's settings and the address for its notifications",
        .doc = "The private key is never returned.",
    },
    {
        .method = HTTP_PUT_M,
        .path = PAYMENTS_BASE "/iap-store/credentials",
        .id = "iap_store_update",
        .auth = AUTH_ADMIN,
        .body = &in_schema,
        .success = {200, &out_schema},
        .run = store_put,
        .summary = "Store the app store's settings and key",
        .doc = "The first time issuer_id, key_id, private_key and bundle_id are required; later, "
               "members left out keep their value.",
    },
    {
        .method = HTTP_DELETE_M,
        .path = PAYMENTS_BASE "/iap-store/credentials",
        .id = "iap_store_delete",
        .auth = AUTH_ADMIN,
        .success = {204},
        .run = store_delete,
        .summary = "Delete the app store's settings and key",
        .doc = "Notifications are refused from then on; the effects of earlier notifications stay.",
    },
};
ROUTES(iap_store, "Payments");
