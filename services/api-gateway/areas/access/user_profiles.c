/* /user-profiles: how a user wants to be shown and addressed. */
#include "areas/access/access.h"
#include "areas/files/files.h"
#include "base/ascii.h"
#include "base/timezone.h"
#include "user_profiles_sql.h"
#include "workflow/cron.h"

struct profile_in {
    struct in_str display_name;
    struct in_i64 avatar_file_id;
    struct in_str locale;
    struct in_str timezone;
    struct in_json preferences;
};

static const struct field profile_fields[] = {
    {.name = "display_name",
     FIELD_AT(struct profile_in, display_name),
     .type = FIELD_STR,
     .nullable = true,
     .max = 200,
     .example = "\"Ada\""},
    {.name = "avatar_file_id",
     FIELD_AT(struct profile_in, avatar_file_id),
     .type = FIELD_I64,
     .nullable = true,
     .has_min = true,
     .min = 1,
     .doc = "A file that the caller may read; becomes null when the file is deleted"},
    {.name = "locale",
     FIELD_AT(struct profile_in, locale),
     .type = FIELD_STR,
     .nullable = true,
     .max = 35,
     .doc = "BCP 47 language tag",
     .example = "\"en-GB\""},
    {.name = "timezone",
     FIELD_AT(struct profile_in, timezone),
     .type = FIELD_STR,
     .nullable = true,
     .max = 64,
     .doc = "A name from the IANA time zone database",
     .example = "\"Europe/London\""},
    {.name = "preferences",
     FIELD_AT(struct profile_in, preferences),
     .type = FIELD_MAP,
     .nullable = true,
     .doc = "Any object that the application stores with the user, at most 16 KB"},
};
static const struct schema profile_schema =
    SCHEMA("UserProfileUpdate", struct profile_in, profile_fields);

static const struct field profile_out_fields[] = {
    {.name = "id", .type = FIELD_I64, .required = true, .doc = "The user's id"},
    {.name = "user_id", .type = FIELD_I64, .required = true},
    {.name = "display_name", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "avatar_file_id", .type = FIELD_I64, .required = true, .nullable = true},
    {.name = "locale", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "timezone", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "preferences", .type = FIELD_MAP, .required = true},
    {.name = "created_at", .type = FIELD_TIME, .required = true},
    {.name = "updated_at", .type = FIELD_TIME, .required = true},
};
static const struct schema profile_out_schema = SCHEMA_OUT("UserProfile", profile_out_fields);

AWAITS static int profiles_list(struct req *r)
{
    return reply_page(r, "id", SQL_PROFILES_LIST());
}

AWAITS static int profiles_get(struct req *r)
{
    struct rows profile;
    int64_t user_id;

    TRY(req_id(r, "user_id", &user_id));
    TRY(sql_one(r, &profile, SQL_PROFILE_GET(.id = user_id)));
    return reply_row(r, 200, &profile);
}

/* --- language tags (RFC 5646, 2.1) --- */

/* Returns whether a subtag has `min` to `max` characters, all of the given kinds. */
static bool subtag_is(struct str subtag, size_t min, size_t max, unsigned kinds)
{
    return subtag.len >= min && subtag.len <= max && ascii_has_only(subtag, kinds, "");
}

static bool is_variant(struct str subtag)
{
    return subtag_is(subtag, 5, 8, ASCII_ALNUM) ||
           (subtag_is(subtag, 4, 4, ASCII_ALNUM) && ascii_is(subtag.ptr[0], ASCII_DIGIT));
}

/* Checks extensions: each is a singleton with at least one subtag of 2 to 8 characters. After the
 * singleton "x" the rest is private, with subtags of 1 to 8 characters. */
static bool extensions_ok(struct str rest)
{
    while (rest.ptr) {
        struct str singleton = str_split(&rest, '-');
        bool private = str_ieq(singleton, STR("x"));
        size_t count = 0;
        if (!subtag_is(singleton, 1, 1, ASCII_ALNUM))
            return false;
        for (; rest.ptr; count++) {
            struct str next = rest;
            if (!subtag_is(str_split(&next, '-'), private ? 1 : 2, 8, ASCII_ALNUM))
                break;
            rest = next;
        }
        if (count == 0)
            return false;
    }
    return true;
}

static void skip_subtag(struct str *rest, bool fits, struct str next)
{
    if (fits)
        *rest = next;
}

static bool language_tag_ok(struct str tag)
{
    struct str rest = tag;
    struct str language = str_split(&rest, '-');
    struct str next;

    if (str_ieq(language, STR("x")) && rest.ptr)
        return extensions_ok(tag);
    if (!subtag_is(language, 2, 8, ASCII_LETTER))
        return false;
    for (int extlangs = 0; extlangs < 3 && language.len <= 3; extlangs++) {
        next = rest;
        skip_subtag(&rest, subtag_is(str_split(&next, '-'), 3, 3, ASCII_LETTER), next);
    }
    next = rest;
    skip_subtag(&rest, subtag_is(str_split(&next, '-'), 4, 4, ASCII_LETTER), next);
    next = rest;
    struct str region = str_split(&next, '-');
    skip_subtag(
        &rest, subtag_is(region, 2, 2, ASCII_LETTER) || subtag_is(region, 3, 3, ASCII_DIGIT), next);
    for (next = rest; is_variant(str_split(&next, '-')); next = rest)
        rest = next;
    return extensions_ok(rest);
}

static int check_profile(struct req *r, const struct profile_in *in)
{
    if (in->locale.value.ptr && !language_tag_ok(in->locale.value))
        return fail_field(
            r, "locale", PROBLEM_PATTERN, "must be a BCP 47 language tag, such as en-GB");
    if (in->timezone.value.ptr && !timezone_find(in->timezone.value))
        return fail_field(
            r, "timezone", PROBLEM_PATTERN, "must name an IANA time zone, such as Europe/London");
    return 0;
}

/* The avatar must be a file that the caller may read, or the file that the profile already has. */
AWAITS static int check_avatar_file(struct req *r, int64_t user_id, const struct in_i64 *file_id)
{
    struct rows rows;

    if (!file_id->set || file_id->null)
        return 0;
    TRY(sql_one(r, &rows, SQL_PROFILE_AVATAR_IS(.user_id = user_id, .file_id = file_id->value)));
    if (sql_profile_avatar_is_row(&rows, 0).same)
        return 0;
    struct db_call call = files_select(items_ctx(r), FILES_KIND_FILE, ACT_READ, file_id->value);
    TRY(sql_all(r, &rows, call.sql, call.params, call.param_count));
    if (rows.count && caller_can(r->scope->caller, PERM_SVC_FILES_READ))
        return 0;
    return fail_field(r, "avatar_file_id", PROBLEM_NOT_FOUND, "there is no such file");
}

static struct str preferences_text(struct req *r, const struct profile_in *in)
{
    if (!in->preferences.set || in->preferences.null)
        return STR_NONE;
    return jr_print(r->task.arena, in->preferences.value);
}

AWAITS static int profiles_update(struct req *r)
{
    struct profile_in in;
    struct rows before;
    int64_t user_id;

    TRY(req_id(r, "user_id", &user_id));
    TRY(req_json(r, &profile_schema, &in));
    TRY(check_profile(r, &in));
    TRY(access_check_map_size(r, "preferences", &in.preferences));
    TRY(check_avatar_file(r, user_id, &in.avatar_file_id));
    struct db_call calls[] = {
        db_call(SQL_PROFILE_ENSURE(.id = user_id)),
        db_call(SQL_PROFILE_SAVE(.user_id = user_id,
                                 .display_name_set = in.display_name.set,
                                 .display_name = in.display_name.value,
                                 .avatar_set = in.avatar_file_id.set,
                                 .avatar_file_id = in.avatar_file_id.null
                                                       ? NO_I64
                                                       : some_i64(in.avatar_file_id.value),
                                 .locale_set = in.locale.set,
                                 .locale = in.locale.value,
                                 .timezone_set = in.timezone.set,
                                 .timezone = in.timezone.value,
                                 .preferences_set = in.preferences.set,
                                 .preferences = preferences_text(r, &in))),
    };
    TRY(sql_begin(r));
    TRY(sql_one(r, &before, SQL_PROFILE_GET(.id = user_id)));
    TRY(sql_batch(r, calls, ARRAY_LEN(calls)));
    if (!calls[1].rows.count)
        return fail(r, PROBLEM_NOT_FOUND, NULL);
    const struct audit_change change = {.before = &before, .after = &calls[1].rows};
    TRY(gateway_commit(r,
                       gateway_audit_change(r, "user_profiles.update", "user", user_id, &change)));
    return reply_row(r, 200, &calls[1].rows);
}

static const struct route user_profiles_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = "/user-profiles",
        .id = "user_profiles_list",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_USER_PROFILES_READ,
        .query = page_query,
        .success = {200, &profile_out_schema, .list = true},
        .run = profiles_list,
        .summary = "List user profiles",
    },
    {
        .method = HTTP_GET_M,
        .path = "/user-profiles/{user_id}",
        .id = "user_profiles_get",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_USER_PROFILES_READ,
        .own_param = "user_id",
        .success = {200, &profile_out_schema},
        .extra_statuses = {404},
        .run = profiles_get,
        .summary = "Get a user's profile",
    },
    {
        .method = HTTP_PUT_M,
        .path = "/user-profiles/{user_id}",
        .id = "user_profiles_update",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_USER_PROFILES_UPDATE,
        .own_param = "user_id",
        .body = &profile_schema,
        .success = {200, &profile_out_schema},
        .extra_statuses = {404},
        .run = profiles_update,
        .guard = profiles_get,
        .summary = "Change a user's profile",
    },
};
ROUTES(user_profiles, "Users");
