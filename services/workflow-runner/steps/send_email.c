/*
 * SendEmail: hands a mail to the outbox of mails and waits up to 20 s for its end. The row in the
 * outbox is the hand-over, and a step that is run again finds its own row. A mail that has not been
 * sent within this time is sent later.
 */
#include "app.h"
#include "base/backoff.h"
#include "base/clock.h"
#include "fetch/mail.h"
#include "mail/outbox.h"
#include "mail/template.h"
#include "runner_email_sql.h"
#include "step.h"

#define WAIT_MS        20000
#define BEFORE_STEP_MS 200
#define POLL_FIRST_MS  10
#define POLL_LAST_MS   1000
#define NO_SENDER      "The service has no mail server, or no sender is set."

/* Reads addresses: a text or an array of texts. */
AWAITS static int read_addresses(struct step_call *call,
                                 const char *name,
                                 const struct str **ret_items,
                                 size_t *ret_count)
{
    json_t *value;

    TRY(step_param(call, name, false, &value));
    *ret_items = NULL;
    *ret_count = 0;
    if (value == NULL || json_is_null(value))
        return 0;
    size_t count = json_is_array(value) ? json_array_size(value) : 1;
    struct str *items = ARENA_ARRAY(call->task->arena, items, count);
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_is_array(value) ? json_array_get(value, i) : value;
        if (!json_is_string(item))
            return step_fail(call, PROBLEM_TYPE_MISMATCH, "%s: expected an e-mail address", name);
        items[i] = (struct str){json_string_value(item), json_string_length(item)};
    }
    (void)json_object_set(call->input, name, value);
    *ret_items = items;
    *ret_count = count;
    return 0;
}

AWAITS static int
read_text(struct step_call *call, const char *name, bool html, struct str *ret_text)
{
    TRY(html ? step_param_html(call, name, ret_text) : step_param_text(call, name, ret_text));
    if (ret_text->ptr != NULL)
        (void)json_object_set_new(call->input, name, json_stringn(ret_text->ptr, ret_text->len));
    return 0;
}

/* Reads the values of the template's variables, which must be texts. */
AWAITS static int read_variables_of(struct step_call *call, json_t **ret_variables)
{
    const char *name;
    json_t *value;

    TRY(step_param(call, "variables", false, ret_variables));
    json_object_foreach(*ret_variables, name, value)
    {
        if (!json_is_string(value))
            return step_fail(call, PROBLEM_TYPE_MISMATCH, "variables.%s: expected a text", name);
    }
    if (*ret_variables != NULL)
        (void)json_object_set(call->input, "variables", *ret_variables);
    return 0;
}

/* Makes the checks of a mail before sending, so that the step can report what is wrong. */
static int check_mail(struct step_call *call, struct mail mail, bool from_template)
{
    struct str reason;

    mail.from = STR("somebody@example.org");
    if (from_template && !mail.text.len && !mail.html.len)
        mail.text = STR("made of the template");
    switch (mail_check(call->task->arena, &mail, &reason)) {
    case 0:
        return 0;
    case MAIL_BAD_ADDRESS:
        return step_fail(call, PROBLEM_BAD_ADDRESS, "%.*s", STR_ARG(reason));
    default:
        return step_fail(call, PROBLEM_BAD_HEADER, "%.*s", STR_ARG(reason));
    }
}

static void email_put_list(struct jw *w, const char *name, const struct str *items, size_t count)
{
    jw_lit(w, name);
    jw_arr(w);
    for (size_t i = 0; i < count; i++)
        jw_str(w, items[i]);
    jw_arr_end(w);
}

static struct str email_content_json(struct step_call *call,
                                     const struct mail *mail,
                                     struct str type,
                                     const json_t *variables)
{
    struct strbuf text;
    struct jw w;

    strbuf_init(&text, call->task->arena, (size_t)8 * MAIL_MAX_BYTES);
    jw_init(&w, &text);
    jw_obj(&w);
    email_put_list(&w, "to", mail->to, mail->to_count);
    email_put_list(&w, "cc", mail->cc, mail->cc_count);
    email_put_list(&w, "bcc", mail->bcc, mail->bcc_count);
    JW_STR(&w, "reply_to", mail->reply_to);
    JW_STR(&w, "subject", mail->subject);
    JW_STR(&w, "text", mail->text);
    JW_STR(&w, "html", mail->html);
    if (type.len)
        JW_STR(&w, "template_type", type);
    if (variables != NULL) {
        jw_lit(&w, "variables");
        jw_json(&w, variables);
    }
    jw_obj_end(&w);
    return strbuf_view(&text);
}

AWAITS static int read_mail(struct step_call *call, struct mail *mail, struct str *ret_content)
{
    struct str type = STR_NONE;
    json_t *variables = NULL;

    call->input = step_own_json(call, json_object());
    TRY(read_addresses(call, "to", &mail->to, &mail->to_count));
    TRY(read_addresses(call, "cc", &mail->cc, &mail->cc_count));
    TRY(read_addresses(call, "bcc", &mail->bcc, &mail->bcc_count));
    TRY(read_text(call, "reply_to", false, &mail->reply_to));
    TRY(read_text(call, "subject", false, &mail->subject));
    TRY(read_text(call, "body_text", false, &mail->text));
    TRY(read_text(call, "body_html", true, &mail->html));
    TRY(read_text(call, "template_type", false, &type));
    TRY(read_variables_of(call, &variables));
    if (type.len && mail_type_find(type) < 0)
        return step_fail(call, PROBLEM_NOT_FOUND, "template_type: there is no such template");
    TRY(check_mail(call, *mail, type.len > 0));
    *ret_content = email_content_json(call, mail, type, variables);
    return 0;
}

/* --- handing over --- */

AWAITS static int email_hand_over(struct step_call *call,
                                  const struct mail *mail,
                                  struct str content,
                                  int64_t *ret_id)
{
    struct project *project = call->job->item.project;
    struct rows rows;

    TRY(mail_outbox_register(call->task, runner_directory(), project));
    int rc = db_query(call->task,
                      &project->db,
                      SQL_EMAIL_HAND_OVER(.job_id = call->job->item.id,
                                          .token = call->job->item.token,
                                          .seq = call->seq,
                                          .recipient = mail->to[0],
                                          .content = content,
                                          .give_up_ms = MAIL_GIVE_UP_MS),
                      &rows);
    if (rc < 0)
        return rc;
    if (rc > 0 || rows.count == 0)
        return STEP_STOP;
    *ret_id = sql_email_hand_over_row(&rows, 0).id;
    mail_outbox_notify(runner_directory(), project);
    return 0;
}

static bool email_ended(struct str status)
{
    return !str_is(status, "queued") && !str_is(status, "sending");
}

/* co: Polls the row until the mail has ended or the wait is over. */
AWAITS static int email_wait(struct step_call *call, int64_t id, struct rows *ret_rows)
{
    struct backoff pause = {.first_ms = POLL_FIRST_MS, .most_ms = POLL_LAST_MS};
    int64_t until_ms = clock_mono_ms() + WAIT_MS;

    if (until_ms > call->task->deadline_ms - BEFORE_STEP_MS)
        until_ms = call->task->deadline_ms - BEFORE_STEP_MS;
    for (;;) {
        int64_t pause_ms = backoff_next(&pause);
        bool last = clock_mono_ms() + pause_ms >= until_ms;
        TRY(db_query(call->task, &call->job->item.project->db, SQL_EMAIL_POLL(.id = id), ret_rows));
        if (last || ret_rows->count == 0 || email_ended(sql_email_poll_row(ret_rows, 0).status))
            return 0;
        TRY(task_sleep(call->task, pause_ms));
    }
}

static int
email_report(struct step_call *call, const struct mail *mail, int64_t id, struct rows *rows)
{
    size_t recipients = mail->to_count + mail->cc_count + mail->bcc_count;

    if (rows->count == 0)
        return STEP_STOP;
    const struct sql_email_poll_row row = sql_email_poll_row(rows, 0);
    if (str_is(row.status, "unknown"))
        return step_fail(
            call,
            PROBLEM_MAIL_UNKNOWN,
            "The connection broke before the mail server answered: the mail may be on its way.");
    if (str_is(row.status, "refused"))
        return step_fail(call,
                         PROBLEM_MAIL_REFUSED,
                         "The mail server refused the mail: %.*s",
                         STR_ARG(row.detail));
    if (str_is(row.code, "mail_not_configured"))
        return step_fail(call, PROBLEM_MAIL_NOT_CONFIGURED, NO_SENDER);
    if (email_ended(row.status) && !str_is(row.status, "sent"))
        return step_fail(
            call, PROBLEM_MAIL_REFUSED, "The mail was not sent: %.*s", STR_ARG(row.code));
    call->output = step_own_json(call,
                                 json_pack("{s:{s:I, s:s%, s:s%, s:I}}",
                                           "data",
                                           "mail_id",
                                           (json_int_t)id,
                                           "message_id",
                                           row.message_id.ptr ? row.message_id.ptr : "",
                                           row.message_id.len,
                                           "status",
                                           row.status.ptr,
                                           row.status.len,
                                           "recipients",
                                           (json_int_t)recipients));
    return 0;
}

int step_send_email(struct step_call *call)
{
    struct str content = STR_NONE;
    struct mail mail = {0};
    struct rows rows = {0};
    int64_t id = 0;

    TRY(read_mail(call, &mail, &content));
    if (!runner_conf()->smtp_url.len)
        return step_fail(call, PROBLEM_MAIL_NOT_CONFIGURED, NO_SENDER);
    TRY(email_hand_over(call, &mail, content, &id));
    TRY(email_wait(call, id, &rows));
    return email_report(call, &mail, id, &rows);
}
