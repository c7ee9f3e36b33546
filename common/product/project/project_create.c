/*
 * Creation and deletion of projects. Both run as a singleflight, so that a caller that disconnects
 * does not leave half of a project. If the process dies, the next attempt takes over a
 * creation (after 30 s), and the sweep finishes a deletion.
 */
#include "base/clock.h"
#include "base/codec.h"
#include "base/email.h"
#include "base/rand.h"
#include "crypto/ec.h"
#include "data_key_sql.h"
#include "json/jw.h"
#include "keys/sealed_aad.h"
#include "log/log.h"
#include "migrations/grants.h"
#include "migrations/migrate.h"
#include "project/project_private.h"
#include "project_create_sql.h"

#define CREATE_MS     30000
#define DELETE_MS     180000
#define PARTITIONS    16
#define KID_BYTES     8
#define SEEDS         7
#define FIRST_KEY     1
#define KEY_DOC_BYTES 1024
#define DDL_MS        60000
#define PAUSE_MS      250

/* Maps a negative result of a singleflight's own task to DB_UNAVAILABLE: the result says nothing
 * about the caller's deadline. */
static int own_result(int rc)
{
    return rc < 0 ? DB_UNAVAILABLE : rc;
}

/* Statements of one transaction that may wait for locks of other transactions: create or drop a
 * schema. */
struct schema_work {
    struct db_call *calls;
    size_t count;
    int64_t limit_ms;
};

AWAITS static int schema_work_run(struct task *task, struct db *tx, void *arg)
{
    const struct schema_work *work = arg;

    db_discard_conn(tx);
    TRY(db_set_timeout(task, tx, work->limit_ms));
    return db_batch_commit(task, tx, work->calls, work->count, NULL);
}

/* --- create --- */

struct create_work {
    struct directory *directory;
    struct project_create in;
    struct db db; /* schema of the new project */
};

/* co: inserts the control row in state creating, or takes over the row of an attempt that died. */
static int project_claim(struct task *task, struct create_work *create)
{
    struct db *control = &create->directory->control;
    struct rows rows;
    bool again = false;

    int rc = db_query(task,
                      control,
                      SQL_CREATE_CLAIM(.slug = create->in.slug,
                                       .name = create->in.name,
                                       .partition = (int64_t)(rand_u64() % PARTITIONS)),
                      &rows);
    if (rc == 0 && rows.count == 0) {
        again = true;
        rc = db_query(task,
                      control,
                      SQL_CREATE_RECLAIM(.slug = create->in.slug, .name = create->in.name),
                      &rows);
    }
    if (rc != 0)
        return own_result(rc);
    if (rows.count == 0)
        return PROJECT_EXISTS;
    create->db = (struct db){
        .server = directory_server(create->directory, STR("main")),
        .schema = sql_create_row(&rows, 0).number,
    };
    return again ? own_result(project_drop_schema(task, &create->db)) : 0;
}

static struct db_call seed_permissions(struct arena *arena)
{
    struct str *names = ARENA_ARRAY(arena, names, PERM_COUNT);
    size_t count = 0;

    for (int perm = PERM_NONE + 1; perm < PERM_COUNT; perm++)
        if (perm_info((enum perm)perm)->holder == PERM_STANDARD)
            names[count++] = str_from(perm_info((enum perm)perm)->name);
    return db_call_new(arena, SQL_SEED_PERMISSIONS(.permissions = sql_strs(names, count)));
}

/* The first key for access tokens. Its private part is sealed, bound to the row that stores it. */
static struct db_call seed_signing_key(struct arena *arena,
                                       const struct create_work *create,
                                       const struct aead_key *data_key)
{
    struct ec_key *key = ec_key_generate();
    uint8_t kid_bytes[KID_BYTES];
    struct strbuf doc;
    struct jw w;
    struct str x;
    struct str y;

    arena_defer(arena, ec_key_free_deferred, key);
    rand_bytes(kid_bytes, sizeof(kid_bytes));
    struct str kid = codec_hex(arena, (struct str){(const char *)kid_bytes, sizeof(kid_bytes)});
    ec_key_jwk(arena, key, &x, &y);
    strbuf_init(&doc, arena, KEY_DOC_BYTES);
    jw_init(&w, &doc);
    jw_obj(&w);
    JW_CSTR(&w, "alg", "ES256");
    JW_STR(&w, "x", x);
    JW_STR(&w, "y", y);
    JW_BOOL(&w, "active", true);
    jw_lit(&w, "created_at");
    jw_time(&w, clock_wall_ms());
    jw_obj_end(&w);

    struct str place = aad_setting(arena, create->db.schema, STR("signing_key"), kid);
    struct str sealed = aead_seal(arena, data_key, ec_key_to_pkcs8(arena, key), place);
    return db_call_new(
        arena, SQL_SEED_SIGNING_KEY(.key = kid, .doc = strbuf_view(&doc), .sealed = sealed));
}

/* The project's first data key, and the signing key that it seals. */
static void seed_keys(struct arena *arena, const struct create_work *create, struct db_call *calls)
{
    struct aead_key data_key;

    data_key_new(FIRST_KEY, &data_key);
    struct str wrapped =
        data_key_wrap(arena, &create->directory->masters, create->db.schema, &data_key);
    calls[0] = db_call_new(arena, SQL_DATA_KEY_ADD(.id = FIRST_KEY, .wrapped = wrapped));
    calls[1] = seed_signing_key(arena, create, &data_key);
    aead_key_wipe(&data_key);
}

/* co: creates schema, tables and seeds in one transaction. These are hundreds of statements, which
 * take a busy server some time. *ret_last is the number of the last migration. */
static int schema_build(struct task *task, struct create_work *create, int *ret_last)
{
    static const struct sql schema_sql = {
        .name = "create.schema",
        .text = "create schema {p}",
        .kind = SQL_EXEC,
        .writes = true,
        .no_prepare = true,
    };
    struct arena *arena = task->arena;
    size_t count = 1 + GRANTS_CALLS_MAX;

    for (const struct migration *it = migrate_project_list; it->number != 0; it++)
        count += migrate_calls(arena, it, NULL);
    struct db_call *calls = ARENA_ARRAY(arena, calls, count + SEEDS);
    calls[0] = (struct db_call){.sql = &schema_sql};
    TRY(grants_calls(task, &create->db, "{p}", &calls[1], &count));
    count++;
    for (const struct migration *it = migrate_project_list; it->number != 0; it++) {
        count += migrate_calls(arena, it, &calls[count]);
        *ret_last = it->number;
    }
    struct str email = email_canonical(arena, create->in.admin_email);
    calls[count++] = db_call(SQL_SEED_ROLES());
    calls[count++] = seed_permissions(arena);
    calls[count++] = db_call(SQL_SEED_SETTINGS());
    seed_keys(arena, create, &calls[count]);
    count += 2;
    calls[count++] = db_call_new(
        arena, SQL_SEED_ADMIN(.email = email, .password_hash = create->in.admin_password_hash));
    calls[count++] = db_call_new(arena, SQL_SEED_ADMIN_ROLE(.email = email));
    struct schema_work work = {calls, count, CREATE_MS};
    return db_transact_ddl(task, &create->db, schema_work_run, &work);
}

static bool create_is_retryable(int rc)
{
    return rc == DB_UNAVAILABLE || rc == DB_UNKNOWN || rc == DB_TIMEOUT || rc == DB_BUSY;
}

/* co: marks the finished project as active, and retries while the attempt lasts. If the outcome of
 * one try is unknown, a later failure must not be reported as certain. */
static int create_done(struct task *task, struct create_work *create, int last)
{
    struct db *control = &create->directory->control;
    bool unknown = false;
    int rc;

    do {
        rc = db_query(
            task, control, SQL_CREATE_DONE(.number = create->db.schema, .migration = last), NULL);
        unknown = unknown || rc == DB_UNKNOWN;
    } while (create_is_retryable(rc) && task_sleep(task, PAUSE_MS) == 0);
    return rc != 0 && unknown ? DB_UNKNOWN : rc;
}

static int project_create_run(struct task *task, void *arg)
{
    struct create_work *create = arg;
    struct db *control = &create->directory->control;
    const int64_t *number = &create->db.schema;
    int last = 0;

    TRY(project_claim(task, create));
    int rc = schema_build(task, create, &last);
    if (rc == 0)
        rc = create_done(task, create, last);
    if (rc == 0) {
        directory_missing_clear(create->directory, create->in.slug);
        epoch_publish(create->directory, *number, EPOCH_FIRST);
        return 0;
    }
    log_warn("project.create_failed", L_STR("project", create->in.slug), L_RESULT("rc", rc));
    /* Remove all traces if possible; otherwise the row stays in state creating for the next
     * attempt. If the transaction may have committed, keep everything: the project may be active
     * already. */
    if (rc > 0 && rc != DB_UNKNOWN && project_drop_schema(task, &create->db) == 0 &&
        db_query(task, control, SQL_CREATE_UNDO(.number = *number), NULL) != 0)
        log_warn("project.create_left_over", L_STR("project", create->in.slug));
    return own_result(rc);
}

int project_create(struct task *task,
                   struct directory *directory,
                   const struct project_create *in,
                   struct project **ret_project)
{
    struct singleflight *singleflight = singleflight_new(directory, CREATE_MS);
    struct arena *arena = singleflight->task.arena;
    struct create_work *create = ARENA_NEW(arena, create);

    create->directory = directory;
    create->in = (struct project_create){
        .slug = arena_dup(arena, in->slug),
        .name = arena_dup(arena, in->name),
        .admin_email = arena_dup(arena, in->admin_email),
        .admin_password_hash = arena_dup(arena, in->admin_password_hash),
    };
    singleflight_run(singleflight, project_create_run, NULL, create);
    int rc = singleflight_join(task, singleflight);
    if (rc == 0)
        do
            rc = project_find(task, directory, in->slug, ret_project);
        while (rc == PROJECT_UNAVAILABLE && task_sleep(task, PAUSE_MS) == 0);
    return rc == PROJECT_UNAVAILABLE || rc == PROJECT_NOT_FOUND ? DB_UNAVAILABLE : rc;
}

/* --- delete --- */

/* co: runs DDL that may wait for statements under way, in a transaction of its own. */
static int run_ddl(struct task *task, struct db *db, struct str text)
{
    const struct sql sql = {
        .name = "delete.drop",
        .text = arena_cstr(task->arena, text),
        .hash = str_hash(text),
        .kind = SQL_EXEC,
        .writes = true,
        .no_prepare = true,
    };
    struct db_call call = {.sql = &sql};
    struct schema_work work = {&call, 1, DDL_MS};

    return db_transact_ddl(task, db, schema_work_run, &work);
}

/* Every dropped table holds locks until its transaction ends, and the server's lock table is
 * bounded. Therefore drop entity tables fifty at a time, then the schema. */
int project_drop_schema(struct task *task, struct db *db)
{
    struct str schema = arena_printf(task->arena, "p_%lld", (long long)db->schema);
    struct rows tables;

    for (;;) {
        struct strbuf text;

        TRY(db_query(task, db, SQL_DELETE_TABLES(.schema = schema), &tables));
        if (tables.count == 0)
            break;
        strbuf_init(&text, task->arena, 1U << 16U);
        for (size_t i = 0; i < tables.count; i++)
            strbuf_printf(&text,
                          "%s{p}.%.*s",
                          i == 0 ? "drop table if exists " : ", ",
                          STR_ARG(sql_delete_tables_row(&tables, i).name));
        strbuf_cstr(&text, " cascade");
        TRY(run_ddl(task, db, strbuf_view(&text)));
    }
    return run_ddl(task, db, STR("drop schema if exists {p} cascade"));
}

static int finish_delete(struct task *task, struct directory *directory, struct db *db)
{
    TRY(project_drop_schema(task, db));
    return db_query(task, &directory->control, SQL_DELETE_DONE(.number = db->schema), NULL);
}

static int project_delete_run(struct task *task, void *arg)
{
    struct project *project = arg;
    struct directory *directory = project->cache->directory;
    struct rows rows;

    int rc =
        db_query(task, &directory->control, SQL_DELETE_BEGIN(.number = project->number), &rows);
    if (rc != 0)
        return own_result(rc);
    directory_remove(directory, project);
    if (rows.count == 0)
        return PROJECT_NOT_FOUND;
    epoch_publish(directory, project->number, sql_delete_begin_row(&rows, 0).epoch);
    rc = finish_delete(task, directory, &project->db);
    if (rc != 0)
        log_warn("project.delete_later", L_STR("project", project->slug), L_RESULT("rc", rc));
    return own_result(rc);
}

static void delete_end(void *arg)
{
    project_unref(arg);
}

int project_delete(struct task *task, struct directory *directory, struct project *project)
{
    struct singleflight *singleflight = singleflight_new(directory, DELETE_MS);

    singleflight_run(singleflight, project_delete_run, delete_end, project_ref(project));
    int rc = singleflight_join(task, singleflight);
    return rc == PROJECT_UNAVAILABLE ? DB_UNAVAILABLE : rc;
}

void directory_sweep(struct task *task, struct directory *directory)
{
    struct rows rows;

    if (db_query(task, &directory->control, SQL_DELETE_CLAIM(), &rows) != 0)
        return; /* the next sweep tries again */
    for (size_t i = 0; i < rows.count; i++) {
        const struct sql_delete_claim_row row = sql_delete_claim_row(&rows, i);
        struct db db = {
            .server = directory_server(directory, row.server),
            .schema = row.number,
        };
        if (db.server == NULL)
            continue;
        int rc = finish_delete(task, directory, &db);
        log_info("project.delete_resumed", L_I64("number", db.schema), L_RESULT("rc", rc));
    }
}
