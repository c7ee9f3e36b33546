/* /email-templates: the templates of mails, and the shell around them. */
#include "areas/mail/mail_flow.h"
#include "areas/mail/mail_previews.h"
#include "areas/mail/mail_senders.h"
#include "email_templates_sql.h"
#include "fetch/mail.h"
#include "http/page.h"
#include "mails_sql.h"
#include "stages/stages.h"

#define HTML_MAX         200000
#define SUBJECT_MAX      255
#define TESTS_PER_MINUTE 5 /* test mails that one user may request per minute */
#define SHELL            "shell"
#define DOC_BYTES        ((size_t)4 << 20)
#define SAMPLE_URL       "https://app.example.com/welcome#type=sample&token=sample"

struct template_in {
    struct in_str subject, body_html, body_text, sender_name;
    struct in_i64 sender_address_id;
};

/* clang-format off */
#define TEXT_MEMBER                                                                                \
    {.name = "body_text", FIELD_AT(struct template_in, body_text), .type = FIELD_STR,              \
     .nullable = true, .max = HTML_MAX, .doc = "Made from body_html when null"}
#define TEMPLATE_MEMBERS                                                                           \
    {.name = "subject", FIELD_AT(struct template_in, subject), .type = FIELD_STR, .min = 1,        \
     .max = SUBJECT_MAX, .example = "\"Welcome to {{ project_name }}\""},                          \
    {.name = "body_html", FIELD_AT(struct template_in, body_html), .type = FIELD_STR, .min = 1,    \
     .max = HTML_MAX, .doc = "Replaces {{ content }} in the shell",                                \
     .example = "\"<p><a href=\\\"{{ link }}\\\">Begin</a></p>\""},                                \
    TEXT_MEMBER,                                                                                   \
    {.name = "sender_name", FIELD_AT(struct template_in, sender_name), .type = FIELD_STR,          \
     .nullable = true, .max = 100,                                                                 \
     .doc = "When null: the name of the sender address, or else of the project"},                  \
    {.name = "sender_address_id", FIELD_AT(struct template_in, sender_address_id),                 \
     .type = FIELD_I64, .nullable = true, .has_min = true, .min = 1,                               \
     .doc = "Id of a sender address. When null, or while the domain of that address is not "       \
            "verified, mail is sent from the default sender address, else from the project's "     \
            "setting mail_sender, else from the operator's address. The domain of the first two "  \
            "must be verified"}
/* clang-format on */

static const struct field template_fields[] = {TEMPLATE_MEMBERS};
static const struct schema template_schema =
    SCHEMA("EmailTemplateUpdate", struct template_in, template_fields);
static const struct schema draft_schema =
    SCHEMA("EmailTemplateDraft", struct template_in, template_fields);

static const struct field shell_in_fields[] = {
    {.name = "body_html",
     FIELD_AT(struct template_in, body_html),
     .type = FIELD_STR,
     .required = true,
     .min = 1,
     .max = HTML_MAX,
     .doc = "A whole HTML document with exactly one {{ content }}"},
};
static const struct schema shell_in_schema =
    SCHEMA("EmailShellUpdate", struct template_in, shell_in_fields);

static const struct field template_out_fields[] = {
    {.name = "type", .type = FIELD_STR, .required = true, .example = "\"invite\""},
    {.name = "subject", .type = FIELD_STR, .required = true},
    {.name = "body_html", .type = FIELD_STR, .required = true},
    {.name = "body_text", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "sender_name", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "sender_address_id", .type = FIELD_I64, .required = true, .nullable = true},
    {.name = "variables", .type = FIELD_STRS, .required = true},
    {.name = "is_custom", .type = FIELD_BOOL, .required = true},
    {.name = "updated_at", .type = FIELD_TIME, .required = true, .nullable = true},
};
static const struct schema template_out_schema = SCHEMA_OUT("EmailTemplate", template_out_fields);

static const struct field shell_out_fields[] = {
    {.name = "body_html", .type = FIELD_STR, .required = true},
    {.name = "variables", .type = FIELD_STRS, .required = true},
    {.name = "is_custom", .type = FIELD_BOOL, .required = true},
    {.name = "updated_at", .type = FIELD_TIME, .required = true, .nullable = true},
};
static const struct schema shell_out_schema = SCHEMA_OUT("EmailShell", shell_out_fields);

static const struct field preview_out_fields[] = {
    {.name = "subject", .type = FIELD_STR, .required = true},
    {.name = "html", .type = FIELD_STR, .required = true},
    {.name = "text", .type = FIELD_STR, .required = true},
    {.name = "sender_name", .type = FIELD_STR, .required = true},
    {.name = "url",
     .type = FIELD_STR,
     .required = true,
     .doc = "Shows the HTML once within 30 s, without credentials, with a Content-Security-Policy "
            "of its own"},
};
static const struct schema preview_out_schema = SCHEMA_OUT("EmailPreview", preview_out_fields);

/* --- stored templates --- */

struct stored_template {
    struct mail_template template;
    int64_t updated_ms; /* 0: the default of new projects */
};
struct stored_templates {
    struct stored_template types[MAIL_TYPES];
    struct stored_template shell;
};

AWAITS static int templates_load(struct req *r, struct stored_templates *ret_all)
{
    struct str keys[MAIL_TYPES + 1] = {STR(SHELL)};
    struct rows rows;

    for (int i = 0; i < MAIL_TYPES; i++) {
        ret_all->types[i] =
            (struct stored_template){.template = *mail_template_default((enum mail_type)i)};
        keys[i + 1] = str_from(mail_type_name((enum mail_type)i));
    }
    ret_all->shell = (struct stored_template){.template = {.body_html = mail_shell_default()}};
    TRY(sql_all(r, &rows, SQL_MAIL_TEMPLATE_STORED(.keys = sql_strs(keys, ARRAY_LEN(keys)))));
    for (size_t i = 0; i < rows.count; i++) {
        const struct sql_mail_template_stored_row row = sql_mail_template_stored_row(&rows, i);
        int type = mail_type_find(row.key);
        struct stored_template *to = type < 0 ? &ret_all->shell : &ret_all->types[type];
        *to = (struct stored_template){
            {row.subject, row.body_html, row.body_text, row.sender_name, row.sender_id.value},
            row.updated_at};
    }
    return 0;
}

static void template_put_tail(struct jw *w, const char *const *variables, int64_t updated_ms)
{
    jw_lit(w, "variables");
    jw_arr(w);
    for (; *variables; variables++)
        jw_cstr(w, *variables);
    jw_arr_end(w);
    JW_BOOL(w, "is_custom", updated_ms != 0);
    jw_lit(w, "updated_at");
    if (updated_ms)
        jw_time(w, updated_ms);
    else
        jw_null(w);
    jw_obj_end(w);
}

static void template_put(struct jw *w, enum mail_type type, const struct stored_template *it)
{
    jw_obj(w);
    JW_CSTR(w, "type", mail_type_name(type));
    JW_STR(w, "subject", it->template.subject);
    JW_STR(w, "body_html", it->template.body_html);
    JW_STR_OR_NULL(w, "body_text", it->template.body_text);
    JW_STR_OR_NULL(w, "sender_name", it->template.sender_name);
    if (it->template.sender_id)
        JW_I64(w, "sender_address_id", it->template.sender_id);
    else
        JW_NULL(w, "sender_address_id");
    template_put_tail(w, mail_template_variables(type), it->updated_ms);
}

static int template_read_type(struct req *r, enum mail_type *ret_type)
{
    int type = mail_type_find(req_param(r, "type"));

    if (type < 0)
        return fail(r, PROBLEM_NOT_FOUND, "There is no such template.");
    *ret_type = (enum mail_type)type;
    return 0;
}

AWAITS static int email_templates_list(struct req *r)
{
    struct stored_templates all;
    struct page page;
    struct jw w;

    TRY(req_page(r, &page));
    TRY(templates_load(r, &all));
    w = resp_json(r);
    jw_obj(&w);
    jw_lit(&w, "items");
    jw_arr(&w);
    int64_t end = page_offset(&page) + page.limit;
    for (int64_t i = page_offset(&page); i < end && i < MAIL_TYPES; i++)
        template_put(&w, (enum mail_type)i, &all.types[i]);
    jw_arr_end(&w);
    page_json(&w, &page, page.count ? MAIL_TYPES : -1, end < MAIL_TYPES);
    jw_obj_end(&w);
    return reply_json(r, 200);
}

AWAITS static int reply_email_template(struct req *r, enum mail_type type)
{
    struct stored_templates all;
    struct jw w;

    TRY(templates_load(r, &all));
    w = resp_json(r);
    template_put(&w, type, &all.types[type]);
    return reply_json(r, 200);
}

AWAITS static int email_templates_get(struct req *r)
{
    enum mail_type type = MAIL_CONFIRMATION;

    TRY(template_read_type(r, &type));
    return reply_email_template(r, type);
}

/* --- changes --- */

static bool text_has_controls(struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.ptr[i] < ' ' || text.ptr[i] == 0x7f)
            return true;
    return false;
}

static int
email_check_text(struct req *r, const char *member, const char *const *names, struct str text)
{
    struct str reason;

    if (mail_template_check(r->task.arena, text, names, &reason) != 0)
        return fail_field(r, member, PROBLEM_VALIDATION_FAILED, "%.*s", STR_ARG(reason));
    return 0;
}

static void template_merge_member(struct str *to, const struct in_str *in)
{
    if (in->set)
        *to = in->value.len ? in->value : STR_NONE;
}

/* Merges the body into the stored template. Mails of all types but MAIL_ADDED_TO_PROJECT are sent
 * for their link, so their HTML needs a link or a token. */
static int template_merge(struct req *r,
                          enum mail_type type,
                          const struct template_in *in,
                          struct mail_template *template)
{
    const char *const *names = mail_template_variables(type);

    template_merge_member(&template->subject, &in->subject);
    template_merge_member(&template->body_html, &in->body_html);
    template_merge_member(&template->body_text, &in->body_text);
    template_merge_member(&template->sender_name, &in->sender_name);
    if (in->sender_address_id.set)
        template->sender_id = in->sender_address_id.null ? 0 : in->sender_address_id.value;
    TRY(email_check_text(r, "subject", names, template->subject));
    TRY(email_check_text(r, "body_html", names, template->body_html));
    TRY(email_check_text(r, "body_text", names, template->body_text));
    if (text_has_controls(template->subject) || text_has_controls(template->sender_name))
        return fail_field(r,
                          text_has_controls(template->subject) ? "subject" : "sender_name",
                          PROBLEM_PATTERN,
                          "must not have line breaks or other control characters");
    if (type != MAIL_ADDED_TO_PROJECT && !mail_template_uses(template->body_html, "link") &&
        !mail_template_uses(template->body_html, "token"))
        return fail_field(
            r, "body_html", PROBLEM_VALIDATION_FAILED, "must have {{ link }} or {{ token }}");
    return 0;
}

static struct str template_doc(struct arena *arena, const struct mail_template *template)
{
    struct strbuf text;
    struct jw w;

    strbuf_init(&text, arena, DOC_BYTES);
    jw_init(&w, &text);
    jw_obj(&w);
    JW_STR(&w, "subject", template->subject);
    JW_STR(&w, "body_html", template->body_html);
    if (template->body_text.len)
        JW_STR(&w, "body_text", template->body_text);
    if (template->sender_name.len)
        JW_STR(&w, "sender_name", template->sender_name);
    if (template->sender_id)
        JW_I64(&w, "sender_address_id", template->sender_id);
    jw_obj_end(&w);
    return strbuf_view(&text);
}

static struct db_call template_audit(struct req *r, const char *action, const char *key)
{
    return gateway_audit(
        r, action, "email_template", 0, arena_printf(r->task.arena, "{\"type\":\"%s\"}", key));
}

AWAITS static int
template_save(struct req *r, const char *key, const struct mail_template *template)
{
    struct db_call calls[] = {
        db_call(SQL_EMAIL_TEMPLATE_PUT(.key = str_from(key),
                                       .doc = template_doc(r->task.arena, template))),
        template_audit(r, "email_templates.update", key),
    };

    TRY(sql_batch(r, calls, ARRAY_LEN(calls)));
    return sql_commit(r);
}

AWAITS static int email_templates_update(struct req *r)
{
    struct stored_templates all;
    struct template_in in;
    enum mail_type type = MAIL_CONFIRMATION;

    TRY(req_json(r, &template_schema, &in));
    TRY(template_read_type(r, &type));
    TRY(sql_begin(r));
    TRY(sql_exec(r, NULL, SQL_EMAIL_TEMPLATE_LOCK(.key = str_from(mail_type_name(type)))));
    TRY(templates_load(r, &all));
    TRY(template_merge(r, type, &in, &all.types[type].template));
    if (in.sender_address_id.set && !in.sender_address_id.null)
        TRY(mail_senders_check(r, "sender_address_id", in.sender_address_id.value));
    TRY(template_save(r, mail_type_name(type), &all.types[type].template));
    return reply_email_template(r, type);
}

AWAITS static int template_reset(struct req *r, const char *key)
{
    struct db_call calls[] = {
        db_call(SQL_EMAIL_TEMPLATE_RESET(.key = str_from(key))),
        template_audit(r, "email_templates.reset", key),
    };

    TRY(sql_begin(r));
    TRY(sql_batch(r, calls, ARRAY_LEN(calls)));
    TRY(sql_commit(r));
    return reply_empty(r, 204);
}

AWAITS static int email_templates_reset(struct req *r)
{
    enum mail_type type = MAIL_CONFIRMATION;

    TRY(template_read_type(r, &type));
    return template_reset(r, mail_type_name(type));
}

/* --- the shell --- */

AWAITS static int email_shell_get(struct req *r)
{
    struct stored_templates all;
    struct jw w;

    TRY(templates_load(r, &all));
    w = resp_json(r);
    jw_obj(&w);
    JW_STR(&w, "body_html", all.shell.template.body_html);
    template_put_tail(&w, mail_shell_variables(), all.shell.updated_ms);
    return reply_json(r, 200);
}

AWAITS static int email_shell_update(struct req *r)
{
    struct mail_template shell = {0};
    struct template_in in;

    TRY(req_json(r, &shell_in_schema, &in));
    TRY(email_check_text(r, "body_html", mail_shell_variables(), in.body_html.value));
    if (mail_template_uses(in.body_html.value, "content") != 1)
        return fail_field(
            r, "body_html", PROBLEM_VALIDATION_FAILED, "must have {{ content }} exactly once");
    shell.body_html = in.body_html.value;
    TRY(sql_begin(r));
    TRY(template_save(r, SHELL, &shell));
    return email_shell_get(r);
}

AWAITS static int email_shell_reset(struct req *r)
{
    return template_reset(r, SHELL);
}

/* --- previews and tests --- */

/* co: Renders the template, or the draft in the body, with sample values. */
AWAITS static int
sample_render(struct req *r, struct mail_rendered *ret_mail, struct mail_template *ret_template)
{
    struct mail_variables variables = {0};
    struct stored_templates all;
    struct template_in in = {0};
    enum mail_type type = MAIL_CONFIRMATION;

    TRY(req_json(r, &draft_schema, &in));
    TRY(template_read_type(r, &type));
    TRY(templates_load(r, &all));
    struct mail_template *template = &all.types[type].template;
    TRY(template_merge(r, type, &in, template));
    mail_variable_set(&variables, "project_name", r->scope->project->name);
    mail_variable_set(&variables, "email", r->scope->caller->rights->email);
    mail_variable_set(&variables, "link", STR(SAMPLE_URL));
    mail_variable_set(&variables, "token", STR("sample"));
    mail_variable_set(
        &variables, "expires_minutes", arena_printf(r->task.arena, "%d", MAIL_LINK_MINUTES));
    mail_variable_set(&variables, "invited_by", r->scope->caller->rights->email);
    mail_variable_set(&variables, "old_email", STR("old@example.com"));
    mail_variable_set(&variables, "new_email", STR("new@example.com"));
    *ret_template = *template;
    if (mail_template_render(
            r->task.arena, template, all.shell.template.body_html, &variables, ret_mail) != 0)
        return fail(
            r, PROBLEM_UNPROCESSABLE, "The mail is too long: shorten the template or the shell.");
    return 0;
}

/* The content of a test mail, with the sender that the template names. */
static struct str sample_json(struct arena *arena,
                              const struct mail_rendered *mail,
                              struct str name,
                              int64_t sender_id)
{
    struct strbuf text;
    struct jw w;

    strbuf_init(&text, arena, DOC_BYTES);
    jw_init(&w, &text);
    jw_obj(&w);
    JW_STR(&w, "subject", mail->subject);
    JW_STR(&w, "html", mail->html);
    JW_STR(&w, "text", mail->text);
    JW_STR(&w, "sender_name", name);
    if (sender_id)
        JW_I64(&w, "sender_address_id", sender_id);
    jw_obj_end(&w);
    return strbuf_view(&text);
}

AWAITS static int email_templates_preview(struct req *r)
{
    struct mail_template template = {0};
    struct mail_rendered mail = {0};
    struct str url;
    struct jw w;

    TRY(sample_render(r, &mail, &template));
    TRY(mail_preview_store(r, mail.html, &url));
    struct str name = template.sender_name.len ? template.sender_name : r->scope->project->name;
    w = resp_json(r);
    jw_obj(&w);
    JW_STR(&w, "subject", mail.subject);
    JW_STR(&w, "html", mail.html);
    JW_STR(&w, "text", mail.text);
    JW_STR(&w, "sender_name", name);
    JW_STR(&w, "url", url);
    jw_obj_end(&w);
    return reply_json(r, 200);
}

/* Sends the mail to the caller's own address only. */
AWAITS static int email_templates_test(struct req *r)
{
    struct mail_template template = {0};
    struct mail_rendered mail = {0};

    TRY(sample_render(r, &mail, &template));
    TRY(rate_limit_sign_in(
        r,
        "mail_test",
        arena_printf(r->task.arena, "%lld", (long long)r->scope->caller->user_id),
        TESTS_PER_MINUTE));
    TRY(mail_flow_ready(r));
    struct mail_entry entry = {
        .type = "test",
        .recipient = r->scope->caller->rights->email,
        .user_id = r->scope->caller->user_id,
        .content = sample_json(r->task.arena, &mail, template.sender_name, template.sender_id),
        .give_up_ms = MAIL_LINK_MS,
    };
    struct db_call call = mail_outbox_call(r->task.arena, &entry);
    TRY(sql_batch(r, &call, 1));
    mail_flow_notify(r);
    return reply_empty(r, 202);
}

static const struct route email_templates_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = "/email-templates",
        .id = "email_templates_list",
        .auth = AUTH_ADMIN,
        .run = email_templates_list,
        .summary = "List the templates of the project's mails",
        .query = page_query,
        .success = {200, &template_out_schema, .list = true},
    },
    {
        .method = HTTP_GET_M,
        .path = "/email-templates/shell",
        .id = "email_shell_get",
        .auth = AUTH_ADMIN,
        .run = email_shell_get,
        .summary = "Get the shell, which is the HTML around all mails",
        .success = {200, &shell_out_schema},
    },
    {
        .method = HTTP_PUT_M,
        .path = "/email-templates/shell",
        .id = "email_shell_update",
        .auth = AUTH_ADMIN,
        .run = email_shell_update,
        .summary = "Change the shell, which is the HTML around all mails",
        .body = &shell_in_schema,
        .success = {200, &shell_out_schema},
    },
    {
        .method = HTTP_DELETE_M,
        .path = "/email-templates/shell",
        .id = "email_shell_reset",
        .auth = AUTH_ADMIN,
        .run = email_shell_reset,
        .summary = "Reset the shell to the default",
        .success = {204},
    },
    {
        .method = HTTP_GET_M,
        .path = "/email-templates/{type}",
        .id = "email_templates_get",
        .auth = AUTH_ADMIN,
        .run = email_templates_get,
        .summary = "Get a template",
        .success = {200, &template_out_schema},
        .extra_statuses = {404},
    },
    {
        .method = HTTP_PUT_M,
        .path = "/email-templates/{type}",
        .id = "email_templates_update",
        .auth = AUTH_ADMIN,
        .run = email_templates_update,
        .guard = email_templates_get,
        .summary = "Change a template",
        .body = &template_schema,
        .success = {200, &template_out_schema},
        .extra_statuses = {404, 422},
    },
    {
        .method = HTTP_DELETE_M,
        .path = "/email-templates/{type}",
        .id = "email_templates_reset",
        .auth = AUTH_ADMIN,
        .run = email_templates_reset,
        .guard = email_templates_get,
        .summary = "Reset a template to the default",
        .success = {204},
        .extra_statuses = {404},
    },
    {
        .method = HTTP_POST_M,
        .path = "/email-templates/{type}/preview",
        .id = "email_templates_preview",
        .auth = AUTH_ADMIN,
        .run = email_templates_preview,
        .guard = email_templates_get,
        .class = CLASS_READ,
        .summary = "Preview a mail with its template, or with a draft of the template",
        .body = &draft_schema,
        .success = {200, &preview_out_schema},
        .extra_statuses = {404, 422},
    },
    {
        .method = HTTP_POST_M,
        .path = "/email-templates/{type}/test",
        .id = "email_templates_test",
        .auth = AUTH_ADMIN,
        .run = email_templates_test,
        .guard = email_templates_get,
        .class = CLASS_AUTH,
        .summary = "Send a test mail, whose link does not work, to the caller's own address",
        .body = &draft_schema,
        .success = {202},
        .extra_statuses = {404, 422},
    },
};
ROUTES(email_templates, "Mail");
