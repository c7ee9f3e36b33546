/* Rows of mail, and their limits. */
#include "areas/mail/mail_flow.h"

#include "auth_page.h"
#include "base/ascii.h"
#include "base/email.h"
#include "mail_flow_sql.h"
#include "project/redirect.h"
#include "stages/stages.h"

#define CONTENT_BYTES  32768
#define ADDRESS_MINUTE 3   /* mails to one address per minute */
#define PROJECT_MINUTE 120 /* mails of a project for anonymous callers; as many for others */

int mail_flow_ready(struct req *r)
{
    int rc = mail_outbox_register(&r->task, gateway_directory(), r->scope->project);

    return rc > 0 ? fail_db(r, rc) : rc;
}

static void flow_put_text(struct jw *w, const char *name, struct str text)
{
    if (text.len)
        JW_STR(w, name, text);
}

int mail_flow_put(struct req *r, const struct mail_flow *flow)
{
    struct strbuf text;
    struct jw w;

    strbuf_init(&text, r->task.arena, CONTENT_BYTES);
    jw_init(&w, &text);
    jw_obj(&w);
    flow_put_text(&w, "page", flow->page);
    flow_put_text(&w, "invited_by", flow->invited_by);
    flow_put_text(&w, "old_email", flow->old_email);
    flow_put_text(&w, "new_email", flow->new_email);
    jw_obj_end(&w);
    const struct mail_entry entry = {
        .type = mail_type_name(flow->type),
        .recipient = flow->email,
        .user_id = flow->user_id,
        .content = strbuf_view(&text),
        .give_up_ms = MAIL_LINK_MS,
    };
    struct db_call call = mail_outbox_call(r->task.arena, &entry);
    return sql_batch(r, &call, 1);
}

void mail_flow_notify(struct req *r)
{
    mail_outbox_notify(gateway_directory(), r->scope->project);
}

/* The page /auth/ui/ stores in its query where it continues. It checks that address itself. */
static bool is_page_with_query(struct str page, struct str url)
{
    if (!page.len || !str_starts(url, page))
        return false;
    struct str query = {url.ptr + page.len, url.len - page.len};
    return !query.len || (query.ptr[0] == '?' && ascii_has_only(query, ASCII_ALNUM, "?=&%-._~"));
}

int mail_flow_page(struct req *r, const struct in_str *redirect_to, struct str *ret_page)
{
    const struct project_settings *settings = &r->scope->project->settings;
    struct str own = auth_page_own_url(r);
    struct str page = settings->auth_page_url.len ? settings->auth_page_url : own;

    if (!page.len && settings->redirect_url_count > 0)
        page = settings->redirect_urls[0];
    *ret_page = arena_dup(r->task.arena, page);
    if (!redirect_to->value.len ||
        redirect_url_is_same(redirect_to->value, settings->auth_page_url))
        return 0;
    if (!is_page_with_query(own, redirect_to->value))
        TRY(auth_check_redirect(r, redirect_to->value));
    *ret_page = redirect_to->value;
    return 0;
}

int mail_flow_address(struct req *r, struct str email, struct str *ret_email)
{
    struct rows rows;
    size_t i = 0;

    email = email_canonical(r->task.arena, email);
    while (i < email.len && (unsigned char)email.ptr[i] < 0x80)
        i++;
    if (i == email.len) {
        *ret_email = email;
        return 0;
    }
    TRY(sql_one(r, &rows, SQL_MAIL_ADDRESS(.email = email)));
    *ret_email = sql_mail_address_row(&rows, 0).email;
    return 0;
}

int mail_flow_limit(struct req *r, struct str email)
{
    TRY(rate_limit_sign_in(r, "mail_to", email, ADDRESS_MINUTE));
    bool anybody = r->scope->caller->kind == CALLER_NONE;
    return rate_limit_sign_in(
        r, "mails", anybody ? STR("anybody") : STR("signed_in"), PROJECT_MINUTE);
}
