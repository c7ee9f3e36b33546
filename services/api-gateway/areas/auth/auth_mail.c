/* /auth/v1: requests for mails, and the links in them. Answers reveal nothing about accounts. */
#include "areas/access/users.h"
#include "areas/auth/auth_input.h"
#include "areas/auth/auth_session.h"
#include "areas/mail/mail_flow.h"
#include "auth_mail_sql.h"
#include "auth_password.h"
#include "base/email.h"
#include "crypto/password.h"

#define CHANGES_PER_MINUTE 3 /* changes of address that one user may request per minute */

/* --- requests for mails --- */

struct mail_link_in {
    struct in_str email, redirect_to;
};
static const struct field mail_link_fields[] = {
    {.name = "email",
     FIELD_AT(struct mail_link_in, email),
     .type = FIELD_STR,
     .required = true,
     .max = 254,
     .format = "email",
     .example = "\"ada@example.com\""},
    {.name = "redirect_to",
     FIELD_AT(struct mail_link_in, redirect_to),
     .type = FIELD_STR,
     .max = 2048,
     .doc = "Page that the link opens; one of the project's redirect_urls"},
};
/* Clients of other services send additional members, which are ignored. */
static const struct schema mail_link_schema = {
    .name = "MailLink",
    .fields = mail_link_fields,
    .count = ARRAY_LEN(mail_link_fields),
    .struct_bytes = sizeof(struct mail_link_in),
    .allows_unknown = true,
};

/* Queues a mail. The account is read only when the mail is sent, so the answer reveals nothing. */
AWAITS static int request_mail(struct req *r, enum mail_type type)
{
    struct mail_flow flow = {.type = type};
    struct mail_link_in in;

    TRY(auth_read_body(r, &mail_link_schema, &in));
    TRY(rate_limit_address(r, "mail_from"));
    TRY(mail_flow_address(r, in.email.value, &flow.email));
    TRY(mail_flow_limit(r, flow.email));
    TRY(mail_flow_page(r, &in.redirect_to, &flow.page));
    TRY(mail_flow_ready(r));
    TRY(mail_flow_put(r, &flow));
    mail_flow_notify(r);
    return reply_empty(r, 202);
}

AWAITS static int auth_recover(struct req *r)
{
    return request_mail(r, MAIL_RECOVERY);
}

AWAITS static int auth_magic_link(struct req *r)
{
    return request_mail(r, MAIL_MAGIC_LINK);
}

/* --- links --- */

static const char *const verify_types[] = {
    "invite", "confirmation", "recovery", "magic_link", NULL};

struct verify_in {
    struct in_str type, token, password;
};
static const struct field verify_fields[] = {
    {.name = "type",
     FIELD_AT(struct verify_in, type),
     .type = FIELD_STR,
     .required = true,
     .values = verify_types,
     .example = "\"invite\""},
    {.name = "token",
     FIELD_AT(struct verify_in, token),
     .type = FIELD_STR,
     .required = true,
     .write_only = true,
     .max = 128},
    {.name = "password",
     FIELD_AT(struct verify_in, password),
     .type = FIELD_STR,
     .write_only = true,
     .max = PASSWORD_MAX_BYTES,
     .format = "password",
     .doc = "Required for invite and recovery"},
};
static const struct schema verify_schema = SCHEMA("MailVerify", struct verify_in, verify_fields);

static int fail_link_invalid(struct req *r)
{
    return fail(r, PROBLEM_TOKEN_INVALID, "This link is unknown, was used or is too old.");
}

/* Uses up the token in the open transaction and locks its account. The callers check that the
 * account's address is still *ret_email, to which the mail was sent. */
AWAITS static int take_link(struct req *r,
                            const char *type,
                            struct str token,
                            struct sql_mail_account_lock_row *ret_account,
                            struct str *ret_email)
{
    struct rows link;
    struct rows account;

    TRY(sql_all(r,
                &link,
                SQL_MAIL_LINK_TAKE(.hash = auth_secret_hash(r->task.arena, token),
                                   .type = str_from(type))));
    if (!link.count)
        return fail_link_invalid(r);
    const struct sql_mail_link_take_row row = sql_mail_link_take_row(&link, 0);
    TRY(sql_all(r, &account, SQL_MAIL_ACCOUNT_LOCK(.id = row.user_id)));
    if (!row.live || !account.count)
        return fail_link_invalid(r);
    *ret_account = sql_mail_account_lock_row(&account, 0);
    *ret_email = row.email;
    if (str_is(ret_account->status, "suspended"))
        return fail(r, PROBLEM_USER_SUSPENDED, "This account is suspended.");
    return 0;
}

/* Returns whether another person than the reader of the mail may have created the account. A reader
 * who opens a confirmation link states thereby that the reader created the account. */
static bool is_third_party_account(const struct sql_mail_account_lock_row *account, struct str type)
{
    return !account->confirmed && (str_is(type, "magic_link") || str_is(type, "recovery"));
}

/* A new password ends all sessions and links, because another person may have them. An account that
 * another person may have created also loses its old password and its API keys. */
AWAITS static int confirm_account(struct req *r,
                                  const struct sql_mail_account_lock_row *account,
                                  const struct verify_in *in,
                                  struct str hash)
{
    int64_t id = account->id;
    bool forgets = is_third_party_account(account, in->type.value);
    struct db_call calls[] = {
        db_call(SQL_MAIL_ACCOUNT_OPEN(.id = id, .password_hash = hash, .forgets = forgets)),
        audit_call(r->task.arena,
                   &(struct caller){.kind = CALLER_USER, .user_id = id},
                   "auth.mail_link",
                   "user",
                   id,
                   arena_printf(r->task.arena, "{\"type\":\"%.*s\"}", STR_ARG(in->type.value)),
                   r->request_id),
        db_call(SQL_MAIL_LINKS_FORGET(.user_id = id)),
        db_call(SQL_MAIL_SESSIONS_END(.user_id = id)),
        db_call(SQL_MAIL_KEYS_DROP(.user_id = id)),
    };

    TRY(sql_batch(r, calls, forgets ? 5 : hash.len ? 4 : 2));
    return sql_commit(r);
}

AWAITS static int auth_verify(struct req *r)
{
    struct sql_mail_account_lock_row account = {0};
    struct auth_tokens tokens;
    struct str hash = STR_NONE;
    struct verify_in in;
    struct str email = STR_NONE;

    TRY(auth_read_body(r, &verify_schema, &in));
    TRY(rate_limit_address(r, "address"));
    bool sets = str_is(in.type.value, "invite") || str_is(in.type.value, "recovery");
    if (sets && !in.password.value.len)
        return fail_field(r, "password", PROBLEM_REQUIRED, "is required");
    if (sets)
        TRY(auth_password_policy(r, "password", in.password.value));
    if (sets)
        TRY(auth_password_hash(r, in.password.value, &hash));
    TRY(sql_begin(r));
    TRY(take_link(r, arena_cstr(r->task.arena, in.type.value), in.token.value, &account, &email));
    if (!str_eq(account.email, email) ||
        (str_is(in.type.value, "invite") && !str_is(account.status, "invited")))
        return fail_link_invalid(r);
    TRY(confirm_account(r, &account, &in, hash));
    gateway_raise_epoch(r);
    TRY(auth_session_start(r, account.id, STR_NONE, STR_NONE, &tokens));
    return auth_tokens_reply(r, &tokens);
}

/* --- change of address --- */

struct change_in {
    struct in_str email, password, redirect_to;
};
static const struct field change_fields[] = {
    {.name = "email",
     FIELD_AT(struct change_in, email),
     .type = FIELD_STR,
     .required = true,
     .max = 254,
     .format = "email",
     .example = "\"ada@example.com\""},
    {.name = "password",
     FIELD_AT(struct change_in, password),
     .type = FIELD_STR,
     .write_only = true,
     .max = PASSWORD_MAX_BYTES,
     .format = "password",
     .doc = "The account's current password, if it has one"},
    {.name = "redirect_to",
     FIELD_AT(struct change_in, redirect_to),
     .type = FIELD_STR,
     .max = 2048,
     .doc = "Page that the links open; one of the project's redirect_urls"},
};
static const struct schema change_schema = SCHEMA("EmailChange", struct change_in, change_fields);

AWAITS static int
check_own_password(struct req *r, const struct change_in *in, struct rows *ret_account)
{
    struct str rehash;
    bool right = false;

    TRY(sql_one(r, ret_account, SQL_MAIL_ACCOUNT_LOCK(.id = r->scope->caller->user_id)));
    struct str hash = sql_mail_account_lock_row(ret_account, 0).password_hash;
    if (!hash.len)
        return 0;
    TRY(rate_limit_sign_in(
        r,
        "account",
        arena_printf(r->task.arena, "me:%lld", (long long)r->scope->caller->user_id),
        r->scope->project->settings.rate_sign_in_account));
    if (in->password.value.len)
        TRY(auth_password_check(r, hash, in->password.value, &right, &rehash));
    return right ? 0
                 : fail_field(
                       r, "password", PROBLEM_VALIDATION_FAILED, "is not the current password");
}

AWAITS static int
put_email_change(struct req *r, struct str old_email, struct str new_email, struct str page)
{
    int64_t id = r->scope->caller->user_id;
    struct db_call calls[] = {
        db_call(SQL_MAIL_LINKS_FORGET_TYPE(.user_id = id, .type = STR("email_change"))),
        db_call(SQL_MAILS_FORGET_TYPE(.user_id = id, .type = STR("email_change"))),
        db_call(
            SQL_EMAIL_CHANGE_PUT(.user_id = id, .old_email = old_email, .new_email = new_email)),
        gateway_audit(r, "auth.email_change", "user", id, STR_NONE),
    };
    struct mail_flow flow = {
        .type = MAIL_EMAIL_CHANGE,
        .user_id = id,
        .page = page,
        .old_email = old_email,
        .new_email = new_email,
    };

    TRY(sql_batch(r, calls, ARRAY_LEN(calls)));
    flow.email = old_email;
    TRY(mail_flow_put(r, &flow));
    flow.email = new_email;
    return mail_flow_put(r, &flow);
}

AWAITS static int auth_email_change(struct req *r)
{
    struct change_in in;
    struct rows account;
    struct str new_email;
    struct str page;

    TRY(req_json(r, &change_schema, &in));
    TRY(check_own_password(r, &in, &account));
    TRY(mail_flow_address(r, in.email.value, &new_email));
    struct str old_email = sql_mail_account_lock_row(&account, 0).email;
    if (str_eq(email_canonical(r->task.arena, old_email), new_email))
        return fail_field(
            r, "email", PROBLEM_VALIDATION_FAILED, "is already the account's address");
    TRY(mail_flow_page(r, &in.redirect_to, &page));
    if (!page.len)
        return fail(r,
                    PROBLEM_CONFLICT,
                    "The project has no page that links in mails open: an administrator must set "
                    "settings.auth_page_url first.");
    TRY(rate_limit_sign_in(
        r,
        "email_change",
        arena_printf(r->task.arena, "%lld", (long long)r->scope->caller->user_id),
        CHANGES_PER_MINUTE));
    TRY(mail_flow_limit(r, new_email));
    TRY(mail_flow_limit(r, old_email));
    TRY(mail_flow_ready(r));
    TRY(sql_begin(r));
    TRY(put_email_change(r, old_email, new_email, page));
    TRY(sql_commit(r));
    mail_flow_notify(r);
    return reply_empty(r, 202);
}

struct confirm_in {
    struct in_str token;
};
static const struct field confirm_fields[] = {
    {.name = "token",
     FIELD_AT(struct confirm_in, token),
     .type = FIELD_STR,
     .required = true,
     .write_only = true,
     .max = 128},
};
static const struct schema confirm_schema =
    SCHEMA("EmailChangeConfirm", struct confirm_in, confirm_fields);

static const char *const change_states[] = {"waiting", "changed", NULL};
static const struct field changed_fields[] = {
    {.name = "status",
     .type = FIELD_STR,
     .required = true,
     .values = change_states,
     .doc = "waiting: the other address has not confirmed the change yet"},
    {.name = "email", .type = FIELD_STR, .required = true, .doc = "The account's address now"},
};
static const struct schema changed_schema = SCHEMA_OUT("EmailChanged", changed_fields);

AWAITS static int
apply_change(struct req *r, int64_t id, const struct sql_email_change_confirm_row *change)
{
    const struct email_forms forms = email_forms_of(r->task.arena, change->new_email);
    struct rows applied;
    int rc = db_query(&r->task,
                      r->scope->db,
                      SQL_EMAIL_CHANGE_APPLY(.id = id,
                                             .new_email = change->new_email,
                                             .old_email = change->old_email,
                                             .emails = sql_strs(forms.forms, forms.count)),
                      &applied);

    if (rc == DB_UNIQUE || (rc == 0 && !applied.count))
        return fail(r, PROBLEM_CONFLICT, "Another account now has this address.");
    if (rc)
        return rc > 0 ? fail_db(r, rc) : rc;
    struct db_call calls[] = {
        db_call(SQL_EMAIL_CHANGE_DONE(.user_id = id)),
        db_call(SQL_MAIL_LINKS_FORGET(.user_id = id)),
    };
    return sql_batch(r, calls, ARRAY_LEN(calls));
}

AWAITS static int auth_email_change_confirm(struct req *r)
{
    struct sql_mail_account_lock_row account = {0};
    struct confirm_in in;
    struct rows rows;
    struct str email = STR_NONE;
    struct jw w;

    TRY(auth_read_body(r, &confirm_schema, &in));
    TRY(rate_limit_address(r, "address"));
    TRY(sql_begin(r));
    TRY(take_link(r, "email_change", in.token.value, &account, &email));
    TRY(sql_all(r, &rows, SQL_EMAIL_CHANGE_CONFIRM(.user_id = account.id, .email = email)));
    if (!rows.count || !str_eq(account.email, sql_email_change_confirm_row(&rows, 0).old_email))
        return fail_link_invalid(r);
    const struct sql_email_change_confirm_row change = sql_email_change_confirm_row(&rows, 0);
    if (change.both)
        TRY(apply_change(r, account.id, &change));
    TRY(sql_commit(r));
    if (change.both)
        gateway_raise_epoch(r);
    w = resp_json(r);
    jw_obj(&w);
    JW_CSTR(&w, "status", change.both ? "changed" : "waiting");
    JW_STR(&w, "email", change.both ? change.new_email : change.old_email);
    jw_obj_end(&w);
    return reply_json(r, 200);
}

static const struct route auth_mail_routes[] = {
    {
        .method = HTTP_POST_M,
        .path = "/auth/v1/recover",
        .id = "auth_recover",
        .auth = AUTH_PUBLIC,
        .body = &mail_link_schema,
        .success = {202},
        .run = auth_recover,
        .class = CLASS_AUTH,
        .summary = "Send a link that sets a new password",
        .doc = "The answer does not show whether an account has this address, and not whether the "
               "project has a page that the link can open. Administrators see the outcome in GET "
               "/mail/log.",
    },
    {
        .method = HTTP_POST_M,
        .path = "/auth/v1/magic-link",
        .id = "auth_magic_link",
        .auth = AUTH_PUBLIC,
        .body = &mail_link_schema,
        .success = {202},
        .run = auth_magic_link,
        .class = CLASS_AUTH,
        .summary = "Send a link that signs in",
        .doc = "The answer does not show whether an account has this address, and not whether the "
               "project has a page that the link can open. Administrators see the outcome in GET "
               "/mail/log.",
    },
    {
        .method = HTTP_POST_M,
        .path = "/auth/v1/verify",
        .id = "auth_verify",
        .auth = AUTH_PUBLIC,
        .body = &verify_schema,
        .success = {200, &auth_tokens_schema},
        .extra_statuses = {401, 403},
        .run = auth_verify,
        .class = CLASS_AUTH,
        .summary = "Use the token of a link from a mail, once, and sign in",
    },
    {
        .method = HTTP_POST_M,
        .path = "/auth/v1/email-change",
        .id = "auth_email_change",
        .auth = AUTH_USER,
        .body = &change_schema,
        .success = {202},
        .extra_statuses = {409},
        .run = auth_email_change,
        .class = CLASS_AUTH,
        .summary =
            "Change the caller's address, once the current and the new address have confirmed it",
    },
    {
        .method = HTTP_POST_M,
        .path = "/auth/v1/email-change/confirm",
        .id = "auth_email_change_confirm",
        .auth = AUTH_PUBLIC,
        .body = &confirm_schema,
        .success = {200, &changed_schema},
        .extra_statuses = {401, 403, 409},
        .run = auth_email_change_confirm,
        .class = CLASS_AUTH,
        .summary = "Confirm a change of address from the current or the new address",
    },
};
ROUTES(auth_mail, "Sign-in");
