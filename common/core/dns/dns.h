#pragma once
/*
 * Queries TXT records of names (RFC 1035) with c-ares on the loop. The questions of a call are sent
 * concurrently, over sockets of that call alone: ports and ids are new each time. Loop thread only.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/result.h"
#include "base/str.h"

struct task;

#define DNS_TEXTS_MAX 32   /* texts of one name; further texts are left out */
#define DNS_TEXT_MAX  4096 /* bytes of one text; longer texts are left out */

struct dns_question {
    struct str name;
    /* 0: `texts` has the records; DNS_MISSING: there is no such record; DNS_FAILED: no name server
     * answered. */
    int rc;
    struct str *texts; /* the strings of one record are joined; arena-owned */
    size_t count;
    const char *reason; /* why, when rc is DNS_FAILED */
};

/* any: sets the name servers: addresses with commas between, each with an optional port
 * ("127.0.0.1:53", "[::1]:53"); STR_NONE: the servers of /etc/resolv.conf. 0 or DNS_BAD_SERVERS. */
int dns_start(struct str servers) MUSTCHECK;
/* any: call at the end; frees the list of name servers. */
void dns_stop(void);
/* co: waits at most limit_ms for a turn, sends all questions, and waits at most limit_ms again for
 * their answers. 0 with a result in each question, DNS_BUSY (too many of the project's calls wait,
 * or no turn within limit_ms), -ECANCELED or -ETIMEDOUT. */
AWAITS int
dns_query_txt(struct task *task, struct dns_question *questions, size_t count, int64_t limit_ms)
    MUSTCHECK;
