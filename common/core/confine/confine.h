#pragma once
/*
 * What a program that looks at strangers' bytes takes from itself (script-sandbox, media-sandbox).
 * Two processes: the one that waits for requests gives up what it never needs at its start; the one
 * that does the work, its child, gives up everything but memory and two descriptors. Only for such
 * programs: it needs libseccomp, and ends the process when the kernel refuses what matters.
 */
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* At the start: environment (becomes `environment`, "NAME=value" up to a NULL), descriptors above
 * 2, limits, user (nobody, when started by root), privileges. Dies together with the process that
 * started it. `program` is who says what was refused; borrowed. */
void confine_start(const char *program, const char *const *environment);
/* Once, after all is loaded that will be needed: makes the filter of system calls, and limits data
 * segments to what they are now and `memory_bytes` more. */
void confine_prepare(int64_t memory_bytes);
/* In the child: the two become descriptors 0 and 1, all others are closed, then the filter is on.
 * No way back. */
void confine_child(int in_fd, int out_fd, pid_t parent);
