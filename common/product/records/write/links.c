/* Writes many relations, in link tables l_<field id>: one statement for each relation and any
 * number of records. */
#include "records/write/links.h"
#include "records/rules/field_rule.h"
#include "records/rules/rls.h"
#include "records/rules/statement.h"
#include "records/write/body.h"
#include "records/write/write.h"

void write_calls_init(struct write_calls *calls, struct arena *arena)
{
    *calls = (struct write_calls){.arena = arena};
}

void write_calls_add(struct write_calls *calls, struct db_call call)
{
    ARENA_PUSH(calls->arena, calls->items, calls->count, calls->cap, call);
}

/* The links of one relation as parallel arrays. */
struct link_list {
    const struct model_field *field;
    int64_t *from, *to, *position;
    size_t count;
    int64_t *owners; /* records whose links are written, also records without links */
    size_t owner_count;
};

static const struct value *links_value(const struct write_row *row, const struct model_field *field)
{
    for (size_t i = 0; i < row->link_count; i++)
        if (row->links[i].field == field)
            return &row->links[i];
    return NULL;
}

static void links_flatten(struct arena *arena,
                          const struct link_rows *of,
                          const struct model_field *field,
                          struct link_list *list)
{
    size_t total = 0;

    for (size_t i = 0; i < of->count; i++) {
        const struct value *value = links_value(&of->rows[i], field);
        total += value != NULL ? value->id_count : 0;
    }
    *list = (struct link_list){.field = field};
    list->from = ARENA_ARRAY(arena, list->from, total);
    list->to = ARENA_ARRAY(arena, list->to, total);
    list->position = ARENA_ARRAY(arena, list->position, total);
    list->owners = ARENA_ARRAY(arena, list->owners, of->count);
    for (size_t i = 0; i < of->count; i++) {
        const struct value *value = links_value(&of->rows[i], field);
        if (value == NULL || of->ids[i] == 0)
            continue;
        list->owners[list->owner_count++] = of->ids[i];
        for (size_t k = 0; k < value->id_count; k++) {
            list->from[list->count] = of->ids[i];
            list->to[list->count] = value->ids[k];
            list->position[list->count++] = (int64_t)k + 1;
        }
    }
}

/* Keeps links to records that the caller cannot see: the caller could not have sent their ids. */
static struct db_call links_clear_call(struct records_ctx *ctx, const struct link_list *list)
{
    struct arena *arena = ctx->task->arena;
    const struct model_field *field = list->field;
    struct sql_params params;
    struct strbuf sql;

    sql_start(arena, &sql, &params);
    strbuf_printf(&sql, "delete from {p}.l_%lld as l where l.from_id = any(", (long long)field->id);
    sql_bind(&sql, &params, P_I64S(list->owners, list->owner_count), "bigint[]");
    strbuf_char(&sql, ')');
    if (rls_applies(ctx, field->target)) {
        strbuf_printf(&sql,
                      " and exists (select 1 from {p}.%.*s t where t.id = l.to_id",
                      STR_ARG(field->target->table));
        (void)rls_put_where(ctx, field->target, ACT_READ, "t", &sql, &params);
        strbuf_char(&sql, ')');
    }
    return write_call(ctx, "items.links_clear", &sql, &params, true);
}

static struct db_call links_add_call(struct records_ctx *ctx, const struct link_list *list)
{
    struct arena *arena = ctx->task->arena;
    struct sql_params params;
    struct strbuf sql;

    sql_start(arena, &sql, &params);
    strbuf_printf(&sql,
                  "insert into {p}.l_%lld (from_id, to_id, position)"
                  " select u.from_id, u.to_id, u.position::int from unnest(",
                  (long long)list->field->id);
    sql_bind(&sql, &params, P_I64S(list->from, list->count), "bigint[]");
    strbuf_str(&sql, STR(", "));
    sql_bind(&sql, &params, P_I64S(list->to, list->count), "bigint[]");
    strbuf_str(&sql, STR(", "));
    sql_bind(&sql, &params, P_I64S(list->position, list->count), "bigint[]");
    /* The foreign key locks the targets in this order, as removals do. */
    strbuf_str(&sql, STR(") as u (from_id, to_id, position) order by u.to_id, u.from_id"));
    return write_call(ctx, "items.links_add", &sql, &params, true);
}

void links_calls(struct records_ctx *ctx,
                 const struct entity *entity,
                 const struct link_rows *of,
                 bool replace,
                 struct write_calls *calls)
{
    for (size_t i = 0; i < entity->field_count; i++) {
        const struct model_field *field = &entity->fields[i];
        struct link_list list;

        if (!field->is_many || field->target == NULL)
            continue;
        links_flatten(ctx->task->arena, of, field, &list);
        if (replace && list.owner_count > 0 && field_rule_can_read_entity(ctx, field->target))
            write_calls_add(calls, links_clear_call(ctx, &list));
        if (list.count > 0)
            write_calls_add(calls, links_add_call(ctx, &list));
    }
}
