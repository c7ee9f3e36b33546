/* Time slices of the processor. glibc has no function for sched_setattr() before 2.41. */
#include "loop/slice_private.h"

#include <errno.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RESET_ON_FORK 1

struct attr { /* struct sched_attr of the kernel, its first version */
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
};

void slice_set(uint64_t ns)
{
    struct attr attr = {
        .size = sizeof(attr), .policy = SCHED_OTHER, .flags = RESET_ON_FORK, .runtime = ns};

    /* The operator may have chosen another policy. */
    if ((sched_getscheduler(0) & ~SCHED_RESET_ON_FORK) != SCHED_OTHER)
        return;
    errno = 0;
    attr.nice = getpriority(PRIO_PROCESS, 0);
    if (errno == 0) /* if the kernel refuses, the slice stays as it was */
        (void)syscall(SYS_sched_setattr, 0, &attr, 0);
}
