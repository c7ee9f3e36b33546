/* Lookups of names: which tasks share a lookup, what is cached, and for how long. The name server
 * is in this file. */
#include "deadline.h"
#include "unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "fetch/fetch.h"
#include "fetch/fetch_resolve_private.h"
#include "loop/loop.h"
#include "loop/task.h"

enum { THREADS = 64 };

static atomic_int asked;
static atomic_bool is_down;
static const char *_Atomic answer;

/* Replaces the function of the C library. */
int getaddrinfo(const char *host,
                const char *service,
                const struct addrinfo *hints,
                struct addrinfo **ret)
{
    struct sockaddr_in *address = calloc(1, sizeof(*address));

    (void)host;
    (void)service;
    (void)hints;
    (void)nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    atomic_fetch_add(&asked, 1);
    if (atomic_load(&is_down)) {
        free(address);
        return EAI_AGAIN;
    }
    address->sin_family = AF_INET;
    (void)inet_pton(AF_INET, atomic_load(&answer), &address->sin_addr);
    *ret = calloc(1, sizeof(**ret));
    (*ret)->ai_addr = (struct sockaddr *)address;
    (*ret)->ai_addrlen = sizeof(*address);
    return 0;
}

void freeaddrinfo(struct addrinfo *found)
{
    free(found->ai_addr);
    free(found);
}

struct asker {
    struct task task;
    const char *host;
    int64_t limit_ms;
    struct fetch_addresses addresses;
    int rc;
};

static struct arena *arena;
static unsigned askers_left;

static void asker_main(struct task *task, void *arg)
{
    struct asker *asker = arg;
    struct share_owner owner = {.project = task->project, .part = FETCH_PUSH_WEB};

    asker->rc = fetch_resolve(task, asker->host, owner, asker->limit_ms, &asker->addresses);
    if (--askers_left == 0) {
        fetch_resolve_done();
        loop_stop();
    }
}

static struct asker *ask(int64_t project, const char *host)
{
    struct asker *asker = ARENA_NEW(arena, asker);

    asker->task = (struct task){.arena = arena, .project = project};
    asker->host = host;
    asker->limit_ms = 5000;
    askers_left++;
    task_start(&asker->task, asker_main, asker);
    return asker;
}

/* A lookup in a sequence, with the answer of the name server at that time. */
struct step {
    int64_t project;
    const char *host;
    const char *answer; /* NULL: the name server is down */
    int rc;
    struct fetch_addresses addresses;
};

static struct step *steps;
static size_t step_count;

static void steps_main(struct task *task, void *arg)
{
    (void)arg;
    for (size_t i = 0; i < step_count; i++) {
        struct step *step = &steps[i];
        struct share_owner owner = {.project = step->project, .part = FETCH_PUSH_WEB};
        atomic_store(&is_down, step->answer == NULL);
        atomic_store(&answer, step->answer);
        step->rc = fetch_resolve(task, step->host, owner, 5000, &step->addresses);
    }
    fetch_resolve_done();
    loop_stop();
}

static void run_steps(struct step *these, size_t count)
{
    steps = these;
    step_count = count;
    task_start(&(struct task){.arena = arena}, steps_main, NULL);
    loop_run();
}

static int setup(void **state UNUSED)
{
    atomic_store(&asked, 0);
    atomic_store(&is_down, false);
    atomic_store(&answer, "203.0.113.5");
    arena = arena_new(0);
    loop_init();
    fetch_resolve_init(THREADS);
    return 0;
}

static int teardown(void **state UNUSED)
{
    arena_free(arena);
    return 0;
}

TEST_WITH(test_at_once, setup, teardown)
{
    struct asker *askers[500];

    for (size_t i = 0; i < ARRAY_LEN(askers); i++)
        askers[i] = ask(7, "push.example.org");
    loop_run();
    assert_int_equal(atomic_load(&asked), 1);
    for (size_t i = 0; i < ARRAY_LEN(askers); i++) {
        assert_int_equal(askers[i]->rc, 0);
        assert_string_equal(askers[i]->addresses.list, "203.0.113.5");
        assert_false(askers[i]->addresses.all_public); /* an address of a documentation network */
    }
}

TEST_WITH(test_again, setup, teardown)
{
    struct step these[] = {
        {.project = 7, .host = "push.example.org", .answer = "203.0.113.5"},
        {.project = 7, .host = "push.example.org", .answer = "10.0.0.1"},
        {.project = 8, .host = "push.example.org", .answer = "10.0.0.1"},
        {.project = 7, .host = "other.example.org", .answer = "10.0.0.1"},
    };

    run_steps(these, ARRAY_LEN(these));
    assert_int_equal(atomic_load(&asked), 3);
    assert_string_equal(these[0].addresses.list, "203.0.113.5");
    assert_string_equal(these[1].addresses.list, "203.0.113.5");
    assert_string_equal(these[2].addresses.list, "10.0.0.1");
    assert_string_equal(these[3].addresses.list, "10.0.0.1");
}

/* Whether an address is public is decided by the answer itself, cached or not. */
TEST_WITH(test_judgement, setup, teardown)
{
    struct step these[] = {
        {.project = 7, .host = "push.example.org", .answer = "8.8.8.8"},
        {.project = 7, .host = "push.example.org", .answer = "10.0.0.1"},
        {.project = 7, .host = "rebound.example.org", .answer = "10.0.0.1"},
        {.project = 7, .host = "rebound.example.org", .answer = "8.8.8.8"},
    };

    run_steps(these, ARRAY_LEN(these));
    assert_int_equal(atomic_load(&asked), 2);
    assert_true(these[0].addresses.all_public && these[1].addresses.all_public);
    assert_false(these[2].addresses.all_public || these[3].addresses.all_public);
}

TEST_WITH(test_failures_are_not_kept, setup, teardown)
{
    struct step these[] = {
        {.project = 7, .host = "push.example.org"},
        {.project = 7, .host = "push.example.org", .answer = "8.8.8.8"},
    };

    run_steps(these, ARRAY_LEN(these));
    assert_int_equal(these[0].rc, FETCH_UNREACHABLE);
    assert_int_equal(these[1].rc, 0);
    assert_int_equal(atomic_load(&asked), 2);
}

static void cancel_main(struct task *task, void *arg)
{
    (void)task;
    task_cancel(arg);
}

/* A task that is cancelled or late does not end the lookup that other tasks wait for. */
TEST_WITH(test_leaving, setup, teardown)
{
    struct asker *first = ask(7, "push.example.org");
    struct asker *second = ask(7, "push.example.org");
    struct asker *third = ask(7, "push.example.org");
    third->limit_ms = 1;
    task_start(&(struct task){.arena = arena}, cancel_main, &first->task);
    loop_run();
    assert_int_equal(first->rc, -ECANCELED);
    assert_int_equal(second->rc, 0);
    assert_int_equal(third->rc, -ETIMEDOUT);
    assert_int_equal(atomic_load(&asked), 1);
}

static void done_main(struct task *task, void *arg)
{
    (void)task;
    (void)arg;
    fetch_resolve_done();
    fetch_resolve_init(THREADS);
}

TEST_WITH(test_end_while_they_wait, setup, teardown)
{
    struct asker *first = ask(7, "push.example.org");
    struct asker *second = ask(7, "push.example.org");
    task_start(&(struct task){.arena = arena}, done_main, NULL);
    loop_run();
    assert_int_equal(first->rc, FETCH_UNREACHABLE);
    assert_int_equal(second->rc, FETCH_UNREACHABLE);
    UNTIL(atomic_load(&asked) == 1, (void)usleep(1000));
    (void)nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL); /* the lookup's thread ends */
}

TEST_WITH(test_kept_so_long_and_so_many, setup, teardown)
{
    struct fetch_addresses addresses = {.all_public = true, .list = "8.8.8.8"};
    struct fetch_addresses found;
    char host[32];

    run_steps(NULL, 0);
    fetch_resolve_cache_put(1, "a.example", 1000, &addresses);
    assert_true(fetch_resolve_cache_get(1, "a.example", 1000 + FETCH_RESOLVE_CACHE_MS - 1, &found));
    assert_false(fetch_resolve_cache_get(1, "a.example", 1000 + FETCH_RESOLVE_CACHE_MS, &found));
    assert_false(fetch_resolve_cache_get(1, "b.example", 1000, &found));
    assert_false(fetch_resolve_cache_get(2, "a.example", 1000, &found));
    for (int i = 0; i < 10000; i++) {
        (void)snprintf(host, sizeof(host), "%d.example", i);
        fetch_resolve_cache_put(2, host, 1001 + i, &addresses);
    }
    assert_true(fetch_resolve_cache_get(1, "a.example", 1001, &found));
    assert_true(fetch_resolve_cache_get(2, "9999.example", 11001, &found));
    assert_true(fetch_resolve_cache_get(2, "9992.example", 11001, &found));
    assert_false(fetch_resolve_cache_get(2, "9991.example", 11001, &found));
}
