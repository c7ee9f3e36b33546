#pragma once
/*
 * Result codes. Every fallible function returns int:
 *   0         success, outputs are written
 *   negative  unexpected (an errno): forward it unchanged; the edge logs it
 *   positive  a named condition, listed in the header that declares the function; handle it there
 * Outputs are written only on success.
 */

#include <stddef.h>

/* The function may suspend the running coroutine: no borrowed pointer into shared state survives
 * it. */
#define AWAITS
/* The result matters: ignoring it is a compile error. */
#define MUSTCHECK                       __attribute__((warn_unused_result))
#define UNUSED                          __attribute__((unused))
#define PRINTF_LIKE(fmt, args)          __attribute__((format(printf, fmt, args)))
#define ARRAY_LEN(a)                    (sizeof(a) / sizeof((a)[0]))
#define CONTAINER_OF(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

/* Return early with the same non-zero result. For handlers: arenas make every early return safe. */
#define TRY(expression)                                                                            \
    do {                                                                                           \
        int try_rc_ = (expression);                                                                \
        if (try_rc_ != 0)                                                                          \
            return try_rc_;                                                                        \
    } while (0)
