/* Models and rights, read from a real PostgreSQL. */
#include "unit.h"

#include "project_test.h"

/* --- model --- */

static void modelled(struct task *task, struct directory *one, struct directory *two)
{
    struct project *project = create(task, one, "modelled");
    const struct model *before = project->model;
    const struct model *model;

    (void)two;
    make_model(task, project);
    assert_int_equal(project_reload_model(task, project, &model), 0);
    assert_int_equal(model->version, 2);
    assert_int_equal(before->entity_count, 0); /* still held */
    assert_int_equal(model->entity_count, 2);
    const struct entity *orders = model_entity(model, STR("orders"));
    assert_ptr_equal(model_entity_by_id(model, 7), orders);
    assert_null(model_entity_by_id(model, 6));
    assert_true(str_is(orders->table, "e_7"));
    assert_false(orders->row_level_security);
    assert_int_equal(orders->events, EVENT_CREATED_BIT | EVENT_DELETED_BIT);
    assert_int_equal(orders->field_count, 7);
    assert_true(str_is(orders->fields[0].name, "id"));
    assert_true(str_is(orders->fields[1].name, "state"));
    assert_true(str_is(orders->fields[6].name, "created_by"));
    assert_true(orders->fields[6].system);

    const struct model_field *field = entity_field(orders, STR("sku"));
    assert_ptr_equal(entity_field_by_id(orders, 31), field);
    assert_true(field->required && field->unique && !field->system && !field->is_many);
    assert_int_equal(field->max_length, 5);
    assert_true(str_is(field->column, "f_31"));
    assert_true(str_is(field->example, "\"Sampl\""));
    field = entity_field(orders, STR("state"));
    assert_int_equal(field->values->count, 2);
    assert_ptr_equal(field->values, model_enum_find(model, STR("order_state")));
    assert_string_equal(json_string_value(field->default_value), "open");
    field = entity_field(orders, STR("buyers"));
    assert_true(field->is_many && field->on_delete == ON_DELETE_CASCADE);
    assert_ptr_equal(field->target, model_entity(model, STR("people")));
    field = entity_field(model_entity(model, STR("people")), STR("age"));
    assert_true(field->has_min && field->has_max && field->default_value == NULL);
    assert_true(str_is(field->example, "50"));
    assert_null(entity_field(orders, STR("nothing")));

    uint64_t loads = directory_stats(one)->model_loads;
    assert_int_equal(project_reload_model(task, project, &model), 0);
    assert_int_equal(directory_stats(one)->model_loads, loads); /* same version */
}

TEST(test_model)
{
    run(modelled);
}

/* --- rights --- */

static void make_roles(struct task *task, struct project *project)
{
    static const char *const commands[] = {
        "insert into {p}.roles (id, name, api_access) values (10, 'ten', false), (11, 'eleven', "
        "true), (12, 'x', false)",
        "insert into {p}.role_permissions values (10, 0, 'svc_users:read'), (10, 7, 'read'), (10, "
        "7, 'create'), "
        "(11, 0, 'svc_roles:read'), (11, 7, 'read'), (11, 5, 'delete'), (11, 7, 'create'), (12, 7, "
        "'read'), "
        "(12, 0, 'svc_gone:read')",
        "insert into {p}.field_access values (10, 7, 'read', '{31,30}'), (11, 7, 'read', "
        "'{32,31}'), "
        "(10, 7, 'create', '{31}'), (10, 7, 'update', '{31}')",
        "insert into {p}.groups (id, name) values (3, 'g')",
    };

    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        exec(task, &project->db, commands[i]);
}

static void unions(struct task *task, struct project *project, const struct entity *orders)
{
    int64_t both = user_id(task, &project->db, "10,11");
    int64_t all = user_id(task, &project->db, "10,12");
    const struct rights *rights;
    struct caller caller = {.kind = CALLER_USER};

    exec(
        task,
        &project->db,
        arena_printf(task->arena, "insert into {p}.group_members values (3, %lld)", (long long)both)
            .ptr);
    assert_int_equal(project_rights(task, project, both, 0, &rights), 0);
    caller.rights = rights;
    assert_int_equal(rights->role_count, 2);
    assert_int_equal(rights->group_count, 1);
    assert_int_equal(rights->group_ids[0], 3);
    assert_true(rights->api_access);
    assert_true(caller_can(&caller, PERM_SVC_USERS_READ) &&
                caller_can(&caller, PERM_SVC_ROLES_READ));
    assert_false(caller_can(&caller, PERM_SVC_USERS_CREATE));
    assert_true(caller_can_entity(&caller, 7, ACT_CREATE) &&
                caller_can_entity(&caller, 5, ACT_DELETE));
    assert_false(caller_can_entity(&caller, 7, ACT_UPDATE));
    for (int64_t id = 30; id <= 32; id++) /* {30,31} and {31,32} */
        assert_true(caller_can_field(&caller, entity_field_by_id(orders, id), ACT_READ));
    /* Role 11 may create and has no field rule for it: all fields are allowed. A field rule
     * without the permission for its action allows nothing. */
    assert_true(caller_can_field(&caller, entity_field_by_id(orders, 30), ACT_CREATE));
    assert_false(caller_can_field(&caller, entity_field_by_id(orders, 31), ACT_UPDATE));
    uint64_t key = caller_field_key(&caller, orders);

    assert_int_equal(project_rights(task, project, all, 0, &rights), 0);
    caller.rights = rights;
    assert_false(rights->api_access);
    assert_true(
        caller_can_field(&caller, entity_field_by_id(orders, 32), ACT_READ)); /* role 12: all */
    assert_false(caller_can_field(&caller, entity_field_by_id(orders, 30), ACT_CREATE));
    assert_int_not_equal(caller_field_key(&caller, orders), key);
}

static int64_t
api_key(struct task *task, struct project *project, int64_t creator, const char *expires)
{
    static int serial;
    int64_t id = number(
        task,
        &project->db,
        arena_printf(task->arena,
                     "insert into {p}.api_keys (user_id, name, prefix, hash, expires_at) "
                     "values (%lld, 'k', 'ak', '\\x%04x', now() + interval '%s') returning id",
                     (long long)creator,
                     (unsigned)++serial,
                     expires)
            .ptr);

    exec(task,
         &project->db,
         arena_printf(task->arena,
                      "insert into {p}.api_key_permissions values (%lld, 0, 'svc_users:read'), "
                      "(%lld, 0, 'svc_users:create'), (%lld, 7, 'read'), (%lld, 7, 'delete')",
                      (long long)id,
                      (long long)id,
                      (long long)id,
                      (long long)id)
             .ptr);
    return id;
}

static void keys(struct task *task, struct project *project, const struct entity *orders)
{
    int64_t creator = user_id(task, &project->db, "10");
    int64_t key = api_key(task, project, creator, "1 day");
    const struct rights *rights;
    struct caller caller = {.kind = CALLER_KEY};

    assert_int_equal(project_rights(task, project, creator, key, &rights), 0);
    caller.rights = rights;
    assert_int_equal(rights->key_id, key);
    assert_true(caller_can(&caller, PERM_SVC_USERS_READ));
    assert_false(caller_can(&caller, PERM_SVC_USERS_CREATE)); /* listed, but the creator may not */
    assert_true(caller_can_entity(&caller, 7, ACT_READ));
    assert_false(caller_can_entity(&caller, 7, ACT_DELETE));
    assert_false(caller_can_entity(&caller, 7, ACT_CREATE)); /* the creator may, not listed */
    assert_true(caller_can_field(&caller, entity_field_by_id(orders, 30), ACT_READ));
    assert_false(caller_can_field(&caller, entity_field_by_id(orders, 32), ACT_READ));
    assert_false(caller_can_field(&caller, entity_field_by_id(orders, 31), ACT_CREATE));
    assert_false(rights->api_access);

    key = api_key(task, project, 1, "1 day"); /* the creator is an administrator */
    assert_int_equal(project_rights(task, project, 1, key, &rights), 0);
    caller.rights = rights;
    assert_false(caller_is_admin(&caller));
    assert_true(caller_has_all_rows(&caller) && caller_has_api_access(&caller));
    assert_true(caller_can(&caller, PERM_SVC_USERS_CREATE));
    assert_false(caller_can(&caller, PERM_SVC_ROLES_READ));
    assert_true(caller_can_entity(&caller, 7, ACT_DELETE));
    assert_false(caller_can_entity(&caller, 7, ACT_UPDATE));
    assert_false(caller_can_entity(&caller, 5, ACT_READ));
    /* The key may read every field of an entity that its list names, and no field of another
     * entity. */
    assert_true(caller_can_field(&caller, entity_field_by_id(orders, 32), ACT_READ) ==
                caller_can_entity(&caller, orders->id, ACT_READ));
    assert_false(caller_can_field(&caller, entity_field_by_id(orders, 32), ACT_UPDATE));

    key = api_key(task, project, creator, "-1 second");
    assert_int_equal(project_rights(task, project, creator, key, &rights), RIGHTS_NOT_FOUND);
    assert_int_equal(project_rights(task, project, creator, 9999, &rights), RIGHTS_NOT_FOUND);
}

static void suspended(struct task *task, struct project *project)
{
    int64_t id = user_id(task, &project->db, "1");
    const struct rights *rights;

    exec(task,
         &project->db,
         arena_printf(task->arena,
                      "update {p}.users set status = 'suspended' where id = %lld",
                      (long long)id)
             .ptr);
    assert_int_equal(project_rights(task, project, id, 0, &rights), 0);
    assert_false(rights->active || rights->is_admin || rights->all_rows || rights->api_access);
    assert_false(perm_set_has(&rights->perms, PERM_SVC_USERS_READ));

    id = user_id(task, &project->db, "2"); /* active, address not confirmed */
    assert_int_equal(project_rights(task, project, id, 0, &rights), 0);
    assert_true(rights->active);
    exec(task,
         &project->db,
         "update {p}.settings set doc = '{\"require_confirmed_email\": true}' where kind = "
         "'setting'");
    project_epoch_raise(task, project->cache->directory, project);
    assert_true(project->settings.require_confirmed_email);
    assert_int_equal(project_rights(task, project, id, 0, &rights), 0);
    assert_false(rights->active);
}

static void authorised(struct task *task, struct directory *one, struct directory *two)
{
    struct project *project = create(task, one, "rights");
    const struct model *model;

    (void)two;
    make_model(task, project);
    make_roles(task, project);
    assert_int_equal(project_reload_model(task, project, &model), 0);
    unions(task, project, model_entity_by_id(model, 7));
    keys(task, project, model_entity_by_id(model, 7));
    suspended(task, project);
}

TEST(test_rights)
{
    run(authorised);
}
