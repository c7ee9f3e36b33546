/* The table of problems by result. */
#include "db/problem.h"

#include "base/panic.h"
#include "db/db.h"

static const struct db_problem problems[] = {
    {DB_UNIQUE, PROBLEM_UNIQUE_VIOLATION, "A record with this value exists already."},
    {DB_FOREIGN_KEY,
     PROBLEM_FOREIGN_KEY_VIOLATION,
     "A record that this one refers to does not exist, or a record still refers to this one."},
    {DB_NOT_NULL, PROBLEM_VALIDATION_FAILED, "A required value is missing."},
    {DB_CHECK, PROBLEM_VALIDATION_FAILED, "A value does not fit its field."},
    {DB_CONFLICT,
     PROBLEM_DEPENDENCY_UNAVAILABLE,
     "Another request is changing the same data; try again."},
    {DB_LOCKED,
     PROBLEM_DEPENDENCY_UNAVAILABLE,
     "Another request is changing the same data; try again."},
    {DB_TIMEOUT, PROBLEM_TIMEOUT, "The database took too long to answer."},
    {DB_UNAVAILABLE,
     PROBLEM_DEPENDENCY_UNAVAILABLE,
     "The database cannot be reached right now; try again."},
    {DB_UNKNOWN,
     PROBLEM_OUTCOME_UNKNOWN,
     "The connection was lost while saving; check whether the change has been made."},
    {DB_SCHEMA, PROBLEM_DEPENDENCY_UNAVAILABLE, "The data model changed; repeat the request."},
    {DB_FULL, PROBLEM_DEPENDENCY_UNAVAILABLE, "The database has no space left."},
    {DB_TOO_LARGE, PROBLEM_TOO_LARGE_ANSWER, "The answer would be too large."},
    {DB_BUSY,
     PROBLEM_TOO_MANY_REQUESTS_IN_FLIGHT,
     "This project has too many requests in flight; try again."},
};

const struct db_problem *db_problem(int rc)
{
    static const struct db_problem internal = {DB_FAILED, PROBLEM_INTERNAL, NULL};

    for (size_t i = 0; i < ARRAY_LEN(problems); i++)
        if (problems[i].rc == rc)
            return &problems[i];
    return &internal;
}
