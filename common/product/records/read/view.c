/* Materialised views: their queries as JSON, their tables, and the tables as entities. */
#include "records/view.h"

#include "base/map.h"
#include "json/jr.h"
#include "records/read/grouping.h"
#include "records/rules/error.h"
#include "records/rules/statement.h"

/* --- queries as JSON --- */

static void view_print_conditions(struct jw *w, const struct records_filter *filter)
{
    jw_arr(w);
    for (size_t i = 0; i < filter->item_count; i++) {
        const struct records_condition *from = &filter->items[i];
        jw_obj(w);
        JW_STR(w, "name", from->name);
        jw_lit(w, "groups");
        jw_arr(w);
        for (size_t k = 0; k < from->group_count; k++) {
            jw_i64(w, from->groups[k].is_or);
            jw_i64(w, from->groups[k].slot);
        }
        jw_arr_end(w);
        JW_STR(w, "field", from->field);
        JW_CSTR(w, "op", from->op < OP_COUNT ? filter_operator(from->op)->name : "");
        jw_lit(w, "values");
        jw_arr(w);
        for (size_t k = 0; from->list != NULL && k < from->list_count; k++)
            jw_str(w, from->list[k]);
        if (from->list == NULL)
            jw_str(w, from->value);
        jw_arr_end(w);
        JW_BOOL(w, "list", from->list != NULL);
        jw_obj_end(w);
    }
    jw_arr_end(w);
}

void view_query_print(struct jw *w, const struct records_series *query)
{
    jw_obj(w);
    JW_STR(w, "timezone", query->timezone);
    jw_lit(w, "groups");
    jw_arr(w);
    for (size_t i = 0; i < query->group_count; i++) {
        jw_obj(w);
        JW_STR(w, "path", query->groups[i].path);
        JW_I64(w, "bucket", query->groups[i].bucket);
        jw_obj_end(w);
    }
    jw_arr_end(w);
    jw_lit(w, "values");
    jw_arr(w);
    for (size_t i = 0; i < query->value_count; i++) {
        jw_obj(w);
        JW_I64(w, "function", query->values[i].function);
        JW_STR_OR_NULL(w, "path", query->values[i].path);
        jw_obj_end(w);
    }
    jw_arr_end(w);
    jw_lit(w, "filter");
    view_print_conditions(w, &query->filter);
    jw_obj_end(w);
}

static void
view_read_condition(struct arena *arena, const json_t *from, struct records_condition *to)
{
    const json_t *groups = json_object_get(from, "groups");
    const json_t *values = json_object_get(from, "values");
    size_t count = json_array_size(values);
    struct str *texts = ARENA_ARRAY(arena, texts, count + 1);

    to->name = jr_str(from, "name");
    to->field = jr_str(from, "field");
    to->op = filter_op_find(jr_str(from, "op"));
    for (size_t i = 0; i < json_array_size(groups) / 2 && i < FILTER_GROUPS; i++)
        to->groups[to->group_count++] = (struct filter_group){
            .is_or = json_integer_value(json_array_get(groups, 2 * i)) != 0,
            .slot = json_integer_value(json_array_get(groups, 2 * i + 1)),
        };
    for (size_t i = 0; i < count; i++) {
        const json_t *value = json_array_get(values, i);
        texts[i] = (struct str){json_string_value(value), json_string_length(value)};
    }
    if (jr_bool(from, "list", false)) {
        to->list = texts;
        to->list_count = count;
    } else if (count > 0) {
        to->value = texts[0];
    }
}

bool view_query_read(struct arena *arena, struct str text, struct records_series *ret_query)
{
    struct records_series query = {.limit = VIEW_ROWS_MAX};
    struct jr_error error;
    json_t *root;

    if (jr_parse_stored(arena, text, &root, &error) != 0)
        return false;
    const json_t *groups = json_object_get(root, "groups");
    const json_t *values = json_object_get(root, "values");
    const json_t *filter = json_object_get(root, "filter");
    struct records_condition *items = ARENA_ARRAY(arena, items, json_array_size(filter) + 1);
    query.timezone = jr_str(root, "timezone");
    for (size_t i = 0; i < json_array_size(groups) && i < SERIES_GROUPS; i++) {
        const json_t *group = json_array_get(groups, i);
        query.groups[query.group_count++] = (struct series_group){
            .path = jr_str(group, "path"),
            .bucket = (enum bucket_unit)jr_i64(group, "bucket", BUCKET_NONE),
        };
    }
    for (size_t i = 0; i < json_array_size(values) && i < SERIES_VALUES; i++) {
        const json_t *value = json_array_get(values, i);
        query.values[query.value_count++] = (struct series_value){
            .function = (enum series_function)jr_i64(value, "function", SERIES_COUNT),
            .path = jr_str(value, "path"),
        };
    }
    for (size_t i = 0; i < json_array_size(filter); i++)
        view_read_condition(arena, json_array_get(filter, i), &items[query.filter.item_count++]);
    query.filter.items = items;
    *ret_query = query;
    return true;
}

/* --- columns --- */

/* Returns "sum_author_price" for "sum(author.price)". */
static struct str view_column_name(struct arena *arena, struct str name)
{
    struct strbuf out;

    strbuf_init(&out, arena, name.len + 1);
    for (size_t i = 0; i < name.len; i++)
        if (name.ptr[i] != ')')
            strbuf_char(&out, name.ptr[i] == '(' || name.ptr[i] == '.' ? '_' : name.ptr[i]);
    return strbuf_view(&out);
}

int view_columns_check(struct records_ctx *ctx, const struct series_plan *plan)
{
    const struct series_column *columns;
    size_t count = series_columns(plan, &columns);

    for (size_t i = 0; i < count; i++) {
        struct str name = view_column_name(ctx->task->arena, columns[i].name);
        bool taken = str_is(name, "id");
        for (size_t k = 0; k < i && !taken; k++)
            taken = str_eq(name, view_column_name(ctx->task->arena, columns[k].name));
        if (taken)
            records_finding_add(ctx,
                                columns[i].is_value ? STR("aggregates") : STR("group_by"),
                                PROBLEM_UNIQUE_VIOLATION,
                                "give two columns the name \"%.*s\"",
                                STR_ARG(name));
    }
    return records_fail_findings(ctx, PROBLEM_VALIDATION_FAILED);
}

void view_columns_print(struct jw *w, struct arena *arena, const struct series_plan *plan)
{
    const struct series_column *columns;
    size_t count = series_columns(plan, &columns);

    jw_arr(w);
    for (size_t i = 0; i < count; i++) {
        jw_obj(w);
        JW_STR(w, "name", view_column_name(arena, columns[i].name));
        JW_CSTR(w, "type", columns[i].type);
        jw_obj_end(w);
    }
    jw_arr_end(w);
}

static enum model_type view_type(struct str name)
{
    enum model_type type = model_type_find(name);

    return type == TYPE_COUNT ? TYPE_TEXT : model_type_info(type)->view;
}

/* The type of a column. Computed values of a whole number are numeric, the type of PostgreSQL's sum
 * and avg. */
static const char *view_column_type(const struct series_column *column)
{
    enum model_type type = view_type(str_from(column->type));

    if (column->is_value && column->field != NULL && column->field->type == TYPE_INTEGER)
        type = TYPE_DECIMAL;
    return model_type_info(type)->sql;
}

/* --- tables --- */

AWAITS static int
view_run(struct records_ctx *ctx, struct strbuf *text, const struct sql_params *params, bool ddl)
{
    struct sql *sql = sql_dynamic(ctx, "records.view", text, params->count, SQL_EXEC);

    sql->writes = true;
    sql->no_prepare = ddl;
    return db_query(ctx->task, ctx->db, sql, params->items, params->count, NULL);
}

AWAITS static int view_create_table(struct records_ctx *ctx,
                                    const struct entity *source,
                                    const struct series_plan *plan,
                                    int64_t id,
                                    int64_t generation)
{
    const struct series_column *columns;
    size_t count = series_columns(plan, &columns);
    struct strbuf text;
    struct sql_params params;

    sql_start(ctx->task->arena, &text, &params);
    strbuf_printf(&text,
                  "create table {p}.v_%lld_%lld (id bigint primary key, version bigint not null",
                  (long long)id,
                  (long long)generation);
    for (size_t i = 0; i < count; i++)
        strbuf_printf(&text, ", c_%zu %s", i, view_column_type(&columns[i]));
    strbuf_char(&text, ')');
    return records_db_result(ctx, source, view_run(ctx, &text, &params, true));
}

int view_table_create(struct records_ctx *ctx,
                      const struct entity *source,
                      const struct series_plan *plan,
                      int64_t id,
                      int64_t generation,
                      int64_t *ret_rows)
{
    const struct series_column *columns;
    size_t count = series_columns(plan, &columns);
    struct strbuf text;
    struct sql_params params;
    struct rows rows;

    TRY(view_create_table(ctx, source, plan, id, generation));
    sql_start(ctx->task->arena, &text, &params);
    strbuf_printf(&text,
                  "insert into {p}.v_%lld_%lld select row_number() over (), 1",
                  (long long)id,
                  (long long)generation);
    for (size_t i = 0; i < count; i++)
        strbuf_printf(&text, ", g.g_%zu", columns[i].at);
    strbuf_str(&text, STR(" from ("));
    size_t made = series_select(ctx, plan, &text, &params);
    strbuf_str(&text, STR(") as g ("));
    for (size_t i = 0; i < made; i++)
        strbuf_printf(&text, "%sg_%zu", i > 0 ? ", " : "", i);
    strbuf_char(&text, ')');
    struct sql *sql = sql_dynamic(ctx, "records.view_fill", &text, params.count, SQL_EXEC);
    sql->writes = true;
    TRY(records_db_result(
        ctx, source, db_query(ctx->task, ctx->db, sql, params.items, params.count, &rows)));
    if (rows.affected > VIEW_ROWS_MAX)
        return records_fail(
            ctx, PROBLEM_TOO_MANY_ROWS, "The view would have more than %d rows.", VIEW_ROWS_MAX);
    *ret_rows = rows.affected;
    return 0;
}

int view_tables_drop(struct records_ctx *ctx, int64_t id, int64_t keep)
{
    struct strbuf text;
    struct sql_params params;
    struct rows rows;

    sql_start(ctx->task->arena, &text, &params);
    strbuf_printf(
        &text,
        "select c.relname::text from pg_class c where c.relnamespace = '{p}'::regnamespace"
        " and c.relkind = 'r' and c.relname ~ '^v_%lld_[0-9]+$'",
        (long long)id);
    struct sql *find = sql_dynamic(ctx, "records.view_tables", &text, 0, SQL_MANY);
    TRY(records_db_result(ctx, NULL, db_query(ctx->task, ctx->db, find, NULL, 0, &rows)));
    for (size_t i = 0; i < rows.count; i++) {
        struct str name = rows_str(&rows, i, 0);
        if (str_eq(name,
                   arena_printf(ctx->task->arena, "v_%lld_%lld", (long long)id, (long long)keep)))
            continue;
        /* A refresh and a deletion of the view may run concurrently. */
        sql_start(ctx->task->arena, &text, &params);
        strbuf_printf(&text, "drop table if exists {p}.%.*s", STR_ARG(name));
        TRY(records_db_result(ctx, NULL, view_run(ctx, &text, &params, true)));
    }
    return 0;
}

/* --- as an entity --- */

static void view_free_map(void *map)
{
    map_free(map);
}

const struct entity *
view_entity(struct arena *arena, int64_t id, int64_t generation, struct str columns)
{
    struct entity *entity = ARENA_NEW(arena, entity);
    struct jr_error error;
    json_t *list;

    if (jr_parse_stored(arena, columns, &list, &error) != 0 || !json_is_array(list))
        return NULL;
    entity->id = -id;
    entity->table = arena_printf(arena, "v_%lld_%lld", (long long)id, (long long)generation);
    entity->field_count = json_array_size(list) + 1;
    entity->fields = ARENA_ARRAY(arena, entity->fields, entity->field_count);
    entity->by_name = map_new();
    arena_defer(arena, view_free_map, entity->by_name);
    entity->fields[0] = (struct model_field){
        .name = STR("id"),
        .type = TYPE_INTEGER,
        .system = true,
        .required = true,
        .column = STR("id"),
    };
    for (size_t i = 1; i < entity->field_count; i++) {
        const json_t *column = json_array_get(list, i - 1);
        entity->fields[i] = (struct model_field){
            .id = (int64_t)i,
            .name = jr_str(column, "name"),
            .type = view_type(jr_str(column, "type")),
            .column = arena_printf(arena, "c_%zu", i - 1),
        };
    }
    for (size_t i = 0; i < entity->field_count; i++) {
        entity->fields[i].entity = entity;
        (void)map_put(entity->by_name, entity->fields[i].name, &entity->fields[i]);
    }
    return entity;
}
