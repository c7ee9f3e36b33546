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

struct task;

#define MAIL_MAX_RECIPIENTS 50
#define MAIL_MAX_BYTES      1048576 /* of both bodies */
#define MAIL_MAX_SUBJECT    998

/* All borrowed for the call. Addresses are bare ("a@b.example"). */
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
};

/* any: "smtp://[user:password@]host[:587][/ehlo-name]" with STARTTLS, "smtps://" with TLS from the
 * start, "smtp+plain://" without either (a relay on the same host, tests). 0 or MAIL_BAD_SERVER. */
int mail_server_check(struct str server) MUSTCHECK;
/* any: addresses, headers, sizes. 0, MAIL_BAD_ADDRESS or MAIL_BAD_HEADER with *ret_reason. */
int mail_check(struct arena *arena, const struct mail *mail, struct str *ret_reason) MUSTCHECK;
/* any: the message as it is sent (CRLF), `now_ms` is its Date. For a checked mail; arena-owned. */
struct str mail_message(struct arena *arena, const struct mail *mail, int64_t now_ms);
/* co: checks and sends. 0, a MAIL_* with *ret_reason, -ECANCELED or -ETIMEDOUT (the
 * task's deadline). Once: it never sends twice by itself. */
AWAITS int mail_send(struct task *task,
                     struct str server,
                     const struct mail *mail,
                     int64_t timeout_ms,
                     struct str *ret_reason) MUSTCHECK;
