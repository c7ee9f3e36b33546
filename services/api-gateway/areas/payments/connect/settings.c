/* /integrations/svcpay/settings: the project's settings for payments. */
#include "areas/payments/pay_common.h"
#include "base/ascii.h"

#define GRACE_DAYS_MAX  90
#define STOREFRONTS_MAX 250
#define URL_MAX         2048

struct settings_in {
    struct in_i64 grace_days;
    struct in_strs web_checkout_storefronts;
    struct in_str success_url, cancel_url;
};

/* clang-format off */
#define GRACE_DAYS(...)                                                                            \
    {.name = "grace_days", .type = FIELD_I64, .has_min = true, .has_max = true, .max = GRACE_DAYS_MAX, \
     .doc = "Days of access after a renewal has failed", .example = "3", __VA_ARGS__}
#define STOREFRONTS(...)                                                                           \
    {.name = "web_checkout_storefronts", .type = FIELD_STRS, .max = STOREFRONTS_MAX,               \
     .doc = "Storefronts (ISO 3166 alpha-3) whose apps may link to a checkout on the web",         \
     .example = "[\"USA\"]", __VA_ARGS__}
#define ADDRESS(member, text, ...)                                                                 \
    {.name = #member, .type = FIELD_STR, .nullable = true, .max = URL_MAX, .format = "url",        \
     .doc = (text), __VA_ARGS__}
#define SUCCESS_TEXT "Where payers return after paying, unless the request names another address"
#define CANCEL_TEXT  "Where payers return without paying, unless the request names another address"

static const struct field in_fields[] = {
    GRACE_DAYS(FIELD_AT(struct settings_in, grace_days), .nullable = true),
    STOREFRONTS(FIELD_AT(struct settings_in, web_checkout_storefronts), .nullable = true),
    ADDRESS(success_url, SUCCESS_TEXT, FIELD_AT(struct settings_in, success_url),
            .example = "\"https://app.example.com/paid\""),
    ADDRESS(cancel_url, CANCEL_TEXT, FIELD_AT(struct settings_in, cancel_url)),
};
static const struct schema in_schema = SCHEMA("PaymentSettingsUpdate", struct settings_in, in_fields);

static const struct field out_fields[] = {
    GRACE_DAYS(.required = true),
    STOREFRONTS(.required = true),
    ADDRESS(success_url, SUCCESS_TEXT, .required = true),
    ADDRESS(cancel_url, CANCEL_TEXT, .required = true),
};
static const struct schema out_schema = SCHEMA_OUT("PaymentSettings", out_fields);
/* clang-format on */

AWAITS static int settings_get(struct req *r)
{
    const struct payment_settings *settings;

    TRY(pay_settings_read(r, &settings));
    struct jw w = resp_json(r);
    jw_obj(&w);
    JW_I64(&w, "grace_days", settings->grace_days);
    jw_lit(&w, "web_checkout_storefronts");
    jw_arr(&w);
    for (size_t i = 0; i < settings->web_checkout_storefront_count; i++)
        jw_str(&w, settings->web_checkout_storefronts[i]);
    jw_arr_end(&w);
    JW_STR_OR_NULL(&w, "success_url", settings->success_url);
    JW_STR_OR_NULL(&w, "cancel_url", settings->cancel_url);
    jw_obj_end(&w);
    return reply_json(r, 200);
}

static int read_storefronts(struct req *r, struct in_strs *in)
{
    for (size_t i = 0; i < in->count; i++) {
        in->items[i] = arena_upper(r->task.arena, in->items[i]);
        if (in->items[i].len != 3 || !ascii_has_only(in->items[i], ASCII_UPPER, "")) {
            struct str field = arena_printf(r->task.arena, "web_checkout_storefronts[%zu]", i);
            return fail_field(
                r, field.ptr, PROBLEM_PATTERN, "must be a country code of three letters");
        }
    }
    return 0;
}

static void settings_set_text(json_t *doc, const char *name, const struct in_str *in)
{
    if (in->set && in->value.len)
        (void)json_object_set_new(doc, name, json_stringn(in->value.ptr, in->value.len));
    else if (in->set)
        (void)json_object_del(doc, name);
}

/* null removes a member from the document, which restores its default. */
static void settings_merge(json_t *doc, const struct settings_in *in)
{
    if (in->grace_days.set && in->grace_days.null)
        (void)json_object_del(doc, "grace_days");
    else if (in->grace_days.set)
        (void)json_object_set_new(doc, "grace_days", json_integer(in->grace_days.value));
    if (in->web_checkout_storefronts.set)
        (void)json_object_del(doc, "web_checkout_storefronts");
    if (in->web_checkout_storefronts.set && !in->web_checkout_storefronts.null) {
        json_t *list = json_array();
        for (size_t i = 0; i < in->web_checkout_storefronts.count; i++)
            (void)json_array_append_new(list,
                                        json_stringn(in->web_checkout_storefronts.items[i].ptr,
                                                     in->web_checkout_storefronts.items[i].len));
        (void)json_object_set_new(doc, "web_checkout_storefronts", list);
    }
    settings_set_text(doc, "success_url", &in->success_url);
    settings_set_text(doc, "cancel_url", &in->cancel_url);
}

AWAITS static int settings_update(struct req *r)
{
    struct settings_in in;
    json_t *doc;

    TRY(req_json(r, &in_schema, &in));
    TRY(read_storefronts(r, &in.web_checkout_storefronts));
    TRY(sql_begin(r));
    TRY(pay_settings_lock(r, PAYMENT_SETTINGS_OPTIONS, &doc, NULL));
    settings_merge(doc, &in);
    struct str text = jr_print(r->task.arena, doc);
    struct db_call audit = gateway_audit(r, "payment_settings.update", "payment_settings", 0, text);
    TRY(pay_settings_save(r, PAYMENT_SETTINGS_OPTIONS, text, STR_NONE, audit));
    return settings_get(r);
}

static const struct route payment_settings_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = PAYMENTS_BASE "/settings",
        .id = "payment_settings_get",
        .auth = AUTH_ADMIN,
        .success = {200, &out_schema},
        .run = settings_get,
        .summary = "Read the project's payment settings",
    },
    {
        .method = HTTP_PUT_M,
        .path = PAYMENTS_BASE "/settings",
        .id = "payment_settings_update",
        .auth = AUTH_ADMIN,
        .body = &in_schema,
        .success = {200, &out_schema},
        .run = settings_update,
        .summary = "Change the project's payment settings",
        .doc = "Members left out keep their value, null restores the default.",
    },
};
ROUTES(payment_settings, "Payments");
