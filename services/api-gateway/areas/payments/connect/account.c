/* /integrations/svcpay/processor-connect: the project's account at the processor, its onboarding
 * and its status. */
#include "areas/payments/pay_common.h"
#include "base/ascii.h"
#include "base/clock.h"
#include "base/rand.h"

/* The call that creates an account is stored until its outcome is known. If the request was killed,
 * or the answer was lost, the next request repeats the call with the same key. The processor
 * forgets keys after 24 hours. */
#define KEY_LIFE_MS (23LL * 3600 * 1000)
/* A request for the status waits this long for the processor, then gets the stored status. */
#define STATUS_LIMIT_MS 5000
#define LINK_LIMIT_MS   20000

static const char *const business_types[] = {
    "individual", "company", "non_profit", "government_entity", NULL};

struct connect_in {
    struct in_str business_type, country, email;
};
struct onboarding_in {
    struct in_str return_url, refresh_url;
};

/* clang-format off */
static const struct field connect_fields[] = {
    {.name = "business_type", FIELD_AT(struct connect_in, business_type), .type = FIELD_STR, .required = true,
     .values = business_types, .example = "\"company\""},
    {.name = "country", FIELD_AT(struct connect_in, country), .type = FIELD_STR, .required = true, .min = 2,
     .max = 2, .doc = "ISO 3166 alpha-2; cannot be changed later", .example = "\"US\""},
    {.name = "email", FIELD_AT(struct connect_in, email), .type = FIELD_STR, .required = true, .format = "email",
     .example = "\"shop@example.com\""},
};
static const struct schema connect_schema = SCHEMA("ProcessorAccountCreate", struct connect_in, connect_fields);

static const struct field onboarding_fields[] = {
    {.name = "return_url", FIELD_AT(struct onboarding_in, return_url), .type = FIELD_STR, .required = true,
     .format = "url", .max = 2048, .doc = "Where the browser returns after onboarding",
     .example = "\"https://app.example.com/payments\""},
    {.name = "refresh_url", FIELD_AT(struct onboarding_in, refresh_url), .type = FIELD_STR, .required = true,
     .format = "url", .max = 2048,
     .doc = "Where the browser goes when the link was used before or has expired: request a new link there",
     .example = "\"https://app.example.com/payments/again\""},
};
static const struct schema onboarding_schema =
    SCHEMA("ProcessorOnboarding", struct onboarding_in, onboarding_fields);

static const struct field link_fields[] = {
    {.name = "url", .type = FIELD_STR, .required = true, .format = "url", .doc = "Address of the onboarding; can be used once"},
    {.name = "expires_at", .type = FIELD_TIME, .required = true, .nullable = true},
};
static const struct schema link_schema = SCHEMA_OUT("ProcessorOnboardingLink", link_fields);

static const char *const modes[] = {"connect", "own", NULL};
static const struct field status_fields[] = {
    {.name = "mode", .type = FIELD_STR, .required = true, .values = modes},
    {.name = "account_id", .type = FIELD_STR, .required = true, .nullable = true, .example = "\"acct_1Habc\""},
    {.name = "onboarding_complete", .type = FIELD_BOOL, .required = true,
     .doc = "Whether the details are submitted and charges are enabled"},
    {.name = "charges_enabled", .type = FIELD_BOOL, .required = true},
    {.name = "payouts_enabled", .type = FIELD_BOOL, .required = true},
    {.name = "details_submitted", .type = FIELD_BOOL, .required = true},
    {.name = "business_type", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "country", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "email", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "requirements", .type = FIELD_MAP, .required = true, .nullable = true,
     .doc = "What the processor still requires, as the processor sends it"},
    {.name = "current", .type = FIELD_BOOL, .required = true,
     .doc = "true: the status was just read from the processor; false: it is the last known status"},
};
static const struct schema status_schema = SCHEMA_OUT("ProcessorAccount", status_fields);
/* clang-format on */

/* --- the answer --- */

static int
reply_status(struct req *r, int status, const struct processor_account *account, bool current)
{
    struct jw w = resp_json(r);

    jw_obj(&w);
    JW_CSTR(&w, "mode", modes[account->mode == PROCESSOR_OWN]);
    JW_STR_OR_NULL(&w, "account_id", account->account);
    JW_BOOL(&w, "onboarding_complete", account->details_submitted && account->charges_enabled);
    JW_BOOL(&w, "charges_enabled", account->charges_enabled);
    JW_BOOL(&w, "payouts_enabled", account->payouts_enabled);
    JW_BOOL(&w, "details_submitted", account->details_submitted);
    JW_STR_OR_NULL(&w, "business_type", account->business_type);
    JW_STR_OR_NULL(&w, "country", account->country);
    JW_STR_OR_NULL(&w, "email", account->email);
    jw_lit(&w, "requirements");
    if (account->requirements.len)
        jw_raw(&w, account->requirements);
    else
        jw_null(&w);
    JW_BOOL(&w, "current", current);
    jw_obj_end(&w);
    return reply_json(r, status);
}

/* --- reported accounts --- */

static void take_reported_text(struct str *text, struct str reported)
{
    if (reported.len)
        *text = reported;
}

/* Merges the reported account into the known one. */
static void merge_reported(struct arena *arena,
                           const struct account_object *reported,
                           struct processor_account *account)
{
    account->account = reported->id;
    take_reported_text(&account->business_type, reported->business_type);
    take_reported_text(&account->country, reported->country);
    take_reported_text(&account->email, reported->email);
    account->charges_enabled = reported->charges_enabled;
    account->payouts_enabled = reported->payouts_enabled;
    account->details_submitted = reported->details_submitted;
    account->requirements =
        reported->requirements ? jr_print(arena, reported->requirements) : account->requirements;
}

static bool accounts_are_equal(const struct processor_account *a, const struct processor_account *b)
{
    return str_eq(a->account, b->account) && str_eq(a->business_type, b->business_type) &&
           str_eq(a->country, b->country) && str_eq(a->email, b->email) &&
           a->charges_enabled == b->charges_enabled && a->payouts_enabled == b->payouts_enabled &&
           a->details_submitted == b->details_submitted && str_eq(a->requirements, b->requirements);
}

static void connect_set_text(json_t *doc, const char *name, struct str text)
{
    if (text.len)
        (void)json_object_set_new(doc, name, json_stringn(text.ptr, text.len));
}

static void set_account(json_t *doc,
                        const struct account_object *reported,
                        const struct processor_account *account,
                        int64_t at_ms)
{
    char text[CLOCK_TEXT_BYTES];

    connect_set_text(doc, "account", account->account);
    connect_set_text(doc, "business_type", account->business_type);
    connect_set_text(doc, "country", account->country);
    connect_set_text(doc, "email", account->email);
    (void)json_object_set_new(doc, "charges_enabled", json_boolean(account->charges_enabled));
    (void)json_object_set_new(doc, "payouts_enabled", json_boolean(account->payouts_enabled));
    (void)json_object_set_new(doc, "details_submitted", json_boolean(account->details_submitted));
    if (reported->requirements)
        (void)json_object_set(doc, "requirements", (json_t *)reported->requirements);
    (void)json_object_set_new(doc, "event_at", json_string(clock_format(text, at_ms)));
    (void)json_object_del(doc, "event_id");
}

static int64_t floor_to_second(int64_t ms)
{
    return ms - ms % 1000;
}

/* Stores the document, with an audit row unless `audit` is NULL, and commits. */
AWAITS static int save_doc(struct req *r, json_t *doc, const struct db_call *audit)
{
    struct db_call calls[2] = {
        payment_settings_put(r->task.arena,
                             r->scope->project,
                             PAYMENT_SETTINGS_PROCESSOR,
                             jr_print(r->task.arena, doc),
                             STR_NONE),
    };

    if (audit)
        calls[1] = *audit;
    TRY(sql_batch(r, calls, audit ? 2 : 1));
    return sql_commit(r);
}

/* --- status --- */

/* Times of events have whole seconds. An event of the second in which our read began may be newer
 * than the read, so the event's data stays. */
static bool is_older_than_event(const json_t *doc, int64_t at_ms)
{
    int64_t event_ms;

    if (!clock_parse(jr_str(doc, "event_at"), &event_ms))
        return false;
    return event_ms > at_ms || (event_ms == at_ms && jr_str(doc, "event_id").len);
}

/* Stores the reported status, unless an event has stored newer data or the credentials have changed
 * since the read. */
AWAITS static int store_reported_status(struct req *r,
                                        const struct processor_account *known,
                                        const struct account_object *reported,
                                        const struct processor_account *account,
                                        int64_t at_ms)
{
    struct processor_account stored = {0};
    json_t *doc = NULL;

    TRY(sql_begin(r));
    TRY(pay_processor_lock(r, &doc, &stored));
    if (is_older_than_event(doc, at_ms) || !str_eq(stored.secret_key, known->secret_key) ||
        stored.mode != known->mode || !str_eq(stored.account, known->account))
        return sql_commit(r);
    set_account(doc, reported, account, at_ms);
    TRY(save_doc(r, doc, NULL));
    gateway_raise_epoch(r);
    return 0;
}

AWAITS static int connect_get(struct req *r)
{
    const struct payment_settings *settings;
    struct processor_reply reply = {0};
    struct account_object reported = {0};

    TRY(pay_settings_get(r, false, &settings));
    const struct processor_account *known = &settings->processor;
    bool own = known->mode == PROCESSOR_OWN;
    if (!known->secret_key.len || (!own && !known->account.len))
        return reply_status(r, 200, known, false);
    const struct processor_request request = {
        .method = "GET",
        .path = own ? STR("/v1/account")
                    : processor_path(r->task.arena, "/v1/accounts", known->account, ""),
        .platform = true,
        .limit_ms = STATUS_LIMIT_MS,
    };
    int64_t at_ms = floor_to_second(clock_wall_ms());
    int rc = processor_call(&r->task, settings, &request, &reply);
    if (rc < 0)
        return rc;
    if (rc || account_read(reply.body, &reported) || (!own && !str_eq(reported.id, known->account)))
        return reply_status(r, 200, known, false);
    struct processor_account account = *known;
    merge_reported(r->task.arena, &reported, &account);
    if (!accounts_are_equal(&account, known))
        TRY(store_reported_status(r, known, &reported, &account, at_ms));
    return reply_status(r, 200, &account, true);
}

/* --- creation --- */

/* Direct charges: the processor bears losses and collects the required information. The account
 * pays the processor's fees. */
static struct str account_form(struct req *r, const struct connect_in *in)
{
    struct form form;

    form_init(&form, r->task.arena);
    form_str(&form, "country", in->country.value);
    form_str(&form, "email", in->email.value);
    form_str(&form, "business_type", in->business_type.value);
    form_bool(&form, "capabilities[card_payments][requested]", true);
    form_bool(&form, "capabilities[transfers][requested]", true);
    form_str(&form, "controller[losses][payments]", STR("stripe"));
    form_str(&form, "controller[fees][payer]", STR("account"));
    form_str(&form, "controller[requirement_collection]", STR("stripe"));
    form_str(&form, "controller[stripe_dashboard][type]", STR("full"));
    form_str(&form, "metadata[project_id]", r->scope->project->slug);
    return form_text(&form);
}

/* The call to make: the stored call of another request, whose outcome is not known, otherwise the
 * call of this request. */
struct account_creation {
    struct str form, key;
    bool is_own_call;
    struct payment_settings settings; /* as stored now */
};

static struct str new_key(struct req *r)
{
    char salt[27];

    rand_ulid(salt);
    return processor_key(r->task.arena, r->scope->project, "account", 0, str_from(salt));
}

static bool
read_pending_call(struct arena *arena, const json_t *doc, struct account_creation *creation)
{
    const json_t *creating = json_object_get(doc, "creating");
    int64_t at_ms;

    if (!clock_parse(jr_str(creating, "at"), &at_ms) || clock_wall_ms() - at_ms > KEY_LIFE_MS)
        return false;
    creation->form = arena_dup(arena, jr_str(creating, "form"));
    creation->key = arena_dup(arena, jr_str(creating, "key"));
    return creation->key.len > 0;
}

AWAITS static int begin_creation(struct req *r, struct str form, struct account_creation *creation)
{
    struct processor_account account = {0};
    char at[CLOCK_TEXT_BYTES];
    json_t *doc = NULL;

    TRY(sql_begin(r));
    TRY(pay_processor_lock(r, &doc, &account));
    if (!account.secret_key.len)
        return fail(r,
                    PROBLEM_PAYMENTS_NOT_CONFIGURED,
                    "This project has no payment processor credentials: store them with PUT "
                    "/processor-connect/credentials.");
    if (account.mode == PROCESSOR_OWN)
        return fail(
            r,
            PROBLEM_CONFLICT,
            "This needs mode connect: the stored key belongs to the project's own account.");
    if (account.account.len)
        return fail(r,
                    PROBLEM_ALREADY_EXISTS,
                    "The project already has an account: %.*s.",
                    STR_ARG(account.account));
    creation->settings = (struct payment_settings){.processor = account};
    if (read_pending_call(r->task.arena, doc, creation)) {
        creation->is_own_call = str_eq(creation->form, form);
        return sql_commit(r);
    }
    creation->form = form;
    creation->key = new_key(r);
    creation->is_own_call = true;
    json_t *creating = json_object();
    connect_set_text(creating, "form", creation->form);
    connect_set_text(creating, "key", creation->key);
    (void)json_object_set_new(creating, "at", json_string(clock_format(at, clock_wall_ms())));
    (void)json_object_set_new(doc, "creating", creating);
    return save_doc(r, doc, NULL);
}

/* The call ended without an account. Removes it, so that the next request makes a new call. */
AWAITS static int end_creation(struct req *r, const struct account_creation *creation)
{
    struct processor_account account = {0};
    json_t *doc = NULL;

    TRY(sql_begin(r));
    TRY(pay_processor_lock(r, &doc, &account));
    if (!str_eq(jr_str(json_object_get(doc, "creating"), "key"), creation->key))
        return sql_commit(r);
    (void)json_object_del(doc, "creating");
    return save_doc(r, doc, NULL);
}

AWAITS static int store_created_account(struct req *r,
                                        const struct account_object *reported,
                                        int64_t at_ms,
                                        struct processor_account *ret)
{
    struct arena *arena = r->task.arena;
    struct processor_account account = {0};
    json_t *doc = NULL;

    TRY(sql_begin(r));
    TRY(pay_processor_lock(r, &doc, &account));
    if (account.account.len && !str_eq(account.account, reported->id))
        return fail(r,
                    PROBLEM_ALREADY_EXISTS,
                    "The project now has another account: %.*s.",
                    STR_ARG(account.account));
    bool known = account.account.len > 0; /* a concurrent request has stored it */
    merge_reported(arena, reported, &account);
    *ret = account;
    if (known)
        return sql_commit(r);
    set_account(doc, reported, &account, at_ms);
    (void)json_object_del(doc, "creating");
    struct db_call audit =
        gateway_audit(r,
                      "processor_account.create",
                      "processor",
                      0,
                      arena_printf(arena, "{\"account\":\"%.*s\"}", STR_ARG(reported->id)));
    TRY(save_doc(r, doc, &audit));
    gateway_raise_epoch(r);
    return 0;
}

/* Names our member: the body's members have the names of the processor's parameters. */
static int fail_create(struct req *r, int rc, const struct processor_reply *reply)
{
    if (rc != PROCESSOR_INVALID || !reply->param.len)
        return pay_fail(r, rc, reply);
    return fail_field(r,
                      arena_cstr(r->task.arena, reply->param),
                      PROBLEM_VALIDATION_FAILED,
                      "%.*s",
                      STR_ARG(reply->message));
}

/* Whether this key can no longer create an account: the call was refused, not carried out, or
 * failed for good. */
static bool is_final_failure(int rc, const struct processor_reply *reply)
{
    return processor_is_refusal(rc) || processor_is_not_done(rc, reply) ||
           rc == PROCESSOR_REUSED_KEY || (rc == PROCESSOR_UNAVAILABLE && reply->replayed);
}

/* Returns 0 when the call of another request was repeated and has failed: the caller then makes the
 * call of this request. */
AWAITS static int create_or_repeat(struct req *r, struct str form)
{
    struct processor_reply reply = {0};
    struct processor_account account = {0};
    struct account_object reported = {0};
    struct account_creation creation = {0};

    TRY(begin_creation(r, form, &creation));
    const struct processor_request request = {
        .method = "POST",
        .path = STR("/v1/accounts"),
        .form = creation.form,
        .key = creation.key,
        .platform = true,
    };
    int64_t at_ms = floor_to_second(clock_wall_ms());
    int rc = processor_call(&r->task, &creation.settings, &request, &reply);
    if (rc < 0)
        return rc;
    if (rc == 0 && account_read(reply.body, &reported) != 0)
        rc = PROCESSOR_OUTCOME_UNKNOWN;
    if (is_final_failure(rc, &reply)) {
        TRY(end_creation(r, &creation));
        return creation.is_own_call ? fail_create(r, rc, &reply) : 0;
    }
    if (rc)
        return pay_fail(r, rc, &reply);
    TRY(store_created_account(r, &reported, at_ms, &account));
    if (!creation.is_own_call)
        return fail(r,
                    PROBLEM_ALREADY_EXISTS,
                    "The project's account, %.*s, was created by an earlier request.",
                    STR_ARG(account.account));
    resp_header(r, "Location", r->path);
    return reply_status(r, 201, &account, true);
}

static bool connect_read_country(struct req *r, struct in_str *country)
{
    country->value = arena_upper(r->task.arena, country->value);
    return ascii_has_only(country->value, ASCII_UPPER, "");
}

AWAITS static int connect_create(struct req *r)
{
    struct connect_in in;

    TRY(req_json(r, &connect_schema, &in));
    if (!connect_read_country(r, &in.country))
        return fail_field(r, "country", PROBLEM_PATTERN, "must be a country code of two letters");
    struct str form = account_form(r, &in);
    TRY(create_or_repeat(r, form));
    TRY(create_or_repeat(r, form));
    return fail(r,
                PROBLEM_CONFLICT,
                "Other requests are creating the account at the same time; try again.");
}

/* --- onboarding --- */

/* A link can be used once, within minutes, so each request creates a new one. */
AWAITS static int onboarding_create(struct req *r)
{
    const struct payment_settings *settings;
    struct processor_reply reply = {0};
    struct onboarding_in in;
    struct form form;
    char salt[27];

    TRY(req_json(r, &onboarding_schema, &in));
    TRY(pay_settings_get(r, false, &settings));
    if (settings->processor.secret_key.len && settings->processor.mode == PROCESSOR_OWN)
        return fail(
            r,
            PROBLEM_CONFLICT,
            "This needs mode connect: the stored key belongs to the project's own account.");
    if (!settings->processor.secret_key.len || !settings->processor.account.len)
        return fail(r,
                    PROBLEM_PAYMENTS_NOT_CONFIGURED,
                    "The project has no account at the processor yet: create it first.");
    form_init(&form, r->task.arena);
    form_str(&form, "account", settings->processor.account);
    form_str(&form, "type", STR("account_onboarding"));
    form_str(&form, "return_url", in.return_url.value);
    form_str(&form, "refresh_url", in.refresh_url.value);
    rand_ulid(salt);
    const struct processor_request request = {
        .method = "POST",
        .path = STR("/v1/account_links"),
        .form = form_text(&form),
        .key = processor_key(r->task.arena, r->scope->project, "onboarding", 0, str_from(salt)),
        .platform = true,
        .limit_ms = LINK_LIMIT_MS,
    };
    int rc = processor_call(&r->task, settings, &request, &reply);
    if (rc == PROCESSOR_OUTCOME_UNKNOWN) /* a link that was not received does no harm: try again */
        rc = PROCESSOR_UNAVAILABLE;
    if (rc)
        return rc == PROCESSOR_INVALID ? fail_create(r, rc, &reply) : pay_fail(r, rc, &reply);
    struct str url = jr_str(reply.body, "url");
    int64_t expires_ms = object_time_ms(reply.body, "expires_at");
    if (!url.len)
        return fail(r, PROBLEM_PROVIDER_ERROR, "The processor's answer has no link.");
    struct jw w = resp_json(r);
    jw_obj(&w);
    JW_STR(&w, "url", url);
    jw_lit(&w, "expires_at");
    if (expires_ms)
        jw_time(&w, expires_ms);
    else
        jw_null(&w);
    jw_obj_end(&w);
    return reply_json(r, 200);
}

static const struct route processor_connect_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = PAYMENTS_BASE "/processor-connect",
        .id = "processor_connect_get",
        .auth = AUTH_ADMIN,
        .success = {200, &status_schema},
        .run = connect_get,
        .summary = "Read the project's account at the processor",
        .doc = "Reads the account from the processor. When the processor cannot be reached the "
               "answer is the last known status.",
    },
    {
        .method = HTTP_POST_M,
        .path = PAYMENTS_BASE "/processor-connect",
        .id = "processor_connect_create",
        .auth = AUTH_ADMIN,
        .body = &connect_schema,
        .success = {201, &status_schema},
        .extra_statuses = {409, 502},
        .run = connect_create,
        .summary = "Create the project's account at the processor",
        .doc = "A project gets one account, however often this is requested. When the outcome of a "
               "request is unknown, the next request settles it.",
    },
    {
        .method = HTTP_POST_M,
        .path = PAYMENTS_BASE "/processor-connect/onboarding",
        .id = "processor_connect_onboarding",
        .auth = AUTH_ADMIN,
        .body = &onboarding_schema,
        .success = {200, &link_schema},
        .extra_statuses = {409, 502},
        .run = onboarding_create,
        .summary = "Get a link to the processor's onboarding",
    },
};
ROUTES(processor_connect, "Payments");
