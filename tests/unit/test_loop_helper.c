/* Calls of a program that forks a child for each call: the real media-sandbox of the same build,
 * and programs that do not speak its protocol. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <uv.h>

#include "base/clock.h"
#include "loop/helper.h"
#include "media/wire.h"

#define SEED       "tests/fuzz/corpus/fuzz_media_probe/png"
#define FILE_BYTES 4096

static struct arena *arena;
static char program[PATH_MAX];
static void (*body)(struct task *task);
static struct helper *helper;
static uint8_t picture[FILE_BYTES];
static size_t picture_bytes;

/* --- running --- */

static void start(const char *path, unsigned calls)
{
    helper = helper_new(&(struct helper_config){
        .name = "media-sandbox",
        .program = path,
        .slots = "helper_processes",
        .args = {STR("67108864"), STR("5")},
        .calls = calls,
        .waiting = 1,
    });
}

static void run_body(struct task *task, void *arg)
{
    (void)arg;
    body(task);
    helper_stop(helper);
    loop_stop();
}

static void in_task(void (*fn)(struct task *task), const char *path, unsigned calls)
{
    struct task *task = ARENA_NEW(arena, task);

    body = fn;
    task->arena = arena;
    start(path, calls);
    task_start(task, run_body, NULL);
    loop_run();
}

static int setup(void **state UNUSED)
{
    size_t len = sizeof(program);
    FILE *file = fopen(SEED, "rb");

    assert_non_null(file);
    picture_bytes = fread(picture, 1, sizeof(picture), file);
    (void)fclose(file);
    /* build/<variant>/unit/<this> -> build/<variant>/bin/media-sandbox */
    assert_int_equal(uv_exepath(program, &len), 0);
    char *slash = strrchr(program, '/');
    assert_in_range(slash - program, strlen("/unit"), sizeof(program) - 32);
    slash -= strlen("/unit");
    memcpy(slash, "/bin/media-sandbox", sizeof("/bin/media-sandbox"));
    loop_init();
    arena = arena_new(0);
    return 0;
}

static int teardown(void **state UNUSED)
{
    arena_free(arena);
    return 0;
}

static struct helper_call *opened(struct task *task, int64_t project)
{
    struct helper_call *call = NULL;

    assert_int_equal(helper_open(task, helper, (struct share_owner){.project = project}, &call), 0);
    return call;
}

static void ask(struct helper_call *call)
{
    const struct media_request request = {.op = MEDIA_OP_PROBE, .size = (int64_t)picture_bytes};

    assert_int_equal(helper_write(call, (struct str){(const char *)&request, sizeof(request)}), 0);
}

static void give(struct helper_call *call, const struct media_message *message)
{
    uint32_t bytes = 0;

    if ((uint64_t)message->offset < picture_bytes)
        bytes = (uint32_t)(picture_bytes - (size_t)message->offset);
    if (bytes > message->bytes)
        bytes = message->bytes;
    assert_int_equal(helper_write(call, (struct str){(const char *)&bytes, sizeof(bytes)}), 0);
    if (bytes > 0)
        assert_int_equal(
            helper_write(call, (struct str){(const char *)picture + message->offset, bytes}), 0);
}

static void probe(struct task *task)
{
    struct helper_call *call = opened(task, 1);
    struct media_message message = {.kind = MEDIA_MESSAGE_READ};
    struct media_facts facts;

    ask(call);
    for (;;) {
        assert_int_equal(helper_read(call, &message, sizeof(message)), 0);
        if (message.kind != MEDIA_MESSAGE_READ)
            break;
        give(call, &message);
    }
    assert_int_equal(message.kind, MEDIA_MESSAGE_DONE);
    assert_int_equal(message.bytes, sizeof(facts));
    assert_int_equal(helper_read(call, &facts, sizeof(facts)), 0);
    assert_int_equal(facts.width, 17);
    assert_int_equal(facts.height, 11);
    assert_int_equal(helper_read(call, &message, 1), HELPER_ENDED);
    helper_close(call);
    helper_close(call);
}

/* --- tests --- */

static void several(struct task *task)
{
    for (int i = 0; i < 20; i++)
        probe(task);
    assert_int_equal(helper_starts(helper), 1);
}

TEST_WITH(test_calls, setup, teardown)
{
    in_task(several, program, 2);
}

/* A closed call keeps its slot until its child has ended, and no longer. */
static void left(struct task *task)
{
    for (int i = 0; i < 10; i++) {
        struct helper_call *call = opened(task, 1);
        if (i % 2)
            ask(call);
        helper_close(call);
    }
    probe(task);
    assert_int_equal(helper_starts(helper), 1);
}

TEST_WITH(test_left_in_the_middle, setup, teardown)
{
    in_task(left, program, 2);
}

/* A project gets one of two slots; the other is for the next project. */
static void shared(struct task *task)
{
    struct helper_call *mine = opened(task, 1);
    struct helper_call *second = NULL;

    task->deadline_ms = clock_mono_ms() + 300;
    assert_int_equal(helper_open(task, helper, (struct share_owner){.project = 1}, &second),
                     -ETIMEDOUT);
    task->deadline_ms = 0;
    struct helper_call *others = opened(task, 2);
    helper_close(others);
    helper_close(mine);
    probe(task);
}

TEST_WITH(test_half_for_one, setup, teardown)
{
    in_task(shared, program, 2);
}

static void late(struct task *task)
{
    struct helper_call *call = opened(task, 1);
    char byte;

    task->deadline_ms = clock_mono_ms() + 100;
    assert_int_equal(helper_read(call, &byte, 1), -ETIMEDOUT);
    task->deadline_ms = 0;
    helper_close(call);
    probe(task);
}

TEST_WITH(test_late, setup, teardown)
{
    in_task(late, program, 2);
}

static void nobody(struct task *task)
{
    struct helper_call *call = NULL;

    for (int i = 0; i < 3; i++)
        assert_int_equal(helper_open(task, helper, (struct share_owner){1, 0}, &call),
                         HELPER_ENDED);
}

TEST_WITH(test_no_program, setup, teardown)
{
    assert_non_null(helper_check("media-sandbox", "/nowhere"));
    assert_null(helper_check("media-sandbox", program));
    in_task(nobody, "/nowhere", 2);
}

/* A program that ends at once is started for each call again, and each call ends. */
static void ends_at_once(struct task *task)
{
    for (int i = 0; i < 5; i++) {
        struct helper_call *call = NULL;
        int rc = helper_open(task, helper, (struct share_owner){1, 0}, &call);
        char byte;
        if (rc == 0)
            rc = helper_read(call, &byte, 1);
        if (call)
            helper_close(call);
        assert_int_equal(rc, HELPER_ENDED);
    }
    assert_true(helper_starts(helper) > 0);
}

TEST_WITH(test_another_program, setup, teardown)
{
    in_task(ends_at_once, "/bin/true", 2);
}
