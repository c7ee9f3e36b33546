/* Data keys of loaded projects. */
#include "project/unseal.h"

#include "data_key_sql.h"
#include "project/project_private.h"

int data_key_open(struct task *task,
                  struct project *project,
                  struct str sealed,
                  struct str place,
                  struct str *ret_plain)
{
    const struct key_ring keys = {project->data_keys, project->data_key_count};
    uint32_t id;

    if (aead_key_id(sealed, &id) != 0)
        return AEAD_BAD;
    if (key_ring_find(&keys, id) == NULL) {
        int rc = project_sync(task, project);
        if (rc < 0)
            return rc;
        project_hold(task->arena, project);
    }
    return aead_open(
        task->arena, project->data_keys, project->data_key_count, sealed, place, ret_plain);
}

int data_keys_update(struct task *task,
                     struct project *project,
                     struct sql_i64s ids,
                     struct sql_strs texts)
{
    const struct master_keys *masters = &project->cache->directory->masters;
    const struct key_ring known = {project->data_keys, project->data_key_count};
    struct key_ring old = known;
    struct key_ring keys;
    struct rows rows;

    if (ids.count == 0) {
        TRY(data_key_store_legacy(task, masters, &project->db));
        TRY(db_query(task, &project->db, SQL_DATA_KEYS_LIST(), &rows));
        const struct sql_data_keys_list_row row = sql_data_keys_list_row(task->arena, &rows, 0);
        ids = row.key_ids;
        texts = row.key_texts;
    }
    if (key_ring_read(task->arena, masters, project->number, ids, texts, &known, &keys) != 0)
        return ERROR(DB_FAILED);
    project->data_keys = keys.keys;
    project->data_key_count = keys.count;
    project->data_key = keys.keys[keys.count - 1];
    key_ring_free(&old);
    return 0;
}

void data_keys_wipe(struct project *project)
{
    struct key_ring keys = {project->data_keys, project->data_key_count};

    key_ring_free(&keys);
    aead_key_wipe(&project->data_key);
}
