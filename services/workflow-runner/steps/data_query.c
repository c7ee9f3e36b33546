/* Reads the parameters of ReadData, which its author wrote in JSON, as a query of records. */
#include "http/page.h"
#include "json/jr.h"
#include "records/records.h"
#include "steps/data.h"

#define CONDITIONS_MAX 127 /* conditions that are read; FILTER_MAX is enforced later */

/* --- parameters --- */

/* Reads a parameter. NULL when the parameter is left out or null. */
AWAITS static int read_optional_param(struct step_call *call, const char *name, json_t **ret_value)
{
    TRY(step_param(call, name, false, ret_value));
    data_set_input(call, name, *ret_value);
    if (*ret_value != NULL && json_is_null(*ret_value))
        *ret_value = NULL;
    return 0;
}

static bool scalar_text(struct step_call *call, const json_t *value, struct str *ret_text)
{
    if (json_is_string(value))
        *ret_text = (struct str){json_string_value(value), json_string_length(value)};
    else if (json_is_number(value) || json_is_boolean(value))
        *ret_text = jr_print(call->task->arena, value);
    else
        return false;
    return true;
}

/* --- filters --- */

struct filter_reader {
    struct step_call *call;
    struct records_condition *items;
    size_t count;
};

static int data_query_add_condition(struct filter_reader *in,
                                    const struct records_condition *condition)
{
    if (in->count == CONDITIONS_MAX)
        return step_fail(in->call, PROBLEM_TOO_LONG, "filter: there are more than 50 conditions");
    in->items[in->count] = *condition;
    if (condition->name.len > FILTER_NAME_BYTES)
        in->items[in->count].name = STR("filter");
    in->count++;
    return 0;
}

/* Makes "filter[price][gte]" of "filter[price]" and "gte". */
static struct str
filter_member_name(const struct filter_reader *in, struct str name, struct str key)
{
    return arena_printf(in->call->task->arena, "%.*s[%.*s]", STR_ARG(name), STR_ARG(key));
}

static int fail_value(struct filter_reader *in, const struct records_condition *condition)
{
    struct str name = condition->field;

    if (condition->group_count > 0)
        name = condition->groups[0].is_or ? STR("or") : STR("and");
    return step_fail(in->call,
                     PROBLEM_TYPE_MISMATCH,
                     "filter.%.*s: expected a text, a number or a boolean",
                     STR_ARG(name));
}

static int
read_value(struct filter_reader *in, struct records_condition *condition, const json_t *value)
{
    size_t count = json_array_size(value);

    if (!json_is_array(value))
        return scalar_text(in->call, value, &condition->value) ? 0 : fail_value(in, condition);
    struct str *texts = ARENA_ARRAY(in->call->task->arena, texts, count + 1); /* NULL = no list */
    for (size_t i = 0; i < count; i++)
        if (!scalar_text(in->call, json_array_get(value, i), &texts[i]))
            return fail_value(in, condition);
    condition->list = texts;
    condition->list_count = count;
    return 0;
}

/* Adds a condition. {"eq": null} matches fields without a value, {"ne": null} fields with one. */
static int add_test(struct filter_reader *in,
                    struct records_condition test,
                    struct str op,
                    const json_t *value)
{
    test.op = filter_op_find(op);
    if (json_is_null(value)) {
        if (test.op != OP_EQ && test.op != OP_NE)
            return fail_value(in, &test);
        test.value = test.op == OP_EQ ? STR("true") : STR("false");
        test.op = OP_NULL;
        op = STR("null");
    } else {
        TRY(read_value(in, &test, value));
    }
    test.name = filter_member_name(in, test.name, op);
    return data_query_add_condition(in, &test);
}

static int data_query_add_field(struct filter_reader *in,
                                struct records_condition condition,
                                struct str field,
                                const json_t *value)
{
    const char *name;
    size_t len;
    json_t *item;

    condition.field = field;
    if (!json_is_object(value))
        return add_test(in, condition, json_is_array(value) ? STR("in") : STR("eq"), value);
    json_object_keylen_foreach((json_t *)value, name, len, item)
        TRY(add_test(in, condition, (struct str){name, len}, item));
    return 0;
}

/* NOLINTBEGIN(misc-no-recursion): not deeper than FILTER_GROUPS */
static int
add_group(struct filter_reader *in, struct records_condition outer, const json_t *members)
{
    const char *name;
    size_t len;
    json_t *item;

    if (!json_is_object(members))
        return step_fail(in->call, PROBLEM_TYPE_MISMATCH, "filter: expected an object");
    json_object_keylen_foreach((json_t *)members, name, len, item)
    {
        struct str key = {name, len};
        struct records_condition inner = outer;
        bool any = str_is(key, "or");
        if (outer.group_count == FILTER_GROUPS)
            return step_fail(in->call, PROBLEM_INVALID_QUERY, "filter: groups are nested too deep");
        struct str named = filter_member_name(in, outer.name, key);
        inner.name = named;
        if (!json_is_array(item) || (!any && !str_is(key, "and"))) {
            TRY(data_query_add_field(in, inner, key, item));
            continue;
        }
        inner.group_count++;
        for (size_t i = 0; i < json_array_size(item); i++) {
            inner.groups[outer.group_count] = (struct filter_group){any, (int64_t)i};
            inner.name =
                filter_member_name(in, named, arena_printf(in->call->task->arena, "%zu", i));
            TRY(add_group(in, inner, json_array_get(item, i)));
        }
    }
    return 0;
}
/* NOLINTEND(misc-no-recursion) */

AWAITS static int data_query_read_filter(struct step_call *call, struct records_filter *ret_filter)
{
    struct filter_reader in = {.call = call};
    json_t *filter;

    TRY(read_optional_param(call, "filter", &filter));
    if (filter == NULL)
        return 0;
    in.items = ARENA_ARRAY(call->task->arena, in.items, CONDITIONS_MAX);
    TRY(add_group(&in, (struct records_condition){.name = STR("filter")}, filter));
    *ret_filter = (struct records_filter){in.items, in.count};
    return 0;
}

/* --- other parameters --- */

int data_read_names(struct step_call *call, const char *name, struct str *ret_names)
{
    struct strbuf out;
    struct str text;
    json_t *value;

    TRY(read_optional_param(call, name, &value));
    if (value == NULL || scalar_text(call, value, ret_names))
        return 0;
    if (!json_is_array(value))
        return step_fail(call, PROBLEM_TYPE_MISMATCH, "%s: expected names", name);
    strbuf_init(&out, call->task->arena, (size_t)64 << 10);
    for (size_t i = 0; i < json_array_size(value); i++) {
        if (!scalar_text(call, json_array_get(value, i), &text))
            return step_fail(call, PROBLEM_TYPE_MISMATCH, "%s: expected names", name);
        strbuf_printf(&out, "%s%.*s", i > 0 ? "," : "", STR_ARG(text));
    }
    *ret_names = strbuf_view(&out);
    return 0;
}

AWAITS static int read_number(struct step_call *call, const char *name, struct str *ret_text)
{
    json_t *value;

    TRY(read_optional_param(call, name, &value));
    if (value == NULL || scalar_text(call, value, ret_text))
        return 0;
    return step_fail(call, PROBLEM_TYPE_MISMATCH, "%s: expected a number", name);
}

int data_read_query(struct step_call *call, struct data_step *data, struct records_query *ret_query)
{
    struct records_query query = {.with_total = false};
    struct str limit = STR_NONE;
    struct str number = STR_NONE;
    struct page page;

    TRY(data_query_read_filter(call, &query.filter));
    TRY(data_read_names(call, "sort", &query.sort));
    TRY(data_read_names(call, "fields", &query.fields));
    TRY(read_number(call, "limit", &limit));
    TRY(read_number(call, "page", &number));
    if (!page_numbers(call->task->arena, limit, number, &page, &data->ctx.error.fields))
        return data_translate_result(
            call, data, records_fail_findings(&data->ctx, PROBLEM_INVALID_QUERY));
    query.limit = page.limit;
    query.page = page.page;
    *ret_query = query;
    return 0;
}
