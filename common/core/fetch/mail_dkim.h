#pragma once
/*
 * Signatures of mail by the domain that it comes from: DomainKeys Identified Mail (RFC 6376,
 * rsa-sha256, both canonicalizations relaxed, as RFC 8301 wants keys and hashes). Any thread.
 */
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

struct rsa_key;

struct mail_dkim {
    struct str domain, selector; /* the public key stands at <selector>._domainkey.<domain> */
    const struct rsa_key *key;   /* borrowed */
};

/* The header that goes in front of a message (CRLF at each line's end), itself with one; arena-
 * owned. It signs the body and what people see of the head, and that none of these headers stands
 * there once more. A signature takes a millisecond. */
struct str mail_dkim_header(struct arena *arena,
                            const struct mail_dkim *dkim,
                            struct str message,
                            int64_t now_ms);
