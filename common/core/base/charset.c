/* Charsets, decoded by glibc's iconv. */
#include "base/charset.h"

#include <errno.h>
#include <iconv.h>

#include "base/ascii.h"
#include "base/panic.h"

#define UTF8_BYTES_MAX 4 /* per character */

/* A name as peers write it (IANA, WHATWG), and the decoders for it. charset_decode() tries them in
 * order until one accepts the bytes. */
struct charset {
    const char *name;
    const char *decoders[2];
};

#define LATIN_1                                                                                    \
    {                                                                                              \
        "CP1252", "ISO-8859-1"                                                                     \
    }
static const struct charset charsets[] = {
    {"utf-16", {NULL, NULL}}, /* utf16_decoder() chooses by the bytes */
    {"utf-16le", {"UTF-16LE", NULL}},
    {"utf-16be", {"UTF-16BE", NULL}},
    {"iso-8859-1", LATIN_1},
    {"iso8859-1", LATIN_1},
    {"iso_8859-1", LATIN_1},
    {"latin1", LATIN_1},
    {"latin-1", LATIN_1},
    {"l1", LATIN_1},
    {"windows-1252", LATIN_1},
    {"cp1252", LATIN_1},
    {"iso-8859-2", {"ISO-8859-2", NULL}},
    {"iso-8859-3", {"ISO-8859-3", NULL}},
    {"iso-8859-4", {"ISO-8859-4", NULL}},
    {"iso-8859-5", {"ISO-8859-5", NULL}},
    {"iso-8859-6", {"ISO-8859-6", NULL}},
    {"iso-8859-7", {"ISO-8859-7", NULL}},
    {"iso-8859-8", {"ISO-8859-8", NULL}},
    {"iso-8859-9", {"ISO-8859-9", NULL}},
    {"iso-8859-10", {"ISO-8859-10", NULL}},
    {"iso-8859-13", {"ISO-8859-13", NULL}},
    {"iso-8859-14", {"ISO-8859-14", NULL}},
    {"iso-8859-15", {"ISO-8859-15", NULL}},
    {"iso-8859-16", {"ISO-8859-16", NULL}},
    {"windows-1250", {"CP1250", NULL}},
    {"windows-1251", {"CP1251", NULL}},
    {"windows-1253", {"CP1253", NULL}},
    {"windows-1254", {"CP1254", NULL}},
    {"windows-1255", {"CP1255", NULL}},
    {"windows-1256", {"CP1256", NULL}},
    {"windows-1257", {"CP1257", NULL}},
    {"windows-1258", {"CP1258", NULL}},
    {"koi8-r", {"KOI8-R", NULL}},
    {"koi8-u", {"KOI8-U", NULL}},
    {"shift_jis", {"SJIS", NULL}},
    {"euc-jp", {"EUC-JP", NULL}},
    {"euc-kr", {"EUC-KR", NULL}},
    {"gb2312", {"GB18030", NULL}},
    {"gbk", {"GB18030", NULL}},
    {"gb18030", {"GB18030", NULL}},
    {"big5", {"BIG5", NULL}},
};

bool charset_is_utf8(struct str name)
{
    static const char *const names[] = {"utf-8", "utf8", "us-ascii", "ascii"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_ieq(name, str_from(names[i])))
            return true;
    return false;
}

static const struct charset *charset_find(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(charsets); i++)
        if (str_ieq(name, str_from(charsets[i].name)))
            return &charsets[i];
    return NULL;
}

/* Chooses the byte order. A zero is the high half of an ASCII character; in big-endian texts the
 * high half comes first. */
static const char *utf16_decoder(struct str bytes)
{
    size_t zeros[2] = {0, 0};

    for (size_t i = 0; i < bytes.len; i++)
        zeros[i % 2] += bytes.ptr[i] == 0;
    return zeros[0] > zeros[1] ? "UTF-16BE" : "UTF-16LE";
}

static int decode_with(
    struct arena *arena, const char *decoder, struct str bytes, size_t most, struct str *ret_text)
{
    iconv_t converter = iconv_open("UTF-8", decoder);
    if (converter == (iconv_t)-1) /* NOLINT(performance-no-int-to-ptr): iconv's failure */
        return CHARSET_UNKNOWN;
    size_t capacity = bytes.len <= most / UTF8_BYTES_MAX ? bytes.len * UTF8_BYTES_MAX : most;
    char *text = arena_alloc(arena, capacity + 1);
    char *in = (char *)bytes.ptr;
    char *out = text;
    size_t in_left = bytes.len;
    size_t out_left = capacity;
    int rc = 0;

    if (iconv(converter, &in, &in_left, &out, &out_left) == (size_t)-1)
        rc = errno == E2BIG ? CHARSET_TOO_LARGE : CHARSET_INVALID;
    MUST(iconv_close(converter) == 0);
    if (rc == 0)
        *ret_text = (struct str){text, (size_t)(out - text)};
    return rc;
}

int charset_decode(
    struct arena *arena, struct str name, struct str bytes, size_t most, struct str *ret_text)
{
    const struct charset *charset = charset_find(name);
    int rc = CHARSET_UNKNOWN;

    if (charset == NULL)
        return CHARSET_UNKNOWN;
    if (charset->decoders[0] == NULL)
        return decode_with(arena, utf16_decoder(bytes), bytes, most, ret_text);
    for (size_t i = 0; i < ARRAY_LEN(charset->decoders) && charset->decoders[i] != NULL; i++) {
        rc = decode_with(arena, charset->decoders[i], bytes, most, ret_text);
        if (rc != CHARSET_INVALID)
            break;
    }
    return rc;
}
