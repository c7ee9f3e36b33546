/* Projects against a real PostgreSQL: creation, epochs between two directories, migrations,
 * deletion. */
#include <unistd.h>

#include "unit.h"

#include "project/project.h"
#include "project_test.h"

/* --- creation --- */

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
    assert_int_equal(
        aead_open(task->arena, project->data_keys, project->data_key_count, sealed, place, &der),
        0);
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
    project = create(task, one, "shop-1");
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
    assert_int_equal(project_rights(task, project, 99, 0, &rights), RIGHTS_NOT_FOUND);
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

TEST(test_create)
{
    run(created);
}

/* A creation whose process died is repeated after half a minute, not before. */
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

TEST(test_resume)
{
    run(resumed);
}

/* A project is created although the control schema fails for a moment after everything else is
 * done. */
static void unheard(struct task *task, struct directory *one, struct directory *two)
{
    const char *const commands[] = {
        "create sequence platform.tries",
        "create function platform.unheard() returns trigger language plpgsql as $$ begin"
        " if nextval('platform.tries') < 3 then raise exception using errcode = '08006'; end if;"
        " return new; end $$",
        "create trigger unheard before update on platform.projects for each row"
        " when (new.slug = 'unheard' and new.state = 'active') execute function platform.unheard()",
    };
    struct project *project;

    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        exec(task, directory_control(one), commands[i]);
    project = create(task, one, "unheard");
    assert_int_equal(project_find(task, two, STR("unheard"), &project), 0);
    assert_int_equal(number(task, directory_control(one), "select last_value from platform.tries"),
                     3);
    exec(task, directory_control(one), "drop function platform.unheard() cascade");
    exec(task, directory_control(one), "drop sequence platform.tries");
}

TEST(test_unheard)
{
    run(unheard);
}

/* --- epochs --- */

/* A change made by another process takes effect in this process within a second, even when the
 * changed data is cached and fresh. */
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
    project_epoch_raise(task, one, changed);
    assert_int_equal(changed->model->version, 2); /* at once in the process that changed it */
    int64_t touched_ms = clock_mono_ms();
    while (rights->active || project->model->version != 2) {
        assert_took(touched_ms, 0, 4000); /* without the epoch it would take 5 s */
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

TEST(test_epochs)
{
    run(propagated);
}

/* An epoch that a process learns from a reload, or from a change of its own, counts like an
 * epoch that the timer has read. */
static void learned(struct task *task, struct directory *one, struct directory *two)
{
    struct project *changed = create(task, one, "learned");
    struct project *project;
    const struct rights *rights;
    const struct model *model;
    int64_t id = user_id(task, &changed->db, "2");

    assert_int_equal(project_find(task, two, STR("learned"), &project), 0);
    assert_int_equal(project_rights(task, project, id, 0, &rights), 0);
    assert_true(rights->active);
    exec(task, &changed->db, "update {p}.users set status = 'suspended' where id > 1");
    project_epoch_raise(task, one, changed);
    assert_int_equal(project_reload_model(task, project, &model), 0);
    assert_int_equal(project->epoch, changed->epoch);
    assert_int_equal(project_rights(task, project, id, 0, &rights), 0);
    assert_false(rights->active);

    exec(task, &changed->db, "update {p}.users set status = 'active' where id > 1");
    project_epoch_raise(task, one, changed);
    project_epoch_raise(task, two, project);
    assert_int_equal(project_rights(task, project, id, 0, &rights), 0);
    assert_true(rights->active);
}

TEST(test_learned)
{
    run(learned);
}

/* Changes without a pause between them. No change waits for changes that begin later. */
#define TOUCHERS 2000
struct toucher {
    struct task task;
    struct directory *directory;
    struct project *project;
    size_t *ended;
};

static void touch_one(struct task *task, void *arg)
{
    struct toucher *toucher = arg;

    project_epoch_raise(task, toucher->directory, toucher->project);
    ++*toucher->ended;
}

static void touched(struct task *task, struct directory *one, struct directory *two)
{
    struct project *project = create(task, one, "touched");
    struct toucher *touchers = ARENA_ARRAY(task->arena, touchers, TOUCHERS);
    size_t started = 0;
    size_t ended = 0;

    (void)two;
    while (started < TOUCHERS && ended == 0) {
        struct toucher *toucher = &touchers[started++];
        *toucher = (struct toucher){.directory = one, .project = project, .ended = &ended};
        toucher->task.arena = task->arena;
        task_start(&toucher->task, touch_one, toucher);
        (void)usleep(200 + (useconds_t)started); /* shorter than a change takes */
        assert_int_equal(task_sleep(task, 0), 0);
    }
    assert_true(ended > 0);
    while (ended < started)
        assert_int_equal(task_sleep(task, 5), 0);
}

TEST(test_touched)
{
    run(touched);
}

/* Returns the number of subscribers of the epoch channel. Both directories use one connection. */
static int64_t subscribers(struct task *task, struct directory *directory)
{
    struct redis_reply reply;
    struct str argv[] = {STR("PUBSUB"), STR("NUMSUB"), STR("groundwork:epoch")};

    assert_int_equal(redis_cmd(task, directory_redis(directory), &reply, ARRAY_LEN(argv), argv), 0);
    assert_int_equal(reply.count, 2);
    return reply.items[1].number;
}

/* With Redis, a notification propagates a change within milliseconds. events_notify() adds an
 * entry to the stream. */
static void hinted(struct task *task, struct directory *one, struct directory *two)
{
    struct project *changed = create(task, one, "hints");
    struct project *project;
    struct redis_reply reply;

    assert_int_equal(project_find(task, two, STR("hints"), &project), 0);
    WAIT_FOR(task, redis_up(directory_redis(one)));
    WAIT_FOR(task, subscribers(task, one) == 1);
    assert_int_equal(project_find(task, two, STR("newcomer"), &project), PROJECT_NOT_FOUND);
    (void)create(task, one, "newcomer");
    int64_t created_ms = clock_mono_ms();
    WAIT_FOR(task, project_find(task, two, STR("newcomer"), &project) == 0);
    assert_took(created_ms, 0, 500); /* otherwise the absence stays cached for a second */
    assert_int_equal(project_find(task, two, STR("hints"), &project), 0);
    int64_t begun_ms = clock_mono_ms();
    for (int round = 0; round < 5; round++) {
        project_epoch_raise(task, one, changed);
        while (project->epoch != changed->epoch)
            assert_int_equal(task_sleep(task, 5), 0);
    }
    assert_took(begun_ms, 0, 3000); /* the timer alone would take a second each */
    struct str stream = arena_printf(task->arena, "evt:{p%d}", changed->partition);
    struct str group[] = {
        STR("XGROUP"), STR("CREATE"), stream, STR("readers"), STR("0"), STR("MKSTREAM")};
    struct str argv[] = {STR("XLEN"), stream};
    assert_int_equal(redis_cmd(task, directory_redis(one), &reply, ARRAY_LEN(group), group), 0);
    events_notify(one, changed);
    events_notify(one, changed); /* in the same tick: one entry */
    WAIT_FOR(task, redis_cmd(task, directory_redis(one), &reply, 2, argv) == 0 && reply.number > 0);
    assert_int_equal(reply.number, 1);
}

TEST(test_hints)
{
    redis_url = redis_start();
    run(hinted);
    redis_stop();
    redis_url = NULL;
}

/* Many tasks concurrently find a project that is not loaded. The project is loaded once, and a
 * caller that is cancelled does not fail the other callers. */
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
    for (size_t i = 0; i < ARRAY_LEN(finders); i++)
        WAIT_FOR(task, finders[i].rc != -1);
    assert_int_equal(finders[0].rc, -ECANCELED);
    for (size_t i = 1; i < ARRAY_LEN(finders); i++)
        assert_int_equal(finders[i].rc, i % 2 == 0 ? 0 : PROJECT_NOT_FOUND);
    assert_int_equal(directory_stats(two)->model_loads, 1);
    for (size_t i = 0; i < ARRAY_LEN(finders); i++)
        arena_free(finders[i].task.arena);

    /* The absence of a project is cached for a second, without further queries. */
    struct project *project;
    int64_t begun_ms = clock_mono_ms();
    assert_int_equal(project_find(task, two, STR("nowhere"), &project), PROJECT_NOT_FOUND);
    uint64_t misses = directory_stats(two)->project_misses;
    for (int i = 0; i < 1000; i++)
        assert_int_equal(project_find(task, two, STR("nowhere"), &project), PROJECT_NOT_FOUND);
    uint64_t seconds = (uint64_t)(clock_mono_ms() - begun_ms) / 1000; /* that have passed */
    assert_in_range(directory_stats(two)->project_misses - misses, 0, seconds);
}

TEST(test_shared_loads)
{
    run(shared);
}

/* When the control schema has not answered for five seconds, no project is served. */
static void closed(struct task *task, struct directory *one, struct directory *two)
{
    struct project *project = create(task, one, "closed");
    struct project *found;

    (void)two;
    (void)project;
    one->control_read_ms -= EPOCH_STALE_MS + 1; /* the process was paused: one read suffices */
    assert_int_equal(project_find(task, one, STR("closed"), &found), 0);
    one->control_read_ms -= EPOCH_STALE_MS + 1;
    one->control_failures = 1;
    assert_int_equal(project_find(task, one, STR("closed"), &found), PROJECT_UNAVAILABLE);
    WAIT_FOR(task, project_find(task, one, STR("closed"), &found) == 0);
}

TEST(test_fails_closed)
{
    run(closed);
}

/* --- settings --- */

static void saved(struct task *task, struct directory *one, struct directory *two)
{
    static const char body[] = "{\"name\":\"Neu\",\"allowed_origins\":[\"https://a.example\"],"
                               "\"settings\":{\"rate_read\":7,\"oidc_client_secret\":\"hush\"}}";
    struct project *project = create(task, one, "settings");
    struct schema_errors errors = {0};
    struct project_patch in;
    struct jr_error error;
    json_t *json;
    const struct caller caller = {.kind = CALLER_USER, .user_id = 1};

    (void)two;
    struct str old_name = project->name;
    assert_int_equal(jr_parse(task->arena, STR(body), &json, &error), 0);
    assert_true(schema_decode(task->arena, &project_schema, json, &in, &errors));
    struct db_call audit = audit_call(
        task->arena, &caller, "project.update", "project", 1, STR("{\"a\":1}"), STR("r"));
    struct db *tx;
    assert_int_equal(db_begin(task, &project->db, &tx), 0);
    assert_int_equal(project_settings_save(task, one, project, tx, &in, &audit), 0);
    assert_int_equal(db_commit(task, tx), 0);
    project_epoch_raise(task, one, project);
    assert_true(str_is(old_name, "Shop")); /* still held by this arena */
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
    const struct outbox_row row = {
        .entity = &entity,
        .event = EVENT_UPDATED,
        .record_id = 3,
        .payload = STR("{}"),
        .actor_id = 1,
    };
    struct db_call call = events_outbox_call(task->arena, &row);
    assert_int_equal(db_batch(task, &project->db, &call, 1, NULL), 0);
    assert_int_equal(
        number(task,
               &project->db,
               "select count(*) from {p}.outbox where event = 'EntityUpdated' and record_id = 3"),
        1);
}

TEST(test_settings)
{
    run(saved);
}

/* --- migrations --- */

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
    struct migration platform[] = {{1, "0001_platform", NULL, no_commands}, {0, NULL, NULL, NULL}};
    struct migration list[] = {
        migrate_project_list[0],
        migrate_project_list[1],
        {97, "0097_later", "aa", later_commands},
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
    assert_int_equal(migrate_run(task, &one->servers, platform, list, say_counted, &reason), 0);
    assert_true(said >= 1);
    assert_int_equal(number(task, &project->db, "select count(shoe_size) from {p}.users"), 0);
    said = 0;
    assert_int_equal(migrate_run(task, &one->servers, platform, list, say_counted, &reason), 0);
    assert_int_equal(said, 0);
    /* The control row is out of date (a crash between the two commits), and no migration is
     * applied twice. */
    exec(task, directory_control(one), "update platform.projects set migration = 1");
    assert_int_equal(migrate_run(task, &one->servers, platform, list, say_counted, &reason), 0);
    assert_int_equal(said, 0);

    list[2].sha256 = "bb";
    assert_int_not_equal(migrate_run(task, &one->servers, platform, list, say_counted, &reason), 0);
    assert_non_null(strstr(arena_cstr(task->arena, reason), "0097_later was edited"));
    platform[0].sha256 = "cc";
    assert_int_not_equal(migrate_run(task, &one->servers, platform, list, say_counted, &reason), 0);
    assert_non_null(strstr(arena_cstr(task->arena, reason), "0001_platform was edited"));
}

/* A failing migration leaves a project unchanged, and the error text says which migration failed
 * and why. */
static void rolled_back(struct task *task, struct directory *one, struct directory *two)
{
    struct project *project = create(task, one, "broken");
    struct migration platform[] = {{0, NULL, NULL, NULL}};
    struct migration list[] = {
        {99, "0099_broken", "dd", broken_commands},
        {0, NULL, NULL, NULL},
    };
    struct str reason = STR("");

    (void)two;
    assert_int_not_equal(migrate_run(task, &one->servers, platform, list, say_counted, &reason), 0);
    assert_non_null(strstr(arena_cstr(task->arena, reason), "nonsense"));
    assert_int_equal(
        number(task,
               &project->db,
               "select count(*) from information_schema.columns where column_name = 'hat_size'"),
        0);
}

/* Two migrators run concurrently. One applies the migration, the other waits and finds it
 * applied. */
struct migrator {
    struct directory *directory;
    const struct migration *list;
};

static int migrate_one(struct task *task, void *arg)
{
    static const struct migration none[] = {{0, NULL, NULL, NULL}};
    const struct migrator *migrator = arg;
    struct str reason = STR("");

    int rc = migrate_run(
        task, &migrator->directory->servers, none, migrator->list, say_counted, &reason);
    if (rc != 0)
        print_message("%.*s\n", STR_ARG(reason));
    return rc;
}

static void at_once(struct task *task, struct directory *one, struct directory *two)
{
    static const struct migration list[] = {
        {98, "0098_later", "ee", later_commands},
        {0, NULL, NULL, NULL},
    };
    struct migrator migrators[] = {{one, list}, {two, list}};
    struct task_call calls[] = {{migrate_one, &migrators[0], 0}, {migrate_one, &migrators[1], 0}};
    struct project *project;

    exec(task, directory_control(one), "delete from platform.projects");
    project = create(task, one, "at-once");
    said = 0;
    assert_int_equal(task_all(task, calls, 2), 0);
    assert_int_equal(said, 1);
    assert_int_equal(number(task, &project->db, "select count(shoe_size) from {p}.users"), 0);
}

TEST(test_migrations)
{
    run(migrated);
    run(rolled_back);
    run(at_once);
}

/* --- deletion --- */

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
    int64_t deleted_ms = clock_mono_ms();
    WAIT_FOR(task, project_find(task, two, STR("deleted"), &found) == PROJECT_NOT_FOUND);
    assert_took(deleted_ms, 0, 1150);
    assert_int_equal(project_delete(task, one, project), PROJECT_NOT_FOUND);

    /* The name is free again, and the new project gets another number. */
    project = create(task, one, "deleted");
    assert_int_not_equal(project->number, id);

    /* The sweep finishes a deletion whose process died. */
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

TEST(test_delete)
{
    run(deleted);
}

/* A change of the control schema, or of projects on another server, must not use main's DDL
 * connection. */
static void ddl_is_mains(struct task *task, struct directory *one, struct directory *two)
{
    struct db_config config = one->servers.template;
    struct servers servers;
    (void)task;
    (void)two;

    config.dsn = pg_dsn();
    config.ddl_dsn = pg_dsn();
    servers_open(&servers, &config, "host=/nowhere");
    servers_add(&servers, "second", pg_dsn());
    assert_true(db_server_has_ddl(servers_find(&servers, STR("main"))));
    assert_false(db_server_has_ddl(servers_find(&servers, STR("second"))));
    assert_false(db_server_has_ddl(servers.control.server));
    servers_close(&servers);
}

TEST(ddl_of_main)
{
    run(ddl_is_mains);
}
