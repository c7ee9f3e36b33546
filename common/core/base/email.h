#pragma once
/*
 * Addresses of accounts. The domain of an address has two spellings (RFC 5890): U-labels, as people
 * write them, and A-labels ("xn--..."), as the DNS has them. Accounts are kept under U-labels;
 * those of before may be kept under either. Any thread.
 */
#include <stddef.h>

#include "base/str.h"

struct arena;

#define EMAIL_FORMS_MAX 3

/* The spellings under which an account of an address may be kept, as typed first. */
struct email_forms {
    struct str forms[EMAIL_FORMS_MAX];
    size_t count;
};

/* The address without the blanks around it, which keyboards and clipboards add; borrows. */
struct str email_trim(struct str typed);
/* The address that a new account is kept under: without blanks around it, ASCII letters in lower
 * case, its domain in U-labels. A domain that IDNA2008 does not know stays as it is. NFC and the
 * lower case of other letters are left to the database. Arena-owned. */
struct str email_canonical(struct arena *arena, struct str typed);
/* The address as typed, as email_canonical() makes it, and with A-labels, where they differ.
 * Arena-owned. */
struct email_forms email_forms_of(struct arena *arena, struct str typed);
