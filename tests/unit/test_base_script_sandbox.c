/* The parts of script-sandbox without its engine: the filter of system calls, and JSON text from
 * UTF-16. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit.h"

#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

/* NOLINTBEGIN(bugprone-suspicious-include): a program has no library */
#include "../../common/core/confine/confine.c"
#include "../../services/workflow-runner/script-sandbox/record.c"
/* NOLINTEND(bugprone-suspicious-include) */

/* --- the filter --- */

/* Runs `fn` in a child that is confined like script-sandbox and its child; returns the wait
 * status. */
static int confined(void (*fn)(void))
{
    int requests[2];
    int records[2];
    int status;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        confine_start("test", (const char *const[]){"TZ=UTC", NULL});
        confine_prepare(64 << 20);
        step_or_exit(pipe(requests) == 0 && pipe(records) == 0, "pipe");
        confine_child(requests[0], records[1], getppid());
        fn();
        syscall(SYS_exit_group, 7);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void do_nothing(void)
{
}

static void compute(void)
{
    struct timespec now;
    void *memory = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED || syscall(SYS_clock_gettime, CLOCK_REALTIME, &now) != 0)
        syscall(SYS_exit_group, 1);
    munmap(memory, 1 << 20);
}

TEST(test_computing_is_allowed)
{
    assert_int_equal(WEXITSTATUS(confined(do_nothing)), 7);
    assert_int_equal(WEXITSTATUS(confined(compute)), 7);
}

static void do_open(void)
{
    syscall(SYS_openat, AT_FDCWD, "/etc/passwd", O_RDONLY);
}
static void do_socket(void)
{
    syscall(SYS_socket, AF_INET, SOCK_STREAM, 0);
}
static void do_connect(void)
{
    syscall(SYS_connect, 0, NULL, 0);
}
static void do_exec(void)
{
    syscall(SYS_execve, "/bin/true", NULL, NULL);
}
static void do_fork(void)
{
    syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}
static void do_clone3(void)
{
    syscall(SYS_clone3, NULL, 0);
}
static void do_ptrace(void)
{
    syscall(SYS_ptrace, PTRACE_ATTACH, getppid(), 0, 0);
}
static void do_kill(void)
{
    syscall(SYS_kill, 1, 0);
}
static void do_tgkill(void)
{
    syscall(SYS_tgkill, 1, 1, 0);
}
static void do_prctl(void)
{
    syscall(SYS_prctl, PR_SET_DUMPABLE, 1, 0, 0, 0);
}
static void do_setrlimit(void)
{
    syscall(SYS_prlimit64, 0, RLIMIT_DATA, NULL, NULL);
}
static void do_read_other_memory(void)
{
    syscall(SYS_process_vm_readv, 1, NULL, 0, NULL, 0, 0);
}
static void do_io_uring(void)
{
    syscall(SYS_io_uring_setup, 1, NULL);
}
static void do_executable_map(void)
{
    syscall(SYS_mmap, NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
static void do_executable_protect(void)
{
    syscall(SYS_mprotect, 0, 4096, PROT_EXEC);
}
static void do_sleep(void)
{
    syscall(SYS_nanosleep, NULL, NULL);
}

TEST(test_all_else_kills)
{
    static void (*const fns[])(void) = {
        do_open,
        do_socket,
        do_connect,
        do_exec,
        do_fork,
        do_clone3,
        do_ptrace,
        do_kill,
        do_tgkill,
        do_prctl,
        do_setrlimit,
        do_read_other_memory,
        do_io_uring,
        do_executable_map,
        do_executable_protect,
        do_sleep,
    };

    for (size_t i = 0; i < ARRAY_LEN(fns); i++) {
        int status = confined(fns[i]);
        if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSYS)
            fail_msg("call %zu was not refused", i);
    }
}

static void write_elsewhere(void)
{
    for (int fd = 2; fd < 64; fd++) {
        if (write(fd, "x", 1) >= 0)
            syscall(SYS_exit_group, 1);
    }
    if (read(1, NULL, 0) >= 0)
        syscall(SYS_exit_group, 1);
}

TEST(test_no_other_descriptor)
{
    assert_int_equal(WEXITSTATUS(confined(write_elsewhere)), 7);
}

static void allocate_much(void)
{
    size_t bytes = (size_t)1 << 30;

    if (mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
        syscall(SYS_exit_group, 1);
}

TEST(test_memory_has_a_wall)
{
    assert_int_equal(WEXITSTATUS(confined(allocate_much)), 7);
}

/* --- text --- */

/* UTF-16 of a u"" literal without its terminator. */
#define UNITS(literal) (const uint16_t *)(literal), sizeof(literal) / sizeof((literal)[0]) - 1

static void assert_text(struct text *text, const char *expected)
{
    text_add(text, "", 1);
    assert_string_equal(text->ptr, expected);
    free(text->ptr);
    *text = (struct text){0};
}

TEST(test_quoted)
{
    static const uint16_t broken[] = {'a', 0xD800, 'b', 0xDC00, 0, 0xD83D};
    struct text text = {0};

    text_quoted(&text, UNITS(u"a\"b\\c\n\t\x7f ü € 😀"), 100);
    assert_text(&text, "\"a\\\"b\\\\c\\n\\u0009\\u007f ü € 😀\"");
    text_quoted(&text, broken, ARRAY_LEN(broken), 100);
    assert_text(&text,
                "\"a\xEF\xBF\xBD"
                "b\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"");
    text_quoted(&text, UNITS(u"üüü"), 5);
    assert_text(&text, "\"üü...\"");
    text_quoted(&text, NULL, 0, 5);
    assert_text(&text, "\"\"");
}

static void assert_json(const uint16_t *units, size_t count, const char *expected)
{
    struct text text = {0};

    assert_null(text_json(&text, units, count));
    assert_text(&text, expected);
}

static void assert_refused(const uint16_t *units, size_t count, const char *word)
{
    struct text text = {0};
    const char *why = text_json(&text, units, count);

    assert_non_null(why);
    assert_non_null(strstr(why, word));
    free(text.ptr);
}

TEST(test_json)
{
    assert_json(UNITS(u"{\"a\":[1,-2.5e+30,true,null,\"ü😀\\\"\\\\u0000 \\u0001\"]}"),
                "{\"a\":[1,-2.5e+30,true,null,\"ü😀\\\"\\\\u0000 \\u0001\"]}");
    assert_json(UNITS(u"999999999999999999"), "999999999999999999");
    assert_json(UNITS(u"[9223372036854775808,-100000000000000000000]"),
                "[9223372036854775808.0,-100000000000000000000.0]");
    assert_json(UNITS(u"\"[[{123456789012345678901\""), "\"[[{123456789012345678901\"");
    assert_refused(UNITS(u"{\"\\ud800\":1}"), "surrogate");
    assert_refused(UNITS(u"\"\\\\\\udfff\""), "surrogate");
    assert_refused(UNITS(u"\"x\\u0000\""), "U+0000");
}

TEST(test_json_limits)
{
    static uint16_t units[RESULT_BYTES_MAX + 3];

    for (size_t i = 0; i < 51; i++)
        units[i] = '[';
    for (size_t i = 51; i < 102; i++)
        units[i] = ']';
    assert_refused(units, 102, "50 levels");
    units[50] = '1';
    units[51] = ']';
    struct text text = {0};
    assert_null(text_json(&text, units, 101));
    free(text.ptr);
    for (size_t i = 0; i < ARRAY_LEN(units); i++)
        units[i] = 'x';
    units[0] = '"';
    units[ARRAY_LEN(units) - 1] = '"';
    assert_refused(units, ARRAY_LEN(units), "1 MB");
}
