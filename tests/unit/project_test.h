#pragma once
/* Tests of projects: a task on a loop of its own, with two directories, as two processes would
 * have. */
#include "deadline.h"

#include <errno.h>

#include "bus/bus.h"
#include "crypto/ec.h"
#include "keys/sealed_aad.h"
#include "migrations/migrate.h"
#include "pg.h"
#include "project/events.h"
#include "project/project_private.h"
#include "project/project_settings.h"
#include "project/unseal.h"
#include "project/upkeep.h"
#include "redis/redis.h"
#include "rights/audit.h"

struct world {
    struct task task;
    struct directory *one;
    struct directory *two;
    struct redis *redis;
    struct bus *bus;
    void (*fn)(struct task *task, struct directory *one, struct directory *two);
};

static const char *redis_url;

UNUSED static void say_nothing(const char *text)
{
    (void)text;
}

static struct directory *new_directory(struct redis *redis, struct bus *bus)
{
    struct directory_config config = {
        .control_dsn = pg_dsn(),
        .db = {PATIENT, .dsn = pg_dsn(), .read_connections = 2, .write_connections = 4},
        .master_key = {.bytes = {1, 2, 3}, .id = 1},
        .redis = redis,
        .bus = bus,
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
    arena_reset(task->arena); /* releases holds before their directories */
    directory_free(world->one);
    directory_free(world->two);
    bus_free(world->bus);
    redis_free(world->redis);
    loop_stop();
}

UNUSED static void run(void (*fn)(struct task *task, struct directory *one, struct directory *two))
{
    struct world world = {.fn = fn};

    (void)pg_dsn();
    loop_init();
    world.task.arena = arena_new(0);
    if (redis_url != NULL) {
        world.redis = redis_new(&(const struct str){redis_url, strlen(redis_url)}, 1);
        world.bus = bus_new(world.redis);
    }
    world.one = new_directory(world.redis, world.bus);
    world.two = new_directory(world.redis, world.bus);
    task_start(&world.task, run_world, &world);
    loop_run();
    arena_free(world.task.arena);
    assert_int_equal(task_count(), 0);
}

UNUSED static struct sql make_sql(const char *text, enum sql_kind kind)
{
    return (struct sql){
        .name = "test.statement",
        .text = text,
        .hash = str_hash(str_from(text)),
        .kind = kind,
        .no_prepare = true,
    };
}

UNUSED static void exec(struct task *task, struct db *db, const char *text)
{
    struct sql sql = make_sql(text, SQL_EXEC);

    sql.writes = true;
    if (db_query(task, db, &sql, NULL, 0, NULL) != 0)
        fail_msg("%s: %.*s", text, STR_ARG(db_error(task)->message));
}

UNUSED static int64_t number(struct task *task, struct db *db, const char *text)
{
    struct sql sql = make_sql(text, SQL_ONE);
    struct rows rows;

    if (db_query(task, db, &sql, NULL, 0, &rows) != 0)
        fail_msg("%s: %.*s", text, STR_ARG(db_error(task)->message));
    return rows_i64(&rows, 0, 0);
}

UNUSED static struct project *
create(struct task *task, struct directory *directory, const char *slug)
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

/* Copies what a new project has in its tables, and the values of its sequences. */
static const char keep_command[] =
    "do $$ declare t text; filled boolean; begin "
    "create schema kept_{p}; "
    "create table kept_{p}.sequence_values as select sequencename as name, last_value as value "
    "from pg_sequences where schemaname = '{p}'; "
    "for t in select relname from pg_class where relnamespace = '{p}'::regnamespace "
    "and relkind in ('r', 'p') and not relispartition loop "
    "execute format('select exists (select from {p}.%I)', t) into filled; "
    "if filled then execute format('create table kept_{p}.%I as table {p}.%I', t, t); end if; "
    "end loop; end $$";

/* Drops the tables of the project's model, and restores the contents of all other tables, without
 * triggers and checks of foreign keys. */
static const char restore_command[] =
    "do $$ declare t text; begin "
    "set local session_replication_role = replica; "
    "for t in select relname from pg_class where relnamespace = '{p}'::regnamespace "
    "and relkind in ('r', 'p') and not relispartition loop "
    "if t ~ '^[el]_[0-9]+$' then execute format('drop table {p}.%I cascade', t); continue; end if; "
    "execute format('delete from {p}.%I', t); "
    "if to_regclass(format('kept_{p}.%I', t)) is not null then "
    "execute format('insert into {p}.%I overriding system value table kept_{p}.%I', t, t); end if; "
    "end loop; "
    "perform setval(format('{p}.%I', name)::regclass, coalesce(value, 1), value is not null) "
    "from kept_{p}.sequence_values; end $$";

/* Returns the project with this slug in the state of a new project. Only the first call of a
 * program creates the project, because that takes a second of processor time. */
UNUSED static struct project *
make_new(struct task *task, struct directory *directory, const char *slug)
{
    struct db db = {.server = directory_server(directory, STR("main"))};
    struct project *project;

    db.schema = number(
        task,
        directory_control(directory),
        arena_printf(task->arena,
                     "select coalesce(max(number), 0) from platform.projects where slug = '%s'",
                     slug)
            .ptr);
    if (db.schema == 0) {
        project = create(task, directory, slug);
        exec(task, &project->db, keep_command);
        return project;
    }
    exec(task, &db, restore_command);
    assert_int_equal(project_find(task, directory, str_from(slug), &project), 0);
    project_epoch_raise(task, directory, project); /* for caches that outlive a directory */
    return project;
}

UNUSED static int64_t user_id(struct task *task, struct db *db, const char *roles)
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

/* Creates the entities orders (7) and people (5) with a field of each kind; raises the version. */
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

UNUSED static void make_model(struct task *task, struct project *project)
{
    for (size_t i = 0; i < ARRAY_LEN(model_commands); i++)
        exec(task, &project->db, model_commands[i]);
}
