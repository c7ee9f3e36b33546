/* Reading records: gets that share a statement, a model that changes under a statement, groups,
 * exports. */
#include "unit.h"

#include "records_read.h"

#include "records/read/get.h"

/* --- gets in one statement --- */

struct getter {
    struct task task;
    struct records_ctx ctx;
    int64_t entity, id;
    bool cancel_late;
    int rc;
    int64_t version;
    struct strbuf out;
    size_t *running;
};

static void run_getter(struct task *task, void *arg)
{
    struct getter *getter = arg;

    getter->ctx.task = task;
    strbuf_init(&getter->out, task->arena, (size_t)1 << 16);
    const struct entity *entity = model_entity_by_id(getter->ctx.model, getter->entity);
    AGAIN(&getter->ctx,
          entity,
          getter->rc,
          records_get(&getter->ctx, entity, getter->id, NULL, &getter->out, &getter->version));
    --*getter->running;
}

static struct getter *
start_getter(const struct records_ctx *ctx, int64_t entity, int64_t id, size_t *running)
{
    struct arena *arena = arena_new(0); /* like a request's: may be freed before the batch */
    struct getter *getter = ARENA_NEW(ctx->task->arena, getter);

    getter->task.arena = arena;
    getter->ctx = *ctx;
    getter->entity = entity;
    getter->id = id;
    getter->running = running;
    ++*running;
    task_start(&getter->task, run_getter, getter);
    return getter;
}

static void wait_for(struct task *task, const size_t *running)
{
    for (int i = 0; *running > 0; i++) {
        assert_in_range(i, 0, 2000);
        assert_int_equal(task_sleep(task, 2), 0);
    }
}

static void expect(struct getter *getter, const char *part)
{
    if (part == NULL) {
        assert_int_equal(getter->rc, RECORDS_FAILED);
        assert_int_equal(getter->ctx.error.code, PROBLEM_NOT_FOUND);
    } else {
        assert_int_equal(getter->rc, 0);
        assert_int_equal(getter->version, 1);
        assert_non_null(strstr(strbuf_cstring(&getter->out), part));
    }
    arena_free(getter->task.arena);
}

static uint64_t statements(void)
{
    struct get_stats stats;

    get_stats(&stats);
    return stats.statements;
}

/* Gets of a caller with a row rule share one statement, which applies that caller's rule. Gets
 * of all callers without a row rule share one statement. */
static void together(struct task *task, struct directory *one, struct directory *two)
{
    struct library library;
    size_t running = 0;

    (void)two;
    library_make(&library, task, one);
    struct records_ctx alice = library_ctx(&library, library.alice);
    struct records_ctx bob = library_ctx(&library, library.bob);
    struct records_ctx admin = library_ctx(&library, 1);
    uint64_t before = statements();
    struct getter *getters[] = {
        start_getter(&alice, AUTHORS, 1, &running),
        start_getter(&alice, AUTHORS, 2, &running),
        start_getter(&bob, AUTHORS, 2, &running),
        start_getter(&bob, AUTHORS, 1, &running),
        start_getter(&bob, AUTHORS, 3, &running),
        start_getter(&admin, AUTHORS, 2, &running),
        start_getter(&admin, AUTHORS, 2, &running),
    };
    wait_for(task, &running);
    assert_int_equal(statements() - before, 3);
    expect(getters[0], "\"name\":\"Ann\"");
    expect(getters[1], NULL);
    expect(getters[2], "\"name\":\"Ben\"");
    expect(getters[3], NULL);
    expect(getters[4], "\"name\":\"Cid\"");
    expect(getters[5], "\"note\":\"loud\"");
    expect(getters[6], "\"note\":\"loud\"");

    before = statements();
    struct getter *many[150];
    for (size_t i = 0; i < ARRAY_LEN(many); i++)
        many[i] = start_getter(&admin, TAGS, (int64_t)i, &running);
    wait_for(task, &running);
    assert_int_equal(statements() - before, 3);
    for (size_t i = 0; i < ARRAY_LEN(many); i++)
        expect(many[i], i == 1 ? "\"label\":\"a\"" : i == 2 ? "\"label\":\"b\"" : NULL);
}

TEST(test_together)
{
    run(together);
}

/* A get that is cancelled or late does not affect other gets, and its memory is not touched
 * afterwards. */
static void leaving(struct task *task, struct directory *one, struct directory *two)
{
    struct library library;
    size_t running = 0;

    (void)two;
    library_make(&library, task, one);
    struct records_ctx admin = library_ctx(&library, 1);
    struct getter *first = start_getter(&admin, AUTHORS, 1, &running);
    struct getter *second = start_getter(&admin, AUTHORS, 2, &running);
    task_cancel(&first->task);
    wait_for(task, &running);
    assert_int_equal(first->rc, -ECANCELED);
    arena_free(first->task.arena);
    expect(second, "\"name\":\"Ben\"");

    struct getter *all[3];
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        all[i] = start_getter(&admin, AUTHORS, 1, &running);
        all[i]->task.deadline_ms = clock_mono_ms() + 1;
    }
    int64_t until_ms = clock_mono_ms() + 5;
    while (clock_mono_ms() < until_ms)
        continue; /* the deadlines pass before the gets run */
    wait_for(task, &running);
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        assert_int_equal(all[i]->rc, -ETIMEDOUT);
        arena_free(all[i]->task.arena);
    }
    assert_int_equal(task_sleep(task, 50), 0);
}

TEST(test_leaving)
{
    run(leaving);
}

/* --- a model that changes under a statement --- */

static void changing(struct task *task, struct directory *one, struct directory *two)
{
    struct library library;
    size_t running = 0;

    (void)two;
    library_make(&library, task, one);
    struct records_ctx admin = library_ctx(&library, 1);
    struct db *db = &library.project->db;
    assert_non_null(strstr(get(admin, BOOKS, 1, ""), "rating"));
    exec(task, db, "alter table {p}.e_2 drop column f_31");
    exec(task, db, "delete from {p}.fields where id = 31");
    exec(task, db, "update {p}.meta set model_version = model_version + 1");
    struct getter *getters[2];
    for (size_t i = 0; i < ARRAY_LEN(getters); i++)
        getters[i] = start_getter(&admin, BOOKS, 1, &running);
    wait_for(task, &running);
    for (size_t i = 0; i < ARRAY_LEN(getters); i++) {
        assert_null(strstr(strbuf_cstring(&getters[i]->out), "rating"));
        expect(getters[i], "\"title\":\"One\"");
    }
    assert_null(strstr(list(admin, BOOKS, ""), "rating"));
    assert_string_equal(list(admin, BOOKS, "sort=rating"),
                        "!invalid_query sort:unknown_field:there is no field \"rating\"");

    exec(task, db, "drop table {p}.e_2");
    exec(task, db, "delete from {p}.entities where id = 2");
    exec(task, db, "update {p}.meta set model_version = model_version + 1");
    assert_string_equal(list(admin, BOOKS, ""), "!not_found");
}

TEST(test_changing)
{
    run(changing);
}

/* --- groups --- */

static void grouped(struct task *task, struct directory *one, struct directory *two)
{
    static const struct {
        const char *query;
        const char *answer;
    } cases[] = {
        {"", "{\"items\":[{\"count\":4}],\"has_next_page\":false}"},
        {"group_by=status&count=*&sum=price,pages&avg=price&min=title&max=sold_at",
         "{\"items\":[{\"status\":\"new\",\"count\":2,\"sum\":{\"price\":21.00,\"pages\":"
         "9007199254741093},\"avg\":{\"price\":10.5000000000000000},\"min\":{\"title\":\"One\"},"
         "\"max\":{\"sold_at\":\"2026-03-01T10:00:00.123Z\"}},{\"status\":\"used\",\"count\":1,"
         "\"sum\":{\"price\":20,\"pages\":200},\"avg\":{\"price\":20.0000000000000000},\"min\":{"
         "\"title\":\"50% off_\\\\\"},\"max\":{\"sold_at\":null}},{\"status\":null,\"count\":1,"
         "\"sum\":{\"price\":null,\"pages\":null},\"avg\":{\"price\":null},\"min\":{\"title\":"
         "\"=three\"},\"max\":{\"sold_at\":null}}],\"has_next_page\":false}"},
        {"group_by=author.country&filter[author][null]=false",
         "{\"items\":[{\"author.country\":\"BO\",\"count\":2},{\"author.country\":\"PE\",\"count\":"
         "1}"
         "],\"has_next_page\":false}"},
        {"group_by=title&limit=1&sum=pages&filter[title]=One",
         "{\"items\":[{\"title\":\"One\",\"sum\":{\"pages\":100}}],\"has_next_page\":false}"},
        {"sum=title", "!invalid_query sum:invalid_query:cannot be computed"},
        {"group_by=meta", "!invalid_query group_by:invalid_query:cannot group by a json"},
        {"group_by=tags", "!invalid_query group_by:invalid_query:relations"},
        {"group_by=id,title,price,pages", "!invalid_query group_by:invalid_query:names more"},
        {"group_by=id,id", "!invalid_query group_by:invalid_query:names a field twice"},
        {"limit=1001", "!invalid_query limit:"},
        {"count=id", "!invalid_query count:"},
    };
    struct library library;

    (void)two;
    library_make(&library, task, one);
    struct records_ctx admin = library_ctx(&library, 1);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *answer = ask(admin, aggregate_url, BOOKS, cases[i].query);
        size_t compared = strlen(cases[i].answer) + (cases[i].answer[0] != '!');
        if (strncmp(answer, cases[i].answer, compared) != 0)
            fail_msg("%s: %s", cases[i].query, answer);
    }
    assert_non_null(
        strstr(ask(admin, aggregate_url, BOOKS, "group_by=id&limit=2"), "\"has_next_page\":true"));
    struct records_ctx alice = library_ctx(&library, library.alice);
    assert_string_equal(ask(alice, aggregate_url, BOOKS, "group_by=author.name"),
                        "{\"items\":[{\"author.name\":\"Ann\",\"count\":1},{\"author.name\":null,"
                        "\"count\":3}],\"has_next_page\":false}");
}

TEST(test_grouped)
{
    run(grouped);
}

/* --- exports --- */

struct received {
    struct strbuf text;
    size_t pieces;
    int answer;
};

static int receive(struct str piece, void *arg)
{
    struct received *received = arg;

    received->pieces++;
    strbuf_str(&received->text, piece);
    return received->answer;
}

static const char *export(
    struct records_ctx ctx, int64_t entity, const char *text, bool csv, struct received *received)
{
    struct query from = library_query(ctx.task->arena, text);
    struct records_query query;

    *received = (struct received){.answer = received->answer};
    strbuf_init(&received->text, ctx.task->arena, (size_t)1 << 24);
    int rc = items_query_read(&ctx, &from, &query);
    if (rc == 0)
        rc = records_export(&ctx,
                            model_entity_by_id(ctx.model, entity),
                            &query,
                            csv ? &(struct csv_style){0} : NULL,
                            receive,
                            received);
    if (rc == RECORDS_FAILED)
        return library_failure(&ctx);
    assert_int_equal(rc, received->answer);
    return strbuf_cstring(&received->text);
}

static void exported(struct task *task, struct directory *one, struct directory *two)
{
    struct received received = {.answer = 0};
    struct library library;

    (void)two;
    library_make(&library, task, one);
    struct records_ctx admin = library_ctx(&library, 1);
    struct records_ctx alice = library_ctx(&library, library.alice);
    assert_string_equal(
        export(admin,
               BOOKS,
               "format=csv&sort=-id&fields=id,title,price,sold_at,tags,meta,stock",
               true,
               &received),
        "id,title,price,sold_at,tags,meta,stock\r\n"
        "4,\"one \"\"two\"\"\",10.5,,[],[],true\r\n"
        "3,'=three,,,[],,\r\n"
        "2,50% off_\\,20,,[2],,false\r\n"
        "1,One,10.50,2026-03-01T10:00:00.123Z,\"[2,1]\",\"{\"\"k\"\": [1, 2.50]}\",true\r\n");
    assert_string_equal(export(alice, AUTHORS, "fields=name,pin", false, &received),
                        "{\"name\":\"Ann\",\"pin\":\"********\"}\n");
    assert_string_equal(export(alice, AUTHORS, "filter[name]=x&fields=name", true, &received),
                        "name\r\n");
    assert_string_equal(export(alice, AUTHORS, "filter[name]=x", false, &received), "");
    assert_string_equal(export(alice, AUTHORS, "fields=note", true, &received),
                        "!invalid_query fields:unknown_field:there is no field \"note\"");

    exec(task,
         &library.project->db,
         "insert into {p}.e_3 (f_32) select repeat('x', 100) from generate_series(1, 3000)");
    const char *all = export(admin, TAGS, "fields=label", false, &received);
    assert_int_equal(strlen(all), 3000 * 113 + 2 * 14);
    assert_in_range(received.pieces, 5, 40); /* of 24 KB, and the rest of each page */
    received.answer = -ECANCELED;
    (void)export(admin, TAGS, "fields=label", false, &received);
    assert_int_equal(received.pieces, 1);
}

TEST(test_exported)
{
    run(exported);
}
