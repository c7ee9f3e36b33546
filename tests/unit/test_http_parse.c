/*
 * Framing (attack catalogue H1-H9), without sockets. Each case is read whole, split in two at every
 * byte, and byte by byte; all ways must give the same result.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "unit.h"

#include <stdlib.h>

#include "http_reader.h"

static struct arena *arena;

#define H       "Host: h\r\n"
#define GET1    "GET / HTTP/1.1\r\n" H
#define POST1   "POST / HTTP/1.1\r\n" H
#define CHUNKED POST1 "Transfer-Encoding: chunked\r\n\r\n"
#define CASE(text, expected)                                                                       \
    {                                                                                              \
        STR_INIT(text), expected                                                                   \
    }

static const struct {
    struct str text;
    const char *expected;
} cases[] = {
    /* good */
    CASE(GET1 "\r\n", "GET / 0: "),
    CASE("\r\n" GET1 "\r\n", "GET / 0: "),
    CASE(GET1 "\r\n" GET1 "\r\n", "GET / 0: GET / 0: "),
    CASE("GET /a?b=c?d HTTP/1.1\r\n" H "\r\n", "GET /a?b=c?d 0: "),
    CASE("GET /a? HTTP/1.1\r\n" H "\r\n", "GET /a 0: "),
    CASE("GET / HTTP/1.0\r\n\r\n", "GET / close 0: "),
    CASE("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "GET / 0: "),
    CASE(GET1 "Connection: x, Close\r\n\r\n", "GET / close 0: "),
    CASE("OPTIONS * HTTP/1.1\r\n" H "\r\n", "OPTIONS * 0: "),
    CASE("GET http://h/a?b HTTP/1.1\r\n" H "\r\n", "GET /a?b 0: "),
    CASE("GET HTTP://H HTTP/1.1\r\n" H "\r\n", "GET / 0: "),
    CASE("GET / HTTP/1.1\r\nhOsT:h:80\r\nX:\r\nY: \t a b \t\r\n\r\n", "GET / 0: "),
    CASE("GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", "GET / 0: "),
    CASE(POST1 "Content-Length: 4\r\n\r\nbodyGET", "POST / 4:body ..."),
    CASE(POST1 "Content-Length:4\r\n\r\nbody" GET1 "\r\n", "POST / 4:body GET / 0: "),
    CASE(POST1 "Content-Length: 0\r\n\r\n", "POST / 0: "),
    CASE(GET1 "Content-Length: 4\r\n\r\nbody", "GET / 4:body "),
    CASE(CHUNKED "4\r\nbody\r\n0\r\n\r\n" GET1 "\r\n", "POST / 4:body GET / 0: "),
    CASE(CHUNKED "1A;a;b=c;d=\"e\\\"\"\r\nabcdefghijklmnopqrstuvwxyz\r\n000\r\nT: v\r\n\r\n",
         "POST / 26:abcdefghijklmnopqrstuvwxyz "),
    CASE(GET1 "Upgrade: websocket\r\nConnection: upgrade\r\n\r\n" GET1 "\r\n",
         "GET / 0: GET / 0: "),
    CASE(GET1 "Connection: close\r\n\r\n" GET1 "\r\n", "GET / close 0: GET / 0: "),
    /* H1: lengths */
    CASE(POST1 "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "!400 "),
    CASE(POST1 "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n", "!400 "),
    CASE(POST1 "Content-Length: 4\r\nContent-Length: 5\r\n\r\nbody", "!400 "),
    CASE(POST1 "Content-Length: 4\r\nContent-Length: 4\r\n\r\nbody", "!400 "),
    CASE(POST1 "Content-Length: 4, 4\r\n\r\nbody", "!400 "),
    CASE(POST1 "Content-Length: +4\r\n\r\nbody", "!400 "),
    CASE(POST1 "Content-Length: 0x4\r\n\r\nbody", "!400 "),
    CASE(POST1 "Content-Length: 4_0\r\n\r\nbody", "!400 "),
    CASE(POST1 "Content-Length:  4\t\r\n\r\nbody", "!400 "),
    CASE(POST1 "Content-Length: 4 \r\n\r\nbody", "!400 "),
    CASE(POST1 "Content-Length:\t\t4\r\n\r\nbody", "!400 "),
    CASE(POST1 "Content-Length:\r\n\r\nbody", "!400 "),
    CASE(POST1 "Content-Length: -1\r\n\r\nbody", "!400 "),
    CASE(POST1 "Content-Length: 18446744073709551616\r\n\r\nbody", "!400 "),
    CASE(POST1 "Content-Length: 18446744073709551620\r\n\r\nbody", "!400 "),
    CASE(POST1 "Content-Length: 9223372036854775808\r\n\r\nbody", "!400 "),
    CASE(POST1 "Content-Length: 4 4\r\n\r\nbody", "!400 "),
    CASE(POST1 "Content-Length: four\r\n\r\nbody", "!400 "),
    /* H2: codings */
    CASE(POST1 "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
         "!400 "),
    CASE(POST1 "Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n0\r\n\r\n", "!400 "),
    CASE(POST1 "Transfer-Encoding: ,chunked\r\n\r\n0\r\n\r\n", "!400 "),
    CASE(POST1 "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n", "!400 "),
    CASE(POST1 "Transfer-Encoding: identity\r\n\r\n0\r\n\r\n", "!400 "),
    CASE(POST1 "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "!400 "),
    CASE(POST1 "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", "!501 "),
    CASE(POST1 "Transfer-Encoding: gzip\r\n\r\n0\r\n\r\n", "!501 "),
    CASE(POST1 "Transfer-Encoding: \x0b"
               "chunked\r\n\r\n0\r\n\r\n",
         "!400 "),
    CASE(POST1 "Transfer-Encoding: chunked \r\n\r\n0\r\n\r\n", "!400 "),
    CASE(POST1 "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n", "!400 "),
    CASE(POST1 "Transfer-Encoding:\r\n\r\n0\r\n\r\n", "!400 "),
    CASE(POST1 "Transfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n", "!400 "),
    CASE("POST / HTTP/1.0\r\n" H "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "!400 "),
    CASE(POST1 "Transfer-Encoding: CHUNKED\r\n\r\n0\r\n\r\n", "POST / 0: "),
    /* H3: chunks */
    CASE(CHUNKED "0x4\r\nbody\r\n0\r\n\r\n", "POST / !400 "),
    CASE(CHUNKED "+4\r\nbody\r\n0\r\n\r\n", "POST / !400 "),
    CASE(CHUNKED "-4\r\nbody\r\n0\r\n\r\n", "POST / !400 "),
    CASE(CHUNKED "\r\nbody\r\n0\r\n\r\n", "POST / !400 "),
    CASE(CHUNKED ";a\r\nbody\r\n0\r\n\r\n", "POST / !400 "),
    CASE(CHUNKED "00000000000000004\r\nbody\r\n0\r\n\r\n", "POST / !400 "),
    CASE(CHUNKED "0000000000000004\r\nbody\r\n0\r\n\r\n", "POST / 4:body "),
    CASE(CHUNKED "ffffffffffffffff\r\nbody\r\n0\r\n\r\n", "POST / !400 "),
    CASE(CHUNKED "10000000000000004\r\nbody\r\n0\r\n\r\n", "POST / !400 "),
    CASE(CHUNKED "4 ;\r\nbody\r\n0\r\n\r\n", "POST / !400 "),
    CASE(CHUNKED "4 \r\nbody\r\n0\r\n\r\n", "POST / !400 "),
    CASE(CHUNKED " 4\r\nbody\r\n0\r\n\r\n", "POST / !400 "),
    CASE(CHUNKED "4;\r\nbody\r\n0\r\n\r\n", "POST / !400 "),
    CASE(CHUNKED "4;a=\r\nbody\r\n0\r\n\r\n", "POST / !400 "),
    CASE(CHUNKED "4;a=b;\r\nbody\r\n0\r\n\r\n", "POST / !400 "),
    CASE(CHUNKED "4;a=\"b\r\nbody\r\n0\r\n\r\n", "POST / !400 "),
    CASE(CHUNKED "4;a=\"b\"c\r\nbody\r\n0\r\n\r\n", "POST / !400 "),
    CASE(CHUNKED "4;a b\r\nbody\r\n0\r\n\r\n", "POST / !400 "),
    CASE(CHUNKED "4;a\nbody\r\n0\r\n\r\n", "POST / !400 "),
    CASE(CHUNKED "4\nbody\r\n0\r\n\r\n", "POST / !400 "),
    CASE(CHUNKED "4\rXbody\r\n0\r\n\r\n", "POST / !400 "),
    CASE(CHUNKED "4\r\nbody0\r\n\r\n", "POST / !400 "),
    CASE(CHUNKED "4\r\nbody\n0\r\n\r\n", "POST / !400 "),
    CASE(CHUNKED "4\r\nbody\rX0\r\n\r\n", "POST / !400 "),
    CASE(CHUNKED "4\r\nbodyy\r\n0\r\n\r\n", "POST / !400 "),
    CASE(CHUNKED "4\r\nbody\r\n0\r\n\n", "POST / !400 "),
    CASE(CHUNKED "0\r\nbad trailer\r\n\r\n", "POST / !400 "),
    CASE(CHUNKED "0\r\n: v\r\n\r\n", "POST / !400 "),
    CASE(CHUNKED "0\r\nT: v\n\r\n", "POST / !400 "),
    CASE(CHUNKED "0\r\n folded\r\n\r\n", "POST / !400 "),
    CASE(CHUNKED "4\r\nbo", "POST / ..."),
    /* H4: bytes and lines */
    CASE("GET / HTTP/1.1\nHost: h\n\n", "!400 "),
    CASE("GET / HTTP/1.1\r\nHost: h\n\r\n", "!400 "),
    CASE("GET / HTTP/1.1\r\nHost: h\r\n\n", "!400 "),
    CASE("GET / HTTP/1.1\r\nHost: h\rX: y\r\n\r\n", "!400 "),
    CASE("GET / HTTP/1.1\r\nHost: h\r\r\n\r\n", "!400 "),
    CASE(GET1 "X: a\0b\r\n\r\n", "!400 "),
    CASE(GET1 "X: a\x7f\r\n\r\n", "!400 "),
    CASE("GET / HTTP/1.1\r\nHost: h\x80\r\n\r\n", "!400 "),
    CASE(GET1 "Cookie: name=Jos\xc3\xa9; b=\xff\r\n\r\n", "GET / 0: "),
    CASE(GET1 "X: a\xe2\x80\xa8"
              "Content-Length: 5\r\n\r\n",
         "GET / 0: "),
    CASE(GET1 "Content-Length: \xb2\r\n\r\n", "!400 "),
    CASE(GET1 "X\xc3\xa9: a\r\n\r\n", "!400 "),
    CASE(GET1 "X : a\r\n\r\n", "!400 "),
    CASE(GET1 "X\t: a\r\n\r\n", "!400 "),
    CASE(GET1 "X Y: a\r\n\r\n", "!400 "),
    CASE(GET1 "X\r\n\r\n", "!400 "),
    CASE(GET1 ": a\r\n\r\n", "!400 "),
    CASE(GET1 " X: a\r\n\r\n", "!400 "),
    CASE(GET1 "X: a\r\n b\r\n\r\n", "!400 "),
    CASE(GET1 "X: a\r\n\tb\r\n\r\n", "!400 "),
    CASE(GET1 "X(: a\r\n\r\n", "!400 "),
    CASE("GET / HTTP/1.1\r\n " H "\r\n", "!400 "),
    CASE("\n" GET1 "\r\n", "!400 "),
    CASE("\r\n\r\n" GET1 "\r\n", "!400 "),
    CASE(" GET / HTTP/1.1\r\n" H "\r\n", "!400 "),
    CASE("GET  / HTTP/1.1\r\n" H "\r\n", "!400 "),
    CASE("GET /  HTTP/1.1\r\n" H "\r\n", "!400 "),
    CASE("GET / HTTP/1.1 \r\n" H "\r\n", "!400 "),
    CASE("GET\t/ HTTP/1.1\r\n" H "\r\n", "!400 "),
    CASE("GET /a b HTTP/1.1\r\n" H "\r\n", "!400 "),
    CASE("GET /\xc3\xa9 HTTP/1.1\r\n" H "\r\n", "!400 "),
    CASE("GET /#f HTTP/1.1\r\n" H "\r\n", "!400 "),
    CASE("GET /\r\n\r\n", "!400 "),
    CASE("GET\r\n\r\n", "!400 "),
    CASE("\x16\x03\x01\x02", "!400 "),
    /* methods and versions */
    CASE("get / HTTP/1.1\r\n" H "\r\n", "!501 "),
    CASE("TRACE / HTTP/1.1\r\n" H "\r\n", "!501 "),
    CASE("BREW / HTTP/1.1\r\n" H "\r\n", "!501 "),
    CASE("CONNECT h:80 HTTP/1.1\r\n" H "\r\n", "!501 "),
    CASE("G@T / HTTP/1.1\r\n" H "\r\n", "!400 "),
    CASE("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "!400 "),
    CASE("GET / HTTP/2.0\r\n" H "\r\n", "!505 "),
    CASE("GET / HTTP/1.2\r\n" H "\r\n", "!505 "),
    CASE("GET / HTTP/0.9\r\n" H "\r\n", "!505 "),
    CASE("GET / HTTP/1.10\r\n" H "\r\n", "!400 "),
    CASE("GET / HTTP/1,1\r\n" H "\r\n", "!400 "),
    CASE("GET / http/1.1\r\n" H "\r\n", "!400 "),
    CASE("GET / RTSP/1.0\r\n" H "\r\n", "!400 "),
    CASE("GET / ICE/1.0\r\n" H "\r\n", "!400 "),
    /* H5: hosts and targets */
    CASE("GET / HTTP/1.1\r\n\r\n", "!400 "),
    CASE("GET / HTTP/1.1\r\nX: y\r\n\r\n", "!400 "),
    CASE(GET1 H "\r\n", "!400 "),
    CASE("GET / HTTP/1.0\r\n" H H "\r\n", "!400 "),
    CASE("GET / HTTP/1.1\r\nHost:\r\n\r\n", "!400 "),
    CASE("GET / HTTP/1.1\r\nHost: h/x\r\n\r\n", "!400 "),
    CASE("GET / HTTP/1.1\r\nHost: u@h\r\n\r\n", "!400 "),
    CASE("GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", "!400 "),
    CASE("GET / HTTP/1.1\r\nHost: a b\r\n\r\n", "!400 "),
    CASE("GET / HTTP/1.1\r\nHost: h:8a\r\n\r\n", "!400 "),
    CASE("GET / HTTP/1.1\r\nHost: h:123456\r\n\r\n", "!400 "),
    CASE("GET / HTTP/1.1\r\nHost: [::1\r\n\r\n", "!400 "),
    CASE("GET / HTTP/1.1\r\nHost: []\r\n\r\n", "!400 "),
    CASE("GET / HTTP/1.1\r\nHost: [::1/x]\r\n\r\n", "!400 "),
    CASE("GET / HTTP/1.1\r\nHost: [<b>]\r\n\r\n", "!400 "),
    CASE("GET / HTTP/1.1\r\nHost: [a b]:80\r\n\r\n", "!400 "),
    CASE("GET http://other/ HTTP/1.1\r\n" H "\r\n", "!400 "),
    CASE("GET http://h:80/ HTTP/1.1\r\n" H "\r\n", "!400 "),
    CASE("GET http://u@h/ HTTP/1.1\r\n" H "\r\n", "!400 "),
    CASE("GET http:///a HTTP/1.1\r\n" H "\r\n", "!400 "),
    CASE("GET ftp://h/ HTTP/1.1\r\n" H "\r\n", "!400 "),
    CASE("GET h:80 HTTP/1.1\r\n" H "\r\n", "!400 "),
    CASE("GET * HTTP/1.1\r\n" H "\r\n", "!400 "),
    CASE("GET a HTTP/1.1\r\n" H "\r\n", "!400 "),
    /* H6: expectations */
    CASE(POST1 "Expect: 100-Continue\r\nContent-Length: 1\r\n\r\nx", "POST / 1:x "),
    CASE(POST1 "Expect: 200-maybe\r\n\r\n", "!417 "),
};

static void check(size_t i, struct str result, const char *how, size_t split)
{
    if (!str_is(result, cases[i].expected))
        fail_msg("case %zu (%.*s) %s %zu gave \"%.*s\", not \"%s\"",
                 i,
                 STR_ARG(cases[i].text),
                 how,
                 split,
                 STR_ARG(result),
                 cases[i].expected);
}

TEST(test_every_split)
{
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct str text = cases[i].text;
        struct reader reader;
        for (size_t split = 0; split < text.len; split++) {
            reader_init(&reader, arena);
            read_bytes(&reader, (struct str){text.ptr, split});
            read_bytes(&reader, (struct str){text.ptr + split, text.len - split});
            check(i, read_end(&reader), "split at", split);
            arena_reset(arena);
        }
        reader_init(&reader, arena);
        for (size_t at = 0; at < text.len; at++)
            read_bytes(&reader, (struct str){text.ptr + at, 1});
        check(i, read_end(&reader), "byte by byte", 0);
        arena_reset(arena);
    }
}

/* Every byte value is tried in each place that must not accept all of them. */
TEST(test_every_byte)
{
    for (int c = 0; c < 256; c++) {
        char text[] = "GET /_ HTTP/1.1\r\nHost: h\r\nX-_: _\r\n\r\n";
        bool visible = c > ' ' && c < 127;
        bool token = visible && !strchr("\"(),/:;<=>?@[\\]{}", c);
        const struct {
            size_t at;
            bool good;
        } places[] = {
            {5, visible && c != '#'},
            {28, token || c == ':'}, /* "X-:: _" is a field X- with the value ": _" */
            {31, visible || c == ' ' || c == '\t' || c >= 0x80},
        };
        for (size_t i = 0; i < ARRAY_LEN(places); i++) {
            struct reader reader;
            char was = text[places[i].at];
            bool good;
            text[places[i].at] = (char)c;
            reader_init(&reader, arena);
            read_bytes(&reader, (struct str){text, sizeof(text) - 1});
            good = !reader.failed;
            if (good != places[i].good)
                fail_msg("byte %d at %zu: %s", c, places[i].at, good ? "accepted" : "refused");
            text[places[i].at] = was;
            arena_reset(arena);
        }
    }
}

static int status_of_head(struct str text)
{
    struct reader reader;
    int status = 0;

    reader_init(&reader, arena);
    read_bytes(&reader, text);
    if (reader.failed)
        status = (int)strtol(strchr(strbuf_cstring(&reader.out), '!') + 1, NULL, 10);
    return status;
}

/* L5: sizes. Returns the status of a request in which `unit` is repeated between head and end. */
static int status_of_repeat(const char *head, const char *unit, size_t count, const char *end)
{
    struct strbuf text;
    int status;

    strbuf_init(&text, arena, 16U << 20);
    strbuf_cstr(&text, head);
    for (size_t i = 0; i < count; i++)
        strbuf_cstr(&text, unit);
    strbuf_cstr(&text, end);
    status = status_of_head(strbuf_view(&text));
    arena_reset(arena);
    return status;
}

TEST(test_sizes)
{
    const char *end = " HTTP/1.1\r\nHost: h\r\n\r\n";
    assert_int_equal(status_of_repeat("GET /", "a", 16383, end), 0);
    assert_int_equal(status_of_repeat("GET /", "a", 16384, end), 414);
    assert_int_equal(status_of_repeat("GET /", "a", 65536, end), 414);
    assert_int_equal(status_of_repeat("GET /", "a", 1 << 20, ""), 414);
    assert_int_equal(status_of_repeat(GET1, "X: y\r\n", 99, "\r\n"), 0);
    assert_int_equal(status_of_repeat(GET1, "X: y\r\n", 100, "\r\n"), 431);
    assert_int_equal(status_of_repeat(GET1, "X: y\r\n", 10000, "\r\n"), 431);
    assert_int_equal(status_of_repeat(GET1 "X: ", "y", 32000, "\r\n\r\n"), 0);
    assert_int_equal(status_of_repeat(GET1 "X: ", "y", 32768, "\r\n\r\n"), 431);
    assert_int_equal(status_of_repeat(GET1 "X: ", "y", 1 << 20, "\r\n\r\n"), 431);
    assert_int_equal(status_of_repeat(CHUNKED "4;", "a", 250, "\r\nbody\r\n0\r\n\r\n"), 0);
    assert_int_equal(status_of_repeat(CHUNKED "4;", "a", 256, "\r\nbody\r\n0\r\n\r\n"), 400);
    assert_int_equal(status_of_repeat(CHUNKED "0\r\n", "T: v\r\n", 100, "\r\n"), 0);
    assert_int_equal(status_of_repeat(CHUNKED "0\r\n", "T: v\r\n", 10000, "\r\n"), 400);
}

static int begin(void **state UNUSED)
{
    arena = arena_new(0);
    return 0;
}

static int end(void **state UNUSED)
{
    arena_free(arena);
    return 0;
}

GROUP(begin, end)
