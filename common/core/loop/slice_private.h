#pragma once
/*
 * How long a thread's time slices of the processor are when other threads want it too (sched(7),
 * since Linux 6.12; older kernels ignore the length). A thread that wakes up runs at once in place
 * of a thread with longer slices; the length does not change how much of the processor a thread
 * gets. Loops run for microseconds and get short slices. Long computations get long slices, so that
 * threads and processes that others wait for, such as the database's processes, run first.
 */
#include <stdint.h>

#define SLICE_LOOP_NS  300000
#define SLICE_WORK_NS  20000000
#define SLICE_USUAL_NS 0

/* any: sets the length of this thread's slices from now on; threads and processes that the thread
 * starts later have the usual length. Nothing happens when the operator has chosen a policy (chrt,
 * CPUSchedulingPolicy=), which has no such slices. */
void slice_set(uint64_t ns);
