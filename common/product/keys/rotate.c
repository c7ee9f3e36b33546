/*
 * A new data key for every project. First all projects get their key. Then sealed values are sealed
 * again in small batches, each only if it is still the value that was read. When a pass that began
 * after the last write with the old key finds nothing, the old key is retired. Wherever a run
 * stops, every value is sealed with a stored key.
 */
#include <stdlib.h>

#include "base/backoff.h"
#include "base/clock.h"
#include "base/codec.h"
#include "base/panic.h"
#include "data_key_sql.h"
#include "keys/rotate_private.h"
#include "keys/sealed_aad.h"
#include "log/log.h"
#include "model/model.h"

#define WINDOW     200 /* rows that a statement reads */
#define TRIES      6   /* tries of a statement that meets locks */
#define PASSES_MAX 20
#define KEY_BYTES  160

/* --- shared by both rotations --- */

int rotation_projects(struct task *task,
                      struct rotation *rotation,
                      struct rotation_project **ret_list,
                      size_t *ret_count)
{
    struct rows rows;

    TRY(db_query(task, &rotation->owners->servers->control, SQL_DATA_KEY_PROJECTS(), &rows));
    struct rotation_project *list = ARENA_ARRAY(task->arena, list, rows.count);
    for (size_t i = 0; i < rows.count; i++) {
        const struct sql_data_key_projects_row row = sql_data_key_projects_row(&rows, i);
        list[i] = (struct rotation_project){
            .db = {.server = servers_find(rotation->owners->servers, row.server),
                   .schema = row.number},
            .slug = row.slug,
        };
    }
    *ret_list = list;
    *ret_count = rows.count;
    return 0;
}

void rotation_count_failure(struct task *task,
                            struct rotation *rotation,
                            const struct rotation_project *project,
                            int rc)
{
    rotation->failed_count++;
    rotation->say(
        arena_printf(
            task->arena, "project %.*s: failed (%s)", STR_ARG(project->slug), result_name(rc))
            .ptr);
}

int rotation_end(struct task *task, const struct rotation *rotation, struct str *ret_reason)
{
    if (rotation->failed_count == 0)
        return 0;
    *ret_reason =
        arena_printf(task->arena, "%zu projects failed; run it again", rotation->failed_count);
    return DATA_KEYS_REMAIN;
}

int rotation_run_scoped(struct task *task, int (*fn)(struct task *task, void *arg), void *arg)
{
    struct arena *outer = task->arena;

    task->arena = arena_new(0);
    int rc = fn(task, arg);
    arena_free(task->arena);
    task->arena = outer;
    return rc;
}

/* --- sealed columns --- */

/* A column of sealed values. Its rows are read in the order of `key`, which is passed as text.
 * `aad_argument` is an SQL expression for the parameter `what` of aad(). */
struct sealed_column {
    const char *table, *sealed, *key;
    const char *type;         /* SQL type of the key */
    const char *first;        /* less than every key */
    const char *aad_argument; /* gives a text */
    struct str (*aad)(struct arena *arena, int64_t project, struct str what);
    int64_t entity_id, field_id; /* of secret fields, whose `aad` is NULL */
};

static int64_t rotate_number_of(struct str text)
{
    return strtoll(
        text.ptr, NULL, 10); /* NOLINT(cert-err34-c): digits from the database, NUL-terminated */
}

static struct str setting_aad(struct arena *arena, int64_t project, struct str what)
{
    struct str key = what;
    struct str kind = str_split(&key, ':');

    return aad_setting(arena, project, kind, key);
}

static struct str flow_aad(struct arena *arena, int64_t project, struct str what)
{
    struct str hash = STR_NONE;

    (void)codec_hex_decode(arena, what, &hash);
    return aad_flow(arena, project, hash);
}

static struct str successor_aad(struct arena *arena, int64_t project, struct str what)
{
    return aad_successor(arena, project, rotate_number_of(what));
}

static struct str integration_aad(struct arena *arena, int64_t project, struct str what)
{
    return aad_integration(arena, project, rotate_number_of(what));
}

static struct str connection_aad(struct arena *arena, int64_t project, struct str what)
{
    return aad_connection(arena, project, rotate_number_of(what));
}

static struct str connection_flow_aad(struct arena *arena, int64_t project, struct str what)
{
    struct str hash = STR_NONE;

    (void)codec_hex_decode(arena, what, &hash);
    return aad_connection_flow(arena, project, hash);
}

/* Columns that every project has. Columns of secret fields follow from the model. Kinds of settings
 * contain no colon. */
static const struct sealed_column columns[] = {
    {.table = "settings",
     .sealed = "sealed",
     .key = "id",
     .type = "bigint",
     .first = "0",
     .aad_argument = "t.kind || ':' || t.key",
     .aad = setting_aad},
    {.table = "secrets",
     .sealed = "sealed",
     .key = "name",
     .type = "text",
     .first = "",
     .aad_argument = "t.name",
     .aad = aad_secret},
    {.table = "refresh_tokens",
     .sealed = "successor",
     .key = "id",
     .type = "bigint",
     .first = "0",
     .aad_argument = "t.id::text",
     .aad = successor_aad},
    {.table = "auth_flows",
     .sealed = "sealed",
     .key = "state_hash",
     .type = "bytea",
     .first = "",
     .aad_argument = "encode(t.state_hash, 'hex')",
     .aad = flow_aad},
    {.table = "idempotency_keys",
     .sealed = "response",
     .key = "id",
     .type = "bigint",
     .first = "0",
     .aad_argument = "t.principal || ':' || t.key",
     .aad = aad_answer},
    {.table = "integrations",
     .sealed = "sealed",
     .key = "id",
     .type = "bigint",
     .first = "0",
     .aad_argument = "t.id::text",
     .aad = integration_aad},
    {.table = "connections",
     .sealed = "sealed",
     .key = "id",
     .type = "bigint",
     .first = "0",
     .aad_argument = "t.id::text",
     .aad = connection_aad},
    {.table = "connection_flows",
     .sealed = "sealed",
     .key = "state_hash",
     .type = "bytea",
     .first = "",
     .aad_argument = "encode(t.state_hash, 'hex')",
     .aad = connection_flow_aad},
};

/* --- one window of one column --- */

struct pass {
    struct rotation *rotation;
    struct rotation_project *project;
    struct key_ring ring;
    uint8_t newest[4]; /* id of the newest key, as sealed values contain it */
    size_t sealed, unreadable;
};

struct rotate_window {
    struct pass *pass;
    const struct sealed_column *column;
    char cursor[KEY_BYTES]; /* the last key that was read */
    size_t after_len;
    bool last;
};

static void window_set_cursor(struct rotate_window *window, struct str key)
{
    MUST(key.len <= sizeof(window->cursor));
    memcpy(window->cursor, key.ptr, key.len);
    window->after_len = key.len;
}

static struct sql statement_new(struct arena *arena, struct str text, enum sql_kind kind)
{
    return (struct sql){
        .name = "data_key.rotate",
        .text = arena_cstr(arena, text),
        .hash = str_hash(text),
        .kind = kind,
        .writes = kind == SQL_EXEC,
    };
}

/* Selects the rows of the window that are sealed with an older key, and the last row in any case.
 * Key ids are big-endian, so their bytes sort like their numbers. */
static struct sql select_window(struct arena *arena, const struct sealed_column *column)
{
    struct str text = arena_printf(
        arena,
        "select w.key, w.what, case when w.due then encode(w.sealed, 'hex') end as sealed from ("
        "select t.%s::text as key, %s as what, t.%s as sealed, "
        "coalesce(substring(t.%s from 2 for 4) < $2::bytea, false) as due, "
        "row_number() over (order by t.%s) as n, count(*) over () as count "
        "from (select * from {p}.%s s where s.%s > $1::%s order by s.%s limit %d) t) w "
        "where w.due or w.n = w.count order by w.n",
        column->key,
        column->aad_argument,
        column->sealed,
        column->sealed,
        column->key,
        column->table,
        column->key,
        column->type,
        column->key,
        WINDOW);
    return statement_new(arena, text, SQL_MANY);
}

static struct sql update_window(struct arena *arena, const struct sealed_column *column)
{
    struct str text =
        arena_printf(arena,
                     "update {p}.%s as t set %s = decode(n.fresh, 'hex') "
                     "from unnest($1::text[], $2::text[], $3::text[]) as n (key, old, fresh) "
                     "where t.%s = n.key::%s and t.%s = decode(n.old, 'hex')",
                     column->table,
                     column->sealed,
                     column->key,
                     column->type,
                     column->sealed);
    return statement_new(arena, text, SQL_EXEC);
}

/* Seals the value again with the newest key, in hex. Returns false when no key opens it. */
static bool value_reseal(struct arena *arena,
                         const struct rotate_window *window,
                         struct str what,
                         struct str hex,
                         struct str *ret_hex)
{
    const struct pass *pass = window->pass;
    const struct sealed_column *column = window->column;
    const struct key_ring *keys = &pass->ring;
    int64_t number = pass->project->db.schema;
    struct str place = column->aad ? column->aad(arena, number, what)
                                   : aad_field(arena, number, column->entity_id, column->field_id);
    struct str sealed;
    struct str plain;

    if (!codec_hex_decode(arena, hex, &sealed) ||
        aead_open(arena, keys->keys, keys->count, sealed, place, &plain) != 0)
        return false;
    struct str fresh = aead_seal(arena, &keys->keys[keys->count - 1], plain, place);
    explicit_bzero((char *)plain.ptr, plain.len);
    *ret_hex = codec_hex(arena, fresh);
    return true;
}

static bool is_temporary(int rc)
{
    return rc == DB_CONFLICT || rc == DB_LOCKED || rc == DB_TIMEOUT || rc == DB_UNAVAILABLE ||
           rc == DB_UNKNOWN;
}

/* Runs a statement up to TRIES times while its error is temporary. The statement may have taken
 * effect before an error (DB_UNKNOWN); to run the statement again is harmless. */
static int query_with_retry(struct task *task,
                            struct db *db,
                            const struct sql *sql,
                            const struct db_param *params,
                            size_t count,
                            struct rows *ret_rows)
{
    struct backoff pause = {.first_ms = 50, .most_ms = 400};

    for (;;) {
        int rc = db_query(task, db, sql, params, count, ret_rows);
        if (!is_temporary(rc) || pause.tries + 1 == TRIES)
            return rc;
        TRY(task_sleep(task, backoff_next(&pause)));
    }
}

static int rotate_window(struct task *task, void *arg)
{
    struct rotate_window *window = arg;
    struct pass *pass = window->pass;
    struct arena *arena = task->arena;
    const struct sealed_column *column = window->column;
    const struct sql select = select_window(arena, column);
    struct rows rows;

    TRY(query_with_retry(
        task,
        &pass->project->db,
        &select,
        PARAMS(P_STR(((struct str){window->cursor, window->after_len})),
               P_BYTES(((struct str){(const char *)pass->newest, sizeof(pass->newest)}))),
        &rows));
    window->last = rows.count == 0;
    if (rows.count == 0)
        return 0;
    struct str *keys = ARENA_ARRAY(arena, keys, rows.count * 3);
    struct str *old = keys + rows.count;
    struct str *fresh = old + rows.count;
    size_t count = 0;
    for (size_t i = 0; i < rows.count; i++) {
        keys[count] = rows_str(&rows, i, 0);
        old[count] = rows_str(&rows, i, 2);
        if (rows_null(&rows, i, 2))
            continue;
        if (value_reseal(arena, window, rows_str(&rows, i, 1), old[count], &fresh[count]))
            count++;
        else
            pass->unreadable++;
    }
    window_set_cursor(window, rows_str(&rows, rows.count - 1, 0));
    if (count == 0)
        return 0;
    const struct sql update = update_window(arena, column);
    struct rows done = {0};
    TRY(query_with_retry(task,
                         &pass->project->db,
                         &update,
                         PARAMS(P_STRS(keys, count), P_STRS(old, count), P_STRS(fresh, count)),
                         &done));
    /* Count the values found, not the rows changed: another pass must check values that other
     * processes changed at the same time. */
    pass->sealed += count;
    pass->rotation->say(arena_printf(arena,
                                     "project %.*s: %s.%s: %zu values sealed with the new key",
                                     STR_ARG(pass->project->slug),
                                     column->table,
                                     column->sealed,
                                     count)
                            .ptr);
    return 0;
}

static int rotate_column(struct task *task, struct pass *pass, const struct sealed_column *column)
{
    struct rotate_window window = {.pass = pass, .column = column};

    window_set_cursor(&window, str_from(column->first));
    while (!window.last)
        TRY(rotation_run_scoped(task, rotate_window, &window));
    return 0;
}

/* --- one project --- */

static int rotate_fields(struct task *task, struct pass *pass, const struct model *model)
{
    for (size_t e = 0; e < model->entity_count; e++) {
        const struct entity *entity = &model->entities[e];
        for (size_t f = 0; f < entity->field_count; f++) {
            const struct model_field *field = &entity->fields[f];
            const struct sealed_column column = {
                .table = arena_cstr(task->arena, entity->table),
                .sealed = arena_cstr(task->arena, field->column),
                .key = "id",
                .type = "bigint",
                .first = "0",
                .aad_argument = "t.id::text",
                .entity_id = entity->id,
                .field_id = field->id,
            };
            if (field->type == TYPE_SECRET)
                TRY(rotate_column(task, pass, &column));
        }
    }
    return 0;
}

static int rotate_pass(struct task *task, void *arg)
{
    struct pass *pass = arg;
    const struct master_keys *masters = pass->rotation->owners->masters;
    struct db *db = &pass->project->db;
    struct model *model;

    TRY(key_ring_load(task, masters, db, &pass->ring, NULL));
    uint32_t newest = pass->ring.keys[pass->ring.count - 1].id;
    for (int i = 0; i < 4; i++)
        pass->newest[i] = (uint8_t)(newest >> (24 - 8 * i));
    int rc = model_load(task, db, &model);
    if (rc == 0) {
        for (size_t i = 0; rc == 0 && i < ARRAY_LEN(columns); i++)
            rc = rotate_column(task, pass, &columns[i]);
        if (rc == 0)
            rc = rotate_fields(task, pass, model);
        model_unref(model);
    }
    key_ring_free(&pass->ring);
    return rc;
}

/* Runs one pass. DB_SCHEMA: a table or field was removed; the next pass reads the model again. */
static int pass_run_scoped(struct task *task, struct pass *pass)
{
    int rc = rotation_run_scoped(task, rotate_pass, pass);

    if (rc == 0 && pass->unreadable > 0)
        pass->rotation->say(
            arena_printf(
                task->arena,
                "project %.*s: %zu values cannot be opened with any key and are left unchanged",
                STR_ARG(pass->project->slug),
                pass->unreadable)
                .ptr);
    return rc;
}

/* Runs passes until one finds nothing. *ret_newest: id of the key that this pass used. */
static int rotate_until_clean(struct task *task,
                              struct rotation *rotation,
                              struct rotation_project *project,
                              int64_t *ret_newest)
{
    int rc = DB_TIMEOUT;

    for (int i = 0; i < PASSES_MAX; i++) {
        struct pass pass = {.rotation = rotation, .project = project};
        rc = pass_run_scoped(task, &pass);
        if (rc != 0 && rc != DB_SCHEMA)
            return rc;
        if (rc == 0 && pass.sealed == 0) {
            *ret_newest = (int64_t)pass.newest[0] << 24 | pass.newest[1] << 16 |
                          pass.newest[2] << 8 | pass.newest[3];
            return 0;
        }
        rc = DB_TIMEOUT;
    }
    return rc;
}

struct key_adding {
    const struct master_keys *masters;
    struct rotation_project *project;
    bool is_unfinished; /* an earlier rotation, which was stopped, has added the key */
};

AWAITS static int add_key_in(struct task *task, struct db *tx, void *arg)
{
    struct key_adding *adding = arg;
    struct key_ring keys;
    struct aead_key key;

    TRY(db_query(task, tx, SQL_DATA_KEYS_LOCK(), &(struct rows){0}));
    TRY(key_ring_load(task, adding->masters, tx, &keys, &adding->is_unfinished));
    uint32_t id = keys.keys[keys.count - 1].id + 1;
    key_ring_free(&keys);
    if (adding->is_unfinished)
        return 0;
    data_key_new(id, &key);
    struct str wrapped =
        data_key_wrap(task->arena, adding->masters, adding->project->db.schema, &key);
    aead_key_wipe(&key);
    return db_query(task, tx, SQL_DATA_KEY_ADD(.id = id, .wrapped = wrapped), NULL);
}

static int
add_key(struct task *task, const struct rotation *rotation, struct rotation_project *project)
{
    struct key_adding adding = {.masters = rotation->owners->masters, .project = project};
    struct key_ring keys;

    /* Stores the key that earlier releases derived, before the lock, in its own transaction. */
    TRY(key_ring_load(task, adding.masters, &project->db, &keys, NULL));
    key_ring_free(&keys);
    TRY(db_transact(task, &project->db, add_key_in, &adding));
    rotation->say(
        arena_printf(task->arena,
                     "project %.*s: %s",
                     STR_ARG(project->slug),
                     adding.is_unfinished ? "continues the interrupted rotation" : "has a new key")
            .ptr);
    return 0;
}

struct rotate_step {
    struct rotation *rotation;
    struct rotation_project *project;
};

/* Adds the new key and notifies the daemons. */
static int rotate_begin(struct task *task, void *arg)
{
    const struct rotate_step *step = arg;
    const struct rotation_targets *owners = step->rotation->owners;
    int64_t number = step->project->db.schema;
    struct rows rows;

    TRY(add_key(task, step->rotation, step->project));
    TRY(query_with_retry(
        task, &owners->servers->control, SQL_DATA_KEY_TOUCH(.number = number), &rows));
    if (rows.count > 0)
        owners->on_epoch_raised(owners->arg, number, sql_data_key_touch_row(&rows, 0).epoch);
    return 0;
}

static int rotate_first_pass(struct task *task, void *arg)
{
    const struct rotate_step *step = arg;
    struct pass pass = {.rotation = step->rotation, .project = step->project};
    int rc = pass_run_scoped(task, &pass);

    /* When tables changed during this pass, rotate_finish() seals the remaining values. */
    return rc == DB_SCHEMA ? 0 : rc;
}

static int rotate_finish(struct task *task, void *arg)
{
    const struct rotate_step *step = arg;
    int64_t newest;

    TRY(rotate_until_clean(task, step->rotation, step->project, &newest));
    TRY(query_with_retry(task, &step->project->db, SQL_DATA_KEYS_RETIRE(.id = newest), NULL));
    step->rotation->say(arena_printf(task->arena,
                                     "project %.*s: the old key is retired",
                                     STR_ARG(step->project->slug))
                            .ptr);
    return 0;
}

/* Runs a step for all projects. A project that fails is left out of later steps. */
static void for_each_project(struct task *task,
                             struct rotation *rotation,
                             struct rotation_project *list,
                             size_t count,
                             int (*fn)(struct task *task, void *arg))
{
    for (size_t i = 0; i < count; i++) {
        struct rotate_step step = {rotation, &list[i]};
        if (list[i].slug.len == 0)
            continue;
        int rc = list[i].db.server ? rotation_run_scoped(task, fn, &step) : DB_UNAVAILABLE;
        if (rc == 0)
            continue;
        rotation_count_failure(task, rotation, &list[i], rc);
        list[i].slug.len = 0;
    }
}

int keys_rotate(struct task *task,
                const struct rotation_targets *owners,
                int64_t settle_ms,
                void (*say)(const char *text),
                struct str *ret_reason)
{
    struct rotation rotation = {.owners = owners, .say = say};
    struct rotation_project *list;
    size_t count;

    int rc = rotation_projects(task, &rotation, &list, &count);
    if (rc != 0) {
        *ret_reason = STR("the list of projects cannot be read");
        return DATA_KEYS_REMAIN;
    }
    for_each_project(task, &rotation, list, count, rotate_begin);
    int64_t changed_ms = clock_mono_ms();
    for_each_project(task, &rotation, list, count, rotate_first_pass);
    int64_t wait_ms = changed_ms + settle_ms - clock_mono_ms();
    if (rotation.failed_count < count && wait_ms > 0)
        rc = task_sleep(task, wait_ms);
    if (rc != 0) {
        *ret_reason = STR("interrupted before the old keys were retired; run it again");
        return DATA_KEYS_REMAIN;
    }
    for_each_project(task, &rotation, list, count, rotate_finish);
    return rotation_end(task, &rotation, ret_reason);
}
