#pragma once
/*
 * Every error code of the API (RFC 9457 bodies), in one list: problem.def. Published in GET /docs.
 * Code is written with the constants, so that a code that does not exist is not built.
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
    int status;        /* 0: never an answer, only in the history of jobs */
    const char *title; /* NULL likewise */
};

/* Of any constant but PROBLEM_NONE. */
const struct problem_info *problem_info(enum problem problem);
/* "not_found" of PROBLEM_NOT_FOUND. */
const char *problem_code(enum problem problem);
/* The constant of a code as text; PROBLEM_NONE when it is not ours, or NULL. */
enum problem problem_find(const char *code);
/* The code that clients of GoTrue know for it (error_code); most are the same. */
const char *problem_sign_in_code(enum problem problem);
/* The error of RFC 6749, 5.2 and 4.1.2.1 that it is. */
const char *problem_oauth_code(enum problem problem);
/* Title for a bare status. */
const char *problem_status_title(int status);
