/* Serving: responses, keep-alive, pipelining, bodies, half-close, cancellation, limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "test_http_server.h"

static struct test_server up;
static char buf[1 << 20];

static int say(int fd, const char *request)
{
    if (!client_send(fd, request, strlen(request)))
        return 0;
    return client_response(fd, buf, sizeof(buf), strncmp(request, "HEAD", 4) == 0);
}

#define GET(path) "GET " path " HTTP/1.1\r\nHost: h\r\n\r\n"

static void test_get(void **state)
{
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_get)};
    struct http_config config = default_config();
    up = server_up(&config);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    int status = server_down(&up);
    if (status != 0)
        (void)fprintf(stderr, "the server ended with status %x\n", (unsigned)status);
    return failed + (status != 0);
}
