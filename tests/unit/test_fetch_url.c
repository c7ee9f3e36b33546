/* Which addresses and URLs may be dialled: both ends of every special range, every spelling. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit.h"

#include "base/arena.h"
#include "fetch/fetch.h"
#include "fetch/fetch_address_private.h"
#include "fetch/fetch_url_private.h"

/* First and last address of each range, and the neighbours of the range where these are public. */
TEST(test_addresses)
{
    const struct {
        const char *first;
        const char *last;
        const char *before;
        const char *after;
    } ranges[] = {
        {"0.0.0.0", "0.255.255.255", NULL, "1.0.0.0"},
        {"10.0.0.0", "10.255.255.255", "9.255.255.255", "11.0.0.0"},
        {"100.64.0.0", "100.127.255.255", "100.63.255.255", "100.128.0.0"},
        {"127.0.0.0", "127.255.255.255", "126.255.255.255", "128.0.0.0"},
        {"169.254.0.0", "169.254.255.255", "169.253.255.255", "169.255.0.0"},
        {"172.16.0.0", "172.31.255.255", "172.15.255.255", "172.32.0.0"},
        {"192.0.0.0", "192.0.0.255", "191.255.255.255", "192.0.1.0"},
        {"192.0.2.0", "192.0.2.255", "192.0.1.255", "192.0.3.0"},
        {"192.31.196.0", "192.31.196.255", "192.31.195.255", "192.31.197.0"},
        {"192.52.193.0", "192.52.193.255", "192.52.192.255", "192.52.194.0"},
        {"192.88.99.0", "192.88.99.255", "192.88.98.255", "192.88.100.0"},
        {"192.168.0.0", "192.168.255.255", "192.167.255.255", "192.169.0.0"},
        {"192.175.48.0", "192.175.48.255", "192.175.47.255", "192.175.49.0"},
        {"198.18.0.0", "198.19.255.255", "198.17.255.255", "198.20.0.0"},
        {"198.51.100.0", "198.51.100.255", "198.51.99.255", "198.51.101.0"},
        {"203.0.113.0", "203.0.113.255", "203.0.112.255", "203.0.114.0"},
        {"224.0.0.0", "239.255.255.255", "223.255.255.255", NULL},
        {"240.0.0.0", "255.255.255.255", NULL, NULL},
        {"::", "::1", NULL, NULL},
        {"::127.0.0.1", "::255.255.255.255", NULL, NULL},
        {"::ffff:0.0.0.0", "::ffff:255.255.255.255", NULL, NULL},
        {"::ffff:8.8.8.8", "::ffff:127.0.0.1", NULL, NULL},
        {"64:ff9b::", "64:ff9b::ffff:ffff", NULL, NULL},
        {"64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff", NULL, NULL},
        {"100::", "100::ffff:ffff:ffff:ffff", NULL, NULL},
        {"1fff:ffff::", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", NULL, NULL},
        {"2001::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", "2000:ffff::", "2001:200::"},
        {"2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db7::", "2001:db9::"},
        {"2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2001:ffff::", "2003::"},
        {"2620:4f:8000::", "2620:4f:8000:ffff::", "2620:4f:7fff::", "2620:4f:8001::"},
        {"3ffe::", "3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "3ffd:ffff::", NULL},
        {"3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", NULL, "3fff:1000::"},
        {"4000::", "5f00::1", NULL, NULL},
        {"fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", NULL, NULL},
        {"fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", NULL, NULL},
        {"fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", NULL, NULL},
        {"ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", NULL, NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(ranges); i++) {
        assert_false(fetch_address_text_is_public(ranges[i].first));
        assert_false(fetch_address_text_is_public(ranges[i].last));
        if (ranges[i].before)
            assert_true(fetch_address_text_is_public(ranges[i].before));
        if (ranges[i].after)
            assert_true(fetch_address_text_is_public(ranges[i].after));
    }
    assert_true(fetch_address_text_is_public("8.8.8.8"));
    assert_true(fetch_address_text_is_public("2606:4700::1111"));
    assert_false(fetch_address_text_is_public("example.com"));
    assert_false(fetch_address_text_is_public(""));
    assert_false(fetch_address_text_is_public("fe80::1%lo"));
}

static const struct str allow[] = {
    STR_INIT("internal.test"),
    STR_INIT("127.0.0.1:8080"),
    STR_INIT("[::1]:9090"),
    STR_INIT("10.1.2.3"),
};

static int allow_setup(void **state UNUSED)
{
    fetch_url_allow(allow, ARRAY_LEN(allow));
    return 0;
}

static int allow_teardown(void **state UNUSED)
{
    fetch_url_allow_done();
    return 0;
}

static void assert_all(const char *const *urls, size_t count, int rc)
{
    for (size_t i = 0; i < count; i++) {
        int got = fetch_url_check(str_from(urls[i]));
        if (got != rc)
            fail_msg("%s: %d, not %d", urls[i], got, rc);
    }
}

TEST_WITH(test_good_urls, allow_setup, allow_teardown)
{
    const char *urls[] = {
        "http://example.com",
        "https://example.com/",
        "HTTPS://EXAMPLE.com/a?b=c#d",
        "http://example.com./",
        "http://example.com:80/",
        "https://example.com:443/",
        "http://example.com:443/a@b",
        "http://example.com/?u=http://a@b/\x7e",
        "http://8.8.8.8/",
        "http://[2606:4700::1111]/",
        "http://internal.test/",
        "http://INTERNAL.test./",
        "http://127.0.0.1:8080/",
        "http://127.1:8080/",
        "http://[::1]:9090/",
        "http://10.1.2.3/",
        "https://10.1.2.3:443/",
        "http://xn--bcher-kva.example/",
    };
    assert_all(urls, ARRAY_LEN(urls), 0);
}

/* S1: one address, many spellings. */
TEST_WITH(test_refused_urls, allow_setup, allow_teardown)
{
    const char *urls[] = {
        "http://127.0.0.1/",
        "http://127.0.0.1./",
        "http://2130706433/",
        "http://017700000001/",
        "http://0x7f000001/",
        "http://0x7F.0.0.1/",
        "http://0177.0.0.1/",
        "http://127.1/",
        "http://127.0.1/",
        "http://0/",
        "http://0.0.0.0/",
        "http://169.254.169.254/latest/meta-data",
        "http://[::1]/",
        "http://[::]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::ffff:7f00:1]/",
        "http://[0:0:0:0:0:ffff:7f00:1]/",
        "http://[64:ff9b::7f00:1]/",
        "http://[2002:7f00:1::]/",
        "http://[fd00::1]/",
        "http://10.1.2.4/",
        "http://10.1.2.3:8080/",
        "http://127.0.0.1:8081/",
        "http://[::1]:9091/",
        "http://internal.test:8080/",
        "http://example.com:25/",
        "http://example.com:5432/",
        "http://example.com:6379/",
        "http://example.com:8080/",
        "https://example.com:65535/",
    };
    assert_all(urls, ARRAY_LEN(urls), FETCH_REFUSED);
}

/* S4: URLs that two parsers could read differently are refused. */
TEST_WITH(test_bad_urls, allow_setup, allow_teardown)
{
    const char *urls[] = {
        "",
        "example.com",
        "//example.com/",
        "/path",
        "ftp://example.com/",
        "file:///etc/passwd",
        "gopher://example.com/",
        "javascript:alert(1)",
        "http:example.com",
        "http:/example.com",
        "http:///example.com/",
        "http://",
        "http://?",
        "http://:80/",
        "http://a@b/",
        "http://@b/",
        "http://a:b@example.com/",
        "http://a\\@b/",
        "http://example.com\\.evil.test/",
        "http://exam ple.com/",
        "http://example.com/a b",
        "http://example.com/\t",
        "http://example.com/\r\nX: y",
        " http://example.com/",
        "http://b\xc3\xbc"
        "cher.example/",
        "http://127\xe3\x80\x82"
        "0.0.1/",
        "http://%31%32%37.0.0.1/",
        "http://example%2ecom/",
        "http://[fe80::1%25lo]/",
        "http://[fe80::1%lo]/",
        "http://[::1/",
        "http://::1/",
        "http://[]/",
        "http://[v1.a]/",
        "http://example.com:0/",
        "http://example.com:65536/",
        "http://example.com:-1/",
        "http://example.com:80:80/",
        "http://example.com:0x50/",
        "http://example..com/",
        "http://.example.com/",
        "http://example.com../",
        "http://./",
        "http://127.1./",
        "http://2130706433./",
        "http://0x7f000001./",
        "http://1.2.3.4.5/",
        "http://256.256.256.256/",
        "http://example.0x10/",
        "http://example.99/",
    };
    assert_all(urls, ARRAY_LEN(urls), FETCH_BAD_URL);

    static char longest[FETCH_MAX_URL_BYTES + 1] = "http://example.com/";
    memset(longest + 19, 'a', sizeof(longest) - 19);
    assert_int_equal(fetch_url_check((struct str){longest, FETCH_MAX_URL_BYTES}), 0);
    assert_int_equal(fetch_url_check((struct str){longest, sizeof(longest)}), FETCH_BAD_URL);
    assert_int_equal(fetch_url_check(STR("http://example.com/\0x")), FETCH_BAD_URL);
}

/* A stored URL is parsed as at first, and judged by today's rules. */
TEST(test_again)
{
    const struct str url = STR("https://LocalHost.:8080/a/../b?c=d#e");
    struct arena *arena = arena_new(0);
    struct fetch_url read;

    assert_int_equal(fetch_url_parse_cached(arena, STR(""), &read), FETCH_BAD_URL);
    assert_int_equal(fetch_url_parse_cached(arena, STR("http://10.0.0.1/"), &read), FETCH_REFUSED);
    assert_int_equal(fetch_url_parse_cached(arena, url, &read), FETCH_REFUSED);
    const struct str host = STR("localhost:8080");
    fetch_url_allow(&host, 1);
    for (int i = 0; i < 100; i++) {
        struct str other = arena_printf(arena, "http://example.com/%d", i);
        assert_int_equal(fetch_url_parse_cached(arena, other, &read), 0);
        assert_true(!read.secure && !read.any_address && read.port == 80);
        assert_true(str_eq(read.target, arena_printf(arena, "/%d", i)));
        assert_int_equal(fetch_url_parse_cached(arena, url, &read), 0);
        assert_true(read.secure && read.any_address && read.port == 8080);
        assert_string_equal(read.host, "LocalHost");
        assert_true(str_is(read.target, "/b?c=d"));
    }
    fetch_url_allow_done();
    assert_int_equal(fetch_url_parse_cached(arena, url, &read), FETCH_REFUSED);
    assert_int_equal(fetch_url_parse_cached(arena, STR("http://example.com"), &read), 0);
    assert_true(str_is(read.target, "/"));
    fetch_url_allow(NULL, 0);
    fetch_url_allow_done();
    arena_free(arena);
}

TEST(test_escaped)
{
    static const struct {
        const char *url, *escaped;
    } rows[] = {
        {"https://x.example/\xc3\xa9?q=\xc3\x9f&r=%20", "https://x.example/%C3%A9?q=%C3%9F&r=%20"},
        {"https://b\xc3\xbc.example/\xc3\xa9", "https://b\xc3\xbc.example/%C3%A9"},
        {"https://x.example/a%c3?b#c", "https://x.example/a%c3?b#c"},
        {"/\xc3\xa9", "/\xc3\xa9"},
    };
    struct arena *arena = arena_new(0);

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (!str_is(fetch_url_escape(arena, str_from(rows[i].url)), rows[i].escaped))
            fail_msg("%s", rows[i].url);
    arena_free(arena);
}

/* The target of a Location header is judged like every address. */
TEST(test_joined)
{
    static const struct {
        const char *location;
        int rc;
        const char *url;
    } rows[] = {
        {"/c?d#e", 0, "https://example.com/c?d"},
        {"c", 0, "https://example.com/a/c"},
        {"../c", 0, "https://example.com/c"},
        {"?q", 0, "https://example.com/a/b?q"},
        {"//example.org/c", 0, "https://example.org/c"},
        {"http://example.org/c", 0, "http://example.org/c"},
        {"/\xc3\xa9 x", 0, "https://example.com/%c3%a9%20x"},
        {"?q=\xc3\xa9 x+y", 0, "https://example.com/a/b?q=%c3%a9%20x+y"},
        {"http://10.0.0.1/", FETCH_REFUSED, NULL},
        {"http://169.254.169.254/latest", FETCH_REFUSED, NULL},
        {"http://[::1]/", FETCH_REFUSED, NULL},
        {"http://0x7f000001/", FETCH_REFUSED, NULL},
        {"https://example.org:8443/", FETCH_REFUSED, NULL},
        {"https://a@example.org/", FETCH_BAD_URL, NULL},
        {"https://a:b@example.org/", FETCH_BAD_URL, NULL},
        {"file:///etc/passwd", FETCH_BAD_URL, NULL},
        {"gopher://example.org/", FETCH_BAD_URL, NULL},
        {"https://b\xc3\xbc.example/", FETCH_BAD_URL, NULL},
        {"/a\nb", FETCH_BAD_URL, NULL},
        {"", FETCH_BAD_URL, NULL},
    };
    struct arena *arena = arena_new(0);

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct str url = STR("untouched");
        int rc = fetch_url_join(
            arena, STR("https://example.com/a/b?x"), str_from(rows[i].location), &url);
        if (rc != rows[i].rc || !str_is(url, rc == 0 ? rows[i].url : "untouched"))
            fail_msg("%s: %d, %.*s", rows[i].location, rc, STR_ARG(url));
    }
    arena_free(arena);
}
