#pragma once
/* Tests of db/ run in tasks on their own loop, against the server of pg.h. */
#include "deadline.h"

#include <errno.h>

#include "db/db.h"
#include "log/log.h"
#include "pg.h"

static struct db_server *server;
static unsigned running;

/* A task that frees its arena at its end. */
struct test_task {
    struct task task;
    void (*fn)(struct task *task, struct db *db, void *arg);
    void *arg;
    int64_t schema;
};

UNUSED static struct sql make_sql(const char *text, enum sql_kind kind)
{
    struct sql sql = {.name = "test.statement", .text = text, .kind = kind};

    sql.hash = str_hash(str_from(text));
    for (const char *at = strchr(text, '$'); at; at = strchr(at + 1, '$'))
        if ((unsigned)atoi(at + 1) > sql.arity)
            sql.arity = (unsigned)atoi(at + 1);
    return sql;
}

static void test_task_run(struct task *task, void *arg)
{
    struct test_task *test = arg;
    struct db db = {.server = server, .schema = test->schema};
    struct arena *arena = task->arena;

    test->fn(task, &db, test->arg);
    /* The arena's cleanups (rollbacks) need the server. */
    arena_reset(arena);
    if (--running == 0) {
        db_server_free(server);
        server = NULL;
        loop_stop();
    }
}

static struct test_task *tests_started[4096];
static unsigned tests_count;

/* Starts one more task, concurrent with the running ones. */
UNUSED static struct task *
spawn(void (*fn)(struct task *, struct db *, void *), void *arg, int64_t schema)
{
    struct test_task *test = calloc(1, sizeof(*test));

    test->task.arena = arena_new(0);
    test->fn = fn;
    test->arg = arg;
    test->schema = schema;
    tests_started[tests_count++] = test;
    running++;
    task_start(&test->task, test_task_run, test);
    return &test->task;
}

/* Runs fn in a task, with a server of `config` (dsn filled in), until all tasks have ended. */
UNUSED static void
run_with(struct db_config config, void (*fn)(struct task *, struct db *, void *), void *arg)
{
    config.dsn = config.dsn ? config.dsn : pg_dsn();
    loop_init();
    server = db_server_new("test", &config);
    spawn(fn, arg, 0);
    loop_run();
    for (unsigned i = 0; i < tests_count; i++) {
        arena_free(tests_started[i]->task.arena);
        free(tests_started[i]);
    }
    tests_count = 0;
    assert_int_equal(running, 0);
    assert_int_equal(task_count(), 0);
}

UNUSED static void run(void (*fn)(struct task *, struct db *, void *))
{
    run_with((struct db_config){PATIENT}, fn, NULL);
}

/* Runs one statement and ignores its rows. */
UNUSED static int exec(struct task *task, struct db *db, const char *text)
{
    struct sql sql = make_sql(text, SQL_EXEC);
    return db_query(task, db, &sql, NULL, 0, NULL);
}

/* Returns the first column of the first row as a number. */
UNUSED static int64_t number(struct task *task, struct db *db, const char *text)
{
    struct sql sql = make_sql(text, SQL_ONE);
    struct rows rows;

    assert_int_equal(db_query(task, db, &sql, NULL, 0, &rows), 0);
    return rows_i64(&rows, 0, 0);
}
