/* Expansions: related records instead of their ids. */
#include "records/read/expand.h"

#include "base/num.h"
#include "base/panic.h"
#include "records/read/columns.h"
#include "records/records.h"
#include "records/rules/error.h"
#include "records/rules/field_rule.h"
#include "records/rules/rls.h"
#include "records/rules/statement.h"
#include <stdlib.h>

/* --- files --- */

/* The fields of an expanded file (0008_files.sql). A caller that may read the record's field
 * may read the file. */
enum { FILE_VALUES = 10 };
static const struct entity file_entity;
/* clang-format off: one field per line reads best */
#define FILE_VALUE(field_name, field_type)                                                         \
    {                                                                                              \
        .name = STR_INIT(field_name), .type = (field_type), .column = STR_INIT(field_name),        \
        .entity = &file_entity                                                                     \
    }
/* clang-format on */
static struct model_field file_fields_shown[FILE_VALUES] = {
    FILE_VALUE("id", TYPE_INTEGER),
    FILE_VALUE("filename", TYPE_TEXT),
    FILE_VALUE("mime_type", TYPE_TEXT),
    FILE_VALUE("size", TYPE_INTEGER),
    FILE_VALUE("sha256", TYPE_TEXT),
    FILE_VALUE("is_public", TYPE_BOOL),
    FILE_VALUE("width", TYPE_INTEGER),
    FILE_VALUE("height", TYPE_INTEGER),
    FILE_VALUE("duration", TYPE_FLOAT),
    FILE_VALUE("created_at", TYPE_DATETIME),
};
static const struct entity file_entity = {
    .id = -1,
    .name = STR_INIT("svc_files"),
    .table = STR_INIT("file_values"),
    .fields = file_fields_shown,
    .field_count = FILE_VALUES,
};

static void file_plan(struct arena *arena, struct columns *ret_plan)
{
    *ret_plan = (struct columns){.entity = &file_entity, .count = FILE_VALUES};
    ret_plan->fields = arena_zalloc_array(arena, sizeof(void *), FILE_VALUES);
    for (size_t i = 0; i < FILE_VALUES; i++)
        ret_plan->fields[i] = &file_fields_shown[i];
}

/* --- plan --- */

/* Index of the field in the plan; adds the field if the parameter fields left it out. The arrays
 * may belong to the model, so copies them before the first change. */
static size_t
plan_field_index(struct arena *arena, struct columns *plan, const struct model_field *field)
{
    size_t most = plan->entity->field_count;

    if (plan->expansions == NULL) {
        const struct model_field **fields = arena_zalloc_array(arena, sizeof(void *), most);
        for (size_t i = 0; i < plan->count; i++)
            fields[i] = plan->fields[i];
        plan->fields = fields;
        plan->expansions = arena_zalloc_array(arena, sizeof(void *), most);
    }
    for (size_t i = 0; i < plan->count; i++)
        if (plan->fields[i] == field)
            return i;
    plan->fields[plan->count] = field;
    return plan->count++;
}

/* A readable file field, or a readable relation to an entity that the caller may read. NULL for any
 * other name. */
static const struct model_field *
find_relation(const struct records_ctx *ctx, const struct entity *entity, struct str name)
{
    const struct model_field *field =
        entity == &file_entity ? NULL : field_rule_find(ctx, entity, name);

    if (field != NULL && field->type == TYPE_FILE)
        return field;
    if (field == NULL || field->type != TYPE_RELATION || field->target == NULL)
        return NULL;
    return field_rule_can_read_entity(ctx, field->target) ? field : NULL;
}

static int
expansion_plan(struct records_ctx *ctx, const struct model_field *field, struct columns *ret_plan)
{
    if (field->type != TYPE_FILE)
        return columns_plan(ctx, field->target, STR_NONE, ret_plan);
    file_plan(ctx->task->arena, ret_plan);
    return 0;
}

static int expand_path(struct records_ctx *ctx, struct columns *plan, struct str path)
{
    struct arena *arena = ctx->task->arena;
    struct str rest = path;

    for (int depth = 0; rest.ptr != NULL; depth++) {
        const struct model_field *field = find_relation(ctx, plan->entity, str_split(&rest, '.'));
        if (field == NULL) {
            records_finding_add_unknown(ctx, STR("expand"), path);
            return 0;
        }
        if (depth == EXPAND_DEPTH) {
            records_finding_add(ctx,
                                STR("expand"),
                                PROBLEM_OUT_OF_RANGE,
                                "has a path of more than %d levels",
                                EXPAND_DEPTH);
            return 0;
        }
        size_t at = plan_field_index(arena, plan, field);
        struct expansion *expansion = plan->expansions[at];
        if (expansion == NULL) {
            expansion = ARENA_NEW(arena, expansion);
            expansion->field = field;
            TRY(expansion_plan(ctx, field, &expansion->plan));
            plan->expansions[at] = expansion;
        }
        plan = &expansion->plan;
    }
    return 0;
}

int expand_plan(struct records_ctx *ctx, struct str paths, struct columns *plan)
{
    size_t count = 0;

    while (paths.ptr != NULL) {
        if (count++ == EXPAND_PATHS) {
            records_finding_add(
                ctx, STR("expand"), PROBLEM_OUT_OF_RANGE, "names more than %d paths", EXPAND_PATHS);
            break;
        }
        TRY(expand_path(ctx, plan, str_split(&paths, ',')));
    }
    return records_fail_findings(ctx, PROBLEM_INVALID_QUERY);
}

/* --- loading --- */

struct id_list {
    int64_t *items;
    size_t count;
    size_t cap;
};

static void add_id(struct arena *arena, struct id_list *list, int64_t id)
{
    ARENA_PUSH(arena, list->items, list->count, list->cap, id);
}

/* Ids in the column, each once, sorted. */
static struct id_list expand_collect(struct arena *arena,
                                     const struct model_field *field,
                                     const struct rows *rows,
                                     size_t column)
{
    struct id_list list = {0};

    for (size_t row = 0; row < rows->count; row++) {
        if (rows_null(rows, row, column))
            continue;
        if (!field->is_many) {
            add_id(arena, &list, rows_i64(rows, row, column));
            continue;
        }
        int64_t *ids;
        size_t count = rows_i64s(arena, rows, row, column, &ids);
        for (size_t i = 0; i < count; i++)
            add_id(arena, &list, ids[i]);
    }
    list.count = num_sort_unique(list.items, list.count);
    return list;
}

static int order_index(const void *left, const void *right)
{
    int64_t a = ((const struct expansion_id *)left)->id;
    int64_t b = ((const struct expansion_id *)right)->id;

    return (a > b) - (a < b);
}

static void build_index(struct arena *arena, struct expansion *expansion)
{
    expansion->count = expansion->rows.count;
    expansion->index = ARENA_ARRAY(arena, expansion->index, expansion->count);
    for (size_t i = 0; i < expansion->count; i++)
        expansion->index[i] = (struct expansion_id){rows_i64(&expansion->rows, i, COLUMNS_ID), i};
    if (expansion->count > 1)
        qsort(expansion->index, expansion->count, sizeof(*expansion->index), order_index);
}

AWAITS static int
load_records(struct records_ctx *ctx, struct expansion *expansion, const struct id_list *ids)
{
    const struct entity *entity = expansion->plan.entity;
    struct arena *arena = ctx->task->arena;
    struct strbuf text;
    struct sql_params params;

    sql_start(arena, &text, &params);
    strbuf_str(&text, STR("select "));
    columns_sql(ctx, &expansion->plan, "t", &text, &params);
    strbuf_printf(&text, " from {p}.%.*s t where t.id = any(", STR_ARG(entity->table));
    sql_bind(&text, &params, P_I64S(ids->items, ids->count), "bigint[]");
    strbuf_char(&text, ')');
    if (entity == &file_entity)
        strbuf_printf(&text, " and t.field_id = %lld", (long long)expansion->field->id);
    else
        (void)rls_put_where(ctx, entity, ACT_READ, "t", &text, &params);
    struct sql *sql = sql_dynamic(ctx, "records.expand", &text, params.count, SQL_MANY);
    TRY(records_db_result(
        ctx,
        entity,
        db_query(ctx->task, ctx->db, sql, params.items, params.count, &expansion->rows)));
    build_index(arena, expansion);
    return 0;
}

static int expand_fail_too_many(struct records_ctx *ctx, const struct expansion *expansion)
{
    return records_fail_field(ctx,
                              PROBLEM_INVALID_QUERY,
                              STR("expand"),
                              PROBLEM_OUT_OF_RANGE,
                              "\"%.*s\" refers to more than %d records: use a smaller limit",
                              STR_ARG(expansion->field->name),
                              EXPAND_RECORDS);
}

int expand_load(struct records_ctx *ctx, /* NOLINT(misc-no-recursion): EXPAND_DEPTH */
                const struct columns *plan,
                const struct rows *rows)
{
    size_t column = COLUMNS_FIRST;

    for (size_t i = 0; plan->expansions != NULL && i < plan->count; i++) {
        struct expansion *expansion = plan->expansions[i];
        size_t at = columns_at(plan, i, &column);
        if (expansion == NULL)
            continue;
        struct id_list ids = expand_collect(ctx->task->arena, expansion->field, rows, at);
        if (ids.count > EXPAND_RECORDS)
            return expand_fail_too_many(ctx, expansion);
        if (ids.count == 0)
            continue;
        TRY(load_records(ctx, expansion, &ids));
        TRY(expand_load(ctx, &expansion->plan, &expansion->rows));
    }
    return 0;
}

size_t expand_find(const struct expansion *expansion, int64_t id)
{
    const struct expansion_id wanted = {.id = id};
    const struct expansion_id *found =
        expansion->count > 0
            ? bsearch(&wanted, expansion->index, expansion->count, sizeof(wanted), order_index)
            : NULL;

    return found != NULL ? found->row : SIZE_MAX;
}
