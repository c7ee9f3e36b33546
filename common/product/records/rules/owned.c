/* Statements over rows that are no records, under the row rule. */
#include "records/owned.h"

#include "records/rules/field_rule.h"
#include "records/rules/owned_files.h"
#include "records/rules/rls.h"

/* Ids of entities begin at 1, so this one has no grants. */
const struct entity owned_files = {.id = -1,
                                   .name = STR_INIT("svc_files"),
                                   .table = STR_INIT("files"),
                                   .row_level_security = true};

#define FILE_FIELDS_BYTES 8192U

struct owned_statement {
    struct records_ctx *ctx;
    struct strbuf text;
    struct sql_params params;
};

struct owned_statement *owned_new(struct records_ctx *ctx)
{
    struct owned_statement *statement = ARENA_NEW(ctx->task->arena, statement);

    statement->ctx = ctx;
    sql_start(ctx->task->arena, &statement->text, &statement->params);
    return statement;
}

void owned_add_text(struct owned_statement *statement, const char *text)
{
    strbuf_cstr(&statement->text, text);
}

void owned_add_value(struct owned_statement *statement, struct db_param value, const char *type)
{
    sql_bind(&statement->text, &statement->params, value, type);
}

void owned_add_rule(struct owned_statement *statement, enum perm_action action, const char *alias)
{
    (void)rls_put_where(
        statement->ctx, &owned_files, action, alias, &statement->text, &statement->params);
}

/* Ids of the file fields on which the caller may perform the action, "1,2"; empty: none. */
static struct str
file_fields(const struct records_ctx *ctx, const struct entity *entity, enum perm_action action)
{
    struct strbuf ids;

    strbuf_init(&ids, ctx->task->arena, FILE_FIELDS_BYTES);
    for (size_t i = 0; i < entity->field_count; i++)
        if (entity->fields[i].type == TYPE_FILE &&
            field_rule_allows(ctx, &entity->fields[i], action))
            strbuf_printf(&ids, "%s%lld", ids.len > 0 ? "," : "", (long long)entity->fields[i].id);
    return strbuf_view(&ids);
}

static void record_rule(struct owned_statement *statement,
                        const struct entity *entity,
                        struct str fields,
                        enum perm_action action,
                        const char *alias)
{
    strbuf_printf(&statement->text,
                  " or %s.entity_id = %lld and %s.field_id in (%.*s) and exists (select 1 from"
                  " {p}.%.*s t where t.id = %s.record_id",
                  alias,
                  (long long)entity->id,
                  alias,
                  STR_ARG(fields),
                  STR_ARG(entity->table),
                  alias);
    (void)rls_put_where(statement->ctx, entity, action, "t", &statement->text, &statement->params);
    owned_add_text(statement, ")");
}

void owned_add_file_rule(struct owned_statement *statement,
                         enum perm_action action,
                         const char *alias)
{
    const struct records_ctx *ctx = statement->ctx;
    const struct model *model = ctx->model;
    enum perm_action of_record = action == ACT_READ ? ACT_READ : ACT_UPDATE;

    /* An administrator's API key does not return here: it sees all rows, but only of entities that
     * its own permissions name. */
    if (!ctx->public_only && caller_is_admin(ctx->caller))
        return;
    strbuf_printf(&statement->text, " and (%s.entity_id is null", alias);
    owned_add_rule(statement, action, alias);
    for (size_t i = 0; i < model->entity_count; i++) {
        const struct entity *entity = &model->entities[i];
        if (!caller_can_entity(ctx->caller, entity->id, of_record))
            continue;
        struct str fields = file_fields(ctx, entity, of_record);
        if (fields.len > 0)
            record_rule(statement, entity, fields, of_record, alias);
    }
    owned_add_text(statement, ")");
}

static struct sql *
owned_sql(struct owned_statement *statement, const char *name, enum sql_kind kind)
{
    return sql_dynamic(statement->ctx, name, &statement->text, statement->params.count, kind);
}

struct db_call owned_finish(struct owned_statement *statement,
                            const char *name,
                            enum sql_kind kind,
                            const char *sort)
{
    struct sql *sql = owned_sql(statement, name, kind);

    sql->sort = sort;
    return db_call(sql, statement->params.items, statement->params.count);
}

struct db_call
owned_finish_write(struct owned_statement *statement, const char *name, enum sql_kind kind)
{
    struct sql *sql = owned_sql(statement, name, kind);

    sql->writes = true;
    return db_call(sql, statement->params.items, statement->params.count);
}
