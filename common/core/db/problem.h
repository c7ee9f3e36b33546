#pragma once
/* The API's problem for each result of the database: the one place that maps them. Any thread. */
#include "catalog/problem.h"

struct db_problem {
    int rc; /* a DB_* condition */
    enum problem problem;
    const char *detail; /* a sentence; NULL = the problem's title says enough */
};

/* The problem of a positive result; PROBLEM_INTERNAL when the table has none. Borrowed, static. */
const struct db_problem *db_problem(int rc);
