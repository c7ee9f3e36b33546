/* The runner's pool of script processes, against the real script-sandbox of the same build. */
#include "deadline.h"
#include "unit.h"

#include <errno.h>

#include "../../services/workflow-runner/script_pool.c" /* NOLINT(bugprone-suspicious-include): a service has no library */

static struct arena *arena;
static char sandbox[PATH_MAX];
static void (*body)(struct task *task);

static void set_up(struct script_pool_config with)
{
    with.program = with.program ? with.program : sandbox;
    script_pool_init(&with);
}

static struct task *new_task(void)
{
    struct task *task = ARENA_NEW(arena, task);

    task->arena = arena;
    return task;
}

static void run_body(struct task *task, void *arg)
{
    (void)arg;
    body(task);
    script_pool_drain();
    loop_stop();
}

/* Runs fn in a task and asserts that no process is left afterwards. */
static void in_task(void (*fn)(struct task *task))
{
    body = fn;
    task_start(new_task(), run_body, NULL);
    loop_run();
    assert_int_equal(stats.alive, 0);
    assert_int_equal(slots.held, 0);
}

static int setup(void **state UNUSED)
{
    loop_init();
    arena = arena_new(0);
    set_up((struct script_pool_config){.processes = 2});
    return 0;
}

static int teardown(void **state UNUSED)
{
    arena_free(arena);
    return 0;
}

static struct script_result run_ms(struct task *task, const char *text, int64_t time_ms)
{
    struct script_result result = {0};

    assert_int_equal(
        script_run(
            task, &(struct script_request){.text = str_from(text), .time_ms = time_ms}, &result),
        0);
    return result;
}

static struct script_result run_text(struct task *task, const char *text)
{
    return run_ms(task, text, 300000);
}

static void assert_str(struct str text, const char *expected)
{
    assert_string_equal(arena_cstr(arena, text), expected);
}

static void assert_value(struct script_result result, const char *json)
{
    assert_true(result.ok);
    assert_str(jr_print(arena, result.value), json);
}

/* --- results --- */

static void values(struct task *task)
{
    struct script_result result;
    struct jr_error error;
    json_t *svc;

    assert_value(run_text(task, "1 + 1"), "2");
    assert_value(run_text(task, "return {a: [1, null, 'ü']}"), "{\"a\":[1,null,\"ü\"]}");
    assert_value(run_text(task, "const x = await Promise.resolve(4); return x"), "4");
    assert_int_equal(jr_parse(arena, STR("{\"trigger\":{\"data\":{\"total\":5}}}"), &svc, &error),
                     0);
    assert_int_equal(
        script_run(
            task,
            &(struct script_request){
                .text = STR("console.log('t', $svc.trigger); return $svc.trigger.data.total * 2"),
                .svc = svc,
                .time_ms = 300000,
            },
            &result),
        0);
    assert_value(result, "10");
    assert_str(jr_print(arena, result.log), "[\"t {\\\"data\\\":{\\\"total\\\":5}}\"]");
    assert_int_equal(stats.spawned, 1);
    assert_int_equal(stats.runs, 4);
    assert_int_equal(stats.failures, 0);
}

TEST_WITH(test_values, setup, teardown)
{
    in_task(values);
}

static void failures(struct task *task)
{
    struct script_result result = run_text(task, "console.log('before');\n\nreturn missing()");

    assert_false(result.ok);
    assert_str(result.code, "script_error");
    assert_str(result.message, "ReferenceError: Can't find variable: missing");
    assert_int_equal(result.line, 3);
    assert_int_equal(json_array_size(result.log), 1);
    assert_str(run_text(task, "10n").code, "script_result");
    assert_str(run_ms(task, "console.log(1); while (1);", 100).code, "script_timeout");
    assert_str(run_text(task, "const a = []; while (1) a.push({});").code, "script_memory");
    assert_value(run_text(task, "1"), "1");
    assert_int_equal(stats.spawned, 1); /* a script that reaches a limit does not end the process */
    assert_int_equal(stats.failures, 4);
    assert_int_equal(stats.timeouts, 1);
    assert_int_equal(stats.memory, 1);
}

TEST_WITH(test_failures, setup, teardown)
{
    in_task(failures);
}

/* --- the pool --- */

struct together {
    const char *text;
    int rc;
    struct script_result result;
};

static int run_together(struct task *task, void *arg)
{
    struct together *together = arg;

    together->rc =
        script_run(task,
                   &(struct script_request){.text = str_from(together->text), .time_ms = 300000},
                   &together->result);
    return 0;
}

static void many(struct task *task)
{
    struct together list[6] = {
        {.text = "1"}, {.text = "2"}, {.text = "3"}, {.text = "4"}, {.text = "5"}, {.text = "6"}};
    struct task_call calls[6];

    for (size_t i = 0; i < 6; i++)
        calls[i] = (struct task_call){.fn = run_together, .arg = &list[i]};
    assert_int_equal(task_all(task, calls, 6), 0);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(list[i].rc, 0);
        assert_value(list[i].result, list[i].text);
    }
    assert_int_equal(list[5].rc, -EAGAIN);
    assert_int_equal(stats.spawned, 2);
    assert_int_equal(stats.alive, 2);
}

TEST_WITH(test_queue, setup, teardown)
{
    set_up((struct script_pool_config){.processes = 2, .waiting = 3});
    in_task(many);
}

static void retired(struct task *task)
{
    for (int i = 0; i < 7; i++)
        assert_value(run_text(task, "'x'"), "\"x\"");
    assert_int_equal(stats.spawned, 3);
}

TEST_WITH(test_retired_after_runs, setup, teardown)
{
    set_up((struct script_pool_config){.runs = 3});
    in_task(retired);
}

static void expired(struct task *task)
{
    assert_value(run_text(task, "1"), "1");
    assert_int_equal(stats.alive, 1);
    WAIT_FOR(task, stats.alive == 0);
    assert_value(run_text(task, "2"), "2");
    assert_int_equal(stats.spawned, 2);
}

TEST_WITH(test_idle_process_leaves, setup, teardown)
{
    set_up((struct script_pool_config){.idle_ms = 50});
    in_task(expired);
}

static void deadline(struct task *task)
{
    struct script_result result = {.line = 77};

    assert_value(run_text(task, "1"), "1");
    task->deadline_ms = clock_mono_ms() + 300;
    assert_int_equal(
        script_run(
            task, &(struct script_request){.text = STR("while (1);"), .time_ms = 300000}, &result),
        -ETIMEDOUT);
    assert_int_equal(result.line, 77);
    task->deadline_ms = 0;
    assert_value(run_text(task, "2"), "2");
    assert_int_equal(stats.spawned, 2); /* the first process ended with the abandoned script */
}

TEST_WITH(test_deadline_of_task, setup, teardown)
{
    in_task(deadline);
}

static void wait_cancelled(struct task *task, void *arg)
{
    struct script_result result;

    *(int *)arg = script_run(
        task, &(struct script_request){.text = STR("while (1);"), .time_ms = 300000}, &result);
}

static void cancelled(struct task *task)
{
    struct task *other = new_task();
    int rc = 1;

    task_start(other, wait_cancelled, &rc);
    assert_int_equal(task_sleep(task, 100), 0);
    assert_int_equal(slots.held, 1);
    task_cancel(other);
    WAIT_FOR(task, stats.alive == 0);
    assert_int_equal(rc, -ECANCELED);
}

TEST_WITH(test_cancel, setup, teardown)
{
    in_task(cancelled);
}

static void kill_process(void *arg)
{
    (void)uv_process_kill(&((struct process *)arg)->uv, SIGKILL);
}

static void crashed(struct task *task)
{
    struct loop_timer timer;

    assert_value(run_text(task, "1"), "1");
    loop_timer_init(&timer, kill_process, LIST_ITEM(idle.next, struct process, link));
    loop_timer_start(&timer, 50);
    assert_str(run_text(task, "while (1);").code, "script_crashed");
    assert_int_equal(stats.crashes, 1);
    assert_value(run_text(task, "2"), "2");
}

TEST_WITH(test_crash, setup, teardown)
{
    in_task(crashed);
}

static void killed_idle(struct task *task)
{
    assert_value(run_text(task, "1"), "1");
    kill_process(LIST_ITEM(idle.next, struct process, link));
    WAIT_FOR(task, stats.alive == 0);
    assert_value(run_text(task, "2"), "2");
    assert_int_equal(stats.spawned, 2);
}

TEST_WITH(test_idle_process_killed, setup, teardown)
{
    in_task(killed_idle);
}

static void unavailable(struct task *task)
{
    struct script_result result;

    assert_int_equal(
        script_run(task, &(struct script_request){.text = STR("1"), .time_ms = 1000}, &result),
        -ENOENT);
}

TEST_WITH(test_no_program, setup, teardown)
{
    set_up((struct script_pool_config){.program = "/nonexistent/script-sandbox"});
    in_task(unavailable);
}

static void wrong_program(struct task *task)
{
    assert_str(run_text(task, "1").code, "script_crashed");
}

TEST_WITH(test_wrong_program, setup, teardown)
{
    set_up((struct script_pool_config){.program = "/bin/false"});
    in_task(wrong_program);
    loop_init();
    set_up((struct script_pool_config){.program = "/bin/echo"}); /* its output is no frame */
    in_task(wrong_program);
}

static void drained(struct task *task)
{
    struct script_result result;

    assert_value(run_text(task, "1"), "1");
    script_pool_drain();
    assert_int_equal(
        script_run(task, &(struct script_request){.text = STR("1"), .time_ms = 1000}, &result),
        -ESHUTDOWN);
}

TEST_WITH(test_drain, setup, teardown)
{
    in_task(drained);
}

/* The shortest of many runs counts, because a busy machine spoils some. */
static void speed(struct task *task)
{
    int64_t best_us = INT64_MAX;
    int runs = is_long_run() ? 200 : 30;

    for (int i = 0; i < runs; i++) {
        int64_t since = clock_mono_us();
        assert_value(run_text(task, "return 1"), "1");
        if (clock_mono_us() - since < best_us)
            best_us = clock_mono_us() - since;
    }
    print_message("shortest run of %d: %lld us\n", runs, (long long)best_us);
    assert_in_range(best_us, 0, allowed(50000));
}

TEST_WITH(test_speed, setup, teardown)
{
    in_task(speed);
}

static int begin(void **state UNUSED)
{
    size_t len = sizeof(sandbox);

    if (uv_exepath(sandbox, &len) != 0)
        return 1;
    *strrchr(sandbox, '/') = '\0';
    *strrchr(sandbox, '/') = '\0';
    strncat(sandbox, "/bin/script-sandbox", sizeof(sandbox) - strlen(sandbox) - 1);
    return 0;
}

GROUP(begin, NULL)
