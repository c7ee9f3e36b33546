/* Append-only buffer. Each allocation has one byte more than `cap`, for a NUL. */
#include "base/strbuf.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/num.h"
#include "base/panic.h"

#define CAP_FIRST 255U

void strbuf_init(struct strbuf *buf, struct arena *arena, size_t max)
{
    MUST(max < SIZE_MAX / 4);
    *buf = (struct strbuf){.arena = arena, .max = max};
}

bool strbuf_reserve(struct strbuf *buf, size_t bytes)
{
    size_t cap;
    char *ptr;

    if (!buf->overflow && bytes <= buf->cap - buf->len)
        return true;
    if (buf->overflow || bytes > buf->max - buf->len) {
        /* Leave no free byte, so that the inline functions come here again and are refused. */
        buf->overflow = true;
        buf->cap = buf->len;
        return false;
    }
    cap = buf->cap > 0 ? buf->cap * 2 + 1 : CAP_FIRST;
    if (cap < buf->len + bytes)
        cap = buf->len + bytes;
    if (cap > buf->max)
        cap = buf->max;
    if (buf->ptr)
        ptr = arena_grow(buf->arena, buf->ptr, buf->cap + 1, cap + 1);
    else
        ptr = arena_alloc(buf->arena, cap + 1);
    buf->ptr = ptr;
    buf->cap = cap;
    return true;
}

void strbuf_i64(struct strbuf *buf, int64_t value)
{
    char text[20];
    strbuf_str(buf, (struct str){text, num_print_i64(text, value)});
}

void strbuf_printf(struct strbuf *buf, const char *format, ...)
{
    size_t capacity = buf->cap - buf->len;
    va_list args;
    int len;

    va_start(args, format);
    len =
        vsnprintf(buf->ptr ? buf->ptr + buf->len : NULL, buf->ptr ? capacity + 1 : 0, format, args);
    va_end(args);
    MUST(len >= 0);
    if ((size_t)len > capacity || !buf->ptr) {
        if (!strbuf_reserve(buf, (size_t)len) || len == 0)
            return;
        va_start(args, format);
        (void)vsnprintf(buf->ptr + buf->len, (size_t)len + 1, format, args);
        va_end(args);
    }
    buf->len += (size_t)len;
}

char *strbuf_cstring(struct strbuf *buf)
{
    if (!buf->ptr)
        return arena_strdup(buf->arena, "");
    buf->ptr[buf->len] = '\0';
    return buf->ptr;
}
