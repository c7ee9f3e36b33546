#pragma once
/*
 * Results. Every function that can fail returns int:
 *   0         success; only then outputs are written
 *   negative  an unexpected error (an errno), made with ERROR(): forward it unchanged, the edge of
 *             the service logs it
 *   positive  a condition of base/result.def, which the function's header names: handle it, or
 *             forward it to a caller that does; no two modules share a value
 */

#include <stddef.h>

enum {
    RESULT_FIRST = 1000, /* lower values are HTTP statuses, which handlers return */
#define RESULT(name, text) name,
#include "base/result.def"
#undef RESULT
    RESULT_END,
};

/* Returns the static name of a result: "DB_UNIQUE" for DB_UNIQUE, "EINVAL" for -EINVAL, "OK" for 0,
 * "HTTP_STATUS" for 100 to 599, "?" for any other value. */
const char *result_name(int rc);

/* The place where an unexpected error arose. Each task has a record; loop/ selects the record of
 * the running task. */
struct result_site {
    const char *file;
    int line;
    int rc; /* the recorded result; 0 = none */
};

/* Records the file and line where the negative result `rc` arises, and returns `rc`:
 *     return ERROR(-EINVAL);
 * Functions that forward a result or change its value do not record again. The expected results
 * -ECANCELED, -ETIMEDOUT and -EAGAIN are returned without ERROR(). */
#define ERROR(rc) result_record((rc), __FILE__, __LINE__)
/* Does the work of ERROR(). A result that equals the recorded one keeps the recorded place. */
int result_record(int rc, const char *file, int line);
/* Sets the record that ERROR() writes on this thread from now on; borrowed. NULL selects the
 * thread's own record. */
void result_site_set(struct result_site *site);

/* Marks a function that may suspend the running coroutine. Borrowed pointers into shared state are
 * invalid after the call. */
#define AWAITS
/* Makes it a compile error to ignore the result. */
#define MUSTCHECK                       __attribute__((warn_unused_result))
#define UNUSED                          __attribute__((unused))
#define PRINTF_LIKE(fmt, args)          __attribute__((format(printf, fmt, args)))
#define ARRAY_LEN(a)                    (sizeof(a) / sizeof((a)[0]))
#define CONTAINER_OF(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

/* Returns from the function with the expression's result when that is not 0. Early returns are safe
 * in handlers, because arenas own their memory. */
#define TRY(expression)                                                                            \
    do {                                                                                           \
        int try_rc_ = (expression);                                                                \
        if (try_rc_ != 0)                                                                          \
            return try_rc_;                                                                        \
    } while (0)
