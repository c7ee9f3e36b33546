/* Answers: the one form of problems, headers that a status requires, rows as bodies, path ids and
 * queries. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit.h"
#undef fail /* here it is a function of app/reply.h */

#include <libpq-fe.h>
#include <string.h>

#include "app/reply.h"
#include "catalog/problem.h"
#include "http/resp.h"

static struct arena *arena;

static int setup(void **state UNUSED)
{
    arena = arena_new(0);
    return 0;
}

static int teardown(void **state UNUSED)
{
    arena_free(arena);
    return 0;
}

static struct req *new_req(const char *query)
{
    static const struct route route = {.id = "groups_list", .query = page_query};
    struct req *r = ARENA_NEW(arena, r);

    r->scope = ARENA_NEW(arena, r->scope);
    r->task.arena = arena;
    r->route = &route;
    r->path = STR("/org/demo/groups");
    r->query = str_from(query);
    r->request_id = STR("req-1");
    strbuf_init(&r->body, arena, 1 << 20);
    strbuf_init(&r->extra_headers, arena, 1 << 16);
    return r;
}

static void assert_text(struct str actual, const char *expected)
{
    assert_string_equal(arena_cstr(arena, actual), expected);
}

static json_t *body_of(struct req *r)
{
    json_t *root = json_loadb(r->body.ptr, r->body.len, JSON_REJECT_DUPLICATES, NULL);

    assert_non_null(root);
    arena_defer(arena, (arena_fn)json_decref, root);
    return root;
}

static const char *member(json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));

    return text ? text : "";
}

TEST_WITH(test_problem_shape, setup, teardown)
{
    struct req *r = new_req("");

    assert_int_equal(fail(r, PROBLEM_NOT_FOUND, NULL), 404);
    assert_text(strbuf_view(&r->body),
                "{\"type\":\"about:blank\",\"title\":\"Not found\",\"status\":404,"
                "\"code\":\"not_found\",\"detail\":\"Not found\",\"request_id\":\"req-1\"}");
    assert_text(r->content_type, "application/problem+json");
    assert_int_equal(r->status, 404);
    assert_true(r->no_store);
    assert_string_equal(r->error_code, "not_found");
    assert_int_equal(r->extra_headers.len, 0);

    /* A detail is a format string, and its arguments are escaped. */
    assert_int_equal(fail(r, PROBLEM_CONFLICT, "%s \"%d\"\n\x01", "a", 7), 409);
    assert_string_equal(member(body_of(r), "detail"), "a \"7\"\n\x01");

    r = new_req("");
    r->request_id = STR_NONE;
    assert_int_equal(fail(r, PROBLEM_INTERNAL, NULL), 500);
    assert_null(json_object_get(body_of(r), "request_id"));
}

/* The advice names only parameters that the route has. */
TEST_WITH(test_too_large_advises, setup, teardown)
{
    static const struct query_param searched[] = {
        {.name = "q"}, {.name = "pageSize"}, {.name = "fields"}, {0}};
    static const struct query_param listed[] = {
        {.name = "limit"}, {.name = "fields"}, {.name = "expand"}, {0}};
    static const struct {
        struct route route;
        const char *ways;
    } cases[] = {
        {{.path = "/search", .query = searched},
         ": request fewer results (pageSize), fewer fields (fields)."},
        {{.path = "/entities/{entity}/items", .query = listed},
         ": request fewer records (limit), fewer fields (fields), fewer relations (expand), or "
         "use the export."},
        {{.path = "/entities/{entity}/public/items/{id}", .query = listed + 1},
         ": request fewer fields (fields), fewer relations (expand)."},
        {{.path = "/charts/{id}/data"}, "."},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct req *r = new_req("");
        r->route = &cases[i].route;
        assert_int_equal(fail_too_large(r), 400);
        struct str detail = arena_printf(arena, "The answer would be too large%s", cases[i].ways);
        assert_string_equal(member(body_of(r), "detail"), arena_cstr(arena, detail));
        r->scope->db_failure = 0;
        assert_int_equal(fail_db(r, DB_TOO_LARGE), 400);
        assert_string_equal(member(body_of(r), "detail"), arena_cstr(arena, detail));
    }
}

/* A problem replaces all that the handler has written, also a body that overflowed. */
TEST_WITH(test_problem_replaces, setup, teardown)
{
    struct req *r = new_req("");
    struct jw w = resp_json(r);

    jw_obj(&w);
    JW_CSTR(&w, "half", "written");
    assert_int_equal(fail(r, PROBLEM_TIMEOUT, NULL), 504);
    assert_int_equal(json_object_size(body_of(r)), 6);

    r->body.overflow = true;
    assert_int_equal(fail(r, PROBLEM_INTERNAL, NULL), 500);
    assert_false(r->body.overflow);
    assert_string_equal(member(body_of(r), "code"), "internal");
}

TEST_WITH(test_every_code, setup, teardown)
{
    for (enum problem i = PROBLEM_NONE + 1; i < PROBLEM_COUNT; i++) {
        const struct problem_info *problem = problem_info(i);
        if (problem->status == 0)
            continue;
        struct req *r = new_req("");
        assert_int_equal(fail(r, i, NULL), problem->status);
        json_t *body = body_of(r);
        assert_string_equal(member(body, "code"), problem->code);
        assert_string_equal(member(body, "title"), problem->title);
        assert_string_equal(member(body, "detail"), problem->title);
        assert_int_equal(json_integer_value(json_object_get(body, "status")), problem->status);
    }
}

static void assert_header(enum problem problem, const char *expected)
{
    struct req *r = new_req("");

    (void)fail(r, problem, NULL);
    assert_text(strbuf_view(&r->extra_headers), expected);
}

TEST_WITH(test_status_headers, setup, teardown)
{
    assert_header(PROBLEM_UNAUTHORIZED, "WWW-Authenticate: Bearer\r\n");
    assert_header(PROBLEM_INVALID_CREDENTIALS, "WWW-Authenticate: Bearer\r\n");
    assert_header(PROBLEM_TOKEN_EXPIRED, "WWW-Authenticate: Bearer error=\"invalid_token\"\r\n");
    assert_header(PROBLEM_TOKEN_INVALID, "WWW-Authenticate: Bearer error=\"invalid_token\"\r\n");
    assert_header(PROBLEM_DEPENDENCY_UNAVAILABLE, "Retry-After: 1\r\n");
    assert_header(PROBLEM_FORBIDDEN, "");
}

TEST_WITH(test_problem_put, setup, teardown)
{
    struct req *r = new_req("");

    problem_put(r, 405, PROBLEM_METHOD_NOT_ALLOWED, "Only GET.");
    assert_int_equal(r->status, 405);
    assert_string_equal(member(body_of(r), "detail"), "Only GET.");
    problem_put(r, 503, PROBLEM_SERVICE_DRAINING, NULL);
    assert_string_equal(member(body_of(r), "detail"), "Service is shutting down");
    assert_text(strbuf_view(&r->extra_headers), "Retry-After: 1\r\n");
}

TEST_WITH(test_findings, setup, teardown)
{
    struct req *r = new_req("");
    struct schema_errors *errors = ARENA_NEW(arena, errors);

    assert_int_equal(fail_field(r, "role_ids[2]", PROBLEM_OUT_OF_RANGE, "at most %d", 9), 400);
    assert_text(strbuf_view(&r->body),
                "{\"type\":\"about:blank\",\"title\":\"Unprocessable request\",\"status\":400,"
                "\"code\":\"validation_failed\",\"detail\":\"1 field is invalid\","
                "\"request_id\":\"req-1\",\"errors\":[{\"field\":\"role_ids[2]\","
                "\"code\":\"out_of_range\",\"message\":\"at most 9\"}]}");

    /* All errors are counted, and as many are shown as fit. */
    for (size_t i = 0; i < 1000; i++)
        schema_error_add(arena, errors, STR("name"), PROBLEM_REQUIRED, "is required");
    assert_int_equal(fail_fields(r, errors), 400);
    assert_int_equal(json_array_size(json_object_get(body_of(r), "errors")),
                     ARRAY_LEN(errors->items));
    assert_string_equal(member(body_of(r), "detail"),
                        arena_printf(arena, "%zu fields are invalid", errors->count).ptr);

    assert_int_equal(fail_with(r, PROBLEM_UNIQUE_VIOLATION, STR("Taken."), errors), 409);
    assert_string_equal(member(body_of(r), "detail"), "Taken.");
}

TEST_WITH(test_database, setup, teardown)
{
    static const struct {
        int rc;
        int status;
        const char *code;
    } expected[] = {
        {DB_UNIQUE, 409, "unique_violation"},
        {DB_FOREIGN_KEY, 409, "foreign_key_violation"},
        {DB_NOT_NULL, 400, "validation_failed"},
        {DB_CHECK, 400, "validation_failed"},
        {DB_CONFLICT, 503, "dependency_unavailable"},
        {DB_LOCKED, 503, "dependency_unavailable"},
        {DB_UNAVAILABLE, 503, "dependency_unavailable"},
        {DB_SCHEMA, 503, "dependency_unavailable"},
        {DB_UNKNOWN, 503, "outcome_unknown"},
        {DB_TIMEOUT, 504, "timeout"},
        {DB_FAILED, 500, "internal"},
    };

    for (size_t i = 0; i < ARRAY_LEN(expected); i++) {
        struct req *r = new_req("");
        assert_int_equal(fail_db(r, expected[i].rc), expected[i].status);
        assert_string_equal(member(body_of(r), "code"), expected[i].code);
    }
}

/* Returns a row as libpq delivers it: id 7, a name that needs escapes, a column only for the
 * handler. */
static struct rows one_row(void)
{
    static char id[] = "id", name[] = "name", hidden[] = "_owner";
    static char seven[] = "7", text[] = "a\"b", one[] = "1";
    PGresAttDesc columns[] = {
        {.name = id, .typid = 20}, {.name = name, .typid = 25}, {.name = hidden, .typid = 20}};
    PGresult *result = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK);

    assert_true(PQsetResultAttrs(result, 3, columns));
    assert_true(PQsetvalue(result, 0, 0, seven, 1));
    assert_true(PQsetvalue(result, 0, 1, text, 3));
    assert_true(PQsetvalue(result, 0, 2, one, 1));
    arena_defer(arena, (arena_fn)PQclear, result);
    return (struct rows){.result = result, .count = 1, .columns = 3};
}

TEST_WITH(test_rows, setup, teardown)
{
    struct rows rows = one_row();
    struct req *r = new_req("");

    assert_int_equal(reply_row(r, 200, &rows), 200);
    assert_text(strbuf_view(&r->body), "{\"id\":7,\"name\":\"a\\\"b\"}");
    assert_text(r->content_type, "application/json");
    assert_int_equal(r->extra_headers.len, 0);

    r = new_req("");
    assert_int_equal(reply_created(r, &rows), 201);
    assert_int_equal(r->status, 201);
    assert_text(strbuf_view(&r->extra_headers), "Location: /org/demo/groups/7\r\n");

    assert_int_equal(reply_empty(r, 204), 204);
    assert_int_equal(r->body.len, 0);
    assert_null(r->content_type.ptr);
}

static int id_status(const char *text, int64_t *ret_id)
{
    static const struct str names[] = {{"id", 2}};
    struct req *r = new_req("");

    r->params[0] = str_from(text);
    r->param_names = names;
    r->param_count = 1;
    return req_id(r, "id", ret_id);
}

/* An impossible id is answered like an id that does not exist. */
TEST_WITH(test_ids, setup, teardown)
{
    static const char *const wrong[] = {
        "", "0", "-1", "+1", " 1", "1 ", "1.0", "1e3", "0x1", "9223372036854775808", "abc"};
    int64_t id = -5;

    for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
        assert_int_equal(id_status(wrong[i], &id), 404);
    assert_int_equal(id, -5);
    assert_int_equal(id_status("9223372036854775807", &id), 0);
    assert_true(id == INT64_MAX);
}

static void assert_query(const char *query, const char *code, const char *field)
{
    struct req *r = new_req(query);
    struct page page;

    assert_int_equal(req_page(r, &page), 400);
    json_t *body = body_of(r);
    assert_string_equal(member(body, "code"), code);
    assert_string_equal(member(json_array_get(json_object_get(body, "errors"), 0), "field"), field);
}

TEST_WITH(test_queries, setup, teardown)
{
    struct req *r = new_req("page=3&limit=500&sort=-name&count=false");
    struct page page;

    assert_int_equal(req_page(r, &page), 0);
    assert_int_equal(page_offset(&page), 1000);
    assert_false(page.count);
    assert_query("nope=1", "unknown_parameter", "nope");
    assert_query("page[x]=1", "invalid_query", "page"); /* page takes no brackets */
    assert_query("page=1&page=2", "invalid_query", "page");
    assert_query("page=0", "invalid_query", "page");
    assert_query("limit=501", "invalid_query", "limit");
    assert_query("limit=x", "invalid_query", "limit");
    assert_query("count=yes", "invalid_query", "count");
    assert_query("order=up", "invalid_query", "order");
    assert_query("page=9007199254740992", "invalid_query", "page");
    assert_query("page=%zz", "invalid_query", "");

    /* A route without a list of parameters accepts none. */
    static const struct route bare = {.id = "groups_get"};
    const struct query *query;
    r = new_req("a=1");
    r->route = &bare;
    assert_int_equal(req_query(r, &query), 400);
}
