/* Rows as JSON by type, arrays, times, SQLSTATEs, and statement texts: without a loop. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit.h"

#include "db/conn_private.h"
#include "db/db.h"
#include "db/sqlstate_private.h"
#include "db/stmt_private.h"
#include "pg.h"

static struct arena *arena;
static PGconn *conn;

static int setup(void **state UNUSED)
{
    arena = arena_new(0);
    conn = PQconnectdb(pg_dsn());
    PQclear(PQexec(conn, "set timezone = 'UTC'"));
    PQclear(PQexec(conn, "set extra_float_digits = 1"));
    return PQstatus(conn) != CONNECTION_OK;
}

static int teardown(void **state UNUSED)
{
    PQfinish(conn);
    arena_free(arena);
    return 0;
}

static struct rows query(const char *expressions)
{
    char text[2048];

    snprintf(text, sizeof(text), "select %s", expressions);
    PGresult *result = PQexec(conn, text);
    if (PQresultStatus(result) != PGRES_TUPLES_OK)
        fail_msg("%s: %s", expressions, PQerrorMessage(conn));
    arena_defer(arena, (arena_fn)PQclear, result);
    return (struct rows){
        .result = result, .count = (size_t)PQntuples(result), .columns = (size_t)PQnfields(result)};
}

static void check(const char *expression, const char *json)
{
    struct rows rows = query(expression);
    struct strbuf out;
    struct jw w;

    strbuf_init(&out, arena, 65536);
    jw_init(&w, &out);
    rows_json_value(&w, &rows, 0, 0);
    assert_string_equal(strbuf_cstring(&out), json);
}

TEST_WITH(test_values, setup, teardown)
{
    static const struct {
        const char *expression;
        const char *json;
    } cases[] = {
        {"9223372036854775807::bigint", "9223372036854775807"},
        {"-5::smallint", "-5"},
        {"4294967295::oid", "4294967295"},
        {"null::bigint", "null"},
        {"true", "true"},
        {"false", "false"},
        {"0.1::float8", "0.1"},
        {"1e300::float8", "1e+300"},
        {"'NaN'::float8", "null"},
        {"'-Infinity'::float8", "null"},
        {"'Infinity'::float4", "null"},
        {"12345678901234567890.50::numeric", "12345678901234567890.50"},
        {"'NaN'::numeric", "null"},
        {"'Infinity'::numeric", "null"},
        {"'{\"a\":[1, null]}'::json", "{\"a\":[1,null]}"},
        {"'{\"b\":1}'::jsonb", "{\"b\":1}"},
        {"'[1, {\"a b\": \"c, \\\" d: \\\\\", \"e\":null} ]'::json",
         "[1,{\"a b\":\"c, \\\" d: \\\\\",\"e\":null}]"},
        {"'[\"\", \"\\\\\", \"\\\\\\\"\", {\"a\\\\\": \"b c\"}, \"\\\\\\\\\" ]'::json",
         "[\"\",\"\\\\\",\"\\\\\\\"\",{\"a\\\\\":\"b c\"},\"\\\\\\\\\"]"},
        {"'2026-01-31 12:00:00.123456+00'::timestamptz", "\"2026-01-31T12:00:00.123Z\""},
        {"'2026-01-31 12:00:00+00'::timestamptz", "\"2026-01-31T12:00:00.000Z\""},
        {"'2026-01-31 12:00:00.5+02'::timestamptz", "\"2026-01-31T10:00:00.500Z\""},
        {"'2026-01-31 12:00:00.07'::timestamp", "\"2026-01-31T12:00:00.070Z\""},
        {"'infinity'::timestamptz", "null"},
        {"'12026-01-31 12:00:00+00'::timestamptz", "\"12026-01-31 12:00:00+00\""},
        {"'0044-03-15 12:00:00+00 BC'::timestamptz", "\"0044-03-15 12:00:00+00 BC\""},
        {"'2026-01-31'::date", "\"2026-01-31\""},
        {"'-infinity'::date", "null"},
        {"'{1,NULL,-3}'::bigint[]", "[1,null,-3]"},
        {"'{}'::bigint[]", "[]"},
        {"'{1.5,NaN}'::float8[]", "[1.5,null]"},
        {"'{t,f}'::bool[]", "[true,false]"},
        {"array['a','b c','q\"u','back\\slash','NULL',null,'','{x,y}']",
         "[\"a\",\"b c\",\"q\\\"u\",\"back\\\\slash\",\"NULL\",null,\"\",\"{x,y}\"]"},
        {"array[[1,2],[3,4]]", "\"{{1,2},{3,4}}\""},
        {"'[5:6]={1,2}'::int[]", "\"[5:6]={1,2}\""},
        {"E'line\\n\\ttab \"q\" \\\\ \\x01 Zo\u00eb'::text",
         "\"line\\n\\ttab \\\"q\\\" \\\\ \\u0001 Zo\u00eb\""},
        {"''::text", "\"\""},
        {"'\\xff00'::bytea", "\"\\\\xff00\""},
        {"'00000000-0000-4000-8000-000000000001'::uuid",
         "\"00000000-0000-4000-8000-000000000001\""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        check(cases[i].expression, cases[i].json);
}

TEST_WITH(test_members, setup, teardown)
{
    struct rows rows = query("1 as id, 2 as _hidden, 'x' as \"we\"\"ird\", null::text as none");
    struct strbuf out;
    struct jw w;

    strbuf_init(&out, arena, 65536);
    jw_init(&w, &out);
    jw_obj(&w);
    rows_json_members(&w, &rows, 0);
    jw_obj_end(&w);
    assert_string_equal(strbuf_cstring(&out), "{\"id\":1,\"we\\\"ird\":\"x\",\"none\":null}");
    assert_int_equal(rows_column(&rows, "none"), 3);
    assert_string_equal(rows_column_name(&rows, 1), "_hidden");
}

TEST_WITH(test_readers, setup, teardown)
{
    struct rows rows = query(
        "'1969-12-31 23:59:59.999+00'::timestamptz, 'infinity'::timestamptz, null::timestamptz,"
        " '-12.5'::float8, ''::bytea, '{}'::text[], null::bytea, 'f'::bool");
    struct str *items;

    assert_true(rows_time(&rows, 0, 0) == -1);
    assert_true(rows_time(&rows, 0, 1) == INT64_MAX);
    assert_true(rows_time(&rows, 0, 2) == 0);
    assert_true(rows_f64(&rows, 0, 3) == -12.5);
    assert_int_equal(rows_bytes(arena, &rows, 0, 4).len, 0);
    assert_non_null(rows_bytes(arena, &rows, 0, 4).ptr);
    assert_int_equal(rows_strs(arena, &rows, 0, 5, &items), 0);
    assert_null(rows_bytes(arena, &rows, 0, 6).ptr);
    assert_false(rows_bool(&rows, 0, 7));
    assert_null(rows_str(&rows, 0, 2).ptr);
    assert_true(rows_null(&rows, 0, 2));
}

/* A kept row outlives the rows that it came with. */
TEST_WITH(test_kept, setup, teardown)
{
    struct rows rows = query("1 as id, null::text as none, '' as empty, repeat('x', 300) as long");
    struct arena *own = arena_new(0);
    struct rows kept;

    rows_copy_row(own, &rows, 0, &kept);
    arena_reset(arena);
    assert_int_equal(kept.count, 1);
    assert_int_equal(kept.columns, 4);
    assert_true(rows_has(&kept, "none"));
    assert_false(rows_has(&kept, "other"));
    assert_int_equal(rows_i64(&kept, 0, rows_column(&kept, "id")), 1);
    assert_true(rows_null(&kept, 0, 1));
    assert_false(rows_null(&kept, 0, 2));
    assert_int_equal(rows_str(&kept, 0, 2).len, 0);
    assert_int_equal(rows_str(&kept, 0, 3).len, 300);
    arena_free(own);
}

TEST_WITH(test_sqlstates, setup, teardown)
{
    assert_int_equal(sqlstate_result("23505"), DB_UNIQUE);
    assert_int_equal(sqlstate_result("22P02"), DB_CHECK);
    assert_int_equal(sqlstate_result("40P01"), DB_CONFLICT);
    assert_int_equal(sqlstate_result("55P03"), DB_LOCKED);
    assert_int_equal(sqlstate_result("08006"), DB_UNAVAILABLE);
    assert_int_equal(sqlstate_result("53300"), DB_UNAVAILABLE);
    assert_int_equal(sqlstate_result("53100"), DB_FULL);
    assert_int_equal(sqlstate_result("57P03"), DB_UNAVAILABLE);
    assert_int_equal(sqlstate_result("0A000"), DB_SCHEMA);
    assert_int_equal(sqlstate_result("42601"), DB_FAILED);
    assert_int_equal(sqlstate_result(NULL), DB_UNAVAILABLE);
    assert_true(str_is(sqlstate_constraint("duplicate key ... \"u_12\""), "u_12"));
    assert_true(str_is(sqlstate_constraint("on table e_3 violates \"fk_77\" and u_1"), "fk_77"));
    assert_true(str_is(sqlstate_constraint("ck_1"), "ck_1"));
    assert_null(sqlstate_constraint("menu_3 u_ u_x xu_3 u_3x").ptr);
    assert_null(sqlstate_constraint(NULL).ptr);
}

TEST_WITH(test_texts, setup, teardown)
{
    static struct stmt_cache cache; /* too large for a stack frame */
    struct sql sql = {.name = "a.very_long_statement_name_that_goes_on", .hash = UINT64_MAX};

    assert_string_equal(stmt_text(arena, "{p}.a, {p}.b {q}", 12), "p_12.a, p_12.b {q}");
    assert_string_equal(stmt_text(arena, "{p}", INT64_MAX), "p_9223372036854775807");
    assert_string_equal(stmt_text(arena, "", 1), "");
    assert_true(stmt_key(&sql, 1) != stmt_key(&sql, 2));

    stmt_cache_init(&cache);
    for (uint64_t key = 0; key < 3 * STMT_MAX; key++) {
        struct stmt *stmt = stmt_add(&cache, &sql, INT64_MAX, key);
        assert_true(strlen(stmt->name) < STMT_NAME_BYTES);
        assert_ptr_equal(stmt_find(&cache, key), stmt);
        assert_true(key == 0 ||
                    stmt_find(&cache, 0) != NULL); /* used in each round, so never evicted */
    }
    assert_int_equal(cache.count, STMT_MAX);
    assert_null(stmt_find(&cache, 1));
    unsigned seq = stmt_find(&cache, 0)->seq;
    stmt_drop(&cache, 0, seq + 1, true); /* another statement had this key: not dropped */
    assert_non_null(stmt_find(&cache, 0));
    stmt_drop(&cache, 0, seq, true);
    assert_null(stmt_find(&cache, 0));
    stmt_cache_done(&cache);
}
