/* Finds ids in steps, each of which reads rows after a cursor, in the order of ids. */
#include "source_ids.h"

#include <stdlib.h>

#include "base/panic.h"
#include "base/strbuf.h"
#include "index_sql.h"
#include "source.h"

#define SQL_BYTES 4096

void source_ids_add(struct source_ids *ids, int64_t entity_id, int64_t id)
{
    ARENA_PUSH(ids->arena, ids->items, ids->count, ids->cap, (struct source_id){entity_id, id});
}

void source_ids_limit(struct source_ids *ids, int64_t most)
{
    size_t kept_count = 0;

    for (size_t i = 0; i < ids->count; i++)
        if (ids->items[i].id <= most)
            ids->items[kept_count++] = ids->items[i];
    ids->count = kept_count;
}

static int order_by_record(const void *left, const void *right)
{
    const struct source_id *a = left;
    const struct source_id *b = right;

    if (a->id != b->id)
        return a->id < b->id ? -1 : 1;
    return (a->entity_id > b->entity_id) - (a->entity_id < b->entity_id);
}

static int order_by_entity(const void *left, const void *right)
{
    const struct source_id *a = left;
    const struct source_id *b = right;

    if (a->entity_id != b->entity_id)
        return a->entity_id < b->entity_id ? -1 : 1;
    return (a->id > b->id) - (a->id < b->id);
}

/* Keeps the `most` records with the lowest ids, because one cursor serves all entities. The cursor
 * names an id alone, so records of several entities with the last id are all kept. */
void source_ids_cut(struct source_ids *ids, size_t most)
{
    ids->next_cursor = ids->checked_up_to;
    if (ids->count == 0)
        return;
    qsort(ids->items, ids->count, sizeof(*ids->items), order_by_record);
    size_t keep = ids->count < most ? ids->count : most;
    while (keep < ids->count && ids->items[keep].id == ids->items[keep - 1].id)
        keep++;
    if (keep < ids->count || ids->checked_up_to == 0)
        ids->next_cursor = ids->items[keep - 1].id;
    ids->count = keep;
    qsort(ids->items, ids->count, sizeof(*ids->items), order_by_entity);
}

/* Runs a statement on the tables of an entity. */
AWAITS static int source_ids_query(struct task *task,
                                   struct db *db,
                                   struct strbuf *text,
                                   const struct db_param *params,
                                   size_t count,
                                   struct rows *ret_rows)
{
    struct sql sql = {
        .name = "search.ids", .kind = SQL_MANY, .arity = (unsigned)count, .heavy = true};

    MUST(!text->overflow);
    sql.hash = source_hash(strbuf_view(text));
    sql.text = strbuf_cstring(text);
    return db_query(task, db, &sql, params, count, ret_rows);
}

int source_ids_refer(struct task *task,
                     struct db *db,
                     const struct model_field *field,
                     struct sql_i64s targets,
                     int64_t after,
                     int64_t most,
                     struct source_ids *ids)
{
    struct strbuf text;
    struct rows rows;

    strbuf_init(&text, task->arena, SQL_BYTES);
    strbuf_printf(
        &text,
        "select t.id from {p}.%.*s t where t.%.*s = any($1::bigint[]) and t.id > $2::bigint"
        " order by t.id limit $3::bigint",
        STR_ARG(field->entity->table),
        STR_ARG(field->column));
    TRY(source_ids_query(task,
                         db,
                         &text,
                         PARAMS(P_I64S(targets.items, targets.count), P_I64(after), P_I64(most)),
                         &rows));
    for (size_t i = 0; i < rows.count; i++)
        source_ids_add(ids, field->entity->id, rows_i64(&rows, i, 0));
    return 0;
}

/* --- checks --- */

/* A step of a check with a time reads CHECK_FACTOR times as many rows as it may find ids, because
 * most rows have not changed since that time. The bound keeps a step short in any table. */
enum { CHECK_FACTOR = 16 };

/* One step of a check. */
struct source_check {
    struct task *task;
    struct db *db;
    const struct entity *entity;
    int64_t since_ms, after;
    int64_t max_rows; /* records, or documents, that are checked at most */
};

/* Each row is an id that was found, or, with 1 in its second column, the highest id that was
 * checked and how many were. */
AWAITS static int source_ids_read_checked(const struct source_check *check,
                                          struct strbuf *text,
                                          const struct db_param *params,
                                          size_t count,
                                          struct source_ids *ids)
{
    struct rows rows;

    TRY(source_ids_query(check->task, check->db, text, params, count, &rows));
    for (size_t i = 0; i < rows.count; i++) {
        int64_t id = rows_i64(&rows, i, 0);
        if (rows_i64(&rows, i, 1) == 0)
            source_ids_add(ids, check->entity->id, id);
        else if (rows_i64(&rows, i, 2) == check->max_rows &&
                 (ids->checked_up_to == 0 || id < ids->checked_up_to))
            ids->checked_up_to = id;
    }
    return 0;
}

AWAITS static int check_records(const struct source_check *check, struct source_ids *ids)
{
    struct strbuf text;

    strbuf_init(&text, check->task->arena, SQL_BYTES);
    strbuf_printf(&text,
                  "with l as materialized (select t.id, t.updated_at from {p}.%.*s t"
                  " where t.id > $1::bigint order by t.id limit $2::bigint)"
                  " select l.id, 0::bigint, 0::bigint from l"
                  " where $3::timestamptz is null or l.updated_at >= $3::timestamptz"
                  " union all select coalesce(max(l.id), 0), 1, count(*) from l",
                  STR_ARG(check->entity->table));
    return source_ids_read_checked(
        check,
        &text,
        PARAMS(P_I64(check->after), P_I64(check->max_rows), P_OPT_TIME(check->since_ms)),
        ids);
}

/* Finds documents without a record, up to the id that check_records() has reached. Looks each
 * document up separately: a join of all documents with all records would be repeated per step. */
AWAITS static int check_documents(const struct source_check *check, struct source_ids *ids)
{
    struct strbuf text;
    int64_t to = ids->checked_up_to > 0 ? ids->checked_up_to : INT64_MAX;

    strbuf_init(&text, check->task->arena, SQL_BYTES);
    strbuf_printf(&text,
                  "with l as materialized (select u.record_id from {p}.search_indexes x"
                  " cross join lateral (select d.record_id from {p}.search_docs d"
                  " where d.idx = x.id and d.record_id > $1::bigint and d.record_id <= $2::bigint"
                  " order by d.record_id limit $3::bigint) u"
                  " where x.entity_id = $4::bigint and x.state in ('live', 'building')"
                  " order by u.record_id limit $3::bigint)"
                  " select l.record_id, 0::bigint, 0::bigint from l left join lateral"
                  " (select true as there from {p}.%.*s t where t.id = l.record_id offset 0) t on"
                  " true where t.there is null"
                  " union all select coalesce(max(l.record_id), 0), 1, count(*) from l",
                  STR_ARG(check->entity->table));
    return source_ids_read_checked(
        check,
        &text,
        PARAMS(P_I64(check->after), P_I64(to), P_I64(check->max_rows), P_I64(check->entity->id)),
        ids);
}

int source_ids_check(struct task *task,
                     struct db *db,
                     const struct entity *entity,
                     int64_t since_ms,
                     int64_t after,
                     int64_t most,
                     struct source_ids *ids)
{
    const struct source_check check = {
        .task = task,
        .db = db,
        .entity = entity,
        .since_ms = since_ms,
        .after = after,
        .max_rows = since_ms != 0 ? most * CHECK_FACTOR : most,
    };

    TRY(check_records(&check, ids));
    TRY(check_documents(&check, ids));
    if (ids->checked_up_to > 0)
        source_ids_limit(ids, ids->checked_up_to);
    return 0;
}
