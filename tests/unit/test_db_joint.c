/* Joint writes: shared transactions, and what becomes of all when one fails. */
#include "db_test.h"

enum { WRITERS = 100 };

static int outcome[WRITERS];
static unsigned ended;

static int setup(void **state)
{
    (void)state;
    memset(outcome, -1, sizeof(outcome));
    ended = 0;
    pg_exec("drop table if exists j");
    pg_exec("create table j(id bigint generated always as identity, n bigint check (n < 1000))");
    return 0;
}

/* Inserts its number, which comes back in a row of its own. */
static void insert(struct task *task, struct db *db, void *arg)
{
    struct sql sql = make_sql("insert into j (n) values ($1::bigint) returning n, id", SQL_ONE);
    int64_t n = (int64_t)(intptr_t)arg;
    struct rows rows = {0};

    sql.writes = true;
    int rc = db_query_joint(task, db, &sql, PARAMS(P_I64(n)), &rows);
    outcome[n % WRITERS] = rc;
    ended++;
    if (rc != 0)
        return;
    assert_int_equal(rows.count, 1);
    assert_int_equal(rows_i64(&rows, 0, 0), n);
}

static void insert_all(int64_t first_n)
{
    for (int64_t i = 0; i < WRITERS; i++)
        spawn(insert, (void *)(intptr_t)(i == 0 ? first_n : i), 0);
}

static void wait_all(struct task *task, int64_t limit_ms)
{
    for (int64_t end_ms = clock_mono_ms() + limit_ms; ended < WRITERS;) {
        assert_true(clock_mono_ms() < end_ms);
        assert_int_equal(task_sleep(task, 5), 0);
    }
}

static void up(struct task *task)
{
    struct str reason;
    assert_int_equal(db_server_wait(task, server, 5000, &reason), 0);
}

static void shared(struct task *task, struct db *db, void *arg)
{
    (void)arg;
    up(task);
    insert_all(0);
    wait_all(task, 5000);
    for (int i = 0; i < WRITERS; i++)
        assert_int_equal(outcome[i], 0);
    assert_int_equal(number(task, db, "select count(distinct n) from j"), WRITERS);
    assert_int_equal(number(task, db, "select count(*) from j"), WRITERS);
    assert_in_range(number(task, db, "select count(distinct xmin::text) from j"), 1, WRITERS / 4);
}

static void test_shared(void **state)
{
    (void)state;
    run(shared);
}

static void one_fails(struct task *task, struct db *db, void *arg)
{
    (void)arg;
    up(task);
    insert_all(1000); /* against the check; its place is 0 */
    wait_all(task, 5000);
    assert_int_equal(outcome[0], DB_CHECK);
    for (int i = 1; i < WRITERS; i++)
        assert_int_equal(outcome[i], 0);
    assert_int_equal(number(task, db, "select count(*) from j"), WRITERS - 1);
    assert_int_equal(number(task, db, "select count(distinct n) from j"), WRITERS - 1);
}

static void test_one_fails(void **state)
{
    (void)state;
    run(one_fails);
}

static void alone(struct task *task, struct db *db, void *arg)
{
    struct sql sql = make_sql("insert into j (n) values ($1::bigint) returning n, id", SQL_ONE);
    struct rows rows;
    struct db *tx;

    (void)arg;
    sql.writes = true;
    assert_int_equal(db_query_joint(task, db, &sql, PARAMS(P_I64(2000)), &rows), DB_CHECK);
    assert_string_equal(db_error(task)->sqlstate, "23514");
    assert_int_equal(db_query_joint(task, db, &sql, PARAMS(P_STR(STR("a\0b"))), &rows), DB_CHECK);
    /* In a transaction it is part of that. */
    assert_int_equal(db_begin(task, db, &tx), 0);
    assert_int_equal(db_query_joint(task, tx, &sql, PARAMS(P_I64(7)), &rows), 0);
    assert_int_equal(db_rollback(task, tx), 0);
    assert_int_equal(number(task, db, "select count(*) from j"), 0);
    /* A cancelled task does not begin. */
    task->cancelled = true;
    assert_int_equal(db_query_joint(task, db, &sql, PARAMS(P_I64(7)), &rows), -ECANCELED);
    task->cancelled = false;
    assert_int_equal(number(task, db, "select count(*) from j"), 0);
}

static void test_alone(void **state)
{
    (void)state;
    run(alone);
}

/* Those who left while it ran have written all the same, and nothing of them is touched again. */
static void cancelled(struct task *task, struct db *db, void *arg)
{
    struct task *tasks[WRITERS];

    (void)arg;
    up(task);
    for (int64_t i = 0; i < WRITERS; i++)
        tasks[i] = spawn(insert, (void *)(intptr_t)i, 0);
    assert_int_equal(task_sleep(task, 1), 0);
    for (int64_t i = 0; i < WRITERS; i += 2)
        if (outcome[i] == -1)
            task_cancel(tasks[i]);
    wait_all(task, 5000);
    int64_t written = 0;
    for (int i = 0; i < WRITERS; i++) {
        assert_true(outcome[i] == 0 || (i % 2 == 0 && outcome[i] == -ECANCELED));
        written += outcome[i] == 0;
    }
    assert_int_equal(number(task, db, "select count(*) from j"), written);
}

static void test_cancelled(void **state)
{
    (void)state;
    run(cancelled);
}

static void locked(struct task *task, struct db *db, void *arg)
{
    (void)arg;
    up(task);
    PGconn *locker = PQconnectdb(pg_dsn());
    PQclear(PQexec(locker, "begin"));
    PQclear(PQexec(locker, "lock table j"));
    insert_all(0);
    wait_all(task, 8000);
    for (int i = 0; i < WRITERS; i++)
        assert_true(outcome[i] == DB_LOCKED || outcome[i] == DB_UNAVAILABLE);
    assert_int_equal(outcome[0], DB_LOCKED);
    PQclear(PQexec(locker, "commit"));
    PQfinish(locker);
    assert_int_equal(number(task, db, "select count(*) from j"), 0);
}

static void test_locked(void **state)
{
    (void)state;
    run(locked);
}

/* The backend dies with a group on its way: nobody can say whether it happened, and nobody who was
 * told that it did may be wrong. */
static void lost(struct task *task, struct db *db, void *arg)
{
    (void)arg;
    up(task);
    PGconn *locker = PQconnectdb(pg_dsn());
    PQclear(PQexec(locker, "begin"));
    PQclear(PQexec(locker, "lock table j"));
    insert_all(0);
    assert_int_equal(task_sleep(task, 300), 0);
    pg_exec("select pg_terminate_backend(pid) from pg_locks where not granted");
    PQclear(PQexec(locker, "commit"));
    PQfinish(locker);
    wait_all(task, 8000);
    int64_t written = 0;
    for (int i = 0; i < WRITERS; i++) {
        assert_true(outcome[i] == 0 || outcome[i] == DB_UNKNOWN || outcome[i] == DB_UNAVAILABLE);
        written += outcome[i] == 0;
    }
    assert_true(written < WRITERS);
    assert_int_equal(number(task, db, "select count(*) from j"), written);
}

static void test_lost(void **state)
{
    (void)state;
    run(lost);
}

static void nowhere(struct task *task, struct db *db, void *arg)
{
    (void)db;
    (void)arg;
    insert_all(0);
    wait_all(task, 10000);
    for (int i = 0; i < WRITERS; i++)
        assert_int_equal(outcome[i], DB_UNAVAILABLE);
}

static void test_nowhere(void **state)
{
    (void)state;
    run_with((struct db_config){.dsn = "host=/nonexistent dbname=x"}, nowhere, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_shared, setup),
        cmocka_unit_test_setup(test_one_fails, setup),
        cmocka_unit_test_setup(test_alone, setup),
        cmocka_unit_test_setup(test_cancelled, setup),
        cmocka_unit_test_setup(test_locked, setup),
        cmocka_unit_test_setup(test_lost, setup),
        cmocka_unit_test_setup(test_nowhere, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
