#pragma once
/*
 * Every error code of the API (RFC 9457 bodies), in one list: code, usual status, title.
 * Published in GET /docs. Codes are stable, details may change.
 */
#include "base/str.h"

struct problem {
    const char *code;
    int status;
    const char *title;
};

/* Problem of a code; panics on a code that is not in the list (tests cover every call). */
const struct problem *problem_find(const char *code);
/* All, for documents; ends with code NULL. */
const struct problem *problem_all(void);
/* The code that clients of GoTrue know for it (error_code); most are the same. */
const char *problem_sign_in_code(const char *code);
/* The error of RFC 6749, 5.2 and 4.1.2.1 that it is. */
const char *problem_oauth_code(const struct problem *problem);
/* Title for a bare status. */
const char *problem_status_title(int status);
