/* Commands, posts and subscriptions of redis/, and a Redis that stops and starts again. */
#include "deadline.h"
#include "unit.h"

#include <errno.h>

#include "pg.h"
#include "redis/link_private.h"
#include "redis/redis.h"
#include "redis/url_private.h"

static struct redis *redis;
static const char *url;

static void pause_ms(struct task *task, int64_t ms)
{
    assert_int_equal(task_sleep(task, ms), 0);
}

static void run_body(struct task *task, void *arg)
{
    void (**body)(struct task *) = arg;

    redis = redis_new(&(const struct str){url, strlen(url)}, 1);
    assert_non_null(redis);
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

static int setup(void **state UNUSED)
{
    url = redis_start();
    return 0;
}

static int teardown(void **state UNUSED)
{
    redis_stop();
    return 0;
}

/* --- commands --- */

static void commands(struct task *task)
{
    struct redis_reply reply;
    struct str binary = {"a\0b\r\n", 5};

    /* A command that is sent before the connection is up waits for the connection. */
    assert_int_equal(
        redis_cmd_within(task, redis, 10000, &reply, REDIS_ARGS(STR("SET"), STR("k"), binary)), 0);
    assert_true(redis_up(redis));
    assert_true(reply.kind == REDIS_KIND_TEXT && str_is(reply.text, "OK"));
    assert_int_equal(redis_cmd(task, redis, &reply, REDIS_ARGS(STR("GET"), STR("k"))), 0);
    assert_true(reply.kind == REDIS_KIND_TEXT && str_eq(reply.text, binary));
    assert_int_equal(redis_cmd(task, redis, &reply, REDIS_ARGS(STR("GET"), STR("none"))), 0);
    assert_int_equal(reply.kind, REDIS_KIND_NIL);
    assert_int_equal(redis_cmd(task, redis, &reply, REDIS_ARGS(STR("INCRBY"), STR("n"), STR("-7"))),
                     0);
    assert_true(reply.kind == REDIS_KIND_INT && reply.number == -7);
    assert_int_equal(redis_cmd(task, redis, &reply, REDIS_ARGS(STR("SET"), STR("empty"), STR_NONE)),
                     0);
    assert_int_equal(
        redis_cmd(task,
                  redis,
                  &reply,
                  REDIS_ARGS(STR("EVAL"), STR("return {1, {'x', false}, 'y'}"), STR("0"))),
        0);
    assert_int_equal(reply.kind, REDIS_KIND_ARRAY);
    assert_int_equal(reply.count, 3);
    assert_int_equal(reply.items[1].count, 2);
    assert_true(str_is(reply.items[1].items[0].text, "x"));
    assert_int_equal(reply.items[1].items[1].kind, REDIS_KIND_NIL);
    assert_int_equal(redis_cmd(task, redis, &reply, REDIS_ARGS(STR("INCR"), STR("k"))),
                     REDIS_ERROR);
    assert_true(str_starts(reply.text, STR("ERR ")));
    assert_int_equal(redis_cmd(task, redis, NULL, REDIS_ARGS(STR("NONSENSE"))), REDIS_ERROR);
    for (int i = 0; i < 100; i++)
        redis_post(redis, REDIS_ARGS(STR("INCR"), STR("posts")));
    assert_int_equal(redis_cmd(task, redis, &reply, REDIS_ARGS(STR("GET"), STR("posts"))), 0);
    assert_true(str_is(reply.text, "100"));
}

TEST_WITH(test_commands, setup, teardown)
{
    run(commands);
}

static void limits(struct task *task)
{
    struct redis_reply reply;
    /* Keeps Redis busy for ARGV[1] milliseconds. */
    struct str slow = STR("local t = redis.call('TIME') "
                          "local till = t[1] * 1000 + t[2] / 1000 + tonumber(ARGV[1]) "
                          "repeat t = redis.call('TIME') "
                          "until t[1] * 1000 + t[2] / 1000 > till return 5");

    assert_int_equal(redis_cmd(task, redis, &reply, REDIS_ARGS(STR("PING"))), 0);
    /* A late answer is dropped, and the next command gets its own answer. */
    int64_t start_ms = clock_mono_ms();
    assert_int_equal(
        redis_cmd_within(
            task, redis, 50, &reply, REDIS_ARGS(STR("EVAL"), slow, STR("0"), STR("2000"))),
        REDIS_UNAVAILABLE);
    assert_took(start_ms, 45, 1500);
    WAIT_FOR(task, redis_cmd(task, redis, &reply, REDIS_ARGS(STR("PING"))) == 0);
    assert_true(str_is(reply.text, "PONG"));

    task->deadline_ms = clock_mono_ms() + 50;
    assert_int_equal(
        redis_cmd(task, redis, &reply, REDIS_ARGS(STR("EVAL"), slow, STR("0"), STR("1000"))),
        -ETIMEDOUT);
    task->deadline_ms = 0;
    WAIT_FOR(task, redis_cmd(task, redis, &reply, REDIS_ARGS(STR("PING"))) == 0);
    assert_true(str_is(reply.text, "PONG"));
    assert_int_equal(
        redis_cmd_within(
            task, redis, 30000, &reply, REDIS_ARGS(STR("BLPOP"), STR("nothing"), STR("1.2"))),
        0);
    assert_int_equal(reply.kind, REDIS_KIND_NIL);
}

TEST_WITH(test_limits, setup, teardown)
{
    run(limits);
}

/* --- subscriptions and restarts --- */

static unsigned held;
static unsigned received;
static char last[32];

static void on_message(struct str payload, void *arg)
{
    assert_ptr_equal(arg, &received);
    if (!payload.ptr) {
        held++;
        return;
    }
    received++;
    snprintf(last, sizeof(last), "%.*s", STR_ARG(payload));
}

static void restarts(struct task *task)
{
    struct redis_reply reply;

    held = received = 0;
    redis_subscribe(redis, "news", on_message, &received);
    WAIT_FOR(task, held >= 1);
    redis_subscribe(redis, "more", on_message, &received);
    WAIT_FOR(task, held >= 2);
    redis_post(redis, REDIS_ARGS(STR("PUBLISH"), STR("news"), STR("one")));
    WAIT_FOR(task, received >= 1);
    assert_string_equal(last, "one");

    redis_stop();
    int64_t start_ms = clock_mono_ms();
    assert_int_equal(redis_cmd(task, redis, &reply, REDIS_ARGS(STR("PING"))), REDIS_UNAVAILABLE);
    pause_ms(task, 50);
    assert_false(redis_up(redis));
    for (int i = 0; i < 10; i++)
        assert_int_equal(redis_cmd(task, redis, &reply, REDIS_ARGS(STR("PING"))),
                         REDIS_UNAVAILABLE);
    assert_took(start_ms, 0, 900); /* a command that waits takes a second */
    pause_ms(task, 300);
    (void)redis_start();
    WAIT_FOR(task, held >= 4);
    WAIT_FOR(task, redis_up(redis));
    assert_int_equal(redis_cmd(task, redis, &reply, REDIS_ARGS(STR("PING"))), 0);
    redis_post(redis, REDIS_ARGS(STR("PUBLISH"), STR("more"), STR("two")));
    WAIT_FOR(task, received >= 2);
    assert_string_equal(last, "two");

    /* First a command of the server closes the subscription, then the server stops without
     * closing anything. */
    assert_int_equal(
        redis_cmd(
            task, redis, NULL, REDIS_ARGS(STR("CLIENT"), STR("KILL"), STR("TYPE"), STR("pubsub"))),
        0);
    WAIT_FOR(task, held >= 6);
    (void)kill(redis_pid, SIGSTOP);
    start_ms = clock_mono_ms();
    assert_int_equal(redis_cmd(task, redis, &reply, REDIS_ARGS(STR("PING"))), REDIS_UNAVAILABLE);
    assert_took(start_ms, 950, 3000);
    (void)kill(redis_pid, SIGCONT);
    WAIT_FOR(task, redis_up(redis));
    assert_int_equal(redis_cmd(task, redis, &reply, REDIS_ARGS(STR("PING"))), 0);
}

TEST_WITH(test_restart, setup, teardown)
{
    run(restarts);
}

/* --- URLs --- */

static void nobody_there(struct task *task)
{
    struct redis_reply reply;
    assert_int_equal(redis_cmd(task, redis, &reply, REDIS_ARGS(STR("PING"))), REDIS_UNAVAILABLE);
}

TEST(test_urls)
{
    static const char *const bad[] = {
        "", "http://x", "unix:", "unix:x", "redis://", "redis://h:0", "redis://h:x", "redis://h/x"};
    static const char *const nobody[] = {"redis://127.0.0.1:1",
                                         "redis://user:secret@localhost:1/3",
                                         "redis://[::1]:1",
                                         "redis://no-such-host.invalid:6379",
                                         "unix:/nonexistent/socket"};
    loop_init();
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_null(redis_new(&(const struct str){bad[i], strlen(bad[i])}, 1));
    assert_null(redis_new(NULL, 0));
    loop_stop();
    loop_run();
    for (size_t i = 0; i < ARRAY_LEN(nobody); i++) {
        url = nobody[i];
        run(nobody_there);
    }
}

/* --- addresses --- */

static const char *picked(const struct addrinfo *found, unsigned n)
{
    static char text[ADDRESS_TEXT_BYTES];

    text[0] = '\0';
    address_pick(found, n, text);
    return text;
}

/* Each failed attempt goes to the next address of a name, and after the last address to the
 * first. */
TEST(test_addresses)
{
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct addrinfo second = {.ai_family = AF_INET, .ai_addr = (struct sockaddr *)&four};
    struct addrinfo first = {
        .ai_family = AF_INET6, .ai_addr = (struct sockaddr *)&six, .ai_next = &second};

    assert_string_equal(picked(&first, 0), "::1");
    assert_string_equal(picked(&first, 1), "127.0.0.1");
    assert_string_equal(picked(&first, 2), "::1");
    assert_string_equal(picked(&first, 1001), "127.0.0.1");
    assert_string_equal(picked(&second, 7), "127.0.0.1");
}
