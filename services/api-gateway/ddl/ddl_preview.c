/* Preview of a change of tables: violations, indexes, counted rows. */
#include "ddl/ddl_preview.h"

#include <string.h>

void ddl_preview_init(struct ddl_preview *preview, struct arena *arena)
{
    *preview = (struct ddl_preview){
        .arena = arena,
        .rewrites_rows = some_i64(0),
        .loses_rows = some_i64(0),
    };
}

void ddl_preview_add_violation(struct ddl_preview *preview, const struct ddl_violation *violation)
{
    ARENA_PUSH(preview->arena,
               preview->violations,
               preview->violation_count,
               preview->violation_cap,
               *violation);
}

bool ddl_preview_has_violation(const struct ddl_preview *preview, enum problem code)
{
    for (size_t i = 0; preview && i < preview->violation_count; i++) {
        if (preview->violations[i].code == code)
            return true;
    }
    return false;
}

void ddl_preview_add_field(struct ddl_preview *preview, const struct model_field *field)
{
    ARENA_PUSH(preview->arena, preview->fields, preview->field_count, preview->field_cap, field);
}

/* --- indexes --- */

static void add_change(struct ddl_preview *preview,
                       const struct model_field *field,
                       const char *kind,
                       const char *change)
{
    const struct ddl_index_change made = {field->name, kind, change};

    ARENA_PUSH(preview->arena, preview->indexes, preview->index_count, preview->index_cap, made);
}

static const char *index_kind(enum ddl_index index)
{
    return index == INDEX_UNIQUE ? "unique" : "index";
}

static void search_change(struct ddl_preview *preview,
                          const struct model_field *old,
                          const struct model_field *next,
                          bool retyped)
{
    bool was = old && field_is_searched(old);
    bool will = next && field_is_searched(next);

    if (was && will && retyped)
        add_change(preview, next, "search", "rebuilt");
    else if (was != will)
        add_change(preview, will ? next : old, "search", will ? "created" : "dropped");
}

void ddl_preview_add_indexes(struct ddl_preview *preview,
                             const struct model_field *old,
                             const struct model_field *next)
{
    bool retyped = old && next && old->type != next->type;
    enum ddl_index was = old ? ddl_index_of(old) : INDEX_NONE;
    enum ddl_index will = next ? ddl_index_of(next) : INDEX_NONE;

    if (was != INDEX_NONE && was == will && retyped)
        add_change(preview, next, index_kind(will), "rebuilt");
    if (was != INDEX_NONE && was != will)
        add_change(preview, old, index_kind(was), "dropped");
    if (will != INDEX_NONE && was != will)
        add_change(preview, next, index_kind(will), "created");
    search_change(preview, old, next, retyped);
}

/* --- rows --- */

AWAITS static int preview_count_rows(struct req *r, struct str rows, int64_t *ret_count)
{
    struct str text =
        arena_printf(r->task.arena,
                     "select count(*) as total from (select %.*s limit " DDL_COUNTED ") c",
                     STR_ARG(rows));
    const struct sql sql = {
        .name = "ddl.count",
        .text = text.ptr,
        .hash = str_hash(text),
        .kind = SQL_ONE,
        .heavy = true,
        .no_prepare = true,
    };
    struct rows found;

    TRY(sql_all(r, &found, &sql, NULL, 0));
    *ret_count = rows_i64(&found, 0, 0);
    return 0;
}

int ddl_preview_count_rewrites(struct req *r,
                               const struct model_field *old,
                               const struct model_field *next)
{
    struct ddl_preview *preview = r->scope->preview;

    if (old->is_many ||
        strcmp(model_type_info(old->type)->sql, model_type_info(next->type)->sql) == 0)
        return 0;
    preview->rewrites_rows.set = ddl_caller_sees_all(r, old->entity);
    if (!preview->rewrites_rows.set)
        return 0;
    return preview_count_rows(
        r,
        arena_printf(r->task.arena, "1 from {p}.e_%lld", (long long)old->entity->id),
        &preview->rewrites_rows.value);
}

int ddl_preview_history_loss(struct req *r, const struct entity *entity)
{
    struct ddl_preview *preview = r->scope->preview;

    preview->loses_data = true;
    preview->loses_rows.set = ddl_caller_sees_all(r, entity);
    if (!preview->loses_rows.set)
        return 0;
    return preview_count_rows(r,
                              arena_printf(r->task.arena,
                                           "distinct h.record_id from {p}.h_%lld h",
                                           (long long)entity->id),
                              &preview->loses_rows.value);
}

int ddl_preview_count_losses(struct req *r,
                             const struct entity *entity,
                             const struct model_field *field)
{
    struct ddl_preview *preview = r->scope->preview;
    struct str condition = STR("true");

    if (field && field->is_many)
        condition = arena_printf(r->task.arena,
                                 "exists (select 1 from {p}.l_%lld l where l.from_id = t.id)",
                                 (long long)field->id);
    else if (field)
        condition = arena_printf(r->task.arena, "t.f_%lld is not null", (long long)field->id);
    preview->loses_data = true;
    preview->loses_rows.set = ddl_caller_sees_all(r, entity) &&
                              (!field || caller_can_field(r->scope->caller, field, ACT_READ));
    if (!preview->loses_rows.set)
        return 0;
    return preview_count_rows(r,
                              arena_printf(r->task.arena,
                                           "1 from {p}.e_%lld t where %.*s",
                                           (long long)entity->id,
                                           STR_ARG(condition)),
                              &preview->loses_rows.value);
}
