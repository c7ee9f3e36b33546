/*
 * Any query string as filter, sort, fields, expand and cursor for a hand-made model. An accepted
 * query must give a balanced statement with numbered parameters that contains none of the caller's
 * text.
 */
#include "../unit/records_model.h"

#include "base/panic.h"
#include "records/query/cursor.h"
#include "records/query/filter.h"
#include "records/read/columns.h"
#include "records/read/expand.h"
#include "records/rules/error.h"
#include "records/rules/rls.h"
#include "records/rules/statement.h"

/* NOLINTNEXTLINE(bugprone-suspicious-include): a daemon has no library */
#include "items/items_query.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MARK "qzx" /* a run of letters that no name of the model and no word of SQL has */

/* Parentheses close, and "$n" stays within the parameters. */
static void check_text(struct str text, size_t count)
{
    long depth = 0;

    for (size_t i = 0; i < text.len; i++) {
        depth += text.ptr[i] == '(' ? 1 : text.ptr[i] == ')' ? -1 : 0;
        MUST(depth >= 0);
        if (text.ptr[i] == '$') {
            char *end;
            unsigned long number = strtoul(text.ptr + i + 1, &end, 10);
            MUST(number >= 1 && number <= count);
        }
    }
    MUST(depth == 0);
    MUST(memmem(text.ptr, text.len, MARK, strlen(MARK)) == NULL);
}

static void build(struct records_ctx *ctx, const struct query *from)
{
    const struct entity *entity = &entities[0];
    struct records_query query;
    struct filter *filter = NULL;
    struct columns plan;
    struct sort sort;
    struct cursor cursor;
    struct strbuf text;
    struct sql_params params;

    if (items_query_read(ctx, from, &query) != 0 ||
        columns_plan(ctx, entity, query.fields, &plan) != 0 ||
        expand_plan(ctx, query.expand, &plan) != 0 ||
        filter_plan(ctx, entity, &query.filter, &filter) != 0 ||
        sort_plan(ctx, entity, &query, &sort) != 0 ||
        cursor_open(ctx, entity, &query, &sort, &cursor) != 0) {
        MUST(ctx->error.code != PROBLEM_NONE);
        return;
    }
    strbuf_init(&text, ctx->task->arena, RECORDS_SQL_BYTES);
    sql_params_init(&params, ctx->task->arena);
    columns_sql(ctx, &plan, "t", &text, &params);
    (void)rls_put_where(ctx, &entities[1], ACT_READ, "t", &text, &params);
    filter_put_where(ctx, filter, "t", &text, &params);
    cursor_put_where(ctx, &cursor, &sort, "t", &text, &params);
    sort_put_order(ctx, &sort, "t", &text, &params);
    struct sql *sql = sql_dynamic(ctx, "fuzz", &text, params.count, SQL_MANY);
    check_text(str_from(sql->text), params.count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct task task = {.arena = arena_new(0)};
    struct db db = {.schema = 1};
    struct records_ctx ctx = {.task = &task, .db = &db, .model = &model, .caller = model_caller()};
    struct query query;
    const char *reason;
    if (query_parse(task.arena, (struct str){(const char *)data, size}, &query, &reason) == 0)
        build(&ctx, &query);
    arena_free(task.arena);
    return 0;
}
