/* Limits of time, rate, counts and descriptors, and draining, on servers with small limits. */
#include <sys/resource.h>

#include "unit.h"

#include "test_http_server.h"

static struct test_server up;
static char buf[1 << 20];

#define GET(path) "GET " path " HTTP/1.1\r\nHost: h\r\n\r\n"

static bool send_text(int fd, const char *text)
{
    return client_send(fd, text, strlen(text));
}

static int say(int fd, const char *request)
{
    return send_text(fd, request) ? client_response(fd, buf, sizeof(buf), false) : 0;
}

static bool is_any(const char *peer)
{
    (void)peer;
    return true;
}

static struct http_config small_config(void)
{
    struct http_config config = default_config();
    config.limits.header_time_ms = 300;
    config.limits.idle_ms = 600;
    config.limits.requests_max = 4;
    config.limits.connections_max = 40;
    config.is_proxy = is_any; /* one client may have all connections */
    config.request_timeout_ms = 700;
    return config;
}

static int start_small(void **state UNUSED)
{
    struct http_config config = small_config();
    up = server_up(&config);
    return 0;
}

static int stop(void **state UNUSED)
{
    return server_down(&up);
}

/* L2: a byte from time to time does not keep a request head alive. */
TEST_WITH(test_slow_head, start_small, stop)
{
    int fds[20];
    int64_t begin = clock_mono_ms();
    const char *text = "GET /ok HTTP/1.1\r\nHost: h\r\nX-Slow: 1234567890";
    for (size_t i = 0; i < ARRAY_LEN(fds); i++)
        fds[i] = client_open(&up);
    for (size_t at = 0; text[at] && clock_mono_ms() - begin < 600; at++) {
        for (size_t i = 0; i < ARRAY_LEN(fds); i++)
            (void)client_send(fds[i], text + at, 1);
        (void)usleep(30000);
    }
    for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
        assert_int_equal(client_response(fds[i], buf, sizeof(buf), false), 408);
        (void)close(fds[i]);
    }
}

/* Waits until the server closes the connection. `begin`: a time before the connection was last
 * used, at which the server's own time cannot begin yet. */
static int64_t ms_until_closed(int fd, int64_t begin)
{
    assert_int_equal(recv(fd, buf, sizeof(buf), 0), 0);
    return clock_mono_ms() - begin;
}

TEST_WITH(test_idle, start_small, stop)
{
    int64_t begin = clock_mono_ms();
    int fd = client_open(&up);
    assert_in_range(ms_until_closed(fd, begin), 500, allowed(5000));
    (void)close(fd);
    fd = client_open(&up);
    begin = clock_mono_ms();
    assert_int_equal(say(fd, GET("/ok")), 200);
    assert_in_range(ms_until_closed(fd, begin), 500, allowed(5000));
    (void)close(fd);
}

TEST_WITH(test_deadline, start_small, stop)
{
    int fd = client_open(&up);
    assert_int_equal(say(fd, GET("/hang")), 504);
    (void)close(fd);
}

/* Four of five hanging requests are accepted and one is refused at once, in any order of
 * arrival. */
TEST(test_requests_max)
{
    struct http_config config = small_config();
    struct pollfd fds[5];
    size_t refused = 0;
    int status;

    config.request_timeout_ms = 4000;
    up = server_up(&config);
    for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
        fds[i] = (struct pollfd){.fd = client_open(&up), .events = POLLIN};
        assert_true(send_text(fds[i].fd, GET("/hang")));
    }
    assert_int_equal(poll(fds, ARRAY_LEN(fds), 60000), 1);
    while (!fds[refused].revents)
        refused++;
    assert_int_equal(client_response(fds[refused].fd, buf, sizeof(buf), false), 503);
    assert_non_null(strstr(buf, "\r\nRetry-After: 1\r\n"));
    for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
        if (i != refused)
            assert_int_equal(client_response(fds[i].fd, buf, sizeof(buf), false), 504);
    }
    assert_int_equal(say(fds[(refused + 1) % ARRAY_LEN(fds)].fd, GET("/ok")), 200);
    for (size_t i = 0; i < ARRAY_LEN(fds); i++)
        (void)close(fds[i].fd);
    status = server_down(&up);
    assert_int_equal(status, 0);
}

static bool readable_within(int fd, int limit_ms)
{
    struct pollfd watch = {.fd = fd, .events = POLLIN};
    return poll(&watch, 1, limit_ms) == 1;
}

TEST(test_connections_max)
{
    struct http_config config = small_config();
    int fds[40];
    int extra;

    config.limits.idle_ms = 60000;
    config.request_timeout_ms = 60000;
    up = server_up(&config);
    for (size_t i = 0; i < ARRAY_LEN(fds); i++)
        fds[i] = client_open(&up);
    extra = client_open(&up);
    assert_true(send_text(extra, GET("/ok")));
    assert_false(readable_within(extra, 200));
    (void)close(fds[7]);
    assert_true(readable_within(extra, 60000));
    assert_int_equal(client_response(extra, buf, sizeof(buf), false), 200);
    (void)close(extra);
    for (size_t i = 0; i < ARRAY_LEN(fds); i++)
        if (i != 7)
            (void)close(fds[i]);
    assert_int_equal(server_down(&up), 0);
}

/* One address leaves connections for other addresses. */
TEST(test_connections_of_one_address)
{
    struct http_config config = default_config();
    int fds[4];

    config.limits.connections_max = 8;
    up = server_up(&config);
    for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
        fds[i] = client_open(&up);
        assert_int_equal(say(fds[i], GET("/ok")), 200);
    }
    int extra = client_open(&up);
    assert_true(readable_within(extra, 60000));
    assert_true(recv(extra, buf, sizeof(buf), 0) <= 0);
    (void)close(extra);
    extra = client_open_from(&up, 2);
    assert_int_equal(say(extra, GET("/ok")), 200);
    (void)close(extra);
    for (size_t i = 0; i < ARRAY_LEN(fds); i++)
        (void)close(fds[i]);
    assert_int_equal(server_down(&up), 0);
}

static long cpu_ticks(pid_t pid)
{
    char path[64];
    long user = 0, system = 0;
    (void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    assert_int_equal(
        fscanf(in, "%*d %*s %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %ld %ld", &user, &system),
        2);
    (void)fclose(in);
    return user + system;
}

/* L9: without free descriptors the server stops accepting, does not spin, and recovers. */
TEST_WITH(test_descriptors, start_small, stop)
{
    struct rlimit normal;
    struct rlimit none = {0};
    long ticks;
    int fd;
    assert_int_equal(prlimit(up.pid, RLIMIT_NOFILE, NULL, &normal), 0);
    none.rlim_max = normal.rlim_max;
    none.rlim_cur = 3;
    assert_int_equal(prlimit(up.pid, RLIMIT_NOFILE, &none, NULL), 0);
    ticks = cpu_ticks(up.pid);
    fd = client_open(&up);
    assert_true(send_text(fd, GET("/ok")));
    assert_false(readable_within(fd, 500));
    assert_true(cpu_ticks(up.pid) - ticks <= 5);
    assert_int_equal(prlimit(up.pid, RLIMIT_NOFILE, &normal, NULL), 0);
    assert_int_equal(client_response(fd, buf, sizeof(buf), false), 200);
    (void)close(fd);
}

static bool is_reset(int fd)
{
    struct pollfd watch = {.fd = fd};
    return poll(&watch, 1, 0) == 1 && watch.revents & (POLLERR | POLLHUP);
}

/* L3: a client that sends its body at one byte a second and a client that never reads are both
 * ended, at the same time. A body above the least rate is accepted. */
TEST(test_slow_body)
{
    struct http_config config = default_config();
    const char *head = "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n";
    const int small = 4096;
    char fast_bytes[1024] = {0};
    int64_t fast_sent = 0;
    int64_t begin;
    int slow, fast, reader;
    int status;

    up = server_up(&config);
    begin = clock_mono_ms();
    slow = client_open(&up);
    fast = client_open(&up);
    reader = client_open(&up);
    (void)setsockopt(reader, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
    assert_true(send_text(reader, GET("/big")));
    assert_true(send_text(slow, head));
    assert_true(send_text(fast, head));
    UNTIL_WITHIN(8000, readable_within(slow, 0), {
        assert_true(client_send(slow, "x", 1));
        /* Send four thousand bytes a second, even when the test is delayed. */
        int64_t due = 2048 + 4 * (clock_mono_ms() - begin);
        for (; fast_sent < due && fast_sent < 90000; fast_sent += (int64_t)sizeof(fast_bytes))
            assert_true(client_send(fast, fast_bytes, sizeof(fast_bytes)));
        (void)usleep(500000);
    });
    assert_took(begin, 4500, 7500);
    assert_int_equal(client_response(slow, buf, sizeof(buf), false), 408);
    assert_false(readable_within(fast, 0));
    UNTIL_WITHIN(12500, is_reset(reader), (void)usleep(100000));
    assert_took(begin, 0, 12500);
    assert_true(send_text(reader, GET("/ok")) == false || recv(reader, buf, sizeof(buf), 0) < 0);
    (void)close(slow);
    (void)close(fast);
    (void)close(reader);
    status = server_down(&up);
    assert_int_equal(status, 0);
}

/* K20: running requests are answered, idle connections are closed, new connections are not
 * accepted. */
TEST(test_drain)
{
    struct http_config config = default_config();
    int idle, busy, status = -1;

    drain_ms = 60000;
    up = server_up(&config);
    drain_ms = 500;
    idle = client_open(&up);
    assert_int_equal(say(idle, GET("/ok")), 200);
    busy = client_open(&up);
    assert_true(send_text(busy, GET("/drained")));
    expect_stat(&up, "flight", 2);
    assert_int_equal(kill(up.pid, SIGTERM), 0);
    assert_int_equal(recv(idle, buf, sizeof(buf), 0), 0);
    assert_int_equal(client_response(busy, buf, sizeof(buf), false), 200);
    assert_non_null(strstr(buf, "\r\nConnection: close\r\n"));
    (void)close(idle);
    (void)close(busy);
    assert_int_equal(waitpid(up.pid, &status, 0), up.pid);
    assert_int_equal(status, 0);
}

/* A drain ends at its limit: handlers that hang are cancelled. */
TEST(test_drain_limit)
{
    struct http_config config = default_config();
    int64_t begin;
    int fds[6];

    up = server_up(&config);
    for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
        static const char *const requests[] = {
            GET("/hang"), "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\n", "GET /"};
        fds[i] = client_open(&up);
        assert_true(send_text(fds[i], requests[i % 3]));
    }
    expect_stat(&up, "flight", 3);
    begin = clock_mono_ms();
    assert_int_equal(server_down(&up), 0);
    assert_took(begin, 400, 5000);
    for (size_t i = 0; i < ARRAY_LEN(fds); i++)
        (void)close(fds[i]);
}
