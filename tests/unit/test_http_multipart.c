/* multipart/form-data: every split of the input gives the same result, and ambiguous input is
 * refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "unit.h"

#include "base/strbuf.h"
#include "http/multipart.h"

/* Delivers a text in chunks: first `first` bytes, then `step` bytes each. */
struct source {
    struct str rest;
    size_t first;
    size_t step;
};

static int source_read(void *arg, uint64_t max_total_bytes, struct str *ret_piece)
{
    struct source *source = arg;
    size_t len = source->first > 0 ? source->first : source->step;

    (void)max_total_bytes;
    if (len > source->rest.len)
        len = source->rest.len;
    source->first = 0;
    *ret_piece = (struct str){source->rest.ptr, len};
    source->rest = (struct str){source->rest.ptr + len, source->rest.len - len};
    return 0;
}

/* Returns "name|filename|type=data;" for each part, or "!<result>" at the end. */
static struct str
read_form(struct arena *arena, const char *type, struct str body, size_t first, size_t step)
{
    struct source source = {body, first, step};
    struct multipart *mp;
    struct multipart_part part;
    struct strbuf out;
    int rc;

    strbuf_init(&out, arena, 1 << 20);
    rc = multipart_new_from(arena, str_from(type), source_read, &source, 1 << 20, &mp);
    while (rc == 0) {
        struct str piece;
        rc = multipart_next(mp, &part);
        if (rc != 0 || !part.name.ptr)
            break;
        strbuf_str(&out, part.name);
        strbuf_char(&out, '|');
        strbuf_str(&out, part.filename.ptr ? part.filename : STR("-"));
        strbuf_char(&out, '|');
        strbuf_str(&out, part.content_type.ptr ? part.content_type : STR("-"));
        strbuf_char(&out, '=');
        do {
            rc = multipart_read(mp, &piece);
            if (rc == 0)
                strbuf_str(&out, piece);
        } while (rc == 0 && piece.len > 0);
        if (rc == 0)
            strbuf_char(&out, ';');
    }
    if (rc != 0)
        strbuf_printf(&out, "!%s", result_name(rc));
    return strbuf_view(&out);
}

#define TYPE "multipart/form-data; boundary=XyZ"
#define CD   "Content-Disposition: form-data; "
/* A part without data whose header has these parameters in addition to its name. */
#define NAMED(params) "--XyZ\r\n" CD "name=f; " params "\r\n\r\n\r\n--XyZ--"

static const struct {
    const char *type;
    const char *body;
    const char *expected;
} cases[] = {
    {TYPE, "--XyZ\r\n" CD "name=\"a\"\r\n\r\none\r\n--XyZ--\r\n", "a|-|-=one;"},
    {TYPE, "--XyZ\r\n" CD "name=a\r\n\r\none\r\n--XyZ--", "a|-|-=one;"},
    {TYPE, "--XyZ\r\n" CD "name=\"a\"\r\n\r\n\r\n--XyZ--\r\n", "a|-|-=;"},
    {TYPE,
     "--XyZ\r\n" CD "name=\"f\"; filename=\"x.png\"\r\nContent-Type: image/png\r\n\r\n"
     "\r\n--Xy\r\n--X\r--XyZ\n\r\n--XyZ\r\n" CD "name=\"b\"\r\n\r\n2\r\n--XyZ--\r\nepilogue",
     "f|x.png|image/png=\r\n--Xy\r\n--X\r--XyZ\n;b|-|-=2;"},
    {TYPE, "preamble\r\n--XyZ \t\r\n" CD "name=\"a\"\r\n\r\none\r\n--XyZ--\r\n", "a|-|-=one;"},
    {TYPE,
     "--XyZ\r\n" CD "name=\"a%22\\\"\\\\100%.txt\"\r\n\r\n\r\n--XyZ--",
     "a\"\"\\100%.txt|-|-=;"},
    {TYPE, "--XyZ\r\n" CD "name=\"\"\r\n\r\n\r\n--XyZ--", "|-|-=;"},
    {TYPE, "--XyZ\r\n" CD "name=\"a\"; filename=\"\"\r\n\r\n\r\n--XyZ--", "a||-=;"},
    /* file names: filename* takes precedence, encoded words and ISO-8859-1 are decoded */
    {TYPE,
     NAMED("filename=\"x\"; filename*=UTF-8''na%C3%AFve%20%22.txt"),
     "f|na\xc3\xafve \".txt|-=;"},
    {TYPE, NAMED("filename*=utf-8'de'%E2%82%AC.txt; filename=x"), "f|\xe2\x82\xac.txt|-=;"},
    {TYPE, NAMED("filename*=iso-8859-1''%A3.txt"), "f|\xc2\xa3.txt|-=;"},
    {TYPE, NAMED("filename=\"x\"; filename*=UTF-8''%FF"), "f|x|-=;"},
    {TYPE, NAMED("filename=\"x\"; filename*=UTF-8''%F"), "f|x|-=;"},
    {TYPE, NAMED("filename=\"x\"; filename*=koi8-r''%C1"), "f|x|-=;"},
    {TYPE, NAMED("filename=\"x\"; filename*=UTF-8"), "f|x|-=;"},
    {TYPE, NAMED("filename=\"=?utf-8?B?bmHDr3ZlLnR4dA==?=\""), "f|na\xc3\xafve.txt|-=;"},
    {TYPE, NAMED("filename=\"=?UTF-8?q?na=C3=AFve_one.txt?=\""), "f|na\xc3\xafve one.txt|-=;"},
    {TYPE,
     NAMED("filename=\"=?iso-8859-1*fr?Q?na=EFve?= =?us-ascii?Q?.txt?=\""),
     "f|na\xc3\xafve.txt|-=;"},
    {TYPE, NAMED("filename=\"=?utf-8?B?***?=\""), "f|=?utf-8?B?***?=|-=;"},
    {TYPE, NAMED("filename=\"=?koi8-r?B?wQ==?=\""), "f|=?koi8-r?B?wQ==?=|-=;"},
    {TYPE, NAMED("filename=\"a =?utf-8?Q?b?=\""), "f|a =?utf-8?Q?b?=|-=;"},
    {TYPE, NAMED("filename=\"na\xefve.txt\""), "f|na\xc3\xafve.txt|-=;"},
    {TYPE, NAMED("filename=\"x\"; filename*=UTF-8''a; filename*=UTF-8''b"), "!MULTIPART_INVALID"},
    {"Multipart/Form-Data; charset=utf-8; Boundary=\"X y\"",
     "--X y\r\n" CD "name=\"a\"\r\n\r\n1\r\n--X y--",
     "a|-|-=1;"},
    {TYPE, "--XyZ--\r\n", ""},
    /* refused */
    {TYPE, "", "!MULTIPART_INVALID"},
    {TYPE, "nothing", "!MULTIPART_INVALID"},
    {TYPE, "--XyZ\r\n" CD "name=\"a\"\r\n\r\none", "a|-|-=o!MULTIPART_INVALID"},
    {TYPE, "--XyZ\r\n" CD "name=\"a\"\r\n\r\none\r\n--XyZ", "a|-|-=one!MULTIPART_INVALID"},
    {TYPE, "--XyZ\r\n" CD "name=\"a\"\r\n\r\none\r\n--XyZa\r\n", "a|-|-=one!MULTIPART_INVALID"},
    {TYPE, "--XyZ\r\n" CD "name=\"a\"\r\n\r\n--XyZ--\r\n\r\n\r\n", "!MULTIPART_INVALID"},
    {TYPE, "--XyZ\r\n\r\none\r\n--XyZ--", "!MULTIPART_INVALID"},
    {TYPE, "--XyZ\r\nContent-Type: a/b\r\n\r\none\r\n--XyZ--", "!MULTIPART_INVALID"},
    {TYPE, "--XyZ\r\n" CD "filename=\"a\"\r\n\r\none\r\n--XyZ--", "!MULTIPART_INVALID"},
    {TYPE, "--XyZ\r\n" CD "name=\"a\"; name=\"b\"\r\n\r\none\r\n--XyZ--", "!MULTIPART_INVALID"},
    {TYPE,
     "--XyZ\r\n" CD "name=\"a\"\r\n" CD "name=\"b\"\r\n\r\none\r\n--XyZ--",
     "!MULTIPART_INVALID"},
    {TYPE, "--XyZ\r\n" CD "name=\"a\r\n\r\none\r\n--XyZ--", "!MULTIPART_INVALID"},
    {TYPE, "--XyZ\r\n" CD "name=\"a\xff\"\r\n\r\none\r\n--XyZ--", "!MULTIPART_INVALID"},
    {TYPE, "--XyZ\r\n" CD "name=\"a\001\"\r\n\r\none\r\n--XyZ--", "!MULTIPART_INVALID"},
    {TYPE, "--XyZ\r\n" CD "name=\"a\"\nX: y\r\n\r\none\r\n--XyZ--", "!MULTIPART_INVALID"},
    {TYPE,
     "--XyZ\r\nContent-Disposition : form-data; name=a\r\n\r\none\r\n--XyZ--",
     "!MULTIPART_INVALID"},
    {TYPE,
     "--XyZ\r\nContent-Disposition: attachment; name=a\r\n\r\none\r\n--XyZ--",
     "!MULTIPART_INVALID"},
    {TYPE,
     "--XyZ\r\n" CD "name=a\r\nContent-Transfer-Encoding: base64\r\n\r\none\r\n--XyZ--",
     "!MULTIPART_INVALID"},
    {"multipart/form-data", "--XyZ--", "!MULTIPART_INVALID"},
    {"multipart/form-data; boundary=", "----", "!MULTIPART_INVALID"},
    {"multipart/form-data; boundary=a; boundary=b", "--a--", "!MULTIPART_INVALID"},
    {"multipart/form-data; boundary=\"a\x01\"", "--a--", "!MULTIPART_INVALID"},
    {"multipart/form-data; boundary=\"a \"", "--a --", "!MULTIPART_INVALID"},
    {"multipart/form-data; boundary="
     "12345678901234567890123456789012345678901234567890123456789012345678901",
     "",
     "!MULTIPART_INVALID"},
    {"multipart/mixed; boundary=XyZ", "--XyZ--", "!MULTIPART_INVALID"},
    {"text/plain", "", "!MULTIPART_INVALID"},
};

static void assert_result(struct str result, const char *expected)
{
    /* A part that ends in a fault may have been delivered in part. */
    const char *fault = strstr(expected, "=o!");
    if (fault) {
        assert_true(str_ends(result, STR("!MULTIPART_INVALID")));
        return;
    }
    assert_int_equal(result.len, strlen(expected));
    assert_memory_equal(result.ptr ? result.ptr : "", expected, result.len);
}

TEST(test_every_split)
{
    struct arena *arena = arena_new(0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct str body = str_from(cases[i].body);
        for (size_t first = 1; first <= body.len + 1; first++) {
            assert_result(read_form(arena, cases[i].type, body, first, body.len + 1),
                          cases[i].expected);
            arena_reset(arena);
        }
        for (size_t step = 1; step < 9; step++) {
            assert_result(read_form(arena, cases[i].type, body, step, step), cases[i].expected);
            arena_reset(arena);
        }
    }
    arena_free(arena);
}

/* A part that is larger than the window and full of prefixes of the delimiter. */
TEST(test_large_part)
{
    static char body[200000];
    struct arena *arena = arena_new(0);
    const char *head = "--XyZ\r\n" CD "name=\"a\"\r\n\r\n";
    size_t len = strlen(head);
    memcpy(body, head, len);
    while (len < 150000) {
        memcpy(body + len, "\r\n--XyY", 7);
        len += 7;
    }
    size_t data = len - strlen(head);
    memcpy(body + len, "\r\n--XyZ--", 9);
    len += 9;
    for (size_t step = 1000; step < 70000; step += 6001) {
        struct str out = read_form(arena, TYPE, (struct str){body, len}, step, step);
        assert_int_equal(out.len, strlen("a|-|-=") + data + 1);
        assert_memory_equal(out.ptr + 6, body + strlen(head), data);
        arena_reset(arena);
    }
    arena_free(arena);
}

TEST(test_limits)
{
    struct arena *arena = arena_new(0);
    struct strbuf body;
    struct source source;
    struct multipart *mp;
    struct multipart_part part;
    struct str data;
    int rc = 0;

    strbuf_init(&body, arena, 1 << 20);
    for (int i = 0; i < 101; i++)
        strbuf_cstr(&body, "--XyZ\r\n" CD "name=\"a\"\r\n\r\n0123456789\r\n");
    strbuf_cstr(&body, "--XyZ--");
    source = (struct source){strbuf_view(&body), 0, 4096};
    assert_int_equal(multipart_new_from(arena, STR(TYPE), source_read, &source, 1, &mp), 0);
    for (int i = 0; i < 100; i++)
        assert_int_equal(multipart_next(mp, &part), 0);
    assert_int_equal(multipart_next(mp, &part), MULTIPART_TOO_LARGE);

    source = (struct source){strbuf_view(&body), 0, 4096};
    assert_int_equal(multipart_new_from(arena, STR(TYPE), source_read, &source, 1, &mp), 0);
    assert_int_equal(multipart_next(mp, &part), 0);
    assert_int_equal(multipart_read_all(mp, 10, &data), 0);
    assert_true(str_is(data, "0123456789"));
    assert_int_equal(multipart_next(mp, &part), 0);
    assert_int_equal(multipart_read_all(mp, 9, &data), MULTIPART_TOO_LARGE);

    /* a head of 9,000 bytes */
    body.len = 0;
    strbuf_cstr(&body, "--XyZ\r\n" CD "name=\"a\"\r\nX-Long: ");
    for (int i = 0; i < 9000; i++)
        strbuf_char(&body, 'x');
    strbuf_cstr(&body, "\r\n\r\n\r\n--XyZ--");
    source = (struct source){strbuf_view(&body), 0, 4096};
    assert_int_equal(multipart_new_from(arena, STR(TYPE), source_read, &source, 1, &mp), 0);
    rc = multipart_next(mp, &part);
    assert_int_equal(rc, MULTIPART_INVALID);
    arena_free(arena);
}

/* Every refusal has a reason that says what is wrong. */
TEST(test_reasons)
{
    static const struct {
        const char *body;
        const char *reason;
    } wrong[] = {
        {"--XyZ\r\n" CD "name=\"a\xff\"\r\n\r\none\r\n--XyZ--", "the name of a part is not UTF-8"},
        {"--XyZ\r\n" CD "name=\"a\r\n\r\none\r\n--XyZ--",
         "a parameter of a Content-Disposition header is malformed"},
        {"--XyZ\r\n" CD "filename=\"a\"\r\n\r\none\r\n--XyZ--", "a part has no name"},
        {"--XyZ\r\nContent-Type: a/b\r\n\r\none\r\n--XyZ--",
         "a part has no Content-Disposition header"},
        {"--XyZ\r\n" CD "name=a\r\nContent-Transfer-Encoding: base64\r\n\r\n\r\n--XyZ--",
         "the Content-Transfer-Encoding of a part must be binary"},
        {"nothing", "the last boundary is missing"},
    };
    struct multipart_part part;
    struct multipart *mp;

    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        struct arena *arena = arena_new(0);
        struct source source = {str_from(wrong[i].body), 0, 4096};
        assert_int_equal(multipart_new_from(arena, STR(TYPE), source_read, &source, 1, &mp), 0);
        assert_int_equal(multipart_next(mp, &part), MULTIPART_INVALID);
        assert_string_equal(multipart_reason(mp), wrong[i].reason);
        arena_free(arena);
    }
}
