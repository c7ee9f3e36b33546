#pragma once
/* What results of the database are to callers of the API: the one place that says so. Any thread.
 */
#include "catalog/problem.h"

struct db_problem {
    int rc; /* a DB_* condition */
    enum problem problem;
    const char *detail; /* a sentence; NULL = the problem's title says enough */
};

/* What a positive result is; for those that are in no table `internal`. */
const struct db_problem *db_problem(int rc);
