/* gzip and deflate: formats, and how much of a body one call reads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "unit.h"

#include "base/arena.h"
#include "base/gunzip.h"

/* An empty gzip member, as `gzip < /dev/null` writes it. */
static const char empty_member[20] = {'\x1f', '\x8b', '\x08', 0, 0, 0, 0, 0, 0, '\x03',
                                      '\x03', 0,      0,      0, 0, 0, 0, 0, 0, 0};

/* Empty members produce no output, so a call must end by the bytes that it has read. */
TEST(test_a_call_takes_few_bytes)
{
    const size_t members = 50000;
    struct arena *arena = arena_new(0);
    char *body = arena_alloc(arena, members * sizeof(empty_member));
    struct gunzip *gunzip = gunzip_new(arena);
    struct str input = {body, members * sizeof(empty_member)};
    char out[64];
    size_t made;

    for (size_t i = 0; i < members; i++)
        memcpy(body + i * sizeof(empty_member), empty_member, sizeof(empty_member));
    while (input.len > 0) {
        size_t before = input.len;
        assert_true(gunzip_step(gunzip, &input, out, sizeof(out), &made));
        assert_int_equal(made, 0);
        assert_in_range(before - input.len, 1, 16384);
    }
    assert_true(gunzip_is_complete(gunzip));
    arena_free(arena);
}

/* "aaaaaaaa" in each of the formats that servers call deflate, one byte at a time. */
TEST(deflate_has_three_formats)
{
    static const struct str packed[] = {
        STR_INIT("\x78\x9c\x4b\x4c\x84\x00\x00\x0d\xac\x03\x09"),
        STR_INIT("\x4b\x4c\x84\x00\x00"),
        STR_INIT("\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03"
                 "\x4b\x4c\x84\x00\x00\x46\x80\x84\xbf\x08\x00\x00\x00"),
    };
    struct arena *arena = arena_new(0);

    for (size_t i = 0; i < ARRAY_LEN(packed); i++) {
        struct gunzip *gunzip = gunzip_new_deflate(arena);
        char out[16];
        size_t len = 0;
        for (size_t at = 0; at < packed[i].len + 1; at++) {
            /* Bytes after the end are dropped. */
            struct str byte = at < packed[i].len ? (struct str){packed[i].ptr + at, 1} : STR("x");
            size_t made;
            assert_int_equal(gunzip_is_complete(gunzip), at == packed[i].len);
            assert_true(gunzip_step(gunzip, &byte, out + len, sizeof(out) - len, &made));
            len += made;
        }
        assert_true(str_is((struct str){out, len}, "aaaaaaaa"));
        assert_true(gunzip_is_complete(gunzip));
    }
    arena_free(arena);
}
