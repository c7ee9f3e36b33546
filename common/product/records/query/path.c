/* Fields reached through relations. */
#include "records/query/path.h"
#include "records/rules/field_rule.h"
#include "records/rules/rls.h"
#include "records/rules/statement.h"

bool path_find(const struct records_ctx *ctx,
               const struct entity *entity,
               struct str text,
               struct path *ret_path)
{
    struct path path = {.count = 0};
    struct str rest = text;

    for (;;) {
        const struct model_field *field = field_rule_find(ctx, entity, str_split(&rest, '.'));
        if (field == NULL)
            return false;
        if (rest.ptr == NULL) {
            path.field = field;
            path.collation = field_collation(ctx, field);
            *ret_path = path;
            return true;
        }
        if (field->type != TYPE_RELATION || field->target == NULL ||
            !field_rule_can_read_entity(ctx, field->target) || path.count == PATH_STEPS)
            return false;
        path.steps[path.count++] = field;
        entity = field->target;
    }
}

bool path_is_many(const struct path *path)
{
    for (size_t i = 0; i < path->count; i++)
        if (path->steps[i]->is_many)
            return true;
    return path->field->is_many;
}

bool path_is_nullable(const struct path *path)
{
    const struct model_field *field = path->field;

    if (path->count > 0)
        return true;
    return field->system ? str_is(field->name, "created_by") : !field->required;
}

void path_value(const struct records_ctx *ctx,
                const struct path *path,
                const char *alias,
                struct strbuf *sql,
                struct sql_params *params)
{
    static const char *const aliases[PATH_STEPS] = {"p1", "p2", "p3", "p4"};

    /* (select (select p2.f_9 from .. p2 where p2.id = p1.f_6) from .. p1 where p1.id = t.f_3) */
    for (size_t i = 0; i < path->count; i++)
        strbuf_str(sql, STR("(select "));
    strbuf_cstr(sql, path->count > 0 ? aliases[path->count - 1] : alias);
    strbuf_char(sql, '.');
    strbuf_str(sql, path->field->column);
    for (size_t i = path->count; i-- > 0;) {
        const struct model_field *step = path->steps[i];
        strbuf_printf(sql,
                      " from {p}.%.*s %s where %s.id = %s.%.*s",
                      STR_ARG(step->target->table),
                      aliases[i],
                      aliases[i],
                      i > 0 ? aliases[i - 1] : alias,
                      STR_ARG(step->column));
        (void)rls_put_where(ctx, step->target, ACT_READ, aliases[i], sql, params);
        strbuf_char(sql, ')');
    }
}

void path_value_collated(const struct records_ctx *ctx,
                         const struct path *path,
                         const char *alias,
                         struct strbuf *sql,
                         struct sql_params *params)
{
    path_value(ctx, path, alias, sql, params);
    sql_put_collation(sql, path->collation);
}
