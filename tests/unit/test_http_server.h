#pragma once
/*
 * A server in a child process, which runs the loop; the parent keeps blocking sockets. The child
 * ends at SIGTERM with its sanitizer's verdict as exit code.
 */
#include "deadline.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/num.h"
#include "http/query.h"
#include "http/resp.h"
#include "http/server.h"
#include "loop/signals.h"

#define MUST_TRUE(condition)                                                                       \
    do {                                                                                           \
        if (!(condition))                                                                          \
            abort();                                                                               \
    } while (0)

/* Each program uses only some of these functions. */
#pragma GCC diagnostic ignored "-Wunused-function"

struct test_server {
    pid_t pid;
    int port;
};

static struct {
    struct http_server *server;
    uint64_t finished;
    uint64_t cancelled;
    int failure; /* of the last request that failed */
    bool draining;
} served;

/* Limit of a drain; a test sets it before it starts its server. */
static int64_t drain_ms = 500;

static int answer_text(struct req *req, int status, const char *text)
{
    req->content_type = STR("text/plain");
    strbuf_cstr(&req->body, text);
    req->status = status;
    return status;
}

static int serve_echo(struct req *req)
{
    struct str body;
    int rc = req_body_read_all(req, 1U << 20, &body);

    if (rc < 0)
        return rc;
    if (rc == REQ_BODY_TOO_LARGE)
        return answer_text(req, 413, "too large");
    if (rc == REQ_BODY_TIMEOUT)
        return answer_text(req, 408, "too slow");
    if (rc == REQ_BODY_MALFORMED)
        return answer_text(req, 400, "broken");
    strbuf_str(&req->body, body);
    req->status = 200;
    req->content_type = STR("text/plain");
    return 200;
}

/* Counts a streamed body; "/count-slow" reads slowly, so that the client must wait. */
static int serve_count(struct req *req)
{
    uint64_t total = 0, sum = 0;
    struct str piece;
    char text[64];

    do {
        int rc = req_body_read(req, 1ULL << 30, &piece);
        if (rc < 0)
            return rc;
        if (rc != 0)
            return answer_text(req, rc == REQ_BODY_TIMEOUT ? 408 : 400, "broken");
        total += piece.len;
        for (size_t i = 0; i < piece.len; i++)
            sum += (unsigned char)piece.ptr[i];
        if (str_is(req->path, "/count-slow") && total < 4096 && task_sleep(&req->task, 300) != 0)
            return -ECANCELED;
    } while (piece.len > 0);
    (void)snprintf(
        text, sizeof(text), "%llu %llu", (unsigned long long)total, (unsigned long long)sum);
    return answer_text(req, 200, text);
}

/* "/stream?64" sends that many chunks of 32 KB. */
static int serve_stream(struct req *req)
{
    static char piece[32768];
    int64_t count = 0;
    int rc;

    memset(piece, 'x', sizeof(piece));
    (void)num_parse_i64(req->query, &count);
    rc = resp_stream_begin(req, 200, STR("text/plain"));
    for (int64_t i = 0; i < count && rc == 0; i++)
        rc = resp_stream_write(req, (struct str){piece, sizeof(piece)});
    if (rc == 0)
        rc = resp_stream_end(req);
    return rc < 0 ? rc : 200;
}

static int serve_file(struct req *req)
{
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    int rc = resp_send_file(req, 200, fd, 1, 300000);
    (void)close(fd);
    return rc < 0 ? rc : 200;
}

enum { PATTERN_BYTES = 6 << 20, PATTERN_HOLE = 1 << 16 };

static char pattern_at(size_t offset)
{
    return (char)(offset * 31 + offset / 4096);
}

/* "/pattern?1": every second 64 KB of the file are evicted from the kernel's memory, if the file is
 * on a disk. */
static int serve_pattern(struct req *req)
{
    static char bytes[PATTERN_BYTES];
    char path[] = "/var/tmp/pattern.XXXXXX";
    int fd = mkstemp(path);

    MUST_TRUE(fd >= 0 && unlink(path) == 0);
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = pattern_at(i);
    MUST_TRUE(write(fd, bytes, sizeof(bytes)) == (ssize_t)sizeof(bytes));
    MUST_TRUE(fdatasync(fd) == 0);
    for (off_t at = 0; req->query.len > 0 && at < PATTERN_BYTES; at += 2 * (off_t)PATTERN_HOLE)
        MUST_TRUE(posix_fadvise(fd, at, PATTERN_HOLE, POSIX_FADV_DONTNEED) == 0);
    int rc = resp_send_file(req, 200, fd, 1, PATTERN_BYTES - 1);
    (void)close(fd);
    return rc < 0 ? rc : 200;
}

static int serve_big(struct req *req)
{
    MUST_TRUE(strbuf_reserve(&req->body, 8U << 20));
    memset(req->body.ptr, 'y', 8U << 20);
    req->body.len = 8U << 20;
    req->status = 200;
    return 200;
}

static int serve_stats(struct req *req)
{
    const struct http_stats *stats = http_server_stats(req->server);
    strbuf_printf(&req->body,
                  "finished=%llu cancelled=%llu open=%llu flight=%llu failure=%d",
                  (unsigned long long)served.finished,
                  (unsigned long long)served.cancelled,
                  (unsigned long long)stats->connections_open,
                  (unsigned long long)stats->requests_in_flight,
                  served.failure);
    return answer_text(req, 200, "");
}

static int serve_requests(struct req *req)
{
    if (str_is(req->path, "/echo"))
        return serve_echo(req);
    if (str_starts(req->path, STR("/count")))
        return serve_count(req);
    if (str_is(req->path, "/stream"))
        return serve_stream(req);
    if (str_is(req->path, "/stream-broken")) {
        int rc = resp_stream_begin(req, 200, STR("text/plain"));
        return rc == 0 ? -EIO : rc;
    }
    if (str_is(req->path, "/file"))
        return serve_file(req);
    if (str_is(req->path, "/pattern"))
        return serve_pattern(req);
    if (str_is(req->path, "/big"))
        return serve_big(req);
    if (str_is(req->path, "/stats"))
        return serve_stats(req);
    if (str_is(req->path, "/ok"))
        return answer_text(req, 200, "ok");
    if (str_is(req->path, "/none"))
        return req->status = 204;
    if (str_is(req->path, "/long-header")) {
        resp_header(req, "X-Before", STR("1"));
        resp_header_printf(req, "X-Long", "%020000d", 1);
        resp_header(req, "X-After", STR("2"));
        return answer_text(req, 200, "ok");
    }
    if (str_is(req->path, "/fail"))
        return -EIO;
    if (str_is(req->path, "/empty"))
        return 0;
    if (str_is(req->path, "/slow") || str_is(req->path, "/hang")) {
        int rc = task_sleep(&req->task, str_is(req->path, "/slow") ? 200 : 60000);
        return rc != 0 ? rc : answer_text(req, 200, "late");
    }
    if (str_is(req->path, "/drained")) {
        int rc = 0;
        while (rc == 0 && !served.draining)
            rc = task_sleep(&req->task, 5);
        if (rc == 0)
            rc = task_sleep(&req->task, 100);
        return rc != 0 ? rc : answer_text(req, 200, "last");
    }
    return answer_text(req, 404, "nothing here");
}

static void count_finished(struct req *req)
{
    served.finished++;
    served.failure = req->failure;
    if (!req->conn)
        served.cancelled++;
}

static void write_problem(struct req *req, int status, enum problem problem, const char *detail)
{
    req->content_type = STR("application/problem+json");
    if (status == 503)
        resp_header(req, "Retry-After", STR("1"));
    strbuf_printf(
        &req->body, "{\"status\":%d,\"code\":\"%s\",\"detail\":\"", status, problem_code(problem));
    for (const char *c = detail; *c; c++)
        strbuf_char(&req->body, *c == '"' ? '\'' : *c);
    strbuf_cstr(&req->body, "\"}");
}

static void stop_loop(void *arg)
{
    (void)arg;
    http_server_stop(served.server);
    signals_close();
    loop_stop();
}

static void on_term(int signum, void *arg)
{
    (void)signum;
    (void)arg;
    served.draining = true;
    http_server_drain(served.server, drain_ms, stop_loop, NULL);
}

_Noreturn static void serve_until_term(const struct http_config *config, int port_pipe)
{
    int port;

    loop_init();
    signals_on(SIGTERM, on_term, NULL);
    if (http_server_start(config, &served.server) != 0)
        _exit(99);
    port = http_server_port(served.server);
    if (write(port_pipe, &port, sizeof(port)) != sizeof(port))
        _exit(98);
    loop_run();
    exit(0); /* not _exit: the leak check runs here */
}

static struct http_config default_config(void)
{
    return (struct http_config){
        .host = "127.0.0.1",
        .limits = http_limits_default,
        .request_timeout_ms = 30000,
        .handle = serve_requests,
        .finished = count_finished,
        .problem = write_problem,
    };
}

static struct test_server server_up(const struct http_config *config)
{
    struct test_server up = {0};
    int pipe_fds[2];

    (void)fflush(NULL);
    if (pipe(pipe_fds) != 0)
        abort();
    up.pid = fork();
    if (up.pid == 0) {
        (void)close(pipe_fds[0]);
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failed test also ends its server */
        serve_until_term(config, pipe_fds[1]);
    }
    (void)close(pipe_fds[1]);
    if (read(pipe_fds[0], &up.port, sizeof(up.port)) != sizeof(up.port))
        abort();
    (void)close(pipe_fds[0]);
    return up;
}

/* Stops the server and returns its exit status; 0 when the server ended well. */
static int server_down(const struct test_server *up)
{
    int status = -1;
    (void)kill(up->pid, SIGTERM);
    (void)waitpid(up->pid, &status, 0);
    return status;
}

/* `host`: the last number of the client's address in 127.0.0.0/8. */
static int client_open_from(const struct test_server *up, unsigned host)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)up->port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    const struct timeval patience = {.tv_sec = 120};
    const struct sockaddr_in own = {
        .sin_family = AF_INET,
        .sin_addr.s_addr = htonl(0x7f000000U | host),
    };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    if (bind(fd, (const struct sockaddr *)&own, sizeof(own)) != 0 ||
        connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0)
        abort();
    return fd;
}

static int client_open(const struct test_server *up)
{
    return client_open_from(up, 1);
}

/* Returns false when the server has closed the connection. */
static bool client_send(int fd, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t sent = send(fd, data, len, MSG_NOSIGNAL);
        if (sent <= 0)
            return false;
        data += sent;
        len -= (size_t)sent;
    }
    return true;
}

/* Reads until the server closes or `most` bytes have arrived, and adds a NUL. Returns -1 after a
 * timeout or reset. */
static ssize_t client_read_all(int fd, char *buf, size_t most)
{
    size_t len = 0;
    while (len + 1 < most) {
        ssize_t got = recv(fd, buf + len, most - 1 - len, 0);
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        len += (size_t)got;
    }
    buf[len] = '\0';
    return (ssize_t)len;
}

/* "HTTP/1.1 404 ..." -> 404 */
static int status_of(const char *response)
{
    if (strncmp(response, "HTTP/1.1 ", 9) != 0)
        return -1;
    return (int)strtol(response + 9, NULL, 10);
}

/* Reads one response with Content-Length, head and body, and returns its status; 0 at the end of
 * the connection. */
static int client_response(int fd, char *buf, size_t most, bool no_body)
{
    size_t len = 0;
    size_t need = 0;
    char *end;

    for (;;) {
        ssize_t got = recv(fd, buf + len, need > 0 ? need - len : 1, 0);
        if (got <= 0)
            return 0;
        len += (size_t)got;
        buf[len] = '\0';
        if (need == 0 && (end = strstr(buf, "\r\n\r\n")) != NULL) {
            const char *length = strstr(buf, "Content-Length: ");
            need =
                (size_t)(end - buf) + 4 + (length && !no_body ? strtoul(length + 16, NULL, 10) : 0);
        }
        if (need > 0 && len == need)
            return status_of(buf);
        if (len + 1 >= most)
            return -1;
    }
}

/* Returns a number of GET /stats, whose own request is in flight and open. */
static unsigned long stat_of(const struct test_server *up, const char *name)
{
    static const char request[] = "GET /stats HTTP/1.1\r\nHost: h\r\n\r\n";
    char text[1024];
    int fd = client_open(up);

    assert_true(client_send(fd, request, sizeof(request) - 1));
    assert_int_equal(client_response(fd, text, sizeof(text), false), 200);
    (void)close(fd);
    return strtoul(strstr(text, name) + strlen(name) + 1, NULL, 10);
}

static void expect_stat(const struct test_server *up, const char *name, unsigned long value)
{
    UNTIL(stat_of(up, name) == value, (void)usleep(20000));
}
