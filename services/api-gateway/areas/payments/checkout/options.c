/* /payment-options: the payment providers that a client may offer to its user. */
#include "areas/payments/pay_common.h"
#include "areas/payments/store/storefronts.h"
#include "http/query.h"

static const char *const platforms[] = {"ios", "android", "web", NULL};
static const char *const providers[] = {"processor_web", "iap_store", NULL};

/* clang-format off */
static const struct query_param options_query[] = {
    {.name = "platform", .type = FIELD_STR, .values = platforms, .fallback = "web",
     .doc = "Where the client runs"},
    {.name = "storefront", .type = FIELD_STR,
     .doc = "Country of the app store: ISO 3166 alpha-3, as the store sends it, or alpha-2"},
    {0},
};
static const struct field options_fields[] = {
    {.name = "primary_provider", .type = FIELD_STR, .required = true, .values = providers},
    {.name = "providers", .type = FIELD_STRS, .required = true, .doc = "The primary provider first",
     .example = "[\"iap_store\",\"processor_web\"]"},
    {.name = "web_checkout_allowed", .type = FIELD_BOOL, .required = true,
     .doc = "Whether the client may send its user to a checkout page"},
    {.name = "storefront", .type = FIELD_STR, .required = true, .nullable = true,
     .doc = "The given storefront as alpha-3", .example = "\"USA\""},
};
/* clang-format on */
static const struct schema options_schema = SCHEMA_OUT("PaymentOptions", options_fields);

static int read_storefront(struct req *r, const struct query *query, struct str *ret_storefront)
{
    struct str code = query_get(query, "storefront");

    *ret_storefront = STR_NONE;
    if (!code.len)
        return 0;
    *ret_storefront = storefront_find(code);
    if (ret_storefront->ptr)
        return 0;
    struct schema_errors *errors = ARENA_NEW(r->task.arena, errors);
    schema_error_add(r->task.arena,
                     errors,
                     STR("storefront"),
                     PROBLEM_VALIDATION_FAILED,
                     "must be a country code of ISO 3166");
    return fail_with(r,
                     PROBLEM_INVALID_QUERY,
                     STR("Query parameter 'storefront': must be a country code of ISO 3166."),
                     errors);
}

static bool storefront_allows_web(const struct payment_settings *settings, struct str storefront)
{
    for (size_t i = 0; i < settings->web_checkout_storefront_count; i++) {
        if (storefront.len && str_ieq(settings->web_checkout_storefronts[i], storefront))
            return true;
    }
    return false;
}

/* Only an iOS app must sell through its store. It may also offer web checkout in storefronts where
 * the store allows links to the web, if the project's processor can take payments. Without a
 * configured store there is web checkout only, on every platform and in every storefront. */
AWAITS static int options_get(struct req *r)
{
    const struct payment_settings *settings;
    const struct query *query;
    struct str storefront;
    struct jw w;

    TRY(req_query(r, &query));
    TRY(read_storefront(r, query, &storefront));
    TRY(pay_settings_get(r, false, &settings));
    bool store = settings->store.configured && str_is(query_get(query, "platform"), "ios");
    bool web = !store ||
               (payment_processor_ready(settings) && storefront_allows_web(settings, storefront));

    w = resp_json(r);
    jw_obj(&w);
    JW_CSTR(&w, "primary_provider", store ? "iap_store" : "processor_web");
    jw_lit(&w, "providers");
    jw_arr(&w);
    if (store)
        jw_cstr(&w, "iap_store");
    if (web)
        jw_cstr(&w, "processor_web");
    jw_arr_end(&w);
    JW_BOOL(&w, "web_checkout_allowed", web);
    JW_STR_OR_NULL(&w, "storefront", storefront);
    jw_obj_end(&w);
    return reply_json(r, 200);
}

static const struct route options_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = PAYMENTS_BASE "/payment-options",
        .id = "payment_options_get",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_SUBSCRIPTION_PLANS_READ,
        .query = options_query,
        .success = {200, &options_schema},
        .run = options_get,
        .summary = "Read the payment options of a client",
        .doc = "While no app store is configured: processor_web on every platform. With an app "
               "store: iap_store first on ios, and processor_web as well only in the storefronts "
               "of the setting web_checkout_storefronts (USA by default), while the processor can "
               "take payments; processor_web on android and web.",
    },
};
ROUTES(options, "Payments");
