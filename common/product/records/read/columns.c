/* Plans of fields, select lists, and records as JSON. */
#include "records/read/columns.h"

#include <stdint.h>

#include "base/num.h"
#include "base/panic.h"
#include "base/secret_mask.h"
#include "json/jr_off_thread.h"
#include "records/read/expand.h"
#include "records/records.h"
#include "records/rules/error.h"
#include "records/rules/field_rule.h"
#include "records/rules/rls.h"
#include "records/rules/statement.h"

#define SECRET_SHOWN    STR(SECRET_MASK)
#define PLANS_MAX       4096 /* per model, for each field rule and entity; no more plans are cached */
#define TEXT_PART_BYTES ((size_t)32 << 10)
#define VALUE_EXTRA     64 /* quotes, and "********" */
#define YIELD_FIELDS    16 /* a check of the clock costs as much as writing a short value */
#define YIELD_BYTES     2048

/* --- plans --- */

static void fill_readable(const struct records_ctx *ctx,
                          struct arena *arena,
                          const struct entity *entity,
                          struct columns *plan)
{
    *plan = (struct columns){.entity = entity};
    plan->fields = arena_zalloc_array(arena, sizeof(void *), entity->field_count);
    for (size_t i = 0; i < entity->field_count; i++)
        if (field_rule_allows(ctx, &entity->fields[i], ACT_READ))
            plan->fields[plan->count++] = &entity->fields[i];
}

/* Callers with the same field rule share the plan of all readable fields as long as the model
 * lives. */
static const struct columns *plan_readable(struct records_ctx *ctx, const struct entity *entity)
{
    struct {
        char kind;
        char public_only;
        int64_t entity;
        uint64_t fields;
    } __attribute__((packed)) key = {
        .kind = 'c',
        .public_only = ctx->public_only,
        .entity = entity->id,
        .fields = ctx->public_only ? 0 : caller_field_key(ctx->caller, entity),
    };
    struct str name = {(const char *)&key, sizeof(key)};
    bool own = entity->id < 0; /* an entity of view_entity() ends with its request: do not cache */
    struct columns *plan = own ? NULL : map_get(ctx->model->statements, name);

    if (plan != NULL)
        return plan;
    bool keep = !own && map_size(ctx->model->statements) < PLANS_MAX;
    struct arena *arena = keep ? ctx->model->arena : ctx->task->arena;
    plan = ARENA_NEW(arena, plan);
    fill_readable(ctx, arena, entity, plan);
    if (keep)
        (void)map_put(ctx->model->statements, name, plan);
    return plan;
}

/* The named fields, in the entity's own order. */
static int plan_selected(struct records_ctx *ctx,
                         const struct entity *entity,
                         struct str names,
                         struct columns *ret_plan)
{
    struct arena *arena = ctx->task->arena;
    bool *wanted = ARENA_ARRAY(arena, wanted, entity->field_count);
    struct columns plan = {.entity = entity};

    while (names.ptr != NULL) {
        struct str name = str_split(&names, ',');
        const struct model_field *field = field_rule_find(ctx, entity, name);
        if (field == NULL)
            records_finding_add_unknown(ctx, STR("fields"), name);
        else
            wanted[field - entity->fields] = true;
    }
    plan.fields = arena_zalloc_array(arena, sizeof(void *), entity->field_count);
    for (size_t i = 0; i < entity->field_count; i++)
        if (wanted[i])
            plan.fields[plan.count++] = &entity->fields[i];
    TRY(records_fail_findings(ctx, PROBLEM_INVALID_QUERY));
    *ret_plan = plan;
    return 0;
}

int columns_plan(struct records_ctx *ctx,
                 const struct entity *entity,
                 struct str names,
                 struct columns *ret_plan)
{
    if (names.ptr != NULL)
        return plan_selected(ctx, entity, names, ret_plan);
    *ret_plan = *plan_readable(ctx, entity);
    return 0;
}

/* --- select list --- */

static bool columns_is_id(const struct model_field *field)
{
    return field == &field->entity->fields[0];
}

size_t columns_at(const struct columns *plan, size_t i, size_t *next)
{
    return columns_is_id(plan->fields[i]) ? COLUMNS_ID : (*next)++;
}

/* Ids of a relation to many records in order, without records that the caller may not see. */
static void put_links(const struct records_ctx *ctx,
                      const struct model_field *field,
                      const char *alias,
                      struct strbuf *sql,
                      struct sql_params *params)
{
    strbuf_printf(sql,
                  "(select array_agg(l.to_id order by l.position, l.to_id) from {p}.l_%lld l"
                  " where l.from_id = %s.id",
                  (long long)field->id,
                  alias);
    if (field->target != NULL && rls_applies(ctx, field->target)) {
        strbuf_printf(sql,
                      " and exists (select 1 from {p}.%.*s r where r.id = l.to_id",
                      STR_ARG(field->target->table));
        (void)rls_put_where(ctx, field->target, ACT_READ, "r", sql, params);
        strbuf_char(sql, ')');
    }
    strbuf_char(sql, ')');
}

static void put_column(const struct records_ctx *ctx,
                       const struct model_field *field,
                       const char *alias,
                       struct strbuf *sql,
                       struct sql_params *params)
{
    if (field->is_many) {
        put_links(ctx, field, alias, sql, params);
        return;
    }
    bool secret = field->type == TYPE_SECRET;
    if (secret)
        strbuf_char(sql, '(');
    strbuf_cstr(sql, alias);
    strbuf_char(sql, '.');
    strbuf_str(sql, field->column);
    if (secret)
        strbuf_str(sql, STR(" is not null)"));
}

void columns_sql(const struct records_ctx *ctx,
                 const struct columns *plan,
                 const char *alias,
                 struct strbuf *sql,
                 struct sql_params *params)
{
    strbuf_cstr(sql, alias);
    strbuf_str(sql, STR(".id, "));
    strbuf_cstr(sql, alias);
    strbuf_str(sql, STR(".version"));
    for (size_t i = 0; i < plan->count; i++) {
        if (columns_is_id(plan->fields[i]))
            continue;
        strbuf_str(sql, STR(", "));
        put_column(ctx, plan->fields[i], alias, sql, params);
    }
}

/* --- JSON --- */

/* A bigint[] is "{3,1}", which differs from JSON's "[3,1]" only in its brackets. */
static void put_ids(struct jw *w, struct str array)
{
    jw_arr(w);
    if (array.len > 2)
        jw_raw(w, (struct str){array.ptr + 1, array.len - 2});
    jw_arr_end(w);
}

void columns_write_value(struct jw *w,
                         const struct model_field *field,
                         const struct rows *rows,
                         size_t row,
                         size_t column)
{
    struct str text = rows_str(rows, row, column);

    if (field->is_many) {
        put_ids(w, text);
        return;
    }
    if (text.ptr == NULL) {
        jw_null(w);
        return;
    }
    switch (model_type_info(field->type)->print) {
    case PRINT_TEXT:
        jw_str(w, text);
        return;
    case PRINT_JSON:
        jw_raw(w, text);
        return;
    case PRINT_MASK:
        if (text.ptr[0] == 't')
            jw_str(w, SECRET_SHOWN);
        else
            jw_null(w);
        return;
    case PRINT_COLUMN:
        rows_json_value(w, rows, row, column);
        return;
    }
}

/* NOLINTBEGIN(misc-no-recursion): EXPAND_DEPTH levels */
AWAITS static int
put_expanded(struct task *task, struct jw *w, const struct expansion *expansion, struct str text)
{
    int64_t id;
    size_t row = SIZE_MAX;

    if (text.ptr != NULL && num_parse_i64(text, &id))
        row = expand_find(expansion, id);
    if (row != SIZE_MAX)
        return columns_json(task, w, &expansion->plan, &expansion->rows, row);
    if (!expansion->field->is_many)
        jw_null(w);
    return 0;
}

AWAITS static int
put_relation(struct task *task, struct jw *w, const struct expansion *expansion, struct str text)
{
    if (!expansion->field->is_many)
        return put_expanded(task, w, expansion, text);
    jw_arr(w);
    if (text.len > 2) {
        struct str rest = {text.ptr + 1, text.len - 2};
        while (rest.ptr != NULL)
            TRY(put_expanded(task, w, expansion, str_split(&rest, ',')));
    }
    jw_arr_end(w);
    return 0;
}
/* NOLINTEND(misc-no-recursion) */

void columns_json_system(struct jw *w,
                         const struct columns *plan,
                         const struct rows *rows,
                         size_t row)
{
    size_t column = COLUMNS_FIRST;

    jw_obj(w);
    for (size_t i = 0; i < plan->count; i++) {
        const struct model_field *field = plan->fields[i];
        size_t at = columns_at(plan, i, &column);
        if (!field->system)
            continue;
        jw_key(w, field->name);
        columns_write_value(w, field, rows, row, at);
    }
    jw_obj_end(w);
}

static bool
is_long_text(const struct model_field *field, const struct rows *rows, size_t row, size_t column)
{
    return model_type_info(field->type)->print == PRINT_TEXT &&
           rows_str(rows, row, column).len > TEXT_PART_BYTES;
}

/* Writes a long text in parts: a megabyte of control characters becomes six megabytes of JSON. */
AWAITS static int put_long_text(struct task *task, struct jw *w, struct str text)
{
    jw_str_begin(w);
    while (text.len > 0) {
        size_t len = text.len < TEXT_PART_BYTES ? text.len : TEXT_PART_BYTES;
        jw_str_part(w, (struct str){text.ptr, len});
        text = (struct str){text.ptr + len, text.len - len};
        TRY(task_yield_if_due(task));
    }
    jw_str_end(w);
    return 0;
}

/* NOLINTNEXTLINE(misc-no-recursion): EXPAND_DEPTH levels */
int columns_json(struct task *task,
                 struct jw *w,
                 const struct columns *plan,
                 const struct rows *rows,
                 size_t row)
{
    size_t column = COLUMNS_FIRST;

    jw_obj(w);
    for (size_t i = 0; i < plan->count; i++) {
        const struct model_field *field = plan->fields[i];
        const struct expansion *expansion = plan->expansions ? plan->expansions[i] : NULL;
        size_t at = columns_at(plan, i, &column);

        jw_key(w, field->name);
        if (expansion != NULL)
            TRY(put_relation(task, w, expansion, rows_str(rows, row, at)));
        else if (is_long_text(field, rows, row, at))
            TRY(put_long_text(task, w, rows_str(rows, row, at)));
        else
            columns_write_value(w, field, rows, row, at);
        if (i % YIELD_FIELDS == YIELD_FIELDS - 1 || rows_str(rows, row, at).len > YIELD_BYTES)
            TRY(task_yield_if_due(task));
    }
    jw_obj_end(w);
    return task_yield_if_due(task);
}

/* --- values --- */

/* co: makes the value of a column: texts and whole numbers directly, others by parsing the output
 * of columns_write_value(). */
AWAITS static int make_value(struct records_ctx *ctx,
                             const struct model_field *field,
                             const struct rows *rows,
                             size_t row,
                             size_t column,
                             json_t **ret_value)
{
    struct str text = rows_str(rows, row, column);
    struct jr_error error;
    struct strbuf out;
    struct jw w;
    int64_t number;

    if (text.ptr == NULL && !field->is_many)
        *ret_value = json_null();
    else if (model_type_info(field->type)->print == PRINT_TEXT)
        *ret_value = json_stringn_nocheck(text.ptr, text.len);
    else if (!field->is_many && field->type == TYPE_INTEGER && num_parse_i64(text, &number))
        *ret_value = json_integer(number);
    else {
        strbuf_init(&out, ctx->task->arena, text.len + VALUE_EXTRA);
        jw_init(&w, &out);
        columns_write_value(&w, field, rows, row, column);
        if (jr_parse_off_thread(
                ctx->task, ctx->task->arena, strbuf_view(&out), true, ret_value, &error) != 0)
            return records_fail(
                ctx, PROBLEM_OUTPUT_TOO_LARGE, "The records cannot be read: %s", error.text);
        (void)json_incref(*ret_value);
    }
    return 0;
}

AWAITS static int make_record(struct records_ctx *ctx,
                              const struct columns *plan,
                              const struct rows *rows,
                              size_t row,
                              json_t *record)
{
    size_t column = COLUMNS_FIRST;
    json_t *value;

    for (size_t i = 0; i < plan->count; i++) {
        const struct model_field *field = plan->fields[i];
        size_t at = columns_at(plan, i, &column);
        size_t bytes = rows_str(rows, row, at).len + field->name.len;

        if (bytes > ctx->values_bytes)
            return records_fail(ctx, PROBLEM_OUTPUT_TOO_LARGE, "The records are too large.");
        ctx->values_bytes -= bytes;
        TRY(make_value(ctx, field, rows, row, at, &value));
        (void)json_object_setn_new_nocheck(record, field->name.ptr, field->name.len, value);
        TRY(task_yield_if_due(ctx->task));
    }
    return 0;
}

int columns_write_answer(struct records_ctx *ctx,
                         const struct columns *plan,
                         const struct rows *rows,
                         size_t row,
                         struct strbuf *out)
{
    struct jw w;

    if (ctx->values == NULL) {
        jw_init(&w, out);
        return columns_json(ctx->task, &w, plan, rows, row);
    }
    MUST(plan->expansions == NULL);
    json_t *record = json_object();
    (void)json_array_append_new(ctx->values, record);
    return make_record(ctx, plan, rows, row, record);
}
