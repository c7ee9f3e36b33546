/*
 * Any query string against filter, sort, fields, expand and cursor of a model made by hand. What is
 * accepted must become a balanced statement whose parameters are all numbered, and none of the
 * caller's text may be part of it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/panic.h"
#include "records/columns.h"
#include "records/cursor.h"
#include "records/error.h"
#include "records/expand.h"
#include "records/filter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MARK "qzx" /* a run of letters that no name of the model and no word of SQL has */

static struct entity entities[2];
static struct model_field fields[2][16];
static struct model model = {.version = 1, .entities = entities, .entity_count = 2};

static void add_field(size_t entity, const char *name, const char *column, enum model_type type)
{
    struct model_field *field = &fields[entity][entities[entity].field_count++];
    const struct entity *self = &entities[entity];

    *field = (struct model_field){
        .id = (int64_t)(entity * 100 + self->field_count),
        .name = str_from(name),
        .column = str_from(column),
        .type = type,
        .entity = self,
        .system = str_is(str_from(name), "id"),
        .target = type == TYPE_RELATION ? &entities[1 - entity] : NULL,
    };
    (void)map_put(self->by_name, field->name, field);
}

static void make_model(void)
{
    static const struct str values[] = {STR_INIT("open"), STR_INIT("paid")};
    static const struct model_enum states = {.name = STR_INIT("s"), .values = values, .count = 2};
    static const struct {
        const char *name;
        const char *column;
        enum model_type type;
    } all[] = {
        {"id", "id", TYPE_INTEGER},
        {"a", "f_1", TYPE_TEXT},
        {"b", "f_2", TYPE_INTEGER},
        {"c", "f_3", TYPE_FLOAT},
        {"d", "f_4", TYPE_DECIMAL},
        {"e", "f_5", TYPE_BOOL},
        {"f", "f_6", TYPE_DATE},
        {"g", "f_7", TYPE_DATETIME},
        {"h", "f_8", TYPE_JSON},
        {"or", "f_9", TYPE_ENUM},
        {"j", "f_10", TYPE_FILE},
        {"k", "f_11", TYPE_RELATION},
        {"l", "f_12", TYPE_RELATION},
        {"m", "f_13", TYPE_SECRET},
    };

    model.arena = arena_new(0);
    model.statements = map_new();
    for (size_t i = 0; i < ARRAY_LEN(entities); i++) {
        entities[i] = (struct entity){
            .id = (int64_t)i + 1,
            .name = i > 0 ? STR("two") : STR("one"),
            .table = i > 0 ? STR("e_2") : STR("e_1"),
            .row_level_security = i > 0,
            .fields = fields[i],
            .by_name = map_new(),
        };
        for (size_t k = 0; k < ARRAY_LEN(all); k++)
            add_field(i, all[k].name, all[k].column, all[k].type);
        fields[i][9].values = &states;
        fields[i][12].many = true;
    }
}

/* Parentheses close, and "$n" stays within the parameters. */
static void check_text(struct str text, size_t count)
{
    long depth = 0;

    for (size_t i = 0; i < text.len; i++) {
        depth += text.ptr[i] == '(' ? 1 : text.ptr[i] == ')' ? -1 : 0;
        MUST(depth >= 0);
        if (text.ptr[i] == '$') {
            char *end;
            unsigned long number = strtoul(text.ptr + i + 1, &end, 10);
            MUST(number >= 1 && number <= count);
        }
    }
    MUST(depth == 0);
    MUST(memmem(text.ptr, text.len, MARK, strlen(MARK)) == NULL);
}

static void build(struct records_ctx *ctx, const struct query *query)
{
    const struct entity *entity = &entities[0];
    struct filter *filter = NULL;
    struct columns plan;
    struct sort sort;
    struct cursor cursor;
    struct strbuf text;
    struct sql_params params;

    if (columns_plan(ctx, entity, query, &plan) != 0 || expand_parse(ctx, query, &plan) != 0 ||
        filter_parse(ctx, entity, query, &filter) != 0 ||
        sort_parse(ctx, entity, query, &sort) != 0 ||
        cursor_parse(ctx, entity, query, &sort, &cursor) != 0) {
        MUST(ctx->error.code != NULL);
        return;
    }
    strbuf_init(&text, ctx->task->arena, RECORDS_SQL_BYTES);
    sql_params_init(&params, ctx->task->arena);
    columns_sql(ctx, &plan, "t", &text, &params);
    (void)rls_where(ctx, &entities[1], ACT_READ, "t", &text, &params);
    filter_where(ctx, filter, "t", &text, &params);
    cursor_where(ctx, &cursor, &sort, "t", &text, &params);
    sort_order(ctx, &sort, "t", &text, &params);
    struct sql *sql = sql_dynamic(ctx, "fuzz", &text, params.count, SQL_MANY);
    check_text(str_from(sql->text), params.count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int64_t ids[] = {1, 2, 3};
    static struct field_rule all = {.all = true};
    static struct entity_right rights_of[] = {
        {.entity_id = 1, .actions = 1U << ACT_READ},
        {.entity_id = 2, .actions = 1U << ACT_READ},
    };
    static const struct rights rights = {
        .entities = rights_of, .entity_count = 2, .role_ids = (int64_t *)ids, .role_count = 3};
    static const struct caller caller = {
        .kind = CALLER_USER, .user_id = 7, .rights = &rights, .group_scope = 4};

    if (model.arena == NULL) {
        for (size_t i = 0; i < ARRAY_LEN(rights_of); i++)
            for (size_t k = 0; k < ARRAY_LEN(rights_of[i].fields); k++)
                rights_of[i].fields[k] = all;
        make_model();
    }

    struct task task = {.arena = arena_new(0)};
    struct db db = {.schema = 1};
    struct records_ctx ctx = {.task = &task, .db = &db, .model = &model, .caller = &caller};
    struct query query;
    const char *reason;
    if (query_parse(task.arena, (struct str){(const char *)data, size}, &query, &reason) == 0)
        build(&ctx, &query);
    arena_free(task.arena);
    return 0;
}
