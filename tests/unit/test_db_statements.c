/* Statements with named parameters and columns, as scripts/sqlgen generates them from
 * db_statements.sql. */
#include "db_statements_sql.h"
#include "db_test.h"
#include "unit.h"

/* --- values --- */

static void all_types(struct task *task, struct db *db, void *arg)
{
    const int64_t ids[] = {INT64_MIN, 0, INT64_MAX};
    const struct str names[] = {STR("a b"), STR_NONE, STR("")};
    struct rows rows;

    (void)arg;
    assert_int_equal(db_query(task,
                              db,
                              SQL_ST_ALL(.names_none = sql_strs(NULL, 0),
                                         .ids_none = sql_i64s(NULL, 0),
                                         .names = sql_strs(names, 3),
                                         .ids = sql_i64s(ids, 3),
                                         .bytes = ((struct str){"\0\xff\\x", 4}),
                                         .at_none = 0,
                                         .at = 1769860800123,
                                         .sum = STR("12345678901234567890.50"),
                                         .doc = STR("{\"a\": [1]}"),
                                         .words_none = STR_NONE,
                                         .words = STR("Zoë 'quoted' \\ text"),
                                         .real_none = NO_F64,
                                         .real = 0.1,
                                         .flag_none = NO_BOOL,
                                         .flag = true,
                                         .whole = -5,
                                         .big_none = NO_I64,
                                         .big = INT64_MIN),
                              &rows),
                     0);
    struct sql_st_all_row row = sql_st_all_row(task->arena, &rows, 0);
    assert_true(row.big == INT64_MIN && row.whole == -5 && row.flag && row.real == 0.1);
    assert_false(row.big_none.set || row.flag_none.set || row.real_none.set);
    assert_true(!row.ids_none.items && !row.names_none.items);
    assert_true(str_is(row.words, "Zoë 'quoted' \\ text") && !row.words_none.ptr);
    assert_true(str_is(row.doc, "{\"a\": [1]}") && str_is(row.sum, "12345678901234567890.50"));
    assert_true(row.at == 1769860800123 && row.at_none == 0);
    assert_true(str_eq(row.bytes, (struct str){"\0\xff\\x", 4}));
    assert_int_equal(row.ids.count, 3);
    assert_memory_equal(row.ids.items, ids, sizeof(ids));
    assert_int_equal(row.names.count, 3);
    for (size_t i = 0; i < 3; i++)
        assert_true(str_eq(row.names.items[i], names[i]) &&
                    !row.names.items[i].ptr == !names[i].ptr);
}

/* Nullable parameters that are set: 0 and false differ from null. */
static void given(struct task *task, struct db *db, void *arg)
{
    const int64_t id = 1;
    const struct str name = STR("a");
    struct rows rows;

    (void)arg;
    assert_int_equal(db_query(task,
                              db,
                              SQL_ST_ALL(.big = 0,
                                         .big_none = some_i64(0),
                                         .whole = 0,
                                         .flag = false,
                                         .flag_none = some_bool(false),
                                         .real = 0,
                                         .real_none = some_f64(0),
                                         .words = STR(""),
                                         .words_none = STR(""),
                                         .doc = STR("null"),
                                         .sum = STR("0"),
                                         .at = 0,
                                         .at_none = 1,
                                         .bytes = STR(""),
                                         .ids = sql_i64s(NULL, 0),
                                         .names = sql_strs(NULL, 0),
                                         .ids_none = sql_i64s(&id, 0),
                                         .names_none = sql_strs(&name, 0)),
                              &rows),
                     0);
    struct sql_st_all_row row = sql_st_all_row(task->arena, &rows, 0);
    assert_true(row.big_none.set && row.flag_none.set && row.real_none.set);
    assert_true(row.big_none.value == 0 && !row.flag_none.value && row.real_none.value == 0);
    assert_true(row.words_none.ptr && row.words_none.len == 0 && row.at_none == 1);
    assert_int_equal(row.ids.count + row.names.count + row.bytes.len, 0);
    assert_true(row.ids_none.items && row.names_none.items);
    assert_int_equal(row.ids_none.count + row.names_none.count, 0);
    assert_true(some_id(7).set && !some_id(0).set);
}

/* --- kinds of calls --- */

static void kinds(struct task *task, struct db *db, void *arg)
{
    struct rows rows;

    (void)arg;
    assert_int_equal(db_query(task, db, SQL_ST_AGAIN(.first = STR("a"), .second = STR("b")), &rows),
                     0);
    assert_true(str_is(sql_st_again_row(&rows, 0).joined, "bab"));
    assert_int_equal(db_query(task, db, SQL_ST_NONE(), &rows), 0);
    assert_int_equal(sql_st_none_row(&rows, 0).id, 7);
    assert_int_equal(db_query(task, db, SQL_ST_MANY(.last = 3), &rows), 0);
    assert_int_equal(rows.count, 3);
    for (size_t i = 0; i < rows.count; i++)
        assert_int_equal(sql_st_many_row(&rows, i).n, i + 1);
}

static void binary(struct task *task, struct db *db, void *arg)
{
    const int64_t bigs[] = {INT64_MIN, -1, 0, 255, INT64_MAX};
    const int64_t wholes[] = {INT32_MIN, -1, 0, 256, INT32_MAX};
    struct rows rows;

    (void)arg;
    for (size_t i = 0; i < ARRAY_LEN(bigs); i++) {
        assert_int_equal(db_query(task,
                                  db,
                                  SQL_ST_BINARY(.big = bigs[i],
                                                .whole = wholes[i],
                                                .flag = i % 2 == 0,
                                                .words = STR("Zoë"),
                                                .bytes = ((struct str){"\0\xff\\x", 4})),
                                  &rows),
                         0);
        assert_int_equal(rows.count, 2); /* the second arrived alone and was added to the first */
        struct sql_st_binary_row row = sql_st_binary_row(task->arena, &rows, 0);
        assert_true(row.big.value == bigs[i] && row.whole.value == wholes[i]);
        assert_true(row.small.value == -3 && row.flag.value == (i % 2 == 0));
        assert_true(str_is(row.words, "Zoë"));
        assert_true(str_eq(row.bytes, (struct str){"\0\xff\\x", 4}));
        row = sql_st_binary_row(task->arena, &rows, 1);
        assert_false(row.big.set || row.whole.set || row.small.set || row.flag.set);
        assert_true(row.words.ptr == NULL && row.bytes.ptr == NULL);
    }
}

/* Two statements share one row struct, in any order of their columns. */
static void alike(struct task *task, struct db *db, void *arg)
{
    const struct sql *const two[] = {&SQL_ST_ONE, &SQL_ST_OTHER};

    (void)arg;
    for (size_t i = 0; i < ARRAY_LEN(two); i++) {
        struct rows rows;
        assert_int_equal(
            db_query(task, db, two[i], SQL_ST_KEY_ARGS(.name = STR("n"), .id = 1), &rows), 0);
        struct sql_st_item_row row = sql_st_item_row(&rows, 0);
        assert_true(row.id == 1 + (int64_t)i && str_is(row.name, "n"));
    }
}

static void batches(struct task *task, struct db *db, void *arg)
{
    struct db_call calls[] = {
        db_call(SQL_ST_NONE()),
        db_call(SQL_ST_ONE(.id = 3, .name = STR_NONE)),
        {0},
    };

    (void)arg;
    for (int64_t i = 0; i < 2; i++) /* the call is sent after the block that creates it has ended */
        calls[2] = db_call_new(task->arena, SQL_ST_MANY(.last = i + 1));
    assert_int_equal(db_batch(task, db, calls, ARRAY_LEN(calls), NULL), 0);
    assert_int_equal(sql_st_none_row(&calls[0].rows, 0).id, 7);
    assert_true(sql_st_item_row(&calls[1].rows, 0).id == 3);
    assert_null(sql_st_item_row(&calls[1].rows, 0).name.ptr);
    assert_int_equal(calls[2].rows.count, 2);
}

static int piece(const struct rows *rows, void *arg)
{
    *(int64_t *)arg = sql_st_many_row(rows, 1).n;
    return 0;
}

/* Rows of pages, of pieces and kept rows are read with the row struct of their statement. A count
 * has no such struct. */
static void pages(struct task *task, struct db *db, void *arg)
{
    int64_t second = 0;
    const struct db_chunk whole = {.bytes = 4096, .timeout_ms = 1000, .fn = piece, .arg = &second};
    const struct db_param params[] = {P_I64(9), P_I64(2), P_I64(3)};
    struct rows rows;
    struct rows kept;

    (void)arg;
    const struct sql *page = db_sql_page(task->arena, &SQL_ST_PAGE, "n", true, STR(""));
    assert_int_equal(db_query(task, db, page, params, 3, &rows), 0);
    assert_int_equal(rows.count, 2);
    assert_int_equal(sql_st_page_row(&rows, 0).n, 6);
    assert_null(db_sql_count(task->arena, &SQL_ST_PAGE)->row);
    assert_int_equal(db_chunk(task, db, SQL_ST_MANY(.last = 2), &whole), 0);
    assert_int_equal(second, 2);
    const struct db_param walked[] = {P_I64(9), P_I64(4), P_I64(2), P_I64(1)};
    assert_int_equal(db_query(task, db, &SQL_ST_WALK, walked, 4, &rows), 0);
    assert_int_equal(sql_st_walk_row(&rows, 0).n, 6);
    rows_copy_row(task->arena, &rows, 0, &kept);
    assert_int_equal(sql_st_walk_row(&kept, 0).n, 6);
    assert_int_equal(db_query(task, db, SQL_ST_WALK_COUNT(.last = 9), &rows), 0);
}

/* --- refused calls --- */

static void wrong_rows(struct task *task, struct db *db, void *arg)
{
    struct rows rows;

    (void)arg;
    assert_int_equal(db_query(task, db, SQL_ST_NONE(), &rows), 0);
    assert_true(rows.shape->hash != sql_st_many_shape.hash);
    struct sql dynamic = make_sql("select $1::bigint", SQL_ONE);
    assert_int_equal(db_query(task, db, &dynamic, PARAMS(P_I64(1)), &rows), 0);
    assert_null(rows.shape);
}

/* Whole words decide whether a statement has a lasting effect, not the ends of longer words. */
static void words(struct task *task, struct db *db, void *arg)
{
    static const struct {
        const char *text;
        unsigned lasts;
    } cases[] = {
        {"select count(*) from (select 1 as can_update , 2 as can_delete , 3 as may_merge ) rights",
         0},
        {"select 1 as points_into , 2 as last_insert ", 0},
        {"select count(*) from (select n from noted for key share) kept", 1},
        {"select count(*) from (select n from noted for no key update) kept", 1},
        {"with gone as (delete from noted returning n) select count(*) from gone", 1},
    };

    (void)arg;
    pg_exec("create table noted (n bigint); insert into noted values (1)");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        unsigned before = task->lasting_count;
        assert_int_equal(number(task, db, cases[i].text), 1);
        assert_int_equal(task->lasting_count - before, cases[i].lasts);
    }
}

#define STATEMENT_TEST(fn)                                                                         \
    TEST(test_##fn)                                                                                \
    {                                                                                              \
        run(fn);                                                                                   \
    }
STATEMENT_TEST(all_types)
STATEMENT_TEST(given)
STATEMENT_TEST(kinds)
STATEMENT_TEST(binary)
STATEMENT_TEST(alike)
STATEMENT_TEST(batches)
STATEMENT_TEST(pages)
STATEMENT_TEST(wrong_rows)
STATEMENT_TEST(words)
