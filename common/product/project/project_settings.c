/* Settings of a project: schema, defaults, merge, JSON, storage. */
#include "project/project_settings.h"

#include "base/ascii.h"
#include "base/clock.h"
#include "base/num.h"
#include "base/secret_mask.h"
#include "base/timezone.h"
#include "log/log.h"
#include "project/project_private.h"
#include "project/redirect.h"
#include "project/unseal.h"
#include "project_sql.h"

#define DAY_SECONDS       86400
#define ITEMS_MAX         50
#define URL_BYTES         2048
#define DOC_BYTES_MAX     (1U << 20U)
#define ORIGIN_PORT_MAX   65535
#define STORAGE_QUOTA_MAX 9007199254740991 /* exact in every JSON parser */
#define FILE_ID_MAX       STORAGE_QUOTA_MAX

#define SETTING_I64(member, low, high, text)                                                       \
    {                                                                                              \
        .name = #member, FIELD_AT(struct project_settings_patch, member), .type = FIELD_I64,       \
        .nullable = true, .has_min = true, .min = (low), .has_max = true, .max = (high),           \
        .doc = (text)                                                                              \
    }
#define SETTING_BOOL(member, text)                                                                 \
    {                                                                                              \
        .name = #member, FIELD_AT(struct project_settings_patch, member), .type = FIELD_BOOL,      \
        .nullable = true, .doc = (text)                                                            \
    }
#define SETTING_STR(member, most, kind, text)                                                      \
    {                                                                                              \
        .name = #member, FIELD_AT(struct project_settings_patch, member), .type = FIELD_STR,       \
        .nullable = true, .max = (most), .format = (kind), .doc = (text)                           \
    }

static const struct field settings_fields[] = {
    {
        .name = "redirect_urls",
        FIELD_AT(struct project_settings_patch, redirect_urls),
        .type = FIELD_STRS,
        .nullable = true,
        .max = ITEMS_MAX,
        .doc = "Addresses that sign-in, consents and links in mails may redirect to (redirect_to): "
               "pages without wildcards, and addresses of apps (RFC 8252)",
        .example = "[\"https://app.example.com/signed-in\",\"com.example.app:/signed-in\"]",
    },
    SETTING_I64(password_min_length, 8, 128, "Minimum number of characters in a password"),
    SETTING_I64(access_token_seconds, 60, DAY_SECONDS, "Lifetime of an access token, in seconds"),
    SETTING_I64(refresh_token_seconds,
                60,
                365 * DAY_SECONDS,
                "Lifetime of an unused refresh token, in seconds"),
    SETTING_I64(session_seconds,
                60,
                2 * 365 * DAY_SECONDS,
                "Lifetime of a session, in seconds, even if it is in use"),
    SETTING_BOOL(sign_up, "External sign-in may create accounts"),
    SETTING_BOOL(
        require_confirmed_email,
        "Users must confirm their e-mail address before they sign in, including users that "
        "an administrator creates with a password"),
    SETTING_BOOL(default_row_level_security, "New entities start with row-level security"),
    SETTING_I64(rate_read, 0, 1e6, "Reads per minute and caller; 0 = no limit"),
    SETTING_I64(rate_write, 0, 1e6, "Writes per minute and caller; 0 = no limit"),
    SETTING_I64(rate_heavy,
                0,
                1e6,
                "Exports, imports and similar calls per minute and caller; 0 = no limit"),
    SETTING_I64(storage_quota,
                0,
                STORAGE_QUOTA_MAX,
                "Maximum total size of the project's files, in bytes; 0 = no limit, unless the "
                "operator sets one"),
    SETTING_I64(rate_sign_in_account, 1, 1e6, "Sign-in attempts per minute and account"),
    SETTING_I64(rate_sign_in_address, 1, 1e6, "Sign-in attempts per minute and client address"),
    SETTING_STR(oidc_issuer, URL_BYTES, "url", "OpenID Connect issuer of external sign-in"),
    SETTING_BOOL(link_verified_email,
                 "An identity whose e-mail address the issuer has verified signs in to the account "
                 "with this address, even to an administrator's account; if false, only an "
                 "address in one of Google's own domains does"),
    SETTING_BOOL(oidc_trust_email,
                 "E-mail addresses of the issuer count as verified if its tokens have no "
                 "email_verified, such as those of Entra. Use it only for an issuer whose users "
                 "cannot choose their address. It does not override an email_verified of false"),
    SETTING_STR(oidc_client_id, 512, NULL, "Client id at the issuer"),
    {
        .name = "oidc_client_secret",
        FIELD_AT(struct project_settings_patch, oidc_client_secret),
        .type = FIELD_STR,
        .nullable = true,
        .max = 1024,
        .doc = "Client secret at the issuer. Answers show ********; send ******** to keep it",
        .example = "\"" SECRET_MASK "\"",
    },
    SETTING_STR(mail_sender,
                254,
                "email",
                "Sender of mail for which neither the template's sender address nor the default "
                "one is on a verified domain. If the domain of mail_sender is not verified, such "
                "mail is sent from the operator's address"),
    SETTING_STR(timezone,
                64,
                NULL,
                "IANA time zone of dates and times without an offset, such as Europe/Berlin; "
                "default: UTC"),
    SETTING_STR(
        locale,
        64,
        NULL,
        "Language whose order is used to sort and compare texts (gt, gte, lt, lte, between, min, "
        "max, groups), such as de, sv or en-GB; default: the order of Unicode's root collation. "
        "Equality, prefixes and uniqueness do not depend on the locale"),
    SETTING_STR(
        auth_page_url,
        URL_BYTES,
        NULL,
        "Page or app that links in mails open, with #type=...&token=...; default: the project's "
        "own page at /auth/ui/, or the first of redirect_urls if the service has no such page. "
        "Without either no mail with a link is sent: mails of recover and magic-link appear in GET "
        "/mail/log as dropped, with the code no_page"),
    {
        .name = "accent_color",
        FIELD_AT(struct project_settings_patch, accent_color),
        .type = FIELD_STR,
        .nullable = true,
        .max = 7,
        .doc = "Color of buttons and links on the page /auth/ui/, as #rrggbb. Texts on it, and "
               "links, get a color of sufficient contrast",
        .example = "\"#1f5fd0\"",
    },
    SETTING_I64(logo_file_id,
                1,
                FILE_ID_MAX,
                "Logo on the page /auth/ui/: a public file that is a PNG, JPEG, GIF, WebP or AVIF"),
};
const struct schema project_settings_schema =
    SCHEMA("ProjectSettings", struct project_settings_patch, settings_fields);

#define ORIGINS_FIELD(...)                                                                         \
    {                                                                                              \
        .name = "allowed_origins", .type = FIELD_STRS, .max = ITEMS_MAX,                           \
        .doc = "Origins of the pages from which browsers may call; * = any",                       \
        .example = "[\"https://app.example.com\"]", __VA_ARGS__                                    \
    }

static const struct field project_fields[] = {
    {
        .name = "name",
        FIELD_AT(struct project_patch, name),
        .type = FIELD_STR,
        .min = 1,
        .max = 200,
        .doc = "Display name",
        .example = "\"Shop\"",
    },
    ORIGINS_FIELD(FIELD_AT(struct project_patch, allowed_origins), .nullable = true),
    {
        .name = "settings",
        FIELD_AT(struct project_patch, settings),
        .type = FIELD_OBJ,
        .sub = &project_settings_schema,
    },
};
const struct schema project_schema = SCHEMA("ProjectUpdate", struct project_patch, project_fields);

static const struct field project_out_fields[] = {
    {.name = "project_id", .type = FIELD_STR, .required = true, .format = "slug"},
    {.name = "name", .type = FIELD_STR, .required = true},
    ORIGINS_FIELD(.required = true),
    {.name = "settings", .type = FIELD_OBJ, .required = true, .sub = &project_settings_schema},
    {.name = "warnings",
     .type = FIELD_STRS,
     .required = true,
     .doc = "Features that do not work with these settings, and what to set for each"},
    {.name = "created_at", .type = FIELD_TIME, .required = true},
    {.name = "updated_at", .type = FIELD_TIME, .required = true},
};
const struct schema project_out_schema = SCHEMA_OUT("Project", project_out_fields);

void project_settings_set_default(struct project_settings *ret_settings)
{
    *ret_settings = (struct project_settings){
        .password_min_length = 8,
        .access_token_seconds = 3600,
        .refresh_token_seconds = 30LL * DAY_SECONDS,
        .session_seconds = 90LL * DAY_SECONDS,
        .default_row_level_security = true,
        .rate_sign_in_account = 10,
        .rate_sign_in_address = 30,
    };
}

/* --- the operator's settings --- */

static struct project_rates ceilings;
static bool has_own_page;

void project_settings_ceilings(const struct project_rates *rates)
{
    ceilings = *rates;
}

void project_settings_has_own_page(bool has_page)
{
    has_own_page = has_page;
}

/* 0 means no limit, so it is above every ceiling. */
static bool rate_exceeds(int64_t rate, int64_t ceiling)
{
    return ceiling > 0 && (rate > ceiling || rate == 0);
}

static void rate_cut(int64_t *rate, int64_t ceiling)
{
    if (rate_exceeds(*rate, ceiling))
        *rate = ceiling;
}

static void cut_rates(struct project_settings *settings)
{
    rate_cut(&settings->rate_read, ceilings.read);
    rate_cut(&settings->rate_write, ceilings.write);
    rate_cut(&settings->rate_heavy, ceilings.heavy);
    rate_cut(&settings->storage_quota, ceilings.storage);
    rate_cut(&settings->rate_sign_in_account, ceilings.sign_in);
    rate_cut(&settings->rate_sign_in_address, ceilings.sign_in);
}

static void check_rate(struct arena *arena,
                       const char *name,
                       const struct in_i64 *in,
                       int64_t ceiling,
                       struct schema_errors *errors)
{
    if (in->set && !in->null && rate_exceeds(in->value, ceiling))
        schema_error_add(arena,
                         errors,
                         arena_printf(arena, "settings.%s", name),
                         PROBLEM_OUT_OF_RANGE,
                         "exceeds the operator's limit of %lld (0 means no limit)",
                         (long long)ceiling);
}

static void check_rates(struct arena *arena,
                        const struct project_settings_patch *in,
                        struct schema_errors *errors)
{
    check_rate(arena, "rate_read", &in->rate_read, ceilings.read, errors);
    check_rate(arena, "rate_write", &in->rate_write, ceilings.write, errors);
    check_rate(arena, "rate_heavy", &in->rate_heavy, ceilings.heavy, errors);
    check_rate(arena, "storage_quota", &in->storage_quota, ceilings.storage, errors);
    check_rate(arena, "rate_sign_in_account", &in->rate_sign_in_account, ceilings.sign_in, errors);
    check_rate(arena, "rate_sign_in_address", &in->rate_sign_in_address, ceilings.sign_in, errors);
}

/* --- checks --- */

static bool only_lower_and(struct str text, const char *others)
{
    return text.len > 0 && ascii_has_only(text, ASCII_LOWER | ASCII_DIGIT, others);
}

/* The serialised form that browsers send (RFC 6454 section 6.2): lower case, no path, no user. */
static bool origin_ok(struct str origin)
{
    int64_t port;

    if (str_is(origin, "*"))
        return true;
    if (origin.len > 300)
        return false;
    struct str rest = origin;
    struct str scheme = str_split(&rest, ':');
    if (!only_lower_and(scheme, "+.-") || scheme.ptr[0] < 'a' || !rest.ptr ||
        !str_starts(rest, STR("//")))
        return false;
    rest = (struct str){rest.ptr + 2, rest.len - 2};

    struct str host;
    if (rest.len > 0 && rest.ptr[0] == '[') { /* an IPv6 address */
        host = str_split(&rest, ']');
        if (rest.ptr == NULL || (rest.len > 0 && rest.ptr[0] != ':') ||
            !only_lower_and((struct str){host.ptr + 1, host.len - 1}, ":."))
            return false;
        rest = rest.len > 0 ? (struct str){rest.ptr + 1, rest.len - 1} : STR_NONE;
    } else {
        host = str_split(&rest, ':');
        if (!only_lower_and(host, ".-_"))
            return false;
    }
    return rest.ptr == NULL || (num_parse_i64(rest, &port) && port > 0 && port <= ORIGIN_PORT_MAX);
}

/* Lengths are bounded because a sign-in sends the URL back in one header. */
static void
check_redirects(struct arena *arena, const struct in_strs *urls, struct schema_errors *errors)
{
    for (size_t i = 0; i < urls->count; i++) {
        struct str at = arena_printf(arena, "settings.redirect_urls[%zu]", i);
        const char *fault = redirect_url_fault(urls->items[i]);
        if (fault)
            schema_error_add(arena, errors, at, PROBLEM_PATTERN, "%s", fault);
        else if (urls->items[i].len > URL_BYTES)
            schema_error_add(
                arena, errors, at, PROBLEM_TOO_LONG, "must be at most %d bytes", URL_BYTES);
    }
}

static void check_page(struct arena *arena, const struct in_str *page, struct schema_errors *errors)
{
    const char *fault = page->value.ptr ? redirect_url_fault(page->value) : NULL;

    if (fault)
        schema_error_add(
            arena, errors, STR("settings.auth_page_url"), PROBLEM_PATTERN, "%s", fault);
}

static bool color_ok(struct str color)
{
    bool is_ok = color.len == 7 && color.ptr[0] == '#';

    for (size_t i = 1; is_ok && i < color.len; i++)
        is_ok = ascii_hex(color.ptr[i]) >= 0;
    return is_ok;
}

static void
check_color(struct arena *arena, const struct in_str *color, struct schema_errors *errors)
{
    if (color->value.ptr && !color_ok(color->value))
        schema_error_add(arena,
                         errors,
                         STR("settings.accent_color"),
                         PROBLEM_PATTERN,
                         "must be a color such as #1f5fd0");
}

static struct str shown_secret(const struct project_settings *settings)
{
    return settings != NULL && settings->oidc_client_secret.len > 0 ? STR(SECRET_MASK) : STR_NONE;
}

bool project_patch_check(struct arena *arena,
                         const struct project_patch *in,
                         const struct project_settings *stored,
                         struct schema_errors *errors)
{
    const struct project_settings_patch *settings = in->settings.value;
    size_t before = errors->count;

    for (size_t i = 0; i < in->allowed_origins.count; i++)
        if (!origin_ok(in->allowed_origins.items[i]))
            schema_error_add(arena,
                             errors,
                             arena_printf(arena, "allowed_origins[%zu]", i),
                             PROBLEM_PATTERN,
                             "must be scheme://host[:port] in lower case, or *");
    if (settings != NULL)
        check_redirects(arena, &settings->redirect_urls, errors);
    if (settings != NULL)
        check_page(arena, &settings->auth_page_url, errors);
    if (settings != NULL)
        check_color(arena, &settings->accent_color, errors);
    if (settings != NULL)
        check_rates(arena, settings, errors);
    if (settings != NULL && settings->timezone.value.ptr != NULL &&
        timezone_find(settings->timezone.value) == NULL)
        schema_error_add(arena,
                         errors,
                         STR("settings.timezone"),
                         PROBLEM_PATTERN,
                         "must name an IANA time zone, such as Europe/London");
    if (settings != NULL && secret_classify(settings->oidc_client_secret.value,
                                            shown_secret(stored)) == SECRET_WRONG_MASK)
        schema_error_add(arena,
                         errors,
                         STR("settings.oidc_client_secret"),
                         PROBLEM_VALIDATION_FAILED,
                         "%s",
                         SECRET_MASK_WRONG);
    return errors->count == before;
}

int project_patch_check_locale(struct task *task,
                               struct project *project,
                               struct project_patch *in,
                               struct schema_errors *errors)
{
    struct project_settings_patch *settings = in->settings.value;
    struct rows rows;

    if (settings == NULL || settings->locale.value.ptr == NULL)
        return 0;
    TRY(db_query(task, &project->db, SQL_PROJECT_LOCALE(.locale = settings->locale.value), &rows));
    if (rows.count > 0)
        settings->locale.value = sql_project_locale_row(&rows, 0).locale;
    else
        schema_error_add(task->arena,
                         errors,
                         STR("settings.locale"),
                         PROBLEM_PATTERN,
                         "must be a language that the database has a collation for, such as de, "
                         "sv, en-GB or zh-Hant");
    return 0;
}

int project_patch_check_logo(struct task *task,
                             struct project *project,
                             const struct project_patch *in,
                             struct schema_errors *errors)
{
    const struct project_settings_patch *settings = in->settings.value;
    struct rows rows;

    if (settings == NULL || !settings->logo_file_id.set || settings->logo_file_id.null)
        return 0;
    TRY(db_query(task, &project->db, SQL_PROJECT_LOGO(.id = settings->logo_file_id.value), &rows));
    if (rows.count == 0)
        schema_error_add(task->arena,
                         errors,
                         STR("settings.logo_file_id"),
                         PROBLEM_VALIDATION_FAILED,
                         "must be the id of a public file that is a PNG, JPEG, GIF, WebP or AVIF");
    return 0;
}

/* --- merge --- */

static void merge_i64(int64_t *value, const struct in_i64 *in, int64_t fallback)
{
    if (in->set)
        *value = in->null ? fallback : in->value;
}

static void merge_bool(bool *value, const struct in_bool *in, bool fallback)
{
    if (in->set)
        *value = in->null ? fallback : in->value;
}

static void merge_str(struct str *value, const struct in_str *in)
{
    if (in->set)
        *value = in->null ? STR_NONE : in->value;
}

static void merge_strs(struct str **items, size_t *count, const struct in_strs *in)
{
    if (!in->set)
        return;
    *items = in->null ? NULL : in->items;
    *count = in->null ? 0 : in->count;
}

void project_settings_merge(struct project_settings *settings,
                            const struct project_patch *project_in)
{
    const struct project_settings_patch *in = project_in->settings.value;
    struct project_settings fallback;

    merge_strs(
        &settings->allowed_origins, &settings->allowed_origin_count, &project_in->allowed_origins);
    if (!project_in->settings.set || in == NULL)
        return;
    project_settings_set_default(&fallback);
    merge_strs(&settings->redirect_urls, &settings->redirect_url_count, &in->redirect_urls);
#define MERGE_I64(member)  merge_i64(&settings->member, &in->member, fallback.member)
#define MERGE_BOOL(member) merge_bool(&settings->member, &in->member, fallback.member)
    MERGE_I64(password_min_length);
    MERGE_I64(access_token_seconds);
    MERGE_I64(refresh_token_seconds);
    MERGE_I64(session_seconds);
    MERGE_BOOL(sign_up);
    MERGE_BOOL(link_verified_email);
    MERGE_BOOL(oidc_trust_email);
    MERGE_BOOL(require_confirmed_email);
    MERGE_BOOL(default_row_level_security);
    MERGE_I64(rate_read);
    MERGE_I64(rate_write);
    MERGE_I64(rate_heavy);
    MERGE_I64(storage_quota);
    MERGE_I64(rate_sign_in_account);
    MERGE_I64(rate_sign_in_address);
    MERGE_I64(logo_file_id);
#undef MERGE_I64
#undef MERGE_BOOL
    merge_str(&settings->oidc_issuer, &in->oidc_issuer);
    merge_str(&settings->oidc_client_id, &in->oidc_client_id);
    merge_str(&settings->mail_sender, &in->mail_sender);
    merge_str(&settings->auth_page_url, &in->auth_page_url);
    merge_str(&settings->accent_color, &in->accent_color);
    merge_str(&settings->timezone, &in->timezone);
    merge_str(&settings->locale, &in->locale);
    if (secret_classify(in->oidc_client_secret.value, STR(SECRET_MASK)) == SECRET_NEW)
        merge_str(&settings->oidc_client_secret, &in->oidc_client_secret);
}

/* --- JSON --- */

static void json_strs(struct jw *w, const char *name, const struct str *items, size_t count)
{
    jw_lit(w, name);
    jw_arr(w);
    for (size_t i = 0; i < count; i++)
        jw_str(w, items[i]);
    jw_arr_end(w);
}

static void json_str(struct jw *w, const char *name, struct str text)
{
    jw_lit(w, name);
    if (text.len > 0)
        jw_str(w, text);
    else
        jw_null(w);
}

/* All members except origins and secret, which differ between the API and the stored document. */
static void json_members(struct jw *w, const struct project_settings *settings)
{
    json_strs(w, "redirect_urls", settings->redirect_urls, settings->redirect_url_count);
    JW_I64(w, "password_min_length", settings->password_min_length);
    JW_I64(w, "access_token_seconds", settings->access_token_seconds);
    JW_I64(w, "refresh_token_seconds", settings->refresh_token_seconds);
    JW_I64(w, "session_seconds", settings->session_seconds);
    JW_BOOL(w, "sign_up", settings->sign_up);
    JW_BOOL(w, "link_verified_email", settings->link_verified_email);
    JW_BOOL(w, "oidc_trust_email", settings->oidc_trust_email);
    JW_BOOL(w, "require_confirmed_email", settings->require_confirmed_email);
    JW_BOOL(w, "default_row_level_security", settings->default_row_level_security);
    JW_I64(w, "rate_read", settings->rate_read);
    JW_I64(w, "rate_write", settings->rate_write);
    JW_I64(w, "rate_heavy", settings->rate_heavy);
    JW_I64(w, "storage_quota", settings->storage_quota);
    JW_I64(w, "rate_sign_in_account", settings->rate_sign_in_account);
    JW_I64(w, "rate_sign_in_address", settings->rate_sign_in_address);
    json_str(w, "oidc_issuer", settings->oidc_issuer);
    json_str(w, "oidc_client_id", settings->oidc_client_id);
    json_str(w, "mail_sender", settings->mail_sender);
    json_str(w, "auth_page_url", settings->auth_page_url);
    json_str(w, "accent_color", settings->accent_color);
    jw_lit(w, "logo_file_id");
    if (settings->logo_file_id > 0)
        jw_i64(w, settings->logo_file_id);
    else
        jw_null(w);
    json_str(w, "timezone", settings->timezone);
    json_str(w, "locale", settings->locale);
}

void project_settings_json(struct jw *w, const struct project_settings *settings)
{
    jw_obj(w);
    json_members(w, settings);
    json_str(w, "oidc_client_secret", shown_secret(settings));
    jw_obj_end(w);
}

static void json_warnings(struct jw *w, const struct project_settings *settings)
{
    jw_lit(w, "warnings");
    jw_arr(w);
    if (!settings->auth_page_url.len && settings->redirect_url_count == 0 && !has_own_page)
        jw_str(w,
               STR("No mail with a link is sent (invitation, confirmation, recovery, magic link, "
                   "change of address): set settings.auth_page_url, the page that links open. The "
                   "service has a page for all projects when its operator sets "
                   "GROUNDWORK_PUBLIC_URL and GROUNDWORK_CONSOLE."));
    jw_arr_end(w);
}

void project_json_members(struct jw *w, const struct project *project)
{
    const struct project_settings *settings = &project->settings;

    JW_STR(w, "project_id", project->slug);
    JW_STR(w, "name", project->name);
    json_strs(w, "allowed_origins", settings->allowed_origins, settings->allowed_origin_count);
    jw_lit(w, "settings");
    project_settings_json(w, settings);
    json_warnings(w, settings);
    jw_lit(w, "created_at");
    jw_time(w, project->created_ms);
    jw_lit(w, "updated_at");
    jw_time(w, project->updated_ms);
}

/* --- storage --- */

static struct str secret_aad(struct arena *arena, const struct project *project)
{
    return aad_setting(arena, project->number, STR("setting"), STR("project"));
}

/* Reads stored settings. A value that today's bounds refuse falls back to its default: a project
 * must load even if an older release stored the value. */
static void parse_stored(struct arena *arena,
                         const struct project *project,
                         struct str text,
                         struct str sealed,
                         struct project_settings *ret_settings)
{
    struct schema_errors errors = {0};
    struct project_settings_patch settings;
    struct project_patch in = {.settings = {.set = true, .value = &settings}};
    struct jr_error error;
    json_t *doc;

    project_settings_set_default(ret_settings);
    if (!text.ptr || jr_parse(arena, text, &doc, &error) != 0)
        return;
    json_t *origins = json_object_get(doc, "allowed_origins");
    in.allowed_origins.set = json_is_array(origins);
    in.allowed_origins.count = json_array_size(origins);
    in.allowed_origins.items =
        ARENA_ARRAY(arena, in.allowed_origins.items, json_array_size(origins));
    for (size_t i = 0; i < in.allowed_origins.count; i++)
        in.allowed_origins.items[i] = /* the array is deleted below */
            arena_dup(arena, str_from(json_string_value(json_array_get(origins, i))));
    if (origins != NULL)
        (void)json_object_del(doc, "allowed_origins");
    if (!schema_decode(arena, &project_settings_schema, doc, &settings, &errors))
        log_debug("settings.stored_bad", L_STR("field", errors.items[0].field));
    project_settings_merge(ret_settings, &in);

    if (!sealed.ptr)
        return;
    if (aead_open(arena,
                  project->data_keys,
                  project->data_key_count,
                  sealed,
                  secret_aad(arena, project),
                  &ret_settings->oidc_client_secret) != 0)
        log_warn("settings.secret_unreadable", L_STR("project", project->slug));
}

int settings_read(struct task *task,
                  struct project *project,
                  struct arena *arena,
                  struct project_settings *ret_settings,
                  int64_t *ret_model_version)
{
    struct rows rows;

    int rc = db_query(task, &project->db, SQL_PROJECT_STATE(), &rows);
    if (rc != 0)
        return rc;
    const struct sql_project_state_row row = sql_project_state_row(task->arena, &rows, 0);
    rc = data_keys_update(task, project, row.key_ids, row.key_texts);
    if (rc != 0)
        return rc;
    parse_stored(arena, project, row.doc, row.sealed, ret_settings);
    cut_rates(ret_settings);
    ret_settings->collation = arena_dup(arena, row.collation);
    *ret_model_version = row.model_version;
    return 0;
}

static struct str print_stored(struct arena *arena, const struct project_settings *settings)
{
    struct strbuf out;
    struct jw w;

    strbuf_init(&out, arena, DOC_BYTES_MAX);
    jw_init(&w, &out);
    jw_obj(&w);
    json_strs(&w, "allowed_origins", settings->allowed_origins, settings->allowed_origin_count);
    json_members(&w, settings);
    jw_obj_end(&w);
    return strbuf_view(&out);
}

static bool patch_keeps_secret(const struct project_patch *in)
{
    const struct project_settings_patch *settings = in->settings.set ? in->settings.value : NULL;

    return settings == NULL || !settings->oidc_client_secret.set ||
           secret_classify(settings->oidc_client_secret.value, STR(SECRET_MASK)) != SECRET_NEW;
}

int project_settings_save(struct task *task,
                          struct directory *directory,
                          struct project *project,
                          struct db *tx,
                          const struct project_patch *in,
                          const struct db_call *audit)
{
    struct project_settings settings;
    struct rows rows;
    struct db_call calls[3] = {{0}};
    size_t count = 1;

    TRY(db_query(task, tx, SQL_PROJECT_SETTINGS_LOCK(), &rows));
    const struct sql_project_settings_lock_row row =
        sql_project_settings_lock_row(task->arena, &rows, 0);
    parse_stored(task->arena, project, row.doc, row.sealed, &settings);
    const struct str locale = settings.locale;
    project_settings_merge(&settings, in);

    /* An unchanged secret stays sealed as it is: its key may be one that this process does not know
     * yet. */
    struct str sealed = STR_NONE;
    if (patch_keeps_secret(in))
        sealed = row.sealed;
    else if (settings.oidc_client_secret.len > 0)
        sealed = aead_seal(task->arena,
                           &project->data_key,
                           settings.oidc_client_secret,
                           secret_aad(task->arena, project));
    calls[0] = db_call(
        SQL_PROJECT_SETTINGS_SET(.doc = print_stored(task->arena, &settings), .sealed = sealed));
    if (!str_eq(settings.locale, locale))
        calls[count++] = db_call(SQL_PROJECT_VIEWS_AGAIN());
    if (audit != NULL)
        calls[count++] = *audit;
    TRY(db_batch(task, tx, calls, count, NULL));
    return db_query(task,
                    directory_control(directory),
                    SQL_PROJECT_RENAME(.number = project->number,
                                       .name = in->name.set ? in->name.value : STR_NONE),
                    NULL);
}

/* --- times --- */

bool project_time_parse(const struct project *project, struct str text, int64_t *ret_wall_ms)
{
    struct clock_reading reading;

    if (!clock_read(text, &reading))
        return false;
    *ret_wall_ms = reading.local_ms - reading.offset_ms;
    if (reading.has_offset || project == NULL || project->settings.timezone.len == 0)
        return true;
    const struct timezone_rules *zone = timezone_find(project->settings.timezone);
    int64_t local_s = floor_div(reading.local_ms, 1000);
    if (zone != NULL)
        *ret_wall_ms =
            timezone_from_local(zone, local_s) * 1000 + reading.local_ms - local_s * 1000;
    return true;
}
