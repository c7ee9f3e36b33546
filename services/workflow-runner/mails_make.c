/* Makes the content of a mail. A workflow's mail is used as it is. A mail to an account is made
 * from its template, with a new token. */
#include <errno.h>

#include "base/codec.h"
#include "base/email.h"
#include "base/rand.h"
#include "crypto/digest.h"
#include "fetch/mail.h"
#include "json/jr.h"
#include "mail/outbox.h"
#include "mail/template.h"
#include "mails.h"
#include "mails_sql.h"
#include "runner_mails_sql.h"

#define TOKEN_BYTES 32

/* --- mails of workflows --- */

static void mails_read_texts(struct arena *arena,
                             const json_t *content,
                             const char *name,
                             const struct str **ret_items,
                             size_t *ret_count)
{
    const json_t *list = json_object_get(content, name);
    size_t count = json_array_size(list);
    struct str *items = ARENA_ARRAY(arena, items, count);

    for (size_t i = 0; i < count; i++)
        items[i] = (struct str){json_string_value(json_array_get(list, i)),
                                json_string_length(json_array_get(list, i))};
    *ret_items = items;
    *ret_count = count;
}

static void read_addressees(struct arena *arena, const json_t *content, struct mail *mail)
{
    mails_read_texts(arena, content, "to", &mail->to, &mail->to_count);
    mails_read_texts(arena, content, "cc", &mail->cc, &mail->cc_count);
    mails_read_texts(arena, content, "bcc", &mail->bcc, &mail->bcc_count);
    mail->reply_to = jr_str(content, "reply_to");
}

/* --- templates --- */

/* Reads the project's own template and shell, or the defaults that projects begin with. */
AWAITS static int load_template(struct task *task,
                                struct project *project,
                                enum mail_type type,
                                struct mail_template *ret_template,
                                struct str *ret_shell)
{
    const struct str keys[] = {str_from(mail_type_name(type)), STR("shell")};
    struct rows rows;

    *ret_template = *mail_template_default(type);
    *ret_shell = mail_shell_default();
    TRY(db_query(task,
                 &project->db,
                 SQL_MAIL_TEMPLATE_STORED(.keys = sql_strs(keys, ARRAY_LEN(keys))),
                 &rows));
    for (size_t i = 0; i < rows.count; i++) {
        const struct sql_mail_template_stored_row row = sql_mail_template_stored_row(&rows, i);
        if (str_eq(row.key, keys[1]))
            *ret_shell = row.body_html;
        else
            *ret_template = (struct mail_template){
                row.subject, row.body_html, row.body_text, row.sender_name, row.sender_id.value};
    }
    return 0;
}

AWAITS static int fill_template(struct task *task,
                                const struct claimed_mail *claimed,
                                enum mail_type type,
                                struct mail_variables *variables,
                                struct mail *mail,
                                struct str *ret_code)
{
    struct project *project = claimed->item.project;
    struct mail_rendered rendered;
    struct mail_template template;
    struct str shell;

    TRY(load_template(task, project, type, &template, &shell));
    struct str name = arena_dup(task->arena, project->name);
    mail_variable_set(variables, "project_name", name);
    if (mail_template_render(task->arena, &template, shell, variables, &rendered) != 0) {
        *ret_code = STR("the text is too long");
        return MAIL_BAD_HEADER;
    }
    mail->subject = rendered.subject;
    mail->html = rendered.html;
    mail->text = rendered.text;
    mail->from_name = template.sender_name;
    return mails_sender(task, claimed, template.sender_id, name, mail);
}

/* Sets those variables of the template for which the workflow gives a value. */
static void
read_variables(const json_t *content, enum mail_type type, struct mail_variables *variables)
{
    const json_t *given = json_object_get(content, "variables");

    for (const char *const *name = mail_template_variables(type); *name; name++)
        if (json_is_string(json_object_get(given, *name)))
            mail_variable_set(variables, *name, jr_str(given, *name));
}

AWAITS static int make_of_workflow(struct task *task,
                                   struct claimed_mail *claimed,
                                   const json_t *content,
                                   struct mail *mail,
                                   struct str *ret_code)
{
    int type = mail_type_find(jr_str(content, "template_type"));
    struct mail_variables variables = {0};

    read_addressees(task->arena, content, mail);
    mail->subject = jr_str(content, "subject");
    mail->text = jr_str(content, "text");
    mail->html = jr_str(content, "html");
    if (type >= 0) {
        read_variables(content, (enum mail_type)type, &variables);
        TRY(fill_template(task, claimed, (enum mail_type)type, &variables, mail, ret_code));
    } else {
        TRY(mails_sender(task, claimed, 0, STR_NONE, mail));
    }
    return mail_check(task->arena, mail, ret_code);
}

/* --- mails to accounts --- */

static bool account_accepts_mail(enum mail_type type, struct str status)
{
    if (str_is(status, "suspended"))
        return false;
    return type != MAIL_CONFIRMATION || !str_is(status, "invited");
}

static struct str
page_with_token(struct arena *arena, struct str page, enum mail_type type, struct str token)
{
    const char *joint = page.len && memchr(page.ptr, '#', page.len) ? "&" : "#";

    return arena_printf(arena,
                        "%.*s%stype=%s&token=%.*s",
                        STR_ARG(page),
                        joint,
                        mail_type_name(type),
                        STR_ARG(token));
}

/* Makes a new token for each try and stores its hash only, so that readers of the rows cannot use
 * the link. */
AWAITS static int store_mail_link(struct task *task,
                                  const struct claimed_mail *claimed,
                                  enum mail_type type,
                                  int64_t user_id,
                                  struct str *ret_token)
{
    uint8_t *hash = arena_alloc(task->arena, DIGEST_SHA256_BYTES);
    char bytes[TOKEN_BYTES];

    rand_bytes(bytes, sizeof(bytes));
    *ret_token = codec_b64url(task->arena, (struct str){bytes, sizeof(bytes)});
    digest_sha256(*ret_token, hash);
    const struct str stored = {(const char *)hash, DIGEST_SHA256_BYTES};
    return db_query(task,
                    &claimed->item.project->db,
                    SQL_MAIL_LINK_PUT(.hash = stored,
                                      .mail_id = claimed->item.id,
                                      .type = str_from(mail_type_name(type)),
                                      .user_id = user_id,
                                      .email = claimed->recipient,
                                      .ms = MAIL_LINK_MS),
                    NULL);
}

AWAITS static int make_of_account(struct task *task,
                                  struct claimed_mail *claimed,
                                  enum mail_type type,
                                  const json_t *content,
                                  struct mail *mail,
                                  struct str *ret_code)
{
    struct project *project = claimed->item.project;
    struct mail_variables variables = {0};
    struct str page = jr_str(content, "page");
    const struct email_forms forms = email_forms_of(task->arena, claimed->recipient);
    struct str token = STR_NONE;
    struct rows rows;

    TRY(db_query(task,
                 &project->db,
                 SQL_MAIL_ACCOUNT(.user_id = some_id(claimed->user_id),
                                  .emails = sql_strs(forms.forms, forms.count)),
                 &rows));
    if (rows.count == 0 || !account_accepts_mail(type, sql_mail_account_row(&rows, 0).status)) {
        *ret_code = STR("no_account");
        return MAIL_DROPPED;
    }
    /* Send to the address that is stored in the account, however the address was typed: two
     * addresses that are equal for a database may differ for a name server. Only the mail about a
     * change of address goes to another address. */
    if (type != MAIL_EMAIL_CHANGE)
        claimed->recipient = sql_mail_account_row(&rows, 0).email;
    /* The answer to the public request that queued the mail does not depend on this. Administrators
     * see the code in GET /mail/log. */
    if (type != MAIL_ADDED_TO_PROJECT && !page.len) {
        *ret_code = STR("no_page");
        return MAIL_DROPPED;
    }
    if (type != MAIL_ADDED_TO_PROJECT) {
        TRY(store_mail_link(task, claimed, type, sql_mail_account_row(&rows, 0).id, &token));
        mail_variable_set(&variables, "token", token);
        mail_variable_set(&variables, "link", page_with_token(task->arena, page, type, token));
        mail_variable_set(
            &variables, "expires_minutes", arena_printf(task->arena, "%d", MAIL_LINK_MINUTES));
    } else {
        mail_variable_set(&variables, "link", page);
    }
    mail_variable_set(&variables, "email", claimed->recipient);
    mail_variable_set(&variables, "invited_by", jr_str(content, "invited_by"));
    mail_variable_set(&variables, "old_email", jr_str(content, "old_email"));
    mail_variable_set(&variables, "new_email", jr_str(content, "new_email"));
    mail->to = &claimed->recipient;
    mail->to_count = 1;
    TRY(fill_template(task, claimed, type, &variables, mail, ret_code));
    return mail_check(task->arena, mail, ret_code);
}

/* A test mail has the content that the real mail would have, and goes to the user who requested it.
 * Its link opens nothing. */
AWAITS static int make_of_test(struct task *task,
                               struct claimed_mail *claimed,
                               const json_t *content,
                               struct mail *mail,
                               struct str *ret_code)
{
    mail->to = &claimed->recipient;
    mail->to_count = 1;
    mail->subject = jr_str(content, "subject");
    mail->html = jr_str(content, "html");
    mail->text = jr_str(content, "text");
    mail->from_name = jr_str(content, "sender_name");
    TRY(mails_sender(task,
                     claimed,
                     jr_i64(content, "sender_address_id", 0),
                     arena_dup(task->arena, claimed->item.project->name),
                     mail));
    return mail_check(task->arena, mail, ret_code);
}

AWAITS static int make_mail_content(struct task *task,
                                    struct claimed_mail *claimed,
                                    const json_t *content,
                                    struct mail *mail,
                                    struct str *ret_code)
{
    int type = mail_type_find(claimed->type);

    if (str_is(claimed->type, "workflow"))
        return make_of_workflow(task, claimed, content, mail, ret_code);
    if (str_is(claimed->type, "test"))
        return make_of_test(task, claimed, content, mail, ret_code);
    if (type < 0) {
        *ret_code = STR("no_template");
        return MAIL_DROPPED;
    }
    return make_of_account(task, claimed, (enum mail_type)type, content, mail, ret_code);
}

int mails_make(struct task *task,
               struct claimed_mail *claimed,
               struct mail *ret_mail,
               struct str *ret_code)
{
    struct project *project = claimed->item.project;
    struct jr_error error;
    json_t *content;

    if (jr_parse_stored(task->arena, claimed->content, &content, &error) != 0)
        return ERROR(-EBADMSG);
    ret_mail->message_id = arena_printf(
        task->arena, "mail.%lld.%lld", (long long)project->number, (long long)claimed->item.id);
    int rc = make_mail_content(task, claimed, content, ret_mail, ret_code);
    if (rc == MAIL_DROPPED && ret_code->ptr == NULL)
        *ret_code = STR("mail_not_configured");
    return rc;
}
