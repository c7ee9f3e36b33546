/* Sends mails: claims their rows, hands them to the server, and ends them. */
#include "mails.h"

#include "base/backoff.h"
#include "base/clock.h"
#include "fetch/mail.h"
#include "job_budget.h"
#include "log/log.h"
#include "mail/outbox.h"
#include "metrics/metrics.h"
#include "quotas.h"
#include "runner_mails_sql.h"

#define RETAIN_EVERY_MS      600000
#define AGAIN_MOST           3600000 /* longest pause between two tries */
#define TROUBLE_EVERY_MS     1000    /* least time between two log lines about the server */
#define MAILS_PREFETCHED     32      /* mails of a project that are claimed before a slot is free */
#define MAIL_COPIES          6       /* copies of a mail's content that are in memory at once */
#define MAIL_BUDGET_FRACTION 4       /* fraction of quotas_temporary that one mail may hold */
#define MAILS_A_SLOT         4 /* running mails per slot: some are made or ended while one is sent */

static struct queue *mails;

enum { SENT, REFUSED, UNKNOWN, DROPPED, EXPIRED, FAILED, ENDS };
static const char *const statuses[ENDS] = {
    "sent", "refused", "unknown", "dropped", "expired", "failed"};
static struct metric *ended_counters[ENDS];
static struct metric *retried_counter;

static void mails_read(struct queue_item *item)
{
    struct claimed_mail *mail = CONTAINER_OF(item, struct claimed_mail, item);
    const struct sql_claimed_mail_row row = sql_claimed_mail_row(&item->rows, 0);

    mail->type = row.type;
    mail->recipient = row.recipient;
    mail->content = row.content;
    mail->user_id = row.user_id.value;
    mail->size = row.size;
    mail->tries = row.tries;
    mail->is_past_give_up = row.late;
    mail->has_verified_domain = row.own_domain;
}

/* --- ends of mails --- */

AWAITS static int mails_end(struct task *task,
                            const struct claimed_mail *mail,
                            int how,
                            const char *code,
                            struct str detail)
{
    size_t rows;

    TRY(mails_write(task,
                    mail,
                    db_call(SQL_MAIL_END(.id = mail->item.id,
                                         .token = mail->item.token,
                                         .status = str_from(statuses[how]),
                                         .code = str_from(code),
                                         .detail = detail.len ? detail : STR_NONE)),
                    &rows));
    if (rows > 0)
        metric_add(ended_counters[how], 1);
    return 0;
}

AWAITS static int mails_retry(struct task *task, const struct claimed_mail *mail, struct str detail)
{
    struct backoff pause = {.first_ms = runner_conf()->mail_retry_ms,
                            .most_ms = AGAIN_MOST,
                            .tries = (unsigned)mail->tries};

    size_t rows;

    metric_add(retried_counter, 1);
    return mails_write(task,
                       mail,
                       db_call(SQL_MAIL_AGAIN(.id = mail->item.id,
                                              .token = mail->item.token,
                                              .code = STR("mail_unreachable"),
                                              .detail = detail,
                                              .pause_ms = backoff_next(&pause))),
                       &rows);
}

/* --- handing over --- */

struct handing {
    const struct claimed_mail *mail;
    const struct mail *message;
};

/* Records in the row that the server now gets the text (`handed_over`). MAIL_DROPPED: the token is
 * outdated. */
AWAITS static int mark_handed(struct task *task, void *arg)
{
    const struct handing *handing = arg;
    size_t rows;

    TRY(mails_write(task,
                    handing->mail,
                    db_call(SQL_MAIL_HANDED(.id = handing->mail->item.id,
                                            .token = handing->mail->item.token,
                                            .message_id = handing->message->message_id,
                                            .sender = handing->message->from)),
                    &rows));
    return rows > 0 ? 0 : MAIL_DROPPED;
}

/* Logs trouble with the server for the operator, at most once in TROUBLE_EVERY_MS. */
static void log_server_trouble(const struct claimed_mail *mail, struct str trouble)
{
    static int64_t quiet_until_ms;

    if (!trouble.len || clock_mono_ms() < quiet_until_ms)
        return;
    quiet_until_ms = clock_mono_ms() + TROUBLE_EVERY_MS;
    log_warn("mail.server", L_I64("mail", mail->item.id), L_STR("error", trouble));
}

/* co: Sends over a connection of its own, within the project's share of the mail slots. */
AWAITS static int mails_send_in_slot(struct task *task,
                                     const struct mail_route *route,
                                     const struct mail *message,
                                     struct mail_outcome *ret_outcome)
{
    struct share *share;

    TRY(shares_acquire(task, &quotas_mails, share_owner_of(task), 1, 0, &share));
    int rc = mail_send(task, route, message, ret_outcome);
    shares_release(&quotas_mails, share, 1);
    return rc;
}

AWAITS static int
hand_over(struct task *task, const struct claimed_mail *mail, const struct mail *message)
{
    struct handing handing = {mail, message};
    const struct mail_route route = {
        .server = runner_conf()->smtp_url,
        .timeout_ms = runner_conf()->mail_timeout_ms,
        .before_text = mark_handed,
        .arg = &handing,
    };
    struct mail_outcome outcome = {0};

    int rc = mails_send_in_slot(task, &route, message, &outcome);
    log_server_trouble(mail, outcome.server_error);
    switch (rc) {
    case 0:
        return mails_end(task, mail, SENT, NULL, STR_NONE);
    case MAIL_DROPPED:
        return 0;
    case MAIL_REFUSED:
        return mails_end(task, mail, REFUSED, "mail_refused", outcome.reason);
    case MAIL_UNKNOWN:
        return mails_end(task, mail, UNKNOWN, "mail_unknown", outcome.reason);
    case MAIL_UNREACHABLE:
        return mails_retry(task, mail, outcome.reason);
    case MAIL_BAD_ADDRESS:
    case MAIL_BAD_HEADER:
    case MAIL_BAD_SERVER:
        return mails_end(task, mail, FAILED, "bad_header", outcome.reason);
    default: /* a database error: the row records how far the mail came */
        return rc;
    }
}

/* co: Reads content that the claim did not return. mail->content stays empty when the row has
 * another token by now. */
AWAITS static int mails_read_content(struct task *task, struct claimed_mail *mail)
{
    struct rows rows;

    if (mail->content.len)
        return 0;
    TRY(db_query(task,
                 &mail->item.project->db,
                 SQL_MAIL_CONTENT(.id = mail->item.id, .token = mail->item.token),
                 &rows));
    if (rows.count > 0)
        mail->content = sql_mail_content_row(&rows, 0).content;
    return 0;
}

/* Tells an administrator what to do about a mail that was not sent, where this is known. */
static struct str dropped_detail(struct str code)
{
    return str_is(code, "no_page")
               ? STR("The mail has no page to link to: set settings.auth_page_url "
                     "(PUT {base_url}/), and request the mail again.")
               : STR_NONE;
}

AWAITS static int mails_send_one(struct task *task, struct claimed_mail *mail)
{
    struct mail message = {0};
    struct str code = STR_NONE;

    if (mail->is_past_give_up)
        return mails_end(task,
                         mail,
                         EXPIRED,
                         runner_conf()->smtp_url.len ? "expired" : "mail_not_configured",
                         STR_NONE);
    TRY(mails_read_content(task, mail));
    if (!mail->content.len)
        return 0;
    int rc = mails_make(task, mail, &message, &code);
    if (rc == MAIL_DROPPED)
        return mails_end(task, mail, DROPPED, arena_cstr(task->arena, code), dropped_detail(code));
    if (rc == MAIL_BAD_ADDRESS || rc == MAIL_BAD_HEADER)
        return mails_end(
            task, mail, FAILED, rc == MAIL_BAD_ADDRESS ? "bad_address" : "bad_header", code);
    return rc ? rc : hand_over(task, mail, &message);
}

/* The budget for a mail's parsed content, its parts and its message. */
static uint64_t mail_budget_of(const struct claimed_mail *mail)
{
    uint64_t bytes = (uint64_t)MAIL_COPIES * (uint64_t)mail->size;
    uint64_t most = quotas_temporary.config.limit / MAIL_BUDGET_FRACTION;

    return bytes < most ? bytes : most;
}

static enum queue_outcome mails_run(struct task *task, struct queue_item *item)
{
    struct claimed_mail *mail = CONTAINER_OF(item, struct claimed_mail, item);
    struct job_budget_temporary moment;

    if (job_budget_temporary_acquire(task, mail_budget_of(mail), &moment) != 0)
        return QUEUE_RELEASED;
    bool lost = queue_item_is_lost(item);
    int rc = lost ? 0 : mails_send_one(task, mail);
    job_budget_temporary_release(&moment);
    if (rc != 0) /* when the lease ends, the row shows how far the mail came */
        log_warn("mail.failed", L_I64("mail", item->id), L_RESULT("rc", rc), L_AT(&task->site, rc));
    return lost || rc != 0 ? QUEUE_UNKNOWN : QUEUE_DONE;
}

/* --- the table --- */

static const struct sql *const history[] = {&SQL_RETAIN_MAILS, &SQL_RETAIN_MAIL_LINKS, NULL};

static struct queue_kind kind = {
    .name = "mails",
    .size = sizeof(struct claimed_mail),
    .read = mails_read,
    .run = mails_run,
    .claim = &SQL_MAILS_CLAIM,
    .renew = &SQL_MAILS_RENEW,
    .still_held = &SQL_MAILS_HELD,
    .release = &SQL_MAILS_RELEASE,
    .rescue = &SQL_MAILS_RESCUE,
    .claim_bytes = LARGE_BYTES,
    .prefetch = MAILS_PREFETCHED,
    .projects = &SQL_MAIL_PROJECTS,
    .poll = &SQL_MAILS_POLL,
    .retain = history,
    .has_old = &SQL_MAILS_OLD,
    .topic = BUS_MAIL,
    .group = "workflow-runner",
    .message = MAIL_NOTIFICATION_KIND,
};

void mails_prepare(void)
{
    static const char *const labels[ENDS] = {
        "status=\"sent\"",
        "status=\"refused\"",
        "status=\"unknown\"",
        "status=\"dropped\"",
        "status=\"expired\"",
        "status=\"failed\"",
    };

    for (int i = 0; i < ENDS; i++)
        ended_counters[i] =
            metric_counter("groundwork_mails_ended_total", labels[i], "Mails that ended");
    retried_counter =
        metric_counter("groundwork_mails_repeated_total",
                       "",
                       "Mails that will be sent again because the server did not accept them");
    queue_prepare(&kind);
}

void mails_start(void)
{
    const struct app_conf *conf = runner_conf();

    if (!conf->smtp_url.len) {
        /* Mails whose give_up_at has passed end. All other mails wait for a mail server. */
        kind.claim = &SQL_MAILS_CLAIM_LATE;
        kind.poll = &SQL_MAILS_POLL_LATE;
    }
    mails =
        queue_start(&kind,
                    &(struct queue_config){
                        .directory = runner_directory(),
                        .bus = runner_bus(),
                        .holder = runner_id(),
                        .slots = MAILS_A_SLOT * (unsigned)conf->mail_slots,
                        .slots_per_project = MAILS_A_SLOT * (unsigned)conf->mail_slots_per_project,
                        .lease_ms = conf->lease_ms,
                        .sweep_ms = conf->sweep_ms,
                        .attempts = conf->job_attempts,
                        .retain_days = conf->mail_retention_days,
                        .retain_every_ms = RETAIN_EVERY_MS,
                    });
}

void mails_stop_polling(void)
{
    if (mails)
        queue_stop_sweeps(mails);
}

void mails_drain(int64_t last_call_mono_ms, loop_fn done, void *arg)
{
    if (mails)
        queue_drain(mails, last_call_mono_ms, done, arg);
    else
        done(arg);
}

void mails_stop(void)
{
    if (mails)
        queue_stop(mails);
    mails = NULL;
}
