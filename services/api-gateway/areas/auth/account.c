/* The caller's own account: PUT /users/me, and PUT /auth/v1/user for clients of GoTrue. */
#include <errno.h>

#include "areas/access/users.h"
#include "areas/auth/auth_session.h"
#include "areas/mail/mail_flow.h"
#include "auth_password.h"
#include "base/email.h"
#include "base/panic.h"
#include "users_sql.h"

AWAITS static int check_current_password(struct req *r, const struct me_in *in)
{
    struct rows user;
    struct str rehash;
    bool right = false;

    if (!in->current_password.set)
        return fail_field(
            r, "current_password", PROBLEM_REQUIRED, "is required to change the password");
    TRY(auth_password_policy(r, "password", in->password.value));
    TRY(sql_one(r, &user, SQL_USER_LOCK(.id = r->scope->caller->user_id)));
    if (in->current_password.value.len <= 1024)
        TRY(auth_password_check(r,
                                sql_user_lock_row(&user, 0).password_hash,
                                in->current_password.value,
                                &right,
                                &rehash));
    if (!right)
        return fail_field(
            r, "current_password", PROBLEM_VALIDATION_FAILED, "is not the current password");
    return 0;
}

/* Checks and hashes the new password before a transaction holds a database connection. The limit of
 * attempts is that of sign-ins by account. */
AWAITS static int check_new_password(struct req *r, const struct me_in *in, struct str *ret_hash)
{
    *ret_hash = STR_NONE;
    if (!in->password.set)
        return 0;
    TRY(rate_limit_sign_in(
        r,
        "account",
        arena_printf(r->task.arena, "me:%lld", (long long)r->scope->caller->user_id),
        r->scope->project->settings.rate_sign_in_account));
    TRY(check_current_password(r, in));
    return auth_password_hash(r, in->password.value, ret_hash);
}

/* Saves the account in the open transaction. A new password ends all sessions but the caller's. */
AWAITS static int
account_save(struct req *r, const struct me_in *in, struct str hash, struct rows *ret_user)
{
    const struct changed_member more[] = {{"password", in->password.set}};
    int64_t id = r->scope->caller->user_id;
    struct rows before;

    TRY(sql_one(r, &before, SQL_USER_GET(.id = id)));
    const struct audit_change change = {
        .before = &before, .unshown = more, .count = ARRAY_LEN(more)};
    struct db_call calls[] = {
        db_call(SQL_USER_SAVE(.id = id,
                              .email = STR_NONE,
                              .emails = sql_strs(NULL, 0),
                              .password_hash = hash,
                              .status = STR_NONE,
                              .metadata_set = in->metadata.set,
                              .metadata = users_json(r, &in->metadata))),
        db_call(SQL_USER_SESSIONS_END(.user_id = id, .id = r->scope->caller->session_id)),
    };

    TRY(sql_batch(r, calls, in->password.set ? 2 : 1));
    TRY(users_commit_change(r, id, "users.update_me", &change, ret_user));
    if (in->password.set && calls[1].rows.count) /* caches hold sessions, but no passwords */
        gateway_raise_epoch(r);
    return 0;
}

AWAITS static int users_update_me(struct req *r)
{
    struct rows user;
    struct me_in in;
    struct str hash;

    TRY(req_json(r, &me_schema, &in));
    TRY(access_check_map_size(r, "metadata", &in.metadata));
    TRY(check_new_password(r, &in, &hash));
    TRY(sql_begin(r));
    TRY(account_save(r, &in, hash, &user));
    return reply_row(r, 200, &user);
}

/* --- for clients of GoTrue --- */

/* Merges the members of `in`, the body's data, into the stored metadata. A null removes the
 * member. */
static int account_merge(struct req *r, struct str stored, struct in_json *in)
{
    struct jr_error error;
    json_t *all;
    json_t *value;
    const char *key;

    if (!in->set || in->null) {
        in->set = false;
        return 0;
    }
    if (jr_parse_stored(r->task.arena, stored, &all, &error) != 0)
        return ERROR(-EBADMSG);
    json_object_foreach(in->value, key, value)
    {
        if (json_is_null(value))
            json_object_del(all, key);
        else
            MUST(json_object_set(all, key, value) == 0);
    }
    in->value = all;
    return access_check_map_size(r, "data", in);
}

/* The route does not verify that the user reads mail at a new address, so it refuses a new
 * address. */
AWAITS static int check_email(struct req *r, struct str own, const struct in_str *email)
{
    struct str typed = own;

    if (email->set)
        TRY(mail_flow_address(r, email->value, &typed));
    if (str_eq(typed, own) || str_eq(typed, email_canonical(r->task.arena, own)))
        return 0;
    return fail_field(
        r, "email", PROBLEM_READ_ONLY, "only an administrator can change the address");
}

AWAITS static int auth_user_update(struct req *r)
{
    struct account_in in;
    struct rows user;
    struct str hash;

    TRY(req_json(r, &account_schema, &in));
    TRY(check_new_password(r, &in.me, &hash));
    TRY(sql_begin(r));
    TRY(sql_one(r, &user, SQL_USER_LOCK(.id = r->scope->caller->user_id)));
    TRY(check_email(r, sql_user_lock_row(&user, 0).email, &in.email));
    TRY(account_merge(r, sql_user_lock_row(&user, 0).metadata, &in.me.metadata));
    TRY(account_save(r, &in.me, hash, &user));
    return reply_row(r, 200, &user);
}

static const struct route account_routes[] = {
    {
        .method = HTTP_PUT_M,
        .path = "/users/me",
        .id = "users_update_me",
        .auth = AUTH_USER,
        .body = &me_schema,
        .success = {200, &user_out_schema},
        .extra_statuses = {404},
        .run = users_update_me,
        .class = CLASS_AUTH,
        .summary = "Change the caller's own password or metadata",
    },
    {
        .method = HTTP_PUT_M,
        .path = "/auth/v1/user",
        .id = "auth_user_update",
        .auth = AUTH_USER,
        .body = &account_schema,
        .success = {200, &auth_user_schema},
        .extra_statuses = {404},
        .run = auth_user_update,
        .class = CLASS_AUTH,
        .tag = "Sign-in",
        .summary = "Change the account that is signed in",
        .doc = "For clients of GoTrue. Changes the account as PUT /users/me does, but merges the "
               "member data into the stored metadata.",
    },
};
ROUTES(account, "Users");
