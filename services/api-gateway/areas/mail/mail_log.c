/* /mail/log: the outcome of mails. */
#include "http/query.h"
#include "keyset.h"
#include "mail_log_sql.h"

static const char *const mail_states[] = {
    "queued", "sending", "sent", "refused", "unknown", "dropped", "expired", "failed", NULL};

static const struct field mail_fields[] = {
    {.name = "id", .type = FIELD_I64, .required = true},
    {.name = "type",
     .type = FIELD_STR,
     .required = true,
     .doc = "Type of a template, or workflow, or test",
     .example = "\"invite\""},
    {.name = "status",
     .type = FIELD_STR,
     .required = true,
     .values = mail_states,
     .doc = "refused: the mail server refused the mail permanently (a bounce); unknown: the "
            "server did not confirm, and the mail is not sent again; dropped: there was no "
            "account, page or template for the mail, see code; expired: the mail was not sent in "
            "time"},
    {.name = "recipient", .type = FIELD_STR, .required = true, .doc = "First recipient"},
    {.name = "user_id", .type = FIELD_I64, .required = true, .nullable = true},
    {.name = "sender",
     .type = FIELD_STR,
     .required = true,
     .nullable = true,
     .doc = "Address that the mail was sent from"},
    {.name = "message_id", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "code",
     .type = FIELD_STR,
     .required = true,
     .nullable = true,
     .doc = "Why the mail was not sent, or not yet. no_page: the project had neither "
            "auth_page_url nor redirect_urls for the mail's link",
     .example = "\"mail_refused\""},
    {.name = "detail",
     .type = FIELD_STR,
     .required = true,
     .nullable = true,
     .doc = "Answer of the mail server, or what to do"},
    {.name = "tries", .type = FIELD_I64, .required = true},
    {.name = "job_id", .type = FIELD_I64, .required = true, .nullable = true},
    {.name = "step_sequence", .type = FIELD_I64, .required = true, .nullable = true},
    {.name = "created_at", .type = FIELD_TIME, .required = true},
    {.name = "next_try_at", .type = FIELD_TIME, .required = true, .nullable = true},
    {.name = "ended_at", .type = FIELD_TIME, .required = true, .nullable = true},
};
static const struct schema mail_schema = SCHEMA_OUT("MailLog", mail_fields);

static const struct query_param mail_log_query[] = {
    KEYSET_QUERY,
    {.name = "status",
     .type = FIELD_STR,
     .values = mail_states,
     .doc = "Only mails with this status"},
    {.name = "type", .type = FIELD_STR, .doc = "Only mails of this type"},
    {.name = "recipient", .type = FIELD_STR, .doc = "Only mails to this address"},
    {0},
};

static const struct keyset_list all_mails = {
    &SQL_MAIL_LOG_DESC, &SQL_MAIL_LOG_ASC, &SQL_MAIL_LOG_COUNT, "id"};

AWAITS static int mail_log_list(struct req *r)
{
    const struct query *query;

    TRY(req_query(r, &query));
    return keyset_reply(r,
                        &all_mails,
                        SQL_MAIL_LOG_ARGS(.status = query_get(query, "status"),
                                          .type = query_get(query, "type"),
                                          .recipient = query_get(query, "recipient")));
}

AWAITS static int mail_log_get(struct req *r)
{
    struct rows mail;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(sql_one(r, &mail, SQL_MAIL_LOG_GET(.id = id)));
    return reply_row(r, 200, &mail);
}

static const struct route mail_log_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = "/mail/log",
        .id = "mail_log_list",
        .auth = AUTH_ADMIN,
        .query = mail_log_query,
        .success = {200, &mail_schema, .list = true},
        .run = mail_log_list,
        .summary = "List mails and their outcome, newest first",
        .doc = "The content of a mail is deleted when the mail has ended, and the mail's entry in "
               "this list some weeks later.",
    },
    {
        .method = HTTP_GET_M,
        .path = "/mail/log/{id}",
        .id = "mail_log_get",
        .auth = AUTH_ADMIN,
        .success = {200, &mail_schema},
        .extra_statuses = {404},
        .run = mail_log_get,
        .summary = "Get the outcome of a mail",
    },
};
ROUTES(mail_log, "Mail");
