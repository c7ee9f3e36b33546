/* Conditions as SQL. Names come from the model, values are parameters. */
#include "base/panic.h"
#include "records/query/filter_tree.h"
#include "records/rules/rls.h"
#include "records/rules/statement.h"

/* Where conditions are written to. */
struct filter_writer {
    const struct records_ctx *ctx;
    struct strbuf *sql;
    struct sql_params *params;
};

/* The column of a condition: "t.f_12". */
struct filter_column {
    const char *alias;
    const struct model_field *field;
    struct str collation; /* for ordered comparisons; empty: none */
};

static void filter_put(const struct filter_writer *out, const char *text)
{
    strbuf_cstr(out->sql, text);
}

static void filter_put_column(const struct filter_writer *out, const struct filter_column *column)
{
    filter_put(out, column->alias);
    strbuf_char(out->sql, '.');
    strbuf_str(out->sql, column->field->column);
}

static void filter_put_value(const struct filter_writer *out,
                             const struct filter_column *column,
                             struct db_param value)
{
    sql_bind(out->sql, out->params, value, field_sql_type(column->field));
}

static void filter_compare(const struct filter_writer *out,
                           const struct filter_column *column,
                           const char *op,
                           struct db_param value)
{
    filter_put_column(out, column);
    filter_put(out, op);
    filter_put_value(out, column, value);
}

/* For comparisons other than equality: texts in the order of the project's locale. */
static void filter_compare_ordered(const struct filter_writer *out,
                                   const struct filter_column *column,
                                   const char *op,
                                   struct db_param value)
{
    filter_put_column(out, column);
    sql_put_collation(out->sql, column->collation);
    filter_put(out, op);
    filter_put_value(out, column, value);
}

/* --- times: stored to the microsecond, shown and compared to the millisecond --- */

/* PostgreSQL adds the millisecond, so that the last millisecond of the year 9999 also has a next
 * one. */
static void compare_next_ms(const struct filter_writer *out,
                            const struct filter_column *column,
                            const char *op,
                            struct db_param time)
{
    filter_put_column(out, column);
    filter_put(out, op);
    filter_put(out, "(");
    filter_put_value(out, column, time);
    filter_put(out, " + interval '1 millisecond')");
}

/* From the millisecond `low` to the end of the millisecond `high`. */
static void put_span(const struct filter_writer *out,
                     const struct filter_column *column,
                     struct db_param low,
                     struct db_param high)
{
    filter_compare(out, column, " >= ", low);
    filter_put(out, " and ");
    compare_next_ms(out, column, " < ", high);
}

static void put_time_test(const struct filter_writer *out,
                          const struct filter_column *column,
                          const struct filter_test *test)
{
    struct db_param value = test->values[0];

    switch (test->op) {
    case OP_EQ:
        put_span(out, column, value, value);
        return;
    case OP_NE:
        filter_put(out, "(");
        put_span(out, column, value, value);
        filter_put(out, ") is not true");
        return;
    case OP_GT:
        compare_next_ms(out, column, " >= ", value);
        return;
    case OP_GTE:
        filter_compare(out, column, " >= ", value);
        return;
    case OP_LT:
        filter_compare(out, column, " < ", value);
        return;
    case OP_LTE:
        compare_next_ms(out, column, " < ", value);
        return;
    case OP_BETWEEN:
        put_span(out, column, value, test->values[1]);
        return;
    default:
        PANIC("no such operator on times: %d", (int)test->op);
    }
}

/* --- tests --- */

/* "t.f_3 = any($1::bigint[])". nin and ne accept null, because null is not in the list. */
static void put_list(const struct filter_writer *out,
                     const struct filter_column *column,
                     const struct filter_test *test)
{
    bool not_in = test->op == OP_NIN;

    filter_put(out, not_in ? "(" : "");
    if (column->field->type == TYPE_DATETIME) {
        filter_put(out, "date_trunc('milliseconds', ");
        filter_put_column(out, column);
        filter_put(out, ")");
    } else {
        filter_put_column(out, column);
    }
    filter_put(out, " = any(");
    sql_bind(out->sql, out->params, test->values[0], field_sql_type(column->field));
    filter_put(out, "[])");
    filter_put(out, not_in ? ") is not true" : "");
}

static void put_plain_test(const struct filter_writer *out,
                           const struct filter_column *column,
                           const struct filter_test *test)
{
    const char *sql = filter_operator(test->op)->sql;

    switch (test->op) {
    case OP_NULL:
        filter_put_column(out, column);
        filter_put(out, test->wants_null ? " is null" : " is not null");
        return;
    case OP_IN:
    case OP_NIN:
        put_list(out, column, test);
        return;
    case OP_BETWEEN:
        filter_compare_ordered(out, column, " >= ", test->values[0]);
        filter_put(out, " and ");
        filter_compare_ordered(out, column, " <= ", test->values[1]);
        return;
    case OP_GT:
    case OP_GTE:
    case OP_LT:
    case OP_LTE:
        filter_compare_ordered(out, column, sql, test->values[0]);
        return;
    default:
        MUST(sql != NULL);
        filter_compare(out, column, sql, test->values[0]);
        return;
    }
}

static bool test_passes_null(const struct filter_test *test)
{
    return test->op == OP_NE || test->op == OP_NIN || (test->op == OP_NULL && test->wants_null);
}

static struct filter_test test_opposite(struct filter_test test)
{
    if (test.op == OP_NULL)
        test.wants_null = !test.wants_null;
    else
        test.op = test.op == OP_NE ? OP_EQ : OP_IN;
    return test;
}

/* eq, in: a link to any of the ids exists. ne, nin: no such link exists. null: no link at all
 * exists. Links to records that the caller may not see do not count. */
static void put_links_test(const struct filter_writer *out,
                           const struct filter_column *column,
                           const struct filter_test *test)
{
    const struct model_field *field = column->field;
    bool none = test_passes_null(test);

    strbuf_printf(out->sql,
                  "%sexists (select 1 from {p}.l_%lld l where l.from_id = %s.id",
                  none ? "not " : "",
                  (long long)field->id,
                  column->alias);
    if (test->op != OP_NULL) {
        bool list = test->op == OP_IN || test->op == OP_NIN;
        filter_put(out, list ? " and l.to_id = any(" : " and l.to_id = ");
        sql_bind(out->sql, out->params, test->values[0], list ? "bigint[]" : "bigint");
        filter_put(out, list ? ")" : "");
    }
    if (field->target != NULL && rls_applies(out->ctx, field->target)) {
        strbuf_printf(out->sql,
                      " and exists (select 1 from {p}.%.*s r where r.id = l.to_id",
                      STR_ARG(field->target->table));
        (void)rls_put_where(out->ctx, field->target, ACT_READ, "r", out->sql, out->params);
        filter_put(out, ")");
    }
    filter_put(out, ")");
}

/* One nested exists for each step of the path, each with the row rule of its entity. If no row is
 * reached, the field is null, as in path_value(). Therefore a test that accepts null is written as:
 * no row passes the opposite test. */
static void
put_test(const struct filter_writer *out, const struct filter_test *given, const char *alias)
{
    static const char *const aliases[PATH_STEPS] = {"r1", "r2", "r3", "r4"};
    bool none = given->path.count > 0 && test_passes_null(given);
    const struct filter_test opposite = none ? test_opposite(*given) : *given;
    const struct filter_test *test = &opposite;

    filter_put(out, none ? "not " : "");
    for (size_t i = 0; i < test->path.count; i++) {
        const struct model_field *step = test->path.steps[i];
        const char *next = aliases[i];
        strbuf_printf(
            out->sql, "exists (select 1 from {p}.%.*s %s", STR_ARG(step->target->table), next);
        if (step->is_many)
            strbuf_printf(out->sql,
                          " join {p}.l_%lld l%s on l%s.to_id = %s.id where l%s.from_id = %s.id",
                          (long long)step->id,
                          next,
                          next,
                          next,
                          next,
                          alias);
        else
            strbuf_printf(out->sql, " where %s.id = %s.%.*s", next, alias, STR_ARG(step->column));
        (void)rls_put_where(out->ctx, step->target, ACT_READ, next, out->sql, out->params);
        filter_put(out, " and ");
        alias = next;
    }

    struct filter_column column = {alias, test->path.field, test->path.collation};
    bool spans = test->op != OP_NULL && test->op != OP_IN && test->op != OP_NIN;
    if (test->path.field->is_many)
        put_links_test(out, &column, test);
    else if (test->path.field->type == TYPE_DATETIME && spans)
        put_time_test(out, &column, test);
    else
        put_plain_test(out, &column, test);
    for (size_t i = 0; i < test->path.count; i++)
        filter_put(out, ")");
}

static void put_node(const struct filter_writer *out, /* NOLINT(misc-no-recursion): FILTER_GROUPS */
                     const struct filter_node *node,
                     const char *alias)
{
    filter_put(out, "(");
    for (const struct filter_node *it = node->first; it != NULL; it = it->next) {
        if (it != node->first)
            filter_put(out, node->kind == NODE_ANY ? " or " : " and ");
        if (it->kind == NODE_TEST) {
            filter_put(out, "(");
            put_test(out, &it->test, alias);
            filter_put(out, ")");
        } else {
            put_node(out, it, alias);
        }
    }
    filter_put(out, ")");
}

void filter_put_where(const struct records_ctx *ctx,
                      const struct filter *filter,
                      const char *alias,
                      struct strbuf *sql,
                      struct sql_params *params)
{
    const struct filter_writer out = {ctx, sql, params};

    if (filter == NULL)
        return;
    strbuf_str(sql, STR(" and "));
    put_node(&out, &filter->root, alias);
}
