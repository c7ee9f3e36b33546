/*
 * Reads the change log, whose rows have records as they were before a change. The state after a
 * change is the state before the record's next change or, if there is none, the current record.
 * Every later change, by any writer, has left a row too.
 */
#include "records/changes.h"

#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "records/query/filter.h"
#include "records/read/columns.h"
#include "records/rules/error.h"
#include "records/rules/rls.h"
#include "records/rules/statement.h"

/* Columns that follow those of the record. */
enum {
    EXTRA_SEQ,
    EXTRA_KIND,
    EXTRA_RECORD,
    EXTRA_OWNER,
    EXTRA_BEFORE,
    EXTRA_SAME, /* the version is the same: only the log row was written */
    EXTRA_GRANTS_BEFORE,
    EXTRA_GRANTS_AFTER,
    EXTRA_OWNER_GROUPS,
    EXTRA_TESTS_BEFORE,
    EXTRA_TESTS_AFTER,
};

/* --- the statement --- */

/* "+ 0" rules the index on entity_id out: rows are found by xid, not by entity. */
static void changes_put_window(const struct entity *entity,
                               const struct changes_span *span,
                               struct strbuf *sql,
                               struct sql_params *params)
{
    strbuf_printf(
        sql,
        "with w as materialized (select l.seq, l.kind, l.record_id, l.before, l.grants,"
        " (select n.before from {p}.live_log n where n.entity_id = l.entity_id"
        " and n.record_id = l.record_id and n.seq > l.seq and n.before is not null"
        " order by n.seq limit 1) as later,"
        " (select n.grants from {p}.live_log n where n.entity_id = l.entity_id"
        " and n.record_id = l.record_id and n.seq > l.seq and n.grants is not null"
        " order by n.seq limit 1) as later_grants"
        " from {p}.live_log l where l.entity_id + 0 = %lld and l.xid >= pg_snapshot_xmin(",
        (long long)entity->id);
    unsigned since = sql_params_add(params, P_STR(span->from->since));
    strbuf_printf(sql,
                  "$%u::pg_snapshot) and not pg_visible_in_snapshot(l.xid, $%u::pg_snapshot)"
                  " and pg_visible_in_snapshot(l.xid, ",
                  since,
                  since);
    sql_bind(sql, params, P_STR(span->upto), "pg_snapshot");
    strbuf_str(sql, STR(") and l.seq >= "));
    sql_bind(sql, params, P_I64(span->first), "bigint");
    strbuf_str(sql, STR(" and l.seq <= "));
    sql_bind(sql, params, P_I64(span->last), "bigint");
    strbuf_str(sql, STR(") select "));
}

static void changes_put_names(const struct entity *entity, const char *alias, struct strbuf *sql)
{
    strbuf_printf(sql, "%s.version", alias);
    for (size_t i = 0; i < entity->field_count; i++)
        if (!entity->fields[i].is_many)
            strbuf_printf(sql, ", %s.%.*s", alias, STR_ARG(entity->fields[i].column));
}

static void changes_put_from(const struct entity *entity, struct strbuf *sql)
{
    strbuf_str(sql, STR(" from w left join lateral (select "));
    changes_put_names(entity, "c", sql);
    strbuf_printf(sql,
                  " from {p}.%.*s c where c.id = w.record_id and w.later is null and w.kind <> %d"
                  " union all select ",
                  STR_ARG(entity->table),
                  LIVE_DELETED);
    changes_put_names(entity, "p", sql);
    strbuf_printf(sql,
                  " from jsonb_populate_record(null::{p}.%.*s, w.later) p"
                  " where w.later is not null and w.kind <> %d) t on true"
                  " left join lateral jsonb_populate_record(null::{p}.%.*s, w.before) b"
                  " on w.before is not null order by w.seq",
                  STR_ARG(entity->table),
                  LIVE_DELETED,
                  STR_ARG(entity->table));
}

/* Appends a text with a digit for each test: '1' when the row named `alias` exists and passes. */
static void changes_put_tests(const struct records_ctx *ctx,
                              const struct changes_test *tests,
                              struct filter *const *filters,
                              size_t count,
                              const char *alias,
                              struct strbuf *sql,
                              struct sql_params *params)
{
    strbuf_str(sql, STR(", ''"));
    for (size_t i = 0; i < count; i++) {
        struct records_ctx of = *ctx;
        of.caller = tests[i].caller;
        memset(params->caller, 0, sizeof(params->caller)); /* bound for another caller */
        strbuf_printf(sql, " || case when %s.id is not null", alias);
        filter_put_where(&of, filters[i], alias, sql, params);
        strbuf_str(sql, STR(" then '1' else '0' end"));
    }
    memset(params->caller, 0, sizeof(params->caller));
}

static void changes_put_extra(const struct entity *entity, struct strbuf *sql)
{
    strbuf_str(sql,
               STR(", w.seq, w.kind, w.record_id, coalesce(t.created_by, b.created_by),"
                   " b.id is not null, coalesce(b.version = t.version, false), w.grants, "));
    /* Always read the grants: the model may not know of a new grant yet. */
    strbuf_printf(sql,
                  "coalesce(w.later_grants, array(select g.grantee_id * 4 + g.kind"
                  " from {p}.record_grants g where g.entity_id = %lld"
                  " and g.record_id = w.record_id))",
                  (long long)entity->id);
    strbuf_str(sql,
               STR(", array(select m.group_id from {p}.group_members m"
                   " where m.user_id = coalesce(t.created_by, b.created_by))"));
}

static int changes_plan_tests(struct records_ctx *ctx,
                              const struct entity *entity,
                              const struct changes_test *tests,
                              size_t count,
                              struct filter **filters)
{
    for (size_t i = 0; i < count; i++) {
        struct records_ctx of = *ctx;
        of.caller = tests[i].caller;
        int rc = filter_plan(&of, entity, tests[i].filter, &filters[i]);
        ctx->error = of.error;
        TRY(rc);
    }
    return 0;
}

int changes_read(struct records_ctx *ctx,
                 const struct entity *entity,
                 const struct changes_span *span,
                 const struct changes_test *tests,
                 size_t test_count,
                 struct changes *ret_changes)
{
    struct arena *arena = ctx->task->arena;
    struct columns *plan = ARENA_NEW(arena, plan);
    struct filter **filters = ARENA_ARRAY(arena, filters, test_count + 1);
    struct sql_params params;
    struct strbuf sql;

    TRY(columns_plan(ctx, entity, STR_NONE, plan));
    TRY(changes_plan_tests(ctx, entity, tests, test_count, filters));
    sql_start(arena, &sql, &params);
    changes_put_window(entity, span, &sql, &params);
    columns_sql(ctx, plan, "t", &sql, &params);
    changes_put_extra(entity, &sql);
    changes_put_tests(ctx, tests, filters, test_count, "b", &sql, &params);
    changes_put_tests(ctx, tests, filters, test_count, "t", &sql, &params);
    changes_put_from(entity, &sql);
    const struct sql *statement = sql_dynamic(ctx, "records.changes", &sql, params.count, SQL_MANY);
    *ret_changes = (struct changes){.plan = plan, .extra_column = COLUMNS_FIRST};
    for (size_t i = 0; i < plan->count; i++)
        (void)columns_at(plan, i, &ret_changes->extra_column);
    return records_db_result(
        ctx,
        entity,
        db_query(ctx->task, ctx->db, statement, params.items, params.count, &ret_changes->rows));
}

int changes_check_filter(struct records_ctx *ctx,
                         const struct entity *entity,
                         const struct records_filter *filter)
{
    struct filter *planned;

    return filter_plan(ctx, entity, filter, &planned);
}

/* --- rows --- */

static struct record_grants
rows_grants(struct arena *arena, const struct rows *rows, size_t row, size_t column)
{
    struct record_grants grants;
    int64_t *items;

    grants.count = rows_i64s(arena, rows, row, column, &items);
    grants.items = items;
    if (grants.count > 1)
        qsort(items, grants.count, sizeof(*items), num_compare_i64);
    return grants;
}

const struct entity *changes_entity(const struct changes *changes)
{
    return changes->plan->entity;
}

int64_t changes_seq(const struct changes *changes, size_t row)
{
    return rows_i64(&changes->rows, row, changes->extra_column + EXTRA_SEQ);
}

int64_t changes_id(const struct changes *changes, size_t row)
{
    return rows_i64(&changes->rows, row, changes->extra_column + EXTRA_RECORD);
}

size_t changes_bytes(const struct changes *changes, size_t row)
{
    size_t bytes = 0;

    for (size_t column = 0; column < changes->extra_column; column++)
        bytes += rows_str(&changes->rows, row, column).len;
    return bytes;
}

struct record_change changes_get(struct arena *arena, const struct changes *changes, size_t row)
{
    const struct rows *rows = &changes->rows;
    const size_t at = changes->extra_column;
    struct record_change change = {
        .seq = rows_i64(rows, row, at + EXTRA_SEQ),
        .kind = (enum live_kind)rows_i64(rows, row, at + EXTRA_KIND),
        .record_id = rows_i64(rows, row, at + EXTRA_RECORD),
        .created_by = rows_i64(rows, row, at + EXTRA_OWNER),
        .existed_before = rows_bool(rows, row, at + EXTRA_BEFORE),
        .exists_after = !rows_null(rows, row, COLUMNS_ID),
        .granted_after = rows_grants(arena, rows, row, at + EXTRA_GRANTS_AFTER),
        .tests_before = rows_str(rows, row, at + EXTRA_TESTS_BEFORE),
        .tests_after = rows_str(rows, row, at + EXTRA_TESTS_AFTER),
    };
    const struct record_grants groups = rows_grants(arena, rows, row, at + EXTRA_OWNER_GROUPS);

    change.owner_groups = groups.items;
    change.owner_group_count = groups.count;
    change.granted_before = change.granted_after;
    if (!rows_null(rows, row, at + EXTRA_GRANTS_BEFORE))
        change.granted_before = rows_grants(arena, rows, row, at + EXTRA_GRANTS_BEFORE);
    if (change.kind == LIVE_GRANTED) { /* a grant does not change the record */
        change.existed_before = change.exists_after;
        change.tests_before = change.tests_after;
    }
    if (change.kind == LIVE_UPDATED && rows_bool(rows, row, at + EXTRA_SAME))
        change.kind = LIVE_GRANTED;
    return change;
}

static bool has_number(const int64_t *items, size_t count, int64_t number)
{
    return count > 0 && bsearch(&number, items, count, sizeof(number), num_compare_i64) != NULL;
}

static bool
is_granted(const struct record_grants *granted, int64_t kind, const int64_t *ids, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (has_number(granted->items, granted->count, live_grantee(kind, ids[i])))
            return true;
    return false;
}

bool change_is_visible(const struct caller *caller,
                       const struct entity *entity,
                       const struct record_change *change,
                       const struct record_grants *granted)
{
    const struct rights *rights = caller->rights;

    if (!entity->row_level_security || caller_has_all_rows(caller))
        return true;
    if (change->created_by != 0 && change->created_by == caller->user_id)
        return true;
    if (caller->group_scope != 0 &&
        has_number(change->owner_groups, change->owner_group_count, caller->group_scope))
        return true;
    return granted->count > 0 && (is_granted(granted, 1, &caller->user_id, 1) ||
                                  is_granted(granted, 2, rights->group_ids, rights->group_count) ||
                                  is_granted(granted, 3, rights->role_ids, rights->role_count));
}

static bool is_hidden(const struct caller *caller, const struct model_field *field)
{
    if (!caller_can_field(caller, field, ACT_READ))
        return true;
    return field->is_many && field->target && field->target->row_level_security &&
           !caller_has_all_rows(caller);
}

void changes_json(const struct changes *changes,
                  size_t row,
                  const struct caller *caller,
                  struct jw *w)
{
    const struct columns *plan = changes->plan;
    size_t column = COLUMNS_FIRST;

    jw_obj(w);
    for (size_t i = 0; i < plan->count; i++) {
        const struct model_field *field = plan->fields[i];
        size_t at = columns_at(plan, i, &column);
        if (is_hidden(caller, field))
            continue;
        jw_key(w, field->name);
        columns_write_value(w, field, &changes->rows, row, at);
    }
    jw_obj_end(w);
}

uint64_t changes_view_key(const struct caller *caller, const struct entity *entity)
{
    return caller_field_key(caller, entity) << 1 | caller_has_all_rows(caller);
}
