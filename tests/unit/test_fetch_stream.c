/* Streams against a small server on loopback: bodies larger than any buffer, in both directions,
 * and how streams end. */
#include "deadline.h"
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "fetch/fetch_stream.h"
#include "loop/loop.h"
#include "loop/task.h"
#include "python_server.h"

#define LARGE (5LL << 20)

/* Prints its port, then serves. Each byte of a body is its position modulo 251. */
static const char server_py[] =
    "import http.server, os, socket, time\n"
    "def made(first, size): return bytes((first + i) % 251 for i in range(size))\n"
    "BLOCK = made(0, 251 * 256)\n"
    "class Handler(http.server.BaseHTTPRequestHandler):\n"
    "    protocol_version = 'HTTP/1.1'\n"
    "    def log_message(self, *args): pass\n"
    "    def send(self, size, cut=None):\n"
    "        self.send_response(206); self.send_header('Content-Length', str(size))\n"
    "        self.end_headers()\n"
    "        body = (BLOCK * (size // len(BLOCK) + 1))[:size if cut is None else cut]\n"
    "        self.wfile.write(body)\n"
    "        if cut is not None: self.wfile.flush(); self.connection.shutdown(socket.SHUT_RDWR)\n"
    "    def do_GET(self):\n"
    "        word, _, size = self.path[1:].partition('/')\n"
    "        if word == 'hang': time.sleep(600); return\n"
    "        if word == 'stop': self.send_response(200); self.send_header('Content-Length', '9'); "
    "\\\n"
    "            self.end_headers(); self.wfile.write(b'x'); self.wfile.flush(); time.sleep(600); "
    "return\n"
    "        self.send(int(size), 1000000 if word == 'cut' else None)\n"
    "    def do_PUT(self):\n"
    "        if self.path == '/refuse':\n"
    "            body = b'no' * 100000\n"
    "            self.send_response(503); self.send_header('Content-Length', str(len(body)))\n"
    "            self.end_headers(); self.wfile.write(body); time.sleep(600)\n"
    "            self.close_connection = True; return\n"
    "        if self.path == '/drop': self.connection.shutdown(socket.SHUT_RDWR); return\n"
    "        size = int(self.headers['Content-Length']); done = 0; right = True\n"
    "        while done < size:\n"
    "            piece = self.rfile.read(min(251 * 256, size - done))\n"
    "            right = right and piece == BLOCK[:len(piece)]; done += len(piece)\n"
    "        body = b'right' if right and 'x-a' in self.headers else b'wrong'\n"
    "        self.send_response(200); self.send_header('ETag', '\"1\"')\n"
    "        self.send_header('Content-Length', str(len(body))); self.end_headers(); "
    "self.wfile.write(body)\n"
    "    do_POST = do_PUT\n"
    "class Server(http.server.ThreadingHTTPServer):\n"
    "    def handle_error(self, *args): pass\n"
    "server = Server(('127.0.0.1', 0), Handler)\n"
    "os.write(1, b'%d\\n' % server.server_port)\n"
    "server.serve_forever()\n";

static struct arena *arena;
static unsigned left;

static int server_start(void **state UNUSED)
{
    return python_server_start(server_py);
}

static int setup(void **state UNUSED)
{
    arena = arena_new(0);
    loop_init();
    fetch_init(&(struct fetch_config){0});
    return 0;
}

static int teardown(void **state UNUSED)
{
    arena_free(arena);
    return 0;
}

struct job {
    struct task task;
    struct fetch_stream_request request;
    int64_t pause_ms;   /* between the reads of a slow reader */
    int64_t give_up_at; /* bytes after which the reader leaves; 0 = reads to the end */
    int rc;
    long status;
    int64_t received;
    size_t most; /* the largest amount that was available in one read */
    bool wrong;
    struct str text;
};

static char at_place(int64_t place)
{
    return (char)(place % 251);
}

AWAITS static int write_all(struct job *job, struct fetch_stream *stream)
{
    static char all[4][50000]; /* a buffer for each sender */
    static size_t senders;
    char *piece = all[senders++ % 4];

    for (int64_t sent = 0; sent < job->request.body_bytes;) {
        int64_t rest = job->request.body_bytes - sent;
        size_t len = rest < (int64_t)sizeof(all[0]) ? (size_t)rest : sizeof(all[0]);
        for (size_t i = 0; i < len; i++)
            piece[i] = at_place(sent + (int64_t)i);
        TRY(fetch_stream_write(stream, (struct str){piece, len}));
        memset(piece, 'z', len); /* the stream has copied the chunk */
        sent += (int64_t)len;
    }
    return 0;
}

AWAITS static int read_all(struct job *job, struct fetch_stream *stream)
{
    struct str piece;

    if (job->request.body_bytes >= 0)
        return fetch_stream_read_all(stream, 1 << 20, &job->text);
    for (;;) {
        TRY(fetch_stream_read(stream, &piece));
        if (piece.len == 0)
            return 0;
        if (job->pause_ms > 0)
            TRY(task_sleep(&job->task, job->pause_ms));
        for (size_t i = 0; i < piece.len; i++)
            job->wrong = job->wrong || piece.ptr[i] != at_place(job->received + (int64_t)i);
        job->received += (int64_t)piece.len;
        job->most = piece.len > job->most ? piece.len : job->most;
        if (job->give_up_at > 0 && job->received >= job->give_up_at)
            return 0;
    }
}

AWAITS static int exchange(struct job *job)
{
    const struct fetch_response *head;
    struct fetch_stream *stream;

    TRY(fetch_stream_open(&job->task, &job->request, &stream));
    if (job->request.body_bytes > 0)
        TRY(write_all(job, stream));
    TRY(fetch_stream_head(stream, &head));
    job->status = head->status;
    int rc = read_all(job, stream);
    fetch_stream_close(stream);
    return rc;
}

static void job_main(struct task *task, void *arg)
{
    struct job *job = arg;

    (void)task;
    job->rc = exchange(job);
    if (--left == 0) {
        fetch_done();
        loop_stop();
    }
}

static struct job *job_of(const char *method, const char *path, int64_t body_bytes)
{
    static const struct fetch_header headers[] = {{STR_INIT("x-a"), STR_INIT("b")}};
    struct job *job = ARENA_NEW(arena, job);

    job->task.arena = arena;
    job->request = (struct fetch_stream_request){
        .method = str_from(method),
        .url = arena_printf(arena, "http://127.0.0.1:%d%s", server_port, path),
        .headers = headers,
        .nheaders = 1,
        .body_bytes = body_bytes,
        .idle_ms = 60000,
    };
    left++;
    task_start(&job->task, job_main, job);
    return job;
}

TEST_WITH(test_received, setup, teardown)
{
    struct job *fast = job_of("GET", "/size/5242880", -1);
    struct job *slow = job_of("GET", "/size/5242880", -1);
    struct job *none = job_of("GET", "/size/0", -1);

    slow->pause_ms = 2;
    loop_run();
    assert_int_equal(fast->rc, 0);
    assert_int_equal(fast->status, 206);
    assert_int_equal(fast->received, LARGE);
    assert_int_equal(slow->rc, 0);
    assert_int_equal(slow->received, LARGE);
    assert_false(fast->wrong || slow->wrong);
    assert_true(slow->most <= FETCH_STREAM_BYTES);
    assert_int_equal(none->rc, 0);
    assert_int_equal(none->received, 0);
}

TEST_WITH(test_sent, setup, teardown)
{
    struct job *large = job_of("PUT", "/", LARGE);
    struct job *small = job_of("POST", "/", 1);
    struct job *none = job_of("POST", "/", 0);

    loop_run();
    struct job *jobs[] = {large, small, none};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(jobs[i]->rc, 0);
        assert_int_equal(jobs[i]->status, 200);
        assert_true(str_is(jobs[i]->text, "right"));
    }
}

/* An answer that arrives before the whole body was sent is the answer, even a long one. */
TEST_WITH(test_refused_early, setup, teardown)
{
    struct job *job = job_of("PUT", "/refuse", 64LL << 20);

    loop_run();
    assert_int_equal(job->rc, 0);
    assert_int_equal(job->status, 503);
    assert_int_equal(job->text.len, 200000);
}

TEST_WITH(test_ends, setup, teardown)
{
    struct job *cut = job_of("GET", "/cut/5242880", -1);
    struct job *drop = job_of("PUT", "/drop", LARGE);
    struct job *hang = job_of("GET", "/hang/1", -1);
    struct job *stop = job_of("GET", "/stop/1", -1);
    struct job *leave = job_of("GET", "/size/5242880", -1);
    struct job *wrong = job_of("GET", "/size/1", -1);
    struct job *late = job_of("GET", "/hang/1", -1);

    hang->request.idle_ms = stop->request.idle_ms = 1000;
    leave->give_up_at = 100000;
    wrong->request.url = STR("http://127.0.0.1:1/");
    late->task.deadline_ms = clock_mono_ms() + 200;
    loop_run();
    assert_int_equal(cut->rc, FETCH_UNREACHABLE);
    assert_int_equal(cut->received, 1000000);
    assert_int_equal(drop->rc, FETCH_UNREACHABLE);
    assert_int_equal(hang->rc, FETCH_TIMEOUT);
    assert_int_equal(stop->rc, FETCH_TIMEOUT);
    assert_int_equal(leave->rc, 0);
    assert_int_equal(wrong->rc, FETCH_UNREACHABLE);
    assert_int_equal(late->rc, -ETIMEDOUT);
}

static void cancel_soon(struct task *task, void *arg)
{
    struct job *job = arg;

    if (task_sleep(task, 100) == 0)
        task_cancel(&job->task);
}

TEST_WITH(test_cancelled, setup, teardown)
{
    struct job *job = job_of("GET", "/hang/1", -1);
    struct task *task = ARENA_NEW(arena, task);

    task->arena = arena;
    task_start(task, cancel_soon, job);
    loop_run();
    assert_int_equal(job->rc, -ECANCELED);
}

GROUP(server_start, python_server_stop)
