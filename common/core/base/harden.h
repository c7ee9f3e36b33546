#pragma once
/*
 * Keeps keys and the data of projects out of core dumps. The process writes no dump, other
 * processes of the same user cannot attach to it, and a dump that the kernel or a debugger writes
 * nevertheless contains none of its memory.
 */
#include <stddef.h>

/* Takes these measures for the process; workers inherit them. Comes first in a daemon's main(). */
void harden_process(void);
/* any: Leaves the pages that hold these bytes out of core dumps. */
void harden_hide(const void *bytes, size_t len);
