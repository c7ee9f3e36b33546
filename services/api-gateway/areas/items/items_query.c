/* URLs as queries of records. */
#include "areas/items/items_query.h"

#include "base/num.h"
#include "base/utf8.h"
#include "http/page.h"

enum { NAME_SHOWN_BYTES = 80 };

/* --- names of parameters --- */

/* NULL when it is none of them. */
static const char *find_name(const char *const *known, struct str name)
{
    while (*known != NULL && !str_is(name, *known))
        known++;
    return *known;
}

/* Each at most once, and none but filter with keys in brackets. */
static int check_names(struct records_ctx *ctx, const struct query *query, const char *const *known)
{
    const struct schema_errors *found = &ctx->error.fields;

    for (size_t i = 0; i < query->count; i++) {
        const struct query_item *item = &query->items[i];
        const char *name = find_name(known, item->name);
        struct str shown = utf8_cut(item->name, NAME_SHOWN_BYTES);

        if (name == NULL)
            records_finding(ctx, shown, PROBLEM_UNKNOWN_PARAMETER, "is not a known parameter");
        else if (item->key_count > 0 && !str_is(item->name, "filter"))
            records_finding(ctx, shown, PROBLEM_INVALID_QUERY, QUERY_NO_BRACKETS);
        else if (item->key_count == 0 && query_get(query, name).ptr != item->value.ptr)
            records_finding(ctx, shown, PROBLEM_INVALID_QUERY, "is given more than once");
    }
    bool unknown =
        found->count == 1 && problem_find(found->items[0].code) == PROBLEM_UNKNOWN_PARAMETER;
    return records_fail_found(ctx, unknown ? PROBLEM_UNKNOWN_PARAMETER : PROBLEM_INVALID_QUERY);
}

/* --- filters --- */

/* filter[or][0]: a number behind it tells the group from a field of that name. */
static bool is_group(const struct str *keys, size_t count, struct filter_group *ret_group)
{
    ret_group->any = str_is(keys[0], "or");
    return (ret_group->any || str_is(keys[0], "and")) && count > 1 &&
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

struct records_condition items_condition(struct arena *arena, const struct str *keys, size_t count)
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

struct records_filter items_filter_read(struct arena *arena, const struct query *query)
{
    struct records_condition *items = ARENA_ARRAY(arena, items, query->count + 1);
    size_t count = 0;

    for (size_t i = 0; i < query->count; i++) {
        const struct query_item *item = &query->items[i];
        if (!str_is(item->name, "filter"))
            continue;
        items[count] = items_condition(arena, item->keys, item->key_count);
        items[count++].value = item->value;
    }
    return (struct records_filter){items, count};
}

/* --- lists, records, exports, groups --- */

/* Filter and order as they were written. */
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
                     enum items_read what,
                     const struct query *query,
                     struct records_query *ret_query)
{
    static const char *const known[][10] = {
        [ITEMS_LIST] =
            {"page", "limit", "sort", "order", "count", "fields", "expand", "filter", "cursor"},
        [ITEMS_ONE] = {"fields", "expand"},
        [ITEMS_EXPORT] = {"filter", "sort", "order", "fields", "format"},
    };
    struct arena *arena = ctx->task->arena;
    struct str cursor = query_get(query, "cursor");
    struct page page;

    TRY(check_names(ctx, query, known[what]));
    (void)page_parse(arena, query, &page, &ctx->error.fields);
    TRY(records_fail_found(ctx, PROBLEM_INVALID_QUERY));
    *ret_query = (struct records_query){
        .filter = items_filter_read(arena, query),
        .fields = query_get(query, "fields"),
        .expand = query_get(query, "expand"),
        .sort = page.sort,
        .limit = page.limit,
        .page = query_get(query, "page").ptr != NULL ? page.page : 0,
        /* Every page of a walk would tell the same total: it counts only when asked to. */
        .count = page.count && (cursor.ptr == NULL || query_get(query, "count").ptr != NULL),
        .cursor = str_is(cursor, "start") ? STR("") : cursor,
    };
    if (query_get(query, "order").ptr != NULL)
        ret_query->order = page.descending ? ORDER_DESC : ORDER_ASC;
    if (cursor.ptr != NULL)
        ret_query->context = print_context(arena, query);
    return 0;
}

int items_aggregate_read(struct records_ctx *ctx,
                         const struct query *query,
                         struct records_aggregate *ret_aggregate)
{
    static const char *const known[] = {
        "group_by", "count", "sum", "avg", "min", "max", "filter", "limit", NULL};
    struct str limit = query_get(query, "limit");

    TRY(check_names(ctx, query, known));
    *ret_aggregate = (struct records_aggregate){
        .filter = items_filter_read(ctx->task->arena, query),
        .group_by = query_get(query, "group_by"),
        .metrics = {[METRIC_SUM] = query_get(query, "sum"),
                    [METRIC_AVG] = query_get(query, "avg"),
                    [METRIC_MIN] = query_get(query, "min"),
                    [METRIC_MAX] = query_get(query, "max")},
        .count = query_get(query, "count"),
        .limit = AGGREGATE_GROUPS,
    };
    if (limit.ptr != NULL && !num_parse_i64(limit, &ret_aggregate->limit))
        ret_aggregate->limit = 0; /* refused with the rest */
    return 0;
}
