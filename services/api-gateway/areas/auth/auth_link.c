/*
 * Linking. An identity is recognised by issuer and subject only, because an address can change
 * hands. An existing account with the identity's address is linked without a sign-in to it in two
 * cases only: the issuer is Google and runs the address's domain, or the project trusts all
 * addresses of its issuer (link_verified_email). An invitation is accepted by any identity with its
 * verified address, unless the account is an administrator's. An account whose address was never
 * confirmed may be a trap that another person has laid, so its password, sessions and keys end
 * first.
 */
#include "areas/auth/auth_link.h"

#include "areas/auth/auth_session.h"
#include "auth_provider_sql.h"
#include "base/email.h"

/* Writes the identity row, the profile and the audit row. */
AWAITS static int auth_link_attach(struct req *r,
                                   const struct oidc_client *client,
                                   const struct oidc_identity *identity,
                                   const char *action,
                                   int64_t user_id)
{
    struct db_call calls[] = {
        db_call(SQL_IDENTITY_ADD(.user_id = user_id,
                                 .issuer = client->issuer,
                                 .subject = identity->subject,
                                 .email = identity->email)),
        db_call(SQL_ACCOUNT_PROFILE(.id = user_id,
                                    .name = identity->name,
                                    .picture = identity->picture)),
        gateway_audit(r, action, "user", user_id, STR_NONE),
    };
    int rc = db_batch(&r->task, r->scope->db, calls, ARRAY_LEN(calls), NULL);

    if (rc == DB_UNIQUE)
        return fail(r, PROBLEM_CONFLICT, "The same identity is being linked right now; try again.");
    return sql_check(r, rc);
}

AWAITS static int auth_link_create(struct req *r,
                                   const struct oidc_client *client,
                                   const struct oidc_identity *identity,
                                   struct auth_link *link)
{
    struct rows account;
    int rc;

    if (!r->scope->project->settings.sign_up)
        return fail(r,
                    PROBLEM_SIGNUP_DISABLED,
                    "Only an administrator can create accounts in this project.");
    rc = db_query(&r->task,
                  r->scope->db,
                  SQL_ACCOUNT_ADD(.email = email_canonical(r->task.arena, identity->email)),
                  &account);
    if (rc == DB_UNIQUE)
        return fail(r, PROBLEM_CONFLICT, "The same account is being created right now; try again.");
    TRY(sql_check(r, rc));
    link->user_id = sql_account_add_row(&account, 0).id;
    link->is_new = true;
    TRY(sql_exec(r, NULL, SQL_ACCOUNT_DEFAULT_ROLES(.user_id = link->user_id)));
    return auth_link_attach(r, client, identity, "auth.sign_up", link->user_id);
}

/* Confirms the account and ends its password, sessions and keys: the person who set a password
 * before the address was confirmed may not own the address. */
AWAITS static int auth_link_confirm(struct req *r, struct auth_link *link)
{
    struct db_call calls[] = {
        db_call(SQL_ACCOUNT_CONFIRM(.id = link->user_id)),
        db_call(SQL_ACCOUNT_END_SESSIONS(.user_id = link->user_id)),
        db_call(SQL_ACCOUNT_DROP_KEYS(.user_id = link->user_id)),
    };

    link->rights_changed = true;
    return sql_batch(r, calls, ARRAY_LEN(calls));
}

/* Links the identity to an existing account that has the verified address. */
AWAITS static int link_existing_account(struct req *r,
                                        const struct oidc_client *client,
                                        const struct oidc_identity *identity,
                                        const struct sql_account_by_email_row *account,
                                        struct auth_link *link)
{
    link->user_id = account->id;
    link->is_new = str_is(account->status, "invited");
    if (str_is(account->status, "suspended"))
        return fail(r, PROBLEM_USER_SUSPENDED, "This account is suspended.");
    bool trusted = identity->authoritative || r->scope->project->settings.link_verified_email;
    if (!trusted && (!link->is_new || account->is_admin))
        return fail(r,
                    PROBLEM_IDENTITY_LINK_REQUIRED,
                    "An account has this address; sign in to it and link the identity there.");
    if (!str_is(account->status, "active") || !account->confirmed)
        TRY(auth_link_confirm(r, link));
    return auth_link_attach(r, client, identity, "auth.identity_linked", link->user_id);
}

/* Uses the account to which the identity is linked, even if its address has changed since. */
AWAITS static int use_linked_account(struct req *r,
                                     const struct oidc_identity *identity,
                                     const struct sql_identity_find_row *account,
                                     struct auth_link *link)
{
    link->user_id = account->id;
    if (link->link_user_id && link->link_user_id != link->user_id)
        return fail(r, PROBLEM_CONFLICT, "This identity belongs to another account.");
    TRY(auth_account_check(r, account->status, account->confirmed));
    return sql_exec(r,
                    NULL,
                    SQL_ACCOUNT_PROFILE(.id = link->user_id,
                                        .name = identity->name,
                                        .picture = identity->picture));
}

int auth_link_find(struct req *r,
                   const struct oidc_client *client,
                   const struct oidc_identity *identity,
                   struct auth_link *link)
{
    struct rows found;

    TRY(sql_all(
        r, &found, SQL_IDENTITY_FIND(.issuer = client->issuer, .subject = identity->subject)));
    if (found.count) {
        const struct sql_identity_find_row account = sql_identity_find_row(&found, 0);
        return use_linked_account(r, identity, &account, link);
    }
    if (!identity->email_verified)
        return fail(r,
                    PROBLEM_EMAIL_NOT_VERIFIED,
                    "The identity provider has not verified the e-mail address.");
    if (link->link_user_id) {
        link->user_id = link->link_user_id;
        return auth_link_attach(r, client, identity, "auth.identity_linked", link->user_id);
    }
    const struct email_forms forms = email_forms_of(r->task.arena, identity->email);
    TRY(sql_all(r, &found, SQL_ACCOUNT_BY_EMAIL(.emails = sql_strs(forms.forms, forms.count))));
    if (!found.count)
        return auth_link_create(r, client, identity, link);
    const struct sql_account_by_email_row account = sql_account_by_email_row(&found, 0);
    return link_existing_account(r, client, identity, &account, link);
}
