/* /tenant-sender-addresses: the addresses that mail is sent from, on verified domains. */
#include "areas/mail/mail_senders.h"
#include "limit.h"
#include "mail_senders_sql.h"
#include "stages/stages.h"

#define SENDERS_MAX 200

struct sender_in {
    struct in_str email, name;
    struct in_i64 avatar_file_id;
    struct in_bool is_default;
};
struct avatar_in {
    struct in_i64 file_id;
};

/* clang-format off */
#define SENDER_MEMBERS                                                                             \
    {.name = "name", FIELD_AT(struct sender_in, name), .type = FIELD_STR, .nullable = true,        \
     .max = 100, .doc = "When null: the project's name. A template's sender_name has precedence",  \
     .example = "\"Ada of Example\""},                                                             \
    {.name = "avatar_file_id", FIELD_AT(struct sender_in, avatar_file_id), .type = FIELD_I64,      \
     .nullable = true, .has_min = true, .min = 1, .doc = "A file of the project that is an image"}
/* clang-format on */

static const struct field sender_create_fields[] = {
    {.name = "email",
     FIELD_AT(struct sender_in, email),
     .type = FIELD_STR,
     .required = true,
     .max = 254,
     .format = "email",
     .example = "\"ada@mail.example.com\""},
    SENDER_MEMBERS,
    {.name = "is_default",
     FIELD_AT(struct sender_in, is_default),
     .type = FIELD_BOOL,
     .doc = "The first sender address is always the default"},
};
static const struct field sender_update_fields[] = {SENDER_MEMBERS};
static const struct schema sender_create_schema =
    SCHEMA("TenantSenderAddressCreate", struct sender_in, sender_create_fields);
static const struct schema sender_update_schema =
    SCHEMA("TenantSenderAddressUpdate", struct sender_in, sender_update_fields);

static const struct field avatar_fields[] = {
    {.name = "file_id",
     FIELD_AT(struct avatar_in, file_id),
     .type = FIELD_I64,
     .required = true,
     .nullable = true,
     .has_min = true,
     .min = 1,
     .doc = "null: removes the avatar"},
};
static const struct schema avatar_schema =
    SCHEMA("TenantSenderAvatar", struct avatar_in, avatar_fields);

static const struct field sender_fields[] = {
    {.name = "id", .type = FIELD_I64, .required = true},
    {.name = "email", .type = FIELD_STR, .required = true},
    {.name = "name", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "domain_id", .type = FIELD_I64, .required = true},
    {.name = "domain", .type = FIELD_STR, .required = true},
    {.name = "is_usable",
     .type = FIELD_BOOL,
     .required = true,
     .doc = "Whether the domain of the address is verified. While it is not verified, mail is sent "
            "from the default sender address, else from the project's setting mail_sender, else "
            "from the operator's address. The domain of the first two must be verified"},
    {.name = "is_default", .type = FIELD_BOOL, .required = true},
    {.name = "avatar_file_id", .type = FIELD_I64, .required = true, .nullable = true},
    {.name = "created_at", .type = FIELD_TIME, .required = true},
    {.name = "updated_at", .type = FIELD_TIME, .required = true},
};
static const struct schema sender_schema = SCHEMA_OUT("TenantSenderAddress", sender_fields);

/* --- helpers --- */

AWAITS static int reply_sender(struct req *r, int status, int64_t id)
{
    struct rows sender;

    TRY(sql_one(r, &sender, SQL_SENDER_GET(.id = id)));
    return reply_row(r, status, &sender);
}

static int domain_refuse_unverified(struct req *r, struct str domain)
{
    return fail(r,
                PROBLEM_UNPROCESSABLE,
                "%.*s is not verified: add it with POST /tenant-domains, publish its records, then "
                "call POST /tenant-domains/{id}/verify.",
                STR_ARG(domain));
}

AWAITS static int domain_find_verified(struct req *r, struct str email, int64_t *ret_id)
{
    struct str domain = email;
    struct rows rows;

    (void)str_split(&domain, '@');
    TRY(sql_all(r, &rows, SQL_SENDER_DOMAIN(.domain = domain)));
    if (!rows.count || !str_is(sql_sender_domain_row(&rows, 0).status, "verified"))
        return domain_refuse_unverified(r, domain);
    *ret_id = sql_sender_domain_row(&rows, 0).id;
    return 0;
}

AWAITS static int avatar_check(struct req *r, const char *member, const struct in_i64 *file_id)
{
    struct rows rows;

    if (!file_id->set || file_id->null)
        return 0;
    TRY(sql_all(r, &rows, SQL_SENDER_AVATAR(.id = file_id->value)));
    if (!rows.count)
        return fail_field(r, member, PROBLEM_NOT_FOUND, "there is no such file");
    if (!str_is(sql_sender_avatar_row(&rows, 0).kind, "image"))
        return fail_field(r, member, PROBLEM_VALIDATION_FAILED, "must be an image");
    return 0;
}

static int sender_check_name(struct req *r, const struct in_str *name)
{
    for (size_t i = 0; i < name->value.len; i++)
        if ((unsigned char)name->value.ptr[i] < ' ' || name->value.ptr[i] == 0x7f)
            return fail_field(r,
                              "name",
                              PROBLEM_PATTERN,
                              "must not have line breaks or other control characters");
    return 0;
}

static struct opt_i64 file_id_of(const struct in_i64 *in)
{
    return in->set && !in->null ? some_i64(in->value) : NO_I64;
}

AWAITS static int sender_finish(struct req *r, const char *action, int64_t id)
{
    struct db_call audit = gateway_audit(r, action, "tenant_sender_address", id, STR_NONE);

    TRY(sql_batch(r, &audit, 1));
    return sql_commit(r);
}

AWAITS static int sender_set_default(struct req *r, int64_t id)
{
    struct rows rows;

    TRY(sql_exec(r, NULL, SQL_SENDERS_DEFAULT_OFF(.id = id)));
    return sql_one(r, &rows, SQL_SENDER_DEFAULT_ON(.id = id));
}

/* 0, or 422 when the domain of the sender in `rows` is not verified. */
static int sender_check_usable(struct req *r, const struct rows *rows)
{
    const struct sql_sender_state_row row = sql_sender_state_row(rows, 0);

    return str_is(row.status, "verified") ? 0 : domain_refuse_unverified(r, row.domain);
}

int mail_senders_check(struct req *r, const char *member, int64_t id)
{
    struct rows rows;

    TRY(sql_all(r, &rows, SQL_SENDER_STATE(.id = id)));
    if (!rows.count)
        return fail_field(r, member, PROBLEM_NOT_FOUND, "there is no such sender address");
    return sender_check_usable(r, &rows);
}

/* --- handlers --- */

AWAITS static int senders_list(struct req *r)
{
    return reply_page(r, "id", SQL_SENDERS_LIST());
}

AWAITS static int senders_get(struct req *r)
{
    int64_t id;

    TRY(req_id(r, "id", &id));
    return reply_sender(r, 200, id);
}

static const struct limit senders_limit = {
    "mail_senders", "A project", "sender addresses", SENDERS_MAX};

AWAITS static int sender_insert(struct req *r, const struct sender_in *in, struct str email)
{
    struct db_call count = db_call(SQL_SENDERS_COUNT());
    int64_t domain_id = 0;
    struct rows rows;

    TRY(domain_find_verified(r, email, &domain_id));
    TRY(avatar_check(r, "avatar_file_id", &in->avatar_file_id));
    TRY(limit_check(r, &senders_limit, 0, &count, 1));
    bool is_default = in->is_default.value || !sql_senders_count_row(&count.rows, 0).has_default;
    TRY(sql_all(r,
                &rows,
                SQL_SENDER_ADD(.email = email,
                               .name = in->name.value.len ? in->name.value : STR_NONE,
                               .domain_id = domain_id,
                               .avatar_file_id = file_id_of(&in->avatar_file_id))));
    if (!rows.count)
        return fail_unique_violation(
            r, "email", "is taken", "The project already has this sender address.");
    int64_t id = sql_sender_add_row(&rows, 0).id;
    if (is_default)
        TRY(sender_set_default(r, id));
    TRY(sender_finish(r, "tenant_sender_addresses.create", id));
    reply_location(r, id);
    return reply_sender(r, 201, id);
}

AWAITS static int senders_create(struct req *r)
{
    struct sender_in in;

    TRY(req_json(r, &sender_create_schema, &in));
    TRY(sender_check_name(r, &in.name));
    TRY(sql_begin(r));
    return sender_insert(r, &in, arena_lower(r->task.arena, in.email.value));
}

AWAITS static int sender_update(struct req *r, int64_t id, const struct sender_in *in)
{
    struct rows rows;

    TRY(sql_one(r,
                &rows,
                SQL_SENDER_SAVE(.id = id,
                                .name_set = in->name.set,
                                .name = in->name.value.len ? in->name.value : STR_NONE,
                                .avatar_set = in->avatar_file_id.set,
                                .avatar_file_id = file_id_of(&in->avatar_file_id))));
    TRY(sender_finish(r, "tenant_sender_addresses.update", id));
    return reply_sender(r, 200, id);
}

AWAITS static int senders_update(struct req *r)
{
    struct sender_in in;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(req_json(r, &sender_update_schema, &in));
    TRY(sender_check_name(r, &in.name));
    TRY(sql_begin(r));
    TRY(avatar_check(r, "avatar_file_id", &in.avatar_file_id));
    return sender_update(r, id, &in);
}

AWAITS static int senders_avatar(struct req *r)
{
    struct avatar_in in;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(req_json(r, &avatar_schema, &in));
    TRY(sql_begin(r));
    TRY(avatar_check(r, "file_id", &in.file_id));
    return sender_update(r, id, &(struct sender_in){.avatar_file_id = in.file_id});
}

AWAITS static int senders_default(struct req *r)
{
    struct rows rows;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(sql_begin(r));
    TRY(limit_lock(r, &senders_limit, 0)); /* no sender is added while the default changes */
    TRY(sql_one(r, &rows, SQL_SENDER_STATE(.id = id)));
    TRY(sender_check_usable(r, &rows));
    TRY(sender_set_default(r, id));
    TRY(sender_finish(r, "tenant_sender_addresses.default", id));
    return reply_sender(r, 200, id);
}

AWAITS static int senders_delete(struct req *r)
{
    struct rows rows;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(sql_begin(r));
    TRY(sql_one(r, &rows, SQL_SENDER_REMOVE(.id = id)));
    TRY(sender_finish(r, "tenant_sender_addresses.delete", id));
    return reply_empty(r, 204);
}

static const struct route tenant_senders_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = "/tenant-sender-addresses",
        .id = "tenant_sender_addresses_list",
        .auth = AUTH_ADMIN,
        .query = page_query,
        .success = {200, &sender_schema, .list = true},
        .run = senders_list,
        .summary = "List the sender addresses of mail",
    },
    {
        .method = HTTP_POST_M,
        .path = "/tenant-sender-addresses",
        .id = "tenant_sender_addresses_create",
        .auth = AUTH_ADMIN,
        .body = &sender_create_schema,
        .success = {201, &sender_schema},
        .extra_statuses = {409, 422},
        .run = senders_create,
        .summary = "Add a sender address on a verified domain",
    },
    {
        .method = HTTP_GET_M,
        .path = "/tenant-sender-addresses/{id}",
        .id = "tenant_sender_addresses_get",
        .auth = AUTH_ADMIN,
        .success = {200, &sender_schema},
        .extra_statuses = {404},
        .run = senders_get,
        .summary = "Get a sender address",
    },
    {
        .method = HTTP_PUT_M,
        .path = "/tenant-sender-addresses/{id}",
        .id = "tenant_sender_addresses_update",
        .auth = AUTH_ADMIN,
        .body = &sender_update_schema,
        .success = {200, &sender_schema},
        .extra_statuses = {404},
        .run = senders_update,
        .guard = senders_get,
        .summary = "Change a sender's name or avatar",
    },
    {
        .method = HTTP_POST_M,
        .path = "/tenant-sender-addresses/{id}/default",
        .id = "tenant_sender_addresses_default",
        .auth = AUTH_ADMIN,
        .success = {200, &sender_schema},
        .extra_statuses = {404, 422},
        .run = senders_default,
        .guard = senders_get,
        .summary = "Make a sender address the default for mail whose template names no address",
    },
    {
        .method = HTTP_PUT_M,
        .path = "/tenant-sender-addresses/{id}/avatar",
        .id = "tenant_sender_addresses_avatar",
        .auth = AUTH_ADMIN,
        .body = &avatar_schema,
        .success = {200, &sender_schema},
        .extra_statuses = {404},
        .run = senders_avatar,
        .guard = senders_get,
        .summary = "Set a sender's avatar",
    },
    {
        .method = HTTP_DELETE_M,
        .path = "/tenant-sender-addresses/{id}",
        .id = "tenant_sender_addresses_delete",
        .auth = AUTH_ADMIN,
        .success = {204},
        .extra_statuses = {404},
        .run = senders_delete,
        .guard = senders_get,
        .summary = "Delete a sender address",
        .doc = "Mail of templates that name the address is then sent from the default sender "
               "address, else from the project's setting mail_sender, else from the operator's "
               "address. The domain of the first two must be verified.",
    },
};
ROUTES(tenant_senders, "Mail");
