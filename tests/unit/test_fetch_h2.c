/* fetch() over HTTP/2: many small requests to the Python server of tests/push. */
#include "deadline.h"
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "fetch/fetch.h"
#include "loop/loop.h"
#include "loop/shares.h"
#include "loop/task.h"
#include "python_server.h"

/* Prints its port. /ports returns the ports of the other servers, /seen/PATH how often a path was
 * requested, /count how many connections were opened. A path with "once" misbehaves only at its
 * first request. */
static const char server_py[] =
    "import asyncio, http.server, json, os, pathlib, socket, ssl, sys, threading\n"
    "sys.path.insert(0, 'tests')\n"
    "from h2.errors import ErrorCodes\n"
    "from push import certificates, http2, odd_http2\n"
    "folder = pathlib.Path(os.environ['H2_FOLDER'])\n"
    "ca, server = certificates.make(folder)\n"
    "(folder / 'other').mkdir()\n"
    "_, other = certificates.make(folder / 'other')\n"
    "(folder / 'named').mkdir()\n"
    "named = certificates.make(folder / 'named', ('elsewhere.example',), ())\n"
    "seen, cancelled = {}, 0\n"
    "async def handler(request):\n"
    "    global cancelled\n"
    "    path = request.path\n"
    "    if path.startswith('/seen'):\n"
    "        return http2.Answer(200, str(seen.get(path[5:], 0)).encode())\n"
    "    seen[path] = seen.get(path, 0) + 1\n"
    "    first = seen[path] == 1 or 'once' not in path\n"
    "    if path == '/ports': return http2.Answer(200, ports.encode())\n"
    "    if path == '/count': return http2.Answer(200, str(main.count).encode())\n"
    "    if path.startswith('/accepted/'): return http2.Answer(200, "
    "str(odd[path[10:]].accepted).encode())\n"
    "    if path.startswith('/open/'): return http2.Answer(200, str(odd[path[6:]].open).encode())\n"
    "    if path == '/peak': return http2.Answer(200, str(few.peak_streams).encode())\n"
    "    if path == '/cancelled': return http2.Answer(200, str(cancelled).encode())\n"
    "    if path.startswith('/echo'):\n"
    "        text = json.dumps(request.headers) + '\\n'\n"
    "        return http2.Answer(201, text.encode() + request.body, {'X-Other': 'o', "
    "'Retry-After': ' 7'})\n"
    "    if path.startswith('/slow'):\n"
    "        try: await asyncio.sleep(600)\n"
    "        except asyncio.CancelledError: cancelled += 1; raise\n"
    "    if path.startswith('/nap'): await asyncio.sleep(0.1)\n"
    "    if path.startswith('/size/'): return http2.Answer(200, b'x' * int(path[6:]))\n"
    "    if path == '/headers': return http2.Answer(200, b'', {'x-%d' % i: 'v' * 400 for i in "
    "range(100)})\n"
    "    if path.startswith('/refuse') and first: raise http2.Reset(ErrorCodes.REFUSED_STREAM)\n"
    "    if path.startswith('/reset') and first: raise http2.Reset()\n"
    "    if path.startswith('/goaway') and first: raise http2.GoAway\n"
    "    if path.startswith('/drop') and first: raise http2.Drop\n"
    "    return http2.Answer(200, b'ok')\n"
    "class Old(http.server.BaseHTTPRequestHandler):\n"
    "    protocol_version = 'HTTP/1.1'\n"
    "    def log_message(self, *args): pass\n"
    "    def do_POST(self):\n"
    "        self.rfile.read(int(self.headers['Content-Length']))\n"
    "        self.send_response(200)\n"
    "        self.send_header('X-Old', 'y'); self.send_header('Content-Length', '3')\n"
    "        self.end_headers(); self.wfile.write(b'old')\n"
    "old = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Old)\n"
    "old.socket = certificates.server_context(server, 'http/1.1').wrap_socket(old.socket, "
    "server_side=True)\n"
    "threading.Thread(target=old.serve_forever, daemon=True).start()\n"
    "mute = socket.create_server(('127.0.0.1', 0))\n"
    "def h2(pem, **options): return http2.Server(handler, certificates.server_context(pem, 'h2'), "
    "**options)\n"
    "few, foreign, misnamed = h2(server, streams_max=2), h2(other), h2(named[1])\n"
    "chosen = [h2(server) for _ in range(17)]\n"
    "odd = odd_http2.start(certificates.server_context(server, 'h2'))\n"
    "ports = ' '.join(map(str, [few.port, foreign.port, misnamed.port, old.server_port,\n"
    "                           mute.getsockname()[1], *(odd[each].port for each in\n"
    "    'quits lingers pushes interim shut silent babbles hasty'.split()),\n"
    "    *(each.port for each in chosen)]))\n"
    "main = h2(server)\n"
    "os.write(1, b'%d\\n' % main.port)\n"
    "threading.Event().wait()\n";

enum {
    FEW,
    FOREIGN,
    MISNAMED,
    OLD,
    MUTE,
    /* the servers of tests/push/odd_http2.py */
    QUITS,
    LINGERS,
    PUSHES,
    INTERIM,
    SHUT,
    SILENT,
    BABBLES,
    HASTY,
    /* servers that play the hosts of users' choice */
    CHOSEN,
    OTHERS = CHOSEN + 17
};

static char folder[] = "/tmp/test_fetch_h2.XXXXXX";
static int others[OTHERS];

static int server_start(void **state UNUSED)
{
    if (mkdtemp(folder) == NULL || setenv("H2_FOLDER", folder, 1) != 0)
        return -1;
    return python_server_start(server_py);
}

static int server_stop(void **state UNUSED)
{
    char command[64];

    (void)snprintf(command, sizeof(command), "rm -r %s", folder);
    if (python_server_stop(state) != 0)
        return -1;
    return system(command) == 0 ? 0 : -1; /* NOLINT(cert-env33-c): the command is the test's own */
}

/* --- one test: a loop and tasks that call fetch() --- */

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

static struct str at(int port, const char *path)
{
    return arena_printf(arena, "https://127.0.0.1:%d%s", port, path);
}

static struct str url_of(const char *path)
{
    return at(server_port, path);
}

static void init_with_ca(const char *ca)
{
    struct str allow[OTHERS + 2];

    loop_init();
    for (size_t i = 0; i < OTHERS; i++)
        allow[i] = arena_printf(arena, "127.0.0.1:%d", others[i]);
    allow[OTHERS] = arena_printf(arena, "127.0.0.1:%d", server_port);
    allow[OTHERS + 1] = arena_printf(arena, "localhost:%d", server_port);
    fetch_init(&(struct fetch_config){.allow = allow,
                                      .nallow = ARRAY_LEN(allow),
                                      .max_in_flight = 4000,
                                      .ca_file = arena_printf(arena, "%s/%s", folder, ca).ptr});
}

static void init(void)
{
    init_with_ca("ca.pem");
}

struct job {
    struct task task;
    struct fetch_request request;
    struct fetch_response response;
    int rc;
    unsigned times; /* requests of this job, one after the other; 0 = 1 */
    int64_t took_ms;
};

static unsigned jobs_left;

static void job_main(struct task *task, void *arg)
{
    struct job *job = arg;
    int64_t start_ms = clock_mono_ms();

    do {
        job->rc = fetch(task, &job->request, &job->response);
    } while (job->rc == 0 && job->times-- > 1);
    job->took_ms = clock_mono_ms() - start_ms;
    if (--jobs_left == 0) {
        fetch_done();
        loop_stop();
    }
}

static struct fetch_request post(struct str url)
{
    return (struct fetch_request){.method = STR("POST"),
                                  .url = url,
                                  .body = STR("{}"),
                                  .max_response_bytes = 65536,
                                  .timeout_ms = 120000,
                                  .purpose = FETCH_PUSH_FCM};
}

static struct job *job_start(struct fetch_request request)
{
    struct job *job = ARENA_NEW(arena, job);

    job->task.arena = arena;
    job->task.project = 7;
    job->request = request;
    jobs_left++;
    task_start(&job->task, job_main, job);
    return job;
}

static struct job *run(struct fetch_request request)
{
    init();
    struct job *job = job_start(request);
    loop_run();
    return job;
}

static long number_at(const char *path)
{
    struct job *job = run(post(url_of(path)));

    assert_int_equal(job->rc, 0);
    return strtol(job->response.body.ptr, NULL, 10);
}

static int find_others(void)
{
    struct job *job = run(post(url_of("/ports")));
    char *rest;

    if (job->rc != 0)
        return -1;
    rest = arena_cstr(arena, job->response.body);
    for (size_t i = 0; i < OTHERS; i++)
        others[i] = (int)strtol(rest, &rest, 10);
    return 0;
}

static void assert_answered(struct job *const *jobs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(jobs[i]->rc, 0);
        assert_int_equal(jobs[i]->response.status, 200);
        assert_true(str_is(jobs[i]->response.body, "ok"));
    }
}

static void check_given_back(const struct shares *shares, void *arg UNUSED)
{
    assert_int_equal(shares->held, 0);
}

/* --- tests --- */

static int others_setup(void **state UNUSED)
{
    return setup(state) == 0 && (others[FEW] > 0 || find_others() == 0) ? 0 : -1;
}

TEST_WITH(test_message, others_setup, teardown)
{
    const struct fetch_header headers[] = {
        {STR("Authorization"), STR("Bearer t")},
        {STR("X-Empty"), STR("")},
    };
    struct fetch_request request = post(url_of("/echo/a?b=c#d"));
    request.headers = headers;
    request.nheaders = ARRAY_LEN(headers);
    request.body = STR("{\"a\":1}\0z");
    struct job *job = run(request);
    assert_int_equal(job->rc, 0);
    assert_int_equal(job->response.status, 201);
    assert_true(str_is(fetch_response_header(&job->response, "Retry-After"), "7"));
    assert_int_equal(job->response.nheaders, 1);
    assert_true(str_ends(job->response.body, STR("}\n{\"a\":1}\0z")));
    const char *text = job->response.body.ptr;
    assert_non_null(strstr(text, "\":method\": \"POST\""));
    assert_non_null(strstr(text, "\":scheme\": \"https\""));
    assert_non_null(strstr(text, "\":path\": \"/echo/a?b=c\""));
    assert_non_null(
        strstr(text, arena_printf(arena, "\":authority\": \"127.0.0.1:%d\"", server_port).ptr));
    assert_non_null(strstr(text, "\"authorization\": \"Bearer t\""));
    assert_non_null(strstr(text, "\"x-empty\": \"\""));
    assert_non_null(strstr(text, "\"content-length\": \"9\""));
    shares_each(check_given_back, NULL);

    /* The name is resolved and verified. The request has no body, then an empty one. */
    request.url = arena_printf(arena, "https://LocalHost.:%d/echo", server_port);
    request.method = STR("GET");
    request.body = STR("");
    job = run(request);
    assert_int_equal(job->rc, 0);
    assert_null(strstr(job->response.body.ptr, "content-length"));
    request.method = STR("POST");
    job = run(request);
    assert_int_equal(job->rc, 0);
    assert_non_null(strstr(job->response.body.ptr, "\"content-length\": \"0\""));
}

/* Many requests share a few connections, which are kept. */
TEST_WITH(test_many, others_setup, teardown)
{
    struct job *jobs[600];
    long before = number_at("/count");

    init();
    for (size_t i = 0; i < ARRAY_LEN(jobs); i++)
        jobs[i] = job_start(post(url_of("/nap")));
    loop_run();
    assert_answered(jobs, ARRAY_LEN(jobs));
    assert_in_range(number_at("/count"), before + 2, before + 6);

    before = number_at("/count");
    init();
    jobs[0] = job_start(post(url_of("/ok")));
    jobs[0]->times = 50;
    loop_run();
    assert_answered(jobs, 1);
    assert_int_equal(number_at("/count"), before + 2);
}

/* fetch() opens no more streams than the peer allows. */
TEST_WITH(test_few_streams, others_setup, teardown)
{
    struct job *jobs[40];

    init();
    for (size_t i = 0; i < ARRAY_LEN(jobs); i++)
        jobs[i] = job_start(post(at(others[FEW], "/nap")));
    loop_run();
    assert_answered(jobs, ARRAY_LEN(jobs));
    assert_in_range(number_at("/peak"), 2, 10);
}

/* A body may be larger than the windows, records and buffers. */
TEST_WITH(test_large_body, others_setup, teardown)
{
    struct fetch_request request = post(url_of("/seen/x"));
    char *body = arena_zalloc(arena, 900000);

    request.body = (struct str){body, 900000};
    assert_int_equal(run(request)->rc, 0);
    init();
    struct job *jobs[8];
    for (size_t i = 0; i < ARRAY_LEN(jobs); i++)
        jobs[i] = job_start(request);
    loop_run();
    for (size_t i = 0; i < ARRAY_LEN(jobs); i++)
        assert_int_equal(jobs[i]->rc, 0);
}

TEST_WITH(test_sizes, others_setup, teardown)
{
    struct job *job = run(post(url_of("/size/65536")));

    assert_int_equal(job->rc, 0);
    assert_int_equal(job->response.body.len, 65536);
    assert_int_equal(run(post(url_of("/size/65537")))->rc, FETCH_TOO_LARGE);
    assert_int_equal(run(post(url_of("/size/900000")))->rc, FETCH_TOO_LARGE);
    assert_int_equal(run(post(url_of("/headers")))->rc, FETCH_TOO_LARGE);
    job = run(post(url_of("/size/0")));
    assert_int_equal(job->rc, 0);
    assert_string_equal(job->response.body.ptr, "");
    /* An answer that is too large ends its own stream, not the other streams. */
    init();
    struct job *large = job_start(post(url_of("/size/900000")));
    struct job *other = job_start(post(url_of("/nap")));
    loop_run();
    assert_int_equal(large->rc, FETCH_TOO_LARGE);
    assert_answered(&other, 1);
}

/* A request whose stream the peer refused without processing it is sent again, up to a limit. */
TEST_WITH(test_refused_streams, others_setup, teardown)
{
    assert_int_equal(run(post(url_of("/refuse-once")))->rc, 0);
    assert_int_equal(number_at("/seen/refuse-once"), 2);
    assert_int_equal(run(post(url_of("/refuse")))->rc, FETCH_UNREACHABLE);
    assert_int_equal(number_at("/seen/refuse"), 4);
}

/* A request whose stream was reset may have been processed, so it is not sent again. */
TEST_WITH(test_reset_streams, others_setup, teardown)
{
    init();
    struct job *reset = job_start(post(url_of("/reset-once")));
    struct job *other = job_start(post(url_of("/nap")));
    loop_run();
    assert_int_equal(reset->rc, FETCH_UNREACHABLE);
    assert_answered(&other, 1);
    assert_int_equal(number_at("/seen/reset-once"), 1);
}

/* After GOAWAY, streams above the last id move to another connection, and the others are answered
 * on the same one. */
TEST_WITH(test_goaway, others_setup, teardown)
{
    struct job *jobs[20];
    long before = number_at("/seen/nap/goaway");

    init();
    for (size_t i = 0; i < ARRAY_LEN(jobs); i++)
        jobs[i] = job_start(post(url_of(i == 10 ? "/goaway-once" : "/nap/goaway")));
    loop_run();
    assert_answered(jobs, ARRAY_LEN(jobs));
    assert_int_equal(number_at("/seen/goaway-once"), 2);
    assert_in_range(number_at("/seen/nap/goaway"), before + 19, before + 28);

    assert_int_equal(run(post(url_of("/goaway")))->rc, FETCH_UNREACHABLE);
    assert_int_equal(number_at("/seen/goaway"), 4);
}

/* When a connection is cut, its pending requests fail and are sent only once. The next request
 * opens another connection. */
TEST_WITH(test_drop, others_setup, teardown)
{
    struct job *jobs[10];

    init();
    for (size_t i = 0; i < ARRAY_LEN(jobs); i++)
        jobs[i] = job_start(post(url_of(i == 9 ? "/drop-once" : "/slow/drop")));
    loop_run();
    for (size_t i = 0; i < ARRAY_LEN(jobs); i++) {
        assert_int_equal(jobs[i]->rc, FETCH_UNREACHABLE);
        assert_in_range(jobs[i]->took_ms, 0, allowed(1500));
    }
    assert_int_equal(number_at("/seen/slow/drop"), 9);
    assert_int_equal(number_at("/seen/drop-once"), 1);
}

static void on_cancel(void *task)
{
    task_cancel(task);
}

/* A request that times out or is cancelled ends its stream. */
TEST_WITH(test_time, others_setup, teardown)
{
    struct loop_timer timer;
    struct fetch_request brief = post(url_of("/slow/time"));
    long before = number_at("/cancelled");

    brief.timeout_ms = 600;
    init();
    struct job *late = job_start(brief);
    struct job *cancelled = job_start(post(url_of("/slow/time")));
    struct job *other = job_start(post(url_of("/nap")));
    struct job *due = job_start(post(url_of("/slow/time")));
    due->task.deadline_ms = clock_mono_ms() + 500;
    struct job *after = job_start(post(url_of("/nap")));
    after->times = 5;
    loop_timer_init(&timer, on_cancel, &cancelled->task);
    loop_timer_start(&timer, 550);
    loop_run();
    assert_int_equal(late->rc, FETCH_TIMEOUT);
    assert_in_range(late->took_ms, 590, allowed(1500));
    assert_int_equal(cancelled->rc, -ECANCELED);
    assert_int_equal(due->rc, -ETIMEDOUT);
    assert_answered(&other, 1);
    assert_answered(&after, 1);
    assert_int_equal(fetch_in_flight(), 0);
    /* As many streams as requests have arrived so far. */
    UNTIL(number_at("/cancelled") == before + number_at("/seen/slow/time"), (void)usleep(20000));
    assert_in_range(number_at("/seen/slow/time"), strict_times() ? 3 : 0, 3);

    /* The time also runs out before the connection is established. */
    brief.url = at(others[MUTE], "/");
    late = run(brief);
    assert_int_equal(late->rc, FETCH_TIMEOUT);
    assert_in_range(late->took_ms, 590, allowed(1500));
}

/* The peer must be the host that the URL names, by a certificate of a trusted authority. */
TEST_WITH(test_identity, others_setup, teardown)
{
    assert_int_equal(run(post(at(others[FOREIGN], "/")))->rc, FETCH_UNREACHABLE);
    assert_int_equal(run(post(at(others[MISNAMED], "/")))->rc, FETCH_UNREACHABLE);
    init_with_ca("named/ca.pem");
    struct job *misnamed = job_start(post(at(others[MISNAMED], "/")));
    loop_run();
    assert_int_equal(misnamed->rc, FETCH_UNREACHABLE);
    init_with_ca("none.pem");
    struct job *without = job_start(post(url_of("/")));
    loop_run();
    assert_int_equal(without->rc, FETCH_UNREACHABLE);
}

TEST_WITH(test_unreachable, others_setup, teardown)
{
    struct job *jobs[200];
    int port = others[OLD];

    others[OLD] = 1; /* no server listens on this port */
    init();
    for (size_t i = 0; i < ARRAY_LEN(jobs); i++)
        jobs[i] = job_start(post(at(1, "/")));
    loop_run();
    others[OLD] = port;
    for (size_t i = 0; i < ARRAY_LEN(jobs); i++)
        assert_int_equal(jobs[i]->rc, FETCH_UNREACHABLE);
}

TEST_WITH(test_rules, others_setup, teardown)
{
    const struct str urls[] = {
        url_of("/"), STR("https://127.0.0.1/"), STR("https://localhost/"), STR("https://[::1]/")};

    for (size_t i = 0; i < ARRAY_LEN(urls); i++) {
        loop_init();
        fetch_init(&(struct fetch_config){0});
        struct job *job = job_start(post(urls[i]));
        loop_run();
        assert_int_equal(job->rc, FETCH_REFUSED);
    }
}

/* A peer without HTTP/2 is called over HTTP/1.1, the next time immediately. */
TEST_WITH(test_http1, others_setup, teardown)
{
    struct job *jobs[20];

    init();
    for (size_t i = 0; i < ARRAY_LEN(jobs); i++) {
        jobs[i] = job_start(post(at(others[OLD], "/")));
        jobs[i]->times = 2;
    }
    loop_run();
    for (size_t i = 0; i < ARRAY_LEN(jobs); i++) {
        assert_int_equal(jobs[i]->rc, 0);
        assert_true(str_is(jobs[i]->response.body, "old"));
        assert_true(str_is(fetch_response_header(&jobs[i]->response, "x-old"), "y"));
    }
}

/* A peer that sends GOAWAY before any request is not dialled for ever. A peer that leaves the
 * closing to the client keeps no connection open. */
TEST_WITH(test_left_open, others_setup, teardown)
{
    struct job *quits = run(post(at(others[QUITS], "/")));
    assert_int_equal(quits->rc, FETCH_UNREACHABLE);
    assert_in_range(quits->took_ms, 0, allowed(5000));
    assert_in_range(number_at("/accepted/quits"), 1, 8);

    init();
    struct job *lingers = job_start(post(at(others[LINGERS], "/")));
    lingers->times = 25;
    loop_run();
    assert_answered(&lingers, 1);
    assert_in_range(lingers->took_ms, 0, allowed(10000));
    assert_int_equal(number_at("/accepted/lingers"), 25);
    init();
    lingers = job_start(post(at(others[LINGERS], "/")));
    struct job *open = job_start(post(url_of("/nap")));
    open->times = 5;
    loop_run();
    assert_answered(&lingers, 1);
    UNTIL(number_at("/open/lingers") == 0, (void)usleep(20000));
}

/* Interim answers and trailers are not the answer. A request that is answered before its body was
 * sent is finished, and its connection stays in use. */
TEST_WITH(test_order, others_setup, teardown)
{
    struct fetch_request large = post(at(others[HASTY], "/"));

    struct job *job = run(post(at(others[INTERIM], "/")));
    assert_answered(&job, 1);
    assert_int_equal(job->response.nheaders, 0);

    large.body = (struct str){arena_zalloc(arena, 900000), 900000};
    init();
    job = job_start(large);
    job->times = 5;
    loop_run();
    assert_answered(&job, 1);
    assert_int_equal(number_at("/accepted/hasty"), 1);
}

/* A peer that breaks the protocol loses its connection and does not end the process. */
TEST_WITH(test_breaches, others_setup, teardown)
{
    assert_int_equal(run(post(at(others[PUSHES], "/")))->rc, FETCH_UNREACHABLE);
    struct job *job = run(post(at(others[BABBLES], "/")));
    assert_int_equal(job->rc, FETCH_UNREACHABLE);
    assert_in_range(job->took_ms, 0, allowed(5000));
}

/* A dead connection is detected by its silence, before the time of its requests is over. Requests
 * to a peer that allows no stream fail when their time is over, not later. */
TEST_WITH(test_silence, others_setup, teardown)
{
    struct fetch_request brief = post(at(others[SHUT], "/"));

    brief.timeout_ms = 1000;
    init();
    struct job *silent = job_start(post(at(others[SILENT], "/")));
    struct job *shut = job_start(brief);
    loop_run();
    assert_int_equal(silent->rc, FETCH_UNREACHABLE);
    assert_in_range(silent->took_ms, 14000, allowed(19500));
    assert_int_equal(shut->rc, FETCH_TIMEOUT);
    assert_in_range(shut->took_ms, 950, allowed(3000));
}

/* True when the answer came over HTTP/2: only the HTTP/1.1 path passes on all headers. */
static bool came_by_stream(const struct job *job)
{
    assert_int_equal(job->rc, 0);
    assert_int_equal(job->response.status, 201);
    return fetch_response_header(&job->response, "x-other").ptr == NULL;
}

static struct job *chosen_start(size_t host)
{
    struct fetch_request request = post(at(others[CHOSEN + host], "/echo"));

    request.purpose = FETCH_PUSH_WEB;
    return job_start(request);
}

/* Hosts of users' choice get HTTP/2 when they receive many requests, and only 16 of them do. */
TEST_WITH(test_chosen_hosts, others_setup, teardown)
{
    struct job *jobs[17][20];
    unsigned in_streams = 0;

    init();
    for (size_t i = 0; i < ARRAY_LEN(jobs); i++)
        jobs[i][0] = chosen_start(i);
    loop_run();
    for (size_t i = 0; i < ARRAY_LEN(jobs); i++)
        assert_false(came_by_stream(jobs[i][0]));

    init();
    for (size_t i = 0; i < ARRAY_LEN(jobs); i++)
        for (size_t j = 0; j < ARRAY_LEN(jobs[i]); j++) {
            jobs[i][j] = chosen_start(i);
            jobs[i][j]->times = 3;
        }
    loop_run();
    for (size_t i = 0; i < ARRAY_LEN(jobs); i++) {
        unsigned streams = 0;
        for (size_t j = 0; j < ARRAY_LEN(jobs[i]); j++)
            streams += came_by_stream(jobs[i][j]);
        in_streams += streams > 0;
    }
    assert_int_equal(in_streams, 16);
    shares_each(check_given_back, NULL);
}

static void on_stop(void *arg)
{
    (void)arg;
    loop_stop();
}

static void on_shutdown(void *arg)
{
    jobs_left++; /* job_main must not shut down a second time */
    fetch_done();
    loop_timer_start(arg, 100);
}

/* fetch_done() ends running requests, requests that wait for a stream, and one that waits for its
 * connection. */
TEST_WITH(test_done_while_running, others_setup, teardown)
{
    struct loop_timer timer;
    struct loop_timer stop;
    struct job *jobs[30];

    init();
    for (size_t i = 0; i + 1 < ARRAY_LEN(jobs); i++)
        jobs[i] = job_start(post(at(others[FEW], "/slow")));
    jobs[ARRAY_LEN(jobs) - 1] = job_start(post(at(others[MUTE], "/")));
    loop_timer_init(&timer, on_shutdown, &stop);
    loop_timer_start(&timer, 200);
    loop_timer_init(&stop, on_stop, NULL);
    loop_run();
    jobs_left = 0;
    for (size_t i = 0; i < ARRAY_LEN(jobs); i++) {
        assert_int_equal(jobs[i]->rc, FETCH_UNREACHABLE);
        assert_in_range(jobs[i]->took_ms, 0, allowed(1500));
    }
    assert_int_equal(fetch_in_flight(), 0);
}

GROUP(server_start, server_stop)
