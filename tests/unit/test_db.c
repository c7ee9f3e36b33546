/* Statements, parameters, batches, transactions, prepared plans and cursors of db/. */
#include "unit.h"

#include "db_test.h"

/* --- parameters --- */

static void params_round_trip(struct task *task, struct db *db, void *arg)
{
    struct sql sql =
        make_sql("select $1::bigint i, $2::float8 f, $3::bool b, $4::text s, $5::timestamptz t, "
                 "$6::bytea y, $7::bigint[] n, $8::text[] w, $9::text x, $10::jsonb j",
                 SQL_ONE);
    int64_t numbers[] = {INT64_MIN, 0, INT64_MAX};
    struct str words[] = {STR("a b"), STR("q\"\\,{}"), STR_NONE, STR("NULL"), STR("")};
    char every[256 + 3]; /* not a multiple of the decoder's block */
    struct rows rows;

    (void)arg;
    for (size_t i = 0; i < sizeof(every); i++)
        every[i] = (char)(i * 7);
    assert_int_equal(db_query(task,
                              db,
                              &sql,
                              PARAMS(P_I64(INT64_MIN),
                                     P_F64(0.1),
                                     P_BOOL(true),
                                     P_STR(STR("Zoë 'quoted' \\ text")),
                                     P_TIME(1769860800123),
                                     P_BYTES(((struct str){every, sizeof(every)})),
                                     P_I64S(numbers, 3),
                                     P_STRS(words, 5),
                                     P_STR(STR_NONE),
                                     P_CSTR("{\"a\": [1]}")),
                              &rows),
                     0);
    assert_true(rows_i64(&rows, 0, rows_column(&rows, "i")) == INT64_MIN);
    assert_true(rows_f64(&rows, 0, 1) == 0.1);
    assert_true(rows_bool(&rows, 0, 2));
    assert_true(str_is(rows_str(&rows, 0, 3), "Zoë 'quoted' \\ text"));
    assert_true(rows_time(&rows, 0, 4) == 1769860800123);
    struct str bytes = rows_bytes(task->arena, &rows, 0, 5);
    assert_true(str_eq(bytes, (struct str){every, sizeof(every)}));
    int64_t *ints;
    assert_int_equal(rows_i64s(task->arena, &rows, 0, 6, &ints), 3);
    assert_memory_equal(ints, numbers, sizeof(numbers));
    struct str *strs;
    assert_int_equal(rows_strs(task->arena, &rows, 0, 7, &strs), 5);
    for (size_t i = 0; i < 5; i++)
        assert_true(str_eq(strs[i], words[i]) && !strs[i].ptr == !words[i].ptr);
    assert_true(rows_null(&rows, 0, 8));
    assert_true(str_is(rows_str(&rows, 0, 9), "{\"a\": [1]}"));

    struct sql more =
        make_sql("select $1::float8 = 'Infinity', $2::bigint[] = '{}', $3::text = '', $4::bytea "
                 "= ''",
                 SQL_ONE);
    double zero = 0;
    assert_int_equal(
        db_query(task,
                 db,
                 &more,
                 PARAMS(P_F64(1 / zero), P_I64S(NULL, 0), P_CSTR(""), P_BYTES(STR(""))),
                 &rows),
        0);
    for (size_t i = 0; i < 4; i++)
        assert_true(rows_bool(&rows, 0, i));
}

TEST(test_params)
{
    run(params_round_trip);
}

/* --- errors --- */

static int fails(struct task *task, struct db *db, const char *text, const char *sqlstate)
{
    int rc = exec(task, db, text);

    assert_string_equal(db_error(task)->sqlstate, sqlstate);
    return rc;
}

static void errors(struct task *task, struct db *db, void *arg)
{
    struct sql nul = make_sql("select $1::text", SQL_ONE);
    struct rows rows;

    (void)arg;
    pg_exec("create table e(id bigint primary key, v bigint not null constraint ck_9 check (v < "
            "10), r bigint "
            "constraint fk_4 references e(id), constraint u_7 unique (v))");
    assert_int_equal(exec(task, db, "insert into e values (1, 1, null)"), 0);
    assert_int_equal(fails(task, db, "insert into e values (2, 1, null)", "23505"), DB_UNIQUE);
    assert_true(str_is(db_error(task)->constraint, "u_7"));
    assert_int_equal(fails(task, db, "insert into e values (2, 2, 99)", "23503"), DB_FOREIGN_KEY);
    assert_true(str_is(db_error(task)->constraint, "fk_4"));
    assert_int_equal(fails(task, db, "insert into e values (2, null, null)", "23502"), DB_NOT_NULL);
    assert_int_equal(fails(task, db, "insert into e values (2, 11, null)", "23514"), DB_CHECK);
    assert_true(str_is(db_error(task)->constraint, "ck_9"));
    assert_int_equal(fails(task, db, "select 9999999999::int", "22003"), DB_CHECK);
    assert_int_equal(fails(task, db, "select * from missing", "42P01"), DB_SCHEMA);
    /* Casts and operators that were valid until a column's type changed. */
    assert_int_equal(fails(task, db, "select sqrt('x'::bytea)", "42883"), DB_SCHEMA);
    assert_int_equal(fails(task, db, "select true::bytea", "42846"), DB_SCHEMA);
    assert_int_equal(fails(task, db, "select case when true then 1 else true end", "42804"),
                     DB_SCHEMA);
    assert_int_equal(fails(task, db, "select missing from e", "42703"), DB_SCHEMA);
    assert_int_equal(fails(task, db, "nonsense", "42601"), DB_FAILED);
    assert_int_equal(fails(task, db, "select pg_sleep(60)", "57014"), DB_TIMEOUT);
    assert_int_equal(db_query(task, db, &nul, PARAMS(P_STR(((struct str){"a\0b", 3}))), &rows),
                     DB_CHECK);
    struct sql none = make_sql("select 1 where false", SQL_ONE);
    assert_int_equal(db_query(task, db, &none, NULL, 0, &rows), DB_FAILED);
    none.kind = SQL_OPT;
    assert_int_equal(db_query(task, db, &none, NULL, 0, &rows), 0);
    assert_int_equal(rows.count, 0);
    assert_int_equal(number(task, db, "select count(*) from e"), 1);
    assert_true(task->db_us > 0);
}

TEST(test_errors)
{
    run_with(
        (struct db_config){.statement_timeout_ms = 1000, .lease_timeout_ms = 60000}, errors, NULL);
}

/* --- groups --- */

static unsigned good;
static unsigned bad;

static void one_of_group(struct task *task, struct db *db, void *arg)
{
    struct sql sql = make_sql("select 10 / $1::bigint", SQL_ONE);
    int64_t divisor = (int64_t)(intptr_t)arg;
    struct rows rows;
    int rc = db_query(task, db, &sql, PARAMS(P_I64(divisor)), &rows);

    if (divisor == 0) {
        assert_int_equal(rc, DB_CHECK);
        assert_string_equal(db_error(task)->sqlstate, "22012");
        bad++;
    } else {
        assert_int_equal(rc, 0);
        assert_true(rows_i64(&rows, 0, 0) == 10 / divisor);
        good++;
    }
}

static void group_with_failures(struct task *task, struct db *db, void *arg)
{
    struct str reason;
    struct db_stats stats;

    (void)db;
    (void)arg;
    assert_int_equal(db_server_wait(task, server, 60000, &reason), 0);
    for (intptr_t i = 0; i < 100; i++)
        spawn(one_of_group, (void *)(i % 10), 0);
    while (good + bad < 100)
        assert_int_equal(task_sleep(task, 2), 0);
    db_server_stats(server, &stats);
    assert_true(stats.groups < stats.statements);
    assert_true(stats.retries > 0);
}

TEST(test_group)
{
    run(group_with_failures);
    assert_int_equal(good, 90);
    assert_int_equal(bad, 10);
}

/* --- batches and transactions --- */

static void batches(struct task *task, struct db *db, void *arg)
{
    struct sql insert = make_sql("insert into b values ($1::bigint) returning id", SQL_ONE);
    struct sql count = make_sql("select count(*) from b", SQL_ONE);
    struct sql wrong = make_sql("select 1/0", SQL_ONE);
    struct db_call twice[] = {{&insert, PARAMS(P_I64(1)), {0}},
                              {&insert, PARAMS(P_I64(2)), {0}},
                              {&insert, PARAMS(P_I64(1)), {0}},
                              {&count, NULL, 0, {0}}};
    size_t failed = 99;

    (void)arg;
    pg_exec("create table b(id bigint primary key)");
    assert_int_equal(db_batch(task, db, twice, 4, &failed), DB_UNIQUE);
    assert_int_equal(failed, 2);
    assert_int_equal(number(task, db, "select count(*) from b"), 0);
    struct db_param three = P_I64(3);
    twice[2].params = &three;
    assert_int_equal(db_batch(task, db, twice, 4, &failed), 0);
    assert_int_equal(rows_i64(&twice[3].rows, 0, 0), 3);
    assert_int_equal(rows_i64(&twice[1].rows, 0, 0), 2);

    struct db_call reads[] = {{&count, NULL, 0, {0}}, {&count, NULL, 0, {0}}};
    assert_int_equal(db_batch(task, db, reads, 2, NULL), 0);
    assert_int_equal(rows_i64(&reads[1].rows, 0, 0), 3);
    struct db_call mixed[] = {
        {&count, NULL, 0, {0}}, {&wrong, NULL, 0, {0}}, {&count, NULL, 0, {0}}};
    assert_int_equal(db_batch(task, db, mixed, 3, &failed), DB_CHECK);
    assert_int_equal(failed, 1);

    /* A deferred constraint fails the whole batch at its Sync. */
    pg_exec("create table d(id bigint, constraint u_8 unique (id) deferrable initially deferred)");
    struct sql deferred = make_sql("insert into d values ($1::bigint)", SQL_EXEC);
    struct db_call late[] = {{&deferred, PARAMS(P_I64(1)), {0}},
                             {&deferred, PARAMS(P_I64(1)), {0}}};
    assert_int_equal(db_batch(task, db, late, 2, &failed), DB_UNIQUE);
    assert_true(str_is(db_error(task)->constraint, "u_8"));
    assert_int_equal(number(task, db, "select count(*) from d"), 0);
    struct db *tx;
    assert_int_equal(db_begin(task, db, &tx), 0);
    assert_int_equal(db_batch(task, tx, late, 2, &failed), 0);
    assert_int_equal(db_commit(task, tx), DB_UNIQUE);
    assert_int_equal(number(task, db, "select count(*) from d"), 0);
}

TEST(test_batch)
{
    run(batches);
}

static unsigned leased(void)
{
    struct db_stats stats;

    db_server_stats(server, &stats);
    return stats.write_leased;
}

static void rolled_back_by_arena(struct task *task, struct db *db, void *arg)
{
    struct db *tx;

    (void)arg;
    assert_int_equal(db_begin(task, db, &tx), 0);
    assert_int_equal(exec(task, tx, "insert into x values (100)"), 0);
}

static void transactions(struct task *task, struct db *db, void *arg)
{
    struct db *tx;

    (void)arg;
    pg_exec("create table x(id bigint primary key)");
    assert_int_equal(db_begin(task, db, &tx), 0);
    assert_int_equal(exec(task, tx, "insert into x values (1)"), 0);
    assert_int_equal(number(task, tx, "select count(*) from x"), 1);
    assert_int_equal(number(task, db, "select count(*) from x"), 0);
    assert_int_equal(db_commit(task, tx), 0);
    assert_int_equal(number(task, db, "select count(*) from x"), 1);
    assert_int_equal(exec(task, tx, "insert into x values (5)"), DB_FAILED);

    assert_int_equal(db_begin(task, db, &tx), 0);
    assert_int_equal(exec(task, tx, "insert into x values (2)"), 0);
    assert_int_equal(exec(task, tx, "insert into x values (2)"), DB_UNIQUE);
    assert_int_equal(exec(task, tx, "insert into x values (3)"), DB_FAILED);
    assert_int_equal(db_commit(task, tx), DB_FAILED);
    assert_int_equal(number(task, db, "select count(*) from x"), 1);

    assert_int_equal(db_begin(task, db, &tx), 0);
    assert_int_equal(exec(task, tx, "insert into x values (4)"), 0);
    db_rollback(tx);
    assert_int_equal(db_begin(task, db, &tx), 0);
    assert_int_equal(db_commit(task, tx), 0);

    spawn(rolled_back_by_arena, NULL, 0);
    while (running > 1)
        assert_int_equal(task_sleep(task, 2), 0);
    WAIT_FOR(task, leased() == 0);
    assert_int_equal(number(task, db, "select count(*) from x"), 1);
}

/* A failed statement ends its transaction: the connection is released before the arena is reset. */
static void failed_statements(struct task *task, struct db *db, void *arg)
{
    struct db *tx;

    (void)arg;
    pg_exec("create table fails(id bigint primary key)");
    for (int i = 0; i < 100; i++) {
        assert_int_equal(db_begin(task, db, &tx), 0);
        assert_int_equal(exec(task, tx, "insert into fails values (1), (1)"), DB_UNIQUE);
        WAIT_FOR(task, leased() == 0);
    }
    assert_int_equal(number(task, db, "select count(*) from fails"), 0);
}

TEST(test_failed_statements)
{
    run(failed_statements);
}

struct transacted {
    int runs;
    int conflicts; /* first runs that fail with a serialization error */
    int result;    /* of the other runs */
    bool ends;     /* the work itself commits */
};

static int transact_work(struct task *task, struct db *tx, void *arg)
{
    struct transacted *transacted = arg;

    transacted->runs++;
    assert_int_equal(exec(task, tx, "insert into once values (1)"), 0);
    if (transacted->runs <= transacted->conflicts)
        return exec(task,
                    tx,
                    "do $$ begin raise exception using errcode = 'serialization_failure'; end $$");
    return transacted->ends ? db_commit(task, tx) : transacted->result;
}

static void transacts(struct task *task, struct db *db, void *arg)
{
    (void)arg;
    pg_exec("create table once(id bigint primary key)");
    struct transacted one = {0};
    assert_int_equal(db_transact(task, db, transact_work, &one), 0);
    assert_int_equal(number(task, db, "select count(*) from once"), 1);
    assert_int_equal(leased(), 0);

    pg_exec("delete from once");
    struct transacted refused = {.result = 999};
    assert_int_equal(db_transact(task, db, transact_work, &refused), 999);
    WAIT_FOR(task, leased() == 0);
    assert_int_equal(number(task, db, "select count(*) from once"), 0);

    struct transacted repeated = {.conflicts = 2, .ends = true};
    assert_int_equal(db_transact(task, db, transact_work, &repeated), 0);
    assert_int_equal(repeated.runs, 3);
    assert_int_equal(number(task, db, "select count(*) from once"), 1);

    pg_exec("delete from once");
    struct transacted given_up = {.conflicts = 100};
    assert_int_equal(db_transact(task, db, transact_work, &given_up), DB_CONFLICT);
    assert_int_equal(given_up.runs, DB_REPEATS + 1);
    WAIT_FOR(task, leased() == 0);
    assert_int_equal(number(task, db, "select count(*) from once"), 0);
}

/* Statements that PostgreSQL allows only outside of transactions. Each statement takes effect, even
 * if a later one fails. */
static int session_work(struct task *task, struct db *session, void *arg)
{
    struct sql sql = make_sql("select current_setting('statement_timeout') || ' ' ||"
                              " current_setting('lock_timeout')",
                              SQL_ONE);
    struct rows rows;

    (void)arg;
    assert_int_equal(db_query(task, session, &sql, NULL, 0, &rows), 0);
    assert_true(str_is(rows_str(&rows, 0, 0), "90s 90s"));
    assert_int_equal(number(task, session, "select pg_try_advisory_lock(77)::int"), 1);
    assert_int_equal(exec(task, session, "create index concurrently beside_n on beside (n)"), 0);
    assert_int_equal(exec(task, session, "insert into beside values (1)"), 0);
    return exec(task, session, "select 1 / 0");
}

static void sessions(struct task *task, struct db *db, void *arg)
{
    (void)arg;
    pg_exec("create table beside(n bigint)");
    assert_int_equal(db_session_ddl(task, db, 90000, session_work, NULL), DB_CHECK);
    assert_int_equal(number(task, db, "select count(*) from beside"), 1);
    WAIT_FOR(task,
             number(task, db, "select count(*) from pg_locks where locktype = 'advisory'") == 0);
    assert_int_equal(leased(), 0);
    assert_int_equal(number(task,
                            db,
                            "select count(*) from pg_index where indexrelid = "
                            "'beside_n'::regclass and indisvalid"),
                     1);
    struct sql timeout = make_sql("select current_setting('lock_timeout')", SQL_ONE);
    struct rows rows;
    assert_int_equal(db_query(task, db, &timeout, NULL, 0, &rows), 0);
    assert_true(str_is(rows_str(&rows, 0, 0), "20s"));
}

TEST(test_sessions)
{
    run(sessions);
}

TEST(test_transacts)
{
    run(transacts);
}

/* The batch as a whole takes longer than a connection may be idle, and each statement less than its
 * timeout. */
static void patience(struct task *task, struct db *db, void *arg)
{
    const struct sql sql = make_sql("select pg_sleep(0.25)", SQL_ONE);
    struct db_call calls[8];
    struct db *tx;

    (void)arg;
    for (size_t i = 0; i < ARRAY_LEN(calls); i++)
        calls[i] = (struct db_call){.sql = &sql};
    assert_int_equal(db_begin(task, db, &tx), 0);
    assert_int_equal(db_set_timeout(task, tx, 60000), 0);
    assert_int_equal(db_batch(task, tx, calls, ARRAY_LEN(calls), NULL), 0);
    assert_int_equal(db_commit(task, tx), 0);

    /* The timeout applies only until the connection is returned. */
    const struct sql slow = make_sql("select pg_sleep(60)", SQL_ONE);
    assert_int_equal(db_begin(task, db, &tx), 0);
    assert_int_equal(db_query(task, tx, &slow, NULL, 0, NULL), DB_TIMEOUT);
    db_rollback(tx);
}

TEST(test_patience)
{
    run_with((struct db_config){.statement_timeout_ms = 300,
                                .lease_timeout_ms = 60000,
                                .write_connections = 1},
             patience,
             NULL);
}

TEST(test_tx)
{
    run(transactions);
}

static void retired(struct task *task, struct db *db, void *arg)
{
    int64_t first = 0;
    struct db *tx;

    (void)arg;
    for (int way = 0; way < 3; way++) {
        assert_int_equal(db_begin(task, db, &tx), 0);
        db_discard_conn(tx);
        int64_t own = number(task, tx, "select pg_backend_pid()");
        assert_true(own != first);
        first = own;
        if (way == 0)
            assert_int_equal(db_commit(task, tx), 0);
        else
            db_rollback(tx);
        WAIT_FOR(task, leased() == 0);
    }
    /* Without db_discard_conn() a connection is used again. */
    assert_int_equal(db_begin(task, db, &tx), 0);
    first = number(task, tx, "select pg_backend_pid()");
    assert_int_equal(db_commit(task, tx), 0);
    assert_int_equal(db_begin(task, db, &tx), 0);
    assert_int_equal(number(task, tx, "select pg_backend_pid()"), first);
    db_rollback(tx);
}

TEST(test_retire)
{
    run_with((struct db_config){PATIENT, .write_connections = 1}, retired, NULL);
}

static void committed_with_its_last(struct task *task, struct db *db, void *arg)
{
    struct sql add = make_sql("insert into y values ($1::bigint) returning id", SQL_MANY);
    struct db_call calls[] = {{&add, PARAMS(P_I64(1)), {0}}, {&add, PARAMS(P_I64(2)), {0}}};
    struct db_call again[] = {{&add, PARAMS(P_I64(3)), {0}}, {&add, PARAMS(P_I64(1)), {0}}};
    struct db *tx;
    size_t failed = 0;

    (void)arg;
    pg_exec("create table y(id bigint, constraint u_9 unique (id) deferrable initially immediate)");
    for (int begun = 0; begun < 2; begun++) {
        pg_exec("truncate y");
        assert_int_equal(db_begin(task, db, &tx), 0);
        if (begun)
            assert_int_equal(exec(task, tx, "insert into y values (7)"), 0);
        assert_int_equal(db_batch_commit(task, tx, calls, 2, &failed), 0);
        assert_int_equal(rows_i64(&calls[1].rows, 0, 0), 2);
        assert_int_equal(leased(), 0);
        assert_int_equal(exec(task, tx, "insert into y values (8)"), DB_FAILED);
        assert_int_equal(db_batch_commit(task, tx, calls, 2, &failed), DB_FAILED);
        db_rollback(tx);
        assert_int_equal(number(task, db, "select count(*) from y"), 2 + begun);
        /* A call of the batch fails: nothing is committed. */
        assert_int_equal(db_begin(task, db, &tx), 0);
        if (begun)
            assert_int_equal(exec(task, tx, "insert into y values (9)"), 0);
        assert_int_equal(db_batch_commit(task, tx, again, 2, &failed), DB_UNIQUE);
        assert_int_equal(failed, 1);
        assert_true(str_is(db_error(task)->constraint, "u_9"));
        db_rollback(tx);
        WAIT_FOR(task, leased() == 0);
        assert_int_equal(number(task, db, "select count(*) from y"), 2 + begun);
        /* COMMIT itself fails. */
        assert_int_equal(db_begin(task, db, &tx), 0);
        assert_int_equal(exec(task, tx, "set constraints all deferred"), 0);
        assert_int_equal(db_batch_commit(task, tx, again, 2, &failed), DB_UNIQUE);
        WAIT_FOR(task, leased() == 0);
        assert_int_equal(number(task, db, "select count(*) from y"), 2 + begun);
    }
}

TEST(test_batch_commit)
{
    run(committed_with_its_last);
}

/* --- repeated statements --- */

static void conflicts(struct task *task, struct db *db, void *arg)
{
    struct db *tx;

    (void)arg;
    pg_exec(
        "create sequence tries; create function conflict(n bigint) returns bigint language plpgsql "
        "as $$ "
        "begin if nextval('tries') % n <> 0 then raise sqlstate '40001'; end if; return 7; end $$");
    assert_int_equal(exec(task, db, "select conflict(3)"), 0);
    assert_int_equal(number(task, db, "select last_value from tries"), 3);
    assert_int_equal(exec(task, db, "select conflict(1000)"), DB_CONFLICT);
    assert_int_equal(number(task, db, "select last_value from tries"), 4 + DB_REPEATS);
    assert_int_equal(db_begin(task, db, &tx), 0);
    assert_int_equal(exec(task, tx, "select conflict(1000)"), DB_CONFLICT);
    assert_int_equal(number(task, db, "select last_value from tries"), 5 + DB_REPEATS);
}

/* The owner of a transaction runs it again after a conflict. By then `lasting` does not count the
 * statements of the failed run. */
static void again(struct task *task, struct db *db, void *arg)
{
    struct db_retry_state tries = {0};
    unsigned before = task->lasting_count;
    unsigned runs = 0;
    int rc;

    (void)arg;
    pg_exec("create sequence agains; create table kept (n bigint); "
            "create function meet(n bigint) returns bigint language plpgsql as $$ "
            "begin if nextval('agains') % n <> 0 then raise sqlstate '40P01'; end if; return 7; "
            "end $$");
    do {
        struct db *tx;
        assert_int_equal(task->lasting_count, before);
        assert_int_equal(db_begin(task, db, &tx), 0);
        runs++;
        assert_int_equal(exec(task, tx, "insert into kept values (1)"), 0);
        rc = exec(task, tx, "select meet(4)");
        rc = rc == 0 ? db_commit(task, tx) : rc;
        if (rc != 0)
            db_rollback(tx);
    } while (db_should_retry(task, &tries, rc));
    assert_int_equal(rc, 0);
    assert_int_equal(runs, 4);
    assert_int_equal(task->lasting_count, before + 1);
    assert_int_equal(number(task, db, "select count(*) from kept"), 1);
    assert_false(db_should_retry(task, &tries, DB_UNIQUE));
    for (runs = 0; db_should_retry(task, &tries, DB_CONFLICT); runs++)
        continue;
    assert_int_equal(runs, DB_REPEATS - 3);
}

TEST(test_again)
{
    run(again);
}

TEST(test_conflict)
{
    run(conflicts);
}

static void changed_plan(struct task *task, struct db *db, void *arg)
{
    struct sql star = make_sql("select * from plan", SQL_MANY);
    struct sql insert = make_sql("insert into plan values (1) returning *", SQL_ONE);
    struct rows rows;

    (void)arg;
    pg_exec("create table plan(a int)");
    assert_int_equal(db_query(task, db, &star, NULL, 0, &rows), 0);
    assert_int_equal(db_query(task, db, &insert, NULL, 0, &rows), 0);
    pg_exec("alter table plan add b int");
    assert_int_equal(db_query(task, db, &star, NULL, 0, &rows), 0);
    assert_int_equal(rows.columns, 2);
    assert_int_equal(db_query(task, db, &insert, NULL, 0, &rows), 0);
    assert_int_equal(rows.columns, 2);
    pg_exec("drop table plan");
    assert_int_equal(db_query(task, db, &star, NULL, 0, &rows), DB_SCHEMA);
    pg_exec("create table plan(c int, d int, e int)");
    assert_int_equal(db_query(task, db, &star, NULL, 0, &rows), 0);
    assert_int_equal(rows.columns, 3);
}

TEST(test_plan)
{
    run_with((struct db_config){PATIENT, .read_connections = 1, .write_connections = 1},
             changed_plan,
             NULL);
}

static void schemas(struct task *task, struct db *db, void *arg)
{
    struct db five = {.server = server, .schema = 5};
    struct db six = {.server = server, .schema = 6};

    (void)db;
    (void)arg;
    pg_exec("create schema p_5; create schema p_6; create table p_5.t(v bigint); create table "
            "p_6.t(v bigint);"
            "insert into p_5.t values (55); insert into p_6.t values (66)");
    for (int i = 0; i < 3; i++) {
        assert_int_equal(number(task, &five, "select v from {p}.t"), 55);
        assert_int_equal(number(task, &six, "select v from {p}.t"), 66);
    }
    assert_int_equal(number(task, &five, "select a.v * b.v from {p}.t a, {p}.t b"), 3025);
}

TEST(test_schema)
{
    run(schemas);
}

static void many_statements(struct task *task, struct db *db, void *arg)
{
    struct db_stats stats;

    (void)arg;
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 3000; i++)
            assert_int_equal(number(task, db, arena_printf(task->arena, "select %d", i).ptr), i);
    int64_t kept = number(task, db, "select count(*) from pg_prepared_statements");
    assert_in_range(kept, 2042, 2050);
    db_server_stats(server, &stats);
    assert_int_equal(stats.errors, 0);
}

TEST(test_many_statements)
{
    run_with((struct db_config){PATIENT, .read_connections = 1}, many_statements, NULL);
}

/* --- pieces --- */

struct taken {
    struct task *task;
    int64_t sum;
    size_t count;
    bool cut;
    unsigned leased;
};

static int take_piece(const struct rows *rows, void *arg)
{
    struct taken *taken = arg;
    struct db_stats stats;

    for (size_t i = 0; i < rows->count; i++)
        taken->sum += rows_i64(rows, i, 0);
    taken->count = rows->count;
    taken->cut = rows->is_truncated;
    db_server_stats(server, &stats);
    taken->leased = stats.write_leased;
    return task_sleep(taken->task, 0);
}

static int stop_early(const struct rows *rows, void *arg)
{
    (void)rows;
    (void)arg;
    return 77;
}

static void pieces(struct task *task, struct db *db, void *arg)
{
    struct sql sql = make_sql("select n from generate_series(1, $1::bigint) n", SQL_MANY);
    struct sql wide =
        make_sql("select n, repeat('x', 100000) from generate_series(1, 20) n", SQL_MANY);
    struct sql slow = make_sql("select pg_sleep(30)", SQL_MANY);
    struct taken taken = {.task = task};
    struct db_chunk piece = {.bytes = 250000, .timeout_ms = 60000, .fn = take_piece, .arg = &taken};

    (void)arg;
    assert_int_equal(db_chunk(task, db, &sql, PARAMS(P_I64(1000)), &piece), 0);
    assert_int_equal(taken.sum, 500500);
    assert_int_equal(taken.count, 1000);
    assert_false(taken.cut);
    assert_int_equal(taken.leased, 0); /* no connection is leased while the rows are processed */
    assert_int_equal(db_chunk(task, db, &wide, NULL, 0, &piece), 0);
    assert_int_equal(taken.count, 2);
    assert_true(taken.cut);
    piece.bytes = 10; /* a piece has at least one row */
    assert_int_equal(db_chunk(task, db, &wide, NULL, 0, &piece), 0);
    assert_int_equal(taken.count, 1);
    assert_true(taken.cut);
    piece.fn = stop_early;
    assert_int_equal(db_chunk(task, db, &sql, PARAMS(P_I64(5)), &piece), 77);
    /* `timeout_ms` of a piece replaces the timeout of statements, whether it is longer or
     * shorter. */
    piece.fn = take_piece;
    piece.timeout_ms = 100;
    assert_int_equal(db_chunk(task, db, &slow, NULL, 0, &piece), DB_TIMEOUT);
    assert_int_equal(number(task, db, "select 5"), 5);
    assert_in_range(arena_used_bytes(task->arena), 0, 65536);
}

TEST(test_pieces)
{
    run(pieces);
}

static void pages(struct task *task, struct db *db, void *arg)
{
    struct sql page =
        make_sql("select id, id % 3 as k from generate_series(1, $1::bigint) id", SQL_PAGE);
    struct rows rows;

    (void)arg;
    page.sort = "id,k";
    struct sql *down = db_sql_page(task->arena, &page, "k", true, STR("und-x-icu"));
    struct sql *up = db_sql_page(task->arena, &page, "k", false, STR(""));
    assert_true(down->hash != up->hash && down->hash != page.hash);
    assert_int_equal(db_query(task, db, down, PARAMS(P_I64(10), P_I64(3), P_I64(1)), &rows), 0);
    assert_int_equal(rows.count, 3);
    assert_int_equal(rows_i64(&rows, 0, 0), 5);
    assert_int_equal(rows_i64(&rows, 2, 0), 10);
    struct sql *count = db_sql_count(task->arena, &page);
    assert_int_equal(db_query(task, db, count, PARAMS(P_I64(10)), &rows), 0);
    assert_int_equal(rows_i64(&rows, 0, rows_column(&rows, "total_items")), 10);
}

TEST(test_page)
{
    run(pages);
}
