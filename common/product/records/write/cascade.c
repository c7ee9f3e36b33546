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
struct cascade_part {
    const struct entity *entity;
    bool deleted; /* false: the records lose a reference */
    int64_t *ids;
    size_t count;
    struct rows rows; /* payloads of deleted records, as they were before the removal */
};

struct cascade {
    struct cascade_part *parts; /* the first part: the records that the caller removes */
    size_t count;
    size_t cap;
    size_t record_count;
    int64_t *checked_entities; /* ids of entities with more affected records than `parts` lists: the
                        search index checks all their records */
    size_t spread_count;
    size_t spread_cap;
    bool has_locks;         /* another user holds a lock that might be in the way */
    bool is_only_for_locks; /* no event has a consumer: records are searched only because of
                               `has_locks` */
    const struct entity *locked_entity; /* of a record that another user has locked; NULL = none */
    int64_t locked_id;
};

/* --- consumers --- */

/* Returns true when deleting the target of a reference deletes the referring record. */
static bool field_deletes_referrer(const struct model_field *field)
{
    return !field->is_many && field->on_delete == ON_DELETE_CASCADE;
}

static bool field_has_consumer(const struct records_ctx *ctx, const struct model_field *field)
{
    if (field->on_delete == ON_DELETE_RESTRICT)
        return false;
    return ctx->model->live ||
           entity_has_consumer(field->entity,
                               field_deletes_referrer(field) ? EVENT_DELETED : EVENT_UPDATED);
}

/* Breadth-first search over the entities whose records are deleted too; visits each entity once. */
bool cascade_has_consumer(const struct records_ctx *ctx, const struct entity *entity)
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
            if (field_has_consumer(ctx, field))
                return true;
            if (!field_deletes_referrer(field) || seen[field->entity - all])
                continue;
            seen[field->entity - all] = true;
            list[count++] = field->entity;
        }
    }
    return false;
}

/* --- locks of other users --- */

/* Lists entities whose records may be deleted too or lose a reference. *ret_ids is arena-owned. */
static size_t
list_reached_entities(struct records_ctx *ctx, const struct entity *entity, const int64_t **ret_ids)
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
            if (field_deletes_referrer(field) && !gone[at])
                queue[queued++] = field->entity;
            gone[at] = gone[at] || field_deletes_referrer(field);
        }
    }
    *ret_ids = ids;
    return count;
}

/* Selects another user's lock on a record of these entities, or of `part` unless it is NULL. */
static struct db_call cascade_locks_call(struct records_ctx *ctx,
                                         const int64_t *entities,
                                         size_t count,
                                         const struct cascade_part *part)
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

AWAITS static int cascade_has_locks(struct records_ctx *ctx,
                                    const struct entity *entity,
                                    struct db *tx,
                                    bool *ret_any)
{
    const int64_t *entities = NULL;
    size_t count = entity->referrers != NULL ? list_reached_entities(ctx, entity, &entities) : 0;

    *ret_any = false;
    if (count == 0)
        return 0;
    struct db_call call = cascade_locks_call(ctx, entities, count, NULL);
    TRY(write_tx_db(ctx, entity, write_run(ctx, tx, &call)));
    *ret_any = call.rows.count > 0;
    return 0;
}

AWAITS static int cascade_find_lock(struct records_ctx *ctx, struct db *tx, struct cascade *cascade)
{
    for (size_t i = 1; i < cascade->count; i++) {
        const struct cascade_part *part = &cascade->parts[i];
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
    (void)rls_put_where(ctx, entity, ACT_READ, "t", &sql, &params);
    struct db_call call = write_call(ctx, "items.cascade_seen", &sql, &params, true);
    if (field_rule_can_read_entity(ctx, entity)) {
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

static struct cascade_part *cascade_add_part(struct arena *arena, struct cascade *cascade)
{
    ARENA_PUSH(arena, cascade->parts, cascade->count, cascade->cap, (struct cascade_part){0});
    return &cascade->parts[cascade->count - 1];
}

/* Returns the ids of the entity's records that parts with the same `deleted` already list. */
static struct db_param cascade_known_ids(struct arena *arena,
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
        const struct cascade_part *part = &cascade->parts[i];
        if (part->entity != entity || part->deleted != deleted)
            continue;
        memcpy(&ids[count], part->ids, part->count * sizeof(*ids));
        count += part->count;
    }
    return P_I64S(ids, count);
}

/* Selects and locks the records that refer to a record of `part` by `field`, except records that a
 * part with the same `deleted` lists already (cascade_known_ids()). */
static struct db_call cascade_find_call(struct records_ctx *ctx,
                                        const struct cascade *cascade,
                                        const struct cascade_part *part,
                                        const struct model_field *field)
{
    struct arena *arena = ctx->task->arena;
    struct sql_params params;
    struct strbuf sql;

    sql_start(arena, &sql, &params);
    strbuf_printf(&sql, "select t.id from {p}.%.*s t where ", STR_ARG(field->entity->table));
    if (field->is_many)
        strbuf_printf(
            &sql,
            "exists (select 1 from {p}.l_%lld l where l.from_id = t.id and l.to_id = any(",
            (long long)field->id);
    else
        strbuf_printf(&sql, "(t.%.*s = any(", STR_ARG(field->column));
    sql_bind(&sql, &params, P_I64S(part->ids, part->count), "bigint[]");
    strbuf_str(&sql, STR(")) and not t.id = any("));
    sql_bind(&sql,
             &params,
             cascade_known_ids(arena, cascade, field->entity, field_deletes_referrer(field)),
             "bigint[]");
    strbuf_printf(&sql, ") order by t.id limit %d for update of t", CASCADE_MAX + 1);
    return write_call(ctx, "items.cascade_find", &sql, &params, true);
}

/* Returns true when only the search index consumes events of the records that this reference
 * affects. If so, adds their entities to cascade->checked_entities: the index checks all records of
 * an entity, not listed records. */
static bool cascade_check_entity(struct records_ctx *ctx,
                                 struct cascade *cascade,
                                 const struct model_field *field)
{
    const int64_t *ids = NULL;
    size_t count =
        field_deletes_referrer(field) ? list_reached_entities(ctx, field->entity, &ids) : 0;
    const unsigned others = (unsigned)~CONSUMER_SEARCH;

    if (cascade->has_locks ||
        (entity_consumers(field->entity,
                          field_deletes_referrer(field) ? EVENT_DELETED : EVENT_UPDATED) &
         others))
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct entity *entity = model_entity_by_id(ctx->model, ids[i]);
        if ((entity_consumers(entity, EVENT_DELETED) | entity_consumers(entity, EVENT_UPDATED)) &
            others)
            return false;
    }
    struct arena *arena = ctx->task->arena;
    ARENA_PUSH(arena,
               cascade->checked_entities,
               cascade->spread_count,
               cascade->spread_cap,
               field->entity->id);
    for (size_t i = 0; i < count; i++)
        ARENA_PUSH(
            arena, cascade->checked_entities, cascade->spread_count, cascade->spread_cap, ids[i]);
    return true;
}

AWAITS static int cascade_find_referring(struct records_ctx *ctx,
                                         struct db *tx,
                                         struct cascade *cascade,
                                         size_t index,
                                         const struct model_field *field)
{
    struct arena *arena = ctx->task->arena;
    struct db_call call = cascade_find_call(ctx, cascade, &cascade->parts[index], field);

    TRY(write_tx_db(ctx, field->entity, write_run(ctx, tx, &call)));
    if (call.rows.count == 0)
        return 0;
    if (cascade->record_count + call.rows.count > CASCADE_MAX &&
        cascade_check_entity(ctx, cascade, field))
        return 0;
    cascade->record_count += call.rows.count;
    if (cascade->record_count > CASCADE_MAX)
        return records_fail(
            ctx,
            PROBLEM_TOO_MANY_ROWS,
            "More than %d other records would be deleted or changed too%s; nothing was "
            "deleted.",
            CASCADE_MAX,
            cascade->is_only_for_locks
                ? ", and another user has locked a record that may be one of them"
                : "");
    struct cascade_part *part = cascade_add_part(arena, cascade);
    *part =
        (struct cascade_part){.entity = field->entity, .deleted = field_deletes_referrer(field)};
    part->ids = ARENA_ARRAY(arena, part->ids, call.rows.count);
    part->count = call.rows.count;
    for (size_t i = 0; i < part->count; i++)
        part->ids[i] = rows_i64(&call.rows, i, 0);
    return 0;
}

/* Reads the payloads of records that will be deleted, as the system sees the records. */
AWAITS static int
cascade_read_payloads(struct records_ctx *ctx, struct db *tx, struct cascade_part *part)
{
    struct records_ctx system;
    struct columns plan;

    if (!part->deleted || !entity_has_consumer(part->entity, EVENT_DELETED) ||
        entity_has_only_search(part->entity, EVENT_DELETED))
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
AWAITS static int cascade_log(struct records_ctx *ctx, struct db *tx, const struct cascade *cascade)
{
    struct write_calls calls;

    write_calls_init(&calls, ctx->task->arena);
    for (size_t i = 1; i < cascade->count; i++) {
        const struct cascade_part *part = &cascade->parts[i];
        enum live_kind kind = part->deleted ? LIVE_DELETED : LIVE_UPDATED;
        write_calls_add(&calls, log_ids_call(ctx, part->entity, kind, part->ids, part->count));
    }
    if (cascade->spread_count > 0)
        write_calls_add(
            &calls, live_reset_call(calls.arena, cascade->checked_entities, cascade->spread_count));
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
    TRY(cascade_has_locks(ctx, entity, tx, &locks));
    bool listens = cascade_has_consumer(ctx, entity);
    if (!locks && !listens)
        return 0;
    struct db_call lock = cascade_lock_call(ctx, entity, ids, count);
    TRY(write_tx_db(ctx, entity, write_run(ctx, tx, &lock)));
    struct cascade *cascade = ARENA_NEW(arena, cascade);
    cascade->has_locks = locks;
    cascade->is_only_for_locks = !listens;
    struct cascade_part *first = cascade_add_part(arena, cascade);
    *first = (struct cascade_part){.entity = entity, .deleted = true, .count = count};
    first->ids = ARENA_ARRAY(arena, first->ids, count);
    memcpy(first->ids, ids, count * sizeof(*ids));
    for (size_t i = 0; i < cascade->count; i++) {
        const struct model_field *field = cascade->parts[i].entity->referrers;
        if (i > 0)
            TRY(cascade_read_payloads(ctx, tx, &cascade->parts[i]));
        for (; cascade->parts[i].deleted && field != NULL; field = field->next_referrer)
            if (field_has_consumer(ctx, field) ||
                (locks && field->on_delete != ON_DELETE_RESTRICT) ||
                (field_deletes_referrer(field) && cascade_has_consumer(ctx, field->entity)))
                TRY(cascade_find_referring(ctx, tx, cascade, i, field));
    }
    if (locks)
        TRY(cascade_find_lock(ctx, tx, cascade));
    if (ctx->model->live)
        TRY(cascade_log(ctx, tx, cascade));
    *ret_cascade = cascade;
    return 0;
}

/* --- events --- */

/* Gives the records that lost a reference a new version. */
static struct db_call cascade_touch_call(struct records_ctx *system,
                                         const struct cascade_part *part,
                                         const struct columns *plan)
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

AWAITS static int
cascade_emit_changed(struct records_ctx *ctx, struct db *tx, const struct cascade_part *part)
{
    struct write_events events = {.event = EVENT_UPDATED, .ids = part->ids, .count = part->count};
    struct records_ctx system;
    struct columns plan;

    if (entity_has_only_search(part->entity, EVENT_UPDATED) && !ctx->model->live)
        return write_events(ctx, part->entity, tx, &events);
    TRY(write_payload_plan(ctx, part->entity, &system, &plan));
    struct db_call call = cascade_touch_call(&system, part, &plan);
    TRY(write_tx_db(ctx, part->entity, write_run(ctx, tx, &call)));
    events.rows = &call.rows;
    return write_events(ctx, part->entity, tx, &events);
}

AWAITS static int
cascade_emit_deleted(struct records_ctx *ctx, struct db *tx, const struct cascade_part *part)
{
    struct write_calls calls;

    write_calls_init(&calls, ctx->task->arena);
    delete_forget_calls(ctx, part->entity, part->ids, part->count, &calls);
    TRY(write_tx_db(ctx, part->entity, db_batch(ctx->task, tx, calls.items, calls.count, NULL)));
    const struct write_events events = {
        .event = EVENT_DELETED, .ids = part->ids, .count = part->count, .rows = &part->rows};
    return write_events(ctx, part->entity, tx, &events);
}

int cascade_emit(struct records_ctx *ctx, struct db *tx, struct cascade *cascade)
{
    for (size_t i = 1; cascade != NULL && i < cascade->count; i++) {
        const struct cascade_part *part = &cascade->parts[i];
        if (!part->deleted && !entity_has_consumer(part->entity, EVENT_UPDATED) &&
            !ctx->model->live)
            continue; /* found only because of locks */
        TRY(part->deleted ? cascade_emit_deleted(ctx, tx, part)
                          : cascade_emit_changed(ctx, tx, part));
    }
    if (cascade == NULL || cascade->spread_count == 0 || !ctx->model->has_index)
        return 0;
    struct db_call check =
        events_check_call(ctx->task->arena, cascade->checked_entities, cascade->spread_count);
    return write_tx_db(ctx, cascade->parts[0].entity, write_run(ctx, tx, &check));
}
