/* Checks a filter's conditions and makes a tree of them. */
#include <string.h>

#include "base/clock.h"
#include "base/num.h"
#include "records/query/filter_tree.h"
#include "records/records.h"
#include "records/rules/error.h"
#include "records/rules/value.h"

#define SLOT_MAX 99 /* largest n of filter[or][n] */

/* The condition being read, and its context. */
struct condition_reader {
    struct records_ctx *ctx;
    struct filter *filter;
    const struct entity *entity;
    const struct records_condition *from;
};

static bool filter_refuse(const struct condition_reader *in, const char *message)
{
    records_finding_add(in->ctx, in->from->name, PROBLEM_INVALID_QUERY, "%s", message);
    return false;
}

/* --- values --- */

/* Escapes the wildcards of LIKE: "50%" finds just that text. */
static struct str like_pattern(struct arena *arena, struct str text, enum operator_operand takes)
{
    struct strbuf out;

    strbuf_init(&out, arena, text.len * 2 + 2);
    if (takes != TAKES_START)
        strbuf_char(&out, '%');
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '%' || text.ptr[i] == '_' || text.ptr[i] == '\\')
            strbuf_char(&out, '\\');
        strbuf_char(&out, text.ptr[i]);
    }
    if (takes != TAKES_END)
        strbuf_char(&out, '%');
    return strbuf_view(&out);
}

static bool filter_read_value(const struct condition_reader *in,
                              const struct model_field *field,
                              struct str text,
                              struct db_param *ret_value)
{
    const char *wrong = value_filter(in->ctx->project, field, text, ret_value);

    return wrong == NULL || filter_refuse(in, wrong);
}

/* Removes the first value from a comma-separated list. A value is written as it is, or in double
 * quotes, which blanks may surround and in which two quotes mean one. Returns false if a quote is
 * not closed, or if text follows the closing quote. */
static bool list_take_value(struct arena *arena, struct str *rest, struct str *ret_value)
{
    struct str text = str_trim(*rest);
    size_t end = 1;

    if (text.len == 0 || text.ptr[0] != '"') {
        *ret_value = str_split(rest, ',');
        return true;
    }
    while (end < text.len &&
           (text.ptr[end] != '"' || (end + 1 < text.len && text.ptr[end + 1] == '"')))
        end += text.ptr[end] == '"' ? 2 : 1;
    if (end >= text.len)
        return false;
    char *value = arena_alloc(arena, end);
    size_t len = 0;
    for (size_t i = 1; i < end; i += text.ptr[i] == '"' ? 2 : 1)
        value[len++] = text.ptr[i];
    *ret_value = (struct str){value, len};
    const char *behind = text.ptr + end + 1;
    *rest = (struct str){behind, (size_t)(rest->ptr + rest->len - behind)};
    return str_trim(str_split(rest, ',')).len == 0;
}

/* Splits a list into at most FILTER_ITEMS values. Returns NULL if the list is refused. */
static struct str *list_split(const struct condition_reader *in, size_t *ret_count)
{
    const struct records_condition *from = in->from;
    struct arena *arena = in->ctx->task->arena;
    struct str *texts = ARENA_ARRAY(arena, texts, FILTER_ITEMS);
    struct str rest = from->value;
    size_t count = 0;

    while (from->list != NULL ? count < from->list_count : rest.ptr != NULL) {
        if (count == FILTER_ITEMS) {
            (void)filter_refuse(in, "lists more than 500 values");
            return NULL;
        }
        if (from->list != NULL) {
            texts[count] = from->list[count];
        } else if (!list_take_value(arena, &rest, &texts[count])) {
            (void)filter_refuse(in,
                                "has an unclosed quote, or text after a closing quote: "
                                "\"a,b\",c lists two values, \"\"\"\" is a quote");
            return NULL;
        }
        count++;
    }
    *ret_count = count;
    return texts;
}

/* Values of a list: whole numbers as bigint[], other types as text[] that the statement casts. */
static bool filter_read_list(const struct condition_reader *in, struct filter_test *test)
{
    struct arena *arena = in->ctx->task->arena;
    size_t count;
    struct str *texts = list_split(in, &count);
    if (texts == NULL)
        return false;

    int64_t *numbers = ARENA_ARRAY(arena, numbers, count);
    bool whole = false;
    for (size_t i = 0; i < count; i++) {
        struct db_param value;
        if (!filter_read_value(in, test->path.field, texts[i], &value))
            return false;
        whole = value.kind == PARAM_I64;
        if (whole)
            numbers[i] = value.i64;
        if (value.kind == PARAM_TIME) {
            char *buf = arena_alloc(arena, CLOCK_TEXT_BYTES);
            texts[i] = str_from(clock_format(buf, value.i64));
        }
    }
    test->values[0] = whole ? P_I64S(numbers, count) : P_STRS(texts, count);
    return true;
}

static bool read_between(const struct condition_reader *in, struct filter_test *test)
{
    size_t count;
    const struct str *ends = list_split(in, &count);

    if (ends == NULL)
        return false;
    if (count != 2)
        return filter_refuse(in, "takes two values: low,high");
    return filter_read_value(in, test->path.field, ends[0], &test->values[0]) &&
           filter_read_value(in, test->path.field, ends[1], &test->values[1]);
}

static bool read_values(const struct condition_reader *in, struct filter_test *test)
{
    enum operator_operand takes = filter_operator(test->op)->operand;
    struct str text = in->from->value;

    if (takes == TAKES_LIST)
        return filter_read_list(in, test);
    if (takes == TAKES_PAIR)
        return read_between(in, test);
    if (in->from->list != NULL)
        return filter_refuse(in, "takes one value, not a list");
    switch (takes) {
    case TAKES_FLAG:
        test->wants_null = str_is(text, "true");
        return test->wants_null || str_is(text, "false") ||
               filter_refuse(in, "must be true or false");
    case TAKES_PART:
    case TAKES_START:
    case TAKES_END:
        test->values[0] = P_STR(like_pattern(in->ctx->task->arena, text, takes));
        return true;
    default:
        return filter_read_value(in, test->path.field, text, &test->values[0]);
    }
}

/* --- conditions --- */

static bool filter_read_test(const struct condition_reader *in, struct filter_test *test)
{
    const struct records_condition *from = in->from;

    if (!path_find(in->ctx, in->entity, from->field, &test->path)) {
        records_finding_add_unknown(in->ctx, from->name, from->field);
        return false;
    }
    if (test->path.field->type == TYPE_SECRET)
        return filter_refuse(in, "secret fields cannot be filtered");
    if (from->op == OP_COUNT)
        return filter_refuse(
            in,
            arena_printf(in->ctx->task->arena, "the operator must be one of %s", filter_op_names)
                .ptr);
    test->op = from->op;
    if ((model_type_info(test->path.field->type)->fits & filter_operator(test->op)->scope) == 0)
        return filter_refuse(in, "the operator cannot be used with fields of this type");
    return read_values(in, test);
}

/* --- tree --- */

static struct filter_node *add_node(struct arena *arena, struct filter_node *parent, int kind)
{
    struct filter_node *node = ARENA_NEW(arena, node);

    node->kind = (__typeof__(node->kind))kind;
    node->index = -1;
    if (parent->last != NULL)
        parent->last->next = node;
    else
        parent->first = node;
    parent->last = node;
    return node;
}

/* Groups of the same kind under one parent are one node: it holds both or[0] and or[1]. */
static struct filter_node *
child_node(struct arena *arena, struct filter_node *parent, int kind, int64_t index)
{
    for (struct filter_node *it = parent->first; it != NULL; it = it->next)
        if ((int)it->kind == kind && it->index == index)
            return it;
    struct filter_node *node = add_node(arena, parent, kind);
    node->index = index;
    return node;
}

static bool filter_read_condition(const struct condition_reader *in)
{
    struct arena *arena = in->ctx->task->arena;
    struct filter_node *node = &in->filter->root;
    struct filter_test test = {0};

    for (size_t i = 0; i < in->from->group_count; i++) {
        const struct filter_group *group = &in->from->groups[i];
        if (group->slot < 0 || group->slot > SLOT_MAX)
            return filter_refuse(in, "the number of a group must be between 0 and 99");
        node = child_node(arena, node, group->is_or ? NODE_ANY : NODE_ALL, -1);
        node = child_node(arena, node, NODE_ALL, group->slot);
    }
    if (in->from->field.ptr == NULL)
        return filter_refuse(in,
                             "a condition is filter[field]=value or filter[field][operator]=value");
    if (!filter_read_test(in, &test))
        return false;
    add_node(arena, node, NODE_TEST)->test = test;
    return true;
}

int filter_plan(struct records_ctx *ctx,
                const struct entity *entity,
                const struct records_filter *from,
                struct filter **ret_filter)
{
    struct filter *filter = from->item_count > 0 ? ARENA_NEW(ctx->task->arena, filter) : NULL;

    for (size_t i = 0; i < from->item_count; i++) {
        struct condition_reader in = {ctx, filter, entity, &from->items[i]};
        if (i == FILTER_MAX) {
            (void)filter_refuse(&in, "there are more than 50 conditions");
            break;
        }
        (void)filter_read_condition(&in);
    }
    TRY(records_fail_findings(ctx, PROBLEM_INVALID_QUERY));
    *ret_filter = filter;
    return 0;
}
