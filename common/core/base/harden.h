#pragma once
/*
 * Keys and what projects store never reach a core dump: none is written, other processes of the
 * same user cannot attach, and should the kernel or a debugger write one all the same, no memory of
 * ours is in it.
 */
#include <stddef.h>

/* First thing in a daemon's main(); its workers inherit all of it. */
void harden_process(void);
/* any: leaves the pages that hold these bytes out of dumps. */
void harden_hide(const void *bytes, size_t len);
