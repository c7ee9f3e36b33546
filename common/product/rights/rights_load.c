/*
 * Reads rights. Roles add up: permissions are the union over all roles, and so are the fields of
 * each action. One role without a field rule opens all fields. The rights of a key are those of its
 * creator, limited to the key's list.
 */
#include <stdlib.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/num.h"
#include "base/panic.h"
#include "crypto/digest.h"
#include "rights/rights.h"
#include "rights_sql.h"

/* --- field rules --- */

/* Adds ids such as "3 8 15" to the rule; ids stay sorted and unique. */
static void rule_add(struct arena *arena, struct field_rule *rule, struct str text)
{
    size_t capacity = rule->count + 1;

    for (size_t i = 0; i < text.len; i++)
        capacity += text.ptr[i] == ' ';
    int64_t *ids = ARENA_ARRAY(arena, ids, capacity);
    size_t count = rule->count;
    if (count > 0)
        memcpy(ids, rule->ids, count * sizeof(*ids));
    for (struct str rest = text; rest.ptr != NULL;) {
        struct str part = str_split(&rest, ' ');
        if (num_parse_i64(part, &ids[count]))
            count++;
    }
    rule->ids = ids;
    rule->count = num_sort_unique(ids, count);
}

/* Equal rules give equal numbers; 0 means that no field rule applies. */
static uint64_t field_key(const struct entity_right *right)
{
    struct digest digest;
    uint8_t bytes[DIGEST_SHA256_BYTES];
    uint64_t key;

    if (right->fields[ACT_READ].all && right->fields[ACT_CREATE].all &&
        right->fields[ACT_UPDATE].all)
        return 0;
    digest_init(&digest);
    for (size_t i = 0; i < ARRAY_LEN(right->fields); i++) {
        const struct field_rule *rule = &right->fields[i];
        uint64_t head = rule->all ? UINT64_MAX : rule->count;
        digest_update(&digest, (struct str){(const char *)&head, sizeof(head)});
        if (!rule->all)
            digest_update(&digest,
                          (struct str){(const char *)rule->ids, rule->count * sizeof(*rule->ids)});
    }
    digest_final(&digest, bytes);
    memcpy(&key, bytes, sizeof(key));
    return key < 2 ? key + 2 : key; /* 0 and 1 are FIELD_KEY_ALL and FIELD_KEY_NONE in rights.c */
}

/* --- entities --- */

/* Grants are ordered by entity. */
static void rights_read_grants(struct rights *rights, const struct sql_rights_row *row)
{
    const int64_t *ids = row->entities.items;
    const struct str *fields = row->fields.items;
    size_t count = row->entities.count;

    MUST(row->actions.count == count && row->fields.count == count);
    rights->entities = ARENA_ARRAY(rights->arena, rights->entities, count);
    for (size_t i = 0; i < count; i++) {
        int action = perm_action_find(row->actions.items[i]);
        if (action < 0 || action > ACT_DELETE)
            continue;
        if (rights->entity_count == 0 ||
            rights->entities[rights->entity_count - 1].entity_id != ids[i])
            rights->entities[rights->entity_count++].entity_id = ids[i];
        struct entity_right *right = &rights->entities[rights->entity_count - 1];
        right->actions |= 1U << (unsigned)action;
        if (action == ACT_DELETE)
            continue;
        struct field_rule *rule = &right->fields[action];
        if (rule->all)
            continue;
        if (str_is(fields[i], "*"))
            *rule = (struct field_rule){.all = true};
        else
            rule_add(rights->arena, rule, fields[i]);
    }
}

/* Drops field rules of actions that are not allowed. */
static void right_finish(struct entity_right *right)
{
    for (unsigned action = 0; action < ARRAY_LEN(right->fields); action++)
        if ((right->actions & (1U << action)) == 0)
            right->fields[action] = (struct field_rule){0};
    right->field_key = field_key(right);
}

/* Starts the rights of a key on one entity: no action yet, field rules of the creator. */
static struct entity_right key_entity_new(const struct rights *creator, int64_t entity_id)
{
    struct entity_right right = {.entity_id = entity_id};

    for (size_t i = 0; i < ARRAY_LEN(right.fields); i++)
        right.fields[i].all = creator->is_admin;
    for (size_t i = 0; i < creator->entity_count && !creator->is_admin; i++)
        if (creator->entities[i].entity_id == entity_id)
            memcpy(right.fields, creator->entities[i].fields, sizeof(right.fields));
    return right;
}

/* Limits the rights to what the key's list names and its creator has. The list has entity order. */
static void rights_limit_to_key(struct rights *rights, const struct sql_rights_row *row)
{
    const struct caller creator = {.kind = CALLER_USER, .rights = rights};
    struct perm_set listed = {{0}};
    const struct str *names = row->key_permissions.items;
    const int64_t *ids = row->key_entities.items;
    size_t kept_count = 0;
    size_t count = row->key_entities.count;
    struct entity_right *entities = ARENA_ARRAY(rights->arena, entities, count);

    MUST(row->key_permissions.count == count);
    for (size_t i = 0; i < count; i++) {
        if (ids[i] == 0) {
            enum perm perm = perm_find(names[i]);
            if (perm != PERM_NONE)
                perm_set_add(&listed, perm);
            continue;
        }
        int action = perm_action_find(names[i]);
        if (action < 0 || action > ACT_DELETE ||
            !caller_can_entity(&creator, ids[i], (enum perm_action)action))
            continue;
        if (kept_count == 0 || entities[kept_count - 1].entity_id != ids[i])
            entities[kept_count++] = key_entity_new(rights, ids[i]);
        entities[kept_count - 1].actions |= 1U << (unsigned)action;
    }
    rights->entities = entities;
    rights->entity_count = kept_count;
    perm_set_intersect(&rights->perms, &listed);
}

/* --- the whole --- */

static void read_permissions(struct rights *rights, struct sql_strs names)
{
    for (size_t i = 0; i < names.count; i++) {
        enum perm perm = perm_find(names.items[i]);
        if (perm != PERM_NONE)
            perm_set_add(&rights->perms, perm);
    }
    for (int perm = PERM_NONE + 1; rights->is_admin && perm < PERM_COUNT; perm++)
        perm_set_add(&rights->perms, (enum perm)perm);
}

static int64_t *ids_copy(struct arena *arena, struct sql_i64s ids)
{
    int64_t *items = ARENA_ARRAY(arena, items, ids.count);

    if (ids.count > 0)
        memcpy(items, ids.items, ids.count * sizeof(*items));
    return items;
}

static struct rights *
read_rights(const struct sql_rights_row *row, int64_t key_id, int64_t request_ms)
{
    struct arena *arena = arena_new(1024);
    struct rights *rights = ARENA_NEW(arena, rights);

    rights->arena = arena;
    rights->refs = 1;
    rights->user_id = row->user_id;
    rights->key_id = key_id;
    rights->email = arena_dup(arena, row->email);
    rights->active = row->active;
    rights->loaded_ms = request_ms;
    rights->model_version = row->model_version;
    rights->role_ids = ids_copy(arena, row->role_ids);
    rights->role_count = row->role_ids.count;
    rights->group_ids = ids_copy(arena, row->group_ids);
    rights->group_count = row->group_ids.count;
    if (!rights->active)
        return rights; /* an inactive user has no rights */

    rights->is_admin = row->is_admin;
    rights->all_rows = rights->is_admin;
    rights->api_access = rights->is_admin || row->api_access;
    read_permissions(rights, row->permissions);
    rights_read_grants(rights, row);
    if (key_id != 0)
        rights_limit_to_key(rights, row);
    for (size_t i = 0; i < rights->entity_count; i++)
        right_finish(&rights->entities[i]);
    rights->is_admin = rights->is_admin && key_id == 0;
    return rights;
}

int rights_load(
    struct task *task, struct db *db, int64_t user_id, int64_t key_id, struct rights **ret_rights)
{
    const int64_t request_ms = clock_mono_ms();
    struct rows rows;

    int rc = key_id != 0 ? db_query(task, db, SQL_RIGHTS_OF_KEY(.id = key_id), &rows)
                         : db_query(task, db, SQL_RIGHTS_OF_USER(.id = user_id), &rows);
    if (rc != 0)
        return rc;
    if (rows.count == 0)
        return RIGHTS_NOT_FOUND;
    const struct sql_rights_row row = sql_rights_row(task->arena, &rows, 0);
    if (key_id != 0 && !row.key_valid)
        return RIGHTS_NOT_FOUND;
    *ret_rights = read_rights(&row, key_id, request_ms);
    return 0;
}

int rights_load_roles(struct task *task,
                      struct db *db,
                      const int64_t *role_ids,
                      size_t count,
                      struct rights **ret_rights)
{
    const int64_t request_ms = clock_mono_ms();
    struct rows rows;

    TRY(db_query(task, db, SQL_RIGHTS_OF_ROLES(.ids = sql_i64s(role_ids, count)), &rows));
    const struct sql_rights_row row = sql_rights_row(task->arena, &rows, 0);
    *ret_rights = read_rights(&row, 0, request_ms);
    return 0;
}
