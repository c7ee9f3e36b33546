/* Limits on the number of resources of a kind. */
#include "limit.h"

#include "limit_sql.h"

int limit_lock(struct req *r, const struct limit *limit, int64_t owner)
{
    return sql_exec(r, NULL, SQL_LIMIT_LOCK(.kind = str_from(limit->kind), .owner = owner));
}

int limit_check(
    struct req *r, const struct limit *limit, int64_t owner, struct db_call *count, size_t more)
{
    struct db_call calls[] = {
        db_call(SQL_LIMIT_LOCK(.kind = str_from(limit->kind), .owner = owner)),
        *count, /* a separate statement, which sees rows committed during the wait for the lock */
    };

    TRY(sql_batch(r, calls, ARRAY_LEN(calls)));
    count->rows = calls[1].rows;
    if (rows_i64(&count->rows, 0, 0) + (int64_t)more <= limit->most)
        return 0;
    return fail(
        r, PROBLEM_CONFLICT, "%s has at most %d %s.", limit->holder, limit->most, limit->members);
}
