#pragma once
/* Broken invariants and lack of memory end the process, and the supervisor starts another one.
 * Nothing that a client of the service can cause may panic. */
#include "base/result.h"

/* Prints a message and a backtrace to stderr and aborts. Call it by PANIC(). */
_Noreturn void panic(const char *file, int line, const char *format, ...) PRINTF_LIKE(3, 4);
/* Sets a function that panic() calls once, e.g. to write queued log lines. NULL = none. */
void panic_hook_set(void (*fn)(void));
#define PANIC(...) panic(__FILE__, __LINE__, __VA_ARGS__)
/* Panics when the condition is false, in every build. */
#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition))                                                                          \
            PANIC("broken invariant: %s", #condition);                                             \
    } while (0)
