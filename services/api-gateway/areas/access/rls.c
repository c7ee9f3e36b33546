/* Grants of single records, to users and to groups or roles; only administrators see and set
 * them. */
#include "areas/access/access.h"
#include "live/live.h"
#include "project/events.h"
#include "rls_sql.h"

enum grant_kind { GRANT_USER = 1, GRANT_GROUP = 2, GRANT_ROLE = 3 };

#define GRANTS_MAX 1000

/* The bodies of rls-users and of rls-groups decode into this struct. A body of rls-users has
 * user_id, a body of rls-groups has group_id and role_id. */
struct grant_in {
    struct in_i64 user_id, group_id, role_id;
    struct in_bool can_update, can_delete;
};
struct grants_in {
    struct in_list items;
};

#define GRANT_RIGHTS                                                                               \
    {.name = "can_update", FIELD_AT(struct grant_in, can_update), .type = FIELD_BOOL},             \
    {                                                                                              \
        .name = "can_delete", FIELD_AT(struct grant_in, can_delete), .type = FIELD_BOOL            \
    }

static const struct field user_grant_fields[] = {
    {.name = "user_id",
     FIELD_AT(struct grant_in, user_id),
     .type = FIELD_I64,
     .required = true,
     .example = "8"},
    GRANT_RIGHTS,
};
static const struct field group_grant_fields[] = {
    {.name = "group_id", FIELD_AT(struct grant_in, group_id), .type = FIELD_I64, .nullable = true},
    {.name = "role_id",
     FIELD_AT(struct grant_in, role_id),
     .type = FIELD_I64,
     .nullable = true,
     .doc = "Either group_id or role_id"},
    GRANT_RIGHTS,
};
static const struct schema user_grant_schema =
    SCHEMA("RecordUserGrant", struct grant_in, user_grant_fields);
static const struct schema group_grant_schema =
    SCHEMA("RecordGroupGrant", struct grant_in, group_grant_fields);

#define GRANT_LIST(grant)                                                                          \
    {                                                                                              \
        {                                                                                          \
            .name = "items", FIELD_AT(struct grants_in, items), .type = FIELD_LIST,                \
            .required = true, .max = GRANTS_MAX, .sub = (grant)                                    \
        }                                                                                          \
    }
static const struct field user_list_fields[] = GRANT_LIST(&user_grant_schema);
static const struct field group_list_fields[] = GRANT_LIST(&group_grant_schema);
static const struct schema users_schema =
    SCHEMA("RecordUserGrants", struct grants_in, user_list_fields);
static const struct schema groups_schema =
    SCHEMA("RecordGroupGrants", struct grants_in, group_list_fields);

/* --- the record --- */

int access_find_record(
    struct req *r, const struct entity *entity, int64_t id, bool lock, bool *ret_found)
{
    struct rows found;
    struct str text = arena_printf(r->task.arena,
                                   "select t.id from {p}.e_%lld t where t.id = $1::bigint%s",
                                   (long long)entity->id,
                                   lock ? " for no key update" : "");
    const struct sql sql = {
        .name = "access.record",
        .text = text.ptr,
        .hash = str_hash(text),
        .arity = 1,
        .kind = SQL_OPT,
        .writes = lock,
        .no_prepare = true,
    };

    TRY(sql_all(r, &found, &sql, PARAMS(P_I64(id))));
    *ret_found = found.count > 0;
    return 0;
}

struct record {
    int64_t entity_id, id;
};

/* Finds the record of the path. With `lock` the record stays locked until the transaction ends, so
 * that writers of its grants run one after the other. */
AWAITS static int
find_record(struct req *r, const struct entity *entity, bool lock, struct record *ret_record)
{
    bool found;
    int64_t id;

    TRY(req_id(r, "id", &id));
    *ret_record = (struct record){entity->id, id};
    TRY(access_find_record(r, entity, id, lock, &found));
    return found ? 0 : fail(r, PROBLEM_NOT_FOUND, NULL);
}

/* --- read --- */

AWAITS static int rls_read_rows(struct req *r,
                                const struct record *record,
                                const struct sql *sql,
                                struct rows *ret_grants)
{
    return sql_all(r,
                   ret_grants,
                   sql,
                   SQL_RLS_RECORD_ARGS(.entity_id = record->entity_id, .record_id = record->id));
}

AWAITS static int reply_grants(struct req *r, const struct rows *grants)
{
    struct jw w = resp_json(r);

    jw_obj(&w);
    jw_lit(&w, "items");
    rows_json_array(&r->task, &w, grants, grants->count);
    page_whole_json(&w, grants->count);
    jw_obj_end(&w);
    return reply_json(r, 200);
}

AWAITS static int get_grants(struct req *r, const struct sql *sql)
{
    const struct entity *entity;
    struct record record;
    struct rows grants;

    TRY(gateway_entity(r, &entity));
    TRY(find_record(r, entity, false, &record));
    TRY(rls_read_rows(r, &record, sql, &grants));
    return reply_grants(r, &grants);
}

AWAITS static int rls_users_get(struct req *r)
{
    return get_grants(r, &SQL_RLS_USERS);
}

AWAITS static int rls_groups_get(struct req *r)
{
    return get_grants(r, &SQL_RLS_GROUPS);
}

/* --- replace --- */

/* Columns of the rows to insert. */
struct grants {
    size_t count;
    int64_t *kinds, *ids, *updates, *deletes;
};

static const char *id_member(int64_t kind)
{
    return kind == GRANT_USER ? "user_id" : kind == GRANT_GROUP ? "group_id" : "role_id";
}

static bool read_grantee(const struct grant_in *in, int64_t *ret_kind, int64_t *ret_id)
{
    bool group = in->group_id.set && !in->group_id.null;
    bool role = in->role_id.set && !in->role_id.null;

    if (in->user_id.set) {
        *ret_kind = GRANT_USER;
        *ret_id = in->user_id.value;
        return true;
    }
    *ret_kind = group ? GRANT_GROUP : GRANT_ROLE;
    *ret_id = group ? in->group_id.value : in->role_id.value;
    return group != role;
}

static bool is_repeated(const struct grants *grants, size_t index)
{
    for (size_t i = 0; i < index; i++) {
        if (grants->kinds[i] == grants->kinds[index] && grants->ids[i] == grants->ids[index])
            return true;
    }
    return false;
}

static int rls_read_grants(struct req *r, const struct grants_in *in, struct grants *ret)
{
    struct arena *arena = r->task.arena;
    struct schema_errors *errors = ARENA_NEW(arena, errors);
    const struct grant_in *items = in->items.items;
    size_t count = in->items.count;

    *ret = (struct grants){
        .count = count,
        .kinds = ARENA_ARRAY(arena, ret->kinds, count),
        .ids = ARENA_ARRAY(arena, ret->ids, count),
        .updates = ARENA_ARRAY(arena, ret->updates, count),
        .deletes = ARENA_ARRAY(arena, ret->deletes, count),
    };
    for (size_t i = 0; i < count; i++) {
        struct str path = arena_printf(arena, "items[%zu]", i);
        ret->updates[i] = items[i].can_update.value;
        ret->deletes[i] = items[i].can_delete.value;
        if (!read_grantee(&items[i], &ret->kinds[i], &ret->ids[i]))
            schema_error_add(
                arena, errors, path, PROBLEM_REQUIRED, "needs either a group_id or a role_id");
        else if (is_repeated(ret, i))
            schema_error_add(arena, errors, path, PROBLEM_UNIQUE_VIOLATION, "is given twice");
    }
    return errors->count ? fail_fields(r, errors) : 0;
}

static bool is_known_grantee(const struct rows *known, int64_t id)
{
    for (size_t i = 0; i < known->count; i++) {
        if (sql_rls_known_row(known, i).id == id)
            return true;
    }
    return false;
}

AWAITS static int check_grantees(struct req *r, const struct grants *grants)
{
    struct arena *arena = r->task.arena;
    struct schema_errors *errors = ARENA_NEW(arena, errors);
    const struct sql_i64s ids = sql_i64s(grants->ids, grants->count);
    struct db_call known[] = {
        [0] = db_call(SQL_RLS_KNOWN_USERS(.ids = ids)),
        [1] = db_call(SQL_RLS_KNOWN_GROUPS(.ids = ids)),
        [2] = db_call(SQL_RLS_KNOWN_ROLES(.ids = ids)),
    };

    TRY(sql_batch(r, known, ARRAY_LEN(known)));
    for (size_t i = 0; i < grants->count; i++) {
        const char *member = id_member(grants->kinds[i]);
        if (!is_known_grantee(&known[grants->kinds[i] - GRANT_USER].rows, grants->ids[i]))
            schema_error_add(arena,
                             errors,
                             arena_printf(arena, "items[%zu].%s", i, member),
                             PROBLEM_FOREIGN_KEY_VIOLATION,
                             "refers to something that does not exist");
    }
    return errors->count ? fail_fields(r, errors) : 0;
}

/* The kinds of grants of rls-users and of rls-groups. */
static const int64_t user_kinds[] = {GRANT_USER};
static const int64_t group_kinds[] = {GRANT_GROUP, GRANT_ROLE};

AWAITS static int write_grants(struct req *r,
                               const struct entity *entity,
                               const struct record *record,
                               bool users,
                               const struct grants *grants)
{
    const struct sql_i64s kinds = users ? sql_i64s(user_kinds, ARRAY_LEN(user_kinds))
                                        : sql_i64s(group_kinds, ARRAY_LEN(group_kinds));
    struct str detail = arena_printf(r->task.arena,
                                     "{\"entity_id\":%lld,\"grants\":%zu}",
                                     (long long)record->entity_id,
                                     grants->count);
    bool live = r->scope->model->live;
    struct db_call calls[] = {
        live_granted_call(r->task.arena, entity, record->id),
        db_call(
            SQL_RLS_CLEAR(.entity_id = record->entity_id, .record_id = record->id, .kinds = kinds)),
        db_call(SQL_RLS_ADD(.entity_id = record->entity_id,
                            .record_id = record->id,
                            .kinds = sql_i64s(grants->kinds, grants->count),
                            .grantee_ids = sql_i64s(grants->ids, grants->count),
                            .updates = sql_i64s(grants->updates, grants->count),
                            .deletes = sql_i64s(grants->deletes, grants->count))),
        gateway_audit(
            r, users ? "rls_users.update" : "rls_groups.update", "record", record->id, detail),
        events_changed_call(r->task.arena, entity, EVENT_UPDATED, &record->id, 1),
    };

    return sql_batch(
        r, calls + (live ? 0 : 1), ARRAY_LEN(calls) - (live ? 0 : 1) - (entity->has_index ? 0 : 1));
}

/* The model records which entities have ever had grants, so an entity's first grant changes the
 * model. The model's version row is locked before the record, as in every change of the model. */
AWAITS static int mark_first_grant(struct req *r, const struct entity *entity, bool *ret_first)
{
    struct rows before;
    struct db_call note[] = {
        db_call(SQL_RLS_FIRST()),
        db_call(SQL_RLS_GRANTED_NOW(.id = entity->id)),
    };

    TRY(sql_one(r, &before, SQL_RLS_GRANTED(.id = entity->id)));
    *ret_first = !sql_rls_granted_row(&before, 0).granted;
    return *ret_first ? sql_batch(r, note, ARRAY_LEN(note)) : 0;
}

AWAITS static int rls_replace(struct req *r, bool users, const struct grants *grants)
{
    const struct entity *entity;
    struct record record;
    struct rows written;
    bool first = false;

    TRY(sql_begin(r));
    TRY(gateway_entity(r, &entity));
    if (grants->count)
        TRY(mark_first_grant(r, entity, &first));
    TRY(find_record(r, entity, true, &record));
    if (grants->count)
        TRY(check_grantees(r, grants));
    TRY(write_grants(r, entity, &record, users, grants));
    TRY(rls_read_rows(r, &record, users ? &SQL_RLS_USERS : &SQL_RLS_GROUPS, &written));
    TRY(sql_commit(r));
    if (entity->has_index)
        search_notify(gateway_directory(), r->scope->project);
    if (r->scope->model->live)
        live_notify(gateway_directory(), r->scope->project);
    if (first)
        gateway_raise_epoch(r);
    return r->method == HTTP_DELETE_M ? reply_empty(r, 204) : reply_grants(r, &written);
}

AWAITS static int rls_users_put(struct req *r)
{
    struct grants_in in;
    struct grants grants;

    TRY(req_json(r, &users_schema, &in));
    TRY(rls_read_grants(r, &in, &grants));
    return rls_replace(r, true, &grants);
}

AWAITS static int rls_groups_put(struct req *r)
{
    struct grants_in in;
    struct grants grants;

    TRY(req_json(r, &groups_schema, &in));
    TRY(rls_read_grants(r, &in, &grants));
    return rls_replace(r, false, &grants);
}

AWAITS static int rls_users_delete(struct req *r)
{
    return rls_replace(r, true, &(struct grants){0});
}

AWAITS static int rls_groups_delete(struct req *r)
{
    return rls_replace(r, false, &(struct grants){0});
}

static const struct field user_out_fields[] = {
    {.name = "user_id", .type = FIELD_I64, .required = true, .example = "8"},
    {.name = "can_update", .type = FIELD_BOOL, .required = true},
    {.name = "can_delete", .type = FIELD_BOOL, .required = true},
};
static const struct field group_out_fields[] = {
    {.name = "group_id", .type = FIELD_I64, .required = true, .nullable = true},
    {.name = "role_id", .type = FIELD_I64, .required = true, .nullable = true},
    {.name = "can_update", .type = FIELD_BOOL, .required = true},
    {.name = "can_delete", .type = FIELD_BOOL, .required = true},
};
static const struct schema user_out_schema = SCHEMA_OUT("RecordUserGrantShown", user_out_fields);
static const struct schema group_out_schema = SCHEMA_OUT("RecordGroupGrantShown", group_out_fields);
static const struct field users_out_fields[] = {
    {.name = "items", .type = FIELD_LIST, .required = true, .sub = &user_out_schema},
    PAGE_WHOLE_FIELDS,
};
static const struct field groups_out_fields[] = {
    {.name = "items", .type = FIELD_LIST, .required = true, .sub = &group_out_schema},
    PAGE_WHOLE_FIELDS,
};
static const struct schema users_out_schema = SCHEMA_OUT("RecordUserGrantList", users_out_fields);
static const struct schema groups_out_schema =
    SCHEMA_OUT("RecordGroupGrantList", groups_out_fields);

static const struct route rls_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = "/entities/{entity}/items/{id}/rls-users",
        .id = "rls_users_get",
        .auth = AUTH_ADMIN,
        .success = {.status = 200, .schema = &users_out_schema},
        .extra_statuses = {404},
        .run = rls_users_get,
        .summary = "Read the users that a record is granted to",
    },
    {
        .method = HTTP_PUT_M,
        .path = "/entities/{entity}/items/{id}/rls-users",
        .id = "rls_users_put",
        .auth = AUTH_ADMIN,
        .body = &users_schema,
        .success = {.status = 200, .schema = &users_out_schema},
        .extra_statuses = {404},
        .run = rls_users_put,
        .guard = rls_users_get,
        .run_decides = true,
        .summary = "Replace the users that a record is granted to",
    },
    {
        .method = HTTP_DELETE_M,
        .path = "/entities/{entity}/items/{id}/rls-users",
        .id = "rls_users_delete",
        .auth = AUTH_ADMIN,
        .success = {.status = 204},
        .extra_statuses = {404},
        .run = rls_users_delete,
        .guard = rls_users_get,
        .run_decides = true,
        .summary = "Remove a record's grants to users",
    },
    {
        .method = HTTP_GET_M,
        .path = "/entities/{entity}/items/{id}/rls-groups",
        .id = "rls_groups_get",
        .auth = AUTH_ADMIN,
        .success = {.status = 200, .schema = &groups_out_schema},
        .extra_statuses = {404},
        .run = rls_groups_get,
        .summary = "Read the groups and roles that a record is granted to",
    },
    {
        .method = HTTP_PUT_M,
        .path = "/entities/{entity}/items/{id}/rls-groups",
        .id = "rls_groups_put",
        .auth = AUTH_ADMIN,
        .body = &groups_schema,
        .success = {.status = 200, .schema = &groups_out_schema},
        .extra_statuses = {404},
        .run = rls_groups_put,
        .guard = rls_groups_get,
        .run_decides = true,
        .summary = "Replace the groups and roles that a record is granted to",
    },
    {
        .method = HTTP_DELETE_M,
        .path = "/entities/{entity}/items/{id}/rls-groups",
        .id = "rls_groups_delete",
        .auth = AUTH_ADMIN,
        .success = {.status = 204},
        .extra_statuses = {404},
        .run = rls_groups_delete,
        .guard = rls_groups_get,
        .run_decides = true,
        .summary = "Remove a record's grants to groups and roles",
    },
};
ROUTES(rls, "Row-level security");
