#pragma once
/*
 * What the program takes from itself. Two processes: the one that waits for requests gives up what
 * it never needs at its start; the one that runs a script, its child, gives up everything but
 * memory and one pipe.
 */
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* At the start: environment, descriptors above 2, limits, user (nobody, when started by root),
 * privileges. Dies together with the process that started it. Ends the program when the kernel
 * refuses what matters. */
void confine_start(void);
/* Once, after the engine is warm: makes the filter of system calls, and limits data segments to
 * what they are now and `memory_bytes` more. Ends the program when it cannot. */
void confine_prepare(int64_t memory_bytes);
/* In the child: the two become descriptors 0 and 1, all others are closed, then the filter is on.
 * No way back. */
void confine_script(int request_fd, int record_fd, pid_t parent);
