/* Columns of fields: type, default, constraints, indexes, and how they change. */
#include <string.h>

#include "base/codec.h"
#include "ddl/ddl.h"
#include "ddl/ddl_preview.h"
#include "json/jr.h"

static const char *const delete_actions[] = {
    [ON_DELETE_RESTRICT] = "no action", /* checked at the statement's end, so that one statement may
                                           delete both sides */
    [ON_DELETE_SET_NULL] = "set null",
    [ON_DELETE_CASCADE] = "cascade",
};

/* Writes the value's text in hexadecimal, so that nothing in it can end the literal. The expression
 * is stable, so adding a column with this default does not rewrite the table. */
static struct str default_expression(struct arena *arena, const struct model_field *field)
{
    const json_t *value = field->default_value;
    struct str text = json_is_string(value) && field->type != TYPE_JSON
                          ? (struct str){json_string_value(value), json_string_length(value)}
                          : jr_print(arena, value);

    return arena_printf(arena,
                        "(convert_from(decode('%.*s', 'hex'), 'UTF8'))::%s",
                        STR_ARG(codec_hex(arena, text)),
                        model_type_info(field->type)->sql);
}

struct str ddl_column(struct arena *arena, const struct model_field *field)
{
    struct str fallback = STR("");

    if (field->default_value)
        fallback = arena_printf(arena, " default %.*s", STR_ARG(default_expression(arena, field)));
    return arena_printf(arena,
                        "f_%lld %s%.*s%s",
                        (long long)field->id,
                        model_type_info(field->type)->sql,
                        STR_ARG(fallback),
                        field->required ? " not null" : "");
}

/* --- constraints and indexes --- */

/* Relations and files are always indexed: a delete of the target has to find the rows that refer to
 * it. */
enum ddl_index ddl_index_of(const struct model_field *field)
{
    if (field->is_many)
        return INDEX_NONE;
    if (field->unique)
        return INDEX_UNIQUE;
    return field->indexed || field->type == TYPE_RELATION || field->type == TYPE_FILE ? INDEX_PLAIN
                                                                                      : INDEX_NONE;
}

static bool column_is_text(const struct model_field *field)
{
    return strcmp(model_type_info(field->type)->sql, "text") == 0;
}

/* Text columns get a second index, in the order of the project's locale (0003_model.sql). */
static void add_index(struct ddl *ddl, const struct model_field *field)
{
    bool unique = ddl_index_of(field) == INDEX_UNIQUE;
    long long id = field->id;

    if (ddl_index_of(field) == INDEX_NONE)
        return;
    ddl_add(ddl,
            "create %sindex %s_%lld on {p}.e_%lld (f_%lld)",
            unique ? "unique " : "",
            unique ? "u" : "i",
            id,
            (long long)field->entity->id,
            id);
    if (column_is_text(field))
        ddl_add(ddl, "call {p}.text_index_add(%lld, %lld)", (long long)field->entity->id, id);
}

static void drop_index(struct ddl *ddl, const struct model_field *field)
{
    if (ddl_index_of(field) == INDEX_NONE)
        return;
    ddl_add(ddl,
            "drop index {p}.%s_%lld",
            ddl_index_of(field) == INDEX_UNIQUE ? "u" : "i",
            (long long)field->id);
    if (column_is_text(field))
        ddl_add(ddl,
                "call {p}.text_index_drop(%lld, %lld)",
                (long long)field->entity->id,
                (long long)field->id);
}

static void add_length_check(struct ddl *ddl, const struct model_field *field)
{
    if (field->max_length > 0)
        ddl_add(ddl,
                "alter table {p}.e_%lld add constraint ck_%lld check (char_length(f_%lld) <= %lld)",
                (long long)field->entity->id,
                (long long)field->id,
                (long long)field->id,
                (long long)field->max_length);
}

static void add_foreign_key(struct ddl *ddl, const struct model_field *field)
{
    ddl_add(ddl,
            "alter table {p}.e_%lld add constraint fk_%lld foreign key (f_%lld)"
            " references {p}.e_%lld (id) on delete %s",
            (long long)field->entity->id,
            (long long)field->id,
            (long long)field->id,
            (long long)field->target->id,
            delete_actions[field->on_delete]);
}

/* Adds or drops the foreign key and the triggers that update files (0008_files.sql). */
static void change_file_rule(struct ddl *ddl, const struct model_field *field, bool add)
{
    ddl_add(ddl,
            add ? "call {p}.file_field_add(%lld, %lld, true)"
                : "call {p}.file_field_drop(%lld, %lld)",
            (long long)field->entity->id,
            (long long)field->id);
}

/* Deleting a record deletes the links to it, except with ON_DELETE_RESTRICT: then the links prevent
 * the delete. */
static void add_link_key(struct ddl *ddl, const struct model_field *field)
{
    ddl_add(ddl,
            "alter table {p}.l_%lld add constraint fk_%lld foreign key (to_id)"
            " references {p}.e_%lld (id) on delete %s",
            (long long)field->id,
            (long long)field->id,
            (long long)field->target->id,
            field->on_delete == ON_DELETE_RESTRICT ? "no action" : "cascade");
}

static void add_link_table(struct ddl *ddl, const struct model_field *field)
{
    long long id = field->id;

    ddl_add(ddl,
            "create table {p}.l_%lld (from_id bigint not null references {p}.e_%lld (id)"
            " on delete cascade, to_id bigint not null, position integer not null default 0,"
            " primary key (from_id, to_id))",
            id,
            (long long)field->entity->id);
    add_link_key(ddl, field);
    ddl_add(ddl, "create index i_%lld on {p}.l_%lld (to_id)", id, id);
}

void ddl_field_add_constraints(struct ddl *ddl, const struct model_field *field)
{
    if (field->is_many) {
        add_link_table(ddl, field);
        return;
    }
    add_length_check(ddl, field);
    if (field->type == TYPE_RELATION)
        add_foreign_key(ddl, field);
    if (field->type == TYPE_FILE)
        change_file_rule(ddl, field, true);
    add_index(ddl, field);
}

void ddl_field_add(struct ddl *ddl, const struct model_field *field)
{
    if (!field->is_many)
        ddl_add(ddl,
                "alter table {p}.e_%lld add column %.*s",
                (long long)field->entity->id,
                STR_ARG(ddl_column(ddl->arena, field)));
    ddl_field_add_constraints(ddl, field);
}

void ddl_field_drop(struct ddl *ddl, const struct model_field *field)
{
    if (field->type == TYPE_FILE)
        change_file_rule(ddl, field, false);
    ddl_history_drop_field(ddl, field);
    if (field->is_many)
        ddl_add(ddl, "drop table {p}.l_%lld", (long long)field->id);
    else
        ddl_add(ddl,
                "alter table {p}.e_%lld drop column f_%lld",
                (long long)field->entity->id,
                (long long)field->id);
}

/* --- changes --- */

static void alter_column(struct ddl *ddl, const struct model_field *field, const char *what)
{
    ddl_add(ddl,
            "alter table {p}.e_%lld alter column f_%lld %s",
            (long long)field->entity->id,
            (long long)field->id,
            what);
}

static bool default_changed(const struct model_field *old, const struct model_field *next)
{
    if (!old->default_value || !next->default_value)
        return old->default_value != next->default_value;
    return !json_equal(old->default_value, next->default_value);
}

static void change_foreign_key(struct ddl *ddl, const struct model_field *next)
{
    ddl_add(ddl,
            "alter table {p}.%s_%lld drop constraint fk_%lld",
            next->is_many ? "l" : "e",
            (long long)(next->is_many ? next->id : next->entity->id),
            (long long)next->id);
    if (next->is_many)
        add_link_key(ddl, next);
    else
        add_foreign_key(ddl, next);
}

/* Drops what depends on the column's type before the change, and adds it again after. */
static void
change_column(struct ddl *ddl, const struct model_field *old, const struct model_field *next)
{
    struct ddl_conversion conversion;
    struct arena *arena = ddl->arena;
    bool retyped =
        old->type != next->type && ddl_conversion_find(old->type, next->type, &conversion);
    bool length = retyped || old->max_length != next->max_length;
    bool reindex = retyped || ddl_index_of(old) != ddl_index_of(next);
    bool fallback = retyped || default_changed(old, next);

    if (length && old->max_length > 0)
        ddl_add(ddl,
                "alter table {p}.e_%lld drop constraint ck_%lld",
                (long long)old->entity->id,
                (long long)old->id);
    if (reindex)
        drop_index(ddl, old);
    if (fallback && old->default_value)
        alter_column(ddl, old, "drop default");
    if (retyped) {
        const char *using = ddl_conversion_text(arena, conversion.using, next->column);
        struct str what =
            arena_printf(arena, "type %s using (%s)", model_type_info(next->type)->sql, using);
        alter_column(ddl, next, what.ptr);
    }
    if (fallback && next->default_value) {
        struct str value = default_expression(arena, next);
        alter_column(ddl, next, arena_printf(arena, "set default %.*s", STR_ARG(value)).ptr);
    }
    if (old->required != next->required)
        alter_column(ddl, next, next->required ? "set not null" : "drop not null");
    if (length)
        add_length_check(ddl, next);
    if (reindex)
        add_index(ddl, next);
}

/* --- checks of the stored values --- */

/* Returns whether a bound is new or stricter. The table has no constraint for bounds, so stored
 * rows may violate it. */
static bool is_tighter(const struct model_field *old, const struct model_field *next, bool upper)
{
    bool has = upper ? next->has_max : next->has_min;
    bool had = upper ? old->has_max : old->has_min;
    double change = upper ? old->max - next->max : next->min - old->min;

    return has && (!had || change > 0 || old->type != next->type);
}

AWAITS static int check_bound(struct req *r,
                              const struct model_field *old,
                              const struct model_field *next,
                              const char *value,
                              bool upper)
{
    struct db_param bound = P_F64(upper ? next->max : next->min);
    struct ddl_check check = {
        .field = old,
        .condition = arena_printf(r->task.arena,
                                  "(%s)::double precision %s $1::double precision",
                                  value,
                                  upper ? ">" : "<")
                         .ptr,
        .params = &bound,
        .param_count = 1,
        .code = PROBLEM_OUT_OF_RANGE,
        .reason = upper ? "a value above the maximum in" : "a value below the minimum in",
    };

    return is_tighter(old, next, upper) ? ddl_check_rows(r, &check) : 0;
}

static bool is_narrower(const struct model_field *old, const struct model_field *next)
{
    return next->max_length > 0 && (old->max_length == 0 || old->max_length > next->max_length);
}

AWAITS static int column_check_values(struct req *r,
                                      const struct model_field *old,
                                      const struct model_field *next,
                                      const char *value)
{
    struct arena *arena = r->task.arena;
    bool retyped = old->type != next->type;
    bool narrower = next->max_length > 0 && (retyped || is_narrower(old, next));
    bool listed = next->type == TYPE_ENUM && next->values != old->values;

    if (narrower) {
        struct db_param max = P_I64(next->max_length);
        struct ddl_check check = {
            .field = old,
            .condition = arena_printf(arena, "char_length(%s) > $1::bigint", value).ptr,
            .params = &max,
            .param_count = 1,
            .code = PROBLEM_TOO_LONG,
            .reason = "a value above the maximum length in",
        };
        TRY(ddl_check_rows(r, &check));
    }
    if (listed) {
        struct db_param values = P_STRS(next->values->values, next->values->count);
        struct ddl_check check = {
            .field = old,
            .condition = arena_printf(arena, "not (%s = any($1::text[]))", value).ptr,
            .params = &values,
            .param_count = 1,
            .code = PROBLEM_OUT_OF_RANGE,
            .reason = "a value that is not in the enum in",
        };
        TRY(ddl_check_rows(r, &check));
    }
    TRY(check_bound(r, old, next, value, false));
    return check_bound(r, old, next, value, true);
}

AWAITS static int check_unique(struct req *r, const struct model_field *field, const char *value)
{
    struct str condition = arena_printf(
        r->task.arena,
        "%s in (select %s from {p}.e_%lld t where %s is not null group by 1 having count(*) > 1)",
        value,
        value,
        (long long)field->entity->id,
        value);
    struct ddl_check check = {
        .field = field,
        .condition = condition.ptr,
        .code = PROBLEM_UNIQUE_VIOLATION,
        .reason = "a duplicate value in",
    };

    return ddl_check_rows(r, &check);
}

AWAITS static int check_required(struct req *r, const struct model_field *field)
{
    long long id = field->id;
    struct str condition =
        field->is_many
            ? arena_printf(r->task.arena,
                           "not exists (select 1 from {p}.l_%lld l where l.from_id = t.id)",
                           id)
            : arena_printf(r->task.arena, "t.f_%lld is null", id);
    struct ddl_check check = {
        .field = field,
        .condition = condition.ptr,
        .code = PROBLEM_REQUIRED,
        .reason = "no value in",
    };

    return ddl_check_rows(r, &check);
}

AWAITS static int
check_rows(struct req *r, const struct model_field *old, const struct model_field *next)
{
    struct ddl_conversion conversion;
    struct arena *arena = r->task.arena;
    bool retyped =
        old->type != next->type && ddl_conversion_find(old->type, next->type, &conversion);
    const char *value = retyped ? ddl_conversion_text(arena, conversion.using, old->column)
                                : arena_cstr(arena, old->column);

    if (next->required && !old->required)
        TRY(check_required(r, old));
    if (next->is_many)
        return 0;
    if (retyped && conversion.refuse) {
        const char *refuse = ddl_conversion_text(arena, conversion.refuse, old->column);
        struct ddl_check check = {
            .field = old,
            .condition =
                arena_printf(arena, "%.*s is not null and %s", STR_ARG(old->column), refuse).ptr,
            .code = PROBLEM_TYPE_MISMATCH,
            .reason = "a value that cannot be converted in",
        };
        TRY(ddl_check_rows(r, &check));
        if (ddl_preview_has_violation(r->scope->preview, PROBLEM_TYPE_MISMATCH))
            return 0; /* the other checks convert the values, which would fail */
    }
    TRY(column_check_values(r, old, next, value));
    return next->unique && (retyped || !old->unique) ? check_unique(r, old, value) : 0;
}

/* Returns whether the change affects the table. Names and flags are not part of the table. */
static bool changes_table(const struct model_field *old, const struct model_field *next)
{
    return old->type != next->type || old->required != next->required ||
           old->max_length != next->max_length || ddl_index_of(old) != ddl_index_of(next) ||
           default_changed(old, next) || old->on_delete != next->on_delete ||
           old->values != next->values || is_tighter(old, next, false) ||
           is_tighter(old, next, true);
}

/* Returns whether the stored values may contradict the change. */
static bool depends_on_values(const struct model_field *old, const struct model_field *next)
{
    return old->type != next->type || (next->required && !old->required) ||
           (next->unique && !old->unique) || is_narrower(old, next) ||
           (next->type == TYPE_ENUM && next->values != old->values) ||
           is_tighter(old, next, false) || is_tighter(old, next, true);
}

int ddl_field_change(struct req *r, const struct model_field *old, const struct model_field *next)
{
    struct ddl lock;
    struct ddl change;

    if (!changes_table(old, next))
        return 0;
    if (depends_on_values(old, next))
        TRY(ddl_may_read_values(r, old));
    if (next->on_delete == ON_DELETE_CASCADE && old->on_delete != next->on_delete)
        TRY(ddl_may_drop(r, old->entity, "on_delete \"cascade\""));
    ddl_init(&lock, r->task.arena);
    ddl_table_lock(&lock, old);
    TRY(ddl_run(r, &lock));
    TRY(check_rows(r, old, next));
    if (r->scope->preview)
        return 0;
    ddl_init(&change, r->task.arena);
    if (!next->is_many)
        change_column(&change, old, next);
    if (old->on_delete != next->on_delete)
        change_foreign_key(&change, next);
    return ddl_run(r, &change);
}
