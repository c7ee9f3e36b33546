#pragma once
/*
 * TXT records of names (RFC 1035), asked by c-ares on the loop. Several questions are asked at
 * once, over sockets of their own: ports and ids are new each time. Loop thread.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/result.h"
#include "base/str.h"

struct task;

#define DNS_TEXTS_MAX 32   /* of one name; more are left out */
#define DNS_TEXT_MAX  4096 /* bytes of one; longer ones are left out */

struct dns_question {
    struct str name;
    /* 0: texts are below; DNS_MISSING: there is no such record; DNS_FAILED: nobody knows now. */
    int rc;
    struct str *texts; /* strings of one record are joined; arena-owned */
    size_t count;
    const char *reason; /* of DNS_FAILED */
};

/* any: whom to ask: addresses with commas between, each with a port if it wants ("127.0.0.1:53",
 * "[::1]:53"); STR_NONE: those of /etc/resolv.conf. 0 or DNS_BAD_SERVERS. */
int dns_start(struct str servers) MUSTCHECK;
/* any: at the end. */
void dns_stop(void);
/* co: asks all, and returns when all are answered or limit_ms has passed: 0, DNS_BUSY (as many of
 * the project's wait as may), -ECANCELED or -ETIMEDOUT. */
AWAITS int
dns_ask(struct task *task, struct dns_question *questions, size_t count, int64_t limit_ms)
    MUSTCHECK;
