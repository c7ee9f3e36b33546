/* Secrets of a project, opened for a job. */
#include "workflow/secrets.h"

#include "domain/data_key.h"
#include "workflow_secrets_sql.h"

static void wipe(void *ptr)
{
    const struct secret_values *values = ptr;

    for (size_t i = 0; i < values->count; i++)
        explicit_bzero((char *)values->values[i].ptr, values->values[i].len);
}

int secrets_open(struct task *task,
                 struct project *project,
                 const struct str *names,
                 size_t count,
                 struct secret_values **ret_values)
{
    struct arena *arena = task->arena;
    struct secret_values *values = ARENA_NEW(arena, values);
    struct rows rows = {0};

    if (count > 0) {
        int rc =
            db_query(task, &project->db, &SQL_SECRETS_BY_NAME, PARAMS(P_STRS(names, count)), &rows);
        if (rc != 0)
            return rc > 0 ? rc + 100 : rc;
    }
    values->names = ARENA_ARRAY(arena, values->names, rows.count + 1);
    values->values = ARENA_ARRAY(arena, values->values, rows.count + 1);
    arena_defer(arena, wipe, values);
    for (size_t i = 0; i < rows.count; i++) {
        struct str name = rows_str(&rows, i, 0);
        struct str place = place_secret(arena, project->number, name);
        int rc = data_key_open(
            task, project, rows_bytes(arena, &rows, i, 1), place, &values->values[values->count]);
        if (rc != 0)
            return rc < 0 ? rc : SECRETS_UNREADABLE;
        values->names[values->count++] = name;
    }
    *ret_values = values;
    return 0;
}

struct str secrets_value(struct str name, void *values)
{
    const struct secret_values *known = values;

    for (size_t i = 0; i < known->count; i++) {
        if (str_eq(known->names[i], name))
            return known->values[i];
    }
    return STR_NONE;
}
