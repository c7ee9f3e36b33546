#pragma once
/* Cleanup at the end of a C scope (start-up, tools, tests, worker threads). Requests use arenas. */
#include <stdlib.h>
#include <unistd.h>

#define _auto_(fn) __attribute__((cleanup(fn)))
static inline void cleanup_free(void *pointer_to_pointer)
{
    free(*(void **)pointer_to_pointer);
}
static inline void cleanup_close(const int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
}
#define _auto_free_  _auto_(cleanup_free)
#define _auto_close_ _auto_(cleanup_close)
