#pragma once
/*
 * Append-only buffer with a hard maximum. Its memory belongs to an arena. A buffer that grows
 * doubles its capacity and leaves the old block in the arena, so at most twice its size is spent.
 * An append beyond the maximum sets `overflow`, which then stays set: the text is incomplete and
 * must not be used.
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

/* Prepares an empty buffer for at most `max` bytes. The first append allocates memory. */
void strbuf_init(struct strbuf *buf, struct arena *arena, size_t max);
/* Makes room for `bytes` more bytes. Returns false and sets `overflow` when the text would exceed
 * `max`. */
bool strbuf_reserve(struct strbuf *buf, size_t bytes);
/* Append a text, a NUL-terminated text or one character. Inline, because JSON is written in small
 * chunks. */
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
/* Append a decimal integer, or a text that is formatted as by printf(). */
void strbuf_i64(struct strbuf *buf, int64_t value);
void strbuf_printf(struct strbuf *buf, const char *format, ...) PRINTF_LIKE(2, 3);
/* Returns the text, borrowed until the next append. */
static inline struct str strbuf_view(const struct strbuf *buf)
{
    return (struct str){buf->ptr, buf->len};
}
/* Returns the text with a NUL after it, which `len` does not count; arena-owned. */
char *strbuf_cstring(struct strbuf *buf);
