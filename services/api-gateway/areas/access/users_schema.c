/* Bodies of the users area as schemas. */
#include "areas/access/users.h"

const char *const user_statuses[] = {"invited", "unconfirmed", "active", "suspended", NULL};

#define EMAIL_MEMBER(is_required)                                                                  \
    {                                                                                              \
        .name = "email", FIELD_AT(struct user_in, email), .type = FIELD_STR,                       \
        .required = (is_required), .max = 254, .format = "email", .example = "\"ada@example.com\"" \
    }
#define PASSWORD_MEMBER                                                                            \
    {                                                                                              \
        .name = "password", FIELD_AT(struct user_in, password), .type = FIELD_STR, .max = 1024,    \
        .format = "password", .write_only = true, .example = "\"correct horse battery\""           \
    }
#define ROLES_MEMBER                                                                               \
    {                                                                                              \
        .name = "role_ids", FIELD_AT(struct user_in, role_ids), .type = FIELD_IDS, .max = 100,     \
        .example = "[2]"                                                                           \
    }
#define METADATA_MEMBER(type_of)                                                                   \
    {                                                                                              \
        .name = "metadata", FIELD_AT(type_of, metadata), .type = FIELD_MAP, .nullable = true,      \
        .doc = "Any object that the application stores with the user, at most 16 KB"               \
    }

static const struct field user_create_fields[] = {
    EMAIL_MEMBER(true),
    PASSWORD_MEMBER,
    ROLES_MEMBER,
    METADATA_MEMBER(struct user_in),
    {.name = "send_invite",
     FIELD_AT(struct user_in, send_invite),
     .type = FIELD_BOOL,
     .doc = "Sends an invitation. When password is set, sends a notice of the account instead, or "
            "a link that confirms the address if require_confirmed_email is set"},
};
const struct schema user_create_schema = SCHEMA("UserCreate", struct user_in, user_create_fields);

static const struct field user_update_fields[] = {
    EMAIL_MEMBER(false),
    PASSWORD_MEMBER,
    {.name = "status",
     FIELD_AT(struct user_in, status),
     .type = FIELD_STR,
     .values = user_statuses,
     .doc = "Any status but active ends the user's sessions; invited and unconfirmed clear the "
            "confirmation of the address, as a new address does"},
    ROLES_MEMBER,
    METADATA_MEMBER(struct user_in),
};
const struct schema user_update_schema = SCHEMA("UserUpdate", struct user_in, user_update_fields);

static const struct field me_fields[] = {
    {.name = "password",
     FIELD_AT(struct me_in, password),
     .type = FIELD_STR,
     .max = 1024,
     .format = "password",
     .write_only = true},
    {.name = "current_password",
     FIELD_AT(struct me_in, current_password),
     .type = FIELD_STR,
     .max = 1024,
     .format = "password",
     .write_only = true,
     .doc = "Required with password"},
    METADATA_MEMBER(struct me_in),
};
const struct schema me_schema = SCHEMA("MeUpdate", struct me_in, me_fields);

static const struct field account_fields[] = {
    {.name = "password",
     FIELD_AT(struct account_in, me.password),
     .type = FIELD_STR,
     .max = 1024,
     .format = "password",
     .write_only = true},
    {.name = "current_password",
     FIELD_AT(struct account_in, me.current_password),
     .type = FIELD_STR,
     .max = 1024,
     .format = "password",
     .write_only = true,
     .doc = "Required with password"},
    {.name = "data",
     FIELD_AT(struct account_in, me.metadata),
     .type = FIELD_MAP,
     .nullable = true,
     .doc = "Merged into metadata, which may then have at most 16 KB; null removes a member"},
    {.name = "email",
     FIELD_AT(struct account_in, email),
     .type = FIELD_STR,
     .max = 254,
     .format = "email",
     .doc = "The account's current address; only an administrator can change it",
     .example = "\"ada@example.com\""},
    {.name = "code_challenge",
     FIELD_AT(struct account_in, challenge),
     .type = FIELD_JSON,
     .nullable = true,
     .doc = "Ignored"},
    {.name = "code_challenge_method",
     FIELD_AT(struct account_in, challenge_method),
     .type = FIELD_JSON,
     .nullable = true,
     .doc = "Ignored"},
};
const struct schema account_schema = SCHEMA("AccountUpdate", struct account_in, account_fields);

/* clang-format off: members of two lists */
#define USER_OUT_MEMBERS                                                                           \
    {.name = "id", .type = FIELD_I64, .required = true},                                           \
        {.name = "email", .type = FIELD_STR, .required = true, .format = "email"},                 \
        {.name = "status", .type = FIELD_STR, .required = true, .values = user_statuses},          \
        {.name = "email_confirmed_at", .type = FIELD_TIME, .required = true, .nullable = true},    \
        {.name = "last_sign_in_at",                                                                \
         .type = FIELD_TIME,                                                                       \
         .required = true,                                                                         \
         .nullable = true,                                                                         \
         .is_volatile = true},                                                                     \
        {.name = "role_ids", .type = FIELD_IDS, .required = true},                                 \
        {.name = "group_ids", .type = FIELD_IDS, .required = true},                                \
        {.name = "metadata", .type = FIELD_MAP, .required = true},                                 \
        {.name = "created_at", .type = FIELD_TIME, .required = true},                              \
    {                                                                                              \
        .name = "updated_at", .type = FIELD_TIME, .required = true                                 \
    }
/* clang-format on */
static const struct field user_out_fields[] = {USER_OUT_MEMBERS};
static const struct field rule_out_fields[] = {
    {.name = "entity", .type = FIELD_STR, .required = true},
    {.name = "action", .type = FIELD_STR, .required = true},
    {.name = "fields", .type = FIELD_STRS, .required = true},
};
static const struct schema rule_out_schema = SCHEMA_OUT("OwnFieldRule", rule_out_fields);
static const struct field me_out_fields[] = {
    USER_OUT_MEMBERS,
    {.name = "permissions",
     .type = FIELD_STRS,
     .required = true,
     .doc = "All permissions of the caller. For an API key: those in the key's list that the key's "
            "creator holds"},
    {.name = "field_access",
     .type = FIELD_LIST,
     .required = true,
     .sub = &rule_out_schema,
     .doc =
         "The accessible fields, for each entity and action where not all fields are accessible"},
    {.name = "is_admin", .type = FIELD_BOOL, .required = true},
    {.name = "api_access",
     .type = FIELD_BOOL,
     .required = true,
     .doc = "Whether the caller may read and write records over the API"},
};
const struct schema me_out_schema = SCHEMA_OUT("Me", me_out_fields);
const struct schema user_out_schema = SCHEMA_OUT("User", user_out_fields);
const struct schema auth_user_schema = SCHEMA_OUT("SignedInUser", user_out_fields);
