/* Sort orders. */
#include "records/query/sort.h"

#include "records/records.h"
#include "records/rules/error.h"
#include "records/rules/statement.h"

static bool sort_refuse(struct records_ctx *ctx, const char *parameter, const char *message)
{
    records_finding_add(ctx, str_from(parameter), PROBLEM_INVALID_QUERY, "%s", message);
    return false;
}

static bool is_sortable(struct records_ctx *ctx, const struct path *path)
{
    const struct model_type_info *type = model_type_info(path->field->type);

    if ((type->fits & FITS_SET) == 0)
        return sort_refuse(
            ctx,
            "sort",
            arena_printf(ctx->task->arena, "cannot sort by a %s field", type->name).ptr);
    if (path_is_many(path))
        return sort_refuse(ctx, "sort", "cannot sort by a relation to many records");
    return true;
}

static bool sort_read_key(struct records_ctx *ctx,
                          const struct entity *entity,
                          struct str text,
                          struct sort_key *ret_key)
{
    ret_key->descending = text.len > 0 && text.ptr[0] == '-';
    if (ret_key->descending) {
        text.ptr++;
        text.len--;
    }
    if (!path_find(ctx, entity, text, &ret_key->path)) {
        records_finding_add_unknown(ctx, STR("sort"), text);
        return false;
    }
    return is_sortable(ctx, &ret_key->path);
}

/* `order` sets the direction of a single field. With several fields, or with '-', it would
 * contradict or repeat the sort. */
static void order_apply(struct records_ctx *ctx, enum records_order order, struct sort *sort)
{
    if (order == ORDER_NONE)
        return;
    if (sort->count > 1 || (sort->count == 1 && sort->keys[0].descending))
        (void)sort_refuse(ctx, "order", "can only be used with a single field without '-' in sort");
    else if (sort->count == 1)
        sort->keys[0].descending = order == ORDER_DESC;
}

static bool sort_is_id(const struct sort_key *key)
{
    return key->path.count == 0 && key->path.field == &key->path.field->entity->fields[0];
}

/* The id is the last key, in the direction of the key before it, so that an index on that key
 * serves both. Keys after an id have no effect and are removed. */
static void order_add_id(const struct entity *entity, enum records_order order, struct sort *sort)
{
    for (size_t i = 0; i < sort->count; i++) {
        if (sort_is_id(&sort->keys[i])) {
            sort->count = i + 1;
            return;
        }
    }
    bool down = sort->count > 0 ? sort->keys[sort->count - 1].descending : order == ORDER_DESC;
    sort->keys[sort->count++] = (struct sort_key){
        .path = {.field = &entity->fields[0]},
        .descending = down,
    };
}

int sort_plan(struct records_ctx *ctx,
              const struct entity *entity,
              const struct records_query *query,
              struct sort *ret_sort)
{
    struct sort sort = {.count = 0};
    struct str rest = query->sort;

    while (query->sort.len > 0 && rest.ptr != NULL) {
        struct str text = str_split(&rest, ',');
        if (sort.count == SORT_KEYS) {
            (void)sort_refuse(ctx, "sort", "names more than 5 fields");
            break;
        }
        if (sort_read_key(ctx, entity, text, &sort.keys[sort.count]))
            sort.count++;
    }
    order_apply(ctx, query->order, &sort);
    TRY(records_fail_findings(ctx, PROBLEM_INVALID_QUERY));
    order_add_id(entity, query->order, &sort);
    *ret_sort = sort;
    return 0;
}

void sort_put_order(const struct records_ctx *ctx,
                    const struct sort *sort,
                    const char *alias,
                    struct strbuf *sql,
                    struct sql_params *params)
{
    strbuf_str(sql, STR(" order by "));
    for (size_t i = 0; i < sort->count; i++) {
        const struct sort_key *key = &sort->keys[i];
        if (i > 0)
            strbuf_str(sql, STR(", "));
        path_value_collated(ctx, &key->path, alias, sql, params);
        if (!key->descending)
            continue;
        /* Only where there may be nulls: a plain index does not serve "desc nulls last". */
        strbuf_str(sql, path_is_nullable(&key->path) ? STR(" desc nulls last") : STR(" desc"));
    }
}
