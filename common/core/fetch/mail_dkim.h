#pragma once
/*
 * Signs mail for the sender's domain: DomainKeys Identified Mail (RFC 6376, rsa-sha256, both
 * canonicalizations relaxed, keys and hashes as RFC 8301 requires). Any thread.
 */
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

struct rsa_key;

struct mail_dkim {
    struct str domain, selector; /* public key in DNS: <selector>._domainkey.<domain> */
    const struct rsa_key *key;   /* borrowed */
};

/* Returns the DKIM-Signature header that goes in front of `message`. Lines of the message and of
 * the header end in CRLF. Signs the body and the headers that readers see, and ensures that no such
 * header can be added. A signature takes about a millisecond. Arena-owned. */
struct str mail_dkim_header(struct arena *arena,
                            const struct mail_dkim *dkim,
                            struct str message,
                            int64_t now_ms);
