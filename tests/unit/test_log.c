/* common/core/log: the lines on stderr are read back as JSON. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "unit.h"
#include <jansson.h>

#include "base/panic.h"
#include "log/log.h"

#define CAPTURE_BYTES (256U * 1024U)

static char captured[CAPTURE_BYTES];
static FILE *file;
static int real_stderr;

/* Redirects stderr to a temporary file. */
static int capture_begin(void **state UNUSED)
{
    log_init("test-service", LOG_INFO);
    log_context_set(NULL);
    file = tmpfile();
    real_stderr = dup(STDERR_FILENO);
    return file && real_stderr >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0 ? 0 : -1;
}

static int capture_end(void **state UNUSED)
{
    log_flush();
    (void)dup2(real_stderr, STDERR_FILENO);
    (void)close(real_stderr);
    (void)fclose(file);
    return 0;
}

/* Returns everything that was written so far. */
static const char *capture(void)
{
    ssize_t got = pread(fileno(file), captured, sizeof(captured) - 1, 0);
    assert_true(got >= 0);
    captured[got] = '\0';
    return captured;
}

static size_t capture_lines(void)
{
    size_t lines = 0;
    for (const char *at = capture(); (at = strchr(at, '\n')); at++)
        lines++;
    return lines;
}

/* Returns the only line, parsed; the caller drops the reference. */
static json_t *capture_json(void)
{
    json_error_t error;
    assert_int_equal(capture_lines(), 1);
    json_t *line = json_loads(captured, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    assert_non_null(line);
    return line;
}

static const char *text_of(const json_t *line, const char *key)
{
    const char *text = json_string_value(json_object_get(line, key));
    assert_non_null(text);
    return text;
}

TEST_WITH(line_has_all_parts, capture_begin, capture_end)
{
    static const struct log_ctx ctx = {
        .request_id = STR_INIT("req-1"), .project = STR_INIT("shop"), .route = "menus_list"};

    log_context_set(&ctx);
    assert_ptr_equal(log_context(), &ctx);
    log_info("db.reconnected",
             L_CSTR("server", "primary"),
             L_I64("tries", -3),
             L_BOOL("ok", true),
             L_SECRET("token", STR("hunter2")));
    assert_int_equal(capture_lines(), 0); /* queued until the tick ends */
    log_flush();
    json_t *line = capture_json();
    assert_string_equal(text_of(line, "level"), "info");
    assert_string_equal(text_of(line, "service"), "test-service");
    assert_string_equal(text_of(line, "event"), "db.reconnected");
    assert_string_equal(text_of(line, "request_id"), "req-1");
    assert_string_equal(text_of(line, "project"), "shop");
    assert_string_equal(text_of(line, "route"), "menus_list");
    assert_string_equal(text_of(line, "server"), "primary");
    assert_int_equal(strlen(text_of(line, "time")), 24);
    assert_int_equal(json_integer_value(json_object_get(line, "pid")), getpid());
    assert_int_equal(json_integer_value(json_object_get(line, "tries")), -3);
    assert_true(json_is_true(json_object_get(line, "ok")));
    assert_string_equal(text_of(line, "token"), "[secret, 7 bytes]");
    assert_null(strstr(captured, "hunter2"));
    json_decref(line);
}

TEST_WITH(a_result_has_its_name_and_its_place, capture_begin, capture_end)
{
    const struct result_site site = {"common/x/y.c", 12, -EINVAL};

    log_info("named", L_RESULT("error", -EINVAL), L_AT(&site, -EINVAL), L_I64("last", 1));
    log_flush();
    json_t *line = capture_json();
    assert_string_equal(text_of(line, "error"), "EINVAL");
    assert_string_equal(text_of(line, "at"), "common/x/y.c:12");
    assert_int_equal(json_integer_value(json_object_get(line, "last")), 1);
    json_decref(line);
}

TEST_WITH(another_results_place_is_not_logged, capture_begin, capture_end)
{
    const struct result_site site = {"common/x/y.c", 12, -EINVAL};

    log_info("named", L_RESULT("error", DB_UNIQUE), L_AT(&site, DB_UNIQUE), L_AT(&site, 0));
    log_flush();
    json_t *line = capture_json();
    assert_string_equal(text_of(line, "error"), "DB_UNIQUE");
    assert_null(json_object_get(line, "at"));
    json_decref(line);
}

TEST_WITH(text_cannot_break_out_of_its_line, capture_begin, capture_end)
{
    char all[255];

    for (unsigned i = 0; i < sizeof(all); i++)
        all[i] = (char)(i < 126 ? i + 1 : '.');
    log_info("forged",
             L_STR("a", ((struct str){all, sizeof(all)})),
             L_CSTR("b", "\",\"level\":\"error\"}\n{\"x\":\""),
             L_STR("c", ((struct str){"nul\0end", 7})),
             L_CSTR("d", "\xc3\xa9\xff"),
             L_CSTR("e", "\xc3\xa9"));
    log_flush();
    json_t *line = capture_json();
    assert_memory_equal(text_of(line, "a"), all, sizeof(all));
    assert_string_equal(text_of(line, "b"), "\",\"level\":\"error\"}\n{\"x\":\"");
    assert_string_equal(text_of(line, "level"), "info");
    assert_non_null(strstr(captured, "nul\\u0000end"));
    assert_string_equal(text_of(line, "d"), "\xc3\x83\xc2\xa9\xc3\xbf");
    assert_string_equal(text_of(line, "e"), "\xc3\xa9");
    json_decref(line);
}

TEST_WITH(levels_filter, capture_begin, capture_end)
{
    log_debug("hidden");
    log_flush();
    assert_int_equal(capture_lines(), 0);
    log_init("test-service", LOG_ERROR);
    log_warn("hidden");
    log_flush();
    assert_int_equal(capture_lines(), 0);
    assert_int_equal(log_level_parse(STR("debug")), LOG_DEBUG);
    assert_int_equal(log_level_parse(STR("error")), LOG_ERROR);
    assert_int_equal(log_level_parse(STR("ERROR")), -1);
    assert_int_equal(log_level_parse(STR_NONE), -1);
}

TEST_WITH(errors_leave_at_once_and_keep_errno, capture_begin, capture_end)
{
    errno = ENOENT;
    log_info("first");
    log_error("second");
    assert_int_equal(errno, ENOENT);
    assert_int_equal(capture_lines(), 2);
    assert_true(strstr(captured, "first") < strstr(captured, "second"));
}

TEST_WITH(full_queue_is_written_in_whole_lines, capture_begin, capture_end)
{
    char text[1000];

    memset(text, 'x', sizeof(text));
    for (int i = 0; i < 100; i++)
        log_info("bulk", L_STR("text", ((struct str){text, sizeof(text)})));
    size_t early = capture_lines();
    assert_in_range(early, 60, 99);
    assert_int_equal(captured[strlen(captured) - 1], '\n');
    log_flush();
    assert_int_equal(capture_lines(), 100);
}

TEST_WITH(oversized_line_is_dropped_and_counted, capture_begin, capture_end)
{
    static char text[20000];

    memset(text, '\x01', sizeof(text));
    log_info("huge", L_STR("text", ((struct str){text, sizeof(text)})));
    log_info("next");
    log_flush();
    json_t *line = capture_json();
    assert_string_equal(text_of(line, "event"), "next");
    assert_int_equal(json_integer_value(json_object_get(line, "dropped")), 1);
    json_decref(line);
}

TEST_WITH(panic_and_fork_write_lines_once, capture_begin, capture_end)
{
    int status;

    log_info("of-parent");
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)signal(SIGABRT, SIG_DFL);
        log_info("of-child");
        PANIC("on purpose");
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    (void)capture();
    assert_null(strstr(captured, "of-parent"));
    assert_non_null(strstr(captured, "of-child"));
    assert_true(strstr(captured, "of-child") < strstr(captured, "panic: on purpose"));
    log_flush();
    assert_non_null(strstr(capture(), "of-parent"));
}
