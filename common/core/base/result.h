#pragma once
/*
 * Results. Every fallible function returns int:
 *   0         success, outputs are written
 *   negative  unexpected (an errno), made with ERROR(): forward it unchanged; the edge logs it
 *   positive  a condition of base/result.def, named by the header that declares the function;
 *             handle it, or forward it to who does: no two modules share a value
 * Outputs are written only on success.
 */

#include <stddef.h>

enum {
    RESULT_FIRST = 1000, /* below: HTTP statuses, which handlers return */
#define RESULT(name, text) name,
#include "base/result.def"
#undef RESULT
    RESULT_END,
};

/* "DB_UNIQUE", "EINVAL" of -EINVAL, "OK" of 0, "HTTP_STATUS", "?" of anything else. */
const char *result_name(int rc);

/* Where an unexpected error arose; hangs off the running task, which loop/ swaps. */
struct result_site {
    const char *file;
    int line;
    int rc; /* 0 = nothing is noted */
};

/* Notes where `rc`, a negative, arises, and returns it:
 *     return ERROR(-EINVAL);
 * What only forwards it, or changes its value, is not noted; expected ones (-ECANCELED, -ETIMEDOUT,
 * -EAGAIN) are returned without. */
#define ERROR(rc) result_note((rc), __FILE__, __LINE__)
int result_note(int rc, const char *file, int line);
/* Notes go there from now on; NULL: to the thread's own. Borrowed. */
void result_site_set(struct result_site *site);

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
