#pragma once
/*
 * Confines a program that processes untrusted bytes (script-sandbox, media-sandbox). The program
 * has two processes. The parent waits for requests and gives up at its start what it never needs.
 * Its child does the work and gives up everything but memory and two descriptors. Only for such
 * programs: these functions need libseccomp, and end the process when the kernel refuses a
 * necessary step.
 */
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Confines the parent, at its start: replaces the environment by `environment` ("NAME=value" up to
 * a NULL), closes descriptors above 2, lowers limits, changes root to the user `nobody`, and gives
 * up privileges. The process is killed when the process that started it ends. `program` is the name
 * in messages about refused steps; borrowed. */
void confine_start(const char *program, const char *const *environment);
/* Prepares the filter of system calls and the memory limit of children: the present size of the
 * data segments, `memory_bytes`, and 16 MiB (DATA_SLACK). Call it once, after the parent has loaded
 * everything that children need. */
void confine_prepare(int64_t memory_bytes);
/* Confines the child, irrevocably: in_fd and out_fd become descriptors 0 and 1, all other
 * descriptors are closed, and the filter is enabled. The child ends when `parent` has ended. */
void confine_child(int in_fd, int out_fd, pid_t parent);
