/*
 * Checks the records that a write refers to. A record that the caller cannot see is refused with
 * the same text as a record that does not exist, so that a caller cannot find out which ids exist.
 * Where the caller sees every row of the target, the foreign key reports a missing record with the
 * INSERT or UPDATE. All other references are queried first, with one statement for each field.
 */
#include "records/write/targets.h"

#include <stdlib.h>

#include "base/num.h"
#include "base/panic.h"
#include "records/rules/field_rule.h"
#include "records/rules/owned_files.h"
#include "records/rules/rls.h"
#include "records/rules/statement.h"
#include "records/write/body.h"
#include "records/write/write.h"

struct target {
    const struct model_field *field;
    int64_t *wanted;
    size_t wanted_count;
    int64_t *visible; /* sorted */
    size_t visible_count;
};

/* Returns true when the records that the field refers to must be queried before the write. */
static bool
target_needs_query(const struct records_ctx *ctx, const struct model_field *field, bool all)
{
    if (field->type == TYPE_FILE)
        return all || rls_applies(ctx, &owned_files);
    if (field->type != TYPE_RELATION || field->target == NULL)
        return false;
    return all || field->is_many || !field_rule_can_read_entity(ctx, field->target) ||
           rls_applies(ctx, field->target);
}

/* Returns the number of ids that a row has for a field: of a relation to one or to many records, or
 * of a file. *ret_ids is borrowed from the row. */
static size_t
targets_ids(const struct write_row *row, const struct model_field *field, const int64_t **ret_ids)
{
    if (!field->is_many) {
        const struct value *value = row_value(row, field);
        if (value == NULL || value->param.kind != PARAM_I64)
            return 0;
        *ret_ids = &value->param.i64;
        return 1;
    }
    for (size_t i = 0; i < row->link_count; i++) {
        if (row->links[i].field != field)
            continue;
        *ret_ids = row->links[i].ids;
        return row->links[i].id_count;
    }
    return 0;
}

static size_t
targets_count_ids(const struct write_row *rows, size_t count, const struct model_field *field)
{
    const int64_t *ids;
    size_t total = 0;

    for (size_t i = 0; i < count; i++)
        total += targets_ids(&rows[i], field, &ids);
    return total;
}

static void targets_collect(struct arena *arena,
                            const struct write_row *rows,
                            size_t count,
                            const struct model_field *field,
                            struct target *target)
{
    size_t total = targets_count_ids(rows, count, field);
    const int64_t *ids = NULL;

    *target = (struct target){.field = field};
    target->wanted = ARENA_ARRAY(arena, target->wanted, total);
    for (size_t i = 0; i < count; i++) {
        size_t some = targets_ids(&rows[i], field, &ids);
        for (size_t k = 0; k < some; k++)
            target->wanted[target->wanted_count++] = ids[k];
    }
}

/* Selects the files that the caller may use. A file that already belongs to a record through this
 * field passes, because the triggers check to which record the file belongs. */
static struct db_call targets_files_call(struct records_ctx *ctx, const struct target *target)
{
    struct sql_params params;
    struct strbuf sql;

    sql_start(ctx->task->arena, &sql, &params);
    strbuf_str(&sql, STR("select t.id from {p}.files t where t.id = any("));
    sql_bind(&sql, &params, P_I64S(target->wanted, target->wanted_count), "bigint[]");
    strbuf_printf(
        &sql, ") and (t.field_id = %lld or t.entity_id is null", (long long)target->field->id);
    (void)rls_put_where(ctx, &owned_files, ACT_UPDATE, "t", &sql, &params);
    strbuf_str(&sql, STR(") order by t.id"));
    return write_call(ctx, "items.target_files", &sql, &params, false);
}

static struct db_call targets_call(struct records_ctx *ctx, const struct target *target)
{
    if (target->field->type == TYPE_FILE)
        return targets_files_call(ctx, target);

    struct arena *arena = ctx->task->arena;
    struct sql_params params;
    struct strbuf sql;

    sql_start(arena, &sql, &params);
    strbuf_printf(&sql,
                  "select t.id from {p}.%.*s t where t.id = any(",
                  STR_ARG(target->field->target->table));
    sql_bind(&sql, &params, P_I64S(target->wanted, target->wanted_count), "bigint[]");
    strbuf_char(&sql, ')');
    (void)rls_put_where(ctx, target->field->target, ACT_READ, "t", &sql, &params);
    strbuf_str(&sql, STR(" order by t.id"));
    return write_call(ctx, "items.targets", &sql, &params, false);
}

static void target_set_visible(struct arena *arena, struct target *target, const struct rows *rows)
{
    target->visible = ARENA_ARRAY(arena, target->visible, rows->count);
    for (size_t i = 0; i < rows->count; i++)
        target->visible[i] = rows_i64(rows, i, 0);
    target->visible_count = rows->count;
}

static void target_find_invisible(struct records_ctx *ctx,
                                  const struct target *target,
                                  struct write_row *rows,
                                  size_t count)
{
    const int64_t *ids = NULL;

    for (size_t i = 0; i < count; i++) {
        size_t some = targets_ids(&rows[i], target->field, &ids);
        size_t seen = 0;
        for (size_t k = 0; k < some; k++)
            seen += target->visible_count > 0 && bsearch(&ids[k],
                                                         target->visible,
                                                         target->visible_count,
                                                         sizeof(*ids),
                                                         num_compare_i64) != NULL;
        if (seen < some)
            schema_error_add(ctx->task->arena,
                             rows[i].errors,
                             target->field->name,
                             PROBLEM_FOREIGN_KEY_VIOLATION,
                             "refers to a record that does not exist");
    }
}

int targets_check(struct records_ctx *ctx,
                  const struct entity *entity,
                  struct write_row *rows,
                  size_t count,
                  bool all)
{
    struct arena *arena = ctx->task->arena;
    struct target *targets = ARENA_ARRAY(arena, targets, entity->field_count);
    struct db_call *calls = ARENA_ARRAY(arena, calls, entity->field_count);
    size_t *requested = ARENA_ARRAY(arena, requested, entity->field_count);
    size_t target_count = 0;
    size_t call_count = 0;

    for (size_t i = 0; i < entity->field_count; i++) {
        struct target *target = &targets[target_count];
        if (!target_needs_query(ctx, &entity->fields[i], all))
            continue;
        targets_collect(arena, rows, count, &entity->fields[i], target);
        if (target->wanted_count == 0)
            continue;
        if (target->field->type == TYPE_FILE ||
            field_rule_can_read_entity(ctx, target->field->target)) {
            requested[call_count] = target_count;
            calls[call_count++] = targets_call(ctx, target);
        }
        target_count++;
    }
    TRY(write_db(ctx, entity, db_batch(ctx->task, ctx->db, calls, call_count, NULL)));
    for (size_t i = 0; i < call_count; i++)
        target_set_visible(arena, &targets[requested[i]], &calls[i].rows);
    for (size_t i = 0; i < target_count; i++)
        target_find_invisible(ctx, &targets[i], rows, count);
    return 0;
}
