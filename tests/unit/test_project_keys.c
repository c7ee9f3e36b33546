/* Data keys are adopted, loaded, rotated and wrapped again, and the process is killed at every
 * step. */
#include <unistd.h>

#include "base/codec.h"
#include "keys/data_key.h"
#include "project_test.h"
#define UNIT_OWN_MAIN
#include "unit.h"

#define RECORDS 450 /* more than two batches */
#define FIELD   "f_40"

static const char *program;

static const struct aead_key master_a = {.bytes = {1, 2, 3}};
static const struct aead_key master_b = {.bytes = {9, 8, 7}};

static struct directory *
open_directory(const char *dsn, const struct aead_key *master, const struct aead_key *old)
{
    struct directory_config config = {
        .control_dsn = dsn,
        .db = {PATIENT, .dsn = dsn, .read_connections = 2, .write_connections = 4},
        .master_key = *master,
        .old_master_keys = old,
        .old_master_key_count = old != NULL,
    };

    return directory_new(&config);
}

/* Deletes all projects, so that each test finds only its own. */
static void fresh(struct task *task, struct directory *directory)
{
    exec(task, directory_control(directory), "delete from platform.projects");
}

/* --- all values that a project seals --- */

static struct str
sealed_text(struct task *task, const struct aead_key *key, struct str plain, struct str place)
{
    return codec_hex(task->arena, aead_seal(task->arena, key, plain, place));
}

/* Adds a value to each sealed column. The plain text of a value is its place (sealed_aad.h). */
static void add_values(struct task *task, struct project *project, const struct aead_key *key)
{
    struct arena *arena = task->arena;
    int64_t n = project->number;
    struct str place;
#define ADD(format, at)                                                                            \
    do {                                                                                           \
        place = at;                                                                                \
        exec(task,                                                                                 \
             &project->db,                                                                         \
             arena_printf(arena, format, STR_ARG(sealed_text(task, key, place, place))).ptr);      \
    } while (0)
    ADD("update {p}.settings set sealed = '\\x%.*s' where kind = 'setting' and key = 'project'",
        aad_setting(arena, n, STR("setting"), STR("project")));
    ADD("insert into {p}.settings (kind, key, sealed) values ('mail', 'a:b', '\\x%.*s')",
        aad_setting(arena, n, STR("mail"), STR("a:b")));
    ADD("insert into {p}.secrets (name, sealed) values ('TOKEN', '\\x%.*s')",
        aad_secret(arena, n, STR("TOKEN")));
    exec(task,
         &project->db,
         "insert into {p}.sessions (id, user_id, expires_at) values (77, 1, now() + interval '1 "
         "day')");
    ADD("insert into {p}.refresh_tokens (id, session_id, hash, successor) values (5, 77, '\\x01', "
        "'\\x%.*s')",
        aad_successor(arena, n, 5));
    exec(task,
         &project->db,
         "insert into {p}.refresh_tokens (session_id, hash) values (77, '\\x02')");
    ADD("insert into {p}.auth_flows (state_hash, doc, sealed, expires_at) values ('\\x00ff', '{}', "
        "'\\x%.*s', now())",
        aad_flow(arena, n, ((struct str){"\0\xff", 2})));
    ADD("insert into {p}.idempotency_keys (principal, key, request_hash, locked_until, response) "
        "values "
        "('user:1', 'a:b c', '\\x00', now(), '\\x%.*s')",
        aad_answer(arena, n, STR("user:1:a:b c")));
    ADD("insert into {p}.integrations (id, name, base_url, auth, sealed) values (3, 'a', 'x', "
        "'{}', "
        "'\\x%.*s')",
        aad_integration(arena, n, 3));
    ADD("insert into {p}.connections (id, integration_id, name, scheme, status, base_bound, "
        "sealed) "
        "values (4, 3, 'a', 'bearer', 'active', 'x', '\\x%.*s')",
        aad_connection(arena, n, 4));
    ADD("insert into {p}.connection_flows (state_hash, connection_id, version, user_id, "
        "redirect_to, bound, "
        "expires_at, sealed) values ('\\x00fe', 4, 1, 1, 'x', 'x', now(), '\\x%.*s')",
        aad_connection_flow(arena, n, ((struct str){"\0\xfe", 2})));
    exec(task, &project->db, "insert into {p}.entities (id, name) values (8, 'keys')");
    exec(task,
         &project->db,
         "insert into {p}.fields (id, entity_id, name, type) values (40, 8, 'code', 'secret')");
    exec(task, &project->db, "create table {p}.e_8 (id bigint primary key, " FIELD " bytea)");
    exec(task, &project->db, "update {p}.meta set model_version = model_version + 1");
    ADD("insert into {p}.e_8 select i, '\\x%.*s' from generate_series(1, "
        "450"
        ") i",
        aad_field(arena, n, 8, 40));
    exec(task, &project->db, "update {p}.e_8 set " FIELD " = null where id % 10 = 0");
#undef ADD
}

/* Every sealed value, with the text from which place_of() makes its place; VALUES rows. */
static const char all_values[] =
    "select 's:' || kind || ':' || key as what, sealed from {p}.settings where sealed is not null "
    "union all select 'n:' || name, sealed from {p}.secrets "
    "union all select 't:' || id, successor from {p}.refresh_tokens where successor is not null "
    "union all select 'f:' || encode(state_hash, 'hex'), sealed from {p}.auth_flows "
    "union all select 'a:' || id, sealed from {p}.integrations "
    "union all select 'c:' || id, sealed from {p}.connections "
    "union all select 'g:' || encode(state_hash, 'hex'), sealed from {p}.connection_flows "
    "union all select 'i:' || principal || ':' || key, response from {p}.idempotency_keys "
    "union all select 'r:' || id, " FIELD " from {p}.e_8 where " FIELD " is not null";
#define VALUES (1 + 9 + RECORDS - RECORDS / 10)

static struct str place_of(struct arena *arena, int64_t n, struct str what)
{
    struct str rest = what;
    struct str sort = str_split(&rest, ':');
    struct str bytes;

    switch (sort.ptr[0]) {
    case 's': {
        struct str kind = str_split(&rest, ':');
        return aad_setting(arena, n, kind, rest);
    }
    case 'n':
        return aad_secret(arena, n, rest);
    case 't':
        return aad_successor(arena, n, strtoll(rest.ptr, NULL, 10));
    case 'f':
        assert_true(codec_hex_decode(arena, rest, &bytes));
        return aad_flow(arena, n, bytes);
    case 'a':
        return aad_integration(arena, n, strtoll(rest.ptr, NULL, 10));
    case 'c':
        return aad_connection(arena, n, strtoll(rest.ptr, NULL, 10));
    case 'g':
        assert_true(codec_hex_decode(arena, rest, &bytes));
        return aad_connection_flow(arena, n, bytes);
    case 'i':
        return aad_answer(arena, n, rest);
    default:
        return aad_field(arena, n, 8, 40);
    }
}

/* Checks that the stored keys open every sealed value. *ret_oldest: the smallest key id in use. */
static void all_readable(struct task *task,
                         struct directory *directory,
                         struct project *project,
                         uint32_t *ret_oldest)
{
    struct sql sql = make_sql(all_values, SQL_MANY);
    struct arena *arena = task->arena;
    struct key_ring ring;
    struct rows rows;
    struct str plain;
    uint32_t oldest = UINT32_MAX;

    assert_int_equal(db_query(task, &project->db, &sql, NULL, 0, &rows), 0);
    assert_int_equal(rows.count, VALUES);
    assert_int_equal(key_ring_load(task, &directory->masters, &project->db, &ring, NULL), 0);
    for (size_t i = 0; i < rows.count; i++) {
        struct str what = rows_str(&rows, i, 0);
        struct str place = place_of(arena, project->number, what);
        struct str sealed = rows_bytes(arena, &rows, i, 1);
        uint32_t id;
        assert_int_equal(aead_key_id(sealed, &id), 0);
        oldest = id < oldest ? id : oldest;
        if (aead_open(arena, ring.keys, ring.count, sealed, place, &plain) != 0)
            fail_msg("%.*s does not open (key %u)", STR_ARG(what), id);
        if (!str_starts(what, STR("s:signing_key")))
            assert_true(str_eq(plain, place));
    }
    key_ring_free(&ring);
    if (ret_oldest)
        *ret_oldest = oldest;
}

static int64_t keys(struct task *task, struct project *project, const char *where)
{
    return number(
        task,
        &project->db,
        arena_printf(task->arena, "select count(*) from {p}.data_keys where %s", where).ptr);
}

/* --- tests --- */

TEST(places_stay)
{
    struct arena *arena = arena_new(0);

    assert_true(str_is(aad_setting(arena, 3, STR("setting"), STR("project")),
                       "p3:settings:oidc_client_secret"));
    assert_true(
        str_is(aad_setting(arena, 3, STR("signing_key"), STR("ab12")), "p3:signing_key:ab12"));
    assert_true(str_is(aad_setting(arena, 3, STR("mail"), STR("x")), "p3:settings:mail:x"));
    assert_true(str_is(aad_secret(arena, 3, STR("N")), "p3:secrets:N"));
    assert_true(str_is(aad_flow(arena, 3, STR("\x01\xfe")), "p3:auth_flows:01fe"));
    assert_true(str_is(aad_successor(arena, 3, 9), "p3:refresh_tokens:9:successor"));
    assert_true(str_is(aad_answer(arena, 3, STR("key:9:a")), "p3:idempotency_keys:key:9:a"));
    assert_true(str_is(aad_field(arena, 3, 7, 9), "p3:e7:f9"));
    assert_true(str_is(aad_integration(arena, 3, 7), "p3:integrations:7"));
    assert_true(str_is(aad_connection(arena, 3, 7), "p3:connections:7"));
    assert_true(str_is(aad_connection_flow(arena, 3, STR("\x01\xfe")), "p3:connection_flows:01fe"));
    arena_free(arena);
}

/* Turns the project into one of an earlier release: values sealed with the derived key, and no
 * stored data key. */
static void make_legacy(struct task *task, struct project *project)
{
    struct sql sql =
        make_sql("select key, sealed from {p}.settings where kind = 'signing_key'", SQL_ONE);
    struct arena *arena = task->arena;
    struct aead_key derived;
    struct rows rows;
    struct str plain;

    aead_derive(
        &master_a, arena_printf(arena, "project:%lld", (long long)project->number), &derived);
    derived.id = 0;
    assert_int_equal(db_query(task, &project->db, &sql, NULL, 0, &rows), 0);
    struct str place =
        aad_setting(arena, project->number, STR("signing_key"), rows_str(&rows, 0, 0));
    assert_int_equal(aead_open(arena,
                               project->data_keys,
                               project->data_key_count,
                               rows_bytes(arena, &rows, 0, 1),
                               place,
                               &plain),
                     0);
    struct str again = codec_hex(arena, aead_seal(arena, &derived, plain, place));
    exec(task,
         &project->db,
         arena_printf(arena,
                      "update {p}.settings set sealed = '\\x%.*s' where kind = 'signing_key'",
                      STR_ARG(again))
             .ptr);
    add_values(task, project, &derived);
    exec(task, &project->db, "delete from {p}.data_keys");
}

struct finder {
    struct directory *directory;
    struct project *project;
};

static int find_old(struct task *task, void *arg)
{
    struct finder *finder = arg;
    return project_find(task, finder->directory, STR("old"), &finder->project);
}

static void adopted(struct task *task, struct directory *one, struct directory *two)
{
    fresh(task, one);
    struct project *project = create(task, one, "old");
    struct directory *stranger = open_directory(pg_dsn(), &master_b, NULL);
    struct directory *changed = open_directory(pg_dsn(), &master_b, &master_a);
    struct directory *third = open_directory(pg_dsn(), &master_a, NULL);
    struct finder finders[] = {{two, NULL}, {third, NULL}};
    struct task_call calls[] = {{find_old, &finders[0], 0}, {find_old, &finders[1], 0}};
    struct project *found;

    make_legacy(task, project);
    /* A daemon with the wrong master key neither serves the project nor stores a key. */
    assert_int_equal(project_find(task, stranger, STR("old"), &found), PROJECT_UNAVAILABLE);
    assert_int_equal(keys(task, project, "true"), 0);
    /* Two processes that load the project concurrently adopt the same key. */
    assert_int_equal(task_all(task, calls, 2), 0);
    assert_int_equal(keys(task, project, "id = 0"), 1);
    assert_int_equal(keys(task, project, "true"), 1);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(finders[i].project->data_key.id, 0);
        assert_int_equal(finders[i].project->settings.oidc_client_secret.len > 0, 1);
    }
    all_readable(task, two, project, NULL);
    /* With a new master key, the old master key still yields the key to adopt. */
    exec(task, &project->db, "delete from {p}.data_keys");
    assert_int_equal(project_find(task, changed, STR("old"), &found), 0);
    all_readable(task, changed, project, NULL);
    assert_int_equal(project_find(task, stranger, STR("old"), &found),
                     0); /* wrapped with its master key now */
    arena_reset(task->arena);
    directory_free(stranger);
    directory_free(changed);
    directory_free(third);
}

TEST(adoption)
{
    run(adopted);
}

/* C1: A sealed value opens only in its own place. */
static void moved(struct task *task, struct directory *one, struct directory *two)
{
    fresh(task, one);
    struct project *a = create(task, one, "place-a");
    struct project *b = create(task, one, "place-b");
    struct arena *arena = task->arena;
    struct str place = aad_secret(arena, a->number, STR("N"));
    struct str sealed = aead_seal(arena, &a->data_key, STR("value"), place);
    struct str plain;
    (void)two;

    assert_int_equal(data_key_open(task, a, sealed, place, &plain), 0);
    assert_true(str_is(plain, "value"));
    assert_int_equal(data_key_open(task, a, sealed, aad_secret(arena, a->number, STR("M")), &plain),
                     AEAD_BAD);
    assert_int_equal(data_key_open(task, a, sealed, aad_field(arena, a->number, 1, 1), &plain),
                     AEAD_BAD);
    assert_int_equal(data_key_open(task, b, sealed, place, &plain), AEAD_BAD);
    assert_int_equal(data_key_open(task, a, STR("short"), place, &plain), AEAD_BAD);
    for (size_t i = 0; i < sealed.len; i++) {
        struct str changed = arena_dup(arena, sealed);
        ((char *)changed.ptr)[i] ^= 4;
        assert_int_equal(data_key_open(task, a, changed, place, &plain), AEAD_BAD);
    }
    /* A wrapped key opens only in its own place, too. */
    exec(task,
         &a->db,
         arena_printf(
             arena,
             "update {p}.data_keys set wrapped = (select k.wrapped from p_%lld.data_keys k)",
             (long long)b->number)
             .ptr);
    struct project *found;
    assert_int_equal(project_find(task, two, STR("place-a"), &found), PROJECT_UNAVAILABLE);
}

TEST(places_count)
{
    run(moved);
}

static size_t lines;
static void count_lines(const char *text)
{
    (void)text;
    lines++;
}

static void rotated(struct task *task, struct directory *one, struct directory *two)
{
    fresh(task, one);
    struct project *project = create(task, one, "turn");
    struct project *other;
    struct str reason = STR_NONE;
    struct str plain;
    uint32_t oldest;

    add_values(task, project, &project->data_key);
    assert_int_equal(project->data_key.id, 1);
    assert_int_equal(data_keys_rotate(task, two, 0, count_lines, &reason), 0);
    all_readable(task, two, project, &oldest);
    assert_int_equal(oldest, 2);
    assert_int_equal(keys(task, project, "retired_at is not null and id = 1"), 1);
    assert_int_equal(keys(task, project, "retired_at is null and id = 2"), 1);
    assert_int_equal(
        number(task, &project->db, "select count(*) from {p}.e_8 where " FIELD " is null"),
        RECORDS / 10);
    /* `one` opens a value that is sealed with a key that `one` has not loaded yet. */
    assert_int_equal(project_find(task, two, STR("turn"), &other), 0);
    assert_int_equal(other->data_key.id, 2);
    struct str place = aad_secret(task->arena, project->number, STR("X"));
    struct str sealed = aead_seal(task->arena, &other->data_key, STR("news"), place);
    assert_int_equal(data_key_open(task, project, sealed, place, &plain), 0);
    assert_true(str_is(plain, "news"));
    assert_int_equal(project->data_key.id, 2);
    /* A second rotation leaves a value that cannot be opened as it is. */
    exec(task,
         &project->db,
         "update {p}.secrets set sealed = set_byte(sealed, 25, 1 - get_byte(sealed, 25) % 2)");
    lines = 0;
    assert_int_equal(data_keys_rotate(task, two, 0, count_lines, &reason), 0);
    assert_true(lines > 5);
    assert_int_equal(keys(task, project, "id = 3 and retired_at is null"), 1);
}

TEST(rotation)
{
    run(rotated);
}

/* --- rotation concurrently with writers --- */

struct writer {
    struct project *project;
    bool stop;
    unsigned rounds;
};

static int write_on(struct task *task, void *arg)
{
    struct writer *writer = arg;
    struct project *project = writer->project;

    while (!writer->stop) {
        unsigned id = writer->rounds++ % RECORDS + 1;
        struct str place = aad_field(task->arena, project->number, 8, 40);
        struct str sealed = sealed_text(task, &project->data_key, place, place);
        TRY(task_sleep(task, 1)); /* time for a rotation between sealing and writing */
        if (id % 10 != 0)
            exec(task,
                 &project->db,
                 arena_printf(task->arena,
                              "update {p}.e_8 set " FIELD " = '\\x%.*s' where id = %u",
                              STR_ARG(sealed),
                              id)
                     .ptr);
    }
    return 0;
}

struct rotator {
    struct directory *directory;
    struct writer *writer;
};

static int rotate_beside(struct task *task, void *arg)
{
    struct rotator *rotator = arg;
    struct str reason = STR_NONE;

    /* Without Redis, writers load a new key within a second. */
    int rc = data_keys_rotate(task, rotator->directory, 2500, say_nothing, &reason);
    rotator->writer->stop = true;
    return rc;
}

static void beside(struct task *task, struct directory *one, struct directory *two)
{
    fresh(task, one);
    struct writer writer = {.project = create(task, one, "busy")};
    struct rotator rotator = {two, &writer};
    struct task_call calls[] = {{write_on, &writer, 0}, {rotate_beside, &rotator, 0}};
    uint32_t oldest;

    add_values(task, writer.project, &writer.project->data_key);
    assert_int_equal(task_all(task, calls, 2), 0);
    all_readable(task, two, writer.project, &oldest);
    assert_int_equal(oldest, 2);
    assert_int_equal(writer.project->data_key.id, 2);
    assert_true(writer.rounds > 100);
}

TEST(rotation_beside_writers)
{
    run(beside);
}

/* --- killed at every step --- */

static size_t kill_at;

static void say_and_die(const char *text)
{
    (void)text;
    if (++lines == kill_at)
        (void)raise(SIGKILL);
}

struct child {
    struct directory *directory;
    bool rewrap;
    int rc;
};

static void run_child(struct task *task, void *arg)
{
    struct child *child = arg;
    struct str reason = STR_NONE;

    child->rc = child->rewrap ? data_keys_rewrap(task, child->directory, say_and_die, &reason)
                              : data_keys_rotate(task, child->directory, 0, say_and_die, &reason);
    directory_free(child->directory);
    loop_stop();
}

/* --child rotate|rewrap LINE DSN: the child process kills itself when it logs its LINEth line. */
static int child_main(char **argv)
{
    struct task task = {.arena = arena_new(0)};
    struct child child = {.rewrap = strcmp(argv[2], "rewrap") == 0};

    kill_at = strtoul(argv[3], NULL, 10);
    loop_init();
    child.directory = open_directory(
        argv[4], child.rewrap ? &master_b : &master_a, child.rewrap ? &master_a : &master_b);
    task_start(&task, run_child, &child);
    loop_run();
    arena_free(task.arena);
    return child.rc;
}

/* Runs a child process and returns its exit code, or -1 when it was killed. delay_us: when to
 * kill the child from outside; 0 = not. */
static int spawn(const char *what, size_t line, useconds_t delay_us)
{
    char number[24];
    int status;
    pid_t pid;

    (void)snprintf(number, sizeof(number), "%zu", line);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        execl(program, program, "--child", what, number, pg_dsn(), (char *)NULL);
        _exit(127);
    }
    if (delay_us) {
        usleep(delay_us);
        (void)kill(pid, SIGKILL);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void killed(struct task *task, struct directory *one, struct directory *two)
{
    fresh(task, one);
    struct project *project = create(task, one, "kill");
    uint32_t oldest = 0;
    int64_t turns = 0;
    size_t step;
    (void)two;

    make_legacy(task, project);
    /* Every fifth step; in a long run each step. */
    for (step = 1; step < 100; step += is_long_run() ? 1 : 5) {
        int rc = spawn("rotate", step, 0);
        all_readable(task, one, project, &oldest);
        if (rc == 0)
            break;
        assert_int_equal(rc, -1);
        assert_int_equal(keys(task, project, "retired_at is null") <= 2, 1);
        assert_int_equal(spawn("rotate", 0, 0), 0);
        all_readable(task, one, project, &oldest);
        assert_int_equal(keys(task, project, "retired_at is null"), 1);
        assert_int_equal(oldest, number(task, &project->db, "select max(id) from {p}.data_keys"));
        turns++;
    }
    print_message("killed at %lld steps\n", (long long)turns);
    assert_true(step > 8);
    srandom(20261121);
    for (int i = 0; i < (is_long_run() ? 12 : 2); i++) {
        (void)spawn("rotate", 0, (useconds_t)(20000 + random() % 150000));
        all_readable(task, one, project, NULL);
    }
    assert_int_equal(spawn("rotate", 0, 0), 0);
    all_readable(task, one, project, &oldest);
    assert_int_equal(oldest, number(task, &project->db, "select max(id) from {p}.data_keys"));
}

TEST(rotation_killed)
{
    run(killed);
}

static void rewrapped(struct task *task, struct directory *one, struct directory *two)
{
    fresh(task, one);
    struct project *project = create(task, one, "wrap-1");
    struct project *known;
    struct project *found;
    struct str reason = STR_NONE;
    size_t step;

    (void)create(task, one, "wrap-2");
    (void)create(task, one, "wrap-3");
    make_legacy(task, project);
    assert_int_equal(data_keys_rotate(task, two, 0, say_nothing, &reason), 0);
    assert_int_equal(project_find(task, one, STR("wrap-2"), &known), 0);
    assert_int_equal(project_sync(task, known), 0);
    for (step = 1; step < 20; step++) {
        int rc = spawn("rewrap", 1, 0); /* each run finishes one more project */
        struct directory *both = open_directory(pg_dsn(), &master_b, &master_a);
        all_readable(task, both, project, NULL);
        assert_int_equal(project_find(task, both, STR("wrap-3"), &found), 0);
        arena_reset(task->arena);
        directory_free(both);
        if (rc == 0)
            break;
        assert_int_equal(rc, -1);
    }
    assert_int_equal(step, 4);
    /* The old master key is no longer needed, and opens nothing. */
    struct directory *with_new = open_directory(pg_dsn(), &master_b, NULL);
    struct directory *with_old = open_directory(pg_dsn(), &master_a, NULL);
    assert_int_equal(project_find(task, with_new, STR("wrap-1"), &found), 0);
    all_readable(task, with_new, found, NULL);
    assert_int_equal(project_find(task, with_new, STR("wrap-2"), &found), 0);
    assert_int_equal(project_find(task, with_old, STR("wrap-1"), &found), PROJECT_UNAVAILABLE);
    /* Without the new master key the keys cannot be wrapped again. The rewrap says so and
     * changes nothing. */
    assert_int_equal(data_keys_rewrap(task, with_old, say_nothing, &reason), DATA_KEYS_REMAIN);
    assert_int_equal(project_find(task, with_new, STR("wrap-3"), &found), 0);
    /* A daemon that has loaded the data keys continues with them. */
    assert_int_equal(project_sync(task, known), 0);
    assert_int_equal(known->data_key.id, 2);
    assert_int_equal(known->data_key_count, 2);
    arena_reset(task->arena);
    directory_free(with_new);
    directory_free(with_old);
}

TEST(rewrap)
{
    run(rewrapped);
}

/* Every column of bytes is known to be sealed or known not to be. A rotation would lose the
 * values of a sealed column that it does not know. */
static void every_column(struct task *task, struct directory *one, struct directory *two)
{
    fresh(task, one);
    struct project *project = create(task, one, "columns");
    struct sql sql =
        make_sql("select c.table_name || '.' || c.column_name from information_schema.columns c "
                 "where c.table_schema = $1 and c.data_type = 'bytea' order by 1",
                 SQL_MANY);
    static const char *const known[] = {
        "api_key_former.hash",
        "api_keys.hash",
        "auth_flows.sealed",
        "auth_flows.state_hash",
        "connection_flows.sealed",
        "connection_flows.state_hash",
        "connections.sealed",
        "data_keys.wrapped",
        "file_variants.sha256",
        "files.sha256",
        "idempotency_keys.request_hash",
        "idempotency_keys.response",
        "integrations.sealed",
        "live_tickets.hash",
        "mail_links.hash",
        "mail_previews.token_hash",
        "push_devices.token_hash",
        "record_locks.token_hash",
        "refresh_tokens.hash",
        "refresh_tokens.successor",
        "search_docs.terms",
        "search_lexicon.data",
        "search_postings.docs",
        "secrets.sealed",
        "settings.sealed",
    };
    struct rows rows;
    (void)two;

    struct str schema = arena_printf(task->arena, "p_%lld", (long long)project->number);
    assert_int_equal(db_query(task, &project->db, &sql, PARAMS(P_STR(schema)), &rows), 0);
    for (size_t i = 0; i < rows.count; i++) {
        if (i >= ARRAY_LEN(known) || !str_is(rows_str(&rows, i, 0), known[i]))
            fail_msg("%.*s: does rotate.c know it?", STR_ARG(rows_str(&rows, i, 0)));
    }
    assert_int_equal(rows.count, ARRAY_LEN(known));
}

TEST(columns_are_known)
{
    run(every_column);
}

int main(int argc, char **argv)
{
    program = "/proc/self/exe";
    if (argc == 5 && strcmp(argv[1], "--child") == 0)
        return child_main(argv);
    return unit_run();
}
