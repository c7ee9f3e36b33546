/* Finds the records that a removal also deletes or changes, and emits their events. */
#include "records/write/cascade.h"
#include "records/read/columns.h"
#include "records/rules/error.h"
#include "records/rules/field_rule.h"
#include "records/rules/rls.h"
#include "records/rules/statement.h"
#include "records/write/delete.h"
#include "records/write/links.h"
#include "records/write/log.h"
#include "records/write/write.h"

#include <string.h>

/* Records of one entity that are all deleted, or that all lose a reference. */
struct part {
    const struct entity *entity;
    bool deleted; /* false: the records lose a reference */
    int64_t *ids;
    size_t count;
    struct rows rows; /* payloads of deleted records, as they were before the removal */
};

struct cascade {
    struct part *parts; /* the first part: the records that the caller removes */
    size_t count;
    size_t cap;
    size_t records;
    int64_t *spread; /* ids of entities with more affected records than `parts` lists: the search
                        index checks all their records */
    size_t spread_count;
    size_t spread_cap;
    bool locks;     /* another user holds a lock that might be in the way */
    bool for_locks; /* no event has a consumer: records are searched only because of `locks` */
    const struct entity *locked_entity; /* of a record that another user has locked; NULL = none */
    int64_t locked_id;
};

/* --- consumers --- */

/* Returns true when deleting the target of a reference deletes the referring record. */
static bool deletes(const struct model_field *field)
{
    return !field->many && field->on_delete == ON_DELETE_CASCADE;
}

static bool is_emitted(const struct records_ctx *ctx, const struct model_field *field)
{
    if (field->on_delete == ON_DELETE_RESTRICT)
        return false;
    return ctx->model->live ||
           write_listens(field->entity, deletes(field) ? EVENT_DELETED : EVENT_UPDATED);
}

/* Breadth-first search over the entities whose records are deleted too; visits each entity once. */
bool cascade_listens(const struct records_ctx *ctx, const struct entity *entity)
{
    struct arena *arena = ctx->task->arena;
    const struct entity *all = ctx->model->entities;
    size_t most = ctx->model->entity_count;
    const struct entity **list;
    bool *seen;
    size_t count = 1;

    if (entity->referrers == NULL)
        return false;
    list = arena_zalloc_array(arena, sizeof(void *), most);
    seen = ARENA_ARRAY(arena, seen, most);
    list[0] = entity;
    seen[entity - all] = true;
    for (size_t i = 0; i < count; i++) {
        const struct model_field *field = list[i]->referrers;
        for (; field != NULL; field = field->next_referrer) {
            if (is_emitted(ctx, field))
                return true;
            if (!deletes(field) || seen[field->entity - all])
                continue;
            seen[field->entity - all] = true;
            list[count++] = field->entity;
        }
    }
    return false;
}

/* --- locks of other users --- */

/* Lists entities whose records may be deleted too or lose a reference. *ret_ids is arena-owned. */
static size_t reached(struct records_ctx *ctx, const struct entity *entity, const int64_t **ret_ids)
{
    struct arena *arena = ctx->task->arena;
    const struct entity *all = ctx->model->entities;
    size_t most = ctx->model->entity_count;
    int64_t *ids = ARENA_ARRAY(arena, ids, most);
    bool *listed = ARENA_ARRAY(arena, listed, most);
    bool *gone = ARENA_ARRAY(arena, gone, most);
    const struct entity **queue = arena_zalloc_array(arena, sizeof(void *), most);
    size_t queued = 1;
    size_t count = 0;

    queue[0] = entity;
    gone[entity - all] = true;
    for (size_t i = 0; i < queued; i++) {
        const struct model_field *field = queue[i]->referrers;
        for (; field != NULL; field = field->next_referrer) {
            size_t at = (size_t)(field->entity - all);
            if (field->on_delete == ON_DELETE_RESTRICT)
                continue;
            if (!listed[at])
                ids[count++] = field->entity->id;
            listed[at] = true;
            if (deletes(field) && !gone[at])
                queue[queued++] = field->entity;
            gone[at] = gone[at] || deletes(field);
        }
    }
    *ret_ids = ids;
    return count;
}

/* Selects another user's lock on a record of these entities, or of `part` unless it is NULL. */
static struct db_call cascade_locks_call(struct records_ctx *ctx,
                                         const int64_t *entities,
                                         size_t count,
                                         const struct part *part)
{
    struct arena *arena = ctx->task->arena;
    struct sql_params params;
    struct strbuf sql;

    sql_start(arena, &sql, &params);
    strbuf_str(&sql, STR("select k.record_id from {p}.record_locks k where k.entity_id = any("));
    sql_bind(&sql, &params, P_I64S(entities, count), "bigint[]");
    strbuf_str(&sql, STR(") and k.expires_at > now() and k.token_hash <> "));
    sql_bind(&sql, &params, write_token_hash(arena, ctx->lock_token), "bytea");
    if (part != NULL) {
        strbuf_str(&sql, STR(" and k.record_id = any("));
        sql_bind(&sql, &params, P_I64S(part->ids, part->count), "bigint[]");
        strbuf_char(&sql, ')');
    }
    strbuf_str(&sql, STR(" order by k.record_id limit 1"));
    return write_call(ctx, "items.cascade_locks", &sql, &params, true);
}

AWAITS static int
any_locks(struct records_ctx *ctx, const struct entity *entity, struct db *tx, bool *ret_any)
{
    const int64_t *entities = NULL;
    size_t count = entity->referrers != NULL ? reached(ctx, entity, &entities) : 0;

    *ret_any = false;
    if (count == 0)
        return 0;
    struct db_call call = cascade_locks_call(ctx, entities, count, NULL);
    TRY(write_tx_db(ctx, entity, write_run(ctx, tx, &call)));
    *ret_any = call.rows.count > 0;
    return 0;
}

AWAITS static int find_locked(struct records_ctx *ctx, struct db *tx, struct cascade *cascade)
{
    for (size_t i = 1; i < cascade->count; i++) {
        const struct part *part = &cascade->parts[i];
        struct db_call call = cascade_locks_call(ctx, &part->entity->id, 1, part);
        TRY(write_tx_db(ctx, part->entity, write_run(ctx, tx, &call)));
        if (call.rows.count == 0)
            continue;
        cascade->locked_entity = part->entity;
        cascade->locked_id = rows_i64(&call.rows, 0, 0);
        return 0;
    }
    return 0;
}

bool cascade_is_locked(const struct cascade *cascade)
{
    return cascade != NULL && cascade->locked_entity != NULL;
}

int cascade_fail_locked(struct records_ctx *ctx, struct db *db, const struct cascade *cascade)
{
    const struct entity *entity = cascade->locked_entity;
    struct sql_params params;
    struct strbuf sql;

    sql_start(ctx->task->arena, &sql, &params);
    strbuf_printf(&sql, "select t.id from {p}.%.*s t where t.id = ", STR_ARG(entity->table));
    sql_bind(&sql, &params, P_I64(cascade->locked_id), "bigint");
    (void)rls_where(ctx, entity, ACT_READ, "t", &sql, &params);
    struct db_call call = write_call(ctx, "items.cascade_seen", &sql, &params, true);
    if (field_rule_entity(ctx, entity)) {
        TRY(write_tx_db(ctx, entity, write_run(ctx, db, &call)));
        if (call.rows.count > 0)
            return records_fail(
                ctx,
                PROBLEM_LOCKED,
                "Record %lld of %.*s would be deleted or changed too, but is locked by"
                " another user; nothing was deleted.",
                (long long)cascade->locked_id,
                STR_ARG(entity->name));
    }
    return records_fail(ctx,
                        PROBLEM_LOCKED,
                        "A record that would be deleted or changed too is locked by another user;"
                        " nothing was deleted.");
}

/* --- affected records --- */

static struct part *cascade_add_part(struct arena *arena, struct cascade *cascade)
{
    ARENA_PUSH(arena, cascade->parts, cascade->count, cascade->cap, (struct part){0});
    return &cascade->parts[cascade->count - 1];
}

/* Returns the ids of the entity's records that parts with the same `deleted` already list. */
static struct db_param known_ids(struct arena *arena,
                                 const struct cascade *cascade,
                                 const struct entity *entity,
                                 bool deleted)
{
    size_t count = 0;

    for (size_t i = 0; i < cascade->count; i++)
        if (cascade->parts[i].entity == entity && cascade->parts[i].deleted == deleted)
            count += cascade->parts[i].count;
    int64_t *ids = ARENA_ARRAY(arena, ids, count);
    count = 0;
    for (size_t i = 0; i < cascade->count; i++) {
        const struct part *part = &cascade->parts[i];
        if (part->entity != entity || part->deleted != deleted)
            continue;
        memcpy(&ids[count], part->ids, part->count * sizeof(*ids));
        count += part->count;
    }
    return P_I64S(ids, count);
}

/* Selects and locks records that refer to `part` by `field` and that no part lists yet. */
static struct db_call referring_call(struct records_ctx *ctx,
                                     const struct cascade *cascade,
                                     const struct part *part,
                                     const struct model_field *field)
{
    struct arena *arena = ctx->task->arena;
    struct sql_params params;
    struct strbuf sql;

    sql_start(arena, &sql, &params);
    strbuf_printf(&sql, "select t.id from {p}.%.*s t where ", STR_ARG(field->entity->table));
    if (field->many)
        strbuf_printf(
            &sql,
            "exists (select 1 from {p}.l_%lld l where l.from_id = t.id and l.to_id = any(",
            (long long)field->id);
    else
        strbuf_printf(&sql, "(t.%.*s = any(", STR_ARG(field->column));
    sql_bind(&sql, &params, P_I64S(part->ids, part->count), "bigint[]");
    strbuf_str(&sql, STR(")) and not t.id = any("));
    sql_bind(&sql, &params, known_ids(arena, cascade, field->entity, deletes(field)), "bigint[]");
    strbuf_printf(&sql, ") order by t.id limit %d for update of t", CASCADE_MAX + 1);
    return write_call(ctx, "items.cascade_find", &sql, &params, true);
}

/* Returns true when only the search index consumes events of the records that this reference
 * affects. Adds their entities to cascade->spread: the index checks whole entities, not listed
 * records. */
static bool
spreads(struct records_ctx *ctx, struct cascade *cascade, const struct model_field *field)
{
    const int64_t *ids = NULL;
    size_t count = deletes(field) ? reached(ctx, field->entity, &ids) : 0;
    const unsigned others = (unsigned)~CONSUMER_SEARCH;

    if (cascade->locks ||
        (entity_consumers(field->entity, deletes(field) ? EVENT_DELETED : EVENT_UPDATED) & others))
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct entity *entity = model_entity_by_id(ctx->model, ids[i]);
        if ((entity_consumers(entity, EVENT_DELETED) | entity_consumers(entity, EVENT_UPDATED)) &
            others)
            return false;
    }
    struct arena *arena = ctx->task->arena;
    ARENA_PUSH(
        arena, cascade->spread, cascade->spread_count, cascade->spread_cap, field->entity->id);
    for (size_t i = 0; i < count; i++)
        ARENA_PUSH(arena, cascade->spread, cascade->spread_count, cascade->spread_cap, ids[i]);
    return true;
}

AWAITS static int find_referring(struct records_ctx *ctx,
                                 struct db *tx,
                                 struct cascade *cascade,
                                 size_t index,
                                 const struct model_field *field)
{
    struct arena *arena = ctx->task->arena;
    struct db_call call = referring_call(ctx, cascade, &cascade->parts[index], field);

    TRY(write_tx_db(ctx, field->entity, write_run(ctx, tx, &call)));
    if (call.rows.count == 0)
        return 0;
    if (cascade->records + call.rows.count > CASCADE_MAX && spreads(ctx, cascade, field))
        return 0;
    cascade->records += call.rows.count;
    if (cascade->records > CASCADE_MAX)
        return records_fail(
            ctx,
            PROBLEM_TOO_MANY_ROWS,
            "More than %d other records would be deleted or changed too%s; nothing was "
            "deleted.",
            CASCADE_MAX,
            cascade->for_locks ? ", and another user has locked a record that may be one of them"
                               : "");
    struct part *part = cascade_add_part(arena, cascade);
    *part = (struct part){.entity = field->entity, .deleted = deletes(field)};
    part->ids = ARENA_ARRAY(arena, part->ids, call.rows.count);
    part->count = call.rows.count;
    for (size_t i = 0; i < part->count; i++)
        part->ids[i] = rows_i64(&call.rows, i, 0);
    return 0;
}

/* Reads the payloads of records that will be deleted, as the system sees the records. */
AWAITS static int read_payloads(struct records_ctx *ctx, struct db *tx, struct part *part)
{
    struct records_ctx system;
    struct columns plan;

    if (!part->deleted || !write_listens(part->entity, EVENT_DELETED) ||
        entity_only_searched(part->entity, EVENT_DELETED))
        return 0;
    TRY(write_payload_plan(ctx, part->entity, &system, &plan));
    struct db_call call = write_select_call(&system, &plan, part->ids, part->count);
    TRY(write_tx_db(ctx, part->entity, write_run(ctx, tx, &call)));
    part->rows = call.rows;
    return 0;
}

/* Locks the records to be removed: no transaction can refer to them again before the removal. */
static struct db_call cascade_lock_call(struct records_ctx *ctx,
                                        const struct entity *entity,
                                        const int64_t *ids,
                                        size_t count)
{
    struct arena *arena = ctx->task->arena;
    struct sql_params params;
    struct strbuf sql;

    sql_start(arena, &sql, &params);
    strbuf_printf(&sql, "select t.id from {p}.%.*s t where t.id = any(", STR_ARG(entity->table));
    sql_bind(&sql, &params, P_I64S(ids, count), "bigint[]");
    strbuf_str(&sql, STR(") order by t.id for update of t"));
    return write_call(ctx, "items.cascade_lock", &sql, &params, true);
}

/* Logs the affected records before the removal. Callers log the removed records themselves. */
AWAITS static int log_parts(struct records_ctx *ctx, struct db *tx, const struct cascade *cascade)
{
    struct write_calls calls;

    write_calls_init(&calls, ctx->task->arena);
    for (size_t i = 1; i < cascade->count; i++) {
        const struct part *part = &cascade->parts[i];
        enum live_kind kind = part->deleted ? LIVE_DELETED : LIVE_UPDATED;
        write_calls_add(&calls, log_ids_call(ctx, part->entity, kind, part->ids, part->count));
    }
    if (cascade->spread_count > 0)
        write_calls_add(&calls,
                        live_reset_call(calls.arena, cascade->spread, cascade->spread_count));
    return write_tx_db(
        ctx, cascade->parts[0].entity, db_batch(ctx->task, tx, calls.items, calls.count, NULL));
}

int cascade_find(struct records_ctx *ctx,
                 const struct entity *entity,
                 struct db *tx,
                 const int64_t *ids,
                 size_t count,
                 struct cascade **ret_cascade)
{
    struct arena *arena = ctx->task->arena;
    bool locks = false;

    *ret_cascade = NULL;
    if (count == 0)
        return 0;
    TRY(any_locks(ctx, entity, tx, &locks));
    bool listens = cascade_listens(ctx, entity);
    if (!locks && !listens)
        return 0;
    struct db_call lock = cascade_lock_call(ctx, entity, ids, count);
    TRY(write_tx_db(ctx, entity, write_run(ctx, tx, &lock)));
    struct cascade *cascade = ARENA_NEW(arena, cascade);
    cascade->locks = locks;
    cascade->for_locks = !listens;
    struct part *first = cascade_add_part(arena, cascade);
    *first = (struct part){.entity = entity, .deleted = true, .count = count};
    first->ids = ARENA_ARRAY(arena, first->ids, count);
    memcpy(first->ids, ids, count * sizeof(*ids));
    for (size_t i = 0; i < cascade->count; i++) {
        const struct model_field *field = cascade->parts[i].entity->referrers;
        if (i > 0)
            TRY(read_payloads(ctx, tx, &cascade->parts[i]));
        for (; cascade->parts[i].deleted && field != NULL; field = field->next_referrer)
            if (is_emitted(ctx, field) || (locks && field->on_delete != ON_DELETE_RESTRICT) ||
                (deletes(field) && cascade_listens(ctx, field->entity)))
                TRY(find_referring(ctx, tx, cascade, i, field));
    }
    if (locks)
        TRY(find_locked(ctx, tx, cascade));
    if (ctx->model->live)
        TRY(log_parts(ctx, tx, cascade));
    *ret_cascade = cascade;
    return 0;
}

/* --- events --- */

/* Gives the records that lost a reference a new version. */
static struct db_call
touch_call(struct records_ctx *system, const struct part *part, const struct columns *plan)
{
    struct arena *arena = system->task->arena;
    struct sql_params params;
    struct strbuf sql;

    sql_start(arena, &sql, &params);
    strbuf_printf(&sql,
                  "update {p}.%.*s as t set updated_at = greatest(now(), t.updated_at),"
                  " version = t.version + 1"
                  " where t.id = any(",
                  STR_ARG(part->entity->table));
    sql_bind(&sql, &params, P_I64S(part->ids, part->count), "bigint[]");
    strbuf_str(&sql, STR(") returning "));
    columns_sql(system, plan, "t", &sql, &params);
    return write_call(system, "items.cascade_touch", &sql, &params, true);
}

AWAITS static int emit_changed(struct records_ctx *ctx, struct db *tx, const struct part *part)
{
    struct write_events events = {.event = EVENT_UPDATED, .ids = part->ids, .count = part->count};
    struct records_ctx system;
    struct columns plan;

    if (entity_only_searched(part->entity, EVENT_UPDATED) && !ctx->model->live)
        return write_events(ctx, part->entity, tx, &events);
    TRY(write_payload_plan(ctx, part->entity, &system, &plan));
    struct db_call call = touch_call(&system, part, &plan);
    TRY(write_tx_db(ctx, part->entity, write_run(ctx, tx, &call)));
    events.rows = &call.rows;
    return write_events(ctx, part->entity, tx, &events);
}

AWAITS static int emit_deleted(struct records_ctx *ctx, struct db *tx, const struct part *part)
{
    struct write_calls calls;

    write_calls_init(&calls, ctx->task->arena);
    write_forget_calls(ctx, part->entity, part->ids, part->count, &calls);
    TRY(write_tx_db(ctx, part->entity, db_batch(ctx->task, tx, calls.items, calls.count, NULL)));
    const struct write_events events = {
        .event = EVENT_DELETED, .ids = part->ids, .count = part->count, .rows = &part->rows};
    return write_events(ctx, part->entity, tx, &events);
}

int cascade_emit(struct records_ctx *ctx, struct db *tx, struct cascade *cascade)
{
    for (size_t i = 1; cascade != NULL && i < cascade->count; i++) {
        const struct part *part = &cascade->parts[i];
        if (!part->deleted && !write_listens(part->entity, EVENT_UPDATED) && !ctx->model->live)
            continue; /* found only because of locks */
        TRY(part->deleted ? emit_deleted(ctx, tx, part) : emit_changed(ctx, tx, part));
    }
    if (cascade == NULL || cascade->spread_count == 0 || !ctx->model->searched)
        return 0;
    struct db_call check =
        events_check_call(ctx->task->arena, cascade->spread, cascade->spread_count);
    return write_tx_db(ctx, cascade->parts[0].entity, write_run(ctx, tx, &check));
}
