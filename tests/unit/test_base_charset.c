/* common/core/base/charset: texts in other character sets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit.h"

#include "base/charset.h"

TEST(charsets_become_utf8)
{
    static const struct {
        const char *charset;
        struct str bytes;
        int rc;
        const char *text;
    } cases[] = {
        {"ISO-8859-1", STR_INIT("caf\xe9"), 0, "caf\xc3\xa9"},
        {"windows-1252", STR_INIT("\x80"), 0, "\xe2\x82\xac"},
        {"latin1", STR_INIT("\x81\x80"), 0, "\xc2\x81\xc2\x80"},
        {"iso-8859-15", STR_INIT("\xa4"), 0, "\xe2\x82\xac"},
        {"koi8-r", STR_INIT("\xc1"), 0, "\xd0\xb0"},
        {"utf-16le", STR_INIT("\xe9\0"), 0, "\xc3\xa9"},
        {"utf-16be", STR_INIT("\0\xe9"), 0, "\xc3\xa9"},
        {"utf-16", STR_INIT("\0a\0\xe9"), 0, "a\xc3\xa9"},
        {"utf-16", STR_INIT("a\0\xe9\0"), 0, "a\xc3\xa9"},
        {"utf-16le", STR_INIT("\x3d\xd8\0\xde"), 0, "\xf0\x9f\x98\x80"},
        {"utf-16le", STR_INIT("\x3d\xd8"), CHARSET_INVALID, NULL},
        {"utf-16le", STR_INIT("a\0b"), CHARSET_INVALID, NULL},
        {"shift_jis", STR_INIT("\x93"), CHARSET_INVALID, NULL},
        {"iso-2022-cn-ext", STR_INIT("a"), CHARSET_UNKNOWN, NULL},
        {"utf-7", STR_INIT("a"), CHARSET_UNKNOWN, NULL},
        {"../../x", STR_INIT("a"), CHARSET_UNKNOWN, NULL},
        {"", STR_INIT("a"), CHARSET_UNKNOWN, NULL},
        {"latin1", STR_INIT("\xe9\xe9\xe9"), 0, "\xc3\xa9\xc3\xa9\xc3\xa9"},
        {"latin1", STR_INIT("\xe9\xe9\xe9\xe9"), CHARSET_TOO_LARGE, NULL},
    };
    struct arena *arena = arena_new(0);
    struct str text;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int rc = charset_decode(arena, str_from(cases[i].charset), cases[i].bytes, 7, &text);
        assert_int_equal(rc, cases[i].rc);
        if (rc == 0)
            assert_true(str_is(text, cases[i].text));
    }
    assert_true(charset_is_utf8(STR("UTF-8")) && charset_is_utf8(STR("us-ascii")));
    assert_false(charset_is_utf8(STR("utf-16")) || charset_is_utf8(STR_NONE));
    arena_free(arena);
}
