#pragma once
/*
 * Append-only buffer with a hard maximum. Lives in an arena (old blocks are left behind when it
 * grows, doubling, so at most twice its size is spent). Appending past the maximum sets `overflow`,
 * which sticks; the text is then incomplete and must not be used.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

struct strbuf {
    struct arena *arena; /* borrowed */
    char *ptr;
    size_t len;
    size_t cap;
    size_t max;
    bool overflow;
};

/* Nothing is allocated before the first append. `max` in bytes. */
void strbuf_init(struct strbuf *buf, struct arena *arena, size_t max);
/* Makes room for `bytes` more; false (and overflow) when that passes max. */
bool strbuf_reserve(struct strbuf *buf, size_t bytes);
/* Inline, because JSON is written one small piece at a time. */
static inline void strbuf_str(struct strbuf *buf, struct str text)
{
    if (text.len == 0 || (text.len > buf->cap - buf->len && !strbuf_reserve(buf, text.len)))
        return;
    memcpy(buf->ptr + buf->len, text.ptr, text.len);
    buf->len += text.len;
}
static inline void strbuf_cstr(struct strbuf *buf, const char *text)
{
    strbuf_str(buf, str_from(text));
}
static inline void strbuf_char(struct strbuf *buf, char c)
{
    if (buf->len == buf->cap && !strbuf_reserve(buf, 1))
        return;
    buf->ptr[buf->len++] = c;
}
void strbuf_i64(struct strbuf *buf, int64_t value);
void strbuf_printf(struct strbuf *buf, const char *format, ...) PRINTF_LIKE(2, 3);
/* Borrowed view of what was appended; valid until the next append. */
static inline struct str strbuf_view(const struct strbuf *buf)
{
    return (struct str){buf->ptr, buf->len};
}
/* NUL-terminates (not counted) and returns the text, arena-owned. */
char *strbuf_cstring(struct strbuf *buf);
