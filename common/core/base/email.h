#pragma once
/*
 * Addresses of accounts. The domain of an address has two spellings (RFC 5890): U-labels, as people
 * write them, and A-labels ("xn--..."), as the DNS has them. New accounts are stored under
 * U-labels; older accounts may be stored under either spelling. Any thread.
 */
#include <stddef.h>

#include "base/str.h"

struct arena;

#define EMAIL_FORMS_MAX 3

/* The spellings under which the account of an address may be stored, the typed spelling first. */
struct email_forms {
    struct str forms[EMAIL_FORMS_MAX];
    size_t count;
};

/* Returns the address without the blanks that keyboards and clipboards add around it; borrowed. */
struct str email_trim(struct str typed);
/* Returns the address under which a new account is stored: without blanks around it, ASCII letters
 * in lower case, the domain in U-labels. A domain that is not valid under IDNA2008 stays as it is.
 * The database applies NFC and converts other letters to lower case. Arena-owned. */
struct str email_canonical(struct arena *arena, struct str typed);
/* Returns the distinct spellings of an address: the address trimmed and in lower case, the result
 * of email_canonical(), and the address with A-labels. Arena-owned. */
struct email_forms email_forms_of(struct arena *arena, struct str typed);
