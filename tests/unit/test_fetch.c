/* fetch() against a small server on loopback: rules, limits, time, cancellation, shutdown. */
#include "deadline.h"
#include "unit.h"

#include <errno.h>
#include <stdio.h>

#include "base/arena.h"
#include "fetch/fetch.h"
#include "loop/loop.h"
#include "loop/shares.h"
#include "loop/task.h"
#include "python_server.h"

/* Prints its port, then serves. /count returns the number of other requests. */
static const char server_py[] =
    "import gzip, http.server, os, socket, threading, time, zlib\n"
    "count = 0\n"
    "released = threading.Event()\n"
    "class Handler(http.server.BaseHTTPRequestHandler):\n"
    "    protocol_version = 'HTTP/1.1'\n"
    "    def log_message(self, *args): pass\n"
    "    def answer(self, body, status=200, headers=()):\n"
    "        self.send_response(status)\n"
    "        for name, value in headers: self.send_header(name, value)\n"
    "        self.send_header('Content-Length', str(len(body)))\n"
    "        self.end_headers()\n"
    "        if self.command != 'HEAD': self.wfile.write(body)\n"
    "    def handle_any(self):\n"
    "        global count\n"
    "        size = int(self.headers.get('Content-Length', 0))\n"
    "        body = self.rfile.read(size)\n"
    "        if self.path == '/count':\n"
    "            return self.answer(str(count).encode())\n"
    "        count += 1\n"
    "        if self.path == '/echo':\n"
    "            text = self.command + '\\n' + str(self.headers).replace('\\r', '')\n"
    "            return self.answer(text.encode() + body, 201, [('X-Test', ' a b ')])\n"
    "        if self.path == '/slow':\n"
    "            time.sleep(600); return self.answer(b'late')\n"
    "        if self.path == '/drip':\n"
    "            self.send_response(200); self.end_headers(); self.close_connection = True\n"
    "            for i in range(600): self.wfile.write(b'x'); time.sleep(0.1)\n"
    "            return\n"
    "        if self.path.startswith('/size/'):\n"
    "            return self.answer(b'x' * int(self.path[6:]))\n"
    "        if self.path.startswith('/hold/'):\n"
    "            size = int(self.path[6:])\n"
    "            self.send_response(200); self.send_header('Content-Length', str(size))\n"
    "            self.end_headers(); self.wfile.write(b'x' * (size - 1)); self.wfile.flush()\n"
    "            released.wait(); self.wfile.write(b'y'); return\n"
    "        if self.path == '/release': released.set()\n"
    "        if self.path == '/chunks':\n"
    "            self.send_response(200); self.send_header('Transfer-Encoding', 'chunked')\n"
    "            self.end_headers()\n"
    "            for i in range(100): self.wfile.write(b'400\\r\\n' + b'x' * 1024 + b'\\r\\n')\n"
    "            self.wfile.write(b'0\\r\\nX-Trailer: t\\r\\n\\r\\n'); return\n"
    "        if self.path == '/redirect':\n"
    "            return self.answer(b'', 302, [('Location', '/echo')])\n"
    "        if self.path == '/gzip':\n"
    "            return self.answer(b'\\x1f\\x8bnot really', 200, [('Content-Encoding', 'gzip')])\n"
    "        if self.path == '/br':\n"
    "            return self.answer(b'text', 200, [('Content-Encoding', 'br')])\n"
    "        if self.path == '/transfer':\n"
    "            self.send_response(200); self.send_header('Transfer-Encoding', 'gzip, chunked')\n"
    "            self.end_headers(); self.close_connection = True\n"
    "            self.wfile.write(b'400000\\r\\n' + gzip.compress(b'x' * (1 << 26))); return\n"
    "        if self.path.startswith('/packed/'):\n"
    "            text = b''.join(b'%07d\\n' % i for i in range(int(self.path.split('/')[3])))\n"
    "            packed = {'gzip': gzip.compress, 'deflate': "
    "zlib.compress}[self.path.split('/')[2]](text)\n"
    "            self.send_response(200); self.send_header('Content-Encoding', "
    "self.path.split('/')[2])\n"
    "            self.send_header('Content-Length', str(len(packed))); self.end_headers()\n"
    "            self.wfile.write(packed); return\n"
    "        if self.path == '/headers':\n"
    "            return self.answer(b'', 200, [('X-%d' % i, 'v') for i in range(150)])\n"
    "        if self.path == '/longheader':\n"
    "            return self.answer(b'', 200, [('X-Long', 'v' * 40000)])\n"
    "        if self.path == '/interim':\n"
    "            for i in range(100): self.wfile.write(b'HTTP/1.1 103 Early\\r\\nX-Early: "
    "1\\r\\n\\r\\n')\n"
    "            return self.answer(b'final')\n"
    "        if self.path == '/interims':\n"
    "            for i in range(5000): self.wfile.write(b'HTTP/1.1 103 Early\\r\\n\\r\\n')\n"
    "            return self.answer(b'final')\n"
    "        if self.path == '/drop':\n"
    "            self.close_connection = True\n"
    "            self.connection.shutdown(socket.SHUT_RDWR); return\n"
    "        if self.path == '/partial':\n"
    "            self.send_response(200); self.send_header('Content-Length', '100')\n"
    "            self.end_headers(); self.wfile.write(b'half'); self.close_connection = True; "
    "return\n"
    "        self.answer(b'ok')\n"
    "    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = handle_any\n"
    "class Server(http.server.ThreadingHTTPServer):\n"
    "    def handle_error(self, *args): pass\n"
    "server = Server(('127.0.0.1', 0), Handler)\n"
    "os.write(1, b'%d\\n' % server.server_port)\n"
    "server.serve_forever()\n";

static int server_start(void **state UNUSED)
{
    return python_server_start(server_py);
}

/* --- one test: a loop and a task that calls fetch() --- */

static struct arena *arena;

static int setup(void **state UNUSED)
{
    arena = arena_new(0);
    return 0;
}

static int teardown(void **state UNUSED)
{
    arena_free(arena);
    return 0;
}

static struct str url_of(const char *path)
{
    return arena_printf(arena, "http://127.0.0.1:%d%s", server_port, path);
}

static struct str localhost_url(void)
{
    return arena_printf(arena, "http://localhost:%d/", server_port);
}

static void init(unsigned max_in_flight, uint64_t max_arriving_bytes)
{
    loop_init();
    const struct str allow[] = {
        arena_printf(arena, "127.0.0.1:%d", server_port),
        arena_printf(arena, "localhost:%d", server_port),
        STR("127.0.0.1:1"),
    };
    fetch_init(&(struct fetch_config){.allow = allow,
                                      .nallow = ARRAY_LEN(allow),
                                      .max_in_flight = max_in_flight,
                                      .budget_bytes = max_arriving_bytes});
}

static void init_with(unsigned max_in_flight)
{
    init(max_in_flight, 0);
}

struct job {
    struct task task;
    struct fetch_request request;
    struct fetch_response response;
    int rc;
    int64_t took_ms;
    unsigned ended; /* position in the order in which the jobs ended */
};

static unsigned jobs_left, jobs_ended;

static void job_main(struct task *task, void *arg)
{
    struct job *job = arg;
    int64_t start_ms = clock_mono_ms();
    job->rc = fetch(task, &job->request, &job->response);
    job->took_ms = clock_mono_ms() - start_ms;
    job->ended = ++jobs_ended;
    if (--jobs_left == 0) {
        fetch_done();
        loop_stop();
    }
}

static struct job *job_start(struct fetch_request request)
{
    struct job *job = ARENA_NEW(arena, job);
    job->task.arena = arena;
    job->request = request;
    jobs_left++;
    task_start(&job->task, job_main, job);
    return job;
}

static struct job *job_of(int64_t project, struct fetch_request request)
{
    struct job *job = job_start(request);
    job->task.project = project;
    return job;
}

/* Runs one request from start to end. */
static struct job *run(struct fetch_request request)
{
    init_with(0);
    struct job *job = job_start(request);
    loop_run();
    return job;
}

static struct job *get(const char *path)
{
    return run((struct fetch_request){.url = url_of(path)});
}

static long server_count(void)
{
    struct job *job = get("/count");
    assert_int_equal(job->rc, 0);
    return strtol(job->response.body.ptr, NULL, 10);
}

/* --- tests --- */

TEST_WITH(test_get, setup, teardown)
{
    struct job *job = get("/echo");
    assert_int_equal(job->rc, 0);
    assert_int_equal(job->response.status, 201);
    assert_true(str_is(fetch_response_header(&job->response, "x-TEST"), "a b"));
    assert_null(fetch_response_header(&job->response, "X-Absent").ptr);
    assert_true(str_starts(job->response.body, STR("GET\n")));
    const char *body = job->response.body.ptr;
    assert_non_null(strstr(body, "Accept-Encoding: gzip, deflate\n"));
    assert_null(strstr(body, "Content-Type"));
    assert_int_equal(fetch_in_flight(), 0);
}

TEST_WITH(test_post, setup, teardown)
{
    const struct fetch_header headers[] = {
        {STR("X-One"), STR("1\t2")},
        {STR("X-Empty"), STR("")},
        {STR("Content-Type"), STR("application/json")},
    };
    struct job *job = run((struct fetch_request){.url = url_of("/echo"),
                                                 .method = STR("POST"),
                                                 .headers = headers,
                                                 .nheaders = 3,
                                                 .body = STR("{\"a\":1}\0z")});
    assert_int_equal(job->rc, 0);
    const char *body = job->response.body.ptr;
    assert_true(str_starts(job->response.body, STR("POST\n")));
    assert_true(str_ends(job->response.body, STR("{\"a\":1}\0z")));
    assert_non_null(strstr(body, "X-One: 1\t2\n"));
    assert_non_null(strstr(body, "X-Empty: \n"));
    assert_non_null(strstr(body, "Content-Type: application/json\n"));
    assert_non_null(strstr(body, "Content-Length: 9\n"));
    assert_null(strstr(body, "Expect"));
}

TEST_WITH(test_methods, setup, teardown)
{
    const char *methods[] = {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"};
    for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
        struct job *job =
            run((struct fetch_request){.url = url_of("/echo"), .method = str_from(methods[i])});
        assert_int_equal(job->rc, 0);
        assert_true(str_starts(job->response.body, str_from(methods[i])));
        bool has_length = strstr(job->response.body.ptr, "Content-Length: 0\n") != NULL;
        assert_int_equal(has_length, methods[i][0] == 'P');
    }
    struct job *head = run((struct fetch_request){.url = url_of("/echo"), .method = STR("HEAD")});
    assert_int_equal(head->rc, 0);
    assert_int_equal(head->response.status, 201);
    assert_int_equal(head->response.body.len, 0);
}

/* S5: a request with such headers is not sent at all. */
TEST_WITH(test_bad_headers, setup, teardown)
{
    const struct fetch_header bad[] = {
        {STR("X"), STR("a\r\nY: b")},
        {STR("X"), STR("a\nb")},
        {STR("X"), STR("a\rb")},
        {STR("X"), STR("a\0b")},
        {STR("X"), STR("\x7f")},
        {STR("X:"), STR("a")},
        {STR("X Y"), STR("a")},
        {STR("X\r\nY"), STR("a")},
        {STR("X\0"), STR("a")},
        {STR(""), STR("a")},
        {STR("host"), STR("other")},
        {STR("Content-Length"), STR("5")},
        {STR("transfer-encoding"), STR("chunked")},
        {STR("Connection"), STR("close")},
    };
    long before = server_count();
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct job *job =
            run((struct fetch_request){.url = url_of("/"), .headers = &bad[i], .nheaders = 1});
        assert_int_equal(job->rc, FETCH_BAD_HEADER);
    }
    const struct str methods[] = {STR("get"), STR("CONNECT"), STR("GET / HTTP/1.1\r\n"), STR("X")};
    for (size_t i = 0; i < ARRAY_LEN(methods); i++)
        assert_int_equal(run((struct fetch_request){.url = url_of("/"), .method = methods[i]})->rc,
                         FETCH_BAD_HEADER);
    assert_int_equal(server_count(), before);
}

static int refused_get(struct str url)
{
    loop_init();
    fetch_init(&(struct fetch_config){.max_in_flight = 1});
    struct job *job = job_start((struct fetch_request){.url = url});
    loop_run();
    return job->rc;
}

TEST_WITH(test_refused, setup, teardown)
{
    long before = server_count();
    assert_int_equal(refused_get(url_of("/")), FETCH_REFUSED);
    assert_int_equal(refused_get(STR("http://127.0.0.1/")), FETCH_REFUSED);
    assert_int_equal(refused_get(STR("http://localhost/")), FETCH_REFUSED);
    assert_int_equal(refused_get(STR("http://localhost./")), FETCH_REFUSED);
    assert_int_equal(refused_get(STR("http://[::1]/")), FETCH_REFUSED);
    assert_int_equal(refused_get(STR("ftp://localhost/")), FETCH_BAD_URL);
    assert_int_equal(server_count(), before);
}

/* fetch() resolves the name itself, and libcurl connects to the address that fetch() found. */
TEST_WITH(test_name, setup, teardown)
{
    struct str url = arena_printf(arena, "http://LocalHost.:%d/echo", server_port);
    struct job *job = run((struct fetch_request){.url = url});
    assert_int_equal(job->rc, 0);
    assert_non_null(strstr(job->response.body.ptr, "Host: LocalHost:"));
    assert_int_equal(run((struct fetch_request){.url = STR("http://no-such-host.invalid/")})->rc,
                     FETCH_UNREACHABLE);
}

TEST_WITH(test_unreachable, setup, teardown)
{
    assert_int_equal(run((struct fetch_request){.url = STR("http://127.0.0.1:1/")})->rc,
                     FETCH_UNREACHABLE);
    assert_int_equal(get("/drop")->rc, FETCH_UNREACHABLE);
    assert_int_equal(get("/partial")->rc, FETCH_UNREACHABLE);
    struct str https = arena_printf(arena, "https://127.0.0.1:%d/", server_port);
    assert_int_equal(run((struct fetch_request){.url = https})->rc, FETCH_UNREACHABLE);
}

TEST_WITH(test_timeout, setup, teardown)
{
    const char *paths[] = {"/slow", "/drip"};
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        struct job *job = run((struct fetch_request){.url = url_of(paths[i]), .timeout_ms = 150});
        assert_int_equal(job->rc, FETCH_TIMEOUT);
        assert_in_range(job->took_ms, 140, allowed(1500));
    }
}

TEST_WITH(test_sizes, setup, teardown)
{
    struct fetch_request request = {.url = url_of("/size/5000"), .max_response_bytes = 5000};
    struct job *job = run(request);
    assert_int_equal(job->rc, 0);
    assert_int_equal(job->response.body.len, 5000);
    request.max_response_bytes = 4999;
    assert_int_equal(run(request)->rc, FETCH_TOO_LARGE);
    assert_int_equal(get("/size/1048576")->rc, 0);
    assert_int_equal(get("/size/1048577")->rc, FETCH_TOO_LARGE);
    job = get("/size/0");
    assert_int_equal(job->rc, 0);
    assert_string_equal(job->response.body.ptr, "");

    request = (struct fetch_request){.url = url_of("/chunks"), .max_response_bytes = 100 * 1024};
    job = run(request);
    assert_int_equal(job->rc, 0);
    assert_int_equal(job->response.body.len, 100 * 1024);
    assert_null(fetch_response_header(&job->response, "X-Trailer").ptr);
    request.max_response_bytes--;
    assert_int_equal(run(request)->rc, FETCH_TOO_LARGE);

    assert_int_equal(get("/headers")->rc, FETCH_TOO_LARGE);
    assert_int_equal(get("/longheader")->rc, FETCH_TOO_LARGE);
    assert_int_equal(get("/interims")->rc, FETCH_TOO_LARGE);
    job = get("/interim");
    assert_int_equal(job->rc, 0);
    assert_int_equal(job->response.status, 200);
    assert_null(fetch_response_header(&job->response, "X-Early").ptr);
}

/* S3, S6: the peer cannot make fetch() do anything, not even by a redirect. */
TEST_WITH(test_peer_has_no_say, setup, teardown)
{
    long before = server_count();
    struct job *job = get("/redirect");
    assert_int_equal(job->rc, 0);
    assert_int_equal(job->response.status, 302);
    assert_true(str_is(fetch_response_header(&job->response, "Location"), "/echo"));
    assert_int_equal(server_count(), before + 1);
}

/* Asserts that the body is that of /packed/: `lines` numbers, a line of eight bytes each. */
static void assert_lines(const struct job *job, size_t lines)
{
    char line[32];

    assert_int_equal(job->rc, 0);
    assert_false(job->response.unreadable);
    assert_int_equal(job->response.body.len, 8 * lines);
    for (size_t i = 0; i < lines; i++) {
        (void)snprintf(line, sizeof(line), "%07zu\n", i);
        assert_memory_equal(job->response.body.ptr + 8 * i, line, 8);
    }
}

/* S6: compressed answers are decompressed within the same bounds. An answer that cannot be
 * decompressed is marked unreadable and has no body. */
TEST_WITH(test_packed, setup, teardown)
{
    static const char *const broken[] = {"/gzip", "/br", "/transfer"};
    struct fetch_request request = {.url = url_of("/packed/gzip/1000"), .max_response_bytes = 8000};

    assert_lines(run(request), 1000);
    request.max_response_bytes--;
    assert_int_equal(run(request)->rc, FETCH_TOO_LARGE);
    assert_lines(get("/packed/gzip/131072"), 131072);
    assert_int_equal(get("/packed/gzip/131073")->rc, FETCH_TOO_LARGE);
    assert_int_equal(get("/packed/deflate/1000000")->rc, FETCH_TOO_LARGE);
    assert_lines(get("/packed/deflate/20000"), 20000);
    assert_lines(get("/packed/gzip/0"), 0);
    for (size_t i = 0; i < ARRAY_LEN(broken); i++) {
        struct job *job = get(broken[i]);
        assert_int_equal(job->rc, 0);
        assert_int_equal(job->response.status, 200);
        assert_true(job->response.unreadable);
        assert_int_equal(job->response.body.len, 0);
    }
    const struct fetch_header own = {STR("accept-encoding"), STR("identity")};
    struct job *job =
        run((struct fetch_request){.url = url_of("/echo"), .headers = &own, .nheaders = 1});
    assert_null(strstr(job->response.body.ptr, "gzip"));
    struct job *head = run((struct fetch_request){.url = url_of("/gzip"), .method = STR("HEAD")});
    assert_int_equal(head->rc, 0);
    assert_false(head->response.unreadable);
}

/* I5: a request with `once` is not sent again when its connection dies. */
static int first_rc;

static void drop_main(struct task *task, void *arg)
{
    struct fetch_request first = {.url = url_of("/ok")};
    struct fetch_response response;
    first_rc = fetch(task, &first, &response); /* leaves a connection in the pool */
    job_main(task, arg);
}

static long drop_attempts(bool once)
{
    long before = server_count();
    init_with(0);
    struct job *job = ARENA_NEW(arena, job);
    job->task.arena = arena;
    job->request = (struct fetch_request){.url = url_of("/drop"), .once = once};
    jobs_left++;
    task_start(&job->task, drop_main, job);
    loop_run();
    assert_int_equal(first_rc, 0);
    assert_int_equal(job->rc, FETCH_UNREACHABLE);
    return server_count() - before - 1;
}

TEST_WITH(test_once, setup, teardown)
{
    assert_int_equal(drop_attempts(true), 1);
    assert_int_equal(drop_attempts(false), 2); /* libcurl repeats: the reason for `once` */
}

TEST_WITH(test_together, setup, teardown)
{
    struct job *jobs[40];
    init_with(8);
    for (size_t i = 0; i < ARRAY_LEN(jobs); i++)
        jobs[i] = job_start((struct fetch_request){.url = url_of("/size/2000")});
    loop_run();
    for (size_t i = 0; i < ARRAY_LEN(jobs); i++) {
        assert_int_equal(jobs[i]->rc, 0);
        assert_int_equal(jobs[i]->response.body.len, 2000);
    }

    init_with(1);
    for (size_t i = 0; i < 6; i++)
        jobs[i] = job_start((struct fetch_request){.url = url_of("/size/1")});
    loop_run();
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(jobs[i]->rc, i < 5 ? 0 : FETCH_BUSY);
}

/* A project's slow issuer may hold a quarter of the slots. The project's other calls, and the calls
 * of other projects, do not wait for it. */
TEST_WITH(test_projects_and_purposes, setup, teardown)
{
    struct job *stuck[24];
    struct job *own;
    struct job *others;

    init_with(8);
    for (size_t i = 0; i < ARRAY_LEN(stuck); i++)
        stuck[i] =
            job_of(7,
                   (struct fetch_request){
                       .url = url_of("/slow"), .purpose = FETCH_IDENTITY, .timeout_ms = 2000});
    own = job_of(7, (struct fetch_request){.url = url_of("/size/1"), .purpose = FETCH_PROCESSOR});
    others = job_of(8, (struct fetch_request){.url = url_of("/size/1"), .purpose = FETCH_IDENTITY});
    jobs_ended = 0;
    loop_run();
    assert_int_equal(own->rc, 0);
    assert_int_equal(others->rc, 0);
    assert_true(own->ended <= 2 && others->ended <= 2);
    assert_in_range(own->took_ms, 0, allowed(300));
    assert_in_range(others->took_ms, 0, allowed(300));
    for (size_t i = 0; i < ARRAY_LEN(stuck); i++)
        assert_int_equal(stuck[i]->rc, FETCH_TIMEOUT);
}

static void check_given_back(const struct shares *shares, void *arg)
{
    uint64_t *refused = arg;
    assert_int_equal(shares->held, 0);
    if (str_is(str_from(shares->config.name), "fetch_bytes"))
        *refused = shares->refused;
}

static void count_refused(const struct shares *shares, void *arg)
{
    if (str_is(str_from(shares->config.name), "fetch_bytes"))
        *(uint64_t *)arg = shares->refused;
}

/* Sends /release as soon as enough answers wait for memory and one request was late. */
static void release_main(struct task *task, void *arg)
{
    uint64_t refused = 0;

    while (refused < 3 || jobs_ended < 2) {
        assert_int_equal(task_sleep(task, 5), 0);
        shares_each(count_refused, &refused);
    }
    job_main(task, arg);
}

/* An answer above 64 KB reserves its whole size twice, or its sender has to wait. A budget of 1 MB
 * fits two answers of 200,000 bytes, and only one while room for another project is required. Small
 * answers reserve nothing, and a late request leaves nothing reserved. */
TEST_WITH(test_room, setup, teardown)
{
    const struct fetch_request large = {
        .url = url_of("/hold/200000"), .max_response_bytes = 200000, .timeout_ms = 120000};
    struct fetch_request late = large;
    struct job *jobs[4];
    struct job *other;
    struct job *small;
    struct job *missed;
    struct job *packed;
    uint64_t refused = 0;

    init(0, 1 << 20);
    jobs_ended = 0;
    for (size_t i = 0; i < ARRAY_LEN(jobs); i++)
        jobs[i] = job_of(7, large);
    late.timeout_ms = 100;
    missed = job_of(7, late);
    other = job_of(8, large);
    packed = job_of(7,
                    (struct fetch_request){.url = url_of("/packed/deflate/25000"),
                                           .max_response_bytes = 200000,
                                           .timeout_ms = 120000});
    small = job_of(7, (struct fetch_request){.url = url_of("/size/60000")});
    struct job *release = ARENA_NEW(arena, release);
    release->task.arena = arena;
    release->request.url = url_of("/release");
    jobs_left++;
    task_start(&release->task, release_main, release);
    loop_run();
    for (size_t i = 0; i < ARRAY_LEN(jobs); i++) {
        assert_int_equal(jobs[i]->rc, 0);
        assert_int_equal(jobs[i]->response.body.len, 200000);
        assert_int_equal(jobs[i]->response.body.ptr[199999], 'y');
    }
    assert_int_equal(missed->rc, FETCH_TIMEOUT);
    assert_int_equal(other->rc, 0);
    assert_int_equal(small->rc, 0);
    assert_lines(packed, 25000); /* this answer waited in the middle of a chunk */
    shares_each(check_given_back, &refused);
    assert_true(refused >= 3); /* all but one of project 7's five waited, project 8's did not */
}

static void on_cancel(void *task)
{
    task_cancel(task);
}

TEST_WITH(test_cancel_and_deadline, setup, teardown)
{
    struct loop_timer timer;
    init_with(1);
    struct job *running = job_start((struct fetch_request){.url = url_of("/slow")});
    struct job *waiting = job_start((struct fetch_request){.url = url_of("/slow")});
    waiting->request.timeout_ms = 50;
    struct job *late = job_start((struct fetch_request){.url = url_of("/slow")});
    late->task.deadline_ms = clock_mono_ms() + 80;
    loop_timer_init(&timer, on_cancel, &running->task);
    loop_timer_start(&timer, 150);
    loop_run();
    assert_int_equal(running->rc, -ECANCELED);
    assert_int_equal(waiting->rc, FETCH_TIMEOUT);
    assert_int_equal(late->rc, -ETIMEDOUT);
    assert_in_range(running->took_ms, 0, allowed(1500));
    assert_int_equal(fetch_in_flight(), 0);
}

static void on_shutdown(void *arg)
{
    jobs_left++; /* job_main must not shut down a second time */
    fetch_done();
    loop_timer_start(arg, 100);
}

static void on_stop(void *arg)
{
    (void)arg;
    loop_stop();
}

static void assert_ended_early(struct job *const *jobs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(jobs[i]->rc, FETCH_UNREACHABLE);
        assert_in_range(jobs[i]->took_ms, 0, allowed(1500));
    }
    assert_int_equal(fetch_in_flight(), 0);
}

/* fetch_done() ends two running requests and two that wait for a slot. */
TEST_WITH(test_done_while_running, setup, teardown)
{
    struct loop_timer timer;
    struct loop_timer stop;
    struct job *jobs[4];
    init_with(2);
    for (size_t i = 0; i < 3; i++)
        jobs[i] = job_start((struct fetch_request){.url = url_of("/slow")});
    jobs[3] = job_start((struct fetch_request){.url = localhost_url()});
    loop_timer_init(&timer, on_shutdown, &stop);
    loop_timer_start(&timer, 100);
    loop_timer_init(&stop, on_stop, NULL);
    loop_run();
    jobs_left = 0;
    assert_ended_early(jobs, ARRAY_LEN(jobs));
}

/* Runs right after the coroutine of the request has started its lookup, so before any answer is
 * handled. */
static void shutdown_main(struct task *task, void *arg)
{
    (void)task;
    on_shutdown(arg);
}

TEST_WITH(test_done_while_resolving, setup, teardown)
{
    struct loop_timer stop;
    init_with(2);
    struct job *job = job_start((struct fetch_request){.url = localhost_url()});
    loop_timer_init(&stop, on_stop, NULL);
    task_start(&(struct task){.arena = arena}, shutdown_main, &stop);
    loop_run();
    jobs_left = 0;
    assert_ended_early(&job, 1);
}

static void cancel_main(struct task *task, void *arg)
{
    (void)task;
    task_cancel(arg);
}

/* When a task is cancelled during its lookup, the answer of the thread finds no waiting task. */
TEST_WITH(test_cancel_while_resolving, setup, teardown)
{
    init_with(0);
    struct job *job = job_start((struct fetch_request){.url = localhost_url()});
    task_start(&(struct task){.arena = arena}, cancel_main, &job->task);
    struct job *other = job_start((struct fetch_request){.url = url_of("/size/1")});
    loop_run();
    assert_int_equal(job->rc, -ECANCELED);
    assert_int_equal(other->rc, 0);
}

GROUP(server_start, python_server_stop)
