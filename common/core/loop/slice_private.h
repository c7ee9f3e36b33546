#pragma once
/*
 * How long a thread's turns of the processor are, when others want it too (sched(7), since Linux
 * 6.12; older kernels ignore it). A thread that wakes is run at once in place of one with longer
 * turns, and nobody gets less of the processor for it. Loops run for microseconds and ask for short
 * ones; what computes for long asks for long ones, so that whoever is waited for goes first, the
 * database's processes among them.
 */
#include <stdint.h>

#define SLICE_LOOP_NS  300000
#define SLICE_WORK_NS  20000000
#define SLICE_USUAL_NS 0

/* any: from now on, for this thread; its threads and processes have the usual ones. Nothing where
 * the operator has chosen a policy (chrt, CPUSchedulingPolicy=): it knows no such turns. */
void slice_ask(uint64_t ns);
