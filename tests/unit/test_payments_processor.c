/* Calls to the processor, answered by a small server on loopback. Checks what is sent, how
 * answers are read, which calls are repeated and which outcomes stay unknown. */
#include "deadline.h"
#include "unit.h"

#include <errno.h>
#include <stdio.h>

#include "base/arena.h"
#include "fetch/fetch.h"
#include "json/jr.h"
#include "loop/loop.h"
#include "loop/task.h"
#include "payments/form.h"
#include "payments/processor.h"
#include "project/project.h"
#include "python_server.h"

/* The path is a script with one step for each request: a status with "r" (retry true) or "n"
 * (retry false), or h(ang), d(rop after reading), b(roken JSON), l(ist), e(mpty), t(oo large).
 * The last step is repeated. /seen/... returns the requests that came in. */
static const char server_py[] =
    "import http.server, json, os, socket, time, threading\n"
    "seen = {}\n"
    "codes = {400: ('invalid_request_error', 'parameter_missing'),\n"
    "         401: ('invalid_request_error', None), 402: ('card_error', 'card_declined'),\n"
    "         404: ('invalid_request_error', 'resource_missing')}\n"
    "class Handler(http.server.BaseHTTPRequestHandler):\n"
    "    protocol_version = 'HTTP/1.1'\n"
    "    def log_message(self, *args): pass\n"
    "    def answer(self, status, body, headers=()):\n"
    "        self.send_response(status)\n"
    "        for name, value in headers: self.send_header(name, value)\n"
    "        self.send_header('Content-Length', str(len(body)))\n"
    "        self.end_headers()\n"
    "        self.wfile.write(body)\n"
    "    def handle_any(self):\n"
    "        body = self.rfile.read(int(self.headers.get('Content-Length', 0))).decode()\n"
    "        path = self.path.partition('?')[0]\n"
    "        if path.startswith('/seen'):\n"
    "            return self.answer(200, json.dumps({'all': seen.get(path[5:], [])}).encode())\n"
    "        log = seen.setdefault(path, [])\n"
    "        log.append({'method': self.command, 'target': self.path, 'body': body,\n"
    "                    'headers': {k.lower(): v for k, v in self.headers.items()}})\n"
    "        steps = path.split('/')[2].split('-')\n"
    "        step = steps[min(len(log), len(steps)) - 1]\n"
    "        headers = [('Request-Id', 'req_%d' % len(log))]\n"
    "        if len(log) > 1: headers.append(('Idempotent-Replayed', 'true'))\n"
    "        if step == 'h': time.sleep(600); return\n"
    "        if step == 'd':\n"
    "            self.close_connection = True\n"
    "            return self.connection.shutdown(socket.SHUT_RDWR)\n"
    "        if step == 'b': return self.answer(200, b'{\"id\": ', headers)\n"
    "        if step == 'l': return self.answer(200, b'[]', headers)\n"
    "        if step == 'e': return self.answer(502, b'<html>', headers)\n"
    "        if step == 't': return self.answer(200, b'\"' + b'x' * (1 << 20) + b'\"', headers)\n"
    "        if step[-1] in 'rn':\n"
    "            headers.append(('Stripe-Should-Retry', 'true' if step[-1] == 'r' else 'false'))\n"
    "        status = int(step.rstrip('rnik'))\n"
    "        if status == 200: return self.answer(200, b'{\"id\":\"x_1\"}', headers)\n"
    "        kind, code = codes.get(status, ('api_error', None))\n"
    "        if step[-1] == 'k': kind, code = 'idempotency_error', None\n"
    "        error = {'type': kind, 'code': code, 'message': 'No.', 'param': 'amount',\n"
    "                 'decline_code': 'insufficient_funds' if status == 402 else None}\n"
    "        if status == 402: error['payment_intent'] = {'id': 'pi_1'}\n"
    "        self.answer(status, json.dumps({'error': error}).encode(), headers)\n"
    "    do_GET = do_POST = do_DELETE = handle_any\n"
    "class Server(http.server.ThreadingHTTPServer):\n"
    "    daemon_threads = True\n"
    "    def handle_error(self, *args): pass\n"
    "server = Server(('127.0.0.1', 0), Handler)\n"
    "os.write(1, b'%d\\n' % server.server_port)\n"
    "server.serve_forever()\n";

static int server_start(void **state UNUSED)
{
    return python_server_start(server_py);
}

/* --- one call --- */

static struct arena *arena;
static struct payment_settings settings;

static int setup(void **state UNUSED)
{
    arena = arena_new(0);
    settings = (struct payment_settings){
        .processor = {.mode = PROCESSOR_CONNECT,
                      .secret_key = STR("sk_test_1"),
                      .account = STR("acct_1"),
                      .charges_enabled = true},
    };
    return 0;
}

static int teardown(void **state UNUSED)
{
    arena_free(arena);
    return 0;
}

struct job {
    struct task task;
    struct str kept; /* a path that is read first, so that its connection is reused; or none */
    struct processor_request request;
    struct processor_reply reply;
    int rc;
    int64_t took_ms;
};

static void job_main(struct task *task, void *arg)
{
    struct job *job = arg;
    if (job->kept.len > 0) {
        const struct processor_request first = {.method = "GET", .path = job->kept};
        assert_int_equal(processor_call(task, &settings, &first, &job->reply), 0);
    }
    int64_t start_ms = clock_mono_ms();
    job->rc = processor_call(task, &settings, &job->request, &job->reply);
    job->took_ms = clock_mono_ms() - start_ms;
    fetch_done();
    loop_stop();
}

static struct {
    int64_t timeout_ms; /* 0 = only requests that hang reach it */
    int64_t deadline_ms;
    unsigned retries;
    bool closed_port;
    const char *kept;
} with = {.retries = 2};

static struct job *run(struct processor_request request)
{
    struct job *job = ARENA_NEW(arena, job);
    int port = with.closed_port ? 1 : server_port;
    int64_t timeout_ms = str_starts(request.path, STR("/v1/h")) ? 1000 : 60000;
    const struct str allow[] = {arena_printf(arena, "127.0.0.1:%d", port)};

    loop_init();
    fetch_init(&(struct fetch_config){.allow = allow, .nallow = 1});
    processor_init(&(struct processor_config){
        .base_url = arena_printf(arena, "http://127.0.0.1:%d/", port),
        .timeout_ms = with.timeout_ms > 0 ? with.timeout_ms : timeout_ms,
        .retries = with.retries,
    });
    job->task.arena = arena;
    job->task.deadline_ms = with.deadline_ms > 0 ? clock_mono_ms() + with.deadline_ms : 0;
    job->request = request;
    if (with.kept != NULL)
        job->kept = str_from(with.kept);
    task_start(&job->task, job_main, job);
    loop_run();
    return job;
}

/* Posts to "/v1/<steps>/<name>". Each test has paths of its own. */
static struct job *post(const char *path)
{
    return run((struct processor_request){
        .method = "POST", .path = str_from(path), .form = STR("amount=1000"), .key = STR("k-1")});
}

static struct job *get(const char *path)
{
    return run((struct processor_request){.method = "GET", .path = str_from(path)});
}

/* Returns the requests that the server has received for a path. */
static const json_t *seen(const char *path)
{
    struct job *job = get(arena_printf(arena, "/seen%s", path).ptr);
    assert_int_equal(job->rc, 0);
    return json_object_get(job->reply.body, "all");
}

static const char *header(const json_t *all, size_t index, const char *name)
{
    return json_string_value(
        json_object_get(json_object_get(json_array_get(all, index), "headers"), name));
}

static const char *member(const json_t *all, size_t index, const char *name)
{
    return json_string_value(json_object_get(json_array_get(all, index), name));
}

/* --- sent requests --- */

TEST_WITH(test_post, setup, teardown)
{
    struct job *job = post("/v1/200/post");

    assert_int_equal(job->rc, 0);
    assert_int_equal(job->reply.status, 200);
    assert_true(str_is(jr_str(job->reply.body, "id"), "x_1"));
    assert_true(str_is(job->reply.request_id, "req_1"));
    const json_t *all = seen("/v1/200/post");
    assert_int_equal(json_array_size(all), 1);
    assert_string_equal(member(all, 0, "method"), "POST");
    assert_string_equal(member(all, 0, "body"), "amount=1000");
    assert_string_equal(header(all, 0, "authorization"), "Bearer sk_test_1");
    assert_string_equal(header(all, 0, "stripe-version"), PROCESSOR_VERSION);
    assert_string_equal(header(all, 0, "stripe-account"), "acct_1");
    assert_string_equal(header(all, 0, "idempotency-key"), "k-1");
    assert_string_equal(header(all, 0, "content-type"), "application/x-www-form-urlencoded");
}

TEST_WITH(test_post_empty, setup, teardown)
{
    struct job *job = run((struct processor_request){
        .method = "POST", .path = STR("/v1/200/empty"), .key = STR("k")});
    assert_int_equal(job->rc, 0);
    assert_string_equal(header(seen("/v1/200/empty"), 0, "content-length"), "0");
}

TEST_WITH(test_query, setup, teardown)
{
    const char *methods[] = {"GET", "DELETE"};

    for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
        struct str path = arena_printf(arena, "/v1/200/query%zu", i);
        struct job *job = run((struct processor_request){
            .method = methods[i], .path = path, .form = STR("limit=1&expand[0]=a.b")});
        assert_int_equal(job->rc, 0);
        const json_t *all = seen(path.ptr);
        assert_string_equal(member(all, 0, "method"), methods[i]);
        assert_string_equal(member(all, 0, "body"), "");
        assert_string_equal(member(all, 0, "target"),
                            arena_printf(arena, "%s?limit=1&expand[0]=a.b", path.ptr).ptr);
        assert_null(header(all, 0, "idempotency-key"));
        assert_null(header(all, 0, "content-type"));
    }
}

TEST_WITH(test_account, setup, teardown)
{
    struct job *job = run((struct processor_request){
        .method = "POST", .path = STR("/v1/200/platform"), .key = STR("k"), .platform = true});
    assert_int_equal(job->rc, 0);
    assert_null(header(seen("/v1/200/platform"), 0, "stripe-account"));

    settings.processor.mode = PROCESSOR_OWN;
    assert_int_equal(post("/v1/200/own")->rc, 0);
    assert_null(header(seen("/v1/200/own"), 0, "stripe-account"));

    settings.processor.mode = PROCESSOR_CONNECT;
    settings.processor.account = STR("");
    assert_int_equal(post("/v1/200/none")->rc, PROCESSOR_NOT_CONFIGURED);
    settings.processor.account = STR("acct_1");
    settings.processor.secret_key = STR_NONE;
    assert_int_equal(post("/v1/200/none")->rc, PROCESSOR_NOT_CONFIGURED);
    settings.processor.secret_key = STR("sk_test_1");
    assert_int_equal(json_array_size(seen("/v1/200/none")), 0);
}

/* --- answers --- */

TEST_WITH(test_refusals, setup, teardown)
{
    static const struct {
        const char *path;
        int rc;
    } cases[] = {
        {"/v1/400/a", PROCESSOR_INVALID},
        {"/v1/400k/a", PROCESSOR_REUSED_KEY},
        {"/v1/401/a", PROCESSOR_REFUSED},
        {"/v1/402/a", PROCESSOR_DECLINED},
        {"/v1/403/a", PROCESSOR_REFUSED},
        {"/v1/404/a", PROCESSOR_NOT_FOUND},
        {"/v1/409n/a", PROCESSOR_CONFLICT},
        {"/v1/429n/a", PROCESSOR_UNAVAILABLE},
        {"/v1/500n/a", PROCESSOR_UNAVAILABLE},
        {"/v1/424n/a", PROCESSOR_UNAVAILABLE},
        {"/v1/405/a", PROCESSOR_INVALID},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct job *job = post(cases[i].path);
        if (job->rc != cases[i].rc)
            fail_msg("%s: %d", cases[i].path, job->rc);
        assert_int_equal(json_array_size(seen(cases[i].path)), 1);
        assert_true(str_is(job->reply.message, "No."));
        assert_true(str_is(job->reply.param, "amount"));
    }
    struct job *job = post("/v1/402/b");
    assert_int_equal(job->rc, PROCESSOR_DECLINED);
    assert_int_equal(job->reply.status, 402);
    assert_true(str_is(job->reply.type, "card_error"));
    assert_true(str_is(job->reply.code, "card_declined"));
    assert_true(str_is(job->reply.decline_code, "insufficient_funds"));
    assert_true(str_is(jr_str(job->reply.intent, "id"), "pi_1"));
}

TEST_WITH(test_repeats, setup, teardown)
{
    static const struct {
        const char *path;
        int rc;
        size_t requests;
    } cases[] = {
        {"/v1/409-200/r", 0, 2},
        {"/v1/429-200/r", 0, 2},
        {"/v1/500-503-200/r", 0, 3},
        {"/v1/502/r", PROCESSOR_UNAVAILABLE, 3},
        {"/v1/409/r", PROCESSOR_CONFLICT, 3},
        {"/v1/400r-200/r", 0, 2},
        {"/v1/503n-200/r", PROCESSOR_UNAVAILABLE, 1},
        {"/v1/409n-200/r", PROCESSOR_CONFLICT, 1},
        {"/v1/e-200/r", 0, 2},
        {"/v1/d-200/r", 0, 2},
        {"/v1/h-200/r", 0, 2},
        {"/v1/b-200/r", 0, 2},
        {"/v1/d-402/r", PROCESSOR_DECLINED, 2},
        /* the outcome of the lost request is still unknown */
        {"/v1/d-429/r", PROCESSOR_OUTCOME_UNKNOWN, 3},
        {"/v1/d-409/r", PROCESSOR_OUTCOME_UNKNOWN, 3},
        {"/v1/d-401/r", PROCESSOR_OUTCOME_UNKNOWN, 2},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct job *job = post(cases[i].path);
        const json_t *all = seen(cases[i].path);
        if (job->rc != cases[i].rc || json_array_size(all) != cases[i].requests)
            fail_msg("%s: %d after %zu", cases[i].path, job->rc, json_array_size(all));
        for (size_t k = 0; k < json_array_size(all); k++) {
            assert_string_equal(header(all, k, "idempotency-key"), "k-1");
            assert_string_equal(member(all, k, "body"), "amount=1000");
        }
        assert_int_equal(job->reply.replayed, cases[i].requests > 1 && job->reply.status != 0);
        assert_true(job->took_ms >= 400 * ((int64_t)cases[i].requests - 1));
    }
}

/* A call is known not to be done only when each of its requests was turned away. */
TEST_WITH(test_not_done, setup, teardown)
{
    const char *turned_away[] = {"/v1/429n/n", "/v1/429/n", "/v1/401/n", "/v1/403/n"};
    const char *maybe[] = {
        "/v1/500-429/n", "/v1/d-429/n", "/v1/409/n", "/v1/502/n", "/v1/402/n", "/v1/429-200/n"};

    for (size_t i = 0; i < ARRAY_LEN(turned_away); i++)
        assert_true(post(turned_away[i])->reply.not_done);
    for (size_t i = 0; i < ARRAY_LEN(maybe); i++)
        assert_false(post(maybe[i])->reply.not_done);
}

/* libcurl repeats a request that was lost on a reused connection. A refusal then says nothing
 * about the first request. */
TEST_WITH(test_not_done_when_resent, setup, teardown)
{
    const char *paths[] = {"/v1/d-429/s", "/v1/d-401/s"};

    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        with.kept = "/v1/200/kept";
        struct job *job = post(paths[i]);
        with.kept = NULL;
        assert_int_equal(job->rc, PROCESSOR_OUTCOME_UNKNOWN);
        assert_false(job->reply.not_done);
    }
}

TEST_WITH(test_unknown, setup, teardown)
{
    const char *lost[] = {"/v1/h/u", "/v1/d/u", "/v1/b/u", "/v1/l/u", "/v1/t/u"};

    for (size_t i = 0; i < ARRAY_LEN(lost); i++) {
        struct job *job = post(lost[i]);
        if (job->rc != PROCESSOR_OUTCOME_UNKNOWN)
            fail_msg("%s: %d", lost[i], job->rc);
    }
    assert_int_equal(json_array_size(seen("/v1/h/u")), 3);
    assert_int_equal(json_array_size(seen("/v1/t/u")), 1);
    /* a failed read has no unknown outcome */
    assert_int_equal(get("/v1/d/g")->rc, PROCESSOR_UNAVAILABLE);
    struct job *job = run((struct processor_request){.method = "DELETE", .path = STR("/v1/d/x")});
    assert_int_equal(job->rc, PROCESSOR_OUTCOME_UNKNOWN);
    with.closed_port = true;
    assert_int_equal(post("/v1/200/closed")->rc, PROCESSOR_OUTCOME_UNKNOWN);
    with.closed_port = false;
}

/* A call always returns early enough for the caller to store the outcome before the deadline. */
TEST_WITH(test_deadline, setup, teardown)
{
    with.deadline_ms = 1600;
    with.timeout_ms = 20000;
    struct job *job = post("/v1/h/deadline");
    assert_int_equal(job->rc, PROCESSOR_OUTCOME_UNKNOWN);
    assert_in_range(job->took_ms, 0, allowed(900));
    assert_int_equal(json_array_size(seen("/v1/h/deadline")), 1);

    with.deadline_ms = 1900; /* no time for a repeat */
    job = post("/v1/503/deadline");
    assert_int_equal(job->rc, PROCESSOR_UNAVAILABLE);
    assert_in_range(job->took_ms, 0, allowed(900));

    with.deadline_ms = 1050; /* no time for the first request */
    job = post("/v1/200/late");
    assert_int_equal(job->rc, PROCESSOR_UNAVAILABLE);
    with.deadline_ms = 0;
    assert_int_equal(json_array_size(seen("/v1/200/late")), 0);

    job = run(
        (struct processor_request){.method = "GET", .path = STR("/v1/h/limit"), .limit_ms = 400});
    assert_int_equal(job->rc, PROCESSOR_UNAVAILABLE);
    assert_in_range(job->took_ms, 400, allowed(900));

    with.timeout_ms = 0;
    with.retries = 0;
    assert_int_equal(post("/v1/503/never")->rc, PROCESSOR_UNAVAILABLE);
    with.retries = 2;
    assert_int_equal(json_array_size(seen("/v1/503/never")), 1);
}

/* --- forms, paths, keys --- */

TEST_WITH(test_form, setup, teardown)
{
    struct form form;
    struct jr_error error;
    json_t *map;

    form_init(&form, arena);
    assert_int_equal(form_text(&form).len, 0);
    form_i64(&form, "amount", -5);
    form_str(&form, "line_items[0][price]", STR("price_1"));
    form_str(&form, "left_out", STR_NONE);
    form_str(&form, "unset", STR(""));
    form_str(&form, "text", STR("a b&c=d+e%\xc3\xa9"));
    form_bool(&form, "confirm", true);
    form_bool(&form, "capture", false);
    assert_int_equal(
        jr_parse(arena, STR("{\"a\":\"1\",\"b c\":\"x[y]\",\"n\":null}"), &map, &error), 0);
    form_map(&form, "metadata", map);
    form_map(&form, "metadata", NULL);
    struct str text = form_text(&form);
    assert_string_equal(arena_cstr(arena, text),
                        "amount=-5&line_items[0][price]=price_1&unset="
                        "&text=a%20b%26c%3Dd%2Be%25%C3%A9&confirm=true&capture=false"
                        "&metadata[a]=1&metadata[b%20c]=x%5By%5D");
}

TEST_WITH(test_path, setup, teardown)
{
    static const struct {
        const char *id, *path;
    } cases[] = {
        {"pi_1", "/v1/x/pi_1/confirm"},
        {"..", "/v1/x/%2E%2E/confirm"},
        {"a/b?c#d", "/v1/x/a%2Fb%3Fc%23d/confirm"},
        {"", "/v1/x/-/confirm"},
        {"\n", "/v1/x/%0A/confirm"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct str path = processor_path(arena, "/v1/x", str_from(cases[i].id), "/confirm");
        assert_string_equal(arena_cstr(arena, path), cases[i].path);
    }
    char id[256];
    memset(id, '/', sizeof(id));
    assert_int_equal(processor_path(arena, "/v1/x", (struct str){id, 255}, "").len, 6 + 3 * 255);
    assert_true(str_is(processor_path(arena, "/v1/x", (struct str){id, 256}, ""), "/v1/x/-"));
}

TEST_WITH(test_key, setup, teardown)
{
    const struct project project = {.number = 7, .created_ms = 255};
    char salt[400];

    struct str key = processor_key(arena, &project, "charge", 12, STR("abc"));
    assert_string_equal(key.ptr, "gw:7-ff:charge:12:abc");
    memset(salt, 'x', sizeof(salt));
    struct str cut = processor_key(arena, &project, "charge", 12, (struct str){salt, sizeof(salt)});
    assert_true(cut.len <= 255);
    assert_true(str_starts(cut, STR("gw:7-ff:charge:12:")));
    salt[399] = 'y';
    struct str other =
        processor_key(arena, &project, "charge", 12, (struct str){salt, sizeof(salt)});
    assert_false(str_eq(cut, other));
    struct str odd = processor_key(arena, &project, "charge", 12, STR("a\r\nX: y"));
    for (size_t i = 0; i < odd.len; i++)
        assert_true(odd.ptr[i] > ' ' && odd.ptr[i] <= '~');
}

GROUP(server_start, python_server_stop)
