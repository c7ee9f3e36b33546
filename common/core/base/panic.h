#pragma once
/* Broken invariants and lack of memory end the process: message, backtrace, abort; the supervisor
 * starts another. Never for anything a caller of the service can cause. */
#include "base/result.h"

_Noreturn void panic(const char *file, int line, const char *format, ...) PRINTF_LIKE(3, 4);
/* Runs `fn` once before the process ends, e.g. to write out queued log lines. NULL = none. */
void panic_hook_set(void (*fn)(void));
#define PANIC(...) panic(__FILE__, __LINE__, __VA_ARGS__)
/* Checked in every build. */
#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition))                                                                          \
            PANIC("broken invariant: %s", #condition);                                             \
    } while (0)
