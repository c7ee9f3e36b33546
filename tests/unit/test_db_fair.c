/* A project that keeps the server busy: how db/ detects it, and how many statements it may then
 * have under way. */
#include "unit.h"

#include "db_test.h"

#include "db/fair_private.h"

enum { BUSY = 1, OTHER = 2, HOGS = 12 };

/* --- which project is over its part --- */

/* Advances the time by for_ms, during which `statements` statements of BUSY are under way and, if
 * `other`, OTHER has a statement of a millisecond every 10 ms. Returns the end. */
static int64_t
use(struct fair *fair, int64_t now_ms, int64_t for_ms, unsigned statements, bool other)
{
    int64_t end_ms = now_ms + for_ms;

    for (; now_ms < end_ms; now_ms += 10) {
        if (statements > 0)
            fair_used(fair, BUSY, false, (int64_t)statements * 10, now_ms);
        if (other)
            fair_used(fair, OTHER, false, 1, now_ms);
    }
    return now_ms;
}

TEST(test_alone)
{
    struct fair fair;

    fair_init(&fair, 1, 1);
    int64_t now_ms = use(&fair, 1000000, 3000, 24, false);
    assert_false(fair_is_over(&fair, BUSY, now_ms));
    /* BUSY is over its part as soon as there is another project, and until a second after. */
    fair_used(&fair, OTHER, false, 0, now_ms);
    assert_true(fair_is_over(&fair, BUSY, now_ms));
    assert_false(fair_is_over(&fair, OTHER, now_ms));
    now_ms = use(&fair, now_ms, FAIR_ACTIVE_MS - 10, 24, false);
    assert_true(fair_is_over(&fair, BUSY, now_ms - 10));
    assert_false(fair_is_over(&fair, BUSY, now_ms + 10));
    fair_done(&fair);
}

TEST(test_forgotten)
{
    struct fair fair;

    fair_init(&fair, 1, 1);
    int64_t now_ms = use(&fair, 1000000, 3000, 4, true);
    assert_true(fair_is_over(&fair, BUSY, now_ms));
    /* One statement at a time keeps BUSY over its part. Without any statement BUSY soon is not. */
    now_ms = use(&fair, now_ms, 3000, 1, true);
    assert_true(fair_is_over(&fair, BUSY, now_ms));
    now_ms = use(&fair, now_ms, FAIR_ACTIVE_MS / 2, 0, true);
    assert_false(fair_is_over(&fair, BUSY, now_ms));
    assert_int_equal(fair.count, 2);
    now_ms = use(&fair, now_ms, FAIR_ACTIVE_MS, 0, true);
    assert_int_equal(fair.count, 1);
    fair_done(&fair);
}

/* The result is the same whether time is counted step by step or at the end. */
TEST(test_steps)
{
    struct fair often, once;

    fair_init(&often, 1, 1);
    fair_init(&once, 1, 1);
    fair_used(&often, BUSY, false, 1000, 1000000);
    fair_used(&once, BUSY, false, 1000, 1000000);
    for (int64_t ms = 1; ms <= 400; ms++)
        fair_used(&often, BUSY, false, 0, 1000000 + ms);
    fair_used(&once, BUSY, false, 0, 1000400);
    assert_int_equal(often.all.us, once.all.us);
    fair_done(&often);
    fair_done(&once);
}

/* Projects with equal use are not over their part, at any use. Of twelve projects the two that use
 * most of the server are over it. A project that uses less than it may always have is not. */
TEST(test_many)
{
    struct fair fair;
    int64_t now_ms = 1000000;

    fair_init(&fair, 2, 1);
    for (; now_ms < 1003000; now_ms += 10)
        for (int64_t project = 1; project <= 4; project++)
            fair_used(&fair, project, false, 80, now_ms);
    for (int64_t project = 1; project <= 4; project++)
        assert_false(fair_is_over(&fair, project, now_ms));
    for (; now_ms < 1009000; now_ms += 10)
        for (int64_t project = 1; project <= 12; project++)
            fair_used(&fair, project, false, project <= 2 ? 80 : 1, now_ms);
    for (int64_t project = 1; project <= 12; project++)
        assert_int_equal(fair_is_over(&fair, project, now_ms), project <= 2);
    assert_false(fair_is_over(&fair, 0, now_ms));
    for (; now_ms < 1019000; now_ms += 10)
        for (int64_t project = 1; project <= 2; project++)
            fair_used(&fair, project, false, project == 1 ? 8 : 1, now_ms);
    assert_false(fair_is_over(&fair, 1, now_ms));
    fair_done(&fair);
}

/* Each of two processes allows half, and counts heavy reads and other statements separately. A
 * project in the only process does not rest. */
TEST(test_rests)
{
    struct fair fair, single;

    fair_init(&fair, 1, 2);
    fair_init(&single, 1, 1);
    int64_t now_ms = 1000000;
    for (; now_ms < 1003000; now_ms += 10) {
        fair_used(&fair, BUSY, true, 10, now_ms);
        fair_used(&single, BUSY, true, 10, now_ms);
    }
    assert_true(fair_is_resting(&fair, BUSY, true, now_ms));
    assert_false(fair_is_resting(&fair, BUSY, false, now_ms));
    assert_false(fair_is_resting(&fair, OTHER, true, now_ms));
    assert_false(fair_is_resting(&single, BUSY, true, now_ms));
    int64_t ends_ms = now_ms;
    while (fair_is_resting(&fair, BUSY, true, ends_ms))
        ends_ms += 10;
    assert_in_range(ends_ms - now_ms, FAIR_WINDOW_MS / 2, FAIR_WINDOW_MS);
    fair_done(&fair);
    fair_done(&single);
}

/* --- statements that a busy project may have under way --- */

static bool stopping;
static const char *hog_statement;
static unsigned under_way, reads_ended;

static void hog(struct task *task, struct db *db, void *arg)
{
    (void)arg;
    while (!stopping) {
        struct db *tx;
        int rc = db_begin(task, db, &tx);
        if (rc == 0) {
            under_way++;
            (void)exec(task, tx, hog_statement);
            under_way--;
            db_rollback(tx);
        }
        arena_reset(task->arena);
    }
}

static void wait_until(struct task *task, unsigned least, unsigned most, struct db *other)
{
    UNTIL_WITHIN(15000, under_way >= least && under_way <= most, {
        if (other)
            assert_int_equal(exec(task, other, "select 1"), 0);
        assert_int_equal(task_sleep(task, 5), 0);
    });
}

static void read_as_hog(struct task *task, struct db *db, void *arg)
{
    (void)arg;
    assert_int_equal(number(task, db, "select 7"), 7);
    reads_ended++;
}

static void few(struct task *task, struct db *db, void *arg)
{
    struct db other = {.server = server, .schema = OTHER};
    struct db_stats stats;

    (void)db;
    (void)arg;
    for (int i = 0; i < HOGS; i++)
        spawn(hog, NULL, BUSY);
    wait_until(task, HOGS, HOGS, NULL); /* a project alone may use all connections */
    wait_until(task, 0, 1, &other);
    /* The limit holds while OTHER has short statements and is never quiet for a second. A busy
     * machine may need several attempts. */
    unsigned in_a_row = 0;
    UNTIL(in_a_row == 20, {
        assert_int_equal(exec(task, &other, "select 1"), 0);
        assert_int_equal(task_sleep(task, 5), 0);
        in_a_row = under_way <= 1 ? in_a_row + 1 : 0;
        assert_true(in_a_row > 0 || !strict_times());
    });
    /* A read of BUSY is answered after a moment. */
    struct db own = {.server = server, .schema = BUSY};
    spawn(read_as_hog, NULL, BUSY);
    while (reads_ended < 1)
        assert_int_equal(exec(task, &other, "select 1"), 0);
    db_server_stats(server, &stats);
    assert_int_equal(stats.errors, 0);
    wait_until(task, HOGS, HOGS, NULL); /* alone again */
    stopping = true;
    assert_int_equal(number(task, &own, "select 3"), 3);
}

TEST(test_few)
{
    stopping = false;
    reads_ended = 0;
    hog_statement = "select pg_sleep(0.1)";
    run_with((struct db_config){PATIENT, .write_connections = 20, .busy_share = 1}, few, NULL);
}

/* Statements that take as long as if they waited for a lock, but do not. */
TEST(test_few_long)
{
    stopping = false;
    reads_ended = 0;
    hog_statement = "select pg_sleep(0.5)";
    run_with((struct db_config){PATIENT, .write_connections = 20, .busy_share = 1}, few, NULL);
}

/* --- waiting for a lock --- */

static void want_lock(struct task *task, struct db *db, void *arg)
{
    (void)arg;
    under_way++;
    (void)exec(task, db, "select pg_advisory_xact_lock(4711), pg_sleep(0)");
    under_way--;
}

/* While many statements of a project wait for a lock, its other statements run at once. */
static void locked(struct task *task, struct db *db, void *arg)
{
    struct db other = {.server = server, .schema = OTHER};
    struct db own = {.server = server, .schema = BUSY};
    struct db *holder;
    int64_t end_ms;

    (void)db;
    (void)arg;
    assert_int_equal(db_begin(task, &other, &holder), 0);
    assert_int_equal(exec(task, holder, "select pg_advisory_xact_lock(4711)"), 0);
    for (int i = 0; i < HOGS; i++)
        spawn(want_lock, NULL, BUSY);
    wait_until(task, HOGS, HOGS, &other);
    end_ms = clock_mono_ms() + 1200;
    int64_t most_ms = 0;
    while (clock_mono_ms() < end_ms) {
        int64_t begun_ms = clock_mono_ms();
        assert_int_equal(exec(task, &own, "select 2"), 0);
        int64_t taken_ms = clock_mono_ms() - begun_ms;
        most_ms = taken_ms > most_ms ? taken_ms : most_ms;
        assert_int_equal(exec(task, &other, "select 1"), 0);
        assert_int_equal(task_sleep(task, 5), 0);
    }
    assert_in_range(most_ms, 0, allowed(1000));
    assert_int_equal(db_commit(task, holder), 0);
}

TEST(test_locked)
{
    under_way = 0;
    run_with((struct db_config){PATIENT, .write_connections = 20, .busy_share = 1}, locked, NULL);
}

/* A lease whose task sends no statement for a moment does not delay the next lease of its
 * project. */
static void nested(struct task *task, struct db *db, void *arg)
{
    struct db other = {.server = server, .schema = OTHER};
    struct db own = {.server = server, .schema = BUSY};
    struct db *first, *second;

    (void)db;
    (void)arg;
    assert_int_equal(db_begin(task, &own, &first), 0);
    assert_int_equal(exec(task, first, "select pg_sleep(0.8)"), 0);
    assert_int_equal(exec(task, &other, "select 1"), 0);
    assert_int_equal(db_begin(task, &own, &second), 0);
    assert_int_equal(exec(task, second, "select 1"), 0);
    assert_int_equal(db_commit(task, second), 0);
    assert_int_equal(db_commit(task, first), 0);
}

TEST(test_nested)
{
    run_with((struct db_config){PATIENT, .write_connections = 20, .busy_share = 1}, nested, NULL);
}
