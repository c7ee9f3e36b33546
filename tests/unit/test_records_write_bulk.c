/* Bulk creates, upserts and imports against a real PostgreSQL, and the splitting of import
 * files. */
#include "unit.h"

#include "records_write.h"

#include "records/import.h"

#define PRODUCTS_NOW "select count(*) from {p}.e_2"

/* --- create --- */

static void bulk_atomic(struct shop *shop)
{
    struct records_ctx ann = shop_ctx(shop, shop->ann);
    const struct bulk_mode all = {0};
    const char *text = bulk(
        ann,
        PRODUCTS,
        all,
        "[{\"sku\":\"B1\",\"price\":\"1.50\",\"meta\":{\"q\":\"a\\\"\\\\b\"},\"tags\":[1]},"
        "{\"sku\":\"B2\",\"flag\":true,\"day\":\"2024-01-01\",\"at\":\"2024-01-01T00:00:00Z\"}]");

    has(text, "{\"created\":2,\"updated\":0,\"failed\":0,\"results\":[{\"index\":0,\"id\":");
    assert_int_equal(
        count_of(shop,
                 "select count(*) from {p}.e_2 e join {p}.l_28 l on l.from_id = e.id where"
                 " f_22::text = '1.50' and f_29 ->> 'q' = 'a\"\\b' and f_23 = 1",
                 0,
                 0),
        1);
    assert_string_equal(
        bulk(
            ann, PRODUCTS, all, "[{\"sku\":\"B3\"},{\"sku\":1},{\"sku\":\"B4\",\"customer\":2},5]"),
        "!validation_failed items[1].sku:type_mismatch items[2].customer:foreign_key_violation"
        " items[3]:type_mismatch");
    assert_string_equal(
        bulk(ann,
             PRODUCTS,
             all,
             "[{\"sku\":\"B3\",\"code\":1},{\"sku\":\"B1\"},{\"sku\":\"B5\","
             "\"code\":1}]"),
        "!unique_violation items[1].sku:unique_violation items[2].code:unique_violation");
    assert_int_equal(count_of(shop, PRODUCTS_NOW, 0, 0), 2);
    assert_string_equal(bulk(ann, PRODUCTS, all, "{}"), "!validation_failed items:type_mismatch");
    has(bulk(ann, PRODUCTS, all, "[]"), "\"created\":0");
}

static void bulk_partial(struct shop *shop)
{
    struct records_ctx ann = shop_ctx(shop, shop->ann);
    const char *text = bulk(ann,
                            PRODUCTS,
                            (struct bulk_mode){.partial = true},
                            "[{\"sku\":\"P1\"},{\"nope\":1},{\"sku\":\"P1\"},{\"sku\":\"P2\","
                            "\"customer\":2},{\"sku\":\"P3\",\"tags\":[1]}]");

    has(text, "{\"created\":2,\"updated\":0,\"failed\":3,");
    has(text, "{\"index\":1,\"error\":{\"code\":\"validation_failed\"");
    has(text, "{\"field\":\"nope\",\"code\":\"unknown_field\"");
    has(text, "{\"index\":2,\"error\":{\"code\":\"unique_violation\"");
    has(text, "{\"field\":\"sku\",\"code\":\"unique_violation\"");
    has(text, "{\"index\":3,\"error\":{\"code\":\"validation_failed\"");
    has(text, "{\"field\":\"customer\",\"code\":\"foreign_key_violation\"");
    has(text, "{\"index\":4,\"id\":");
    /* A caller who sees every row gets the same errors, item by item. */
    text = bulk(shop_ctx(shop, 1),
                PRODUCTS,
                (struct bulk_mode){.partial = true},
                "[{\"sku\":\"P4\",\"customer\":999},{\"sku\":\"P5\",\"customer\":2}]");
    has(text, "\"created\":1,\"updated\":0,\"failed\":1");
    has(text, "{\"field\":\"customer\",\"code\":\"foreign_key_violation\"");
}

static void bulk_large(struct shop *shop)
{
    struct records_ctx boss = shop_ctx(shop, 1);
    struct strbuf items;

    strbuf_init(&items, shop->task->arena, (size_t)1 << 20);
    for (int i = 0; i <= 1000; i++)
        strbuf_printf(&items, "%c{\"sku\":\"L%d\"}", i == 0 ? '[' : ',', i);
    strbuf_char(&items, ']');
    assert_string_equal(bulk(boss, PRODUCTS, (struct bulk_mode){0}, strbuf_cstring(&items)),
                        "!validation_failed items:too_long");
    char *last = strstr(strbuf_cstring(&items), ",{\"sku\":\"L1000\"}");
    last[0] = ']';
    last[1] = '\0';
    has(bulk(boss, PRODUCTS, (struct bulk_mode){0}, items.ptr), "\"created\":1000");
}

static void bulks(struct task *task, struct directory *one, struct directory *two)
{
    struct shop shop;

    (void)two;
    shop_make(&shop, task, one);
    bulk_atomic(&shop);
    bulk_partial(&shop);
    bulk_large(&shop);
}

TEST(test_bulk)
{
    run(bulks);
}

/* --- upsert --- */

static void upsert_products(struct shop *shop)
{
    struct records_ctx ann = shop_ctx(shop, shop->ann);
    struct bulk_mode mode = {.upsert = true, .key = 21};
    int64_t id = made(ann, PRODUCTS, "{\"sku\":\"S1\",\"price\":5,\"qty\":9,\"tags\":[1]}");

    /* A member that is left out keeps its value, defaults apply to new records only, and the
     * same key twice means one record. */
    has(bulk(ann,
             PRODUCTS,
             mode,
             "[{\"sku\":\"S1\",\"price\":6},{\"sku\":\"S2\"},{\"sku\":\"S2\",\"tags\":[1]}]"),
        "\"created\":1,\"updated\":2,\"failed\":0");
    has(put(ann, PRODUCTS, id, "{}", 2), "\"price\":6,\"qty\":9");
    has(put(ann, PRODUCTS, id, "{}", 2), "\"tags\":[1]");
    assert_string_equal(bulk(ann, PRODUCTS, mode, "[{\"sku\":\"S3\"},{\"price\":1}]"),
                        "!validation_failed items[1].sku:required");
    assert_string_equal(
        bulk(ann, PRODUCTS, mode, "[{\"sku\":\"S3\",\"code\":5},{\"sku\":\"S1\",\"code\":5}]"),
        "!unique_violation items[1].code:unique_violation");
    assert_int_equal(count_of(shop, PRODUCTS_NOW, 0, 0), 2);
    mode.partial = true;
    has(bulk(ann, PRODUCTS, mode, "[{\"sku\":\"S3\",\"code\":5},{\"sku\":\"S1\",\"code\":5}]"),
        "\"created\":1,\"updated\":0,\"failed\":1");
    mode.key = 22;
    assert_string_equal(bulk(ann, PRODUCTS, mode, "[]"),
                        "!validation_failed on_conflict:validation_failed");
    mode.key = 0;
    assert_string_equal(bulk(ann, PRODUCTS, mode, "[]"),
                        "!validation_failed on_conflict:out_of_range");
}

/* For a record that the caller may not change, an upsert reports only that the value is taken. */
static void upsert_rules(struct shop *shop)
{
    struct records_ctx ann = shop_ctx(shop, shop->ann);
    struct bulk_mode mode = {.upsert = true, .key = 12, .partial = true};
    const char *text =
        bulk(ann,
             CUSTOMERS,
             mode,
             "[{\"name\":\"Own\",\"email\":\"a@x\"},{\"name\":\"Spy\",\"email\":\"b@x\"}]");

    has(text, "\"created\":0,\"updated\":1,\"failed\":1");
    has(text, "{\"field\":\"email\",\"code\":\"unique_violation\"");
    assert_int_equal(count_of(shop, "select count(*) from {p}.e_1 where f_11 = 'Spy'", 0, 0), 0);
    exec(shop->task,
         &shop->project->db,
         "insert into {p}.record_locks values (1, 1, '\\x01', 7, now() + interval '1 minute'),"
         " (1, 2, '\\x01', 7, now() + interval '1 minute')");
    mode.partial = false;
    assert_string_equal(bulk(ann, CUSTOMERS, mode, "[{\"name\":\"x\",\"email\":\"a@x\"}]"),
                        "!locked");
    assert_string_equal(bulk(ann, CUSTOMERS, mode, "[{\"name\":\"x\",\"email\":\"b@x\"}]"),
                        "!unique_violation items[0].email:unique_violation");
    exec(shop->task,
         &shop->project->db,
         "delete from {p}.role_permissions where entity_id = 1 and permission = 'update'");
    shop_reload(shop);
    ann = shop_ctx(shop, shop->ann);
    assert_string_equal(bulk(ann, CUSTOMERS, mode, "[]"), "!forbidden");
}

static void upserts(struct task *task, struct directory *one, struct directory *two)
{
    struct shop shop;

    (void)two;
    shop_make(&shop, task, one);
    upsert_products(&shop);
    upsert_rules(&shop);
}

TEST(test_upsert)
{
    run(upserts);
}

#define RIVAL_ROUNDS 20

/* A deadlock ends the side that waited first. Here that is the bulk, which is repeated without
 * an error. On a busy machine the deadlock may end the rival transaction; then both are run
 * again. */
struct rivalry {
    const struct shop *shop;
    bool has_locked; /* the transaction has locked V2 */
    bool is_bulk_repeated;
};

static int rival_upsert(struct task *task, void *arg)
{
    const struct rivalry *rivalry = arg;
    struct shop shop = *rivalry->shop;

    shop.task = task;
    while (!rivalry->has_locked)
        assert_int_equal(task_sleep(task, 1), 0);
    has(bulk(shop_ctx(&shop, 1),
             PRODUCTS,
             (struct bulk_mode){.upsert = true, .key = 21},
             "[{\"sku\":\"V1\",\"qty\":5},{\"sku\":\"V2\",\"qty\":5}]"),
        "\"updated\":2,\"failed\":0");
    return 0;
}

static int rival_transaction(struct task *task, void *arg)
{
    struct rivalry *rivalry = arg;
    struct shop shop = *rivalry->shop;
    struct sql last = make_sql("update {p}.e_2 set f_22 = 1 where f_21 = 'V1'", SQL_EXEC);
    struct db *tx;

    shop.task = task;
    assert_int_equal(db_begin(task, &shop.project->db, &tx), 0);
    exec(task, tx, "update {p}.e_2 set f_22 = 1 where f_21 = 'V2'");
    rivalry->has_locked = true;
    while (count_of(&shop, "select count(*) from pg_locks where not granted", 0, 0) ==
           0) /* until the upsert holds V1 and waits for V2 */
        assert_int_equal(task_sleep(task, 5), 0);
    last.writes = true;
    int rc = db_query(task, tx, &last, NULL, 0, NULL);
    rivalry->is_bulk_repeated = rc == 0;
    if (rc == 0)
        return db_commit(task, tx);
    assert_int_equal(rc, DB_CONFLICT);
    db_rollback(tx);
    return 0;
}

static void rivals(struct task *task, struct directory *one, struct directory *two)
{
    struct shop shop;

    (void)two;
    shop_make(&shop, task, one);
    struct rivalry rivalry = {.shop = &shop};
    has(bulk(shop_ctx(&shop, 1),
             PRODUCTS,
             (struct bulk_mode){0},
             "[{\"sku\":\"V1\"},{\"sku\":\"V2\"}]"),
        "\"created\":2");
    for (int round = 0; round < RIVAL_ROUNDS && !rivalry.is_bulk_repeated; round++) {
        rivalry.has_locked = false;
        struct task_call calls[] = {{rival_transaction, &rivalry, 0}, {rival_upsert, &rivalry, 0}};
        assert_int_equal(task_all(task, calls, 2), 0);
    }
    assert_true(rivalry.is_bulk_repeated);
    assert_int_equal(
        count_of(&shop, "select count(*) from {p}.e_2 where f_22 = 1 and f_23 = 5", 0, 0), 2);
}

TEST(test_rivals)
{
    run(rivals);
}

/* --- import --- */

/* Imports the text in chunks of `step` bytes. Returns "done failed errors", or the failure. */
static const char *import_text(struct records_ctx *ctx,
                               int64_t entity,
                               enum import_format format,
                               const char *text,
                               size_t step)
{
    struct import *import =
        records_import_new(ctx, ENTITY(ctx, entity), &(struct import_config){.format = format});
    struct str rest = str_from(text);
    int rc = 0;

    ctx->error = (struct records_error){0};
    while (rc == 0 && rest.len > 0) {
        size_t take = rest.len < step ? rest.len : step;
        rc = records_import_feed(import, (struct str){rest.ptr, take});
        rest = (struct str){rest.ptr + take, rest.len - take};
    }
    if (rc == 0)
        rc = records_import_finish(import);
    if (rc == RECORDS_FAILED)
        return failure(ctx);
    assert_int_equal(rc, 0);
    OUT(ctx, out);
    const struct import_report *report = records_import_report(import);
    strbuf_printf(&out, "%lld %lld ", (long long)report->done, (long long)report->failed);
    records_import_errors(report, &out);
    return strbuf_cstring(&out);
}

static void import_csv(struct shop *shop)
{
    struct records_ctx ann = shop_ctx(shop, shop->ann);
    const char *csv = "\xef\xbb\xbfid,sku,price,meta,tags,flag,created_at\r\n"
                      "7,C1,1.5,\"{\"\"a\"\":\"\"x, y\"\"}\",1;2,yes,2024-01-01\r\n"
                      "\n"
                      ",\"C\n2\",,,1,,\n"
                      ",C3\n"
                      ",'=C4,,,\"[1]\",no,\n"
                      ",C5,\xff,,,,\n"
                      ",C\xc3\xa4,x,,,,";
    const char *expected = "2 4 [{\"row\":1,\"code\":\"validation_failed\",\"detail\":\"tags: ";

    for (size_t step = 1; step < 4; step++) {
        exec(shop->task, &shop->project->db, "delete from {p}.e_2");
        const char *report = import_text(&ann, PRODUCTS, IMPORT_CSV, csv, step);
        has(report, expected);
        has(report, "{\"row\":3,\"code\":\"validation_failed\",\"detail\":\"the row has 2 cells");
        has(report, "{\"row\":5,\"code\":\"validation_failed\",\"detail\":\"the row is not UTF-8");
        has(report, "{\"row\":6,\"code\":\"validation_failed\",\"detail\":\"price: ");
        assert_int_equal(
            count_of(shop, "select count(*) from {p}.e_2 where f_21 in (e'C\\n2', '=C4')", 0, 0),
            2);
    }
    assert_int_equal(count_of(shop, "select count(*) from {p}.l_28", 0, 0), 2);
}

static void import_csv_broken(struct shop *shop)
{
    struct records_ctx ann = shop_ctx(shop, shop->ann);
    static const char *const files[] = {"\"sku\nA\n", "\"sku\"B\nA\n", "", "\xef\xbbsku\n", "\n\n"};

    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        assert_string_equal(import_text(&ann, PRODUCTS, IMPORT_CSV, files[i], 2),
                            "!validation_failed");
    assert_string_equal(import_text(&ann, PRODUCTS, IMPORT_CSV, "sku,nope,sku\nA,1,2\n", 9),
                        "!validation_failed nope:unknown_field sku:validation_failed");
    assert_string_equal(import_text(&ann, CUSTOMERS, IMPORT_CSV, "name,note\nA,1\n", 9),
                        "!validation_failed note:unknown_field");
    assert_string_equal(import_text(&ann, PRODUCTS, IMPORT_CSV, "sku,price", 9), "0 0 []");
}

/* Malformed rows, and the rows after them. */
static void import_csv_rows(struct shop *shop)
{
    struct records_ctx ann = shop_ctx(shop, shop->ann);
    static const struct {
        const char *file, *report;
    } cases[] = {
        {"sku\nA\"B\nC", "2 0 []"},
        {"sku\n\"A\"B\nC\n",
         "1 1 [{\"row\":1,\"code\":\"validation_failed\",\"detail\":\"text follows"},
        {"sku\n\"A",
         "0 1 [{\"row\":1,\"code\":\"validation_failed\",\"detail\":\"a quote is not closed"},
        {"sku\n\"A\nB\n\"C\nD\"x\n\"E\nF\"\nG\n\"",
         "4 3 [{\"row\":1,\"code\":\"validation_failed\",\"detail\":\"text follows a closing "
         "quote\"},{\"row\":3"},
    };

    for (size_t step = 1; step < 30; step += 3)
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
            exec(shop->task, &shop->project->db, "delete from {p}.e_2");
            has(import_text(&ann, PRODUCTS, IMPORT_CSV, cases[i].file, step), cases[i].report);
        }
}

static void import_json(struct shop *shop)
{
    struct records_ctx ann = shop_ctx(shop, shop->ann);
    const char *list = " [ {\"id\":1,\"sku\":\"J1\",\"meta\":{\"x\":\"]}\\\"[\"}} ,\n"
                       "{\"sku\":\"J2\",\"sku\":\"J3\"},{\"sku\":\"J1\"},{\"sku\":\"J4\"}]\n";
    const char *lines = "{\"sku\":\"K1\"}\r\n\n{nope}\n5\n{\"sku\":\"K2\",\"version\":3}";
    static const char *const broken[] = {
        "{}", "[{}", "[{},]", "[5]", "[{}{}]", "[] x", "", "[{\"a\":\"]}\"", "x"};

    exec(shop->task, &shop->project->db, "delete from {p}.e_2");
    for (size_t step = 1; step < 100; step += 33) {
        const char *report = import_text(&ann, PRODUCTS, IMPORT_JSON, list, step);
        has(report, "2 2 [{\"row\":2,\"code\":\"invalid_json\"");
        has(report, "{\"row\":3,\"code\":\"unique_violation\"");
        report = import_text(&ann, PRODUCTS, IMPORT_JSONL, lines, step);
        has(report, "2 2 [{\"row\":2,\"code\":\"invalid_json\"");
        has(report, "{\"row\":3,\"code\":\"validation_failed\"");
        exec(shop->task, &shop->project->db, "delete from {p}.e_2");
    }
    for (size_t i = 0; i < ARRAY_LEN(broken); i++)
        assert_string_equal(import_text(&ann, PRODUCTS, IMPORT_JSON, broken[i], 3),
                            "!validation_failed");
    assert_string_equal(import_text(&ann, PRODUCTS, IMPORT_JSON, "[]", 3), "0 0 []");
}

/* An import of many chunks, with more errors than are stored, and a model that changes in
 * between. */
static void import_long(struct shop *shop)
{
    struct records_ctx ann = shop_ctx(shop, shop->ann);
    struct strbuf text;

    strbuf_init(&text, shop->task->arena, (size_t)4 << 20);
    strbuf_str(&text, STR("sku,qty\n"));
    for (int i = 0; i < 1500; i++)
        strbuf_printf(&text, "N%d,%s\n", i, i % 10 == 0 ? "x" : "1");
    size_t held = arena_held_bytes(shop->task->arena);
    struct import *import = records_import_new(
        &ann, ENTITY(&ann, PRODUCTS), &(struct import_config){.format = IMPORT_CSV});
    struct str all = strbuf_view(&text);
    assert_int_equal(records_import_feed(import, (struct str){all.ptr, all.len / 2}), 0);
    exec(shop->task, &shop->project->db, "alter table {p}.e_2 drop column f_29");
    exec(shop->task, &shop->project->db, "delete from {p}.fields where id = 29");
    exec(shop->task, &shop->project->db, "update {p}.meta set model_version = model_version + 1");
    assert_int_equal(
        records_import_feed(import, (struct str){all.ptr + all.len / 2, all.len - all.len / 2}), 0);
    assert_int_equal(records_import_finish(import), 0);
    assert_int_equal(records_import_report(import)->done, 1350);
    assert_int_equal(records_import_report(import)->failed, 150);
    assert_int_equal(records_import_report(import)->error_count, IMPORT_ERRORS_MAX);
    assert_true(arena_held_bytes(shop->task->arena) - held < (size_t)512 * 1024);
}

static void imports(struct task *task, struct directory *one, struct directory *two)
{
    struct shop shop;

    (void)two;
    shop_make(&shop, task, one);
    import_csv(&shop);
    import_csv_broken(&shop);
    import_csv_rows(&shop);
    import_json(&shop);
    import_long(&shop);
}

TEST(test_import)
{
    run(imports);
}
