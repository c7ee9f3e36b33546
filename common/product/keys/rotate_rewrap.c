/* A new master key: wraps every project's data keys again. Sealed values are not changed. */
#include "data_key_sql.h"
#include "keys/rotate_private.h"

#define PASSES_MAX 20

struct rewrap {
    struct rotation *rotation;
    struct rotation_project *project;
    size_t changed;
};

static int
rewrap_key(struct task *task, const struct rewrap *rewrap, uint32_t id, struct str wrapped)
{
    const struct master_keys *masters = rewrap->rotation->owners->masters;
    struct db *db = &rewrap->project->db;
    struct aead_key key;

    if (data_key_unwrap(task->arena, masters, db->schema, id, wrapped, &key) != 0)
        return ERROR(DB_FAILED);
    struct str fresh = data_key_wrap(task->arena, masters, db->schema, &key);
    aead_key_wipe(&key);
    return db_query(
        task, db, SQL_DATA_KEY_REWRAP(.id = id, .wrapped = fresh, .before = wrapped), NULL);
}

static int rewrap_project(struct task *task, void *arg)
{
    struct rewrap *rewrap = arg;
    const struct master_keys *masters = rewrap->rotation->owners->masters;
    struct db *db = &rewrap->project->db;
    struct rows rows;

    TRY(db_query(task, db, SQL_DATA_KEYS_ALL(), &rows));
    if (rows.count == 0) {
        TRY(data_key_store_legacy(task, masters, db));
        rewrap->changed++;
    }
    for (size_t i = 0; i < rows.count; i++) {
        const struct sql_data_keys_all_row key = sql_data_keys_all_row(task->arena, &rows, i);
        uint32_t master;
        if (aead_key_id(key.wrapped, &master) == 0 && master == masters->keys[0].id)
            continue;
        TRY(rewrap_key(task, rewrap, (uint32_t)key.id, key.wrapped));
        rewrap->changed++;
    }
    if (rewrap->changed > 0)
        rewrap->rotation->say(arena_printf(task->arena,
                                           "project %.*s: %zu keys wrapped",
                                           STR_ARG(rewrap->project->slug),
                                           rewrap->changed)
                                  .ptr);
    return 0;
}

static int rewrap_all(struct task *task, void *arg)
{
    struct rewrap *all = arg;
    struct rotation_project *list;
    size_t count;

    all->rotation->failed_count = 0;
    TRY(rotation_projects(task, all->rotation, &list, &count));
    for (size_t i = 0; i < count; i++) {
        struct rewrap one = {.rotation = all->rotation, .project = &list[i]};
        int rc =
            list[i].db.server ? rotation_run_scoped(task, rewrap_project, &one) : DB_UNAVAILABLE;
        if (rc != 0)
            rotation_count_failure(task, all->rotation, &list[i], rc);
        all->changed += one.changed;
    }
    return 0;
}

/* Runs passes until one changes nothing, because daemons that still have the old master key may
 * create projects at the same time. */
int keys_rewrap(struct task *task,
                const struct rotation_targets *owners,
                void (*say)(const char *text),
                struct str *ret_reason)
{
    struct rotation rotation = {.owners = owners, .say = say};

    for (int i = 0; i < PASSES_MAX; i++) {
        struct rewrap all = {.rotation = &rotation};
        if (rotation_run_scoped(task, rewrap_all, &all) != 0) {
            *ret_reason = STR("the list of projects cannot be read");
            return DATA_KEYS_REMAIN;
        }
        if (all.changed == 0)
            break;
    }
    return rotation_end(task, &rotation, ret_reason);
}
