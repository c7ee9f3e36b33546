/*
 * T9: comparing secrets takes the same number of instructions wherever they differ. A clock would
 * need thousands of samples and a quiet machine to reveal a byte. Here ptrace steps the processor
 * through the comparison, and every step counts, so the test works on a busy machine too.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit.h"

#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "crypto/ct.h"

typedef bool (*compare_fn)(struct str a, struct str b);

enum { BYTES = 64, EQUAL = BYTES, CASES = BYTES + 1, FEW = 8 };

/* A comparison that ct_eq() must not be: proves that the steps would reveal the difference. */
static bool eager_eq(struct str a, struct str b)
{
    for (size_t i = 0; i < a.len; i++)
        if (a.ptr[i] != b.ptr[i])
            return false;
    return true;
}

/* Compares once for each case, between two stops: in case i only byte i differs. */
static void compare_all(compare_fn compare)
{
    char a[BYTES], b[BYTES];
    volatile bool result;

    memset(a, 0x5a, sizeof(a));
    memcpy(b, a, sizeof(b));
    for (int warm = 0; warm < 2; warm++) /* so that the linker has resolved all functions */
        result = compare((struct str){a, BYTES}, (struct str){b, BYTES});
    for (size_t i = 0; i < CASES; i++) {
        if (i < BYTES)
            b[i] = (char)(b[i] ^ 0xff);
        (void)raise(SIGUSR1);
        result = compare((struct str){a, BYTES}, (struct str){b, BYTES});
        (void)raise(SIGUSR1);
        if (i < BYTES)
            b[i] = a[i];
    }
    (void)result;
}

/* Lets the child run until it stops with signal `wanted`; returns false when the child has
 * ended. */
static bool run_to(pid_t child, int wanted)
{
    int status;

    while (ptrace(PTRACE_CONT, child, NULL, NULL) == 0) {
        if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
            return false;
        if (WSTOPSIG(status) == wanted)
            return true;
    }
    return false;
}

/* Steps the child until it stops with signal `wanted`; returns the number of steps, -1 on
 * failure. */
static long steps_to(pid_t child, int wanted)
{
    long steps = 0;
    int status;

    while (ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) == 0) {
        if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
            return -1;
        if (WSTOPSIG(status) == wanted)
            return steps;
        steps++;
    }
    return -1;
}

/* Counts the steps of the first `cases` cases; returns false when this machine does not allow
 * counting. */
static bool count(compare_fn compare, size_t cases, long ret_steps[CASES])
{
    int status;
    bool counted = true;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
            _exit(1);
        (void)raise(SIGSTOP);
        compare_all(compare);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFSTOPPED(status))
        return false;
    for (size_t i = 0; i < cases && counted; i++) {
        counted = run_to(child, SIGUSR1);
        ret_steps[i] = counted ? steps_to(child, SIGUSR1) : -1;
        counted = ret_steps[i] > 0;
    }
    (void)kill(child, SIGKILL);
    (void)waitpid(child, &status, 0);
    return counted;
}

TEST(test_as_many_steps_wherever_they_differ)
{
    long steps[CASES];

    if (!count(ct_eq, CASES, steps))
        skip();
    for (size_t i = 1; i < BYTES; i++)
        if (steps[i] != steps[0])
            fail_msg(
                "%ld steps when byte 0 differs, %ld when byte %zu does", steps[0], steps[i], i);
    /* Producing the result may take a few steps more. */
    assert_in_range(steps[EQUAL], steps[0] - 4, steps[0] + 4);
}

TEST(test_the_steps_would_show_it)
{
    long steps[CASES];

    if (!count(eager_eq, FEW, steps))
        skip();
    for (size_t i = 1; i < FEW; i++)
        assert_true(steps[i] > steps[i - 1]);
}
