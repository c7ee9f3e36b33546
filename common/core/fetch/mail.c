/*
 * Sends one message by SMTP. libcurl requests the text once the server has replied 354 to DATA. The
 * transfer then pauses until the caller agrees (before_text()).
 */
#include "fetch/mail.h"

#include "base/clock.h"
#include "base/panic.h"
#include "base/utf8.h"
#include "fetch/fetch_loop_private.h"
#include "fetch/mail_dkim.h"
#include "loop/task.h"
#include "loop/work.h"

#define REASON_BYTES    200
#define DEFAULT_SEND_MS 30000
#define POOLED_SECONDS  30 /* how long an idle connection can be reused */

/* State of one attempt to send, in the task's arena; cleared before each attempt. */
struct mail_op {
    struct fetch_transfer transfer;
    const struct mail_route *route;
    struct await text_wait; /* done when the text is requested or the transfer is over */
    struct str rest;        /* the part of the message not yet handed to libcurl */
    long reply_code;        /* the server's last reply code */
    long connections;       /* opened for this attempt; 0 = a pooled one was used */
    int before_text_rc;     /* non-zero result of before_text() */
    bool is_text_requested; /* the server has requested the text */
    bool is_text_allowed;   /* before_text() agreed: the text may be sent */
    bool is_ended;          /* the transfer is over */
    bool text_sent; /* the whole text was sent: the outcome is unknown until the server replies */
    bool is_refusal_complete; /* refusal_text is complete: the next line begins another reply */
    size_t refusal_len;
    char refusal_text[REASON_BYTES]; /* the server's last refusal, its lines joined by blanks */
    char error[CURL_ERROR_SIZE];
};

static bool
server_split(struct str server, const char **ret_scheme, long *ret_tls, struct str *ret_rest)
{
    static const struct {
        const char *name, *scheme;
        long tls;
    } kinds[] = {
        {"smtp://", "smtp://", CURLUSESSL_ALL},
        {"smtps://", "smtps://", CURLUSESSL_ALL},
        {"smtp+plain://", "smtp://", CURLUSESSL_NONE},
    };

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct str name = str_from(kinds[i].name);
        if (!str_starts(server, name) || server.len == name.len)
            continue;
        *ret_scheme = kinds[i].scheme;
        *ret_tls = kinds[i].tls;
        *ret_rest = (struct str){server.ptr + name.len, server.len - name.len};
        return true;
    }
    return false;
}

/* Returns whether libcurl accepts the URL. */
static bool is_url(const char *scheme, struct str rest)
{
    struct arena *arena = arena_new(0);
    CURLU *url = curl_url();

    MUST(url != NULL);
    CURLUcode code = curl_url_set(
        url, CURLUPART_URL, arena_printf(arena, "%s%.*s", scheme, STR_ARG(rest)).ptr, 0);
    curl_url_cleanup(url);
    arena_free(arena);
    return code == CURLUE_OK;
}

int mail_server_check(struct str server)
{
    const char *scheme;
    struct str rest;
    long tls;

    if (!server_split(server, &scheme, &tls, &rest))
        return MAIL_BAD_SERVER;
    for (size_t i = 0; i < rest.len; i++) {
        if ((unsigned char)rest.ptr[i] <= 0x20 || (unsigned char)rest.ptr[i] >= 0x7f)
            return MAIL_BAD_SERVER;
    }
    return is_url(scheme, rest) ? 0 : MAIL_BAD_SERVER;
}

static size_t mail_on_read(char *out, size_t size, size_t count, void *arg)
{
    struct mail_op *op = arg;
    size_t capacity = size * count;
    size_t len = op->rest.len < capacity ? op->rest.len : capacity;

    op->is_text_requested = true;
    if (op->before_text_rc != 0)
        return CURL_READFUNC_ABORT;
    if (!op->is_text_allowed) {
        if (!op->text_wait.done)
            await_done(&op->text_wait, 0);
        return CURL_READFUNC_PAUSE;
    }
    if (len == 0)
        op->text_sent = true;
    else
        memcpy(out, op->rest.ptr, len);
    op->rest = (struct str){op->rest.ptr + len, op->rest.len - len};
    return len;
}

static void reply_add(struct mail_op *op, struct str text)
{
    size_t capacity = sizeof(op->refusal_text) - op->refusal_len;
    size_t len = text.len < capacity ? text.len : capacity;

    memcpy(op->refusal_text + op->refusal_len, text.ptr, len);
    op->refusal_len += len;
}

/* Receives a line of a reply, such as "550-5.1.1 Nobody"; in the last line a blank replaces the
 * '-'. Keeps only refusals, so that the reply to QUIT does not replace them. */
static size_t mail_on_reply(char *data, size_t size, size_t count, void *arg)
{
    struct mail_op *op = arg;
    struct str line = str_trim((struct str){data, size * count});

    if (line.len == 0 || (line.ptr[0] != '4' && line.ptr[0] != '5'))
        return size * count;
    if (op->is_refusal_complete)
        op->refusal_len = 0;
    op->is_refusal_complete = line.len < 4 || line.ptr[3] != '-';
    if (op->refusal_len > 0) {
        reply_add(op, STR(" "));
        line = line.len > 4 ? (struct str){line.ptr + 4, line.len - 4} : STR("");
    }
    reply_add(op, line);
    return size * count;
}

static struct curl_slist *
recipients_add(struct arena *arena, struct curl_slist *list, const struct str *items, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct str address = mail_address_wire(arena, items[i]);
        list = curl_slist_append(list, arena_printf(arena, "<%.*s>", STR_ARG(address)).ptr);
        MUST(list != NULL);
    }
    return list;
}

static struct curl_slist *recipients_of(struct arena *arena, const struct mail *mail)
{
    struct curl_slist *list = recipients_add(arena, NULL, mail->to, mail->to_count);

    list = recipients_add(arena, list, mail->cc, mail->cc_count);
    return recipients_add(arena, list, mail->bcc, mail->bcc_count);
}

static void mail_set_options(CURL *easy,
                             struct arena *arena,
                             struct mail_op *op,
                             struct str from,
                             struct curl_slist *recipients)
{
    const struct mail_route *route = op->route;
    const char *scheme = "";
    struct str rest = STR_NONE;
    long tls = CURLUSESSL_ALL;

    MUST(server_split(route->server, &scheme, &tls, &rest));
    (void)curl_easy_setopt(
        easy, CURLOPT_URL, arena_printf(arena, "%s%.*s", scheme, STR_ARG(rest)).ptr);
    (void)curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "smtp,smtps");
    (void)curl_easy_setopt(easy, CURLOPT_USE_SSL, tls);
    (void)curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    (void)curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_PROXY, "");
    (void)curl_easy_setopt(easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    (void)curl_easy_setopt(easy, CURLOPT_MAXAGE_CONN, (long)POOLED_SECONDS);
    (void)curl_easy_setopt(
        easy, CURLOPT_MAIL_FROM, arena_printf(arena, "<%.*s>", STR_ARG(from)).ptr);
    (void)curl_easy_setopt(easy, CURLOPT_MAIL_RCPT, recipients);
    (void)curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_READFUNCTION, mail_on_read);
    (void)curl_easy_setopt(easy, CURLOPT_READDATA, op);
    (void)curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, mail_on_reply);
    (void)curl_easy_setopt(easy, CURLOPT_HEADERDATA, op);
    if (fetch_loop_ca_file())
        (void)curl_easy_setopt(easy, CURLOPT_CAINFO, fetch_loop_ca_file());
    (void)curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, op->error);
    (void)curl_easy_setopt(easy,
                           CURLOPT_TIMEOUT_MS,
                           (long)(route->timeout_ms > 0 ? route->timeout_ms : DEFAULT_SEND_MS));
}

/* Returns whether the server's last reply is about this mail. Earlier replies, to the connection or
 * a password, concern all mails, and so does 530 at any time: they are no reason to give up this
 * mail. libcurl returns CURLE_SEND_ERROR when sender, recipients or DATA are refused. */
static bool reply_is_of_mail(const struct mail_op *op)
{
    return op->reply_code >= 400 && op->reply_code != 530 &&
           (op->text_sent || op->transfer.code == CURLE_SEND_ERROR);
}

/* Returns the result of an ended transfer. The server's reply code decides; without one, whether
 * the text was sent. Only the first digit of the code counts (RFC 5321 section 4.2). */
static int end_rc(const struct mail_op *op)
{
    long reply = op->reply_code;
    CURLcode code = op->transfer.code;

    if (code == CURLE_OK || (op->text_sent && reply / 100 == 2))
        return 0;
    if (op->before_text_rc != 0)
        return op->before_text_rc;
    if (code == CURLE_OUT_OF_MEMORY)
        PANIC("libcurl: out of memory");
    if (reply_is_of_mail(op))
        return reply >= 500 ? MAIL_REFUSED : MAIL_UNREACHABLE;
    return op->text_sent ? MAIL_UNKNOWN : MAIL_UNREACHABLE;
}

/* --- the transfer, concurrently with before_text() --- */

AWAITS static int mail_transfer(struct task *task, void *arg)
{
    struct mail_op *op = arg;
    int rc = fetch_loop_run(task, &op->transfer);

    op->is_ended = true;
    if (!op->text_wait.done)
        await_done(&op->text_wait, 0);
    return rc;
}

/* Nothing to do: when this wait is cancelled, the transfer is cancelled as well. */
static void text_wait_abandon(struct await *await)
{
    (void)await;
}

AWAITS static int mail_agree(struct task *task, void *arg)
{
    struct mail_op *op = arg;

    TRY(await_wait(task, &op->text_wait, 0));
    if (op->is_ended)
        return 0;
    if (op->route->before_text != NULL)
        op->before_text_rc = op->route->before_text(task, op->route->arg);
    op->is_text_allowed = op->before_text_rc == 0;
    if (!op->is_ended)
        (void)curl_easy_pause(op->transfer.easy, CURLPAUSE_CONT);
    return 0;
}

AWAITS static int mail_try(struct task *task,
                           struct mail_op *op,
                           struct str from,
                           struct curl_slist *recipients,
                           bool fresh)
{
    struct task_call calls[] = {{mail_transfer, op, 0}, {mail_agree, op, 0}};
    CURL *easy = curl_easy_init();

    MUST(easy != NULL);
    op->transfer.easy = easy;
    await_init(&op->text_wait);
    op->text_wait.abandon = text_wait_abandon;
    mail_set_options(easy, task->arena, op, from, recipients);
    (void)curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, fresh ? 1L : 0L);
    int rc = task_all(task, calls, ARRAY_LEN(calls));
    if (rc == 0) {
        (void)curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &op->reply_code);
        (void)curl_easy_getinfo(easy, CURLINFO_NUM_CONNECTS, &op->connections);
        rc = end_rc(op);
    } else if (op->text_sent) {
        rc = MAIL_UNKNOWN;
    }
    curl_easy_cleanup(easy);
    return rc;
}

/* Returns whether a pooled connection was closed by the server before the text, or had carried as
 * many mails as the server permits (421). */
static bool pooled_connection_was_dead(const struct mail_op *op, int rc)
{
    return rc == MAIL_UNREACHABLE && op->connections == 0 && !op->is_text_requested &&
           (op->reply_code == 0 || op->reply_code == 421);
}

/* --- messages --- */

struct signing {
    struct arena *arena;
    const struct mail_dkim *dkim;
    struct str message, header;
    int64_t now_ms;
};

static void message_sign(void *arg)
{
    struct signing *signing = arg;

    signing->header =
        mail_dkim_header(signing->arena, signing->dkim, signing->message, signing->now_ms);
}

AWAITS static struct str signed_message(struct task *task, const struct mail *mail)
{
    struct signing signing = {.arena = task->arena, .dkim = mail->dkim, .now_ms = clock_wall_ms()};

    signing.message = mail_message(task->arena, mail, signing.now_ms);
    if (mail->dkim == NULL)
        return signing.message;
    work_off_thread(task, message_sign, &signing);
    size_t len = signing.header.len + signing.message.len;
    char *text = arena_alloc(task->arena, len);
    memcpy(text, signing.header.ptr, signing.header.len);
    memcpy(text + signing.header.len, signing.message.ptr, signing.message.len);
    return (struct str){text, len};
}

/* Returns the server's reply about the mail. All other errors concern the operator's server, so
 * only the operator gets their details (`server_error`). */
static struct mail_outcome mail_outcome_of(struct arena *arena, const struct mail_op *op)
{
    struct mail_outcome outcome = {.reason = STR("the mail server is currently not available")};

    if (reply_is_of_mail(op)) {
        char *said = arena_alloc(arena, op->refusal_len + 1);
        for (size_t i = 0; i < op->refusal_len; i++)
            said[i] = (unsigned char)op->refusal_text[i] < ' ' || op->refusal_text[i] == 0x7f
                          ? ' '
                          : op->refusal_text[i];
        outcome.reason = utf8_clean(arena, (struct str){said, op->refusal_len});
        return outcome;
    }
    if (op->text_sent)
        outcome.reason = STR("the mail server received the mail but did not confirm it");
    outcome.server_error = op->error[0]
                               ? arena_printf(arena, "%s", op->error)
                               : arena_printf(arena, "the server replied %ld", op->reply_code);
    return outcome;
}

int mail_send(struct task *task,
              const struct mail_route *route,
              const struct mail *mail,
              struct mail_outcome *ret_outcome)
{
    struct mail_op *op = ARENA_NEW(task->arena, op);

    *ret_outcome = (struct mail_outcome){.reason = STR("the mail server's address is not valid")};
    TRY(mail_server_check(route->server));
    TRY(mail_check(task->arena, mail, &ret_outcome->reason));
    struct str message = signed_message(task, mail);
    struct curl_slist *recipients = recipients_of(task->arena, mail);
    *op = (struct mail_op){.route = route, .rest = message};
    struct str from = mail_address_wire(task->arena, mail->from);
    int rc = mail_try(task, op, from, recipients, false);
    if (pooled_connection_was_dead(op, rc)) {
        *op = (struct mail_op){.route = route, .rest = message};
        rc = mail_try(task, op, from, recipients, true);
    }
    curl_slist_free_all(recipients);
    if (rc > 0)
        *ret_outcome = mail_outcome_of(task->arena, op);
    return rc;
}
