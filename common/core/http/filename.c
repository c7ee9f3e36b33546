/* Decodes file names in headers. */
#include "http/filename_private.h"

#include "base/ascii.h"
#include "base/codec.h"
#include "base/strbuf.h"
#include "base/utf8.h"

/* Converts ISO-8859-1, whose bytes are the first 256 code points. */
static struct str latin1_to_utf8(struct arena *arena, struct str bytes)
{
    char *out = arena_alloc(arena, 2 * bytes.len + 1);
    size_t len = 0;

    for (size_t i = 0; i < bytes.len; i++)
        len += utf8_encode(out + len, (unsigned char)bytes.ptr[i]);
    return (struct str){out, len};
}

/* Converts bytes of a named character set to UTF-8. False: unknown set or invalid bytes. */
static bool filename_convert(struct arena *arena, struct str charset, struct str *bytes)
{
    bool is_utf8 = str_ieq(charset, STR("utf-8"));

    if (is_utf8 || str_ieq(charset, STR("us-ascii")))
        return utf8_valid(*bytes);
    if (!str_ieq(charset, STR("iso-8859-1")))
        return false;
    *bytes = latin1_to_utf8(arena, *bytes);
    return true;
}

/* Decodes escapes of `mark` and two hexadecimal digits, such as "%2f" or "=2F". */
static bool escapes_decode(struct arena *arena, struct str text, char mark, struct str *ret_bytes)
{
    char *out = arena_alloc(arena, text.len + 1);
    size_t len = 0;

    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (c == mark) {
            int high = i + 2 < text.len ? ascii_hex(text.ptr[i + 1]) : -1;
            int low = i + 2 < text.len ? ascii_hex(text.ptr[i + 2]) : -1;
            if (high < 0 || low < 0)
                return false;
            c = (char)(high << 4 | low);
            i += 2;
        } else if (mark == '=' && c == '_') {
            c = ' ';
        }
        out[len++] = c;
    }
    *ret_bytes = (struct str){out, len};
    return true;
}

/* Takes an encoded word, "=?charset*language?B?text?=", off `rest`. */
static bool encoded_word_take(struct arena *arena, struct str *rest, struct str *ret_text)
{
    struct str word = *rest;

    if (!str_starts(word, STR("=?")))
        return false;
    word = (struct str){word.ptr + 2, word.len - 2};
    struct str charset = str_split(&word, '?');
    struct str encoding = str_split(&word, '?');
    struct str text = str_split(&word, '?');
    if (!word.ptr || word.len == 0 || word.ptr[0] != '=')
        return false;
    charset = str_split(&charset, '*');
    *rest = (struct str){word.ptr + 1, word.len - 1};
    if (str_ieq(encoding, STR("b")))
        return codec_b64_decode(arena, text, ret_text) &&
               filename_convert(arena, charset, ret_text);
    return str_ieq(encoding, STR("q")) && escapes_decode(arena, text, '=', ret_text) &&
           filename_convert(arena, charset, ret_text);
}

/* Blanks between encoded words are not part of the name (RFC 2047 section 6.2). */
static bool encoded_words(struct arena *arena, struct str sent, struct str *ret_name)
{
    struct strbuf name;
    struct str text;

    strbuf_init(&name, arena, 2 * sent.len + 1);
    for (struct str rest = str_trim(sent); rest.len > 0; rest = str_trim(rest)) {
        if (!encoded_word_take(arena, &rest, &text))
            return false;
        strbuf_str(&name, text);
    }
    *ret_name = strbuf_view(&name);
    return name.len > 0 && !name.overflow;
}

struct str filename_decode(struct arena *arena, struct str sent)
{
    struct str name;

    if (encoded_words(arena, sent, &name))
        return name;
    return utf8_valid(sent) ? sent : latin1_to_utf8(arena, sent);
}

bool filename_decode_extended(struct arena *arena, struct str value, struct str *ret_name)
{
    struct str charset = str_split(&value, '\'');
    struct str language = str_split(&value, '\'');

    (void)language;
    return value.len > 0 && escapes_decode(arena, value, '%', ret_name) &&
           filename_convert(arena, charset, ret_name);
}
