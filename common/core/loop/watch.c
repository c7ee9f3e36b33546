/* Measures long runs. */
#include "loop/watch_private.h"

#include <stddef.h>

#include "base/clock.h"

#define CPU_EVERY_US 1000 /* a read of the thread's clock is a system call */

static struct {
    watch_fn fn;
    int64_t since_us; /* when the current run began; 0 = the loop does not run yet */
    int64_t read_us;  /* when cpu_us was read */
    int64_t cpu_us;
} watch;

void watch_on_long_run(watch_fn fn)
{
    watch.fn = fn;
}

int64_t watch_since_us(void)
{
    return watch.since_us;
}

/* Processor time of the run that ends. It may include up to CPU_EVERY_US of earlier runs, but is
 * never more than the time that has passed. */
static int64_t run_cpu_us(int64_t now_us)
{
    int64_t cpu_us = clock_thread_us();
    int64_t used_us = cpu_us - watch.cpu_us;
    int64_t passed_us = now_us - watch.since_us;

    watch.cpu_us = cpu_us;
    watch.read_us = now_us;
    return used_us < passed_us ? used_us : passed_us;
}

void watch_run_end(const struct task *task)
{
    int64_t now_us = clock_mono_us();

    if (now_us - watch.read_us >= CPU_EVERY_US) {
        int64_t used_us = run_cpu_us(now_us);
        if (used_us >= WATCH_LONG_US && watch.fn != NULL && watch.since_us != 0)
            watch.fn(task, used_us);
    }
    watch.since_us = now_us;
}
