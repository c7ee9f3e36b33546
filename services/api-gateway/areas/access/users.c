/* /users: administration of a project's accounts. */
#include "areas/access/users.h"
#include "areas/mail/mail_flow.h"
#include "auth_password.h"
#include "base/email.h"
#include "project/events.h"
#include "users_sql.h"

/* --- reading --- */

static const struct query_param users_query[] = {
    PAGE_QUERY,
    {.name = "status",
     .type = FIELD_STR,
     .values = user_statuses,
     .doc = "Only users in this status"},
    {.name = "email", .type = FIELD_STR, .doc = "Only the user with this address"},
    {.name = "email_contains",
     .type = FIELD_STR,
     .doc = "Only users whose address contains this text, in upper or lower case"},
    {.name = "group_id",
     .type = FIELD_I64,
     .has_min = true,
     .min = 1,
     .doc = "Only members of this group"},
    {.name = "role_id",
     .type = FIELD_I64,
     .has_min = true,
     .min = 1,
     .doc = "Only users with this role"},
    {0},
};

AWAITS static int users_list(struct req *r)
{
    const struct query *query;

    TRY(req_query(r, &query));
    struct str email = query_get(query, "email");
    const struct email_forms forms = email_forms_of(r->task.arena, email);
    return reply_page(
        r,
        "id",
        SQL_USERS_LIST(.status = query_get(query, "status"),
                       .emails = sql_strs(email.ptr ? forms.forms : NULL, forms.count),
                       .part = query_get(query, "email_contains"),
                       .group_id = query_get(query, "group_id"),
                       .role_id = query_get(query, "role_id")));
}

AWAITS static int reply_user(struct req *r, int64_t id)
{
    struct rows user;

    TRY(sql_one(r, &user, SQL_USER_GET(.id = id)));
    return reply_row(r, 200, &user);
}

AWAITS static int users_get(struct req *r)
{
    int64_t id;

    TRY(req_id(r, "id", &id));
    return reply_user(r, id);
}

/* --- changing --- */

struct str users_json(struct req *r, const struct in_json *in)
{
    return in->set && !in->null ? jr_print(r->task.arena, in->value) : STR_NONE;
}

/* Checks the result of user_add or user_save: the account's id, or no row when a different account
 * has the address. */
static int users_check_saved(struct req *r, int rc, const struct rows *saved)
{
    if (rc != DB_UNIQUE)
        TRY(sql_check(r, rc));
    if (rc == 0 && saved->count)
        return 0;
    return fail_unique_violation(r, "email", "is taken", "A user with this address exists.");
}

int users_commit_change(struct req *r,
                        int64_t id,
                        const char *action,
                        const struct audit_change *change,
                        struct rows *ret_user)
{
    struct audit_change made = *change;

    TRY(sql_one(r, ret_user, SQL_USER_GET(.id = id)));
    made.after = ret_user;
    return gateway_commit(r, gateway_audit_change(r, action, "user", id, &made));
}

AWAITS static int set_roles(struct req *r, int64_t id, const struct in_ids *roles)
{
    struct db_call calls[] = {
        db_call(SQL_USER_ROLES_CLEAR(.user_id = id)),
        db_call(
            SQL_USER_ROLES_ADD(.user_id = id, .role_ids = sql_i64s(roles->items, roles->count))),
    };

    return sql_batch(r, calls, ARRAY_LEN(calls));
}

/* Queues a mail to the user. Puts 409 when the project has no page that the mail's link could
 * open. */
AWAITS static int user_mail(struct req *r, enum mail_type type, int64_t id, struct str email)
{
    struct mail_flow flow = {
        .type = type,
        .email = email,
        .user_id = id,
        .invited_by = r->scope->caller->rights ? r->scope->caller->rights->email : STR_NONE,
    };

    TRY(mail_flow_page(r, &(struct in_str){0}, &flow.page));
    if (!flow.page.len)
        return fail(r,
                    PROBLEM_CONFLICT,
                    "Set the setting auth_page_url first: links in mails open this page.");
    return mail_flow_put(r, &flow);
}

/* Normalises the address and checks the limits of mails. Call it before the transaction. */
AWAITS static int check_mail_limits(struct req *r, struct str typed, struct str *ret_email)
{
    TRY(mail_flow_address(r, typed, ret_email));
    TRY(mail_flow_limit(r, *ret_email));
    return mail_flow_ready(r);
}

/* State of a new account, and the mail that send_invite sends. The caller who creates the account
 * vouches for the address, so a user with a password can sign in at once unless the project
 * requires confirmed addresses. */
struct user_start {
    const char *status;
    bool confirmed;
    enum mail_type mail;
};

static struct user_start user_start_of(const struct req *r, bool has_password)
{
    if (!has_password)
        return (struct user_start){"invited", false, MAIL_INVITE};
    if (r->scope->project->settings.require_confirmed_email)
        return (struct user_start){"unconfirmed", false, MAIL_CONFIRMATION};
    return (struct user_start){"active", true, MAIL_ADDED_TO_PROJECT};
}

AWAITS static int users_create(struct req *r)
{
    struct str email = STR_NONE;
    struct str hash = STR_NONE;
    struct user_start start;
    struct user_in in;
    struct rows user;
    int64_t id;
    int rc;

    TRY(req_json(r, &user_create_schema, &in));
    TRY(access_check_map_size(r, "metadata", &in.metadata));
    if (in.password.set)
        TRY(auth_password_policy(r, "password", in.password.value));
    if (!in.role_ids.set)
        TRY(access_default_roles(r, &in.role_ids));
    TRY(access_need_roles(r, "role_ids", in.role_ids.items, in.role_ids.count));
    if (in.password.set)
        TRY(auth_password_hash(r, in.password.value, &hash));
    if (in.send_invite.value)
        TRY(check_mail_limits(r, in.email.value, &email));
    start = user_start_of(r, in.password.set);
    const struct email_forms forms = email_forms_of(r->task.arena, in.email.value);
    TRY(sql_begin(r));
    rc = db_query(&r->task,
                  r->scope->db,
                  SQL_USER_ADD(.email = email_canonical(r->task.arena, in.email.value),
                               .emails = sql_strs(forms.forms, forms.count),
                               .password_hash = hash,
                               .status = str_from(start.status),
                               .confirmed = start.confirmed,
                               .metadata = users_json(r, &in.metadata)),
                  &user);
    TRY(users_check_saved(r, rc, &user));
    id = sql_user_add_row(&user, 0).id;
    TRY(set_roles(r, id, &in.role_ids));
    if (in.send_invite.value)
        TRY(user_mail(r, start.mail, id, email));
    TRY(users_commit_change(r, id, "users.create", &(struct audit_change){0}, &user));
    gateway_raise_epoch(r);
    if (in.send_invite.value)
        mail_flow_notify(r);
    return reply_created(r, &user);
}

int users_lock(struct req *r, int64_t id, struct rows *ret_user)
{
    TRY(sql_begin(r));
    TRY(access_lock_admins(r));
    TRY(sql_one(r, ret_user, SQL_USER_LOCK(.id = id)));
    return access_need_user(r, id);
}

int users_guard(struct req *r)
{
    struct rows user;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(sql_one(r, &user, SQL_USER_GET(.id = id)));
    return access_need_user(r, id);
}

AWAITS static int save_user(struct req *r, int64_t id, const struct user_in *in, struct str hash)
{
    const struct email_forms forms = email_forms_of(r->task.arena, in->email.value);
    struct rows saved;
    struct rows ended;
    bool ends_sessions = hash.len || (in->status.set && !str_is(in->status.value, "active"));
    int rc = db_query(
        &r->task,
        r->scope->db,
        SQL_USER_SAVE(.id = id,
                      .email = in->email.set ? email_canonical(r->task.arena, in->email.value)
                                             : STR_NONE,
                      .emails = sql_strs(in->email.set ? forms.forms : NULL, forms.count),
                      .password_hash = hash,
                      .status = in->status.value,
                      .metadata_set = in->metadata.set,
                      .metadata = users_json(r, &in->metadata)),
        &saved);

    TRY(users_check_saved(r, rc, &saved));
    if (in->role_ids.set)
        TRY(set_roles(r, id, &in->role_ids));
    if (ends_sessions)
        TRY(sql_all(r, &ended, SQL_USER_SESSIONS_END(.user_id = id, .id = 0)));
    return in->role_ids.set || in->status.set || in->email.set ? access_check_admins(r) : 0;
}

AWAITS static int users_update(struct req *r)
{
    struct str hash = STR_NONE;
    struct user_in in;
    struct rows before;
    struct rows user;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(req_json(r, &user_update_schema, &in));
    TRY(access_check_map_size(r, "metadata", &in.metadata));
    if (in.password.set)
        TRY(auth_password_policy(r, "password", in.password.value));
    TRY(access_need_roles(r, "role_ids", in.role_ids.items, in.role_ids.count));
    if (in.password.set)
        TRY(auth_password_hash(r, in.password.value, &hash));
    TRY(users_lock(r, id, &user));
    TRY(sql_one(r, &before, SQL_USER_GET(.id = id)));
    TRY(save_user(r, id, &in, hash));
    const struct changed_member more[] = {{"password", in.password.set}};
    const struct audit_change change = {
        .before = &before, .unshown = more, .count = ARRAY_LEN(more)};
    TRY(users_commit_change(r, id, "users.update", &change, &user));
    if (in.email.set || in.password.set || in.status.set || in.role_ids.set)
        gateway_raise_epoch(r);
    return reply_row(r, 200, &user);
}

AWAITS static int users_delete(struct req *r)
{
    struct rows user;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(users_lock(r, id, &user));
    struct db_call calls[] = {
        db_call(SQL_USER_GRANTS_REMOVE(.grantee_id = id)),
        db_call(SQL_USER_REMOVE(.id = id)),
        events_principal_gone_call(r->task.arena, 'u', id),
        gateway_audit(r, "users.delete", "user", id, STR_NONE),
    };
    TRY(sql_batch(r, calls, ARRAY_LEN(calls)));
    TRY(access_check_admins(r));
    TRY(sql_commit(r));
    gateway_raise_epoch(r);
    search_notify(gateway_directory(), r->scope->project);
    return reply_empty(r, 204);
}

AWAITS static int users_confirm(struct req *r)
{
    struct rows user;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(users_lock(r, id, &user));
    TRY(sql_exec(r, NULL, SQL_USER_CONFIRM(.id = id)));
    TRY(users_commit_change(r, id, "users.confirm", &(struct audit_change){0}, &user));
    gateway_raise_epoch(r);
    return reply_row(r, 200, &user);
}

AWAITS static int send_user_mail(struct req *r, enum mail_type type, const char *action)
{
    struct rows user;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(mail_flow_ready(r));
    TRY(users_lock(r, id, &user));
    const struct sql_user_lock_row row = sql_user_lock_row(&user, 0);
    bool invited = str_is(row.status, "invited");
    if (type == MAIL_INVITE && !invited)
        return fail(r, PROBLEM_CONFLICT, "This account has no open invitation.");
    bool awaited = !row.confirmed || str_is(row.status, "unconfirmed");
    if (type == MAIL_CONFIRMATION && (invited || !awaited))
        return fail(r, PROBLEM_CONFLICT, "This account has nothing to confirm.");
    TRY(mail_flow_limit(r, row.email));
    TRY(user_mail(r, type, id, row.email));
    TRY(users_commit_change(r, id, action, &(struct audit_change){0}, &user));
    mail_flow_notify(r);
    return reply_row(r, 202, &user);
}

AWAITS static int users_send_invite(struct req *r)
{
    return send_user_mail(r, MAIL_INVITE, "users.send_invite");
}

AWAITS static int users_send_confirmation(struct req *r)
{
    return send_user_mail(r, MAIL_CONFIRMATION, "users.send_confirmation");
}

static const struct route users_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = "/users",
        .id = "users_list",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_USERS_READ,
        .query = users_query,
        .success = {200, &user_out_schema, .list = true},
        .run = users_list,
        .summary = "List users",
    },
    {
        .method = HTTP_GET_M,
        .path = "/users/{id}",
        .id = "users_get",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_USERS_READ,
        .success = {200, &user_out_schema},
        .extra_statuses = {404},
        .run = users_get,
        .summary = "Get a user",
    },
    {
        .method = HTTP_POST_M,
        .path = "/users",
        .id = "users_create",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_USERS_CREATE,
        .body = &user_create_schema,
        .success = {201, &user_out_schema},
        .extra_statuses = {409},
        .run = users_create,
        .summary = "Create a user; without role_ids it gets the default roles",
    },
    {
        .method = HTTP_PUT_M,
        .path = "/users/{id}",
        .id = "users_update",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_USERS_UPDATE,
        .body = &user_update_schema,
        .success = {200, &user_out_schema},
        .extra_statuses = {404, 409},
        .run = users_update,
        .guard = users_guard,
        .summary = "Change a user; role_ids are replaced when sent",
    },
    {
        .method = HTTP_DELETE_M,
        .path = "/users/{id}",
        .id = "users_delete",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_USERS_DELETE,
        .success = {204},
        .extra_statuses = {404, 409},
        .run = users_delete,
        .guard = users_guard,
        .summary = "Delete a user; records that it created stay",
    },
    {
        .method = HTTP_POST_M,
        .path = "/users/{id}/confirm",
        .id = "users_confirm",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_USERS_UPDATE,
        .success = {200, &user_out_schema},
        .extra_statuses = {404},
        .run = users_confirm,
        .guard = users_guard,
        .summary = "Mark a user's address as confirmed",
    },
    {
        .method = HTTP_POST_M,
        .path = "/users/{id}/send-invite",
        .id = "users_send_invite",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_USERS_UPDATE,
        .success = {202, &user_out_schema},
        .extra_statuses = {404, 409},
        .run = users_send_invite,
        .guard = users_guard,
        .class = CLASS_WRITE,
        .tag = "Users",
        .summary = "Send an invited user the invitation (again)",
    },
    {
        .method = HTTP_POST_M,
        .path = "/users/{id}/send-confirmation",
        .id = "users_send_confirmation",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_USERS_UPDATE,
        .success = {202, &user_out_schema},
        .extra_statuses = {404, 409},
        .run = users_send_confirmation,
        .guard = users_guard,
        .class = CLASS_WRITE,
        .tag = "Users",
        .summary = "Send a user a link that confirms the address",
    },
};
ROUTES(users, "Users");
