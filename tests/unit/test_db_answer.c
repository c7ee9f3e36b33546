/* Memory of results and number of connections: of one task, of one project, of all. */
#include "unit.h"

#include "db/answer.h"

#include "db_test.h"

enum { KB = 1024, MB = 1024 * KB, BUDGET = MB, ALICE = 1, BOB = 2 };

static unsigned ended;

/* Reads `rows` rows of `kilobytes` KB each. */
static int
read_rows(struct task *task, struct db *db, int64_t rows, int64_t kilobytes, struct rows *ret_rows)
{
    struct sql sql = make_sql(
        "select n, repeat('x', ($2::bigint * 1024)::int) from generate_series(1, $1::bigint) n",
        SQL_MANY);

    return db_query(task, db, &sql, PARAMS(P_I64(rows), P_I64(kilobytes)), ret_rows);
}

static void init(uint64_t per_answer, uint64_t per_process)
{
    db_answers_init(&(struct answers_config){.per_answer = per_answer, .per_process = per_process});
}

static void run_counted(void (*fn)(struct task *, struct db *, void *), struct db_config config)
{
    ended = 0;
    run_with(config, fn, NULL);
    db_answers_done(); /* panics if any memory is still accounted for */
}

/* --- one result --- */

static void budget(struct task *task, struct db *db, void *arg)
{
    struct rows rows;

    (void)arg;
    task->project = ALICE;
    assert_int_equal(read_rows(task, db, 200, 4, &rows), 0);
    assert_int_equal(rows.count, 200);
    assert_int_equal(rows.affected, 200);
    assert_string_equal(rows_column_name(&rows, 0), "n");
    assert_int_equal(rows_i64(&rows, 199, 0), 200);
    assert_int_equal(rows_str(&rows, 199, 1).len, 4 * KB);
    assert_in_range(db_answer_held(task->arena), 800 * KB, 830 * KB);
    /* The results of one task's statements count together. */
    assert_int_equal(read_rows(task, db, 100, 4, &rows), DB_TOO_LARGE);
    assert_in_range(db_answer_held(task->arena), 800 * KB, 830 * KB);
    arena_reset(task->arena);
    assert_int_equal(db_answer_held(task->arena), 0);
    /* A result that is far too large is given up while it arrives, and the next statement is
     * served. */
    int64_t started_ms = clock_mono_ms();
    assert_int_equal(read_rows(task, db, 100000, 100, &rows), DB_TOO_LARGE);
    assert_int_equal(read_rows(task, db, 10, 4, &rows), 0);
    assert_took(started_ms, 0, 10000);
    assert_int_equal(rows.count, 10);
    arena_reset(task->arena);
    /* A single row can be too large. */
    struct sql one = make_sql("select repeat('x', 2000000)", SQL_ONE);
    assert_int_equal(db_query(task, db, &one, NULL, 0, &rows), DB_TOO_LARGE);
    assert_int_equal(db_answer_held(task->arena), 0);
    /* An error after some rows is returned as the error, and the rows before it are not counted. */
    struct sql broken = make_sql(
        "select repeat('x', 1000), 1 / (500 - n) from generate_series(1, 600) n", SQL_MANY);
    assert_int_equal(db_query(task, db, &broken, NULL, 0, &rows), DB_CHECK);
    assert_int_equal(db_answer_held(task->arena), 0);
}

TEST(test_budget)
{
    init(BUDGET, 8 * MB);
    run_counted(budget, (struct db_config){PATIENT});
}

static void transactions(struct task *task, struct db *db, void *arg)
{
    struct sql wide = make_sql("select repeat('x', 4000) from generate_series(1, 1000)", SQL_MANY);
    struct sql insert = make_sql("insert into wide select n, repeat('x', 4000) from "
                                 "generate_series(1, 1000) n returning n, t",
                                 SQL_MANY);
    struct rows rows;
    struct db *tx;

    (void)arg;
    assert_int_equal(exec(task, db, "create table wide(n int, t text)"), 0);
    task->project = ALICE;
    assert_int_equal(db_begin(task, db, &tx), 0);
    assert_int_equal(db_query(task, tx, &wide, NULL, 0, &rows), DB_TOO_LARGE);
    assert_int_equal(db_commit(task, tx), DB_FAILED);
    /* The rows of a statement that writes are accepted at any size, because the write has
     * happened. */
    assert_int_equal(db_query(task, db, &insert, NULL, 0, &rows), 0);
    assert_int_equal(rows.count, 1000);
    assert_int_equal(rows.affected, 1000);
    arena_reset(task->arena);
    assert_int_equal(number(task, db, "select count(*) from wide"), 1000);
    assert_int_equal(db_begin(task, db, &tx), 0);
    struct db_call call = {.sql = &insert};
    assert_int_equal(db_batch_commit(task, tx, &call, 1, NULL), 0);
    arena_reset(task->arena);
    assert_int_equal(number(task, db, "select count(*) from wide"), 2000);
    /* Statements of the process itself are not refused. */
    task->project = 0;
    assert_int_equal(db_query(task, db, &wide, NULL, 0, &rows), 0);
}

TEST(test_transactions)
{
    init(BUDGET, 8 * MB);
    run_counted(transactions, (struct db_config){PATIENT});
}

/* Another project's reads on the same connection are not disturbed. */
static void small_reads(struct task *task, struct db *db, void *arg)
{
    (void)arg;
    task->project = BOB;
    while (ended < 4) {
        assert_int_equal(number(task, db, "select 7"), 7);
        arena_reset(task->arena);
        assert_int_equal(task_sleep(task, 1), 0);
    }
}

static void large_reads(struct task *task, struct db *db, void *arg)
{
    struct rows rows;

    (void)arg;
    task->project = ALICE;
    for (int i = 0; i < 10; i++) {
        /* Each statement is new, so db/ does not know that its result is large. */
        struct str text =
            arena_printf(task->arena,
                         "select %d, repeat('x', 100000) from generate_series(1, 200) n",
                         rand() % 1000000);
        struct sql sql = make_sql(text.ptr, SQL_MANY);
        assert_int_equal(db_query(task, db, &sql, NULL, 0, &rows), DB_TOO_LARGE);
        arena_reset(task->arena);
    }
    ended++;
}

static void neighbours(struct task *task, struct db *db, void *arg)
{
    (void)task;
    (void)db;
    (void)arg;
    for (int i = 0; i < 4; i++)
        spawn(large_reads, NULL, ALICE);
    for (int i = 0; i < 8; i++)
        spawn(small_reads, NULL, BOB);
}

TEST(test_neighbours)
{
    init(BUDGET, 8 * MB);
    run_counted(neighbours, (struct db_config){PATIENT, .read_connections = 2});
}

/* --- a project's share of the process --- */

static unsigned refused;

static void hold(struct task *task, struct db *db, void *arg)
{
    struct rows rows;

    (void)arg;
    task->project = db->schema;
    int rc = read_rows(task, db, 200, 4, &rows);
    refused += rc == DB_BUSY;
    if (rc != 0)
        assert_int_equal(rc, DB_BUSY);
    ended++;
    while (ended < 10)
        assert_int_equal(task_sleep(task, 1), 0);
}

static void share(struct task *task, struct db *db, void *arg)
{
    struct rows rows;

    (void)db;
    (void)arg;
    refused = 0;
    for (int i = 0; i < 9; i++)
        spawn(hold, NULL, ALICE);
    while (ended < 6)
        assert_int_equal(task_sleep(task, 1), 0);
    /* Another project gets its memory immediately, however much ALICE holds. */
    struct db bob = {.server = server, .schema = BOB};
    task->project = BOB;
    assert_int_equal(read_rows(task, &bob, 200, 4, &rows), 0);
    ended++;
}

TEST(test_share)
{
    init(BUDGET, 8 * MB);
    /* The tasks that are not refused have read their rows after these ten seconds, also on a busy
     * machine. */
    run_counted(share, (struct db_config){.lease_timeout_ms = 10000});
    assert_in_range(refused, 5, 8);
}

static void in_turn(struct task *task, struct db *db, void *arg)
{
    struct rows rows;

    (void)arg;
    task->project = ALICE;
    assert_int_equal(read_rows(task, db, 200, 4, &rows), 0);
    assert_int_equal(task_sleep(task, 5), 0);
    ended++;
}

static void turns(struct task *task, struct db *db, void *arg)
{
    (void)task;
    (void)db;
    (void)arg;
    for (int i = 0; i < 12; i++)
        spawn(in_turn, NULL, ALICE);
}

/* Requests of one project wait for each other and are not refused. */
TEST(test_turns)
{
    init(BUDGET, 8 * MB);
    run_counted(turns, (struct db_config){PATIENT});
    assert_int_equal(ended, 12);
}

static void settle(struct task *task, struct db *db, void *arg)
{
    struct rows rows;

    (void)arg;
    task->project = ALICE;
    assert_int_equal(read_rows(task, db, 200, 4, &rows), 0);
    assert_int_equal(db_answer_settle(task, 900 * KB), 0);
    assert_int_equal(db_answer_held(task->arena), 900 * KB);
    arena_reset(task->arena);
    assert_int_equal(db_answer_settle(task, 9 * MB), DB_BUSY);
    assert_int_equal(db_answer_held(task->arena), 0);
}

TEST(test_settle)
{
    init(BUDGET, 8 * MB);
    run_counted(settle, (struct db_config){PATIENT});
}

/* --- connections --- */

static void heavy(struct task *task, struct db *db, void *arg)
{
    struct sql sql = make_sql("select until_released()", SQL_MANY);
    struct rows rows;

    (void)arg;
    sql.heavy = true;
    task->project = db->schema;
    assert_int_equal(db_query(task, db, &sql, NULL, 0, &rows), 0);
    ended++;
}

static unsigned leased(void)
{
    struct db_stats stats;

    db_server_stats(server, &stats);
    return stats.write_leased;
}

static void count_heavy(struct task *task, struct db *db, void *arg)
{
    struct sql sql = make_sql("select pg_sleep(0.01)", SQL_MANY);
    struct rows rows;

    (void)db;
    (void)arg;
    pg_exec("create table released(); create function until_released() returns int "
            "language plpgsql as $$ begin while not exists (select from released) loop "
            "perform pg_sleep(0.01); end loop; return 1; end $$");
    for (int i = 0; i < 24; i++)
        spawn(heavy, NULL, ALICE);
    /* ALICE may use a quarter of half of the sixteen connections: two at a time. */
    WAIT_FOR(task, leased() == 2);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(task_sleep(task, 1), 0);
        assert_int_equal(leased(), 2);
    }
    sql.heavy = true;
    struct db bob = {.server = server, .schema = BOB};
    int64_t started_ms = clock_mono_ms();
    assert_int_equal(db_query(task, &bob, &sql, NULL, 0, &rows), 0);
    assert_took(started_ms, 0, 2000);
    assert_int_equal(ended, 0);
    pg_exec("insert into released default values");
    while (ended < 24) {
        assert_in_range(leased(), 0, 2);
        assert_int_equal(task_sleep(task, 1), 0);
    }
}

TEST(test_heavy)
{
    init(BUDGET, 8 * MB);
    run_counted(count_heavy, (struct db_config){PATIENT, .write_connections = 16});
}

static void hold_tx(struct task *task, struct db *db, void *arg)
{
    struct db *tx;

    (void)arg;
    int rc = db_begin(task, db, &tx);
    refused += rc == DB_UNAVAILABLE || rc == DB_BUSY;
    ended++;
    while (ended < 9)
        assert_int_equal(task_sleep(task, 1), 0);
}

static void room(struct task *task, struct db *db, void *arg)
{
    struct db bob = {.server = server, .schema = BOB};
    struct db_stats stats;
    struct db *tx;

    (void)arg;
    (void)db;
    refused = 0;
    for (int i = 0; i < 8; i++)
        spawn(hold_tx, NULL, ALICE);
    while (ended < 6)
        assert_int_equal(task_sleep(task, 1), 0);
    assert_int_equal(db_begin(task, &bob, &tx), 0);
    db_server_stats(server, &stats);
    assert_int_equal(stats.write_leased, 7);
    ended++;
    while (ended < 9)
        assert_int_equal(task_sleep(task, 1), 0);
    assert_int_equal(refused, 2);
}

TEST(test_room)
{
    init(BUDGET, 8 * MB);
    run_counted(room, (struct db_config){.write_connections = 8, .lease_timeout_ms = 2000});
}
