/* Grants the role of the daemons' connections rights in schemas that the role of
 * GROUNDWORK_DATABASE_DDL_URL creates. */
#include "migrations/grants.h"

#include "grants_sql.h"

struct grant_template {
    const char *head, *tail; /* SQL before and after the schema's name; the role follows */
};

static struct db_call grants_call(struct task *task,
                                  const struct grant_template *right,
                                  const char *schema,
                                  struct str role)
{
    struct str text =
        arena_printf(task->arena, "%s %s %s %.*s", right->head, schema, right->tail, STR_ARG(role));
    struct sql *sql = ARENA_NEW(task->arena, sql);

    *sql = (struct sql){
        .name = "grants",
        .text = text.ptr,
        .hash = str_hash(text),
        .kind = SQL_EXEC,
        .writes = true,
        .no_prepare = true,
    };
    return (struct db_call){.sql = sql};
}

int grants_calls(struct task *task,
                 struct db *db,
                 const char *schema,
                 struct db_call calls[GRANTS_CALLS_MAX],
                 size_t *ret_count)
{
    static const struct grant_template rights[GRANTS_CALLS_MAX] = {
        {"grant usage on schema", "to"},
        {"alter default privileges in schema", "grant select, insert, update, delete on tables to"},
        {"alter default privileges in schema", "grant usage, select on sequences to"},
    };
    struct rows rows;

    *ret_count = 0;
    if (!db_server_has_ddl(db->server))
        return 0;
    TRY(db_query(task, db, SQL_GRANTS_ROLE(), &rows));
    struct str role = sql_grants_role_row(&rows, 0).role;
    while (*ret_count < GRANTS_CALLS_MAX) {
        calls[*ret_count] = grants_call(task, &rights[*ret_count], schema, role);
        ++*ret_count;
    }
    return 0;
}
