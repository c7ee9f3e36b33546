/*
 * Migrations, compiled into the daemon. The control schema is migrated under a table lock, then
 * each project under a lock of its meta row, each in one transaction. A project records in its own
 * schema, in the same transaction, which migrations were applied. The number in its control row
 * only tells which projects lack migrations. A migration file that was edited after it was applied
 * is refused.
 */
#include "migrations/migrate.h"

#include "base/backoff.h"
#include "base/num.h"
#include "migrate_sql.h"
#include "migrations.h"
#include "migrations/grants.h"

#define LOCK_TRIES 10

struct migrator {
    struct task *task;
    struct servers *servers;
    const struct migration *platform;
    const struct migration *project;
    void (*say)(const char *text);
    struct str reason;
};

static const struct sql bootstrap[] = {
    {
        .name = "migrate.schema",
        .text = "create schema if not exists platform",
        .kind = SQL_EXEC,
        .writes = true,
        .no_prepare = true,
    },
    {
        .name = "migrate.table",
        .text = "create table if not exists platform.migrations (area text not null, "
                "number integer not null, name text not null, sha256 text not null, "
                "applied_at timestamptz not null default now(), primary key (area, number))",
        .kind = SQL_EXEC,
        .writes = true,
        .no_prepare = true,
    },
};

static const struct sql lock_sql = {
    .name = "migrate.lock",
    .text = "lock table platform.migrations in exclusive mode",
    .kind = SQL_EXEC,
    .writes = true,
    .no_prepare = true,
};

#define STATEMENT_TIMEOUT_MS 600000 /* rewriting a large table may take longer than a request */

const struct migration *const migrate_platform_list = migrations_platform;
const struct migration *const migrate_project_list = migrations_project;

static int migrator_fail(struct migrator *m, int rc, const char *what)
{
    if (rc < 0)
        m->reason = arena_printf(m->task->arena, "%s: interrupted", what);
    else
        m->reason =
            arena_printf(m->task->arena, "%s: %.*s", what, STR_ARG(db_error(m->task)->message));
    return MIGRATE_FAILED;
}

static int migrator_refuse(struct migrator *m, const char *name)
{
    m->reason =
        arena_printf(m->task->arena, "migration %s was edited after it had been applied", name);
    return MIGRATE_FAILED;
}

static size_t
command_calls(struct arena *arena, const struct migration *migration, struct db_call *calls)
{
    size_t count = 0;

    for (; migration->commands[count] != NULL; count++) {
        if (calls == NULL)
            continue;
        struct sql *sql = ARENA_NEW(arena, sql);
        *sql = (struct sql){
            .name = migration->name,
            .text = migration->commands[count],
            .hash = str_hash(str_from(migration->commands[count])),
            .kind = SQL_EXEC,
            .writes = true,
            .no_prepare = true,
        };
        calls[count] = (struct db_call){.sql = sql};
    }
    return count;
}

size_t migrate_calls(struct arena *arena, const struct migration *migration, struct db_call *calls)
{
    size_t count = command_calls(arena, migration, calls);

    if (calls != NULL)
        calls[count] = db_call_new(
            arena,
            SQL_MIGRATE_PROJECT_RECORD(.key = arena_printf(arena, "%d", migration->number),
                                       .name = str_from(migration->name),
                                       .sha256 = str_from(migration->sha256)));
    return count + 1;
}

/* --- the control schema --- */

AWAITS static int control_schema_try_create(struct migrator *m)
{
    struct db_call calls[ARRAY_LEN(bootstrap) + GRANTS_CALLS_MAX] = {{.sql = &bootstrap[0]}};
    struct db *tx;
    size_t count;

    TRY(grants_calls(m->task, &m->servers->control, "platform", &calls[1], &count));
    for (size_t i = 1; i < ARRAY_LEN(bootstrap); i++)
        calls[++count] = (struct db_call){.sql = &bootstrap[i]};
    TRY(db_begin_ddl(m->task, &m->servers->control, &tx));
    return db_batch_commit(m->task, tx, calls, count + 1, NULL);
}

/* Concurrent migrators collide here. The loser tries again and finds the work done. */
static int control_schema_create(struct migrator *m)
{
    struct backoff pause = {.first_ms = 50, .most_ms = 200};

    for (;;) {
        int rc = control_schema_try_create(m);
        if (rc == 0)
            return 0;
        if (rc < 0 || pause.tries + 1 == LOCK_TRIES)
            return migrator_fail(m, rc, "control schema");
        struct str text = arena_dup(m->task->arena, db_error(m->task)->message);
        if (task_sleep(m->task, backoff_next(&pause)) != 0) {
            m->reason = text;
            return MIGRATE_FAILED;
        }
    }
}

/* Returns the recorded checksum of (area, number), STR_NONE when it was not applied. */
static struct str recorded_checksum(const struct rows *rows, const char *area, int number)
{
    for (size_t i = 0; i < rows->count; i++) {
        const struct sql_migrate_recorded_row row = sql_migrate_recorded_row(rows, i);
        if (str_is(row.area, area) && row.number == number)
            return row.sha256;
    }
    return STR_NONE;
}

/* Records a migration, after applying it when `apply` is set. When it is recorded already, only
 * compares the checksums. */
static int platform_apply(struct migrator *m,
                          struct db *tx,
                          const struct rows *known,
                          const char *area,
                          const struct migration *migration,
                          bool apply)
{
    struct str sha256 = recorded_checksum(known, area, migration->number);

    if (sha256.ptr != NULL)
        return str_is(sha256, migration->sha256) ? 0 : migrator_refuse(m, migration->name);
    size_t count = apply ? command_calls(NULL, migration, NULL) : 0;
    struct db_call *calls = ARENA_ARRAY(m->task->arena, calls, count + 1);
    if (apply)
        (void)command_calls(m->task->arena, migration, calls);
    calls[count] = db_call(SQL_MIGRATE_RECORD(.area = str_from(area),
                                              .number = migration->number,
                                              .name = str_from(migration->name),
                                              .sha256 = str_from(migration->sha256)));
    int rc = db_batch(m->task, tx, calls, count + 1, NULL);
    if (rc != 0)
        return migrator_fail(m, rc, migration->name);
    if (apply)
        m->say(arena_printf(m->task->arena, "platform: %s", migration->name).ptr);
    return 0;
}

static int migrate_platform(struct migrator *m)
{
    struct db *tx;
    struct rows known;

    TRY(control_schema_create(m));
    int rc = db_begin_ddl(m->task, &m->servers->control, &tx);
    if (rc == 0)
        rc = db_set_timeout(m->task, tx, STATEMENT_TIMEOUT_MS);
    if (rc == 0)
        rc = db_query(m->task, tx, &lock_sql, NULL, 0, NULL);
    if (rc == 0)
        rc = db_query(m->task, tx, SQL_MIGRATE_RECORDED(), &known);
    if (rc != 0)
        return migrator_fail(m, rc, "control schema");
    rc = 0;
    for (const struct migration *it = m->platform; rc == 0 && it->number != 0; it++)
        rc = platform_apply(m, tx, &known, "platform", it, true);
    for (const struct migration *it = m->project; rc == 0 && it->number != 0; it++)
        rc = platform_apply(m, tx, &known, "project", it, false);
    if (rc != 0) {
        db_rollback(tx);
        return rc;
    }
    rc = db_commit(m->task, tx);
    return rc == 0 ? 0 : migrator_fail(m, rc, "control schema");
}

/* --- projects --- */

static int project_apply(struct migrator *m,
                         struct db *tx,
                         const struct rows *known,
                         const struct migration *migration,
                         struct str slug)
{
    for (size_t i = 0; i < known->count; i++) {
        const struct sql_migrate_project_recorded_row row =
            sql_migrate_project_recorded_row(known, i);
        int64_t number;
        if (num_parse_i64(row.key, &number) && number == migration->number)
            return str_is(row.sha256, migration->sha256) ? 0 : migrator_refuse(m, migration->name);
    }
    size_t count = migrate_calls(NULL, migration, NULL);
    struct db_call *calls = ARENA_ARRAY(m->task->arena, calls, count);
    (void)migrate_calls(m->task->arena, migration, calls);
    int rc = db_batch(m->task, tx, calls, count, NULL);
    if (rc != 0)
        return migrator_fail(m, rc, arena_cstr(m->task->arena, slug));
    m->say(arena_printf(m->task->arena, "project %.*s: %s", STR_ARG(slug), migration->name).ptr);
    return 0;
}

static int apply_project(struct migrator *m, struct db *db, struct str slug)
{
    struct db *tx;
    struct rows known;

    int rc = db_begin_ddl(m->task, db, &tx);
    if (rc == 0)
        rc = db_set_timeout(m->task, tx, STATEMENT_TIMEOUT_MS);
    if (rc == 0)
        rc = db_query(m->task, tx, SQL_MIGRATE_PROJECT_LOCK(), &known);
    if (rc == 0)
        rc = db_query(m->task, tx, SQL_MIGRATE_PROJECT_RECORDED(), &known);
    if (rc != 0)
        return migrator_fail(m, rc, arena_cstr(m->task->arena, slug));
    for (const struct migration *it = m->project; it->number != 0; it++) {
        rc = project_apply(m, tx, &known, it, slug);
        if (rc != 0) {
            db_rollback(tx);
            return rc;
        }
    }
    rc = db_commit(m->task, tx);
    return rc == 0 ? 0 : migrator_fail(m, rc, arena_cstr(m->task->arena, slug));
}

static int migrate_one(struct migrator *m, const struct sql_migrate_behind_row *row, int last)
{
    const char *name = arena_cstr(m->task->arena, row->slug);
    struct db db = {
        .server = servers_find(m->servers, row->server),
        .schema = row->number,
    };

    if (db.server == NULL) {
        m->reason = arena_printf(m->task->arena, "the server of project %s is unknown", name);
        return MIGRATE_FAILED;
    }
    TRY(apply_project(m, &db, row->slug));
    int rc = db_query(m->task,
                      &m->servers->control,
                      SQL_MIGRATE_PROJECT_DONE(.number = row->number, .migration = last),
                      NULL);
    return rc == 0 ? 0 : migrator_fail(m, rc, name);
}

static int migrate_projects(struct migrator *m)
{
    struct rows pending;
    int last = 0;

    for (const struct migration *it = m->project; it->number != 0; it++)
        last = it->number;
    int rc =
        db_query(m->task, &m->servers->control, SQL_MIGRATE_BEHIND(.migration = last), &pending);
    if (rc != 0)
        return migrator_fail(m, rc, "list of projects");
    for (size_t i = 0; i < pending.count; i++) {
        const struct sql_migrate_behind_row row = sql_migrate_behind_row(&pending, i);
        TRY(migrate_one(m, &row, last));
    }
    return 0;
}

int migrate_run(struct task *task,
                struct servers *servers,
                const struct migration *platform,
                const struct migration *project,
                void (*say)(const char *text),
                struct str *ret_reason)
{
    struct migrator m = {
        .task = task,
        .servers = servers,
        .platform = platform,
        .project = project,
        .say = say,
    };

    int rc = migrate_platform(&m);
    if (rc == 0)
        rc = migrate_projects(&m);
    if (rc != 0)
        *ret_reason = m.reason;
    return rc;
}
