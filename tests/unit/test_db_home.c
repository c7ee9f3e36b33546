/* Which connection a read goes to: its statement is prepared once, unless it is many at a time. */
#include "db_test.h"

enum { READERS = 48, STATEMENTS = 400, ROUNDS = 60, PIDS = 64 };

static unsigned ended;

static void read_many(struct task *task, struct db *db, void *arg)
{
    unsigned at = (unsigned)(intptr_t)arg * 7919;

    for (int i = 0; i < ROUNDS; i++) {
        at = (at * 1103515245U + 12345U) & 0x7fffffffU;
        int n = (int)(at >> 8) % STATEMENTS;
        assert_int_equal(number(task, db, arena_printf(task->arena, "select %d", n).ptr), n);
    }
    ended++;
}

static void different(struct task *task, struct db *db, void *arg)
{
    struct db_stats stats;
    struct str reason;

    (void)arg;
    assert_int_equal(db_server_wait(task, server, 5000, &reason), 0);
    /* All connections are open before it counts. */
    for (int i = 0; i < READERS; i++)
        spawn(read_many, (void *)(intptr_t)i, 0);
    while (ended < READERS)
        assert_int_equal(task_sleep(task, 5), 0);
    db_server_stats(server, &stats);
    assert_int_equal(stats.read_open, 4);
    uint64_t before = stats.prepared;
    /* Every statement once more, one after the other: those that moved while connections opened. */
    for (int n = 0; n < STATEMENTS; n++)
        assert_int_equal(number(task, db, arena_printf(task->arena, "select %d", n).ptr), n);
    db_server_stats(server, &stats);
    before = stats.prepared;
    ended = 0;
    for (int i = 0; i < READERS; i++)
        spawn(read_many, (void *)(intptr_t)(i + READERS), 0);
    while (ended < READERS)
        assert_int_equal(task_sleep(task, 5), 0);
    db_server_stats(server, &stats);
    assert_int_equal(stats.errors, 0);
    assert_in_range(stats.prepared - before, 0, STATEMENTS / 4);
}

static void test_different(void **state)
{
    (void)state;
    ended = 0;
    run_with((struct db_config){.read_connections = 4}, different, NULL);
}

static int64_t pids[PIDS];
static unsigned pids_count;

static void read_pid(struct task *task, struct db *db, void *arg)
{
    (void)arg;
    for (int i = 0; i < ROUNDS; i++) {
        int64_t pid = number(task, db, "select pg_backend_pid()");
        unsigned at = 0;
        while (at < pids_count && pids[at] != pid)
            at++;
        if (at == pids_count && pids_count < PIDS)
            pids[pids_count++] = pid;
    }
    ended++;
}

static void same(struct task *task, struct db *db, void *arg)
{
    struct str reason;

    (void)db;
    (void)arg;
    assert_int_equal(db_server_wait(task, server, 5000, &reason), 0);
    for (int i = 0; i < READERS; i++)
        spawn(read_pid, NULL, 0);
    while (ended < READERS)
        assert_int_equal(task_sleep(task, 5), 0);
    assert_in_range(pids_count, 3, 8);
}

static void test_same(void **state)
{
    (void)state;
    ended = 0;
    run_with((struct db_config){.read_connections = 4}, same, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_different),
        cmocka_unit_test(test_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
