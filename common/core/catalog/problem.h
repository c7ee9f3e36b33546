#pragma once
/*
 * Every error code of the API (bodies of RFC 9457). problem.def is the list, which GET /docs
 * publishes. Code uses the constants, so a code that does not exist does not compile.
 */
#include "base/str.h"

enum problem {
    PROBLEM_NONE = 0,
#define PROBLEM(constant, code, status, title) constant,
#define FAILURE(constant, code)                constant,
#include "catalog/problem.def"
#undef FAILURE
#undef PROBLEM
    PROBLEM_COUNT,
};

struct problem_info {
    const char *code;
    int status;        /* 0 = never in an answer, only in the history of jobs */
    const char *title; /* NULL when the status is 0 */
};

/* Returns the static properties of any constant but PROBLEM_NONE. */
const struct problem_info *problem_info(enum problem problem);
/* Returns the code of a constant: "not_found" for PROBLEM_NOT_FOUND. */
const char *problem_code(enum problem problem);
/* Returns the constant of a code, PROBLEM_NONE when the code is NULL or not ours. */
enum problem problem_find(const char *code);
/* Returns the error_code that clients of GoTrue know for a problem; most are equal to our code. */
const char *problem_sign_in_code(enum problem problem);
/* Returns the OAuth error of a problem (RFC 6749 sections 4.1.2.1, 5.2; RFC 6750 section 3.1). */
const char *problem_oauth_code(enum problem problem);
/* Returns the title of an answer that has a status but no code. */
const char *problem_status_title(int status);
