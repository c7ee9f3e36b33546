/* SendEmail: one mail through the operator's server, at most once, as CallAnApi. */
#include "app.h"
#include "base/clock.h"
#include "fetch/mail.h"
#include "room.h"
#include "run_step.h"
#include "step.h"

#define BEFORE_STEP_MS 100
#define MAIL_COPIES    4 /* of its bodies, until it has left */

/* A text or an array of texts. */
static int read_addresses(struct step_call *call,
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

static int read_text(struct step_call *call, const char *name, bool html, struct str *ret_text)
{
    TRY(html ? step_param_html(call, name, ret_text) : step_param_text(call, name, ret_text));
    if (ret_text->ptr != NULL)
        (void)json_object_set_new(call->input, name, json_stringn(ret_text->ptr, ret_text->len));
    return 0;
}

/* "Name <address>", or the bare address. */
static void read_sender(struct str sender, struct mail *mail)
{
    const char *open = sender.len ? memchr(sender.ptr, '<', sender.len) : NULL;

    if (open == NULL || !str_ends(sender, STR(">"))) {
        mail->from = str_trim(sender);
        return;
    }
    mail->from_name = str_trim((struct str){sender.ptr, (size_t)(open - sender.ptr)});
    mail->from = (struct str){open + 1, (size_t)(sender.ptr + sender.len - open) - 2};
}

static int read_mail(struct step_call *call, struct mail *mail)
{
    struct arena *arena = call->task->arena;
    const struct project *project = call->job->item.project;
    struct str sender = project->settings.mail_sender;
    struct str reason;

    call->input = step_own(call, json_object());
    TRY(read_addresses(call, "to", &mail->to, &mail->to_count));
    TRY(read_addresses(call, "cc", &mail->cc, &mail->cc_count));
    TRY(read_addresses(call, "bcc", &mail->bcc, &mail->bcc_count));
    TRY(read_text(call, "reply_to", false, &mail->reply_to));
    TRY(read_text(call, "subject", false, &mail->subject));
    TRY(read_text(call, "body_text", false, &mail->text));
    TRY(read_text(call, "body_html", true, &mail->html));
    read_sender(sender.len ? sender : runner_conf()->mail_from, mail);
    mail->message_id = arena_printf(arena,
                                    "job.%lld.%lld.%d",
                                    (long long)project->number,
                                    (long long)call->job->item.id,
                                    call->seq);
    if (!runner_conf()->smtp_url.len || !mail->from.len)
        return step_fail(call,
                         PROBLEM_MAIL_NOT_CONFIGURED,
                         "The service has no mail server, or no sender is set.");
    switch (mail_check(arena, mail, &reason)) {
    case 0:
        return 0;
    case MAIL_BAD_ADDRESS:
        return step_fail(call, PROBLEM_BAD_ADDRESS, "%.*s", STR_ARG(reason));
    default:
        return step_fail(call, PROBLEM_BAD_HEADER, "%.*s", STR_ARG(reason));
    }
}

AWAITS static int send_read(struct step_call *call, const struct mail *mail)
{
    struct str reason;

    TRY(step_sent(call));
    int64_t left_ms = call->task->deadline_ms - clock_mono_ms() - BEFORE_STEP_MS;
    int rc =
        mail_send(call->task, runner_conf()->smtp_url, mail, left_ms > 0 ? left_ms : 1, &reason);
    if (rc == MAIL_UNKNOWN)
        return step_fail(
            call,
            PROBLEM_MAIL_UNKNOWN,
            "The connection broke before the mail server answered: the mail may be on its way.");
    if (rc == MAIL_REFUSED)
        return step_fail(
            call, PROBLEM_MAIL_REFUSED, "The mail server refused: %.*s", STR_ARG(reason));
    if (rc > 0)
        return step_fail(call,
                         PROBLEM_MAIL_UNREACHABLE,
                         "The mail could not be handed over: %.*s",
                         STR_ARG(reason));
    TRY(rc);
    size_t recipients = mail->to_count + mail->cc_count + mail->bcc_count;
    call->output = step_own(call,
                            json_pack("{s:{s:s%, s:I}}",
                                      "data",
                                      "message_id",
                                      mail->message_id.ptr,
                                      mail->message_id.len,
                                      "recipients",
                                      (json_int_t)recipients));
    return 0;
}

int step_send_email(struct step_call *call)
{
    struct mail mail = {0};
    struct room_moment moment;

    TRY(read_mail(call, &mail));
    int rc = room_moment(call->task, MAIL_COPIES * (mail.text.len + mail.html.len), &moment);
    if (rc == ROOM_NONE)
        return step_fail(
            call, PROBLEM_MAIL_UNREACHABLE, "There is no room for a mail of this size.");
    TRY(rc);
    rc = send_read(call, &mail);
    room_moment_end(&moment);
    return rc;
}
