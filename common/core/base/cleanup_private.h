#pragma once
/* Scope cleanup for plain C scopes (start-up, tools, tests, work threads); requests use arenas. */
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
