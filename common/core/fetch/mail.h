#pragma once
/*
 * Outbound mail: sends one message through the operator's SMTP server (RFC 5321, 5322, MIME
 * 2045-2047), on libcurl and the loop. The operator configures the server, so any address is
 * allowed. Recipients and headers come from the caller and are checked.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/result.h"
#include "base/str.h"

struct mail_dkim;
struct task;

#define MAIL_MAX_RECIPIENTS 50
#define MAIL_MAX_BYTES      1048576 /* `text` and `html` together */
#define MAIL_MAX_SUBJECT    998

/* A message. All members are borrowed for the call. Addresses are bare ("a@b.example"), in
 * UTF-8. */
struct mail {
    struct str from;
    struct str from_name; /* may be empty */
    const struct str *to;
    size_t to_count; /* at least one */
    const struct str *cc;
    size_t cc_count;
    const struct str *bcc;
    size_t bcc_count;    /* envelope only */
    struct str reply_to; /* may be empty */
    struct str subject;
    struct str text, html; /* at least one; both become multipart/alternative */
    struct str message_id; /* part of Message-ID before "@"; reuse it to send a message again */
    const struct mail_dkim *dkim; /* NULL = not signed */
};

/* How a message is sent. */
struct mail_route {
    struct str server;
    int64_t timeout_ms; /* 0 = 30 s */
    /* AWAITS: Called when the server has accepted sender and recipients and waits for the text
     * (354). The text is sent if this returns 0; from then on the server may have the message. Any
     * other result becomes the result of mail_send(), and nothing was delivered. May be NULL. */
    int (*before_text)(struct task *task, void *arg);
    void *arg;
};

/* Why a message was not sent. Borrowed or arena-owned. */
struct mail_outcome {
    struct str reason;       /* the server's reply about the mail, or a plain sentence */
    struct str server_error; /* an error of the server itself, for the operator only: may contain
                           the server's name */
};

/* any: Checks the URL of a server: "smtp://[user:password@]host[:587][/ehlo-name]" with STARTTLS,
 * "smtps://" with TLS from the start, "smtp+plain://" without TLS (a relay on the same host,
 * tests). Returns 0 or MAIL_BAD_SERVER. */
int mail_server_check(struct str server) MUSTCHECK;
/* any: Returns an address as it is written in envelopes and headers: a domain in another script
 * becomes "xn--...". STR_NONE when the text is no address, or has non-ASCII letters before its "@",
 * which few servers accept (RFC 6531). Arena-owned, or the argument. */
struct str mail_address_wire(struct arena *arena, struct str address);
/* any: Checks addresses, headers and sizes. Returns 0, or MAIL_BAD_ADDRESS or MAIL_BAD_HEADER with
 * *ret_reason. */
int mail_check(struct arena *arena, const struct mail *mail, struct str *ret_reason) MUSTCHECK;
/* any: Returns the message as it is sent (lines end in CRLF); `now_ms` becomes its Date. Only for a
 * mail that passed mail_check(). Arena-owned. */
struct str mail_message(struct arena *arena, const struct mail *mail, int64_t now_ms);
/* co: Checks the message, sends it and waits for the server's reply. Returns 0, a MAIL_* with
 * *ret_outcome, -ECANCELED or -ETIMEDOUT (the task's deadline), or the result of before_text().
 * Never sends the text twice on its own. Connections are pooled for the next mail, and a pooled
 * connection that turns out to be dead before the text is requested is replaced. */
AWAITS int mail_send(struct task *task,
                     const struct mail_route *route,
                     const struct mail *mail,
                     struct mail_outcome *ret_outcome) MUSTCHECK;
