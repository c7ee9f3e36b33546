#pragma once
/*
 * Outbound mail: one message over the operator's SMTP server (RFC 5321, 5322, MIME 2045-2047) by
 * libcurl on the loop. The server is configuration, so no address is refused; recipients and
 * headers are the caller's and checked.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/result.h"
#include "base/str.h"

struct mail_dkim;
struct task;

#define MAIL_MAX_RECIPIENTS 50
#define MAIL_MAX_BYTES      1048576 /* of both bodies */
#define MAIL_MAX_SUBJECT    998

/* All borrowed for the call. Addresses are bare ("a@b.example"), in UTF-8. */
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
    struct str text, html; /* one of them at least; both become multipart/alternative */
    struct str message_id; /* the part before "@" of Message-ID: the same for a message that is sent
                              again */
    const struct mail_dkim *dkim; /* NULL: not signed */
};

/* How it leaves. */
struct mail_route {
    struct str server;
    int64_t timeout_ms; /* 0: half a minute */
    /* AWAITS: called when the server has accepted sender and recipients and waits for the text
     * (354): from here on it may have it. The text leaves when this returns 0; what else it returns
     * is what mail_send() does, and nothing was delivered. May be NULL. */
    int (*before_text)(struct task *task, void *arg);
    void *arg;
};

/* Why it was not sent. Borrowed or arena-owned. */
struct mail_outcome {
    struct str reason;  /* what the server said of the mail, or a plain sentence */
    struct str trouble; /* with the server itself, for the operator's eyes: its name may be in it */
};

/* any: "smtp://[user:password@]host[:587][/ehlo-name]" with STARTTLS, "smtps://" with TLS from the
 * start, "smtp+plain://" without either (a relay on the same host, tests). 0 or MAIL_BAD_SERVER. */
int mail_server_check(struct str server) MUSTCHECK;
/* any: an address as it stands in envelopes and headers: a domain of another script as "xn--...".
 * STR_NONE: it is none, or has letters beyond ASCII before its "@", which few servers take (RFC
 * 6531). Arena-owned or the argument. */
struct str mail_address_wire(struct arena *arena, struct str address);
/* any: addresses, headers, sizes. 0, MAIL_BAD_ADDRESS or MAIL_BAD_HEADER with *ret_reason. */
int mail_check(struct arena *arena, const struct mail *mail, struct str *ret_reason) MUSTCHECK;
/* any: the message as it is sent (CRLF), `now_ms` is its Date. For a checked mail; arena-owned. */
struct str mail_message(struct arena *arena, const struct mail *mail, int64_t now_ms);
/* co: checks and sends. 0, a MAIL_* with *ret_outcome, -ECANCELED or -ETIMEDOUT (the task's
 * deadline), or what before_text() returned. It never sends the text twice by itself. Connections
 * to a server are kept for the next mail; one that turns out to be dead before the text is asked
 * for is replaced. */
AWAITS int mail_send(struct task *task,
                     const struct mail_route *route,
                     const struct mail *mail,
                     struct mail_outcome *ret_outcome) MUSTCHECK;
