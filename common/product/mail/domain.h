#pragma once
/*
 * Domains that a project sends mail from: which DNS records the project has to publish, and whether
 * the published records are correct. A domain may send when its ownership record proves that the
 * project controls it, and its dkim record publishes the key that signs its mails. Any thread.
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/str.h"

enum mail_record {
    MAIL_RECORD_OWNERSHIP,
    MAIL_RECORD_DKIM,
    MAIL_RECORD_SPF,
    MAIL_RECORD_DMARC,
    MAIL_RECORDS,
};
/* Returns "ownership", "dkim", "spf" or "dmarc". */
const char *mail_record_purpose(enum mail_record record);
/* Returns whether the domain must not send without this record. */
bool mail_record_is_required(enum mail_record record);

#define MAIL_DOMAIN_MAX 200 /* bytes: leaves space for the prefix of a record's name */

struct mail_domain {
    struct str domain;     /* lower case */
    struct str token;      /* unique to the project */
    struct str selector;   /* of the DKIM key */
    struct str public_key; /* SubjectPublicKeyInfo in base64 */
    struct str spf; /* names the sending servers ("include:spf.example.net"); STR_NONE: no SPF
                       record is needed */
};
/* Returns whether this is a domain name in ASCII, in lower case, with a dot and not an IP
 * address. */
bool mail_domain_is_valid(struct str domain);
/* mail_record_name() returns the DNS name of a record, mail_record_value() the text to publish
 * there; STR_NONE: no such record is needed. Arena-owned. */
struct str
mail_record_name(struct arena *arena, const struct mail_domain *domain, enum mail_record record);
struct str
mail_record_value(struct arena *arena, const struct mail_domain *domain, enum mail_record record);

struct mail_verdict {
    bool ok;
    struct str found;  /* the judged text, borrowed; STR_NONE: there is no record of this kind */
    const char *error; /* what is wrong with the record, NULL when ok */
};
/* Judges the TXT records that are published at the record's name. Texts of other kinds are
 * ignored. */
struct mail_verdict mail_record_judge(struct arena *arena,
                                      const struct mail_domain *domain,
                                      enum mail_record record,
                                      const struct str *texts,
                                      size_t count);
