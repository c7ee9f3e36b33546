/* The end of the process: message and backtrace on stderr, then abort(). */
#include "base/panic.h"

#include <execinfo.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void (*_Atomic hook)(void);

void panic_hook_set(void (*fn)(void))
{
    atomic_store(&hook, fn);
}

void panic(const char *file, int line, const char *format, ...)
{
    /* Clear the hook before it runs: a hook that panics must not run again. */
    void (*last_words)(void) = atomic_exchange(&hook, NULL);
    char message[512];
    void *frames[48];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    if (last_words)
        last_words();
    /* Use no heap from here on: the heap may be broken. */
    (void)dprintf(STDERR_FILENO, "panic: %s (%s:%d)\n", message, file, line);
    backtrace_symbols_fd(frames, backtrace(frames, (int)ARRAY_LEN(frames)), STDERR_FILENO);
    abort();
}
