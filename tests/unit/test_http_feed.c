/* Feeds: responses without an end, shared chunks, clients that leave or do not read. */
#include "unit.h"

#include "http/feed.h"
#include "test_http_server.h"

#define FEEDS      16
#define QUEUED_MAX ((size_t)256 * 1024)

static struct {
    struct http_feed feed;
    char head[2];
    bool open;
} feeds[FEEDS];

static void on_feed_gone(void *arg)
{
    *(bool *)arg = false;
}

static int serve_feed(struct req *req)
{
    for (size_t i = 0; i < FEEDS; i++) {
        if (feeds[i].open)
            continue;
        feeds[i].head[0] = (char)('a' + i);
        feeds[i].head[1] = '=';
        feeds[i].feed = (struct http_feed){
            .on_closed = on_feed_gone,
            .arg = &feeds[i].open,
            .head = {feeds[i].head, sizeof(feeds[i].head)},
            .queued_max = QUEUED_MAX,
        };
        feeds[i].open = http_feed_begin(req, STR("text/plain"), &feeds[i].feed);
        return feeds[i].open ? 200 : -ECANCELED;
    }
    return answer_text(req, 503, "full");
}

/* "/say?5" sends that many bytes to each feed; "/call?5" sends the head of each feed first. */
static int serve_say(struct req *req, bool headed)
{
    static char text[65536];
    int64_t bytes = 0;

    memset(text, 'z', sizeof(text));
    (void)num_parse_i64(req->query, &bytes);
    struct str said = {text, (size_t)bytes};
    struct http_chunk *piece = headed ? http_chunk_new_headed(said) : http_chunk_new(said);
    for (size_t i = 0; i < FEEDS; i++)
        if (feeds[i].open)
            http_feed_send(&feeds[i].feed, piece);
    http_chunk_unref(piece);
    return answer_text(req, 200, "");
}

static int serve_feeds(struct req *req)
{
    unsigned open = 0;

    if (str_is(req->path, "/feed"))
        return serve_feed(req);
    if (str_is(req->path, "/say"))
        return serve_say(req, false);
    if (str_is(req->path, "/call"))
        return serve_say(req, true);
    if (str_is(req->path, "/close")) {
        for (size_t i = 0; i < FEEDS; i++) {
            http_feed_close(&feeds[i].feed);
            feeds[i].open = false;
        }
        return answer_text(req, 200, "");
    }
    if (!str_is(req->path, "/open"))
        return serve_requests(req);
    for (size_t i = 0; i < FEEDS; i++)
        open += feeds[i].open;
    strbuf_printf(&req->body, "open=%u", open);
    return answer_text(req, 200, "");
}

static struct test_server up;
static char buf[1 << 20];
static int control;

#define GET(path) "GET " path " HTTP/1.1\r\nHost: h\r\n\r\n"

static void tell(const char *request)
{
    assert_true(client_send(control, request, strlen(request)));
    assert_int_equal(client_response(control, buf, sizeof(buf), false), 200);
}

static void expect_open(unsigned count)
{
    char wanted[32];

    (void)snprintf(wanted, sizeof(wanted), "open=%u", count);
    UNTIL((tell(GET("/open")), strstr(buf, wanted)), (void)usleep(10000));
}

static int listen_to(const char *version)
{
    char request[128];
    int fd = client_open(&up);

    (void)snprintf(request, sizeof(request), "GET /feed HTTP/%s\r\nHost: h\r\n\r\n", version);
    assert_true(client_send(fd, request, strlen(request)));
    assert_int_equal(client_response(fd, buf, sizeof(buf), true), 200);
    assert_non_null(strstr(buf, "Connection: close"));
    assert_null(strstr(buf, "Transfer-Encoding"));
    assert_null(strstr(buf, "Content-Length"));
    return fd;
}

TEST(test_what_is_said_arrives)
{
    int fds[3] = {listen_to("1.1"), listen_to("1.0"), listen_to("1.1")};

    expect_open(3);
    tell(GET("/stats"));
    assert_non_null(strstr(buf, "flight=1")); /* only this one: feeds are no requests */
    tell(GET("/say?7"));
    tell(GET("/say?60000"));
    tell(GET("/close"));
    for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
        assert_int_equal(client_read_all(fds[i], buf, sizeof(buf)), 60007);
        (void)close(fds[i]);
    }
    expect_open(0);
}

TEST(test_each_is_called_by_its_own_head)
{
    int fds[2] = {listen_to("1.1"), listen_to("1.1")};

    expect_open(2);
    tell(GET("/call?3"));
    tell(GET("/say?1"));
    tell(GET("/call?0"));
    tell(GET("/call?1"));
    tell(GET("/close"));
    for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
        assert_int_equal(client_read_all(fds[i], buf, sizeof(buf)), 9);
        assert_memory_equal(buf, i == 0 ? "a=zzzza=z" : "b=zzzzb=z", 9);
        (void)close(fds[i]);
    }
    expect_open(0);
}

TEST(test_who_goes_and_who_talks)
{
    int one = listen_to("1.1");
    int other = listen_to("1.1");

    expect_open(2);
    (void)close(one);
    expect_open(1);
    assert_true(client_send(other, GET("/ok"), strlen(GET("/ok")))); /* ignored by the server */
    tell(GET("/say?3"));
    assert_int_equal(recv(other, buf, 3, MSG_WAITALL), 3);
    assert_int_equal(shutdown(other, SHUT_WR), 0);
    expect_open(0);
    (void)close(other);
}

TEST(test_who_does_not_read_is_cut)
{
    int slow = listen_to("1.1");
    int quick = listen_to("1.1");

    expect_open(2);
    for (int i = 0; i < 400; i++) { /* more than the kernel buffers */
        tell(GET("/say?65536"));
        for (size_t left = 65536; left > 0;) {
            ssize_t got = recv(quick, buf, left, 0);
            assert_true(got > 0);
            left -= (size_t)got;
        }
    }
    expect_open(1);
    (void)close(quick);
    (void)close(slow);
    expect_open(0);
}

/* Feeds end with their server, and leave nothing allocated. */
TEST(test_ends_with_the_server)
{
    int fd = listen_to("1.1");

    expect_open(1);
    (void)close(control);
    assert_int_equal(server_down(&up), 0);
    assert_int_equal(recv(fd, buf, 1, 0), 0);
    (void)close(fd);
}

static int begin(void **state UNUSED)
{
    struct http_config config = default_config();

    config.handle = serve_feeds;
    up = server_up(&config);
    control = client_open(&up);
    return 0;
}

GROUP(begin, NULL)
