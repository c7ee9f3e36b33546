#pragma once
/*
 * Domains that a project sends from: which DNS records it publishes, and whether what a name server
 * answers is what they should be. A domain may send when who publishes records of it has shown that
 * (ownership), and receivers find the key that its mails are signed with (dkim). Any thread.
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
const char *mail_record_purpose(enum mail_record record);
/* Is the domain of no use without it? */
bool mail_record_required(enum mail_record record);

#define MAIL_DOMAIN_MAX 200 /* bytes: room for what stands in front of it */

struct mail_domain {
    struct str domain;     /* lower case */
    struct str token;      /* the project's alone */
    struct str selector;   /* of the key */
    struct str public_key; /* SubjectPublicKeyInfo in base64 */
    struct str spf;        /* names the servers that send ("include:spf.example.net"); STR_NONE:
                              no such record is asked for */
};
/* Whether it is a domain name in ASCII, in lower case and with a dot. */
bool mail_domain_ok(struct str domain);
/* Where the record stands, and what it says; STR_NONE: none is wanted. Arena-owned. */
struct str
mail_record_name(struct arena *arena, const struct mail_domain *domain, enum mail_record record);
struct str
mail_record_value(struct arena *arena, const struct mail_domain *domain, enum mail_record record);

struct mail_verdict {
    bool ok;
    struct str found;  /* the text that it is about; STR_NONE: there is none of that kind */
    const char *error; /* what is wrong with it, NULL when ok */
};
/* Of the TXT records that stand there; texts of other kinds do not matter. */
struct mail_verdict mail_record_judge(struct arena *arena,
                                      const struct mail_domain *domain,
                                      enum mail_record record,
                                      const struct str *texts,
                                      size_t count);
