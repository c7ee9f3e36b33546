/* /user-profiles: how a user wants to be shown and addressed. */
#include "areas/access/access.h"
#include "user_profiles_sql.h"

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
     .min = 1},
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
     .doc = "Name of the IANA time zone database",
     .example = "\"Europe/London\""},
    {.name = "preferences",
     FIELD_AT(struct profile_in, preferences),
     .type = FIELD_MAP,
     .nullable = true,
     .doc = "Whatever the application keeps about the user, at most 16 KB"},
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
    return reply_page(r, &SQL_PROFILES_LIST, "id", PARAMS());
}

AWAITS static int profiles_get(struct req *r)
{
    struct rows profile;
    int64_t user_id;

    TRY(req_id(r, "user_id", &user_id));
    TRY(sql_one(r, &profile, &SQL_PROFILE_GET, PARAMS(P_I64(user_id))));
    return reply_row(r, 200, &profile);
}

static struct db_param preferences_param(struct req *r, const struct profile_in *in)
{
    if (!in->preferences.set || in->preferences.null)
        return P_NULL;
    return P_STR(jr_print(r->task.arena, in->preferences.value));
}

AWAITS static int profiles_update(struct req *r)
{
    struct profile_in in;
    int64_t user_id;

    TRY(req_id(r, "user_id", &user_id));
    TRY(req_json(r, &profile_schema, &in));
    TRY(access_small_map(r, "preferences", &in.preferences));
    struct db_call calls[] = {
        {.sql = &SQL_PROFILE_ENSURE, PARAMS(P_I64(user_id))},
        {.sql = &SQL_PROFILE_SAVE,
         PARAMS(P_I64(user_id),
                P_BOOL(in.display_name.set),
                P_STR(in.display_name.value),
                P_BOOL(in.avatar_file_id.set),
                in.avatar_file_id.null ? P_NULL : P_I64(in.avatar_file_id.value),
                P_BOOL(in.locale.set),
                P_STR(in.locale.value),
                P_BOOL(in.timezone.set),
                P_STR(in.timezone.value),
                P_BOOL(in.preferences.set),
                preferences_param(r, &in))},
    };
    TRY(sql_begin(r));
    TRY(sql_batch(r, calls, ARRAY_LEN(calls)));
    if (!calls[1].rows.count)
        return fail(r, "not_found", NULL);
    TRY(sql_commit(r));
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
        .ok = {200, &profile_out_schema, .list = true},
        .run = profiles_list,
        .class = CLASS_READ,
        .tag = "Users",
        .summary = "List user profiles",
    },
    {
        .method = HTTP_GET_M,
        .path = "/user-profiles/{user_id}",
        .id = "user_profiles_get",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_USER_PROFILES_READ,
        .ok = {200, &profile_out_schema},
        .fails = {404},
        .run = profiles_get,
        .class = CLASS_READ,
        .tag = "Users",
        .summary = "Get a user's profile",
    },
    {
        .method = HTTP_PUT_M,
        .path = "/user-profiles/{user_id}",
        .id = "user_profiles_update",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_USER_PROFILES_UPDATE,
        .body = &profile_schema,
        .ok = {200, &profile_out_schema},
        .fails = {404},
        .run = profiles_update,
        .class = CLASS_WRITE,
        .tag = "Users",
        .summary = "Change a user's profile",
    },
};
ROUTES(user_profiles);
