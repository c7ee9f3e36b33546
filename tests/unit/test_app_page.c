/* A list endpoint against PostgreSQL: the envelope, the order, the last page, statements in
 * tasks. */
#include "unit.h"

#include "db_test.h"
#undef fail /* cmocka's; here it is a function of app/reply.h */

#include "app/reply.h"

struct list_test {
    struct req req;
    struct scope scope;
    const struct sql *sql;
    bool over;
};

static void list_run(struct task *task, void *arg)
{
    struct list_test *test = arg;

    (void)task;
    int rc = reply_page(&test->req, "id", test->sql, PARAMS(P_I64(5)));
    assert_int_equal(rc, test->req.status);
    test->over = true;
}

/* Returns the answer of the list to a query string: "<status> <body>". */
static const char *list(struct task *task, struct db *db, const char *query)
{
    static const struct route route = {.id = "numbers_list", .query = page_query};
    struct sql sql = make_sql("select n as id, 'n' || (10 - n) as name, n as _own"
                              " from generate_series(1, $1::bigint) n",
                              SQL_PAGE);
    struct list_test *test = ARENA_NEW(task->arena, test);
    struct req *r = &test->req;

    sql.sort = "id,name";
    test->sql = &sql;
    r->task.arena = task->arena;
    r->route = &route;
    r->query = str_from(query);
    r->scope = &test->scope;
    r->scope->db = db;
    strbuf_init(&r->body, task->arena, 1 << 20);
    strbuf_init(&r->extra_headers, task->arena, 1 << 16);
    task_start(&r->task, list_run, test);
    while (!test->over)
        assert_int_equal(task_sleep(task, 1), 0);
    return arena_printf(task->arena, "%d %.*s", r->status, (int)r->body.len, r->body.ptr).ptr;
}

static void envelope(struct task *task, struct db *db, void *arg)
{
    (void)arg;
    assert_string_equal(list(task, db, "limit=2"),
                        "200 {\"items\":[{\"id\":1,\"name\":\"n9\"},{\"id\":2,\"name\":\"n8\"}],"
                        "\"total_items\":5,\"page\":1,\"page_size\":2,\"has_next_page\":true}");
    assert_string_equal(list(task, db, "limit=2&page=3"),
                        "200 {\"items\":[{\"id\":5,\"name\":\"n5\"}],"
                        "\"total_items\":5,\"page\":3,\"page_size\":2,\"has_next_page\":false}");
    assert_string_equal(list(task, db, "limit=5&page=2&count=false"),
                        "200 {\"items\":[],"
                        "\"total_items\":-1,\"page\":2,\"page_size\":5,\"has_next_page\":false}");
    assert_non_null(strstr(list(task, db, "limit=1&sort=name"), "[{\"id\":5,\"name\":\"n5\"}]"));
    assert_non_null(strstr(list(task, db, "limit=1&sort=-id"), "[{\"id\":5,"));
    assert_non_null(strstr(list(task, db, "limit=1&sort=id&order=desc"), "[{\"id\":5,"));
}

/* The order is one of the statement's own visible columns. */
static void order(struct task *task, struct db *db, void *arg)
{
    static const char *const wrong[] = {
        "sort=_own", "sort=--id", "sort=-", "sort=id,name", "sort=id%20desc", "sort=ID"};

    (void)arg;
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        const char *answer = list(task, db, wrong[i]);
        assert_memory_equal(answer, "400 ", 4);
        assert_non_null(strstr(answer, "\"code\":\"invalid_query\""));
        assert_non_null(strstr(answer, "this list sorts by id,name"));
    }
}

TEST(test_envelope)
{
    run(envelope);
}

TEST(test_order)
{
    run(order);
}
