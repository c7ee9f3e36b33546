/* A chunk of a large result: read on a lease, and passed to the caller after the lease. */
#include "base/clock.h"
#include "base/panic.h"
#include "db/query_private.h"
#include "db/server_private.h"

int db_chunk(struct task *task,
             struct db *db,
             const struct sql *sql,
             const struct db_param *params,
             size_t param_count,
             const struct db_chunk *chunk)
{
    struct db_op op;

    MUST(db->lease == NULL);
    TRY(query_check(task, sql, params, param_count));
    int64_t started_us = clock_mono_us();
    op_init(&op, task, db, sql, params, param_count);
    op.keep_bytes = chunk->bytes;
    int rc = query_read_heavy(task, db, &op, chunk->timeout_ms);
    query_account(task, db->server, sql, started_us);
    if (rc == 0) {
        struct rows rows = {.result = op.result,
                            .count = (size_t)PQntuples(op.result),
                            .columns = (size_t)PQnfields(op.result),
                            .is_truncated = op.is_truncated,
                            .shape = sql->row};
        rc = chunk->fn(&rows, chunk->arg);
    }
    ops_clear(&op, 1);
    return rc;
}
