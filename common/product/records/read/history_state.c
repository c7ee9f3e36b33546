/* States of records as columns: statements that read them, and their JSON. */
#include "records/read/history_state.h"

#include "base/clock.h"
#include "records/rules/error.h"
#include "records/rules/field_rule.h"
#include "records/rules/rls.h"

int history_plan(struct records_ctx *ctx,
                 const struct entity *entity,
                 struct history_plan *ret_plan)
{
    struct history_plan plan = {.entity = entity};

    if (entity->history_days == 0)
        return records_fail(
            ctx, PROBLEM_NOT_FOUND, "The entity keeps no history: set its option \"history\".");
    plan.fields = arena_zalloc_array(ctx->task->arena, sizeof(void *), entity->field_count);
    for (size_t i = 1; i < entity->field_count; i++) {
        const struct model_field *field = &entity->fields[i];
        if (field->type != TYPE_SECRET && field_rule_allows(ctx, field, ACT_READ))
            plan.fields[plan.count++] = field;
    }
    *ret_plan = plan;
    return 0;
}

/* --- statements --- */

int history_query(struct records_ctx *ctx,
                  const struct entity *entity,
                  const char *name,
                  struct strbuf *text,
                  const struct sql_params *params,
                  struct rows *ret_rows)
{
    const struct sql *sql = sql_dynamic(ctx, name, text, params->count, SQL_MANY);

    return records_db_result(
        ctx, entity, db_query(ctx->task, ctx->db, sql, params->items, params->count, ret_rows));
}

/* Ids of a relation to many records, without records that the caller may not see. */
static void put_seen_links(const struct records_ctx *ctx,
                           const struct model_field *field,
                           struct strbuf *sql,
                           struct sql_params *params)
{
    strbuf_printf(sql,
                  ", case when x.doc ? '%.*s' then (select coalesce(jsonb_agg(l.id order by"
                  " l.place), '[]') from jsonb_array_elements(x.doc -> '%.*s')"
                  " with ordinality l (id, place)"
                  " where exists (select 1 from {p}.%.*s r where r.id = l.id::text::bigint",
                  STR_ARG(field->column),
                  STR_ARG(field->column),
                  STR_ARG(field->target->table));
    (void)rls_put_where(ctx, field->target, ACT_READ, "r", sql, params);
    strbuf_str(sql, STR(")) end"));
}

void history_put_fields(const struct records_ctx *ctx,
                        const struct history_plan *plan,
                        bool existing,
                        struct strbuf *sql,
                        struct sql_params *params)
{
    for (size_t i = 0; i < plan->count; i++) {
        const struct model_field *field = plan->fields[i];
        if (field->is_many && field->target != NULL &&
            (existing || rls_applies(ctx, field->target)))
            put_seen_links(ctx, field, sql, params);
        else
            strbuf_printf(sql, ", x.doc -> '%.*s'", STR_ARG(field->column));
    }
}

/* `offset 0` makes PostgreSQL compute the document once for each row, not once for each field. */
void history_put_document(const char *document, struct strbuf *sql)
{
    strbuf_printf(sql, " cross join lateral (select (%s) || '{}' as doc offset 0) x", document);
}

const char *history_live_document(struct arena *arena, const struct history_plan *plan)
{
    struct strbuf sql;

    strbuf_init(&sql, arena, RECORDS_SQL_BYTES);
    strbuf_str(&sql, STR("to_jsonb(t)"));
    for (size_t i = 0; i < plan->count; i++) {
        const struct model_field *field = plan->fields[i];
        if (field->is_many)
            strbuf_printf(&sql,
                          " || jsonb_build_object('%.*s', (select coalesce(jsonb_agg(l.to_id order"
                          " by l.position, l.to_id), '[]') from {p}.l_%lld l"
                          " where l.from_id = t.id))",
                          STR_ARG(field->column),
                          (long long)field->id);
    }
    return strbuf_cstring(&sql);
}

void history_put_retained(const struct entity *entity, const char *alias, struct strbuf *sql)
{
    strbuf_printf(
        sql, " and %s.at >= now() - interval '%lld days'", alias, (long long)entity->history_days);
}

AWAITS static int history_read_live(struct records_ctx *ctx,
                                    const struct history_plan *plan,
                                    int64_t id,
                                    struct rows *ret_rows)
{
    const struct entity *entity = plan->entity;
    struct arena *arena = ctx->task->arena;
    struct sql_params params;
    struct strbuf sql;

    sql_start(arena, &sql, &params);
    strbuf_str(&sql, STR("select t.version"));
    history_put_fields(ctx, plan, false, &sql, &params);
    strbuf_printf(&sql, " from {p}.%.*s t", STR_ARG(entity->table));
    history_put_document(history_live_document(arena, plan), &sql);
    strbuf_str(&sql, STR(" where t.id = "));
    sql_bind(&sql, &params, P_I64(id), "bigint");
    (void)rls_put_where(ctx, entity, ACT_READ, "t", &sql, &params);
    return history_query(ctx, entity, "history.live", &sql, &params, ret_rows);
}

void history_put_from_deleted(const struct records_ctx *ctx,
                              const struct history_plan *plan,
                              enum perm_action action,
                              bool documents,
                              struct strbuf *sql,
                              struct sql_params *params)
{
    long long entity = plan->entity->id;

    strbuf_printf(sql,
                  " from (select k.record_id as id, k.version, k.at, k.actor_id, k.created_by,"
                  " k.before from {p}.h_%lld k where k.action = %d",
                  entity,
                  HISTORY_DELETED);
    history_put_retained(plan->entity, "k", sql);
    strbuf_printf(sql,
                  " and not exists (select 1 from {p}.e_%lld t where t.id = k.record_id)"
                  " and not exists (select 1 from {p}.h_%lld n where n.record_id = k.record_id"
                  " and n.version > k.version)) h",
                  entity,
                  entity);
    if (documents)
        history_put_document("h.before", sql);
    strbuf_str(sql, STR(" where true"));
    (void)rls_put_where(ctx, plan->entity, action, "h", sql, params);
}

/* co: *ret_version is 0 if the record was not deleted. */
AWAITS static int history_read_deletion(struct records_ctx *ctx,
                                        const struct history_plan *plan,
                                        enum perm_action action,
                                        int64_t id,
                                        int64_t *ret_version)
{
    struct sql_params params;
    struct strbuf sql;
    struct rows rows;

    sql_start(ctx->task->arena, &sql, &params);
    strbuf_str(&sql, STR("select h.version"));
    history_put_from_deleted(ctx, plan, action, false, &sql, &params);
    strbuf_str(&sql, STR(" and h.id = "));
    sql_bind(&sql, &params, P_I64(id), "bigint");
    TRY(history_query(ctx, plan->entity, "history.deletion", &sql, &params, &rows));
    *ret_version = rows.count > 0 ? rows_i64(&rows, 0, 0) : 0;
    return 0;
}

/* A record may be restored between the first two reads, so that both miss it: read once more. */
int history_find(struct records_ctx *ctx,
                 const struct history_plan *plan,
                 enum perm_action action,
                 int64_t id,
                 struct rows *ret_live,
                 int64_t *ret_deleted)
{
    *ret_deleted = 0;
    TRY(history_read_live(ctx, plan, id, ret_live));
    if (ret_live->count > 0)
        return 0;
    TRY(history_read_deletion(ctx, plan, action, id, ret_deleted));
    if (*ret_deleted > 0)
        return 0;
    TRY(history_read_live(ctx, plan, id, ret_live));
    return ret_live->count > 0 ? 0 : records_fail_not_found(ctx);
}

/* --- JSON --- */

struct str history_state_text(const struct history_state *state, size_t field)
{
    return state->rows != NULL ? rows_str(state->rows, state->row, state->first + field) : STR_NONE;
}

/* A value has the type that its field had then, so the text of a time field may not be a time. */
void history_put_value(struct jw *w, const struct model_field *field, struct str text)
{
    int64_t at;

    if (field->type == TYPE_DATETIME && text.len > 2 && text.ptr[0] == '"' &&
        clock_parse((struct str){text.ptr + 1, text.len - 2}, &at))
        jw_time(w, at);
    else
        jw_raw(w, text);
}

int history_put_state(struct records_ctx *ctx,
                      struct jw *w,
                      const struct history_plan *plan,
                      int64_t id,
                      const struct history_state *state)
{
    if (state->rows == NULL) {
        jw_null(w);
        return 0;
    }
    jw_obj(w);
    JW_I64(w, "id", id);
    for (size_t i = 0; i < plan->count; i++) {
        struct str text = history_state_text(state, i);
        if (text.ptr == NULL)
            continue;
        jw_key(w, plan->fields[i]->name);
        history_put_value(w, plan->fields[i], text);
    }
    jw_obj_end(w);
    return task_yield_if_due(ctx->task);
}
