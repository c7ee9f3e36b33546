/* Names, types and links of files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "unit.h"

#include "files/link.h"
#include "files/name.h"
#include "files/store_s3_private.h"
#include "files/type.h"

static struct arena *arena;

static const struct {
    const char *sent, *kept;
} names[] = {
    {"report.pdf", "report.pdf"},
    {"../../etc/passwd", "passwd"},
    {"/", "file"},
    {"", "file"},
    {".", "file"},
    {"..", "file"},
    {".htaccess", ".htaccess"},
    {"a/b\\c.txt", "c.txt"},
    {"C:\\Users\\x.doc", "x.doc"},
    {"a\r\nSet-Cookie: b", "aSet-Cookie: b"},
    {"nul.txt. . ", "nul.txt"},
    {"x\xe2\x80\xaegpj.exe", "xgpj.exe"},
    {"\xef\xbb\xbfx\xe2\x80\xa8y\xe2\x81\xa6z", "xyz"},
    {"\xc2\x85\xc2\xa0x", "\xc2\xa0x"},
    {"bad\xff.txt", "bad\xef\xbf\xbd.txt"},
    {"\xe6\x97\xa5.txt", "\xe6\x97\xa5.txt"},
};

TEST(test_names)
{
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        assert_string_equal(arena_cstr(arena, file_name_clean(arena, str_from(names[i].sent))),
                            names[i].kept);
    assert_true(file_name_is_clean(arena, STR("a b.txt")));
    assert_false(file_name_is_clean(arena, STR("a/b")));
    assert_false(file_name_is_clean(arena, STR("")));
    assert_true(str_is(file_name_clean(arena, (struct str){"a\0b", 3}),
                       "a\xef\xbf\xbd"
                       "b"));
}

/* A long name is shortened, but keeps its ending and whole characters. */
TEST(test_long_names)
{
    char name[4096];

    for (size_t len = 250; len < 270; len++) {
        memset(name, 'x', len);
        memcpy(name + len, ".jpeg", 6);
        struct str kept = file_name_clean(arena, str_from(name));
        assert_true(kept.len <= FILE_NAME_BYTES && str_ends(kept, STR(".jpeg")));
    }
    for (size_t i = 0; i < 1000; i++)
        memcpy(name + 3 * i, "\xe6\x97\xa5", 3);
    assert_int_equal(file_name_clean(arena, (struct str){name, 3000}).len, 255);
    memset(name, ' ', 300);
    memset(name, 'x', 250);
    name[299] = 'y';
    assert_int_equal(file_name_clean(arena, (struct str){name, 300}).len, 250);
}

TEST(test_types)
{
    char type[128];

    type_detect(STR("%PDF-1.4\n"), type, sizeof(type));
    assert_string_equal(type, "application/pdf");
    type_detect(
        STR("\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\x01\0\0\0\x01\x08\2\0\0\0"), type, sizeof(type));
    assert_string_equal(type, "image/png");
    type_detect(STR("<!DOCTYPE html><html>"), type, sizeof(type));
    assert_string_equal(type, "text/html");
    type_detect(STR(""), type, sizeof(type));
    assert_string_equal(type, "application/octet-stream");
    assert_true(str_is(type_refine(STR("text/plain"), STR("a.CSS")), "text/css"));
    assert_true(str_is(type_refine(STR("text/x-c"), STR("a.b.mjs")), "text/javascript"));
    assert_true(str_is(type_refine(STR("text/html"), STR("readme.md")), "text/markdown"));
    assert_true(str_is(type_refine(STR("text/plain"), STR("csv")), "text/plain"));
    assert_true(str_is(type_refine(STR("text/html"), STR("page.html")), "text/html"));
    assert_true(str_is(type_refine(STR("text/plain"), STR_NONE), "text/plain"));
    assert_true(str_is(type_refine(STR("image/png"), STR("a.css")), "image/png"));
    assert_true(type_is_inline(STR("image/png")));
    assert_false(type_is_inline(STR("image/svg+xml")));
    assert_false(type_is_inline(STR("text/html")));
    assert_false(type_is_inline(STR("application/pdf")));
    assert_false(type_is_inline(STR("image/tiff")));
    assert_true(type_has_variants(STR("image/png")));
    assert_true(type_has_variants(STR("image/tiff")));
    assert_true(type_has_variants(STR("image/heic")));
    assert_false(type_has_variants(STR("image/svg+xml")));
    assert_string_equal(type_kind(STR("image/svg+xml")), "image");
    assert_string_equal(type_kind(STR("application/zip")), "archive");
    assert_string_equal(type_kind(STR("application/vnd.oasis.opendocument.text")), "document");
    assert_string_equal(type_kind(STR("application/octet-stream")), "other");
}

static const struct aead_key keys[] = {{.id = 7, .bytes = {1}}, {.id = 8, .bytes = {2}}};

TEST(test_links)
{
    const struct file_link link = {.project = 12, .file = 34};
    const struct file_link others[] = {{13, 34}, {12, 35}, {34, 12}};
    struct str token = file_link_sign(arena, &keys[1], &link, 2000);
    int64_t end_s = 0;

    assert_int_equal(token.len, FILE_LINK_BYTES);
    assert_int_equal(file_link_verify(arena, keys, 2, &link, token, 1999999, &end_s), 0);
    assert_int_equal(end_s, 2000);
    assert_int_equal(file_link_verify(arena, keys, 2, &link, token, 2000000, &end_s),
                     FILE_LINK_EXPIRED);
    assert_int_equal(file_link_verify(arena, keys, 1, &link, token, 0, &end_s), FILE_LINK_BAD);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(file_link_verify(arena, keys, 2, &others[i], token, 0, &end_s),
                         FILE_LINK_BAD);
    for (size_t i = 0; i < token.len; i++) {
        char *changed = arena_cstr(arena, token);
        changed[i] = changed[i] == 'A' ? 'B' : 'A';
        assert_int_equal(file_link_verify(arena, keys, 2, &link, str_from(changed), 0, &end_s),
                         FILE_LINK_BAD);
    }
    assert_int_equal(file_link_verify(arena, keys, 2, &link, STR(""), 0, &end_s), FILE_LINK_BAD);
}

/* The XML of a store is read, also when it is cut short at any byte. */
TEST(test_xml)
{
    const struct str list =
        STR("<?xml version=\"1.0\"?><R xmlns=\"x\"><U><Key>1/ab</Key><Id>one</Id></U>"
            "<U><Key></Key></U><IsTruncated>true</IsTruncated></R>");
    struct str rest = list;
    struct str upload;

    assert_true(s3_xml_next(&rest, "U", &upload));
    assert_true(str_is(s3_xml_text(upload, "Key"), "1/ab"));
    assert_true(str_is(s3_xml_text(upload, "Id"), "one"));
    assert_true(s3_xml_next(&rest, "U", &upload));
    assert_int_equal(s3_xml_text(upload, "Key").len, 0);
    assert_null(s3_xml_text(upload, "Id").ptr);
    assert_false(s3_xml_next(&rest, "U", &upload));
    assert_true(str_is(s3_xml_text(list, "IsTruncated"), "true"));
    for (size_t len = 0; len < list.len; len++) {
        char *copy = malloc(len + 1);
        assert_non_null(copy);
        memcpy(copy, list.ptr, len);
        rest = (struct str){copy, len};
        while (s3_xml_next(&rest, "U", &upload))
            (void)s3_xml_text(upload, "Key");
        if (len < list.len - strlen("</R>"))
            assert_null(s3_xml_text((struct str){copy, len}, "IsTruncated").ptr);
        free(copy);
    }
    assert_null(s3_xml_text(STR_NONE, "U").ptr);
    assert_true(s3_is_plain(STR("\"ab-2\"")) && s3_is_plain(STR("2~x/y")));
    assert_false(s3_is_plain(STR("")) || s3_is_plain(STR("a b")) || s3_is_plain(STR("a&quot;")) ||
                 s3_is_plain(STR("<x>")));
}

static int set_up(void **state UNUSED)
{
    arena = arena_new(0);
    return 0;
}

static int tear_down(void **state UNUSED)
{
    arena_free(arena);
    return 0;
}

GROUP(set_up, tear_down)
