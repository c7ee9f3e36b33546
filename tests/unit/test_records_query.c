/* The gateway reads queries from URLs, and the runner reads queries from steps. A query that
 * both can express has the same result, accepted or refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit.h"

#include "records_model.h"

#include "records/query/cursor.h"
#include "records/query/filter.h"
#include "records/read/columns.h"
#include "records/read/expand.h"

/* NOLINTBEGIN(bugprone-suspicious-include): a daemon has no library */
#include "items/items_query.c"
#include "steps/data_query.c"
/* NOLINTEND(bugprone-suspicious-include) */

/* --- functions that the runner's reader calls --- */

int step_fail(struct step_call *call, enum problem code, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    call->error.message = arena_vprintf(call->task->arena, format, args);
    va_end(args);
    call->error.code = problem_code(code);
    return STEP_FAILED;
}

int step_param(struct step_call *call, const char *name, bool secrets, json_t **ret_value)
{
    (void)secrets;
    *ret_value = json_object_get(call->context, name);
    return 0;
}

void data_set_input(struct step_call *call, const char *name, json_t *value)
{
    (void)call;
    (void)name;
    (void)value;
}

int data_translate_result(struct step_call *call, struct data_step *data, int rc)
{
    const struct records_error *error = &data->ctx.error;

    return rc != 0 ? step_fail(call, error->code, "%.*s", STR_ARG(error->detail)) : 0;
}

/* --- queries as text --- */

static void print_condition(struct strbuf *out, const struct records_condition *condition)
{
    strbuf_printf(out, "%.*s: ", STR_ARG(condition->name));
    for (size_t i = 0; i < condition->group_count; i++)
        strbuf_printf(out,
                      "%s %lld, ",
                      condition->groups[i].is_or ? "or" : "and",
                      (long long)condition->groups[i].slot);
    strbuf_printf(out, "%.*s %d", STR_ARG(condition->field), (int)condition->op);
    if (condition->list == NULL)
        strbuf_printf(out, " %.*s", STR_ARG(condition->value));
    for (size_t i = 0; i < condition->list_count; i++)
        strbuf_printf(out, "%c%.*s", i > 0 ? ',' : ' ', STR_ARG(condition->list[i]));
    strbuf_cstr(out, "; ");
}

static const char *print(struct arena *arena, const struct records_query *query)
{
    struct strbuf out;

    strbuf_init(&out, arena, (size_t)1 << 20);
    for (size_t i = 0; i < query->filter.item_count; i++)
        print_condition(&out, &query->filter.items[i]);
    strbuf_printf(&out,
                  "sort %.*s, fields %.*s, limit %lld, page %lld",
                  STR_ARG(query->sort),
                  STR_ARG(query->fields),
                  (long long)query->limit,
                  query->page == 0 ? 1 : (long long)query->page);
    return strbuf_cstring(&out);
}

/* Plans the query as records_list() does. Returns the query as text, or a refusal as "!code:
 * detail". */
static const char *run(struct records_ctx *ctx, const struct records_query *query)
{
    const struct entity *entity = &entities[0];
    struct filter *filter;
    struct columns plan;
    struct sort sort;
    struct cursor cursor;

    if (columns_plan(ctx, entity, query->fields, &plan) == 0 &&
        expand_plan(ctx, query->expand, &plan) == 0 &&
        filter_plan(ctx, entity, &query->filter, &filter) == 0 &&
        sort_plan(ctx, entity, query, &sort) == 0 &&
        cursor_open(ctx, entity, query, &sort, &cursor) == 0)
        return print(ctx->task->arena, query);
    return arena_printf(ctx->task->arena,
                        "!%s: %.*s",
                        problem_code(ctx->error.code),
                        STR_ARG(ctx->error.detail))
        .ptr;
}

static struct records_ctx context(struct task *task)
{
    static struct db db = {.schema = 1};
    const struct caller *caller = model_caller();

    return (struct records_ctx){.task = task, .db = &db, .model = &model, .caller = caller};
}

static const char *of_url(struct task *task, const char *text)
{
    struct records_ctx ctx = context(task);
    struct records_query query;
    struct query from;
    const char *reason;

    assert_int_equal(query_parse(task->arena, str_from(text), &from, &reason), 0);
    if (items_query_read(&ctx, &from, &query) == 0)
        return run(&ctx, &query);
    return arena_printf(
               task->arena, "!%s: %.*s", problem_code(ctx.error.code), STR_ARG(ctx.error.detail))
        .ptr;
}

static const char *of_step(struct task *task, const char *text)
{
    struct data_step data = {.ctx = context(task)};
    json_t *params = json_loads(text, 0, NULL);
    struct step_call call = {.task = task, .context = params};
    struct records_query query;
    const char *answer;

    assert_non_null(params);
    if (data_read_query(&call, &data, &query) == 0)
        answer = run(&data.ctx, &query);
    else
        answer =
            arena_printf(task->arena, "!%s: %.*s", call.error.code, STR_ARG(call.error.message))
                .ptr;
    json_decref(params);
    return answer;
}

/* --- queries that both readers can express --- */

static const struct {
    const char *url;
    const char *step;
    const char *refused; /* NULL = accepted */
} same[] = {
    {"", "{}", NULL},
    {"filter[a][eq]=x", "{\"filter\":{\"a\":\"x\"}}", NULL},
    {"filter[a][eq]=x&filter[b][gte]=5",
     "{\"filter\":{\"a\":{\"eq\":\"x\"},\"b\":{\"gte\":5}}}",
     NULL},
    {"filter[b][in]=1,2", "{\"filter\":{\"b\":[1,2]}}", NULL},
    {"filter[b][between]=1,2", "{\"filter\":{\"b\":{\"between\":[1,2]}}}", NULL},
    {"filter[a][in][]=x,y&filter[a][in][]=\"z", "{\"filter\":{\"a\":[\"x,y\",\"\\\"z\"]}}", NULL},
    {"filter[b][between][1]=2&filter[b][between][0]=1",
     "{\"filter\":{\"b\":{\"between\":[1,2]}}}",
     NULL},
    {"filter[a][nin]=\"x,y\", \"\"\"\" ,z",
     "{\"filter\":{\"a\":{\"nin\":\"\\\"x,y\\\", \\\"\\\"\\\"\\\" ,z\"}}}",
     NULL},
    {"filter[a][in]=\"x",
     "{\"filter\":{\"a\":{\"in\":\"\\\"x\"}}}",
     "!invalid_query: filter[a][in]: has an unclosed quote, or text after a closing quote: "
     "\"a,b\",c lists two values, \"\"\"\" is a quote"},
    {"filter[b][nin]=1,2", "{\"filter\":{\"b\":{\"nin\":\"1,2\"}}}", NULL},
    {"filter[e][eq]=true", "{\"filter\":{\"e\":true}}", NULL},
    {"filter[a][null]=true", "{\"filter\":{\"a\":null}}", NULL},
    {"filter[a][null]=false", "{\"filter\":{\"a\":{\"ne\":null}}}", NULL},
    {"filter[k.a][contains]=x", "{\"filter\":{\"k.a\":{\"contains\":\"x\"}}}", NULL},
    {"filter[or][eq]=open", "{\"filter\":{\"or\":\"open\"}}", NULL},
    {"filter[or][0][a][eq]=x&filter[or][0][b][gt]=1&filter[or][1][c][lt]=0.5",
     "{\"filter\":{\"or\":[{\"a\":\"x\",\"b\":{\"gt\":1}},{\"c\":{\"lt\":0.5}}]}}",
     NULL},
    {"filter[and][0][or][1][a][ne]=x",
     "{\"filter\":{\"and\":[{\"or\":[{},{\"a\":{\"ne\":\"x\"}}]}]}}",
     NULL},
    {"sort=-a,b&fields=id,a&limit=3&page=2",
     "{\"sort\":\"-a,b\",\"fields\":[\"id\",\"a\"],\"limit\":3,\"page\":\"2\"}",
     NULL},
    {"fields=id", "{\"fields\":[\"id\"],\"sort\":[],\"limit\":null}", NULL},
    {"filter[nope][eq]=1",
     "{\"filter\":{\"nope\":1}}",
     "!invalid_query: filter[nope][eq]: there is no field \"nope\""},
    {"filter[a][like]=1",
     "{\"filter\":{\"a\":{\"like\":1}}}",
     "!invalid_query: filter[a][like]: the operator must be one of eq, ne, gt, gte, lt, lte, in, "
     "nin, contains, icontains, starts_with, ends_with, between, null"},
    {"filter[nope][like]=1",
     "{\"filter\":{\"nope\":{\"like\":1}}}",
     "!invalid_query: filter[nope][like]: there is no field \"nope\""},
    {"filter[nope][eq]=1&filter[b][eq]=x",
     "{\"filter\":{\"nope\":1,\"b\":\"x\"}}",
     "!invalid_query: 2 values are not accepted"},
    {"filter[b][eq]=x",
     "{\"filter\":{\"b\":\"x\"}}",
     "!invalid_query: filter[b][eq]: must be a whole number"},
    {"filter[b][between]=1",
     "{\"filter\":{\"b\":{\"between\":[1]}}}",
     "!invalid_query: filter[b][between]: takes two values: low,high"},
    {"filter[or][0][b][eq]=x",
     "{\"filter\":{\"or\":[{\"b\":\"x\"}]}}",
     "!invalid_query: filter[or][0][b][eq]: must be a whole number"},
    {"filter[e][gt]=true",
     "{\"filter\":{\"e\":{\"gt\":true}}}",
     "!invalid_query: filter[e][gt]: the operator cannot be used with fields of this type"},
    {"filter[m][eq]=1",
     "{\"filter\":{\"m\":1}}",
     "!invalid_query: filter[m][eq]: secret fields cannot be filtered"},
    {"sort=a,nope",
     "{\"sort\":[\"a\",\"nope\"]}",
     "!invalid_query: sort: there is no field \"nope\""},
    {"fields=nope", "{\"fields\":\"nope\"}", "!invalid_query: fields: there is no field \"nope\""},
    {"limit=501", "{\"limit\":501}", "!invalid_query: limit: must be between 1 and 500"},
    {"limit=x&fields=nope",
     "{\"limit\":\"x\",\"fields\":\"nope\"}",
     "!invalid_query: limit: must be a whole number"},
    {"page=0", "{\"page\":0}", "!invalid_query: page: must be between 1 and 450359962737049"},
};

TEST(test_same)
{
    struct task task = {.arena = arena_new(0)};

    for (size_t i = 0; i < ARRAY_LEN(same); i++) {
        const char *url = of_url(&task, same[i].url);
        const char *step = of_step(&task, same[i].step);
        if (strcmp(url, step) != 0)
            fail_msg("%s: %s\n%s: %s", same[i].url, url, same[i].step, step);
        if (same[i].refused == NULL)
            assert_int_not_equal(url[0], '!');
        else
            assert_string_equal(url, same[i].refused);
    }
    arena_free(task.arena);
}

/* --- queries that only one reader can express --- */

TEST(test_url)
{
    static const struct {
        const char *text;
        const char *answer;
    } cases[] = {
        {"filter=1",
         "!invalid_query: filter: a condition is filter[field]=value or "
         "filter[field][operator]=value"},
        {"filter[a][b][c]=1",
         "!invalid_query: filter[a][b][c]: a condition is filter[field]=value or "
         "filter[field][operator]=value"},
        {"filter[or][0]=1",
         "!invalid_query: filter[or][0]: a condition is filter[field]=value or "
         "filter[field][operator]=value"},
        {"filter[or][0][and][1][or][2]=1",
         "!invalid_query: filter[or][0][and][1][or][2]: a condition is filter[field]=value or "
         "filter[field][operator]=value"},
        {"filter[or][100][a]=1",
         "!invalid_query: filter[or][100][a]: the number of a group must be between 0 and 99"},
        {"filter[or][-1][nope]=1",
         "!invalid_query: filter[or][-1][nope]: the number of a group must be between 0 and 99"},
        {"cursor=start&page=1&sort=nope", "!invalid_query: sort: there is no field \"nope\""},
        {"cursor=start&page=1", "!invalid_query: cursor: cannot be combined with page"},
        {"cursor=AAAA", "!invalid_query: cursor: is not a cursor of this query"},
        {"expand=a", "!invalid_query: expand: there is no field \"a\""},
        {"sort=a,b&order=desc",
         "!invalid_query: order: can only be used with a single field without '-' in sort"},
        {"order=up", "!invalid_query: order: must be asc or desc"},
        {"count=1", "!invalid_query: count: must be true or false"},
    };
    struct task task = {.arena = arena_new(0)};

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_string_equal(of_url(&task, cases[i].text), cases[i].answer);
    arena_free(task.arena);
}

static const char *many(struct arena *arena, int count)
{
    struct strbuf text;

    strbuf_init(&text, arena, (size_t)1 << 16);
    strbuf_cstr(&text, "{\"filter\":{\"and\":[");
    for (int i = 0; i < count; i++)
        strbuf_printf(&text, "%s{\"b\":%d}", i > 0 ? "," : "", i);
    strbuf_cstr(&text, "]}}");
    return strbuf_cstring(&text);
}

TEST(test_step)
{
    static const struct {
        const char *text;
        const char *answer;
    } cases[] = {
        {"{\"filter\":[]}", "!type_mismatch: filter: expected an object"},
        {"{\"filter\":{\"or\":[5]}}", "!type_mismatch: filter: expected an object"},
        {"{\"filter\":{\"a\":{\"eq\":{}}}}",
         "!type_mismatch: filter.a: expected a text, a number or a boolean"},
        {"{\"filter\":{\"a\":{\"gt\":null}}}",
         "!type_mismatch: filter.a: expected a text, a number or a boolean"},
        {"{\"filter\":{\"and\":[{\"a\":[[]]}]}}",
         "!type_mismatch: filter.and: expected a text, a number or a boolean"},
        {"{\"filter\":{\"or\":[{\"or\":[{\"or\":[{\"a\":1}]}]}]}}",
         "!invalid_query: filter: groups are nested too deep"},
        {"{\"filter\":{\"a\":{\"eq\":[\"x\"]}}}",
         "!invalid_query: filter[a][eq]: takes one value, not a list"},
        {"{\"sort\":{}}", "!type_mismatch: sort: expected names"},
        {"{\"fields\":[[]]}", "!type_mismatch: fields: expected names"},
        {"{\"limit\":[],\"page\":0}", "!type_mismatch: limit: expected a number"},
        {"{\"limit\":1.5,\"filter\":{\"nope\":1}}",
         "!invalid_query: limit: must be a whole number"},
    };
    struct task task = {.arena = arena_new(0)};

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_string_equal(of_step(&task, cases[i].text), cases[i].answer);
    assert_string_equal(of_step(&task, many(task.arena, 51)),
                        "!invalid_query: filter[and][50][b][eq]: there are more than 50 "
                        "conditions");
    assert_string_equal(of_step(&task, many(task.arena, 200)),
                        "!too_long: filter: there are more than 50 conditions");
    arena_free(task.arena);
}
