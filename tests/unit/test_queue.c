/* The queue with a kind of work made for this test, toys: one SQL file (toys.sql), one table and
 * one function. Two directories play two processes. */
#include "unit.h"

#include "loop/background.h"
#include "project_test.h"
#include "queue/queue.h"
#include "toys_sql.h"

#define LEASE_MS INT64_C(3000)
#define FIRST    "first" /* slugs of the projects that the tests share */
#define SECOND   "second"
#define PAST     "now() - interval '1 second'"

static void pause_ms(struct task *task, int64_t ms)
{
    assert_int_equal(task_sleep(task, ms), 0);
}

/* --- the kind of work --- */

static struct {
    bool hold, heedless; /* toys do not end; nor when they should release themselves */
    unsigned running, most, ended;
    int64_t order[256]; /* numbers of the projects, in the order in which their toys began */
    unsigned begun;
} t;

static enum queue_outcome toy_run(struct task *task, struct queue_item *item)
{
    struct rows rows;
    int rc = 0;

    assert_true(str_is(sql_toy_row(&item->rows, 0).payload, "play"));
    if (t.begun < ARRAY_LEN(t.order))
        t.order[t.begun] = item->db.schema;
    t.begun++;
    t.running++;
    t.most = t.running > t.most ? t.running : t.most;
    do
        rc = task_sleep(task, 5);
    while (rc == 0 && t.hold && !queue_item_is_lost(item) &&
           (t.heedless || !queue_item_is_releasing(item)));
    t.running--;
    t.ended++;
    if (rc == 0)
        rc = db_query(task, &item->db, SQL_TOYS_DONE(.id = item->id, .token = item->token), &rows);
    return rc == 0 && rows.affected == 1 ? QUEUE_DONE : QUEUE_UNKNOWN;
}

static const struct sql *const history[] = {&SQL_TOYS_RETAIN, NULL};

static const struct queue_kind toys = {
    .name = "toys",
    .run = toy_run,
    .claim = &SQL_TOYS_CLAIM,
    .claim_crashed = &SQL_TOYS_CLAIM_CRASHED,
    .renew = &SQL_TOYS_RENEW,
    .still_held = &SQL_TOYS_HELD,
    .release = &SQL_TOYS_RELEASE,
    .rescue = &SQL_TOYS_RESCUE,
    .projects = &SQL_TOYS_PROJECTS,
    .poll = &SQL_TOYS_LOOK,
    .retain = history,
    .has_old = &SQL_TOYS_OLD,
    .release_begun = true,
    .topic = BUS_SEARCH,
    .group = "toys",
    .message = "search.changed",
};

/* --- helpers --- */

static struct queue_config config_of(struct directory *directory)
{
    return (struct queue_config){
        .directory = directory,
        .bus = directory_bus(directory),
        .holder = STR("tests"),
        .slots = 8,
        .lease_ms = 60000,
        .sweep_ms = 20,
        .attempts = 3,
        .retain_days = 1,
        .retain_every_ms = 20,
    };
}

/* Makes an empty table of toys in the schema. */
static void make_table(struct task *task, struct db *db)
{
    exec(task, db, "drop table if exists {p}.toys");
    exec(task,
         db,
         "create table {p}.toys (id bigint generated always as identity primary key, "
         "status text not null default 'queued', token bigint not null default 0, "
         "attempt bigint not null default 0, runs bigint not null default 0, holder text, "
         "lease_until timestamptz, finished_at timestamptz, payload text not null default 'play')");
}

/* Returns the project with this slug, with an empty table of toys. The tests share projects,
 * because creating a project takes long. */
static struct project *make_shop(struct task *task, struct directory *directory, const char *slug)
{
    struct project *project;
    int rc = project_find(task, directory, str_from(slug), &project);

    if (rc != 0) {
        assert_int_equal(rc, PROJECT_NOT_FOUND);
        project = create(task, directory, slug);
    }
    make_table(task, &project->db);
    return project;
}

/* Deletes all toys of the project, so that the next test's queue does not find them. */
static void clear(struct task *task, struct project *project)
{
    exec(task, &project->db, "truncate {p}.toys");
}

static void put(struct task *task, struct project *project, unsigned count)
{
    exec(task,
         &project->db,
         arena_printf(task->arena,
                      "insert into {p}.toys (payload) select 'play' from generate_series(1, %u)",
                      count)
             .ptr);
}

static int64_t count_of(struct task *task, struct project *project, const char *condition)
{
    return number(
        task,
        &project->db,
        arena_printf(task->arena, "select count(*) from {p}.toys where %s", condition).ptr);
}

static void on_done(void *arg)
{
    *(bool *)arg = true;
}

static void end_queue(struct task *task, struct queue *queue, int64_t patience_ms)
{
    bool drained = false;
    bool quiet = false;

    queue_drain(queue, clock_mono_ms() + patience_ms, on_done, &drained);
    assert_true(queue_is_draining(queue));
    WAIT_FOR(task, drained);
    background_wait(on_done, &quiet);
    WAIT_FOR(task, quiet);
    queue_stop(queue);
}

static void test_in_world(void (*fn)(struct task *, struct directory *, struct directory *))
{
    memset(&t, 0, sizeof(t));
    run(fn);
}

/* --- done once --- */

static void done_once(struct task *task, struct directory *one, struct directory *two)
{
    struct project *first = make_shop(task, one, FIRST);
    struct project *second = make_shop(task, one, SECOND);
    struct queue_config config = config_of(one);
    struct queue_config other = config_of(two);

    put(task, first, 60);
    put(task, second, 60);
    struct queue *here = queue_start(&toys, &config);
    struct queue *there = queue_start(&toys, &other);
    WAIT_FOR(task, t.ended == 120);
    WAIT_FOR(task, count_of(task, first, "status = 'done' and runs = 1 and attempt = 1") == 60);
    WAIT_FOR(task, count_of(task, second, "status = 'done' and runs = 1 and attempt = 1") == 60);
    assert_true(queue_stats(here)->done > 0 && queue_stats(there)->done > 0);
    assert_int_equal(queue_stats(here)->done + queue_stats(there)->done, 120);
    assert_int_equal(queue_stats(here)->on_claimed + queue_stats(there)->on_claimed, 120);
    assert_in_range(t.most, 2, 16);
    end_queue(task, here, 1000);
    end_queue(task, there, 1000);
}

TEST(test_done_once)
{
    test_in_world(done_once);
}

/* --- fair turns --- */

static unsigned first_of(int64_t number)
{
    for (unsigned i = 0; i < t.begun && i < ARRAY_LEN(t.order); i++)
        if (t.order[i] == number)
            return i;
    return UINT32_MAX;
}

/* A project with a flood of rows has all slots while it is alone. A row of another project
 * starts soon after it arrives. */
static void fair(struct task *task, struct directory *one, struct directory *two UNUSED)
{
    struct project *flood = make_shop(task, one, FIRST);
    struct project *other = make_shop(task, one, SECOND);
    struct queue_config config = config_of(one);

    t.hold = true;
    put(task, flood, 150);
    struct queue *queue = queue_start(&toys, &config);
    WAIT_FOR(task, t.running == 8);
    put(task, other, 1);
    queue_project_due(queue, other->number);
    t.hold = false;
    WAIT_FOR(task, count_of(task, other, "status = 'done'") == 1);
    assert_in_range(first_of(other->number), 8, 24);
    WAIT_FOR(task, count_of(task, flood, "status = 'done'") == 150);
    assert_int_equal(t.most, 8);
    end_queue(task, queue, 1000);
}

/* With slots_per_project, a project has no more slots than that, even when it is alone. */
static void bounded(struct task *task, struct directory *one, struct directory *two UNUSED)
{
    struct project *project = make_shop(task, one, FIRST);
    struct queue_config config = config_of(one);

    config.slots_per_project = 3;
    put(task, project, 20);
    struct queue *queue = queue_start(&toys, &config);
    WAIT_FOR(task, count_of(task, project, "status = 'done'") == 20);
    assert_int_equal(t.most, 3);
    end_queue(task, queue, 1000);
}

/* Rows that are claimed before slots are free do not exceed slots_per_project either. The
 * remaining slots are free for other projects, however long the project's items take. */
static void bounded_ahead(struct task *task, struct directory *one, struct directory *two UNUSED)
{
    struct queue_kind kind = toys;
    struct project *flood = make_shop(task, one, FIRST);
    struct project *other = make_shop(task, one, SECOND);
    struct queue_config config = config_of(one);

    kind.prefetch = 16;
    config.slots_per_project = 3;
    put(task, flood, 40);
    struct queue *queue = queue_start(&kind, &config);
    WAIT_FOR(task, count_of(task, flood, "status = 'done'") == 40);
    assert_int_equal(t.most, 3);

    t.hold = true;
    put(task, flood, 40);
    queue_project_due(queue, flood->number);
    WAIT_FOR(task, t.running == 3);
    put(task, other, 1);
    queue_project_due(queue, other->number);
    WAIT_FOR(task, t.running == 4);
    end_queue(task, queue, 60000);
    assert_int_equal(count_of(task, other, "status = 'done'"), 1);
    clear(task, flood);
}

TEST(test_fair)
{
    test_in_world(fair);
    test_in_world(bounded);
    test_in_world(bounded_ahead);
}

/* Inserts `count` toys, and returns a queue that has claimed `running` of them and holds them. */
static struct queue *start_held(struct task *task,
                                struct project *project,
                                const struct queue_config *config,
                                unsigned count,
                                unsigned running)
{
    t.hold = true;
    put(task, project, count);
    struct queue *queue = queue_start(&toys, config);
    WAIT_FOR(task, t.running == running);
    return queue;
}

/* --- leases --- */

/* An item that runs longer than its lease keeps its row. An item whose row has another token
 * ends and writes nothing. */
static void renewed(struct task *task, struct directory *one, struct directory *two UNUSED)
{
    struct project *project = make_shop(task, one, FIRST);
    struct queue_config config = config_of(one);
    config.lease_ms = LEASE_MS;
    struct queue *queue = start_held(task, project, &config, 2, 2);

    pause_ms(task, LEASE_MS * 2);
    assert_int_equal(t.running, 2);
    assert_int_equal(count_of(task, project, "status = 'running' and attempt = 1"), 2);

    exec(task,
         &project->db,
         "update {p}.toys set token = token + 1 where id = (select min(id) from {p}.toys)");
    WAIT_FOR(task, t.running == 1);
    WAIT_FOR(task, queue_stats(queue)->lost == 1);
    assert_int_equal(count_of(task, project, "runs > 0"), 0);

    /* queue_item_recheck() makes the item notice the loss at once. */
    int64_t id = number(task, &project->db, "select max(id) from {p}.toys");
    exec(task,
         &project->db,
         "update {p}.toys set token = token + 1, status = 'cancelled' where id = (select max(id) "
         "from {p}.toys)");
    queue_item_recheck(queue, project->number, id + 1); /* not claimed here: nothing is queried */
    queue_item_recheck(queue, project->number, id);
    WAIT_FOR(task, t.running == 0);
    t.hold = false;
    end_queue(task, queue, 1000);
    assert_int_equal(count_of(task, project, "status = 'cancelled' and runs = 0"), 1);
    clear(task, project);
}

/* Without an answer from the database, an item counts as lost when its lease may have ended. */
static void over(struct task *task, struct directory *one, struct directory *two UNUSED)
{
    struct project *project = make_shop(task, one, FIRST);
    struct queue_config config = config_of(one);
    config.lease_ms = LEASE_MS;
    struct queue *queue = start_held(task, project, &config, 1, 1);

    assert_int_equal(pg_stop("immediate"), 0);
    WAIT_FOR(task, t.running == 0);
    WAIT_FOR(task, queue_stats(queue)->lost == 1);
    assert_int_equal(pg_start(), 0);
    t.hold = false;
    /* The row is rescued, claimed again and done once. */
    WAIT_WITHIN(15000, task, queue_stats(queue)->done == 1);
    assert_int_equal(count_of(task, project, "status = 'done' and runs = 1 and attempt = 2"), 1);
    end_queue(task, queue, 1000);
    clear(task, project);
}

TEST(test_leases)
{
    test_in_world(renewed);
    test_in_world(over);
}

/* --- crashes --- */

/* Rows of a process that died run one at a time, concurrently with fresh rows. A row that has
 * crashed too many processes is quarantined. */
static void crashed(struct task *task, struct directory *one, struct directory *two UNUSED)
{
    struct project *project = make_shop(task, one, FIRST);
    struct queue_config config = config_of(one);

    put(task, project, 6);
    exec(task,
         &project->db,
         "update {p}.toys set status = 'running', attempt = 1 + (id = 1)::int * 2, token = 7, "
         "lease_until = " PAST " where id < 5");
    t.hold = true;
    struct queue *queue = queue_start(&toys, &config);
    WAIT_FOR(task, t.running == 3); /* the two fresh rows, and one crashed row */
    WAIT_FOR(task, queue_stats(queue)->rescued == 4);
    pause_ms(task, 100);
    assert_int_equal(t.running, 3);
    assert_int_equal(queue_stats(queue)->quarantined, 1);
    assert_int_equal(count_of(task, project, "status = 'dead' and id = 1 and token = 8"), 1);
    t.hold = false;
    WAIT_FOR(task, count_of(task, project, "status = 'done' and runs = 1") == 5);
    end_queue(task, queue, 1000);
    clear(task, project);
}

TEST(test_crashed)
{
    test_in_world(crashed);
}

/* --- the drain --- */

/* In a drain, running items end or release themselves. Items that do neither are released in
 * their present state. */
static void drained(struct task *task, struct directory *one, struct directory *two UNUSED)
{
    struct project *project = make_shop(task, one, FIRST);
    struct queue_config config = config_of(one);
    struct queue *queue = start_held(task, project, &config, 20, 8);

    end_queue(task, queue, 60000);
    assert_int_equal(count_of(task, project, "status = 'done'"), 8);
    assert_int_equal(count_of(task, project, "status = 'queued' and attempt = 0"), 12);

    t.heedless = true;
    queue = queue_start(&toys, &config);
    WAIT_FOR(task, t.running == 8);
    end_queue(task, queue, 100);
    assert_int_equal(count_of(task, project, "status = 'done'"), 8);
    assert_int_equal(count_of(task, project, "status = 'queued' and attempt = 0"), 12);
    assert_int_equal(count_of(task, project, "runs > 1"), 0);
    clear(task, project);
}

/* The drain releases rows that were claimed before slots were free, and the claim does not count
 * as an attempt. */
static void ahead(struct task *task, struct directory *one, struct directory *two UNUSED)
{
    struct queue_kind kind = toys;
    struct project *project = make_shop(task, one, FIRST);
    struct queue_config config = config_of(one);

    kind.prefetch = 16;
    config.slots = 2;
    put(task, project, 40);
    struct queue *queue = queue_start(&kind, &config);
    WAIT_FOR(task, count_of(task, project, "status = 'done'") == 40);
    assert_int_equal(t.most, 2);

    t.hold = true;
    put(task, project, 40);
    queue_project_due(queue, project->number);
    WAIT_FOR(task, t.running == 2);
    WAIT_FOR(task, count_of(task, project, "status = 'running'") > 2);
    assert_true(count_of(task, project, "status = 'running'") <= 18);
    end_queue(task, queue, 60000);
    assert_int_equal(count_of(task, project, "status = 'done'"), 42);
    assert_int_equal(count_of(task, project, "status = 'queued' and attempt = 0"), 38);
    clear(task, project);
}

TEST(test_drained)
{
    test_in_world(drained);
    test_in_world(ahead);
}

/* --- notification, adopted rows, retention --- */

static unsigned sweeps;

static void on_swept(void)
{
    sweeps++;
}

static void notified(struct task *task, struct directory *one, struct directory *two)
{
    struct queue_kind kind = toys;
    struct project *project = make_shop(task, one, FIRST);
    struct queue_config config = config_of(one);
    struct queue_config storing = config_of(two);

    config.sweep_ms = storing.sweep_ms = 60000;
    storing.slots = 0; /* this queue stores rows and claims none */
    kind.on_swept = on_swept;
    struct queue *queue = queue_start(&kind, &config);
    struct queue *store = queue_start(&toys, &storing);
    WAIT_FOR(task, bus_is_up(config.bus));
    unsigned before; /* sweeps are frequent until the bus is up, and one more follows */
    do {
        before = sweeps;
        pause_ms(task, 300);
    } while (sweeps != before);
    put(task, project, 3);
    queue_rows_stored(store, project, 3);
    /* The queue counts a row after the transaction that marked the row. */
    WAIT_FOR(task, queue_stats(queue)->done == 3);
    assert_int_equal(count_of(task, project, "status = 'done'"), 3);

    bool stopped = false;
    bus_stop(config.bus, on_done, &stopped);
    WAIT_FOR(task, stopped);
    end_queue(task, queue, 1000);
    end_queue(task, store, 1000);
}

TEST(test_notified)
{
    redis_url = redis_start();
    test_in_world(notified);
    redis_url = NULL;
    redis_stop();
}

static void adopted(struct task *task, struct directory *one, struct directory *two UNUSED)
{
    struct project *project = make_shop(task, one, FIRST);
    struct queue_config config = config_of(one);
    struct rows rows;

    config.sweep_ms = 60000;
    put(task, project, 1);
    struct queue *queue = queue_start(&toys, &config);
    WAIT_FOR(task, t.ended == 1);
    WAIT_FOR(task, queue_stats(queue)->running == 0);
    WAIT_FOR(task, queue_slots_reserve(queue, project->number, 0) == 0);
    assert_int_equal(queue_slots_reserve(queue, project->number, 100), 8);
    assert_int_equal(queue_slots_reserve(queue, project->number, 1), 0);
    put(task, project, 2);
    int64_t sent_ms = clock_mono_ms();
    assert_int_equal(
        db_query(task,
                 &project->db,
                 SQL_TOYS_CLAIM(.most = 2, .lease_ms = config.lease_ms, .holder = config.holder),
                 &rows),
        0);
    queue_items_adopt(task, queue, &project->db, 8, &rows, sent_ms, NULL);
    assert_int_equal(queue_stats(queue)->running, 2);
    WAIT_FOR(task, count_of(task, project, "status = 'done' and runs = 1") == 3);
    WAIT_FOR(task, queue_stats(queue)->running == 0);
    assert_int_equal(queue_slots_reserve(queue, project->number, 8), 8);
    queue_items_adopt(task, queue, &project->db, 8, NULL, 0, NULL);
    end_queue(task, queue, 1000);
}

static void retained(struct task *task, struct directory *one, struct directory *two UNUSED)
{
    struct project *project = make_shop(task, one, FIRST);
    struct queue_config config = config_of(one);

    put(task, project, 700);
    exec(task,
         &project->db,
         "update {p}.toys set status = 'done', finished_at = now() - interval '36 hours' * (id % 7 "
         "<> 0)::int");
    struct queue *queue = queue_start(&toys, &config);
    WAIT_FOR(task, count_of(task, project, "true") == 100);
    end_queue(task, queue, 1000);
    clear(task, project);
}

/* Inserts a toy that is old enough for retention, and a table that records when it is deleted. */
static void put_old(struct task *task, struct project *project)
{
    exec(task,
         &project->db,
         "create table {p}.removals (at timestamptz not null default clock_timestamp())");
    exec(task,
         &project->db,
         "create function {p}.on_removal() returns trigger language plpgsql as $$ begin "
         "insert into {p}.removals default values; return old; end $$");
    exec(task,
         &project->db,
         "create trigger removed before delete on {p}.toys for each row execute function "
         "{p}.on_removal()");
    put(task, project, 1);
    exec(task,
         &project->db,
         "update {p}.toys set status = 'done', finished_at = now() - interval '2 days'");
}

static int64_t removed_ms(struct task *task, struct project *project)
{
    return number(
        task, &project->db, "select (extract(epoch from at) * 1000)::bigint from {p}.removals");
}

#define BARE "Bare"

/* Adds a project that has a table of toys and nothing else, which suffices for a queue. */
static void make_bare(struct task *task, struct directory *directory, unsigned serial)
{
    const char *text = arena_printf(task->arena,
                                    "insert into platform.projects (slug, name, partition, state) "
                                    "values ('bare-%u', '" BARE "', 0, 'active') returning number",
                                    serial)
                           .ptr;
    struct db db = {
        .server = directory_server(directory, STR("main")),
        .schema = number(task, directory_control(directory), text),
    };

    exec(task, &db, "create schema {p}");
    make_table(task, &db);
}

/* A round of retention is spread over time: the last projects are handled some time after the
 * first. */
static void retained_in_turn(struct task *task, struct directory *one, struct directory *two UNUSED)
{
    struct project *first = make_shop(task, one, FIRST);
    struct queue_config config = config_of(one);

    for (unsigned i = 0; i < 16; i++)
        make_bare(task, one, i);
    struct project *last = make_shop(task, one, "last");
    put_old(task, first);
    put_old(task, last);
    config.retain_every_ms = 4000;
    struct queue *queue = queue_start(&toys, &config);
    WAIT_WITHIN(15000, task, count_of(task, first, "true") + count_of(task, last, "true") == 0);
    assert_true(removed_ms(task, last) - removed_ms(task, first) > 300);
    end_queue(task, queue, 1000);
    exec(task, directory_control(one), "delete from platform.projects where name = '" BARE "'");
}

/* --- rows that wait to be claimed, pauses between passes --- */

static unsigned claims, left;

static void on_claimed(int64_t number UNUSED, unsigned waiting)
{
    claims++;
    left = waiting;
}

static void counted(struct task *task, struct directory *one, struct directory *two UNUSED)
{
    struct queue_kind kind = toys;
    struct project *project = make_shop(task, one, FIRST);
    struct queue_config config = config_of(one);

    kind.on_claimed = on_claimed;
    config.sweep_ms = 60000;
    t.hold = true;
    struct queue *queue = queue_start(&kind, &config);
    put(task, project, 20);
    queue_rows_stored(queue, project, 20);
    assert_int_equal(queue_rows_waiting(queue, project->number), 20);
    WAIT_FOR(task, t.running == 8);
    assert_int_equal(queue_rows_waiting(queue, project->number), 12);
    assert_true(claims > 0 && left == 12);
    /* As if another process had claimed five of the rows: announced rows that no longer wait are
     * not counted as waiting. */
    exec(task, &project->db, "delete from {p}.toys where id > 15");
    t.hold = false;
    WAIT_FOR(task, count_of(task, project, "status = 'done'") == 15);
    WAIT_FOR(task, queue_rows_waiting(queue, project->number) == 0);
    assert_int_equal(left, 0);
    end_queue(task, queue, 1000);
}

static unsigned passes;
static int64_t pass_pause_ms;

static int
count_pass(struct task *task UNUSED, struct queue *queue, struct project *project, bool *ret_more)
{
    passes++;
    *ret_more = true;
    if (pass_pause_ms > 0)
        queue_pause(queue, project->number, pass_pause_ms);
    return 0;
}

static void paused(struct task *task, struct directory *one, struct directory *two UNUSED)
{
    static const struct queue_kind kind = {
        .name = "passes", .pass = count_pass, .topic = BUS_SEARCH};
    struct project *slow = make_shop(task, one, FIRST);
    struct project *other = make_shop(task, one, SECOND);
    struct queue_config config = config_of(one);

    passes = 0;
    pass_pause_ms = 60000;
    struct queue *queue = queue_start(&kind, &config);
    queue_resume(queue, slow->number); /* the queue does not know this project yet */
    queue_project_due(queue, slow->number);
    WAIT_FOR(task, passes == 1);
    queue_project_due(queue, slow->number);
    pause_ms(task, 100);
    assert_int_equal(passes, 1);
    queue_project_due(queue, other->number); /* the pause of `slow` does not delay it */
    WAIT_FOR(task, passes == 2);
    queue_resume(queue, slow->number);
    WAIT_FOR(task, passes == 3);

    pass_pause_ms = 20; /* the pause ends after its time */
    queue_resume(queue, slow->number);
    WAIT_FOR(task, passes >= 6);
    pass_pause_ms = 60000;
    pause_ms(task, 100);
    unsigned before = passes;
    pause_ms(task, 100);
    assert_int_equal(passes, before);
    end_queue(task, queue, 1000); /* a paused project does not delay the drain */
}

TEST(test_paused)
{
    test_in_world(counted);
    test_in_world(paused);
}

TEST(test_the_rest)
{
    test_in_world(adopted);
    test_in_world(retained);
    test_in_world(retained_in_turn);
}
