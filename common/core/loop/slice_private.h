#pragma once
/*
 * How long a thread's time slices of the processor are when other threads want it too (sched(7),
 * since Linux 6.12; older kernels ignore the length). A thread that wakes up runs at once in place
 * of a thread with longer slices, and no thread gets less of the processor for it. Loops run for
 * microseconds and want short slices; long computations want long ones, so that threads and
 * processes that others wait for run first, the database's processes among them.
 */
#include <stdint.h>

#define SLICE_LOOP_NS  300000
#define SLICE_WORK_NS  20000000
#define SLICE_USUAL_NS 0

/* any: sets the length of this thread's slices from now on; new threads and processes get the usual
 * one. Nothing happens when the operator has chosen a policy (chrt, CPUSchedulingPolicy=), which
 * has no such slices. */
void slice_set(uint64_t ns);
