/* Projects against a real PostgreSQL: creation, rights, epochs between two directories, migrations,
 * deletion. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "base/clock.h"
#include "crypto/ec.h"
#include "domain/audit.h"
#include "domain/events.h"
#include "domain/internal.h"
#include "domain/project_settings.h"
#include "pg.h"
#include "redis/redis.h"

/* --- a loop with two directories, as two processes would have ------------------------------------
 */

struct world {
    struct task task;
    struct directory *one;
    struct directory *two;
    struct redis *redis;
    void (*fn)(struct task *task, struct directory *one, struct directory *two);
};

static const char *redis_url;

static void say_nothing(const char *text)
{
    (void)text;
}

static struct directory *new_directory(struct redis *redis)
{
    struct directory_config config = {
        .control_dsn = pg_dsn(),
        .db = {.dsn = pg_dsn(), .read_connections = 2, .write_connections = 4},
        .master_key = {.bytes = {1, 2, 3}, .id = 1},
        .redis = redis,
    };

    return directory_new(&config);
}

static void run_world(struct task *task, void *arg)
{
    struct world *world = arg;
    struct str reason = STR("");

    if (migrate_all(task, world->one, say_nothing, &reason) != 0)
        fail_msg("%.*s", STR_ARG(reason));
    world->fn(task, world->one, world->two);
    arena_reset(task->arena); /* holds let go before their directories */
    directory_free(world->one);
    directory_free(world->two);
    if (world->redis != NULL)
        redis_free(world->redis);
    loop_stop();
}

static void run(void (*fn)(struct task *task, struct directory *one, struct directory *two))
{
    struct world world = {.fn = fn};

    (void)pg_dsn();
    loop_init();
    world.task.arena = arena_new(0);
    if (redis_url != NULL)
        world.redis = redis_new(redis_url);
    world.one = new_directory(world.redis);
    world.two = new_directory(world.redis);
    task_start(&world.task, run_world, &world);
    loop_run();
    arena_free(world.task.arena);
    assert_int_equal(task_count(), 0);
}

static struct sql make_sql(const char *text, enum sql_kind kind)
{
    return (struct sql){
        .name = "test.statement",
        .text = text,
        .hash = str_hash(str_from(text)),
        .kind = kind,
        .no_prepare = true,
    };
}

static void exec(struct task *task, struct db *db, const char *text)
{
    struct sql sql = make_sql(text, SQL_EXEC);

    sql.writes = true;
    if (db_query(task, db, &sql, NULL, 0, NULL) != 0)
        fail_msg("%s: %.*s", text, STR_ARG(db_error(task)->message));
}

static int64_t number(struct task *task, struct db *db, const char *text)
{
    struct sql sql = make_sql(text, SQL_ONE);
    struct rows rows;

    if (db_query(task, db, &sql, NULL, 0, &rows) != 0)
        fail_msg("%s: %.*s", text, STR_ARG(db_error(task)->message));
    return rows_i64(&rows, 0, 0);
}

static struct project *create(struct task *task, struct directory *directory, const char *slug)
{
    const struct project_create in = {
        .slug = str_from(slug),
        .name = STR("Shop"),
        .admin_email = STR("Boss@Example.com"),
        .admin_password_hash = STR("$argon2id$x"),
    };
    struct project *project = NULL;

    assert_int_equal(project_create(task, directory, &in, &project), 0);
    assert_non_null(project);
    return project;
}

static int64_t user_id(struct task *task, struct db *db, const char *roles)
{
    static int serial;
    const char *text =
        arena_printf(task->arena,
                     "insert into {p}.users (email) values ('u%d@example.com') returning id",
                     ++serial)
            .ptr;
    int64_t id = number(task, db, text);

    exec(task,
         db,
         arena_printf(
             task->arena,
             "insert into {p}.user_roles (user_id, role_id) select %lld, unnest('{%s}'::bigint[])",
             (long long)id,
             roles)
             .ptr);
    return id;
}

/* --- creation ------------------------------------------------------------------------------------
 */

static void check_signing_key(struct task *task, struct project *project)
{
    struct sql sql = make_sql("select key, doc ->> 'x' x, doc ->> 'y' y, doc ->> 'alg' alg, sealed "
                              "from {p}.settings where kind = 'signing_key'",
                              SQL_ONE);
    struct rows rows;
    struct str der;
    struct str x;
    struct str y;
    struct ec_key *key;

    assert_int_equal(db_query(task, &project->db, &sql, NULL, 0, &rows), 0);
    assert_int_equal(rows.count, 1);
    assert_int_equal(rows_str(&rows, 0, 0).len, 16);
    struct str place = arena_printf(task->arena,
                                    "p%lld:signing_key:%.*s",
                                    (long long)project->number,
                                    STR_ARG(rows_str(&rows, 0, 0)));
    struct str sealed = rows_bytes(task->arena, &rows, 0, 4);
    assert_int_equal(aead_open(task->arena, &project->data_key, 1, sealed, place, &der), 0);
    assert_int_equal(ec_key_from_pkcs8(der, &key), 0);
    ec_key_jwk(task->arena, key, &x, &y);
    assert_true(str_eq(x, rows_str(&rows, 0, 1)));
    assert_true(str_eq(y, rows_str(&rows, 0, 2)));
    assert_true(str_is(rows_str(&rows, 0, 3), "ES256"));
    ec_key_free(key);
}

static void created(struct task *task, struct directory *one, struct directory *two)
{
    const struct project_create twice = {
        .slug = STR("shop-1"),
        .name = STR("Other"),
        .admin_email = STR("a@b.cd"),
        .admin_password_hash = STR("x"),
    };
    struct project *project;
    struct project *found;
    const struct rights *rights;

    assert_int_equal(project_find(task, one, STR("shop-1"), &project), PROJECT_NOT_FOUND);
    assert_int_equal(project_find(task, one, STR("Not A Slug"), &project), PROJECT_NOT_FOUND);
    int64_t begun_ms = clock_mono_ms();
    project = create(task, one, "shop-1");
    print_message("created in %d ms\n", (int)(clock_mono_ms() - begun_ms));
    assert_in_range(clock_mono_ms() - begun_ms, 0, 1000);
    assert_int_equal(project_create(task, two, &twice, &found), PROJECT_EXISTS);
    assert_int_equal(project_find(task, one, STR("shop-1"), &found), 0);
    assert_ptr_equal(found, project);
    assert_int_equal(project_find(task, two, STR("shop-1"), &found), 0);
    assert_int_equal(found->number, project->number);
    assert_true(str_is(project->name, "Shop"));
    assert_in_range(project->partition, 0, 15);
    assert_int_equal(project->model->entity_count, 0);
    assert_int_equal(project->settings.access_token_seconds, 3600);
    check_signing_key(task, project);

    assert_int_equal(project_rights(task, project, 1, 0, &rights), 0);
    assert_true(rights->active && rights->is_admin && rights->all_rows && rights->api_access);
    assert_true(str_is(rights->email, "boss@example.com"));
    assert_true(perm_set_has(&rights->perms, PERM_SVC_GROUP_DATA_READ));
    assert_int_equal(project_rights(task, project, 99, 0, &rights), RIGHTS_GONE);
    assert_int_equal(
        number(task,
               &project->db,
               "select count(*) from {p}.role_permissions p join {p}.roles r on r.id = p.role_id "
               "where r.is_default and r.api_access and not r.is_admin"),
        42);
    int64_t standard = user_id(task, &project->db, "2");
    assert_int_equal(project_rights(task, project, standard, 0, &rights), 0);
    assert_true(rights->active && rights->api_access && !rights->is_admin && !rights->all_rows);
    assert_true(perm_set_has(&rights->perms, PERM_SVC_SEARCH_READ));
    assert_false(perm_set_has(&rights->perms, PERM_SVC_USERS_READ));
}

static void test_create(void **state)
{
    (void)state;
    run(created);
}

/* A creation that died is done again after half a minute, not before. */
static void resumed(struct task *task, struct directory *one, struct directory *two)
{
    const struct project_create in = {
        .slug = STR("half"),
        .name = STR("Half"),
        .admin_email = STR("a@b.cd"),
        .admin_password_hash = STR("x"),
    };
    struct project *project;

    (void)two;
    exec(task,
         directory_control(one),
         "insert into platform.projects (slug, name, partition) values ('half', 'Half', 3)");
    int64_t id = number(
        task, directory_control(one), "select number from platform.projects where slug = 'half'");
    exec(task,
         directory_control(one),
         arena_printf(
             task->arena, "create schema p_%lld create table e_1 (id bigint)", (long long)id)
             .ptr);
    assert_int_equal(project_find(task, one, STR("half"), &project), PROJECT_NOT_FOUND);
    assert_int_equal(project_create(task, one, &in, &project), PROJECT_EXISTS);
    exec(task,
         directory_control(one),
         "update platform.projects set updated_at = now() - interval '31 s' where slug = 'half'");
    assert_int_equal(project_create(task, one, &in, &project), 0);
    assert_int_equal(project->number, id);
    assert_int_equal(project->partition, 3);
}

static void test_resume(void **state)
{
    (void)state;
    run(resumed);
}

/* --- model ---------------------------------------------------------------------------------------
 */

static const char *const model_commands[] = {
    "insert into {p}.entities (id, name, row_level_security) values (7, 'orders', false), (5, "
    "'people', true)",
    "insert into {p}.fields (id, entity_id, name, type, required, is_unique, options, "
    "default_value, target_id) "
    "values (31, 7, 'sku', 'varchar', true, true, '{\"max_length\": 5}', null, null), "
    "(30, 7, 'state', 'enum', false, false, '{\"enum\": \"order_state\"}', '\"open\"', null), "
    "(32, 7, 'buyers', 'relation', false, false, '{\"many\": true, \"on_delete\": \"cascade\"}', "
    "null, 5), "
    "(33, 5, 'age', 'integer', false, false, '{\"min\": 50, \"max\": 90}', 'null', null), "
    "(34, 5, 'boss', 'relation', false, false, '{}', null, 5)",
    "insert into {p}.settings (kind, key, doc) values ('enum', 'order_state', '{\"values\": "
    "[\"open\", \"p\\\"d\"]}')",
    "insert into {p}.event_listeners values ('search', 7, 'EntityCreated'), ('workflow:1', 7, "
    "'EntityDeleted')",
    "update {p}.meta set model_version = model_version + 1",
};

static void make_model(struct task *task, struct project *project)
{
    for (size_t i = 0; i < ARRAY_LEN(model_commands); i++)
        exec(task, &project->db, model_commands[i]);
}

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
    assert_int_equal(orders->events, EVENT_CREATED | EVENT_DELETED);
    assert_int_equal(orders->field_count, 7);
    assert_true(str_is(orders->fields[0].name, "id"));
    assert_true(str_is(orders->fields[1].name, "state"));
    assert_true(str_is(orders->fields[6].name, "created_by"));
    assert_true(orders->fields[6].system);

    const struct model_field *field = entity_field(orders, STR("sku"));
    assert_ptr_equal(entity_field_by_id(orders, 31), field);
    assert_true(field->required && field->unique && !field->system && !field->many);
    assert_int_equal(field->max_length, 5);
    assert_true(str_is(field->column, "f_31"));
    assert_true(str_is(field->example, "\"Sampl\""));
    field = entity_field(orders, STR("state"));
    assert_int_equal(field->values->count, 2);
    assert_ptr_equal(field->values, model_enum_find(model, STR("order_state")));
    assert_string_equal(json_string_value(field->fallback), "open");
    field = entity_field(orders, STR("buyers"));
    assert_true(field->many && field->on_delete == ON_DELETE_CASCADE);
    assert_ptr_equal(field->target, model_entity(model, STR("people")));
    field = entity_field(model_entity(model, STR("people")), STR("age"));
    assert_true(field->has_min && field->has_max && field->fallback == NULL);
    assert_true(str_is(field->example, "50"));
    assert_null(entity_field(orders, STR("nothing")));

    uint64_t loads = directory_stats(one)->model_loads;
    assert_int_equal(project_reload_model(task, project, &model), 0);
    assert_int_equal(directory_stats(one)->model_loads, loads); /* same version */
}

static void test_model(void **state)
{
    (void)state;
    run(modelled);
}

/* --- rights --------------------------------------------------------------------------------------
 */

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
        assert_true(caller_field(&caller, entity_field_by_id(orders, id), ACT_READ));
    /* Role 11 creates without a field rule: all fields. A rule without its action opens nothing. */
    assert_true(caller_field(&caller, entity_field_by_id(orders, 30), ACT_CREATE));
    assert_false(caller_field(&caller, entity_field_by_id(orders, 31), ACT_UPDATE));
    uint64_t key = caller_field_key(&caller, orders);

    assert_int_equal(project_rights(task, project, all, 0, &rights), 0);
    caller.rights = rights;
    assert_false(rights->api_access);
    assert_true(caller_field(&caller, entity_field_by_id(orders, 32), ACT_READ)); /* role 12: all */
    assert_false(caller_field(&caller, entity_field_by_id(orders, 30), ACT_CREATE));
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
    assert_false(caller_can(&caller, PERM_SVC_USERS_CREATE)); /* listed, but not the creator's */
    assert_true(caller_can_entity(&caller, 7, ACT_READ));
    assert_false(caller_can_entity(&caller, 7, ACT_DELETE));
    assert_false(caller_can_entity(&caller, 7, ACT_CREATE)); /* the creator's, but not listed */
    assert_true(caller_field(&caller, entity_field_by_id(orders, 30), ACT_READ));
    assert_false(caller_field(&caller, entity_field_by_id(orders, 32), ACT_READ));
    assert_false(caller_field(&caller, entity_field_by_id(orders, 31), ACT_CREATE));
    assert_false(rights->api_access);

    key = api_key(task, project, 1, "1 day"); /* an administrator's */
    assert_int_equal(project_rights(task, project, 1, key, &rights), 0);
    caller.rights = rights;
    assert_false(caller_is_admin(&caller));
    assert_true(caller_all_rows(&caller) && caller_api_access(&caller));
    assert_true(caller_can(&caller, PERM_SVC_USERS_CREATE));
    assert_false(caller_can(&caller, PERM_SVC_ROLES_READ));
    assert_true(caller_can_entity(&caller, 7, ACT_DELETE));
    assert_false(caller_can_entity(&caller, 7, ACT_UPDATE));
    assert_false(caller_can_entity(&caller, 5, ACT_READ));
    assert_int_equal(caller_field_key(&caller, orders), 0);

    key = api_key(task, project, creator, "-1 second");
    assert_int_equal(project_rights(task, project, creator, key, &rights), RIGHTS_GONE);
    assert_int_equal(project_rights(task, project, creator, 9999, &rights), RIGHTS_GONE);
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
    project_touch(task, project->cache->directory, project);
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

static void test_rights(void **state)
{
    (void)state;
    run(authorised);
}

/* --- epochs --------------------------------------------------------------------------------------
 */

/* Another process's change holds here within a second, though what it changes is cached and fresh.
 */
static void propagated(struct task *task, struct directory *one, struct directory *two)
{
    struct project *changed = create(task, one, "epochs");
    struct project *project;
    const struct rights *rights;
    struct credential credential = {.user_id = 1, .expires_ms = INT64_MAX};

    assert_int_equal(project_find(task, two, STR("epochs"), &project), 0);
    assert_int_equal(task_sleep(task, 2), 0);
    credential.checked_ms = clock_mono_ms();
    project_credential_put(project, STR("token"), &credential);
    assert_non_null(project_credential_get(project, STR("token")));
    assert_null(project_credential_get(project, STR("tokeN")));
    int64_t id = user_id(task, &changed->db, "2");
    assert_int_equal(project_rights(task, project, id, 0, &rights), 0);
    assert_true(rights->active);
    const struct rights *same;
    assert_int_equal(project_rights(task, project, id, 0, &same), 0);
    assert_ptr_equal(same, rights);

    exec(task, &changed->db, "update {p}.users set status = 'suspended' where id > 1");
    make_model(task, changed);
    project_touch(task, one, changed);
    assert_int_equal(changed->model->version, 2); /* here at once */
    int64_t touched_ms = clock_mono_ms();
    while (rights->active || project->model->version != 2) {
        assert_in_range(clock_mono_ms() - touched_ms, 0, 1100);
        assert_int_equal(task_sleep(task, 10), 0);
        assert_int_equal(project_rights(task, project, id, 0, &rights), 0);
    }
    assert_null(project_credential_get(project, STR("token")));
    project_credential_put(project, STR("token"), &credential); /* read before the change */
    assert_null(project_credential_get(project, STR("token")));
    assert_true(same->active); /* held by this arena, unchanged */

    credential.checked_ms = clock_mono_ms() + 1;
    credential.expires_ms = clock_wall_ms();
    project_credential_put(project, STR("late"), &credential);
    assert_null(project_credential_get(project, STR("late")));
}

static void test_epochs(void **state)
{
    (void)state;
    run(propagated);
}

/* With Redis the hint makes it a matter of milliseconds; a ring leaves an entry in the stream. */
static void hinted(struct task *task, struct directory *one, struct directory *two)
{
    struct project *changed = create(task, one, "hints");
    struct project *project;
    struct redis_reply reply;

    assert_int_equal(project_find(task, two, STR("hints"), &project), 0);
    for (int i = 0; i < 100 && !redis_up(directory_redis(one)); i++)
        assert_int_equal(task_sleep(task, 10), 0);
    assert_int_equal(task_sleep(task, 50), 0); /* subscribed */
    assert_int_equal(project_find(task, two, STR("newcomer"), &project), PROJECT_NOT_FOUND);
    (void)create(task, one, "newcomer");
    assert_int_equal(task_sleep(task, 50), 0);
    assert_int_equal(project_find(task, two, STR("newcomer"), &project), 0);
    assert_int_equal(project_find(task, two, STR("hints"), &project), 0);
    for (int round = 0; round < 5; round++) {
        int64_t touched_ms = clock_mono_ms();
        project_touch(task, one, changed);
        while (project->epoch != changed->epoch)
            assert_int_equal(task_sleep(task, 5), 0);
        assert_in_range(clock_mono_ms() - touched_ms, 0, 300);
    }
    events_ring(one, changed);
    struct str stream = arena_printf(task->arena, "evt:{p%d}", changed->partition);
    struct str argv[] = {STR("XLEN"), stream};
    assert_int_equal(redis_cmd(task, directory_redis(one), &reply, 2, argv), 0);
    assert_int_equal(reply.number, 1);
}

static void test_hints(void **state)
{
    (void)state;
    redis_url = redis_start();
    run(hinted);
    redis_stop();
    redis_url = NULL;
}

/* Many at once ask for what is not loaded: one load; a caller that gives up does not fail the
 * others. */
struct finder {
    struct task task;
    struct directory *directory;
    struct str slug;
    int rc;
};

static void find_one(struct task *task, void *arg)
{
    struct finder *finder = arg;
    struct project *project;

    finder->rc = project_find(task, finder->directory, finder->slug, &project);
}

static void shared(struct task *task, struct directory *one, struct directory *two)
{
    struct finder finders[20];

    memset(finders, 0, sizeof(finders));
    (void)create(task, one, "shared");
    for (size_t i = 0; i < ARRAY_LEN(finders); i++) {
        finders[i].task.arena = arena_new(0);
        finders[i].directory = two;
        finders[i].slug = i % 2 == 0 ? STR("shared") : STR("not-there");
        finders[i].rc = -1;
        task_start(&finders[i].task, find_one, &finders[i]);
    }
    assert_int_equal(task_sleep(task, 0), 0);
    task_cancel(&finders[0].task);
    assert_int_equal(task_sleep(task, 300), 0);
    assert_int_equal(finders[0].rc, -ECANCELED);
    for (size_t i = 1; i < ARRAY_LEN(finders); i++)
        assert_int_equal(finders[i].rc, i % 2 == 0 ? 0 : PROJECT_NOT_FOUND);
    assert_int_equal(directory_stats(two)->model_loads, 1);
    for (size_t i = 0; i < ARRAY_LEN(finders); i++)
        arena_free(finders[i].task.arena);

    /* Not there is remembered for a second: no further look-ups. */
    struct project *project;
    uint64_t misses = directory_stats(two)->project_misses;
    for (int i = 0; i < 1000; i++)
        assert_int_equal(project_find(task, two, STR("not-there"), &project), PROJECT_NOT_FOUND);
    assert_int_equal(directory_stats(two)->project_misses, misses);
}

static void test_shared_loads(void **state)
{
    (void)state;
    run(shared);
}

/* Without the control schema for five seconds, nothing is served. */
static void closed(struct task *task, struct directory *one, struct directory *two)
{
    struct project *project = create(task, one, "closed");
    struct project *found;

    (void)two;
    (void)project;
    one->control_ok_ms -= EPOCH_STALE_MS + 1; /* the process stood still: one read heals it */
    assert_int_equal(project_find(task, one, STR("closed"), &found), 0);
    one->control_ok_ms -= EPOCH_STALE_MS + 1;
    one->control_failures = 1;
    assert_int_equal(project_find(task, one, STR("closed"), &found), PROJECT_UNAVAILABLE);
    assert_int_equal(task_sleep(task, 1100), 0);
    assert_int_equal(project_find(task, one, STR("closed"), &found), 0);
}

static void test_fails_closed(void **state)
{
    (void)state;
    run(closed);
}

/* --- settings ------------------------------------------------------------------------------------
 */

static void saved(struct task *task, struct directory *one, struct directory *two)
{
    static const char body[] = "{\"name\":\"Neu\",\"allowed_origins\":[\"https://a.example\"],"
                               "\"settings\":{\"rate_read\":7,\"oidc_client_secret\":\"hush\"}}";
    struct project *project = create(task, one, "settings");
    struct schema_errors errors = {0};
    struct project_in in;
    struct jr_error error;
    json_t *json;
    const struct caller caller = {.kind = CALLER_USER, .user_id = 1};

    (void)two;
    struct str old_name = project->name;
    assert_int_equal(jr_parse(task->arena, STR(body), &json, &error), 0);
    assert_true(schema_decode(task->arena, &project_schema, json, &in, &errors));
    struct db_call audit = audit_call(
        task->arena, &caller, "project.update", "project", 1, STR("{\"a\":1}"), STR("r"));
    assert_int_equal(project_settings_save(task, one, project, &in, &audit), 0);
    project_touch(task, one, project);
    assert_true(str_is(old_name, "Shop")); /* held */
    assert_true(str_is(project->name, "Neu"));
    assert_int_equal(project->settings.rate_read, 7);
    assert_int_equal(project->settings.rate_sign_in_account, 10);
    assert_int_equal(project->settings.allowed_origin_count, 1);
    assert_true(str_is(project->settings.oidc_client_secret, "hush"));
    assert_int_equal(
        number(task,
               &project->db,
               "select count(*) from {p}.settings where doc::text like '%hush%' or sealed is null "
               "and kind = 'setting'"),
        0);
    assert_int_equal(
        number(
            task,
            &project->db,
            "select count(*) from {p}.audit_log where action = 'project.update' and actor_id = 1"),
        1);

    const struct entity entity = {.id = 7};
    struct db_call call =
        events_outbox_call(task->arena, &entity, EVENT_UPDATED, 3, STR("{}"), 1, 0);
    assert_int_equal(db_batch(task, &project->db, &call, 1, NULL), 0);
    assert_int_equal(
        number(task,
               &project->db,
               "select count(*) from {p}.outbox where event = 'EntityUpdated' and record_id = 3"),
        1);
}

static void test_settings(void **state)
{
    (void)state;
    run(saved);
}

/* --- migrations ----------------------------------------------------------------------------------
 */

static const char *const later_commands[] = {
    "alter table {p}.users add column shoe_size integer",
    "create index users_shoe on {p}.users (shoe_size)",
    NULL,
};
static const char *const broken_commands[] = {
    "alter table {p}.users add column hat_size integer",
    "alter table {p}.nonsense add column x integer",
    NULL,
};
static const char *const no_commands[] = {NULL};
static unsigned said;

static void say_counted(const char *text)
{
    (void)text;
    said++;
}

static void migrated(struct task *task, struct directory *one, struct directory *two)
{
    struct project *project = create(task, one, "migrated");
    struct migration platform[] = {{1, "0001_control", NULL, no_commands}, {0, NULL, NULL, NULL}};
    struct migration list[] = {
        migrate_project_list[0],
        {2, "0002_later", "aa", later_commands},
        {0, NULL, NULL, NULL},
    };
    struct sql sha = make_sql(
        "select sha256 from platform.migrations where area = 'platform' and number = 1", SQL_ONE);
    struct rows rows;
    struct str reason = STR("");

    assert_int_equal(db_query(task, directory_control(one), &sha, NULL, 0, &rows), 0);
    platform[0].sha256 = arena_cstr(task->arena, rows_str(&rows, 0, 0));
    said = 0;
    assert_int_equal(migrate_all(task, two, say_counted, &reason), 0);
    assert_int_equal(said, 0); /* nothing to do */
    assert_int_equal(migrate_run(task, one, platform, list, say_counted, &reason), 0);
    assert_true(said >= 1);
    assert_int_equal(number(task, &project->db, "select count(shoe_size) from {p}.users"), 0);
    said = 0;
    assert_int_equal(migrate_run(task, one, platform, list, say_counted, &reason), 0);
    assert_int_equal(said, 0);
    /* The control row lags behind (a crash between the two commits): nothing is applied twice. */
    exec(task, directory_control(one), "update platform.projects set migration = 1");
    assert_int_equal(migrate_run(task, one, platform, list, say_counted, &reason), 0);
    assert_int_equal(said, 0);

    list[1].sha256 = "bb";
    assert_int_not_equal(migrate_run(task, one, platform, list, say_counted, &reason), 0);
    assert_non_null(strstr(arena_cstr(task->arena, reason), "0002_later was edited"));
    platform[0].sha256 = "cc";
    assert_int_not_equal(migrate_run(task, one, platform, list, say_counted, &reason), 0);
    assert_non_null(strstr(arena_cstr(task->arena, reason), "0001_control was edited"));
}

/* A failing migration leaves a project as it was, and the text says which and why. */
static void rolled_back(struct task *task, struct directory *one, struct directory *two)
{
    struct project *project = create(task, one, "broken");
    struct migration platform[] = {{0, NULL, NULL, NULL}};
    struct migration list[] = {
        {3, "0003_broken", "dd", broken_commands},
        {0, NULL, NULL, NULL},
    };
    struct str reason = STR("");

    (void)two;
    assert_int_not_equal(migrate_run(task, one, platform, list, say_counted, &reason), 0);
    assert_non_null(strstr(arena_cstr(task->arena, reason), "nonsense"));
    assert_int_equal(
        number(task,
               &project->db,
               "select count(*) from information_schema.columns where column_name = 'hat_size'"),
        0);
}

static void test_migrations(void **state)
{
    (void)state;
    run(migrated);
    run(rolled_back);
}

/* --- deletion ------------------------------------------------------------------------------------
 */

static int64_t schemas(struct task *task, struct directory *directory, int64_t number_)
{
    return number(task,
                  directory_control(directory),
                  arena_printf(task->arena,
                               "select count(*) from pg_namespace where nspname = 'p_%lld'",
                               (long long)number_)
                      .ptr);
}

static void deleted(struct task *task, struct directory *one, struct directory *two)
{
    struct project *project = create(task, one, "deleted");
    int64_t id = project->number;
    struct project *found;

    assert_int_equal(project_find(task, two, STR("deleted"), &found), 0);
    for (int i = 1; i <= 120; i++) /* more than one chunk, with references among them */
        exec(task,
             &project->db,
             arena_printf(
                 task->arena,
                 "create table {p}.e_%d (id bigint primary key, f_1 bigint%s)",
                 i,
                 i == 1 ? "" : arena_printf(task->arena, " references {p}.e_%d (id)", i - 1).ptr)
                 .ptr);
    assert_int_equal(project_delete(task, one, project), 0);
    assert_int_equal(project_find(task, one, STR("deleted"), &found), PROJECT_NOT_FOUND);
    assert_int_equal(schemas(task, one, id), 0);
    assert_int_equal(number(task,
                            directory_control(one),
                            "select count(*) from platform.projects where slug = 'deleted'"),
                     0);
    assert_int_equal(task_sleep(task, 1150), 0);
    assert_int_equal(project_find(task, two, STR("deleted"), &found), PROJECT_NOT_FOUND);
    assert_int_equal(project_delete(task, one, project), PROJECT_NOT_FOUND);

    /* The name is free again, and the new project is another one. */
    project = create(task, one, "deleted");
    assert_int_not_equal(project->number, id);

    /* A deletion that died is finished by the sweep. */
    exec(task,
         directory_control(one),
         "update platform.projects set state = 'deleting', updated_at = now() - interval '61 s' "
         "where slug = 'deleted'");
    directory_sweep(task, two);
    assert_int_equal(schemas(task, one, project->number), 0);
    assert_int_equal(number(task,
                            directory_control(one),
                            "select count(*) from platform.projects where slug = 'deleted'"),
                     0);
}

static void test_delete(void **state)
{
    (void)state;
    run(deleted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_create),
        cmocka_unit_test(test_resume),
        cmocka_unit_test(test_model),
        cmocka_unit_test(test_rights),
        cmocka_unit_test(test_epochs),
        cmocka_unit_test(test_hints),
        cmocka_unit_test(test_shared_loads),
        cmocka_unit_test(test_fails_closed),
        cmocka_unit_test(test_settings),
        cmocka_unit_test(test_delete),
        cmocka_unit_test(test_migrations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
