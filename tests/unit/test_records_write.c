/* Creating, changing and deleting single records against a real PostgreSQL; rules, locks,
 * events. */
#include "unit.h"

#include "records_write.h"

/* NOLINTNEXTLINE(bugprone-suspicious-include): a daemon has no library */
#include "items/items_query.c"

/* Checks that the answer contains every part. */
#define NAMES(answer, ...)                                                                         \
    do {                                                                                           \
        const char *const text_ = (answer);                                                        \
        const char *const parts[] = {__VA_ARGS__};                                                 \
        for (size_t part = 0; part < ARRAY_LEN(parts); part++)                                     \
            has(text_, parts[part]);                                                               \
    } while (0)

/* --- create --- */

static void create_values(struct shop *shop)
{
    struct records_ctx ann = shop_ctx(shop, shop->ann);
    int64_t id;

    exec(shop->task,
         &shop->project->db,
         arena_printf(shop->task->arena,
                      "insert into {p}.files (id, key, filename, mime_type, kind, size, sha256,"
                      " created_by) values (4, 'k', 'a.png', 'image/png', 'image', 1, '', %lld)",
                      (long long)shop->ann)
             .ptr);
    const char *text =
        post(ann,
             PRODUCTS,
             "{\"sku\":\"A1\",\"price\":19.90,\"day\":\"2024-02-29\",\"at\":"
             "\"2026-01-31T12:00:00+02:00\",\"customer\":1,\"tags\":[1],\"meta\":{\"k\":[1]},"
             "\"flag\":false,\"picture\":4,\"code\":9223372036854775807}",
             &id);

    NAMES(text,
          "\"sku\":\"A1\"",
          "\"price\":19.90,",
          "\"qty\":1,",
          "\"status\":\"open\"",
          "\"day\":\"2024-02-29\"",
          "\"at\":\"2026-01-31T10:00:00.000Z\"",
          "\"customer\":1,",
          "\"tags\":[1]",
          "\"meta\":{\"k\": [1]}",
          "\"flag\":false",
          "\"rate\":null",
          "\"code\":9223372036854775807");
    has(text, arena_printf(ann.task->arena, "\"created_by\":%lld", (long long)shop->ann).ptr);
    /* null replaces a default, and a secret is stored only sealed. */
    NAMES(make(ann, PRODUCTS, "{\"sku\":\"A2\",\"qty\":null}"), "\"qty\":null", "\"tags\":[]");
    NAMES(make(ann, CUSTOMERS, "{\"name\":\"Cy\",\"pin\":\"1234\"}"), "\"pin\":\"********\"");
    assert_int_equal(
        count_of(
            shop, "select count(*) from {p}.e_1 where f_13 is not null and f_13 <> '1234'", 0, 0),
        1);
}

static void create_refusals(struct shop *shop)
{
    struct records_ctx ann = shop_ctx(shop, shop->ann);

    assert_string_equal(make(ann,
                             PRODUCTS,
                             "{\"id\":5,\"version\":2,\"created_by\":1,\"nope\":1,\"rate\":1,"
                             "\"price\":-1,\"qty\":\"x\",\"status\":\"lost\"}"),
                        "!validation_failed id:read_only version:read_only created_by:read_only "
                        "nope:unknown_field rate:read_only sku:required price:out_of_range "
                        "qty:type_mismatch status:out_of_range");
    assert_string_equal(make(ann, PRODUCTS, "[]"), "!validation_failed :type_mismatch");
    /* A field that the caller may not see is an unknown field. */
    assert_string_equal(make(ann, CUSTOMERS, "{\"name\":\"x\",\"note\":\"y\"}"),
                        "!validation_failed note:unknown_field");
    assert_string_equal(make(ann, CUSTOMERS, "{\"name\":\"x\",\"email\":\"a@x\"}"),
                        "!unique_violation email:unique_violation");
}

/* A hidden record is refused like a record that does not exist (A2). */
static void create_references(struct shop *shop)
{
    struct records_ctx ann = shop_ctx(shop, shop->ann);
    struct records_ctx boss = shop_ctx(shop, 1);
    const char *refused = "!validation_failed customer:foreign_key_violation";

    assert_string_equal(make(ann, PRODUCTS, "{\"sku\":\"R1\",\"customer\":2}"), refused);
    assert_string_equal(make(ann, PRODUCTS, "{\"sku\":\"R1\",\"customer\":999}"), refused);
    assert_string_equal(make(boss, PRODUCTS, "{\"sku\":\"R1\",\"customer\":999}"), refused);
    refused = "!validation_failed tags:foreign_key_violation";
    assert_string_equal(make(ann, PRODUCTS, "{\"sku\":\"R1\",\"tags\":[1,2]}"), refused);
    assert_string_equal(make(ann, PRODUCTS, "{\"sku\":\"R1\",\"tags\":[1,999]}"), refused);
    assert_string_equal(make(boss, PRODUCTS, "{\"sku\":\"R1\",\"tags\":[999]}"), refused);
    NAMES(make(boss, PRODUCTS, "{\"sku\":\"R1\",\"customer\":2,\"tags\":[3,1,2]}"),
          "\"customer\":2",
          "\"tags\":[3,1,2]");
    /* The permission to write products does not open customers either. */
    exec(shop->task,
         &shop->project->db,
         "delete from {p}.role_permissions where entity_id = 1 and permission = 'read'");
    shop_reload(shop);
    ann = shop_ctx(shop, shop->ann);
    assert_string_equal(make(ann, PRODUCTS, "{\"sku\":\"R2\",\"customer\":1}"),
                        "!validation_failed customer:foreign_key_violation");
}

static void creates(struct task *task, struct directory *one, struct directory *two)
{
    struct shop shop;

    (void)two;
    shop_make(&shop, task, one);
    create_values(&shop);
    create_refusals(&shop);
    create_references(&shop);
}

TEST(test_create)
{
    run(creates);
}

/* --- update --- */

static void update_merges(struct shop *shop)
{
    struct records_ctx ann = shop_ctx(shop, shop->ann);
    int64_t id = made(ann, PRODUCTS, "{\"sku\":\"U1\",\"price\":5,\"meta\":{},\"tags\":[1]}");

    NAMES(
        put(ann, PRODUCTS, id, "{\"price\":6}", 0), "\"price\":6,", "\"meta\":{}", "\"tags\":[1]");
    NAMES(
        put(ann, PRODUCTS, id, "{\"price\":null,\"tags\":[]}", 2), "\"price\":null", "\"tags\":[]");
    assert_int_equal(count_of(shop, "select version from {p}.e_2 where id = %lld", id, 0), 3);
    assert_string_equal(put(ann, PRODUCTS, id, "{\"price\":7}", 2), "!precondition_failed");
    assert_string_equal(put(ann, PRODUCTS, id, "{\"sku\":null}", 0),
                        "!validation_failed sku:required");
    assert_string_equal(put(ann, PRODUCTS, id, "{\"updated_at\":null,\"rate\":1,\"x\":1}", 0),
                        "!validation_failed updated_at:read_only rate:read_only x:unknown_field");
    assert_string_equal(put(ann, PRODUCTS, 999, "{\"price\":7}", 0), "!not_found");
    assert_string_equal(put(ann, PRODUCTS, 999, "{\"tags\":[1]}", 0), "!not_found");
    /* An update that changes nothing still checks version and record. */
    NAMES(put(ann, PRODUCTS, id, "{}", 3), "\"sku\":\"U1\"");
    assert_string_equal(put(ann, PRODUCTS, id, "{}", 2), "!precondition_failed");
    assert_string_equal(put(ann, PRODUCTS, 999, "{}", 0), "!not_found");
    assert_int_equal(count_of(shop, "select version from {p}.e_2 where id = %lld", id, 0), 3);
    (void)made(ann, PRODUCTS, "{\"sku\":\"U2\"}");
    assert_string_equal(put(ann, PRODUCTS, id, "{\"sku\":\"U2\"}", 0),
                        "!unique_violation sku:unique_violation");
    assert_string_equal(put(ann, PRODUCTS, id, "{\"customer\":2}", 0),
                        "!validation_failed customer:foreign_key_violation");
}

static void update_rules(struct shop *shop)
{
    struct records_ctx ann = shop_ctx(shop, shop->ann);
    struct records_ctx bob = shop_ctx(shop, shop->bob);
    struct records_ctx boss = shop_ctx(shop, 1);
    struct db *db = &shop->project->db;

    assert_string_equal(put(bob, CUSTOMERS, 1, "{\"name\":\"x\"}", 0), "!not_found");
    assert_string_equal(put(bob, CUSTOMERS, 1, "{}", 0), "!not_found");
    exec(shop->task,
         db,
         arena_printf(shop->task->arena,
                      "insert into {p}.record_grants values (1, 1, 1, %lld, false, false)",
                      (long long)shop->bob)
             .ptr);
    shop_reload(shop);
    bob = shop_ctx(shop, shop->bob);
    assert_string_equal(put(bob, CUSTOMERS, 1, "{\"name\":\"x\"}", 0), "!forbidden");
    assert_string_equal(put(bob, CUSTOMERS, 1, "{}", 0), "!forbidden");
    exec(shop->task, db, "update {p}.record_grants set can_update = true");
    NAMES(put(bob, CUSTOMERS, 1, "{\"name\":\"Bea\"}", 0), "\"name\":\"Bea\"");
    NAMES(put(boss, CUSTOMERS, 1, "{\"note\":\"n\"}", 0), "\"note\":\"n\"");
    assert_null(strstr(put(ann, CUSTOMERS, 1, "{}", 0), "note"));
    /* A masked secret changes nothing, null clears it. */
    NAMES(put(ann, CUSTOMERS, 1, "{\"pin\":\"77\"}", 0), "\"pin\":\"********\"");
    NAMES(put(ann, CUSTOMERS, 1, "{\"pin\":\"********\",\"name\":\"A\"}", 0), "\"pin\":\"****");
    NAMES(put(ann, CUSTOMERS, 1, "{\"pin\":null}", 0), "\"pin\":null");
}

/* Links to records that the caller does not see stay when the caller replaces the list. */
static void update_links(struct shop *shop)
{
    struct records_ctx ann = shop_ctx(shop, shop->ann);
    struct records_ctx boss = shop_ctx(shop, 1);
    int64_t id = made(boss, PRODUCTS, "{\"sku\":\"L1\",\"tags\":[1,2,3]}");

    NAMES(put(ann, PRODUCTS, id, "{}", 0), "\"tags\":[1]");
    NAMES(put(ann, PRODUCTS, id, "{\"tags\":[]}", 0), "\"tags\":[]");
    NAMES(put(boss, PRODUCTS, id, "{}", 0), "\"tags\":[2,3]");
    NAMES(put(boss, PRODUCTS, id, "{\"tags\":[3,2]}", 0), "\"tags\":[3,2]");
    assert_int_equal(count_of(shop, "select version from {p}.e_2 where id = %lld", id, 0), 3);
}

static void updates(struct task *task, struct directory *one, struct directory *two)
{
    struct shop shop;

    (void)two;
    shop_make(&shop, task, one);
    update_merges(&shop);
    update_rules(&shop);
    update_links(&shop);
}

TEST(test_update)
{
    run(updates);
}

/* --- delete --- */

static void deletes(struct task *task, struct directory *one, struct directory *two)
{
    struct shop shop;

    (void)two;
    shop_make(&shop, task, one);
    struct records_ctx ann = shop_ctx(&shop, shop.ann);
    struct records_ctx bob = shop_ctx(&shop, shop.bob);
    struct db *db = &shop.project->db;
    int64_t id = made(ann, PRODUCTS, "{\"sku\":\"D1\",\"customer\":1,\"tags\":[1]}");

    assert_string_equal(drop(ann, CUSTOMERS, 1, 0), "!foreign_key_violation");
    assert_string_equal(drop(bob, CUSTOMERS, 1, 0), "!not_found");
    exec(task,
         db,
         arena_printf(task->arena,
                      "insert into {p}.record_grants values (1, 1, 1, %lld, true, false)",
                      (long long)shop.bob)
             .ptr);
    shop_reload(&shop);
    bob = shop_ctx(&shop, shop.bob);
    assert_string_equal(drop(bob, CUSTOMERS, 1, 0), "!forbidden");
    assert_string_equal(drop(ann, PRODUCTS, id, 9), "!precondition_failed");
    assert_string_equal(drop(ann, PRODUCTS, id, 1), "gone");
    assert_string_equal(drop(ann, PRODUCTS, id, 0), "!not_found");
    assert_int_equal(count_of(&shop, "select count(*) from {p}.l_28", 0, 0), 0);
    assert_string_equal(drop(ann, CUSTOMERS, 1, 0), "gone");
    assert_int_equal(count_of(&shop, "select count(*) from {p}.record_grants", 0, 0), 0);
}

TEST(test_delete)
{
    run(deletes);
}

/* --- delete many --- */

static const char *
drop_ids(struct records_ctx ctx, int64_t entity, const int64_t *ids, size_t count)
{
    OUT(&ctx, out);
    int rc = records_delete_many(&ctx, ENTITY(&ctx, entity), ids, count, NULL, 500, &out);
    return outcome(&ctx, rc, &out);
}

static const char *
drop_filter(struct records_ctx ctx, int64_t entity, const char *filter, int64_t max)
{
    struct query query;
    const char *reason;

    OUT(&ctx, out);
    assert_int_equal(query_parse(ctx.task->arena, str_from(filter), &query, &reason), 0);
    const struct records_filter wanted = items_filter_read(ctx.task->arena, &query);
    int rc = records_delete_many(&ctx, ENTITY(&ctx, entity), NULL, 0, &wanted, max, &out);
    return outcome(&ctx, rc, &out);
}

static void delete_many(struct task *task, struct directory *one, struct directory *two)
{
    struct shop shop;

    (void)two;
    shop_make(&shop, task, one);
    struct records_ctx ann = shop_ctx(&shop, shop.ann);
    struct records_ctx boss = shop_ctx(&shop, 1);
    const int64_t ids[] = {2, 99, 1};

    for (int i = 0; i < 6; i++)
        (void)made(
            ann, PRODUCTS, arena_printf(task->arena, "{\"sku\":\"M%d\",\"qty\":%d}", i, i).ptr);
    assert_string_equal(drop_filter(ann, PRODUCTS, "filter[qty][gte]=2", 3), "!too_many_rows");
    assert_string_equal(drop_filter(ann, PRODUCTS, "page=1", 3),
                        "!validation_failed filter:required");
    assert_string_equal(drop_filter(ann, CUSTOMERS, "filter[note]=1", 3),
                        "!invalid_query filter[note]:unknown_field");
    assert_string_equal(drop_filter(ann, PRODUCTS, "filter[qty][gte]=2", 4),
                        "{\"deleted\":4,\"not_found\":[]}");
    assert_string_equal(drop_filter(ann, PRODUCTS, "filter[qty]=77", 4),
                        "{\"deleted\":0,\"not_found\":[]}");
    /* Hidden rows count as not found, by id or by filter. */
    assert_string_equal(drop_filter(ann, TAGS, "filter[label][in]=b,c", 10),
                        "{\"deleted\":0,\"not_found\":[]}");
    assert_string_equal(drop_ids(ann, CUSTOMERS, ids, 3), "{\"deleted\":1,\"not_found\":[2,99]}");
    exec(task,
         &shop.project->db,
         "insert into {p}.record_locks values (1, 2, '\\x01', 7, now() + interval '1 minute')");
    assert_string_equal(drop_ids(boss, CUSTOMERS, ids, 1), "!locked");
    exec(task, &shop.project->db, "update {p}.record_locks set expires_at = now()");
    assert_string_equal(drop_ids(boss, CUSTOMERS, ids, 1), "{\"deleted\":1,\"not_found\":[]}");
    assert_int_equal(count_of(&shop, "select count(*) from {p}.record_locks", 0, 0), 0);
}

TEST(test_delete_many)
{
    run(delete_many);
}

/* --- locks --- */

static const char *lock(struct records_ctx ctx, int64_t id, int64_t ttl)
{
    OUT(&ctx, out);
    int rc = records_lock(&ctx, ENTITY(&ctx, CUSTOMERS), id, ttl, &out);
    return outcome(&ctx, rc, &out);
}

static const char *unlock(struct records_ctx ctx, int64_t id)
{
    OUT(&ctx, out);
    int rc = records_unlock(&ctx, ENTITY(&ctx, CUSTOMERS), id);
    return outcome(&ctx, rc, &out)[0] == '!' ? failure(&ctx) : "free";
}

static struct str token_of(struct arena *arena, const char *answer)
{
    return jr_str(body_of(arena, answer), "lock_token");
}

static void locks(struct task *task, struct directory *one, struct directory *two)
{
    struct shop shop;

    (void)two;
    shop_make(&shop, task, one);
    struct records_ctx ann = shop_ctx(&shop, shop.ann);
    struct records_ctx bob = shop_ctx(&shop, shop.bob);
    struct records_ctx boss = shop_ctx(&shop, 1);
    struct records_ctx holder = ann;

    assert_string_equal(lock(bob, 1, 60), "!not_found");
    assert_string_equal(lock(ann, 1, 3601), "!validation_failed ttl_seconds:out_of_range");
    assert_string_equal(lock(ann, 1, -1), "!validation_failed ttl_seconds:out_of_range");
    assert_string_equal(unlock(ann, 1), "!not_locked");
    assert_string_equal(unlock(bob, 1), "!not_found");
    const char *answer = lock(ann, 1, 60);
    holder.lock_token = token_of(task->arena, answer);
    assert_int_equal(holder.lock_token.len, 43);
    has(answer, arena_printf(task->arena, "\"locked_by\":%lld", (long long)shop.ann).ptr);
    has(answer, "\"expires_at\":\"2");
    /* No caller writes without the token, not even an administrator. */
    assert_string_equal(lock(boss, 1, 60), "!locked");
    assert_string_equal(put(boss, CUSTOMERS, 1, "{\"name\":\"x\"}", 0), "!locked");
    assert_string_equal(put(ann, CUSTOMERS, 1, "{\"name\":\"x\"}", 0), "!locked");
    assert_string_equal(put(bob, CUSTOMERS, 1, "{\"name\":\"x\"}", 0), "!not_found");
    assert_string_equal(drop(boss, CUSTOMERS, 1, 0), "!locked");
    has(put(holder, CUSTOMERS, 1, "{\"name\":\"y\"}", 0), "\"name\":\"y\"");
    /* The holder extends the same lock. */
    assert_true(str_eq(token_of(task->arena, lock(holder, 1, 3600)), holder.lock_token));
    assert_int_equal(count_of(&shop,
                              "select count(*) from {p}.record_locks where expires_at >"
                              " now() + interval '50 minutes'",
                              0,
                              0),
                     1);
    struct records_ctx wrong = ann;
    wrong.lock_token = STR("wrong");
    assert_string_equal(unlock(wrong, 1), "!lock_token_invalid");
    assert_string_equal(unlock(ann, 1), "!locked");
    assert_string_equal(unlock(holder, 1), "free");
    assert_string_equal(unlock(holder, 1), "!not_locked");
    (void)lock(ann, 1, 60);
    assert_string_equal(unlock(boss, 1), "free");
    /* A token that was never issued does not become the token of a new lock. A lock that has
     * ended blocks no writes. */
    assert_false(str_eq(token_of(task->arena, lock(wrong, 1, 60)), STR("wrong")));
    exec(task, &shop.project->db, "update {p}.record_locks set expires_at = now()");
    has(put(boss, CUSTOMERS, 1, "{\"name\":\"z\"}", 0), "\"name\":\"z\"");
    assert_string_equal(unlock(ann, 1), "!not_locked");
    (void)token_of(task->arena, lock(boss, 1, 0));
}

TEST(test_locks)
{
    run(locks);
}

/* --- events --- */

static int64_t outbox(const struct shop *shop, const char *condition)
{
    return number(
        shop->task,
        &shop->project->db,
        arena_printf(shop->task->arena, "select count(*) from {p}.outbox where %s", condition).ptr);
}

/* An event has the whole record, also fields that the writer may not see. A change that failed
 * has no event. */
static void events(struct task *task, struct directory *one, struct directory *two)
{
    struct shop shop;

    (void)two;
    shop_make(&shop, task, one);
    exec(task,
         &shop.project->db,
         "insert into {p}.event_listeners select 'search', e, v from generate_series(1, 2) e,"
         " unnest('{EntityCreated,EntityUpdated,EntityDeleted}'::text[]) v");
    exec(task, &shop.project->db, "update {p}.e_1 set f_14 = 'hidden' where id = 1");
    shop_reload(&shop);
    struct records_ctx ann = shop_ctx(&shop, shop.ann);
    ann.depth = 3;
    int64_t id = made(ann, PRODUCTS, "{\"sku\":\"E1\",\"tags\":[1]}");
    assert_int_equal(outbox(&shop,
                            "event = 'EntityCreated' and payload ->> 'sku' = 'E1' and"
                            " payload -> 'tags' = '[1]' and depth = 3 and entity_id = 2"),
                     1);
    has(put(ann, CUSTOMERS, 1, "{\"name\":\"Ev\",\"pin\":\"1\"}", 0), "Ev");
    assert_int_equal(outbox(&shop,
                            "event = 'EntityUpdated' and payload ->> 'note' = 'hidden' and"
                            " payload ->> 'name' = 'Ev' and payload ->> 'pin' = '********'"),
                     1);
    assert_string_equal(put(ann, PRODUCTS, id, "{\"price\":1}", 7), "!precondition_failed");
    assert_string_equal(make(ann, PRODUCTS, "{\"sku\":\"E1\",\"tags\":[1]}"),
                        "!unique_violation sku:unique_violation");
    assert_int_equal(outbox(&shop, "true"), 2);
    assert_string_equal(drop(ann, PRODUCTS, id, 0), "gone");
    assert_int_equal(outbox(&shop,
                            "event = 'EntityDeleted' and payload ->> 'sku' = 'E1' and"
                            " payload -> 'tags' = '[1]'"),
                     1);
    has(bulk(ann,
             PRODUCTS,
             (struct bulk_mode){0},
             "[{\"sku\":\"E2\"},{\"sku\":\"E3\",\"tags\":[1]}]"),
        "\"created\":2");
    has(bulk(ann,
             PRODUCTS,
             (struct bulk_mode){.upsert = true, .key = 21},
             "[{\"sku\":\"E3\",\"qty\":2},{\"sku\":\"E4\"}]"),
        "\"created\":1,\"updated\":1");
    assert_int_equal(outbox(&shop, "event = 'EntityCreated' and payload ->> 'sku' like 'E%'"), 4);
    assert_int_equal(outbox(&shop, "event = 'EntityUpdated' and payload ->> 'qty' = '2'"), 1);
    assert_string_equal(drop_filter(ann, PRODUCTS, "filter[sku][starts_with]=E", 10),
                        "{\"deleted\":3,\"not_found\":[]}");
    assert_int_equal(outbox(&shop, "event = 'EntityDeleted'"), 4);
}

TEST(test_events)
{
    run(events);
}

/* --- open transactions and changed models --- */

/* Writes in the caller's transaction are committed or rolled back with the transaction. */
static void transactions(struct task *task, struct directory *one, struct directory *two)
{
    struct shop shop;
    struct db *tx;

    (void)two;
    shop_make(&shop, task, one);
    struct records_ctx ann = shop_ctx(&shop, shop.ann);
    assert_int_equal(db_begin(task, &shop.project->db, &tx), 0);
    ann.db = tx;
    int64_t id = made(ann, PRODUCTS, "{\"sku\":\"T1\",\"customer\":1,\"tags\":[1]}");
    has(put(ann, PRODUCTS, id, "{\"price\":1,\"tags\":[]}", 0), "\"price\":1,");
    has(bulk(ann,
             PRODUCTS,
             (struct bulk_mode){.partial = true},
             "[{\"sku\":\"T1\"},{\"sku\":\"T2\"}]"),
        "\"created\":1,\"updated\":0,\"failed\":1");
    assert_int_equal(count_of(&shop, "select count(*) from {p}.e_2", 0, 0), 0);
    assert_int_equal(db_commit(task, tx), 0);
    assert_int_equal(count_of(&shop, "select count(*) from {p}.e_2", 0, 0), 2);
    assert_int_equal(db_begin(task, &shop.project->db, &tx), 0);
    ann.db = tx;
    assert_string_equal(drop(ann, PRODUCTS, id, 0), "gone");
    db_rollback(tx);
    assert_int_equal(count_of(&shop, "select count(*) from {p}.e_2", 0, 0), 2);
}

TEST(test_transactions)
{
    run(transactions);
}

/* The model changes while requests with the old model are under way (D16). This never leads to
 * an internal error. */
static void model_changes(struct task *task, struct directory *one, struct directory *two)
{
    struct shop shop;

    (void)two;
    shop_make(&shop, task, one);
    struct db *db = &shop.project->db;
    struct records_ctx ann = shop_ctx(&shop, shop.ann);
    int64_t id = made(ann, PRODUCTS, "{\"sku\":\"X1\"}");

    exec(task, db, "alter table {p}.e_2 drop column f_25");
    exec(task, db, "delete from {p}.fields where id = 25");
    exec(task, db, "update {p}.meta set model_version = model_version + 1");
    assert_null(strstr(make(ann, PRODUCTS, "{\"sku\":\"X2\"}"), "\"day\""));
    assert_string_equal(make(ann, PRODUCTS, "{\"sku\":\"X3\",\"day\":\"2024-01-01\"}"),
                        "!validation_failed day:unknown_field");
    has(put(ann, PRODUCTS, id, "{\"tags\":[1]}", 0), "\"tags\":[1]");
    /* A text column becomes a boolean: the old model's text does not fit the new type. */
    shop_reload(&shop);
    ann = shop_ctx(&shop, shop.ann);
    exec(task, db, "alter table {p}.e_2 alter column f_24 type boolean using null");
    exec(task, db, "update {p}.fields set type = 'bool', default_value = null where id = 24");
    exec(task, db, "update {p}.meta set model_version = model_version + 1");
    assert_string_equal(put(ann, PRODUCTS, id, "{\"status\":\"sold\"}", 0),
                        "!validation_failed status:type_mismatch");
    /* The entity itself is deleted. */
    ann = shop_ctx(&shop, shop.ann);
    exec(task, db, "drop table {p}.l_28");
    exec(task, db, "drop table {p}.e_2");
    exec(task, db, "delete from {p}.entities where id = 2");
    exec(task, db, "update {p}.meta set model_version = model_version + 1");
    assert_string_equal(put(ann, PRODUCTS, id, "{\"qty\":1}", 0), "!not_found");
    assert_string_equal(drop(ann, PRODUCTS, id, 0), "!not_found");
}

TEST(test_model_changes)
{
    run(model_changes);
}
