/* Limits, privileges and the filter of system calls. */
#include "confine/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/result.h"

#define NOBODY      65534
#define STACK_BYTES (8L << 20)
/* Added to the data limit, so that the script-sandbox's check of resident memory acts first. */
#define DATA_SLACK (16L << 20)
#define FILTER_MAX 1024
#define NOFILE     16

static struct sock_filter filter[FILTER_MAX];
static unsigned short filter_count;
static rlim_t data_limit;
static const char *program_name = "sandbox";

static void step_or_exit(bool ok, const char *what)
{
    if (ok)
        return;
    (void)fprintf(stderr, "%s: %s: %s\n", program_name, what, strerror(errno));
    _exit(1);
}

/* Lowers a limit. A limit that is already lower stays. */
static void confine_limit(int resource, rlim_t value)
{
    struct rlimit now;

    step_or_exit(getrlimit((__rlimit_resource_t)resource, &now) == 0, "getrlimit");
    if (now.rlim_max != RLIM_INFINITY && now.rlim_max < value)
        value = now.rlim_max;
    now = (struct rlimit){.rlim_cur = value, .rlim_max = value};
    step_or_exit(setrlimit((__rlimit_resource_t)resource, &now) == 0, "setrlimit");
}

/* Replaces the environment. The old texts are wiped, because they stay in memory when only the list
 * is cleared. */
static void environment_replace(const char *const *environment)
{
    for (char **at = environ; *at; at++)
        explicit_bzero(*at, strlen(*at));
    clearenv();
    for (; *environment; environment++) {
        char name[64];
        size_t len = strcspn(*environment, "=");

        (void)snprintf(name, sizeof(name), "%.*s", (int)len, *environment);
        step_or_exit(setenv(name, *environment + len + 1, 1) == 0, "setenv");
    }
}

/* Changes root to `nobody`. In a container root may lack the right to change its user; the filter
 * confines such a root too. */
static void root_drop(void)
{
    if (geteuid() != 0)
        return;
    if (setgroups(0, NULL) == 0 && setresgid(NOBODY, NOBODY, NOBODY) == 0)
        step_or_exit(setresuid(NOBODY, NOBODY, NOBODY) == 0 || errno == EPERM || errno == EINVAL,
                     "setresuid");
}

void confine_start(const char *program, const char *const *environment)
{
    pid_t parent = getppid();

    program_name = program;
    environment_replace(environment);
    step_or_exit(close_range(3, ~0U, 0) == 0, "close_range");
    step_or_exit(chdir("/") == 0, "chdir");
    confine_limit(RLIMIT_CORE, 0);
    confine_limit(RLIMIT_NOFILE, NOFILE);
    confine_limit(RLIMIT_STACK, STACK_BYTES);
    root_drop();
    step_or_exit(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no_new_privs");
    /* The next two follow the change of user, which resets both. */
    step_or_exit(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0, "dumpable");
    step_or_exit(prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0, "pdeathsig");
    if (getppid() != parent)
        _exit(0);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGINT, SIG_IGN); /* Ctrl-C is for the process that started this one */
}

/* --- filter --- */

/* The system calls of the child, in addition to those for memory that is not executable. */
static const int allowed[] = {
    SCMP_SYS(read), /* descriptor 0 has the request, 1 the answer; no other is open */
    SCMP_SYS(write),
    SCMP_SYS(munmap),
    SCMP_SYS(madvise),
    SCMP_SYS(brk),
    SCMP_SYS(futex),
    SCMP_SYS(sched_yield),
    SCMP_SYS(clock_gettime),
    SCMP_SYS(gettimeofday),
    SCMP_SYS(getrandom),
    SCMP_SYS(exit_group),
    SCMP_SYS(restart_syscall),
};
/* System calls that fail with EBADF and whose callers work without them. The script engine reads
 * its own size with pread64() (/proc/self/statm, closed). qsort() reads the size of the memory with
 * sysinfo(). */
static const int refused[] = {
    SCMP_SYS(pread64),
    SCMP_SYS(sysinfo),
};

static void add_rules(scmp_filter_ctx ctx)
{
    struct scmp_arg_cmp no_exec = SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0);

    for (size_t i = 0; i < ARRAY_LEN(allowed); i++)
        step_or_exit(seccomp_rule_add(ctx, SCMP_ACT_ALLOW, allowed[i], 0) == 0, "filter");
    for (size_t i = 0; i < ARRAY_LEN(refused); i++)
        step_or_exit(seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EBADF), refused[i], 0) == 0, "filter");
    step_or_exit(seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1, no_exec) == 0, "filter");
    step_or_exit(seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1, no_exec) == 0,
                 "filter");
    /* mremap() resizes or moves existing mappings and cannot make memory executable. */
    step_or_exit(seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mremap), 0) == 0, "filter");
}

/* Compiles the filter once for all children, because this takes longer than many scripts. */
static void filter_compile(void)
{
    scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_KILL_PROCESS);
    int ends[2];

    step_or_exit(ctx != NULL, "filter");
    add_rules(ctx);
    step_or_exit(pipe2(ends, O_CLOEXEC) == 0, "pipe");
    step_or_exit(seccomp_export_bpf(ctx, ends[1]) == 0, "filter");
    ssize_t bytes = read(ends[0], filter, sizeof(filter));
    step_or_exit(bytes > 0 && (size_t)bytes < sizeof(filter), "filter");
    filter_count = (unsigned short)((size_t)bytes / sizeof(filter[0]));
    (void)close(ends[0]);
    (void)close(ends[1]);
    seccomp_release(ctx);
}

/* Returns the size that RLIMIT_DATA limits: the sixth number of /proc/self/statm, which is in
 * pages. */
static long data_bytes(void)
{
    char text[128];
    char *at = text;
    long pages = 0;
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t len = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;

    step_or_exit(len > 0, "/proc/self/statm");
    (void)close(fd);
    text[len] = '\0';
    for (int i = 0; i < 6; i++)
        pages = strtol(at, &at, 10);
    return pages * sysconf(_SC_PAGESIZE);
}

void confine_prepare(int64_t memory_bytes)
{
    filter_compile();
    data_limit = (rlim_t)data_bytes() + (rlim_t)memory_bytes + DATA_SLACK;
}

void confine_child(int in_fd, int out_fd, pid_t parent)
{
    struct sock_fprog program = {.len = filter_count, .filter = filter};

    step_or_exit(prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0, "pdeathsig");
    if (getppid() != parent)
        _exit(0);
    step_or_exit(dup2(in_fd, STDIN_FILENO) == STDIN_FILENO, "dup2");
    step_or_exit(dup2(out_fd, STDOUT_FILENO) == STDOUT_FILENO, "dup2");
    confine_limit(RLIMIT_DATA, data_limit);
    confine_limit(RLIMIT_FSIZE, 0);
    confine_limit(RLIMIT_NPROC, 0);
    confine_limit(RLIMIT_NOFILE, 0);
    (void)close_range(STDERR_FILENO, ~0U, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0)
        _exit(1);
}
