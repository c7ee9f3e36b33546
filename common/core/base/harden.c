/* Keeps the memory of the process out of core dumps. */
#include "base/harden.h"

#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/panic.h"

extern char **environ;

void harden_hide(const void *bytes, size_t len)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t into = (uintptr_t)bytes % page;
    const char *first = (const char *)bytes - into;

    /* On an old kernel that refuses, the other measures remain. */
    (void)madvise((void *)first, (into + len + page - 1) / page * page, MADV_DONTDUMP);
}

/* The environment contains keys. */
static void hide_environment(void)
{
    for (char **it = environ; *it; it++)
        harden_hide(*it, strlen(*it) + 1);
}

/* Leaves memory out of dumps that are piped to a program or written by a debugger, which ignore the
 * limit and the owner of the process (core(5)). Failures are ignored, because /proc may be
 * read-only. */
static void coredump_filter_clear(void)
{
    int fd = open("/proc/self/coredump_filter", O_WRONLY | O_CLOEXEC);

    if (fd < 0)
        return;
    (void)!write(fd, "0\n", 2);
    (void)close(fd);
}

void harden_process(void)
{
    const struct rlimit none = {0};

    coredump_filter_clear();
    hide_environment();
    MUST(setrlimit(RLIMIT_CORE, &none) == 0);
#if !defined(GW_SANITIZE) /* the leak check attaches to its own process */
    MUST(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0);
#endif
}
