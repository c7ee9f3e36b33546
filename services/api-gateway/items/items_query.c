/* Reads URLs as queries of records. */
#include "items/items_query.h"

#include "base/num.h"
#include "http/page.h"
#include "records/records.h"

/* --- filters --- */

/* filter[or][0]: the number after `or` or `and` distinguishes a group from a field of that name. */
static bool is_group(const struct str *keys, size_t count, struct filter_group *ret_group)
{
    ret_group->is_or = str_is(keys[0], "or");
    return (ret_group->is_or || str_is(keys[0], "and")) && count > 1 &&
           num_parse_i64(keys[1], &ret_group->slot);
}

static struct str print_name(struct arena *arena, const struct str *keys, size_t count)
{
    struct strbuf out;

    strbuf_init(&out, arena, FILTER_NAME_BYTES);
    strbuf_str(&out, STR("filter"));
    for (size_t i = 0; i < count; i++) {
        strbuf_char(&out, '[');
        strbuf_str(&out, keys[i]);
        strbuf_char(&out, ']');
    }
    return out.overflow ? STR("filter") : strbuf_view(&out);
}

struct records_condition
items_condition_read(struct arena *arena, const struct str *keys, size_t count)
{
    struct records_condition condition = {.name = print_name(arena, keys, count)};
    struct filter_group *group = condition.groups;
    size_t at = 0;

    for (; at < count && is_group(&keys[at], count - at, group); at += 2)
        group++;
    condition.group_count = (size_t)(group - condition.groups);
    if (count - at != 1 && count - at != 2)
        return condition;
    condition.field = keys[at];
    if (count - at == 2)
        condition.op = filter_op_find(keys[at + 1]);
    return condition;
}

/* Whether a parameter gives one value of a list: filter[field][in][]=value, or
 * filter[field][in][0]=value, where the number is the position in the list. Values without a number
 * keep their order and come last. */
static bool is_list_value(const struct query_item *item, int64_t *ret_place)
{
    size_t last = item->key_count - 1;

    if (item->key_count < 3 || filter_op_find(item->keys[last - 1]) == OP_COUNT)
        return false;
    *ret_place = INT64_MAX;
    return item->keys[last].len == 0 || num_parse_i64(item->keys[last], ret_place);
}

static bool is_same_list(const struct query_item *item, const struct query_item *other)
{
    int64_t position;

    if (!str_is(other->name, "filter") || other->key_count != item->key_count ||
        !is_list_value(other, &position))
        return false;
    for (size_t i = 0; i + 1 < item->key_count; i++)
        if (!str_eq(other->keys[i], item->keys[i]))
            return false;
    return true;
}

/* Reads the list that has query->items[at] as a value. Returns false when an earlier item is a
 * value of the same list: the list has been read with that item. */
static bool filter_list_read(struct arena *arena,
                             const struct query *query,
                             size_t at,
                             struct records_condition *ret_condition)
{
    const struct query_item *item = &query->items[at];
    struct str *values = ARENA_ARRAY(arena, values, query->count);
    int64_t *places = ARENA_ARRAY(arena, places, query->count);
    size_t count = 0;

    for (size_t i = 0; i < query->count; i++) {
        int64_t position;
        if (!is_same_list(item, &query->items[i]))
            continue;
        if (i < at)
            return false;
        (void)is_list_value(&query->items[i], &position);
        size_t to = count++;
        for (; to > 0 && places[to - 1] > position; to--) {
            values[to] = values[to - 1];
            places[to] = places[to - 1];
        }
        values[to] = query->items[i].value;
        places[to] = position;
    }
    *ret_condition = items_condition_read(arena, item->keys, item->key_count - 1);
    ret_condition->list = values;
    ret_condition->list_count = count;
    return true;
}

struct records_filter items_filter_read(struct arena *arena, const struct query *query)
{
    struct records_condition *items = ARENA_ARRAY(arena, items, query->count + 1);
    size_t count = 0;

    for (size_t i = 0; i < query->count; i++) {
        const struct query_item *item = &query->items[i];
        int64_t position;
        if (!str_is(item->name, "filter"))
            continue;
        if (is_list_value(item, &position)) {
            count += filter_list_read(arena, query, i, &items[count]);
            continue;
        }
        items[count] = items_condition_read(arena, item->keys, item->key_count);
        items[count++].value = item->value;
    }
    return (struct records_filter){items, count};
}

/* --- lists, records, exports, groups --- */

/* Prints filter and order as they are in the URL: a cursor is valid only with the same text. */
static struct str print_context(struct arena *arena, const struct query *query)
{
    struct strbuf text;

    strbuf_init(&text, arena, (size_t)1 << 20);
    for (size_t i = 0; i < query->count; i++) {
        const struct query_item *item = &query->items[i];
        if (!str_is(item->name, "filter") && !str_is(item->name, "sort") &&
            !str_is(item->name, "order"))
            continue;
        strbuf_char(&text, '&');
        strbuf_str(&text, item->name);
        for (size_t k = 0; k < item->key_count; k++) {
            strbuf_char(&text, '[');
            strbuf_str(&text, item->keys[k]);
        }
        strbuf_char(&text, '=');
        strbuf_str(&text, item->value);
    }
    return strbuf_view(&text);
}

int items_query_read(struct records_ctx *ctx,
                     const struct query *query,
                     struct records_query *ret_query)
{
    struct arena *arena = ctx->task->arena;
    struct str cursor = query_get(query, "cursor");
    bool walks = cursor.ptr != NULL;
    struct page page;

    (void)page_parse(arena, query, &page, &ctx->error.fields);
    TRY(records_fail_findings(ctx, PROBLEM_INVALID_QUERY));
    *ret_query = (struct records_query){
        .filter = items_filter_read(arena, query),
        .fields = query_get(query, "fields"),
        .expand = query_get(query, "expand"),
        .sort = page.sort,
        .limit = page.limit,
        .page = query_get(query, "page").ptr != NULL ? page.page : 0,
        /* Every page of a cursor would have the same total: count only on request. */
        .with_total = page.count && (!walks || query_get(query, "count").ptr != NULL),
        .cursor = walks && str_is(cursor, "start") ? STR("") : cursor,
    };
    if (query_get(query, "order").ptr != NULL)
        ret_query->order = page.descending ? ORDER_DESC : ORDER_ASC;
    if (walks)
        ret_query->context = print_context(arena, query);
    return 0;
}

struct records_aggregate items_aggregate_read(struct arena *arena, const struct query *query)
{
    struct str limit = query_get(query, "limit");
    struct records_aggregate aggregate = {
        .filter = items_filter_read(arena, query),
        .group_by = query_get(query, "group_by"),
        .metrics = {[METRIC_SUM] = query_get(query, "sum"),
                    [METRIC_AVG] = query_get(query, "avg"),
                    [METRIC_MIN] = query_get(query, "min"),
                    [METRIC_MAX] = query_get(query, "max")},
        .count = query_get(query, "count"),
        .limit = AGGREGATE_GROUPS,
    };

    if (limit.ptr != NULL && !num_parse_i64(limit, &aggregate.limit))
        aggregate.limit = 0; /* records_aggregate() refuses 0 */
    return aggregate;
}
