/* Reading records against a real PostgreSQL: filters, orders, pages, rules, expansion. */
#include "unit.h"

#include "records_read.h"

#define CHECK(ctx, entity, query, expected)                                                        \
    assert_string_equal(picks((ctx), (entity), (query)), (expected))

/* --- values and operators --- */

static void filters(struct records_ctx ctx)
{
    CHECK(ctx, BOOKS, "", "1,2,3,4");
    CHECK(ctx, BOOKS, "filter[title]=One", "1");
    CHECK(ctx, BOOKS, "filter[title][ne]=One", "2,3,4");
    CHECK(ctx, BOOKS, "filter[price]=10.5", "1,4");
    CHECK(ctx, BOOKS, "filter[price][ne]=10.5", "2,3");
    CHECK(ctx, BOOKS, "filter[price][gt]=10.5", "2");
    CHECK(ctx, BOOKS, "filter[price][between]=10,11", "1,4");
    CHECK(ctx, BOOKS, "filter[pages]=9007199254740993", "4");
    CHECK(ctx, BOOKS, "filter[pages]=9007199254740992", "");
    CHECK(ctx, BOOKS, "filter[pages][in]=100,200", "1,2");
    CHECK(ctx, BOOKS, "filter[pages][nin]=100,200", "3,4");
    CHECK(ctx, BOOKS, "filter[status][in]=used,new", "1,2,4");
    CHECK(ctx, BOOKS, "filter[rating][lt]=0", "4");
    CHECK(ctx, BOOKS, "filter[rating][in]=0.5,1e300", "1,3");
    CHECK(ctx, BOOKS, "filter[stock]=true", "1,4");
    CHECK(ctx, BOOKS, "filter[stock][ne]=true", "2,3");
    CHECK(ctx, BOOKS, "filter[printed]=2020-02-29", "1");
    CHECK(ctx, BOOKS, "filter[printed][lte]=2021-01-01", "1,4");
    CHECK(ctx, BOOKS, "filter[meta][null]=true", "2,3");
    CHECK(ctx, BOOKS, "filter[meta][null]=false", "1,4");
    CHECK(ctx, BOOKS, "filter[id][in]=4,2,99", "2,4");
    CHECK(ctx, BOOKS, "filter[or][0][title]=One&filter[or][1][pages]=200", "1,2");
    CHECK(ctx, BOOKS, "filter[or][0][title]=One&filter[or][0][pages]=200", "");
    CHECK(ctx,
          BOOKS,
          "filter[status]=new&filter[or][0][title]=One&filter[or][1][and][0][pages][gte]=200",
          "1,4");
}

/* Times are stored to the microsecond and shown to the millisecond. A time that was read finds
 * its record again. */
static void times(struct records_ctx ctx)
{
    CHECK(ctx, BOOKS, "filter[sold_at]=2026-03-01T10:00:00.123Z", "1");
    CHECK(ctx, BOOKS, "filter[sold_at]=2026-03-01T11:00:00.123%2B01:00", "1");
    CHECK(ctx, BOOKS, "filter[sold_at][in]=2026-03-01T10:00:00.123Z", "1");
    CHECK(ctx, BOOKS, "filter[sold_at][gte]=2026-03-01", "1");
    CHECK(ctx, BOOKS, "filter[sold_at][lt]=2026-03-01", "");
    CHECK(ctx, BOOKS, "filter[sold_at][gt]=2026-03-01T10:00:00.123Z", "");
    CHECK(ctx, BOOKS, "filter[sold_at][lte]=2026-03-01T10:00:00.123Z", "1");
    CHECK(ctx, BOOKS, "filter[sold_at][ne]=2026-03-01T10:00:00.123Z", "2,3,4");
    CHECK(ctx, BOOKS, "filter[sold_at][nin]=2026-03-01T10:00:00.123Z", "2,3,4");
    CHECK(
        ctx, BOOKS, "filter[created_at][between]=2026-01-02T00:00:00Z,2026-01-03T00:00:00Z", "2,3");
}

static void likes(struct records_ctx ctx)
{
    CHECK(ctx, BOOKS, "filter[title][contains]=%25", "2");
    CHECK(ctx, BOOKS, "filter[title][contains]=_", "2");
    CHECK(ctx, BOOKS, "filter[title][ends_with]=%5C", "2");
    CHECK(ctx, BOOKS, "filter[title][contains]=one", "4");
    CHECK(ctx, BOOKS, "filter[title][icontains]=ONE", "1,4");
    CHECK(ctx, BOOKS, "filter[title][starts_with]=one", "4");
    CHECK(ctx, BOOKS, "filter[title][contains]=' or true --", "");
}

static void relations(struct records_ctx ctx)
{
    CHECK(ctx, BOOKS, "filter[author]=2", "2");
    CHECK(ctx, BOOKS, "filter[author][null]=true", "4");
    CHECK(ctx, BOOKS, "filter[author.country]=BO", "1,3");
    CHECK(ctx, BOOKS, "filter[author.country][ne]=BO", "2,4");
    CHECK(ctx, BOOKS, "filter[author.country][null]=true", "4");
    CHECK(ctx, BOOKS, "filter[author.mentor.name]=Ann", "2");
    CHECK(ctx, BOOKS, "filter[tags]=1", "1");
    CHECK(ctx, BOOKS, "filter[tags][in]=1,2", "1,2");
    CHECK(ctx, BOOKS, "filter[tags][nin]=1", "2,3,4");
    CHECK(ctx, BOOKS, "filter[tags][null]=true", "3,4");
    CHECK(ctx, BOOKS, "filter[tags.label]=b", "1,2");
}

static void orders(struct records_ctx ctx)
{
    CHECK(ctx, BOOKS, "sort=-id", "4,3,2,1");
    CHECK(ctx, BOOKS, "sort=pages", "1,2,4,3");
    CHECK(ctx, BOOKS, "sort=-pages", "4,2,1,3");
    CHECK(ctx, BOOKS, "sort=pages&order=desc", "4,2,1,3");
    CHECK(ctx, BOOKS, "sort=status,-price", "4,1,2,3");
    CHECK(ctx, BOOKS, "sort=author.name", "1,2,3,4");
    CHECK(ctx, BOOKS, "sort=-author.mentor.name", "3,2,4,1");
    CHECK(ctx, BOOKS, "order=desc", "4,3,2,1");
    CHECK(ctx, BOOKS, "sort=-created_at&limit=2&page=2", "2,1");
}

static void administrator(struct task *task, struct directory *one, struct directory *two)
{
    struct library library;

    (void)two;
    library_make(&library, task, one);
    struct records_ctx ctx = library_ctx(&library, 1);
    filters(ctx);
    times(ctx);
    likes(ctx);
    relations(ctx);
    orders(ctx);
}

TEST(test_filters)
{
    run(administrator);
}

/* --- refused queries --- */

/* Returns `first` followed by `count` times `piece`: "filter[id][in]=1,1,1...", or many
 * conditions. */
static const char *repeated(struct arena *arena, const char *first, const char *piece, int count)
{
    struct strbuf text;

    strbuf_init(&text, arena, 100000);
    strbuf_cstr(&text, first);
    for (int i = 0; i < count; i++)
        strbuf_cstr(&text, piece);
    return strbuf_cstring(&text);
}

static void limits(struct records_ctx ctx)
{
    struct arena *arena = ctx.task->arena;

    CHECK(ctx, BOOKS, repeated(arena, "filter[id]=1", "&filter[id]=1", 49), "1");
    assert_string_equal(
        picks(ctx, BOOKS, repeated(arena, "filter[id]=1", "&filter[id]=1", 50)),
        "!invalid_query filter[id]:invalid_query:there are more than 50 conditions");
    CHECK(ctx, BOOKS, repeated(arena, "filter[id][in]=1", ",1", 499), "1");
    assert_string_equal(picks(ctx, BOOKS, repeated(arena, "filter[id][in]=1", ",1", 500)),
                        "!invalid_query filter[id][in]:invalid_query:lists more than 500 values");
    assert_memory_equal(
        list(ctx, BOOKS, repeated(arena, "expand=author", ",author", 20)), "!invalid_query", 14);
}

static void refusals(struct task *task, struct directory *one, struct directory *two)
{
    static const struct {
        const char *query;
        const char *answer;
    } cases[] = {
        {"filter[nope]=1", "!invalid_query filter[nope]:unknown_field:there is no field \"nope\""},
        {"filter[id;drop]=1",
         "!invalid_query filter[id;drop]:unknown_field:there is no field \"id;drop\""},
        {"filter[title.x]=1",
         "!invalid_query filter[title.x]:unknown_field:there is no field \"title.x\""},
        {"filter[author.]=1",
         "!invalid_query filter[author.]:unknown_field:there is no field \"author.\""},
        {"filter[author.mentor.mentor.mentor.mentor.name]=1",
         "!invalid_query filter[author.mentor.mentor.mentor.mentor.name]:unknown_field:there is no "
         "field \"author.mentor.mentor.mentor.mentor.name\""},
        {"filter[pages]=1.5", "!invalid_query filter[pages]:invalid_query:must be a whole number"},
        {"filter[pages]=9223372036854775808",
         "!invalid_query filter[pages]:invalid_query:must be a whole number"},
        {"filter[pages][in]=1,",
         "!invalid_query filter[pages][in]:invalid_query:must be a whole number"},
        {"filter[rating]=NaN", "!invalid_query filter[rating]:invalid_query:must be a number"},
        {"filter[rating]=1e400", "!invalid_query filter[rating]:invalid_query:must be a number"},
        {"filter[price]=1e131071", "!invalid_query filter[price]:invalid_query:must be a number"},
        {"filter[stock]=1", "!invalid_query filter[stock]:invalid_query:must be true or false"},
        {"filter[printed]=2021-02-29",
         "!invalid_query filter[printed]:invalid_query:must be a date like 2026-01-31"},
        {"filter[sold_at]=2021-13-01",
         "!invalid_query filter[sold_at]:invalid_query:must be a time like 2026-01-31T12:00:00Z"},
        {"filter[status]=gone",
         "!invalid_query filter[status]:invalid_query:is not one of the field's values"},
        {"filter[meta][contains]=1",
         "!invalid_query filter[meta][contains]:invalid_query:the operator cannot be used with "
         "fields of this type"},
        {"filter[pages][between]=1",
         "!invalid_query filter[pages][between]:invalid_query:takes two values: low,high"},
        {"filter[pages][between]=1,2,3",
         "!invalid_query filter[pages][between]:invalid_query:takes two values: low,high"},
        {"filter[title][null]=1",
         "!invalid_query filter[title][null]:invalid_query:must be true or false"},
        {"filter=1",
         "!invalid_query filter:invalid_query:a condition is filter[field]=value or "
         "filter[field][operator]=value"},
        {"filter[or][0]=1", "!invalid_query filter[or][0]:invalid_query:a condition is"},
        {"filter[or][100][id]=1",
         "!invalid_query filter[or][100][id]:invalid_query:the number of a group must be between 0 "
         "and 99"},
        {"sort=id;drop", "!invalid_query sort:unknown_field:there is no field \"id;drop\""},
        {"sort=tags",
         "!invalid_query sort:invalid_query:cannot sort by a relation to many records"},
        {"sort=meta", "!invalid_query sort:invalid_query:cannot sort by a json field"},
        {"sort=id,id,id,id,id,id", "!invalid_query sort:invalid_query:names more than 5 fields"},
        {"sort=id&order=asc,(select%201)", "!invalid_query order:"},
        {"sort=id,title&order=desc",
         "!invalid_query order:invalid_query:can only be used with a single field"},
        {"expand=title", "!invalid_query expand:unknown_field:there is no field \"title\""},
        {"expand=author.mentor.mentor.mentor.mentor",
         "!invalid_query expand:out_of_range:has a path of more than 4 levels"},
        {"limit=501", "!invalid_query limit:"},
        {"limit=0", "!invalid_query limit:"},
        {"page=9223372036854775807", "!invalid_query page:"},
        {"page=-1", "!invalid_query page:"},
        {"cursor=x", "!invalid_query cursor:invalid_query:is not a cursor of this query"},
        {"cursor=start&page=2", "!invalid_query cursor:invalid_query:cannot be combined with page"},
    };
    struct library library;

    (void)two;
    library_make(&library, task, one);
    struct records_ctx admin = library_ctx(&library, 1);
    limits(admin);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *answer = list(admin, BOOKS, cases[i].query);
        if (strncmp(answer, cases[i].answer, strlen(cases[i].answer)) != 0)
            fail_msg("%s: %s", cases[i].query, answer);
    }
    assert_string_equal(
        list(admin, AUTHORS, "filter[pin]=1"),
        "!invalid_query filter[pin]:invalid_query:secret fields cannot be filtered");
    assert_string_equal(list(admin, AUTHORS, "sort=pin"),
                        "!invalid_query sort:invalid_query:cannot sort by a secret field");
    assert_string_equal(list(admin, BOOKS, "fields=title,nope"),
                        "!invalid_query fields:unknown_field:there is no field \"nope\"");
}

TEST(test_refusals)
{
    run(refusals);
}

/* --- records as JSON --- */

/* A step receives the same values of a record as a request, number for number. */
static void check_values(struct records_ctx ctx)
{
    struct arena *arena = ctx.task->arena;
    const struct entity *books = model_entity_by_id(ctx.model, BOOKS);
    struct records_query query = {.limit = 10};
    struct jr_error error;
    json_t *told;
    int64_t version;

    const char *text = list(ctx, BOOKS, "limit=10&count=false");
    assert_int_equal(jr_parse_stored(arena, str_from(text), &told, &error), 0);
    ctx.values = json_array();
    ctx.values_bytes = 1 << 20;
    assert_int_equal(records_list(&ctx, books, &query, NULL), 0);
    assert_int_equal(json_array_size(ctx.values), 4);
    struct str given = jr_print(arena, ctx.values);
    assert_true(str_eq(given, jr_print(arena, json_object_get(told, "items"))));

    (void)json_array_clear(ctx.values);
    assert_int_equal(records_get(&ctx, books, 2, NULL, NULL, &version), 0);
    assert_true(json_equal(json_array_get(ctx.values, 0),
                           json_array_get(json_object_get(told, "items"), 1)));
    ctx.values_bytes = 20;
    assert_int_equal(records_list(&ctx, books, &query, NULL), RECORDS_FAILED);
    assert_int_equal(ctx.error.code, PROBLEM_OUTPUT_TOO_LARGE);
    json_decref(ctx.values);
}

static void shapes(struct task *task, struct directory *one, struct directory *two)
{
    struct library library;

    (void)two;
    library_make(&library, task, one);
    struct records_ctx ctx = library_ctx(&library, 1);
    assert_string_equal(
        get(ctx,
            BOOKS,
            1,
            "fields=title,id,price,pages,status,printed,sold_at,author,tags,meta,"
            "stock,rating,created_at,created_by"),
        "{\"id\":1,\"title\":\"One\",\"price\":10.50,\"pages\":100,\"status\":\"new\",\"printed\":"
        "\"2020-02-29\",\"sold_at\":\"2026-03-01T10:00:00.123Z\",\"author\":1,\"tags\":[2,1],"
        "\"meta\":{\"k\": [1, 2.50]},\"stock\":true,\"rating\":0.5,\"created_at\":"
        "\"2026-01-01T00:00:00.000Z\",\"created_by\":1}");
    assert_non_null(strstr(get(ctx, BOOKS, 3, ""), "\"price\":null,\"pages\":null"));
    assert_non_null(strstr(get(ctx, BOOKS, 3, ""), "\"tags\":[],\"meta\":null"));
    assert_string_equal(get(ctx, AUTHORS, 1, "fields=pin"), "{\"pin\":\"********\"}");
    assert_string_equal(get(ctx, AUTHORS, 2, "fields=pin"), "{\"pin\":null}");
    assert_string_equal(get(ctx, BOOKS, 99, ""), "!not_found");
    assert_string_equal(get(ctx, BOOKS, 2, "fields=id&expand=author.mentor,tags"),
                        arena_printf(task->arena,
                                     "{\"id\":2,\"author\":%s,\"tags\":[%s]}",
                                     get(ctx, AUTHORS, 2, "expand=mentor"),
                                     get(ctx, TAGS, 2, ""))
                            .ptr);
    assert_string_equal(
        list(ctx, BOOKS, "fields=title&limit=1"),
        "{\"items\":[{\"title\":\"One\"}],\"total_items\":4,\"page\":1,\"page_size\":"
        "1,\"has_next_page\":true}");
    assert_string_equal(
        list(ctx, BOOKS, "fields=title&limit=3&page=2&count=false"),
        "{\"items\":[{\"title\":\"one \\\"two\\\"\"}],\"total_items\":-1,\"page\":2,"
        "\"page_size\":3,\"has_next_page\":false}");
    assert_string_equal(list(ctx, BOOKS, "limit=3&page=3"),
                        "{\"items\":[],\"total_items\":4,\"page\":3,\"page_size\":3,"
                        "\"has_next_page\":false}");
    check_values(ctx);
}

TEST(test_shapes)
{
    run(shapes);
}

/* --- cursors --- */

static const char *next_cursor(struct arena *arena, const char *answer)
{
    const char *at = strstr(answer, "\"next_cursor\":");

    assert_non_null(at);
    at += strlen("\"next_cursor\":");
    if (*at != '"')
        return NULL;
    const char *end = strchr(at + 1, '"');
    return arena_cstr(arena, (struct str){at + 1, (size_t)(end - at - 1)});
}

/* Reads the records of an order one by one, by cursor. The result equals a single page. */
static void walk(struct records_ctx ctx, const char *order)
{
    struct arena *arena = ctx.task->arena;
    const char *cursor = "start";
    struct strbuf ids;

    strbuf_init(&ids, arena, 1000);
    for (int i = 0; cursor != NULL; i++) {
        assert_in_range(i, 0, 4);
        const char *query =
            arena_printf(arena, "fields=id&limit=1&%s&cursor=%s", order, cursor).ptr;
        const char *answer = list(ctx, BOOKS, query);
        assert_memory_equal(answer, "{\"items\":[{\"id\":", 16);
        if (ids.len > 0)
            strbuf_char(&ids, ',');
        strbuf_char(&ids, answer[16]);
        assert_non_null(strstr(answer, "\"total_items\":-1"));
        cursor = next_cursor(arena, answer);
    }
    assert_string_equal(strbuf_cstring(&ids), picks(ctx, BOOKS, order));
}

static void cursors(struct task *task, struct directory *one, struct directory *two)
{
    static const char *const walks[] = {
        "",
        "sort=-created_at",
        "sort=pages",
        "sort=-pages",
        "sort=status,-price",
        "sort=-author.name",
        "sort=-rating,title",
        "sort=sold_at",
        "sort=stock&filter[id][gt]=1",
    };
    struct library library;

    (void)two;
    library_make(&library, task, one);
    struct records_ctx ctx = library_ctx(&library, 1);
    for (size_t i = 0; i < ARRAY_LEN(walks); i++)
        walk(ctx, walks[i]);
    const char *cursor = next_cursor(task->arena, list(ctx, BOOKS, "limit=1&cursor="));
    assert_non_null(cursor);
    const char *other = arena_printf(task->arena, "cursor=%s&sort=title", cursor).ptr;
    assert_memory_equal(list(ctx, BOOKS, other), "!invalid_query cursor", 21);
}

TEST(test_cursors)
{
    run(cursors);
}

/* --- row and field rules --- */

static void row_rules(const struct library *library)
{
    struct records_ctx alice = library_ctx(library, library->alice);
    struct records_ctx bob = library_ctx(library, library->bob);

    CHECK(alice, AUTHORS, "", "1");
    CHECK(bob, AUTHORS, "", "2,3");
    assert_non_null(strstr(list(alice, AUTHORS, ""), "\"total_items\":1"));
    assert_string_equal(get(alice, AUTHORS, 2, ""), "!not_found");
    assert_string_equal(get(alice, AUTHORS, 2, "fields=id"), "!not_found");
    assert_string_equal(get(bob, AUTHORS, 3, "fields=id"), "{\"id\":3}");
    /* Row rules apply through relations, too: filter, sort, expansion, links. */
    CHECK(alice, BOOKS, "filter[author.country]=BO", "1");
    CHECK(bob, BOOKS, "filter[author.country]=BO", "3");
    CHECK(alice, BOOKS, "sort=-author.name", "1,4,3,2");
    CHECK(bob, BOOKS, "sort=-author.name", "3,2,4,1");
    CHECK(alice, BOOKS, "filter[tags]=2", "");
    CHECK(alice, BOOKS, "filter[tags][null]=true", "2,3,4");
    assert_string_equal(get(alice, BOOKS, 1, "fields=tags"), "{\"tags\":[1]}");
    assert_string_equal(get(alice, BOOKS, 2, "fields=author&expand=author,tags"),
                        "{\"author\":null,\"tags\":[]}");
    assert_non_null(strstr(get(bob, BOOKS, 2, "expand=author.mentor"),
                           "\"name\":\"Ben\",\"country\":\"PE\","
                           "\"pin\":null,\"mentor\":null"));
    assert_string_equal(ask(alice, aggregate_url, AUTHORS, "count=*"),
                        "{\"items\":[{\"count\":1}],\"has_next_page\":false}");
}

/* A hidden field is answered like a field that does not exist, independently of its values. */
static void field_rules(const struct library *library)
{
    static const char *const queries[] = {"filter[%s]=shy",
                                          "filter[%s][starts_with]=s",
                                          "sort=%s",
                                          "fields=%s",
                                          "expand=%s",
                                          "filter[mentor.%s]=shy",
                                          "sort=mentor.%s"};
    struct records_ctx alice = library_ctx(library, library->alice);
    struct arena *arena = library->task->arena;

    assert_null(strstr(list(alice, AUTHORS, ""), "note"));
    assert_null(strstr(get(alice, AUTHORS, 1, ""), "note"));
    for (size_t i = 0; i < ARRAY_LEN(queries); i++) {
        const char *cut = strchr(queries[i], '%');
        struct str before = {queries[i], (size_t)(cut - queries[i])};
        const char *hidden = arena_printf(arena, "%.*snote%s", STR_ARG(before), cut + 2).ptr;
        const char *absent = arena_printf(arena, "%.*snone%s", STR_ARG(before), cut + 2).ptr;
        char *answer = arena_strdup(arena, list(alice, AUTHORS, hidden));
        assert_int_equal(answer[0], '!');
        for (char *at = strstr(answer, "note"); at != NULL; at = strstr(at, "note"))
            at[3] = 'e', at[2] = 'n';
        assert_string_equal(answer, list(alice, AUTHORS, absent));
    }
    assert_memory_equal(ask(alice, aggregate_url, AUTHORS, "group_by=note"), "!invalid_query", 14);
    assert_memory_equal(ask(alice, aggregate_url, AUTHORS, "min=note"), "!invalid_query", 14);
    /* alice may not read the entity at all. The id is a value of the book, but no field of the
     * entity can be used. */
    assert_string_equal(list(alice, BOOKS, "filter[safe.gold]=1000"),
                        "!invalid_query filter[safe.gold]:unknown_field:there is no field "
                        "\"safe.gold\"");
    assert_string_equal(list(alice, BOOKS, "filter[safe.id]=1"),
                        "!invalid_query filter[safe.id]:unknown_field:there is no field "
                        "\"safe.id\"");
    assert_memory_equal(list(alice, BOOKS, "expand=safe"), "!invalid_query", 14);
}

static void public_rules(const struct library *library)
{
    static const struct caller nobody = {.kind = CALLER_NONE};
    struct records_ctx ctx = library_ctx(library, 1);

    ctx.caller = &nobody;
    ctx.public_only = true;
    assert_string_equal(
        list(ctx, BOOKS, "filter[title]=One&fields=id,title,price"),
        "{\"items\":[{\"id\":1,\"title\":\"One\",\"price\":10.50}],\"total_items\":1,"
        "\"page\":1,\"page_size\":20,\"has_next_page\":false}");
    assert_null(strstr(list(ctx, BOOKS, ""), "pages"));
    assert_null(strstr(get(ctx, BOOKS, 1, ""), "created_by"));
    assert_memory_equal(list(ctx, BOOKS, "filter[pages]=1"), "!invalid_query", 14);
    assert_memory_equal(list(ctx, BOOKS, "filter[author.name]=Ann"), "!invalid_query", 14);
    assert_memory_equal(list(ctx, BOOKS, "sort=created_by"), "!invalid_query", 14);
    assert_string_equal(get(ctx, AUTHORS, 1, ""), "!not_found");
}

static void rules(struct task *task, struct directory *one, struct directory *two)
{
    struct library library;

    (void)two;
    library_make(&library, task, one);
    row_rules(&library);
    field_rules(&library);
    public_rules(&library);
}

TEST(test_rules)
{
    run(rules);
}

/* The group scope shows records that members of the group made. Records are granted to roles and
 * groups as to users. */
static void groups(struct task *task, struct directory *one, struct directory *two)
{
    struct library library;

    (void)two;
    library_make(&library, task, one);
    struct db *db = &library.project->db;
    exec(task, db, "insert into {p}.groups (id, name) values (9, 'team')");
    exec(task,
         db,
         arena_printf(task->arena,
                      "insert into {p}.group_members (group_id, user_id) values (9, %lld)",
                      (long long)library.bob)
             .ptr);
    struct records_ctx alice = library_ctx(&library, library.alice);
    CHECK(alice, AUTHORS, "", "1");
    struct caller scoped = *alice.caller;
    scoped.group_scope = 9;
    alice.caller = &scoped;
    CHECK(alice, AUTHORS, "", "1,2");
    assert_string_equal(get(alice, AUTHORS, 2, "fields=id"), "{\"id\":2}");
    assert_non_null(strstr(get(alice, AUTHORS, 2, ""), "\"name\":\"Ben\""));
    assert_string_equal(get(alice, AUTHORS, 3, ""), "!not_found");
    exec(task, db, "insert into {p}.record_grants values (1, 3, 3, 50)");
    assert_non_null(strstr(get(alice, AUTHORS, 3, ""), "\"name\":\"Cid\""));
}

TEST(test_groups)
{
    run(groups);
}
