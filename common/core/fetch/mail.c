/* Sending one message by SMTP. */
#include "fetch/mail.h"

#include "base/clock.h"
#include "base/panic.h"
#include "fetch/fetch_loop_private.h"
#include "loop/task.h"

#define REASON_BYTES    200
#define DEFAULT_SEND_MS 30000

/* In the task's arena. */
struct mail_op {
    struct fetch_transfer transfer;
    struct str rest; /* of the message, still to be handed to libcurl */
    struct curl_slist *recipients;
    bool text_sent; /* all of it left: what the server did with it is unknown until it answers */
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

/* As libcurl will read it. */
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
    size_t room = size * count;
    size_t len = op->rest.len < room ? op->rest.len : room;

    if (len == 0)
        op->text_sent = true;
    else
        memcpy(out, op->rest.ptr, len);
    op->rest = (struct str){op->rest.ptr + len, op->rest.len - len};
    return len;
}

static void
add_recipients(struct arena *arena, struct mail_op *op, const struct str *items, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        op->recipients =
            curl_slist_append(op->recipients, arena_printf(arena, "<%.*s>", STR_ARG(items[i])).ptr);
        MUST(op->recipients != NULL);
    }
}

static void mail_set_options(
    CURL *easy, struct arena *arena, struct mail_op *op, struct str server, const struct mail *mail)
{
    const char *scheme = "";
    struct str rest = STR_NONE;
    long tls = CURLUSESSL_ALL;

    MUST(server_split(server, &scheme, &tls, &rest));
    (void)curl_easy_setopt(
        easy, CURLOPT_URL, arena_printf(arena, "%s%.*s", scheme, STR_ARG(rest)).ptr);
    (void)curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "smtp,smtps");
    (void)curl_easy_setopt(easy, CURLOPT_USE_SSL, tls);
    (void)curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    (void)curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_PROXY, "");
    (void)curl_easy_setopt(easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    /* A dead kept connection must not be found out by sending. */
    (void)curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
    (void)curl_easy_setopt(
        easy, CURLOPT_MAIL_FROM, arena_printf(arena, "<%.*s>", STR_ARG(mail->from)).ptr);
    (void)curl_easy_setopt(easy, CURLOPT_MAIL_RCPT, op->recipients);
    (void)curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_READFUNCTION, mail_on_read);
    (void)curl_easy_setopt(easy, CURLOPT_READDATA, op);
    (void)curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, op->error);
}

/* What the end of the transfer means. A reply code of the server decides; without one, whether the
 * text had left. */
static int end_rc(const struct mail_op *op, long reply)
{
    CURLcode code = op->transfer.code;

    if (code == CURLE_OK)
        return 0;
    if (code == CURLE_OUT_OF_MEMORY)
        PANIC("libcurl: out of memory");
    if (code == CURLE_LOGIN_DENIED || reply >= 500)
        return MAIL_REFUSED;
    if (reply >= 400)
        return MAIL_UNREACHABLE;
    return op->text_sent ? MAIL_UNKNOWN : MAIL_UNREACHABLE;
}

AWAITS static int send_op(struct task *task,
                          struct mail_op *op,
                          struct str server,
                          const struct mail *mail,
                          int64_t timeout_ms)
{
    CURL *easy = curl_easy_init();
    long reply = 0;

    MUST(easy != NULL);
    op->transfer.easy = easy;
    mail_set_options(easy, task->arena, op, server, mail);
    (void)curl_easy_setopt(
        easy, CURLOPT_TIMEOUT_MS, (long)(timeout_ms > 0 ? timeout_ms : DEFAULT_SEND_MS));
    int rc = fetch_loop_run(task, &op->transfer);
    if (rc == 0) {
        (void)curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &reply);
        rc = end_rc(op, reply);
    } else if (op->text_sent) {
        rc = MAIL_UNKNOWN;
    }
    curl_easy_cleanup(easy);
    return rc;
}

int mail_send(struct task *task,
              struct str server,
              const struct mail *mail,
              int64_t timeout_ms,
              struct str *ret_reason)
{
    struct mail_op *op = ARENA_NEW(task->arena, op);

    *ret_reason = STR("the mail server's address is not valid");
    TRY(mail_server_check(server));
    TRY(mail_check(task->arena, mail, ret_reason));
    op->rest = mail_message(task->arena, mail, clock_wall_ms());
    add_recipients(task->arena, op, mail->to, mail->to_count);
    add_recipients(task->arena, op, mail->cc, mail->cc_count);
    add_recipients(task->arena, op, mail->bcc, mail->bcc_count);
    int rc = send_op(task, op, server, mail, timeout_ms);
    curl_slist_free_all(op->recipients);
    if (rc > 0)
        *ret_reason = arena_printf(task->arena,
                                   "%.*s",
                                   REASON_BYTES,
                                   op->error[0] ? op->error : "the mail server cannot be reached");
    return rc;
}
