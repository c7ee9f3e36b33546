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

#define DAY_SECONDS     86400LL
#define ITEMS_MAX       50
#define URL_BYTES       2048
#define DOC_BYTES_MAX   (1U << 20U)
#define ORIGIN_PORT_MAX 65535
#define EXACT_MAX       9007199254740991 /* every JSON parser reads it exactly */

/* --- checks of texts: the fault as a message about a member, or NULL --- */

static const char *color_fault(struct str color)
{
    bool is_ok = color.len == 7 && color.ptr[0] == '#';

    for (size_t i = 1; is_ok && i < color.len; i++)
        is_ok = ascii_hex(color.ptr[i]) >= 0;
    return is_ok ? NULL : "must be a color such as #1f5fd0";
}

static const char *timezone_fault(struct str name)
{
    return timezone_find(name) != NULL ? NULL
                                       : "must name an IANA time zone, such as Europe/London";
}

/* --- schema --- */

#define SETTING_FIELD(member, ...)                                                                 \
    {.name = #member,                                                                              \
     FIELD_AT(struct project_settings_patch, member),                                              \
     .nullable = true,                                                                             \
     __VA_ARGS__},
static const struct field settings_fields[] = {
#define SETTING_I64(member, low, high, fallback, text)                                             \
    SETTING_FIELD(member,                                                                          \
                  .type = FIELD_I64,                                                               \
                  .has_min = true,                                                                 \
                  .min = (low),                                                                    \
                  .has_max = true,                                                                 \
                  .max = (high),                                                                   \
                  .doc = (text))
#define SETTING_ID(member, text) SETTING_I64(member, 1, EXACT_MAX, 0, text)
#define SETTING_BOOL(member, fallback, text)                                                       \
    SETTING_FIELD(member, .type = FIELD_BOOL, .doc = (text))
#define SETTING_STR(member, most, kind, fault, ...)                                                \
    SETTING_FIELD(member, .type = FIELD_STR, .max = (most), .format = (kind), .doc = __VA_ARGS__)
#define SETTING_STRS(member, number, most, fault, ...)                                             \
    SETTING_FIELD(member, .type = FIELD_STRS, .max = ITEMS_MAX, .doc = __VA_ARGS__)
#include "project/setting.def"
    SETTING_FIELD(
        oidc_client_secret,
        .type = FIELD_STR,
        .max = 1024,
        .doc = "Client secret at the issuer. Answers show ********; send ******** to keep it",
        .example = "\"" SECRET_MASK "\"")};
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
#define SETTING_I64(member, low, high, fallback, text) .member = (fallback),
#define SETTING_BOOL(member, fallback, text)           .member = (fallback),
#include "project/setting.def"
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
#define SETTING_RATE(member, low, high, fallback, ceiling, text)                                   \
    rate_cut(&settings->member, ceilings.ceiling);
#include "project/setting.def"
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

static void settings_check_texts(struct arena *arena,
                                 const char *name,
                                 const struct in_strs *in,
                                 int most,
                                 const char *(*fault)(struct str text),
                                 struct schema_errors *errors)
{
    for (size_t i = 0; i < in->count; i++) {
        struct str at = arena_printf(arena, "settings.%s[%zu]", name, i);
        const char *found = fault(in->items[i]);
        if (found)
            schema_error_add(arena, errors, at, PROBLEM_PATTERN, "%s", found);
        else if (in->items[i].len > (size_t)most)
            schema_error_add(arena, errors, at, PROBLEM_TOO_LONG, "must be at most %d bytes", most);
    }
}

/* Adds the fault of a text that is not null. `fault` may be NULL. */
static void settings_check_text(struct arena *arena,
                                const char *name,
                                const struct in_str *in,
                                const char *(*fault)(struct str text),
                                struct schema_errors *errors)
{
    const char *found = fault && in->value.ptr ? fault(in->value) : NULL;

    if (found)
        schema_error_add(
            arena, errors, arena_printf(arena, "settings.%s", name), PROBLEM_PATTERN, "%s", found);
}

static struct str shown_secret(const struct project_settings *settings)
{
    return settings != NULL && settings->oidc_client_secret.len > 0 ? STR(SECRET_MASK) : STR_NONE;
}

static void check_settings(struct arena *arena,
                           const struct project_settings_patch *in,
                           struct schema_errors *errors)
{
#define SETTING_RATE(member, low, high, fallback, ceiling, text)                                   \
    check_rate(arena, #member, &in->member, ceilings.ceiling, errors);
#define SETTING_STR(member, most, kind, fault, ...)                                                \
    settings_check_text(arena, #member, &in->member, fault, errors);
#define SETTING_STRS(member, number, most, fault, ...)                                             \
    settings_check_texts(arena, #member, &in->member, most, fault, errors);
#include "project/setting.def"
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
        check_settings(arena, settings, errors);
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
#define SETTING_I64(member, ...)  merge_i64(&settings->member, &in->member, fallback.member);
#define SETTING_ID(member, ...)   merge_i64(&settings->member, &in->member, 0);
#define SETTING_BOOL(member, ...) merge_bool(&settings->member, &in->member, fallback.member);
#define SETTING_STR(member, ...)  merge_str(&settings->member, &in->member);
#define SETTING_STRS(member, number, ...)                                                          \
    merge_strs(&settings->member, &settings->number, &in->member);
#include "project/setting.def"
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

static void json_id(struct jw *w, const char *name, int64_t id)
{
    jw_lit(w, name);
    if (id > 0)
        jw_i64(w, id);
    else
        jw_null(w);
}

/* All members except origins and secret, which differ between the API and the stored document. */
static void json_members(struct jw *w, const struct project_settings *settings)
{
#define SETTING_I64(member, ...)          JW_I64(w, #member, settings->member);
#define SETTING_ID(member, ...)           json_id(w, #member, settings->member);
#define SETTING_BOOL(member, ...)         JW_BOOL(w, #member, settings->member);
#define SETTING_STR(member, ...)          json_str(w, #member, settings->member);
#define SETTING_STRS(member, number, ...) json_strs(w, #member, settings->member, settings->number);
#include "project/setting.def"
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
