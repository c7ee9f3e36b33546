/* Serving: responses, keep-alive, pipelining, bodies, half-close, cancellation, limits. */
#include "test_http_server.h"
#include "unit.h"

static struct test_server up;
static char buf[1 << 20];

static int say(int fd, const char *request)
{
    if (!client_send(fd, request, strlen(request)))
        return 0;
    return client_response(fd, buf, sizeof(buf), strncmp(request, "HEAD", 4) == 0);
}

#define GET(path) "GET " path " HTTP/1.1\r\nHost: h\r\n\r\n"

static long resident_kb(pid_t pid)
{
    char path[64];
    char line[256];
    long kb = 0;
    (void)snprintf(path, sizeof(path), "/proc/%d/status", pid);
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    while (fgets(line, sizeof(line), in))
        if (strncmp(line, "VmRSS:", 6) == 0)
            kb = strtol(line + 6, NULL, 10);
    (void)fclose(in);
    return kb;
}

/* L1: an idle connection keeps its struct and no other memory. This is the first test, because
 * later ones leave freed memory. */
TEST(test_idle_memory)
{
    static int fds[2000];
    long before = resident_kb(up.pid);
    for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
        fds[i] = client_open(&up);
        assert_int_equal(say(fds[i], GET("/ok")), 200);
    }
    long each = (resident_kb(up.pid) - before) * 1024 / (long)ARRAY_LEN(fds);
    print_message("%ld bytes an idle connection\n", each);
#ifndef GW_SANITIZE
    assert_true(each < 2048);
#endif
    for (size_t i = 0; i < ARRAY_LEN(fds); i++)
        (void)close(fds[i]);
    expect_stat(&up, "open", 1);
}

TEST(test_get)
{
    int fd = client_open(&up);
    assert_int_equal(say(fd, GET("/ok")), 200);
    assert_non_null(strstr(buf, "\r\nContent-Length: 2\r\n"));
    assert_non_null(strstr(buf, "\r\nX-Content-Type-Options: nosniff\r\n"));
    assert_non_null(strstr(buf, "\r\nCache-Control: no-store\r\n"));
    assert_non_null(strstr(buf, "\r\nDate: "));
    assert_null(strstr(buf, "Connection:"));
    assert_string_equal(strstr(buf, "\r\n\r\n") + 4, "ok");
    assert_int_equal(say(fd, GET("/nope")), 404);
    (void)close(fd);
}

TEST(test_head_and_others)
{
    int fd = client_open(&up);
    assert_int_equal(say(fd, "HEAD /ok HTTP/1.1\r\nHost: h\r\n\r\n"), 200);
    assert_non_null(strstr(buf, "\r\nContent-Length: 2\r\n"));
    assert_int_equal(say(fd, GET("/none")), 204);
    assert_null(strstr(buf, "Content-Length"));
    assert_int_equal(say(fd, GET("/fail")), 500);
    assert_non_null(strstr(buf, "\"internal\""));
    assert_int_equal(say(fd, GET("/stats")), 200);
    assert_non_null(strstr(buf, " failure=-5")); /* EIO, for the log */
    assert_int_equal(say(fd, GET("/stats")), 200);
    assert_non_null(strstr(buf, " failure=0"));
    assert_int_equal(say(fd, GET("/empty")), 500);
    assert_int_equal(say(fd, GET("/ok")), 200);
    (void)close(fd);
}

/* Sends `data` and reads to the end of the connection; returns the number of responses in buf. */
static size_t exchange_all(int fd, const char *data, size_t len)
{
    size_t count = 0;
    (void)client_send(fd, data, len);
    assert_true(client_read_all(fd, buf, sizeof(buf)) >= 0);
    for (const char *at = buf; (at = strstr(at, "\r\nDate: ")) != NULL; at++)
        count++;
    (void)close(fd);
    return count;
}

static size_t exchange_text(const char *request)
{
    return exchange_all(client_open(&up), request, strlen(request));
}

/* A header that is too long fails the answer, because half a line would swallow the next one. */
TEST(test_a_header_that_is_too_long)
{
    assert_int_equal(
        exchange_text("GET /long-header HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"), 1);
    assert_int_equal(strncmp(buf, "HTTP/1.1 500 ", 13), 0);
    assert_null(strstr(buf, "X-Long"));
    assert_non_null(strstr(buf, "\r\nConnection: close\r\n"));
}

TEST(test_keep_alive_rules)
{
    assert_int_equal(exchange_text("GET /ok HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"), 1);
    assert_non_null(strstr(buf, "\r\nConnection: close\r\n"));
    assert_int_equal(exchange_text("GET /ok HTTP/1.0\r\n\r\n"), 1);
    assert_non_null(strstr(buf, "\r\nConnection: close\r\n"));
    assert_int_equal(exchange_text("GET /ok HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"
                                   "GET /ok HTTP/1.0\r\n\r\n"),
                     2);
    assert_non_null(strstr(buf, "\r\nConnection: keep-alive\r\n"));
    /* H6: bytes after a request with "close" are never read as a request */
    assert_int_equal(
        exchange_text("GET /ok HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n" GET("/nope")), 1);
    assert_null(strstr(buf, "404"));
}

/* L6: a pipeline of a thousand requests, of which one is malformed. */
TEST(test_pipeline)
{
    static char text[128000];
    size_t len = 0;
    for (int i = 0; i < 1000; i++) {
        const char *request = i == 500 ? "GET /ok HTTP/1.1\r\nHost : h\r\n\r\n"
                              : i % 2
                                  ? GET("/nope")
                                  : "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nhi";
        memcpy(text + len, request, strlen(request));
        len += strlen(request);
    }
    assert_int_equal(exchange_all(client_open(&up), text, len), 501);
    char *at = buf;
    for (int i = 0; i < 500; i++) {
        assert_int_equal(status_of(at), i % 2 ? 404 : 200);
        at = strstr(at + 1, "HTTP/1.1 ");
    }
    assert_int_equal(status_of(at), 400);
    assert_non_null(strstr(at, "\r\nConnection: close\r\n"));
}

/* Each byte travels in a packet of its own. */
TEST(test_byte_by_byte)
{
    const char *text = "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
                       "4;a=b\r\nbody\r\n3\r\nend\r\n0\r\nT: v\r\n\r\n" GET(
                           "/ok") "GET /ok HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
    const int on = 1;
    int fd = client_open(&up);
    (void)setsockopt(fd, 6 /* TCP */, 1 /* TCP_NODELAY */, &on, sizeof(on));
    for (const char *c = text; *c; c++) {
        assert_true(client_send(fd, c, 1));
        (void)usleep(300);
    }
    assert_int_equal(exchange_all(fd, "", 0), 3);
    assert_non_null(strstr(buf, "bodyend"));
}

TEST(test_framing_faults)
{
    static const struct {
        const char *request;
        int status;
    } cases[] = {
        {"GET / HTTP/1.1\nHost: h\n\n", 400},
        {"GET / HTTP/1.1\r\n\r\n", 400},
        {"GET / HTTP/2.0\r\nHost: h\r\n\r\n", 505},
        {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400},
        {"BREW / HTTP/1.1\r\nHost: h\r\n\r\n", 501},
        {"GET / HTTP/1.1\r\nHost: h\r\nExpect: magic\r\n\r\n", 417},
        {"POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: "
         "chunked\r\n\r\n0x1\r\na\r\n0\r\n\r\n",
         400},
        {"POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n"
         "0\r\n\r\n",
         400},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        size_t count = exchange_text(cases[i].request);
        assert_int_equal(count, 1);
        assert_int_equal(status_of(buf), cases[i].status);
        assert_non_null(strstr(buf, "\r\nConnection: close\r\n"));
    }
}

#define EXPECTING(path)                                                                            \
    "POST " path " HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n"

TEST(test_continue)
{
    int fd = client_open(&up);

    const char *request = EXPECTING("/echo");

    assert_int_equal(say(fd, request), 100);
    assert_int_equal(say(fd, "body"), 200);
    assert_string_equal(strstr(buf, "\r\n\r\n") + 4, "body");
    /* the body is sent with the head: no 100 */
    assert_true(client_send(fd, request, strlen(request)));
    (void)usleep(1000);
    assert_int_equal(client_response(fd, buf, sizeof(buf), false), 100);
    assert_int_equal(say(fd, "BODY"), 200);
    /* no handler wants the body: answered without 100, and closed */
    request = EXPECTING("/nope");
    assert_true(client_send(fd, request, strlen(request)));
    assert_int_equal(exchange_all(fd, "", 0), 1);
    assert_int_equal(status_of(buf), 404);
    assert_non_null(strstr(buf, "\r\nConnection: close\r\n"));
}

/* A small body that no handler reads is skipped, a large one closes the connection. */
TEST(test_unread_body)
{
    int fd = client_open(&up);
    assert_int_equal(say(fd, "POST /nope HTTP/1.1\r\nHost: h\r\nContent-Length: 8\r\n\r\nGET "),
                     404);
    assert_null(strstr(buf, "Connection: close"));
    assert_int_equal(say(fd, "/xxx" GET("/ok")), 200);
    assert_int_equal(say(fd, "POST /nope HTTP/1.1\r\nHost: h\r\nContent-Length: 65537\r\n\r\n"),
                     404);
    assert_non_null(strstr(buf, "\r\nConnection: close\r\n"));
    (void)close(fd);
}

TEST(test_too_large)
{
    int fd = client_open(&up);
    assert_int_equal(
        say(fd, "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 10737418240\r\n\r\n"), 413);
    assert_non_null(strstr(buf, "\r\nConnection: close\r\n"));
    (void)close(fd);

    /* chunked without end: reading stops at the limit, and the answer still arrives */
    static char chunk[32768 + 8];
    memcpy(chunk, "8000\r\n", 6);
    memset(chunk + 6, 'x', 32768);
    memcpy(chunk + 6 + 32768, "\r\n", 2);
    fd = client_open(&up);
    const char *head = "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
    assert_true(client_send(fd, head, strlen(head)));
    for (int i = 0; i < 33; i++)
        (void)client_send(fd, chunk, sizeof(chunk));
    assert_int_equal(client_response(fd, buf, sizeof(buf), false), 413);
    (void)close(fd);
}

TEST(test_echo_sizes)
{
    static const size_t sizes[] = {1, 4095, 4096, 4097, 65535, 65536, 65537, 200000, 900000};
    static char body[900000];
    int fd = client_open(&up);
    for (size_t i = 0; i < sizeof(body); i++)
        body[i] = (char)('a' + i * 7 % 26);
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        char head[128];
        int len = snprintf(head,
                           sizeof(head),
                           "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: %zu\r\n\r\n",
                           sizes[i]);
        assert_true(client_send(fd, head, (size_t)len));
        assert_true(client_send(fd, body, sizes[i]));
        assert_int_equal(client_response(fd, buf, sizeof(buf), false), 200);
        assert_memory_equal(strstr(buf, "\r\n\r\n") + 4, body, sizes[i]);
        assert_int_equal(strlen(strstr(buf, "\r\n\r\n") + 4), sizes[i]);
    }
    (void)close(fd);
}

/* A streamed request body loses no byte while the handler is slow and does not read the socket. */
static void count_stream(const char *path)
{
    static char block[100003];
    char head[160];
    char expected[64];
    unsigned long long sum = 0;
    int fd = client_open(&up);
    for (size_t i = 0; i < sizeof(block); i++)
        block[i] = (char)(i * 31 % 251);
    int len = snprintf(head,
                       sizeof(head),
                       "PUT %s HTTP/1.1\r\nHost: h\r\nContent-Length: %zu\r\n\r\n",
                       path,
                       sizeof(block) * 100);
    assert_true(client_send(fd, head, (size_t)len));
    for (int i = 0; i < 100; i++) {
        assert_true(client_send(fd, block, sizeof(block)));
        for (size_t k = 0; k < sizeof(block); k++)
            sum += (unsigned char)block[k];
    }
    (void)snprintf(expected, sizeof(expected), "%zu %llu", sizeof(block) * 100, sum);
    assert_int_equal(client_response(fd, buf, sizeof(buf), false), 200);
    assert_string_equal(strstr(buf, "\r\n\r\n") + 4, expected);
    (void)close(fd);
}

TEST(test_stream_in)
{
    count_stream("/count");
    count_stream("/count-slow");
}

/* Reads a chunked body without keeping it; returns the number of data bytes, -1 when the body is
 * cut short. */
static long long read_chunked(int fd)
{
    FILE *in = fdopen(dup(fd), "r");
    static char line[32768 + 2];
    long long total = 0;
    assert_non_null(in);
    while (fgets(line, sizeof(line), in) && strcmp(line, "\r\n") != 0)
        continue;
    for (;;) {
        if (!fgets(line, sizeof(line), in)) {
            total = -1;
            break;
        }
        unsigned long size = strtoul(line, NULL, 16);
        if (fread(line, 1, size + 2, in) != size + 2) {
            total = -1;
            break;
        }
        total += (long long)size;
        if (size == 0)
            break;
    }
    (void)fclose(in);
    return total;
}

TEST(test_stream_out)
{
    int fd = client_open(&up);
    const char *request = GET("/stream?640");
    assert_true(client_send(fd, request, strlen(request)));
    (void)usleep(200000); /* the socket fills and the handler waits */
    assert_int_equal(read_chunked(fd), 640LL * 32768);
    assert_int_equal(say(fd, GET("/ok")), 200);
    (void)close(fd);
    /* cut short: the client can detect it */
    fd = client_open(&up);
    assert_true(client_send(fd, GET("/stream-broken"), strlen(GET("/stream-broken"))));
    assert_int_equal(read_chunked(fd), -1);
    (void)close(fd);
    /* HTTP/1.0 has no chunks: the body ends when the connection closes */
    fd = client_open(&up);
    assert_int_equal(exchange_all(fd, "GET /stream?1 HTTP/1.0\r\n\r\n", 26), 1);
    assert_null(strstr(buf, "chunked"));
    assert_int_equal(strlen(strstr(buf, "\r\n\r\n") + 4), 32768);
}

TEST(test_file)
{
    int fd = client_open(&up);
    assert_int_equal(say(fd, GET("/file")), 200);
    assert_int_equal(say(fd, "HEAD /file HTTP/1.1\r\nHost: h\r\n\r\n"), 200);
    assert_non_null(strstr(buf, "\r\nContent-Length: 300000\r\n"));
    assert_int_equal(say(fd, GET("/ok")), 200);
    (void)close(fd);
}

/* A client that lets the socket fill first receives each byte of a file once and in its place,
 * whether the kernel has the file in memory or not. */
TEST(test_file_bytes)
{
    static char all[PATTERN_BYTES + 4096];
    const char *const asked[] = {GET("/pattern"), GET("/pattern?1")};

    for (size_t i = 0; i < 2; i++) {
        int fd = client_open(&up);
        assert_true(client_send(fd, asked[i], strlen(asked[i])));
        (void)usleep(50000);
        assert_int_equal(client_response(fd, all, sizeof(all), false), 200);
        const char *body = strstr(all, "\r\n\r\n") + 4;
        for (size_t at = 1; at < PATTERN_BYTES; at++)
            if (body[at - 1] != pattern_at(at))
                fail_msg("byte %zu is wrong", at);
        assert_int_equal(say(fd, GET("/ok")), 200);
        (void)close(fd);
    }
}

TEST(test_big_response)
{
    static char big[(8 << 20) + 4096];
    int fd = client_open(&up);
    assert_true(client_send(fd, GET("/big"), strlen(GET("/big"))));
    (void)usleep(50000);
    assert_int_equal(client_response(fd, big, sizeof(big), false), 200);
    assert_int_equal(say(fd, GET("/ok")), 200);
    (void)close(fd);
}

TEST(test_half_close)
{
    int fd = client_open(&up);
    assert_true(client_send(fd, GET("/slow"), strlen(GET("/slow"))));
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    assert_int_equal(exchange_all(fd, "", 0), 1);
    assert_int_equal(status_of(buf), 200);
    /* two requests, then the client closes its side: both are answered */
    fd = client_open(&up);
    assert_true(client_send(fd, GET("/slow") GET("/ok"), strlen(GET("/slow") GET("/ok"))));
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    assert_int_equal(exchange_all(fd, "", 0), 2);
    /* half a request: no answer */
    fd = client_open(&up);
    assert_true(client_send(fd, "GET /ok HT", 10));
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    assert_int_equal(exchange_all(fd, "", 0), 0);
    fd = client_open(&up);
    const char *partial = "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nhalf";
    assert_true(client_send(fd, partial, strlen(partial)));
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    assert_int_equal(exchange_all(fd, "", 0), 0);
}

/* Requests of clients that reset while the handlers sleep are cancelled and reported once, and the
 * server frees them. */
TEST(test_client_gone)
{
    const struct linger reset = {.l_onoff = 1, .l_linger = 0};
    unsigned long cancelled = stat_of(&up, "cancelled");
    int fds[20];
    for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
        fds[i] = client_open(&up);
        const char *request =
            i % 2 ? GET("/hang") : "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nx";
        assert_true(client_send(fds[i], request, strlen(request)));
    }
    /* requests that still wait for their bodies are not in flight */
    expect_stat(&up, "flight", ARRAY_LEN(fds) / 2 + 1);
    for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
        (void)setsockopt(fds[i], SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
        (void)close(fds[i]);
    }
    expect_stat(&up, "flight", 1);
    expect_stat(&up, "cancelled", cancelled + ARRAY_LEN(fds));
    /* a reset in the middle of a stream */
    int fd = client_open(&up);
    assert_true(client_send(fd, GET("/stream?10000"), strlen(GET("/stream?10000"))));
    (void)usleep(50000);
    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    (void)close(fd);
    expect_stat(&up, "flight", 1);
}

static int begin(void **state UNUSED)
{
    struct http_config config = default_config();

    up = server_up(&config);
    return 0;
}

/* Fails when the server ends with another status than 0. */
static int end(void **state UNUSED)
{
    return server_down(&up);
}

GROUP(begin, end)
