/* Large results in constant memory: a cursor in a read-only transaction, a piece at a time. */
#include <string.h>

#include "base/clock.h"
#include "db/tx.h"

enum { PIECE_ROWS = 500 };

static const struct sql sql_fetch = {.name = "db.fetch",
                                     .text = "fetch 500 from groundwork_each",
                                     .kind = SQL_MANY,
                                     .no_prepare = true};
static const struct sql sql_close = {
    .name = "db.close", .text = "close groundwork_each", .kind = SQL_EXEC, .no_prepare = true};
static const struct sql sql_read_only = {.name = "db.read_only",
                                         .text = "set transaction read only",
                                         .kind = SQL_EXEC,
                                         .no_prepare = true};

static struct sql plain(const char *name, const char *text)
{
    return (struct sql){.name = name, .text = text, .kind = SQL_EXEC, .no_prepare = true};
}

/* co: the first round trip: settings of a transaction of our own, and the cursor. */
AWAITS static int open_cursor(struct task *task,
                              struct db *tx,
                              bool own,
                              const struct sql *sql,
                              const struct db_param *params,
                              size_t param_count,
                              int64_t timeout_ms)
{
    struct arena *arena = task->arena;
    struct str limit =
        arena_printf(arena, "set local statement_timeout = %lld", (long long)timeout_ms);
    struct str idle = arena_printf(
        arena, "set local idle_in_transaction_session_timeout = %lld", (long long)timeout_ms);
    struct str text =
        arena_printf(arena, "declare groundwork_each no scroll cursor for %s", sql->text);
    struct sql texts[] = {
        plain("db.limit", limit.ptr), plain("db.limit", idle.ptr), plain(sql->name, text.ptr)};
    struct db_call calls[] = {
        {.sql = &sql_read_only},
        {.sql = &texts[0]},
        {.sql = &texts[1]},
        {.sql = &texts[2], .params = params, .param_count = param_count},
    };
    size_t first = own ? 0 : 3;

    return db_batch(task, tx, calls + first, ARRAY_LEN(calls) - first, NULL);
}

/* co: one piece, freed as soon as the callback is done with it. */
AWAITS static int
fetch_piece(struct task *task, struct db *tx, db_each_fn fn, void *arg, size_t *ret_count)
{
    struct db_op op;
    size_t failed;
    int64_t started_us = clock_mono_us();

    op_init(&op, task, tx, &sql_fetch, NULL, 0);
    int rc = tx_run(task, tx, &op, 1, &failed);
    query_account(task, tx->server, &sql_fetch, started_us);
    if (rc == 0) {
        struct rows rows = {.result = op.result,
                            .count = (size_t)PQntuples(op.result),
                            .columns = (size_t)PQnfields(op.result)};
        *ret_count = rows.count;
        if (rows.count > 0)
            rc = fn(&rows, arg);
    }
    ops_clear(&op, 1);
    return rc;
}

/* NOLINTNEXTLINE(readability-function-size): one statement, its way of running, one callback */
int db_each(struct task *task,
            struct db *db,
            const struct sql *sql,
            const struct db_param *params,
            size_t param_count,
            int64_t timeout_ms,
            db_each_fn fn,
            void *arg)
{
    struct db *tx = db;
    bool own = db->lease == NULL;
    size_t count = PIECE_ROWS;

    if (own) {
        TRY(db_begin(task, db, &tx));
        tx->lease->limit_ms = timeout_ms + 1000;
    }
    int rc = open_cursor(task, tx, own, sql, params, param_count, timeout_ms);
    while (rc == 0 && count == PIECE_ROWS)
        rc = fetch_piece(task, tx, fn, arg, &count);
    if (own) {
        (void)db_rollback(task, tx);
        return rc;
    }
    if (!tx->broken) {
        int closed = db_query(task, tx, &sql_close, NULL, 0, NULL);
        rc = rc != 0 ? rc : closed;
    }
    return rc;
}
