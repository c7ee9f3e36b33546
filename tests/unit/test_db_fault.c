/* Faults of db/: full pools, locks, cancelled tasks, lost connections, a server that is gone. */
#include "unit.h"

#include "db_test.h"

static bool stopping;
static unsigned answered;
static unsigned failed;
static int64_t slowest_ms;
static unsigned turns; /* transactions that hogs have begun */

static int setup(void **state UNUSED)
{
    stopping = false;
    answered = 0;
    failed = 0;
    slowest_ms = 0;
    turns = 0;
    return 0;
}

static int make_gate(void **state UNUSED)
{
    pg_exec("create table gate(id bigint); create function pass() returns bigint language sql "
            "set lock_timeout = 0 as 'select count(*) from gate'");
    return 0;
}

static void pause_ms(struct task *task, int64_t ms)
{
    assert_int_equal(task_sleep(task, ms), 0);
}

/* Reads in a loop until `stopping`; counts its own answers in *arg unless arg is NULL. */
static void reader(struct task *task, struct db *db, void *arg)
{
    struct sql sql = make_sql("select $1::bigint", SQL_ONE);
    unsigned *own = arg;

    while (!stopping) {
        struct rows rows;
        int64_t start_ms = clock_mono_ms();
        int rc = db_query(task, db, &sql, PARAMS(P_I64(42)), &rows);
        int64_t spent_ms = clock_mono_ms() - start_ms;
        slowest_ms = spent_ms > slowest_ms ? spent_ms : slowest_ms;
        if (rc == 0) {
            assert_int_equal(rows_i64(&rows, 0, 0), 42);
            answered++;
            if (own)
                ++*own;
        } else {
            assert_int_equal(rc, DB_UNAVAILABLE);
            failed++;
        }
        arena_reset(task->arena);
        pause_ms(task, 1);
    }
}

/* Waits for a hundred answers without a failure among them. */
static void wait_steady(struct task *task)
{
    unsigned since = answered;
    unsigned known = failed;

    UNTIL(answered > since + 100, {
        if (failed != known) {
            known = failed;
            since = answered;
        }
        pause_ms(task, 2);
    });
}

/* Inserts rows in a loop. Every insert that returned 0 must be in the table afterwards. */
static unsigned written;
static unsigned unknown;

static void writer(struct task *task, struct db *db, void *arg)
{
    struct sql sql = make_sql("insert into w default values", SQL_EXEC);

    (void)arg;
    while (!stopping) {
        int rc = db_query(task, db, &sql, NULL, 0, NULL);
        if (rc == 0)
            written++;
        else if (rc == DB_UNKNOWN)
            unknown++;
        else
            assert_int_equal(rc, DB_UNAVAILABLE);
        arena_reset(task->arena);
        pause_ms(task, 2);
    }
}

/* --- pools --- */

static void full_pool(struct task *task, struct db *db, void *arg)
{
    struct db *tx;
    struct db_stats stats;
    struct str reason;

    (void)arg;
    assert_int_equal(db_server_wait(task, server, 60000, &reason), 0);
    for (int i = 0; i < 2; i++) {
        WAIT_FOR(task, db_begin(task, db, &tx) == 0);
        assert_int_equal(exec(task, tx, "select 1"), 0);
    }
    int64_t start_ms = clock_mono_ms();
    struct db *third;
    assert_int_equal(db_begin(task, db, &third), DB_UNAVAILABLE);
    assert_took(start_ms, 350, 900); /* the default is a second */
    /* A full write pool does not affect reads. */
    assert_int_equal(number(task, db, "select 5"), 5);
    db_rollback(tx);
    assert_int_equal(db_begin(task, db, &third), 0);
    db_server_stats(server, &stats);
    assert_int_equal(stats.write_leased, 2);
}

TEST_WITH(test_full_pool, setup, NULL)
{
    run_with((struct db_config){.write_connections = 2, .lease_timeout_ms = 400}, full_pool, NULL);
}

static void hog(struct task *task, struct db *db, void *arg)
{
    (void)arg;
    while (!stopping) {
        struct db *tx;
        int rc = db_begin(task, db, &tx);
        if (rc == 0) {
            turns++;
            (void)exec(task, tx, "select pg_sleep(0.06)");
            assert_int_not_equal(db_commit(task, tx), DB_UNKNOWN);
        }
        arena_reset(task->arena);
    }
}

static void fair_pool(struct task *task, struct db *db, void *arg)
{
    struct db other = {.server = server, .schema = 2};
    int64_t worst_ms = 0;
    unsigned worst_turns = 0;

    (void)db;
    (void)arg;
    for (int i = 0; i < 100; i++)
        spawn(hog, NULL, 1);
    WAIT_FOR(task, turns > 8);
    for (int i = 0; i < 10; i++) {
        int64_t start_ms = clock_mono_ms();
        unsigned before = turns;
        assert_int_equal(exec(task, &other, "select 1"), 0);
        int64_t spent_ms = clock_mono_ms() - start_ms;
        worst_ms = spent_ms > worst_ms ? spent_ms : worst_ms;
        worst_turns = turns - before > worst_turns ? turns - before : worst_turns;
        pause_ms(task, 5);
    }
    stopping = true;
    /* A statement that waited for all 100 hogs would see about 100 transactions of 60 ms each on
     * four connections. */
    assert_in_range(worst_turns, 0, 46);
    assert_in_range(worst_ms, 0, allowed(700));
}

TEST_WITH(test_fair_pool, setup, NULL)
{
    run_with((struct db_config){PATIENT, .write_connections = 4}, fair_pool, NULL);
}

/* --- locks --- */

enum { READERS = 16 };

static PGconn *locker;

/* A statement that calls pass() waits until the gate is opened. */
static void shut_gate(void)
{
    locker = PQconnectdb(pg_dsn());
    PQclear(PQexec(locker, "begin"));
    PQclear(PQexec(locker, "lock table gate"));
}

static void open_gate(void)
{
    PQclear(PQexec(locker, "commit"));
    PQfinish(locker);
}

static unsigned unlocked;

static void locked_reader(struct task *task, struct db *db, void *arg)
{
    (void)arg;
    assert_int_equal(number(task, db, "select pass()"), 0);
    unlocked++;
}

static void locked_table(struct task *task, struct db *db, void *arg)
{
    unsigned own[READERS] = {0};
    struct db_stats stats;
    struct str reason;

    (void)db;
    (void)arg;
    assert_int_equal(db_server_wait(task, server, 60000, &reason), 0);
    shut_gate();
    for (int i = 0; i < READERS; i++)
        spawn(reader, &own[i], 0);
    pause_ms(task, 30);
    for (int i = 0; i < 5; i++) {
        spawn(locked_reader, NULL, 0);
        pause_ms(task, 20);
    }
    /* All other reads continue while the table is locked. */
    for (int i = 0; i < READERS; i++) {
        unsigned before = own[i];
        WAIT_FOR(task, own[i] > before + 10);
    }
    WAIT_FOR(task, answered > 500);
    assert_int_equal(unlocked, 0);
    assert_int_equal(failed, 0);
    db_server_stats(server, &stats);
    assert_true(stats.redispatched > 0);
    open_gate();
    WAIT_FOR(task, unlocked == 5);
    stopping = true;
    while (running > 1) /* the readers count in this stack frame */
        pause_ms(task, 5);
    db_server_stats(server, &stats);
    assert_int_equal(stats.errors, 0);
}

TEST_WITH(test_locked_table, setup, NULL)
{
    run(locked_table);
    assert_in_range(slowest_ms, 0, allowed(400));
}

/* --- locks: many statements --- */

enum { LOCKED_STATEMENTS = 40, VICTIM = 2, AGGRESSOR = 7 };

static unsigned locked_over;

/* Each statement is new, so db/ does not know that it is slow. */
static void locked_one(struct task *task, struct db *db, void *arg)
{
    struct sql sql = make_sql(
        arena_printf(task->arena, "select pass() + %d -- {p}", (int)(intptr_t)arg).ptr, SQL_ONE);
    struct rows rows;

    (void)!db_query(task, db, &sql, NULL, 0, &rows);
    locked_over++;
}

/* The locked statements are new, or (`warm`) every connection knows them. */
static void locked_many(struct task *task, struct db *db, void *arg)
{
    struct str reason;
    bool warm = arg != NULL;

    (void)db;
    locked_over = 0;
    assert_int_equal(db_server_wait(task, server, 60000, &reason), 0);
    for (int round = 0; warm && round < 4; round++) {
        for (int i = 0; i < LOCKED_STATEMENTS; i++)
            spawn(locked_one, (void *)(intptr_t)i, AGGRESSOR);
        while (locked_over < LOCKED_STATEMENTS * (unsigned)(round + 1))
            pause_ms(task, 5);
    }
    shut_gate();
    spawn(reader, NULL, VICTIM);
    pause_ms(task, 100);
    for (int i = 0; i < LOCKED_STATEMENTS; i++) {
        unsigned before = answered;
        spawn(locked_one, (void *)(intptr_t)i, AGGRESSOR);
        pause_ms(task, 25);
        WAIT_FOR(task, answered > before + 1); /* one answer may have been under way before */
    }
    pause_ms(task, 1500);
    WAIT_FOR(task, answered > 200);
    assert_true(locked_over == (warm ? 4 * LOCKED_STATEMENTS : 0)); /* the table is still locked */
    stopping = true;
    open_gate();
}

TEST_WITH(test_locked_by_another, setup, NULL)
{
    for (int warm = 0; warm < 2; warm++) {
        (void)setup(state);
        run_with((struct db_config){PATIENT}, locked_many, warm ? &stopping : NULL);
        assert_int_equal(failed, 0);
        assert_in_range(slowest_ms, 0, allowed(700));
    }
}

/* --- cancelled tasks --- */

static int ended_rc;

static bool at_gate(struct task *task, struct db *db, int64_t waiting)
{
    return number(task, db, "select count(*) from pg_locks where not granted") == waiting;
}

static void sleeper(struct task *task, struct db *db, void *arg)
{
    ended_rc = exec(task, db, arg);
}

static void read_sleeper(struct task *task, struct db *db, void *arg)
{
    struct sql sql = make_sql("select pass(), $1::text", SQL_ONE);
    char text[1000];
    struct rows rows;

    (void)arg;
    memset(text, 'x', sizeof(text));
    ended_rc = db_query(task, db, &sql, PARAMS(P_STR(((struct str){text, sizeof(text)}))), &rows);
}

static void tx_sleeper(struct task *task, struct db *db, void *arg)
{
    struct db *tx;

    (void)arg;
    assert_int_equal(db_begin(task, db, &tx), 0);
    assert_int_equal(exec(task, tx, "insert into c values (1)"), 0);
    ended_rc = exec(task, tx, "select pass()");
}

enum { NOT_ENDED = 99 };

/* Waits until the last spawned child ends and returns its result. */
static int wait_ended(struct task *task)
{
    WAIT_FOR(task, ended_rc != NOT_ENDED);
    return ended_rc;
}

static bool is_idle(void)
{
    struct db_stats stats;

    db_server_stats(server, &stats);
    return stats.in_flight + stats.write_leased + stats.waiting == 0;
}

static void cancelled(struct task *task, struct db *db, void *arg)
{
    (void)arg;
    pg_exec("create table c(id bigint)");
    assert_int_equal(number(task, db, "select 1"), 1);
    shut_gate();
    ended_rc = NOT_ENDED;
    struct task *child = spawn(read_sleeper, NULL, 0);
    pause_ms(task, 5);
    task_cancel(child);
    assert_int_equal(wait_ended(task), -ECANCELED);

    ended_rc = NOT_ENDED;
    child = spawn(read_sleeper, NULL, 0);
    child->deadline_ms = clock_mono_ms() + 30;
    assert_int_equal(wait_ended(task), -ETIMEDOUT);

    /* After a cancellation the transaction is rolled back outside of the task, when its statement
     * has ended. */
    open_gate();
    WAIT_FOR(task, is_idle());
    shut_gate();
    ended_rc = NOT_ENDED;
    child = spawn(tx_sleeper, NULL, 0);
    WAIT_FOR(task, at_gate(task, db, 1));
    task_cancel(child);
    assert_int_equal(wait_ended(task), -ECANCELED);
    assert_false(is_idle());
    open_gate();
    WAIT_FOR(task, is_idle());
    assert_int_equal(number(task, db, "select count(*) from c"), 0);

    /* A cancelled task waits for its write that is under way. */
    ended_rc = NOT_ENDED;
    shut_gate();
    child = spawn(sleeper, "insert into c select pass()", 0);
    WAIT_FOR(task, at_gate(task, db, 1));
    task_cancel(child);
    pause_ms(task, 20);
    assert_int_equal(ended_rc, NOT_ENDED);
    open_gate();
    assert_int_equal(wait_ended(task), 0);
    assert_int_equal(number(task, db, "select count(*) from c"), 1);
    WAIT_FOR(task, is_idle());
}

TEST_WITH(test_cancel, setup, NULL)
{
    run(cancelled);
}

/* --- lost connections --- */

static void terminated(struct task *task, struct db *db, void *arg)
{
    (void)arg;
    pg_exec("create table w(id bigint generated by default as identity)");
    for (int i = 0; i < 16; i++)
        spawn(reader, NULL, 0);
    for (int i = 0; i < 8; i++)
        spawn(writer, NULL, 0);
    for (int i = 0; i < 5; i++) {
        pause_ms(task, 60);
        pg_exec("select pg_terminate_backend(pid) from pg_stat_activity where application_name = "
                "'groundwork'");
    }
    pause_ms(task, 300);
    wait_steady(task);
    stopping = true;
    while (running > 1)
        pause_ms(task, 5);
    /* Every acknowledged row exists; rows with an unknown outcome may exist. */
    assert_in_range(number(task, db, "select count(*) from w"), written, written + unknown);
    assert_true(written > 0);
}

TEST_WITH(test_terminate, setup, NULL)
{
    run(terminated);
}

static void restarted(struct task *task, struct db *db, void *arg)
{
    const char *mode = arg;

    for (int i = 0; i < 16; i++)
        spawn(reader, NULL, 0);
    for (int i = 0; i < 4; i++)
        spawn(writer, NULL, 0);
    WAIT_FOR(task, answered > 0 && written > 0);
    failed = 0;
    assert_int_equal(pg_stop(mode), 0);
    struct str reason = STR_NONE;
    WAIT_FOR(task, db_server_wait(task, server, 100, &reason) == DB_UNAVAILABLE);
    assert_true(reason.len > 0);
    WAIT_FOR(task, failed > 0); /* requests wait one second, the server is away for three */
    pause_ms(task, 2000);
    (void)pg_shell("%s %s/pg_ctl -D %s/data -w -t 60 -l %s/log start >/dev/null 2>&1 &",
                   pg_as(),
                   pg_bin(),
                   pg_dir,
                   pg_dir);
    assert_int_equal(db_server_wait(task, server, 60000, &reason), 0);
    wait_steady(task);
    assert_in_range(slowest_ms, 900, allowed(2500));
    stopping = true;
    while (running > 1)
        pause_ms(task, 5);
    assert_in_range(number(task, db, "select count(*) from w"), written, written + unknown);
}

TEST_WITH(test_restart, setup, NULL)
{
    written = unknown = 0;
    pg_exec("truncate w");
    run_with((struct db_config){0}, restarted, "immediate");
}

static void commit_lost(struct task *task, struct db *db, void *arg)
{
    struct db *tx;

    (void)arg;
    assert_int_equal(db_begin(task, db, &tx), 0);
    int64_t pid = number(task, tx, "select pg_backend_pid()");
    assert_int_equal(exec(task, tx, "insert into w default values"), 0);
    pg_exec(
        arena_printf(task->arena, "select pg_terminate_backend(%lld, 60000)", (long long)pid).ptr);
    assert_int_equal(task_sleep(task, 50), 0);
    assert_int_equal(db_commit(task, tx), DB_UNAVAILABLE);
    assert_int_equal(db_begin(task, db, &tx), 0);
    assert_int_equal(exec(task, tx, "select pg_terminate_backend(pg_backend_pid())"),
                     DB_UNAVAILABLE);
    assert_int_equal(db_commit(task, tx), DB_FAILED);
    /* A backend dies inside a write, so the outcome is unknown. */
    ended_rc = NOT_ENDED;
    spawn(sleeper, "with s as (select pg_sleep(30)) insert into w select 1 from s", 0);
    /* Find the pid on our own server, because the backends of other servers look the same. */
    pid = 0;
    WAIT_FOR(task,
             (pid = number(task,
                           db,
                           "select coalesce(max(pid), 0) from pg_stat_activity where "
                           "state = 'active' and application_name = 'groundwork' and "
                           "pid <> pg_backend_pid() and query like "
                           "'with s as (select pg_sleep(30))%'")) > 1);
    assert_int_equal(kill((pid_t)pid, SIGKILL), 0);
    assert_int_equal(wait_ended(task), DB_UNKNOWN);
}

TEST_WITH(test_commit_lost, setup, NULL)
{
    run(commit_lost);
}

/* --- no server, no free connection --- */

static void nowhere(struct task *task, struct db *db, void *arg)
{
    struct str reason = STR_NONE;
    int64_t start_ms = clock_mono_ms();

    (void)arg;
    assert_int_equal(exec(task, db, "select 1"), DB_UNAVAILABLE);
    assert_took(start_ms, 250, 900);
    struct sql sql = make_sql("select 1", SQL_ONE);
    struct rows rows;
    assert_int_equal(db_query(task, db, &sql, NULL, 0, &rows), DB_UNAVAILABLE);
    assert_int_equal(db_server_wait(task, server, 50, &reason), DB_UNAVAILABLE);
    assert_true(reason.len > 0);
}

TEST_WITH(test_nowhere, setup, NULL)
{
    static const char *const dsns[] = {"host=127.0.0.1 port=1 user=x",
                                       "postgresql://x@localhost:1/y",
                                       "host=/nonexistent",
                                       "host=no-such-host.invalid",
                                       "this is no dsn"};
    for (size_t i = 0; i < ARRAY_LEN(dsns); i++)
        run_with((struct db_config){.dsn = dsns[i], .lease_timeout_ms = 300}, nowhere, NULL);
}

static unsigned write_open(void)
{
    struct db_stats stats;

    db_server_stats(server, &stats);
    return stats.write_open;
}

static void no_room(struct task *task, struct db *db, void *arg)
{
    PGconn *taken[64];
    unsigned count = 0;

    (void)arg;
    assert_int_equal(number(task, db, "select 1"), 1);
    while (count < 64) {
        taken[count] = PQconnectdb(pg_dsn());
        if (PQstatus(taken[count++]) != CONNECTION_OK)
            break;
    }
    for (int i = 0; i < 8; i++)
        spawn(hog, NULL, 1);
    pause_ms(task, 500);
    assert_int_equal(number(task, db, "select 2"), 2);
    while (count > 0)
        PQfinish(taken[--count]);
    WAIT_FOR(task, write_open() >= 4);
    stopping = true;
}

TEST_WITH(test_no_room, setup, NULL)
{
    run_with((struct db_config){PATIENT, .write_connections = 6}, no_room, NULL);
}

GROUP(make_gate, NULL)
