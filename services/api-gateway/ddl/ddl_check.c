/* Checks stored records against a change: counts the conflicting records and names ten ids. */
#include "ddl/ddl.h"
#include "ddl/ddl_preview.h"

#define IDS_SHOWN 10 /* ids in an answer */

static struct str print_ids(struct arena *arena, const int64_t *ids, size_t count, int64_t total)
{
    struct strbuf out;

    strbuf_init(&out, arena, 1024);
    for (size_t i = 0; i < count; i++)
        strbuf_printf(&out, "%s%lld", i ? ", " : "", (long long)ids[i]);
    if (total > (int64_t)count)
        strbuf_printf(&out, " and %lld more", (long long)(total - (int64_t)count));
    return strbuf_view(&out);
}

bool ddl_caller_sees_all(const struct req *r, const struct entity *entity)
{
    const struct caller *caller = r->scope->caller;

    return caller_can_entity(caller, entity->id, ACT_READ) &&
           (!entity->row_level_security || caller_has_all_rows(caller));
}

int ddl_may_read_values(struct req *r, const struct model_field *field)
{
    if (ddl_caller_sees_all(r, field->entity) &&
        caller_can_field(r->scope->caller, field, ACT_READ))
        return 0;
    return fail(r,
                PROBLEM_FORBIDDEN,
                "This change depends on stored values. It needs permission to read all records of "
                "'%.*s' and their field '%.*s'.",
                STR_ARG(field->entity->name),
                STR_ARG(field->name));
}

int ddl_may_drop(struct req *r, const struct entity *entity, const char *what)
{
    if (caller_can_entity(r->scope->caller, entity->id, ACT_DELETE))
        return 0;
    return fail(
        r, PROBLEM_FORBIDDEN, "%s needs the permission %.*s:delete.", what, STR_ARG(entity->name));
}

int ddl_may_lose_records(struct req *r, const struct entity *entity, const char *what)
{
    struct str text = arena_printf(
        r->task.arena, "select exists (select 1 from {p}.e_%lld) as found", (long long)entity->id);
    const struct sql sql = {
        .name = "ddl.records",
        .text = text.ptr,
        .hash = str_hash(text),
        .kind = SQL_ONE,
        .no_prepare = true,
    };
    struct rows found;

    if (caller_can_entity(r->scope->caller, entity->id, ACT_DELETE))
        return 0;
    TRY(sql_all(r, &found, &sql, NULL, 0));
    return rows_bool(&found, 0, 0) ? ddl_may_drop(r, entity, what) : 0;
}

int ddl_may_drop_records(struct req *r, const struct entity *entity, const char *what)
{
    struct ddl lock;

    if (caller_can_entity(r->scope->caller, entity->id, ACT_DELETE))
        return 0;
    ddl_init(&lock, r->task.arena); /* no record can be added until the commit */
    ddl_add(&lock, "lock table {p}.e_%lld in access exclusive mode", (long long)entity->id);
    TRY(ddl_run(r, &lock));
    return ddl_may_lose_records(r, entity, what);
}

static struct str
describe_conflict(struct req *r, const struct ddl_check *check, const struct rows *found)
{
    struct arena *arena = r->task.arena;
    const struct model_field *field = check->field;
    int64_t total = rows_i64(found, 0, 0);
    int64_t *ids;
    size_t count;

    if (!ddl_caller_sees_all(r, field->entity))
        return arena_printf(arena,
                            "Some records have %s '%.*s' of '%.*s'.",
                            check->reason,
                            STR_ARG(field->name),
                            STR_ARG(field->entity->name));
    count = rows_i64s(arena, found, 0, 1, &ids);
    return arena_printf(arena,
                        "%lld %s %s '%.*s' of '%.*s': %.*s.",
                        (long long)total,
                        total == 1 ? "record has" : "records have",
                        check->reason,
                        STR_ARG(field->name),
                        STR_ARG(field->entity->name),
                        STR_ARG(print_ids(arena, ids, count, total)));
}

static int refuse_conflict(struct req *r, const struct ddl_check *check, const struct rows *found)
{
    struct schema_errors *errors = ARENA_NEW(r->task.arena, errors);
    struct str detail = describe_conflict(r, check, found);

    schema_error_add(
        r->task.arena, errors, check->field->name, check->code, "%.*s", STR_ARG(detail));
    return fail_with(r, PROBLEM_SCHEMA_CONFLICT, detail, errors);
}

/* Adds the finding to the preview, which continues. */
static int ddl_check_preview(struct req *r, const struct ddl_check *check, const struct rows *found)
{
    struct ddl_violation violation = {
        .entity = check->field->entity->name,
        .field = check->field->name,
        .code = check->code,
        .message = describe_conflict(r, check, found),
    };

    if (ddl_caller_sees_all(r, check->field->entity)) {
        violation.rows = some_i64(rows_i64(found, 0, 0));
        violation.ids = rows_sql_i64s(r->task.arena, found, 0, 1);
    }
    ddl_preview_add_violation(r->scope->preview, &violation);
    return 0;
}

int ddl_check_rows(struct req *r, const struct ddl_check *check)
{
    long long id = check->field->entity->id;
    bool preview = r->scope->preview != NULL;
    struct str text =
        arena_printf(r->task.arena,
                     "select (select count(*) from (select 1 from {p}.e_%lld t where %s%s) c)"
                     " as total,"
                     " array(select t.id from {p}.e_%lld t where %s order by t.id limit %d) as ids",
                     id,
                     check->condition,
                     preview ? " limit " DDL_COUNTED : "",
                     id,
                     check->condition,
                     IDS_SHOWN);
    const struct sql sql = {
        .name = "ddl.check",
        .text = text.ptr,
        .hash = str_hash(text),
        .arity = (unsigned)check->param_count,
        .kind = SQL_ONE,
        .heavy = preview,
        .no_prepare = true,
    };
    struct rows found;

    TRY(sql_all(r, &found, &sql, check->params, check->param_count));
    if (!rows_i64(&found, 0, 0))
        return 0;
    return preview ? ddl_check_preview(r, check, &found) : refuse_conflict(r, check, &found);
}
