/* Opens the secrets of a project. */
#include "workflow/secrets.h"

#include "project/unseal.h"
#include "workflow_secrets_sql.h"

static void secret_values_wipe(void *ptr)
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
        int rc = db_query(
            task, &project->db, SQL_SECRETS_BY_NAME(.names = sql_strs(names, count)), &rows);
        if (rc != 0)
            return rc;
    }
    values->names = ARENA_ARRAY(arena, values->names, rows.count + 1);
    values->values = ARENA_ARRAY(arena, values->values, rows.count + 1);
    values->hosts = ARENA_ARRAY(arena, values->hosts, rows.count + 1);
    values->used = ARENA_ARRAY(arena, values->used, rows.count + 1);
    arena_defer(arena, secret_values_wipe, values);
    for (size_t i = 0; i < rows.count; i++) {
        const struct sql_secrets_by_name_row row = sql_secrets_by_name_row(arena, &rows, i);
        struct str place = aad_secret(arena, project->number, row.name);
        int rc = data_key_open(task, project, row.sealed, place, &values->values[values->count]);
        if (rc != 0)
            return rc < 0 ? rc : SECRETS_UNREADABLE;
        struct secret_hosts *hosts = &values->hosts[values->count];
        hosts->is_restricted = row.allowed_hosts.items != NULL;
        hosts->names = row.allowed_hosts.items;
        hosts->count = row.allowed_hosts.count;
        values->names[values->count++] = row.name;
    }
    *ret_values = values;
    return 0;
}

int secrets_open_all(struct task *task, struct project *project, struct secret_values **ret_values)
{
    struct arena *arena = task->arena;
    struct secret_values *values = ARENA_NEW(arena, values);
    struct rows rows;

    TRY(db_query(task, &project->db, SQL_SECRETS_ALL(), &rows));
    values->values = ARENA_ARRAY(arena, values->values, rows.count + 1);
    values->used = ARENA_ARRAY(arena, values->used, rows.count + 1);
    arena_defer(arena, secret_values_wipe, values);
    for (size_t i = 0; i < rows.count; i++) {
        const struct sql_secrets_all_row row = sql_secrets_all_row(arena, &rows, i);
        struct str place = aad_secret(arena, project->number, row.name);
        int rc = data_key_open(task, project, row.sealed, place, &values->values[values->count]);
        if (rc < 0)
            return rc;
        values->count += rc == 0;
    }
    *ret_values = values;
    return 0;
}

struct str secrets_value(struct str name, void *values)
{
    const struct secret_values *known = values;

    for (size_t i = 0; i < known->count; i++) {
        if (!str_eq(known->names[i], name))
            continue;
        known->used[i] = true;
        return known->values[i];
    }
    return STR_NONE;
}

void secrets_reset_used(const struct secret_values *values)
{
    for (size_t i = 0; values != NULL && i < values->count; i++)
        values->used[i] = false;
}

static bool host_is_allowed(const struct secret_hosts *hosts, struct str host)
{
    for (size_t i = 0; i < hosts->count; i++)
        if (str_ieq(hosts->names[i], host))
            return true;
    return !hosts->is_restricted;
}

struct str secrets_find_unsendable(const struct secret_values *values, struct str host)
{
    for (size_t i = 0; values != NULL && i < values->count; i++)
        if (values->used[i] && !host_is_allowed(&values->hosts[i], host))
            return values->names[i];
    return STR_NONE;
}
