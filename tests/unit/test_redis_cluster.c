/* redis/ on a Redis Cluster: routing by hash slot, moves of slots, a node that dies. */
#include "deadline.h"
#include "unit.h"

#include "pg.h"
#include "redis/redis.h"
#include "redis/slot_private.h"
#include "redis_cluster.h"

static struct redis *redis;

static void pause_ms(struct task *task, int64_t ms)
{
    assert_int_equal(task_sleep(task, ms), 0);
}

static void run_body(struct task *task, void *arg)
{
    void (**body)(struct task *) = arg;
    /* No server answers at the first URL. The second URL is one of the nodes. */
    const struct str urls[] = {STR("redis://127.0.0.1:1"), str_from(cluster_url(1))};

    redis = redis_new(urls, ARRAY_LEN(urls));
    assert_non_null(redis);
    WAIT_FOR(task, redis_up(redis) && redis_mode(redis) == REDIS_MODE_CLUSTER);
    (*body)(task);
    redis_free(redis);
    loop_stop();
}

static void run(void (*body)(struct task *task))
{
    struct task task = {.arena = arena_new(0)};

    loop_init();
    task_start(&task, run_body, &body);
    loop_run();
    assert_int_equal(task_count(), 0);
    arena_free(task.arena);
}

static int start(void **state UNUSED)
{
    cluster_start();
    return 0;
}

static int stop(void **state UNUSED)
{
    cluster_stop();
    return 0;
}

/* --- slots --- */

TEST(test_slots)
{
    static const struct str evals[][4] = {
        {STR_INIT("EVAL"), STR_INIT("return 1"), STR_INIT("0"), STR_INIT("x")},
        {STR_INIT("eval"), STR_INIT("return 1"), STR_INIT("1"), STR_INIT("k")},
    };
    static const struct str read[] = {STR_INIT("XREADGROUP"),
                                      STR_INIT("GROUP"),
                                      STR_INIT("g"),
                                      STR_INIT("c"),
                                      STR_INIT("streams"),
                                      STR_INIT("evt:{p3}"),
                                      STR_INIT(">")};
    static const struct str info[] = {STR_INIT("XINFO"), STR_INIT("GROUPS"), STR_INIT("s")};
    struct str key = STR_NONE;

    assert_int_equal(slot_of(STR("123456789")), 0x31c3); /* the CRC's check value is below 16384 */
    assert_int_equal(slot_of(STR("foo")), 12182);
    assert_int_equal(slot_of(STR("{user1000}.following")), slot_of(STR("user1000")));
    assert_int_equal(slot_of(STR("evt:{p3}")), slot_of(STR("evt:dead:{p3}")));
    assert_int_not_equal(slot_of(STR("foo{}{bar}")), slot_of(STR("bar")));
    assert_int_equal(slot_of(STR("foo{{bar}}zap")), slot_of(STR("{bar")));
    assert_int_equal(slot_of(STR("foo{bar}{zap}")), slot_of(STR("bar")));
    assert_int_equal(slot_of(STR("")), 0);
    assert_int_equal(slot_of(STR("{")), slot_of(STR("{")));
    assert_false(slot_key(4, evals[0], &key));
    assert_true(slot_key(4, evals[1], &key) && str_is(key, "k"));
    assert_true(slot_key(7, read, &key) && str_is(key, "evt:{p3}"));
    assert_true(slot_key(3, info, &key) && str_is(key, "s"));
    assert_false(slot_key(5, read, &key));
    assert_false(slot_key(1, info, &key));
}

/* --- commands --- */

static void set_all(struct task *task, const char *value)
{
    for (int i = 0; i < 60; i++) {
        struct str key = arena_printf(task->arena, "key%d", i);
        assert_int_equal(redis_cmd(task, redis, NULL, REDIS_ARGS(STR("SET"), key, str_from(value))),
                         0);
    }
}

static void check_all(struct task *task, const char *value)
{
    for (int i = 0; i < 60; i++) {
        struct redis_reply reply;
        struct str key = arena_printf(task->arena, "key%d", i);
        assert_int_equal(redis_cmd(task, redis, &reply, REDIS_ARGS(STR("GET"), key)), 0);
        assert_true(str_is(reply.text, value));
    }
}

static void routes(struct task *task)
{
    set_all(task, "one");
    check_all(task, "one");
    for (int i = 0; i < 3; i++) /* each of the three nodes has some keys */
        assert_true(atoi(cluster_ask(i, "dbsize")) > 5);
    for (int i = 0; i < 60; i++)
        redis_post(redis,
                   REDIS_ARGS(STR("SET"), arena_printf(task->arena, "key%d", i), STR("two")));
    check_all(task, "two");
    assert_int_equal(
        redis_cmd(
            task, redis, NULL, REDIS_ARGS(STR("MSET"), STR("a"), STR("1"), STR("b"), STR("2"))),
        REDIS_ERROR); /* two slots */
    assert_int_equal(
        redis_cmd(task,
                  redis,
                  NULL,
                  REDIS_ARGS(STR("MSET"), STR("a{t}"), STR("1"), STR("b{t}"), STR("2"))),
        0);
}

TEST(test_routes)
{
    run(routes);
}

/* --- a slot that moves --- */

static int owner_of(struct str key)
{
    for (int i = 0; i < 3; i++) {
        const char *answer = cluster_ask(i, "cluster countkeysinslot %d", slot_of(key));
        if (atoi(answer) > 0)
            return i;
    }
    return -1;
}

static void moves(struct task *task)
{
    struct redis_reply reply;
    struct str here = STR("here{move}");
    struct str there = STR("there{move}");
    struct redis_blocking *lane = redis_blocking_new(redis);
    char ids[3][64];

    assert_int_equal(redis_cmd(task, redis, NULL, REDIS_ARGS(STR("SET"), here, STR("1"))), 0);
    int from = owner_of(here);
    assert_in_range(from, 0, 2);
    int to = (from + 1) % 3;
    int slot = slot_of(here);
    for (int i = 0; i < 3; i++)
        (void)snprintf(ids[i], sizeof(ids[i]), "%s", cluster_ask(i, "cluster myid"));
    assert_string_equal(cluster_ask(to, "cluster setslot %d importing %s", slot, ids[from]), "OK");
    assert_string_equal(cluster_ask(from, "cluster setslot %d migrating %s", slot, ids[to]), "OK");

    /* The old node answers for a key that has not moved. Other keys of the slot are requested
     * from the new node. */
    assert_int_equal(redis_cmd(task, redis, &reply, REDIS_ARGS(STR("GET"), here)), 0);
    assert_true(str_is(reply.text, "1"));
    assert_int_equal(redis_cmd(task, redis, NULL, REDIS_ARGS(STR("SET"), there, STR("2"))), 0);
    assert_int_equal(redis_cmd(task, redis, &reply, REDIS_ARGS(STR("GET"), there)), 0);
    assert_true(str_is(reply.text, "2"));
    assert_int_equal(
        redis_blocking_cmd(task, lane, 1000, &reply, REDIS_ARGS(STR("INCR"), STR("more{move}"))),
        0);
    redis_post(redis, REDIS_ARGS(STR("INCR"), STR("more{move}")));
    assert_int_equal(redis_cmd(task, redis, &reply, REDIS_ARGS(STR("GET"), STR("more{move}"))), 0);
    assert_true(str_is(reply.text, "2"));

    assert_string_equal(
        cluster_ask(from, "migrate 127.0.0.1 %d '%s' 0 1000", cluster[to].port, here.ptr), "OK");
    assert_int_equal(redis_cmd(task, redis, &reply, REDIS_ARGS(STR("GET"), here)), 0);
    for (int i = 0; i < 3; i++)
        (void)cluster_ask((to + i) % 3, "cluster setslot %d node %s", slot, ids[to]);
    assert_int_equal(redis_cmd(task, redis, &reply, REDIS_ARGS(STR("GET"), here)), 0);
    assert_true(str_is(reply.text, "1"));
    assert_int_equal(
        redis_blocking_cmd(task, lane, 1000, &reply, REDIS_ARGS(STR("GET"), STR("more{move}"))), 0);
    assert_true(str_is(reply.text, "2"));

    /* A command on the shared connection wakes a blocking command of a lane. */
    struct redis_reply popped;
    redis_post(redis, REDIS_ARGS(STR("LPUSH"), STR("list{move}"), STR("x")));
    assert_int_equal(
        redis_blocking_cmd(
            task, lane, 3000, &popped, REDIS_ARGS(STR("BLPOP"), STR("list{move}"), STR("2"))),
        0);
    assert_int_equal(popped.count, 2);
    redis_blocking_free(lane);
}

TEST(test_moves)
{
    run(moves);
}

/* --- a node dies, its replica takes over --- */

static unsigned subscribed, received;

static void on_message(struct str payload, void *arg)
{
    (void)arg;
    if (payload.ptr)
        received++;
    else
        subscribed++;
}

static void fails_over(struct task *task)
{
    subscribed = received = 0;
    redis_subscribe(redis, "news", on_message, NULL);
    set_all(task, "before");
    cluster_follow(0, 3);
    WAIT_FOR(task, subscribed > 0);
    redis_post(redis, REDIS_ARGS(STR("PUBLISH"), STR("news"), STR("1")));
    WAIT_FOR(task, received > 0);
    assert_int_equal(received, 1);

    cluster_hasten();
    cluster_kill(0);
    int64_t start_ms = clock_mono_ms();
    unsigned refused = 0;
    unsigned answered = 0;
    bool whole = false;
    while (!whole && clock_mono_ms() - start_ms < allowed(10000)) {
        whole = true;
        for (int i = 0; i < 60; i++) {
            struct redis_reply reply;
            struct str key = arena_printf(task->arena, "key%d", i);
            int64_t asked_ms = clock_mono_ms();
            int rc = redis_cmd(task, redis, &reply, REDIS_ARGS(STR("GET"), key));
            assert_took(asked_ms, 0, 3000); /* a command has a second */
            assert_true(rc >= 0);
            *(rc == 0 ? &answered : &refused) += 1;
            whole = whole && rc == 0 && str_is(reply.text, "before");
        }
        pause_ms(task, 20);
    }
    print_message("whole again after %lld ms; meanwhile %u refused, %u answered\n",
                  (long long)(clock_mono_ms() - start_ms),
                  refused,
                  answered);
    assert_true(whole && refused > 0 && answered > 60);
    WAIT_FOR(task, redis_up(redis));
    set_all(task, "after");
    check_all(task, "after");
    UNTIL(received >= 2, {
        redis_post(redis, REDIS_ARGS(STR("PUBLISH"), STR("news"), STR("2")));
        pause_ms(task, 50);
    });

    cluster_spawn(0); /* the node returns as a replica */
    WAIT_FOR(task, strstr(cluster_ask(0, "info replication | grep role"), "role:slave"));
    set_all(task, "last");
    check_all(task, "last");
}

TEST(test_fails_over)
{
    run(fails_over);
}

GROUP(start, stop)
