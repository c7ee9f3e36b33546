/* Text encodings: base64, base64url, hexadecimal, percent. */
#include "base/codec.h"

#include <stdint.h>

#include "base/ascii.h"
#include "base/panic.h"
#include "base/utf8.h"

static const char alphabet_b64[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char alphabet_b64url[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
static const char hex_lower[] = "0123456789abcdef";
static const char hex_upper[] = "0123456789ABCDEF";

/* Encodes without padding. Returns the end of the written text. */
static char *b64_encode(char *out, struct str bytes, const char *alphabet)
{
    const unsigned char *in = (const unsigned char *)bytes.ptr;
    size_t left = bytes.len;

    for (; left >= 3; left -= 3, in += 3) {
        *out++ = alphabet[in[0] >> 2U];
        *out++ = alphabet[(in[0] & 3U) << 4U | in[1] >> 4U];
        *out++ = alphabet[(in[1] & 15U) << 2U | in[2] >> 6U];
        *out++ = alphabet[in[2] & 63U];
    }
    if (left == 0)
        return out;
    *out++ = alphabet[in[0] >> 2U];
    if (left == 1) {
        *out++ = alphabet[(in[0] & 3U) << 4U];
        return out;
    }
    *out++ = alphabet[(in[0] & 3U) << 4U | in[1] >> 4U];
    *out++ = alphabet[(in[1] & 15U) << 2U];
    return out;
}

static int b64_value(char c, const char *alphabet)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    if (c == alphabet[62])
        return 62;
    return c == alphabet[63] ? 63 : -1;
}

/* Decodes a text without padding. */
static bool b64_decode(struct arena *arena, struct str text, const char *alphabet, struct str *ret)
{
    size_t len = text.len / 4 * 3 + (text.len % 4 > 0 ? text.len % 4 - 1 : 0);
    uint32_t bits = 0;
    unsigned bit_count = 0;
    char *out;
    size_t used = 0;

    if (text.len % 4 == 1)
        return false;
    out = arena_alloc(arena, len + 1);
    for (size_t i = 0; i < text.len; i++) {
        int value = b64_value(text.ptr[i], alphabet);
        if (value < 0)
            return false;
        bits = bits << 6U | (uint32_t)value;
        bit_count += 6;
        if (bit_count >= 8) {
            bit_count -= 8;
            out[used++] = (char)(unsigned char)(bits >> bit_count);
        }
    }
    /* Trailing bits that are not zero would give one value several spellings. */
    if ((bits & ((1U << bit_count) - 1U)) != 0)
        return false;
    out[used] = '\0';
    *ret = (struct str){out, used};
    return true;
}

static size_t b64_len(size_t bytes)
{
    MUST(bytes <= SIZE_MAX / 4);
    return (bytes + 2) / 3 * 4;
}

struct str codec_b64url(struct arena *arena, struct str bytes)
{
    char *out = arena_alloc(arena, b64_len(bytes.len) + 1);
    char *end = b64_encode(out, bytes, alphabet_b64url);

    *end = '\0';
    return (struct str){out, (size_t)(end - out)};
}

bool codec_b64url_decode(struct arena *arena, struct str text, struct str *ret_bytes)
{
    return b64_decode(arena, text, alphabet_b64url, ret_bytes);
}

struct str codec_b64(struct arena *arena, struct str bytes)
{
    char *out = arena_alloc(arena, b64_len(bytes.len) + 1);
    char *end = b64_encode(out, bytes, alphabet_b64);

    while ((end - out) % 4 != 0)
        *end++ = '=';
    *end = '\0';
    return (struct str){out, (size_t)(end - out)};
}

bool codec_b64_decode(struct arena *arena, struct str text, struct str *ret_bytes)
{
    if (text.len % 4 != 0)
        return false;
    for (int padding = 0; padding < 2 && text.len > 0 && text.ptr[text.len - 1] == '='; padding++)
        text.len--;
    return b64_decode(arena, text, alphabet_b64, ret_bytes);
}

struct str codec_hex(struct arena *arena, struct str bytes)
{
    MUST(bytes.len < SIZE_MAX / 2);
    char *out = arena_alloc(arena, bytes.len * 2 + 1);

    for (size_t i = 0; i < bytes.len; i++) {
        unsigned char byte = (unsigned char)bytes.ptr[i];
        out[2 * i] = hex_lower[byte >> 4U];
        out[2 * i + 1] = hex_lower[byte & 15U];
    }
    out[bytes.len * 2] = '\0';
    return (struct str){out, bytes.len * 2};
}

/* Returns the value of a hexadecimal digit in lower case, -1 for any other character. */
static int hex_value_lower(char c)
{
    return ascii_is(c, ASCII_UPPER) ? -1 : ascii_hex(c);
}

bool codec_hex_decode(struct arena *arena, struct str text, struct str *ret_bytes)
{
    char *out;

    if (text.len % 2 != 0)
        return false;
    out = arena_alloc(arena, text.len / 2 + 1);
    for (size_t i = 0; i < text.len; i += 2) {
        int high = hex_value_lower(text.ptr[i]);
        int low = hex_value_lower(text.ptr[i + 1]);
        if (high < 0 || low < 0)
            return false;
        out[i / 2] = (char)(unsigned char)(high << 4 | low);
    }
    out[text.len / 2] = '\0';
    *ret_bytes = (struct str){out, text.len / 2};
    return true;
}

static bool has_escape(struct str text, bool plus_is_space)
{
    return text.len > 0 &&
           (memchr(text.ptr, '%', text.len) || (plus_is_space && memchr(text.ptr, '+', text.len)));
}

static bool
codec_unescape(struct arena *arena, struct str text, bool plus_is_space, struct str *ret)
{
    char *out = arena_alloc(arena, text.len + 1);
    size_t used = 0;

    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (c == '+' && plus_is_space)
            c = ' ';
        if (c == '%') { /* digits in either case (RFC 3986 section 2.1) */
            int high = text.len - i > 2 ? ascii_hex(text.ptr[i + 1]) : -1;
            int low = high >= 0 ? ascii_hex(text.ptr[i + 2]) : -1;
            if (low < 0)
                return false;
            c = (char)(unsigned char)(high << 4 | low);
            i += 2;
        }
        out[used++] = c;
    }
    out[used] = '\0';
    *ret = (struct str){out, used};
    return true;
}

bool codec_percent_decode(struct arena *arena, struct str text, bool plus_is_space, struct str *ret)
{
    struct str plain = text;

    if (has_escape(text, plus_is_space) && !codec_unescape(arena, text, plus_is_space, &plain))
        return false;
    if (plain.len > 0 && memchr(plain.ptr, '\0', plain.len))
        return false;
    if (!utf8_valid(plain))
        return false;
    *ret = plain;
    return true;
}

static bool is_unreserved(char c)
{
    return ascii_is(c, ASCII_ALNUM) || c == '-' || c == '.' || c == '_' || c == '~';
}

static bool is_ascii(char c)
{
    return (unsigned char)c < 0x80;
}

static struct str codec_escape(struct arena *arena, struct str text, bool (*stays)(char c))
{
    MUST(text.len < SIZE_MAX / 3);
    char *out = arena_alloc(arena, text.len * 3 + 1);
    size_t used = 0;

    for (size_t i = 0; i < text.len; i++) {
        unsigned char byte = (unsigned char)text.ptr[i];
        if (stays(text.ptr[i])) {
            out[used++] = text.ptr[i];
            continue;
        }
        out[used++] = '%';
        out[used++] = hex_upper[byte >> 4U];
        out[used++] = hex_upper[byte & 15U];
    }
    out[used] = '\0';
    return (struct str){out, used};
}

struct str codec_percent(struct arena *arena, struct str text)
{
    return codec_escape(arena, text, is_unreserved);
}

struct str codec_percent_ascii(struct arena *arena, struct str text)
{
    return codec_escape(arena, text, is_ascii);
}

void codec_form_add(struct strbuf *form, struct str name, struct str value)
{
    if (form->len > 0)
        strbuf_char(form, '&');
    strbuf_str(form, codec_percent(form->arena, name));
    strbuf_char(form, '=');
    strbuf_str(form, codec_percent(form->arena, value));
}
