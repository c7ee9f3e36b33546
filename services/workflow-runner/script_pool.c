/*
 * The pool of script-sandbox processes. A process is in one of three states. It has a run, it is in
 * the idle list, or it is ending: its pipes are closed, SIGKILL has been sent, and its handle waits
 * for the exit. script-sandbox itself enforces the limits of a script. The timer here only ends a
 * process that fails to do so.
 */
#include "script_pool.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "base/panic.h"
#include "base/strbuf.h"
#include "json/jr_off_thread.h"
#include "json/jw.h"
#include "loop/shares.h"
#include "loop/work.h"

#define FRAME_BYTES_MAX   (8U << 20)  /* of an answer; script-sandbox stays below this */
#define REQUEST_BYTES_MAX (64U << 20) /* the same as in script-sandbox */
#define REQUEST_HEAD      8
#define ANSWER_HEAD       4
#define READ_BYTES        16384
#define START_MS          5000 /* a process that is not ready after this time is ended */
#define GRACE_MS          1000 /* beyond the script's own limit */

struct pool_run {
    struct await await;
    struct process *process;
    struct arena *arena;
    struct str answer; /* empty: the process ended without an answer */
    bool is_timed_out; /* ended by our timer */
};

struct process {
    struct list link; /* in the idle list */
    uv_process_t uv;
    uv_pipe_t in;  /* fd 0 of the process */
    uv_pipe_t out; /* fd 1 of the process */
    unsigned open; /* handles that are not closed yet */
    bool started;
    bool ready; /* the process has reported that it is ready */
    bool ending;
    struct pool_run *run;
    unsigned runs;
    struct loop_timer timer;
    uv_write_t write;
    char *request;
    char *buf; /* bytes that were read from `out` */
    size_t len;
    size_t cap;
};

static struct script_pool_config config;
static char program[PATH_MAX];
static struct shares slots;
static struct list idle; /* last used first */
static struct script_pool_stats stats;
static bool draining;

/* --- end of a process --- */

static void on_closed(uv_handle_t *handle)
{
    struct process *process = handle->data;

    if (--process->open > 0)
        return;
    stats.alive--;
    free(process->buf);
    free(process);
}

static void on_exit_status(uv_process_t *uv, int64_t status UNUSED, int signum UNUSED)
{
    uv_close((uv_handle_t *)uv, on_closed);
}

/* Ends a process. Its handle stays until the exit, or else the process would remain a zombie. */
static void end_process(struct process *process)
{
    struct pool_run *run = process->run;

    if (process->ending)
        return;
    process->ending = true;
    process->run = NULL;
    list_remove(&process->link);
    loop_timer_stop(&process->timer);
    uv_close((uv_handle_t *)&process->in, on_closed);
    uv_close((uv_handle_t *)&process->out, on_closed);
    if (process->started)
        (void)uv_process_kill(&process->uv, SIGKILL);
    else /* there was never a process, so no exit to wait for */
        uv_close((uv_handle_t *)&process->uv, on_closed);
    if (run)
        await_done(&run->await, 0);
}

static void script_pool_on_timer(void *arg)
{
    struct process *process = arg;

    if (process->run)
        process->run->is_timed_out = true;
    end_process(process);
}

/* --- answers --- */

static void process_make_idle(struct process *process)
{
    if (++process->runs >= config.runs || draining) {
        end_process(process);
        return;
    }
    list_append(idle.next, &process->link); /* to the front */
    loop_timer_start(&process->timer, config.idle_ms);
}

static void script_pool_take_answer(struct process *process, struct str answer)
{
    struct pool_run *run = process->run;

    run->answer = arena_dup(run->arena, answer);
    process->run = NULL;
    process->len = 0;
    process_make_idle(process);
    await_done(&run->await, 0);
}

static size_t frame_bytes(const struct process *process)
{
    const unsigned char *head = (const unsigned char *)process->buf;

    return (size_t)head[0] << 24 | (size_t)head[1] << 16 | (size_t)head[2] << 8 | head[3];
}

/* The first frame reports that the process is ready. Then one frame may arrive per request. */
static void take_frames(struct process *process)
{
    size_t bytes;

    while (process->len >= ANSWER_HEAD) {
        bytes = frame_bytes(process);
        if (bytes > FRAME_BYTES_MAX) {
            end_process(process);
            return;
        }
        if (process->len < ANSWER_HEAD + bytes)
            return;
        if (process->ready) {
            bool is_single = process->run && process->len == ANSWER_HEAD + bytes;
            if (is_single)
                script_pool_take_answer(process, (struct str){process->buf + ANSWER_HEAD, bytes});
            else
                end_process(process);
            return;
        }
        process->ready = true;
        process->len -= ANSWER_HEAD + bytes;
        memmove(process->buf, process->buf + ANSWER_HEAD + bytes, process->len);
    }
}

static void on_alloc(uv_handle_t *handle, size_t suggested UNUSED, uv_buf_t *buf)
{
    struct process *process = handle->data;

    if (process->cap - process->len < READ_BYTES) {
        size_t cap = process->cap * 2 + READ_BYTES;
        char *grown = realloc(process->buf, cap);

        MUST(grown != NULL);
        process->buf = grown;
        process->cap = cap;
    }
    *buf = uv_buf_init(process->buf + process->len, (unsigned)(process->cap - process->len));
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buf UNUSED)
{
    struct process *process = stream->data;

    if (count < 0) {
        end_process(process);
        return;
    }
    process->len += (size_t)count;
    take_frames(process);
}

/* --- start --- */

static int process_spawn(struct process *process)
{
    char memory[24];
    char *args[] = {program, memory, NULL};
    char *env[] = {NULL};
    uv_stdio_container_t stdio[3] = {
        {.flags = UV_CREATE_PIPE | UV_READABLE_PIPE, .data.stream = (uv_stream_t *)&process->in},
        {.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&process->out},
        {.flags = UV_INHERIT_FD, .data.fd = STDERR_FILENO},
    };
    uv_process_options_t options = {
        .exit_cb = on_exit_status,
        .file = program,
        .args = args,
        .env = env,
        .cwd = "/",
        .stdio = stdio,
        .stdio_count = 3,
    };

    (void)snprintf(memory, sizeof(memory), "%lld", (long long)config.memory_bytes);
    return uv_spawn(loop_uv(), &process->uv, &options);
}

static int new_process(struct process **ret_process)
{
    struct process *process = calloc(1, sizeof(*process));
    int rc;

    MUST(process != NULL);
    list_init(&process->link);
    loop_timer_init(&process->timer, script_pool_on_timer, process);
    MUST(uv_pipe_init(loop_uv(), &process->in, 0) == 0);
    MUST(uv_pipe_init(loop_uv(), &process->out, 0) == 0);
    process->uv.data = process;
    process->in.data = process;
    process->out.data = process;
    process->open = 3;
    stats.alive++;
    rc = process_spawn(process);
    process->started = rc == 0;
    if (rc == 0)
        rc = uv_read_start((uv_stream_t *)&process->out, on_alloc, on_read);
    if (rc != 0) {
        end_process(process);
        return rc;
    }
    stats.spawned++;
    *ret_process = process;
    return 0;
}

static int take_process(struct process **ret_process)
{
    struct list *first = list_shift(&idle);

    if (!first)
        return new_process(ret_process);
    *ret_process = LIST_ITEM(first, struct process, link);
    return 0;
}

/* --- requests --- */

static void on_written(uv_write_t *write, int status UNUSED)
{
    struct process *process = write->data; /* valid: the process is freed after its pipe is closed,
                                              and this callback comes before */

    free(process->request);
    process->request = NULL;
}

static void put_u32(char *at, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        at[i] = (char)(value >> (24 - 8 * i));
}

struct frame {
    const struct script_request *request;
    struct arena *arena;
    char *data; /* NULL: the request is too large */
    size_t len;
};

/* Makes length, time limit and request one frame, malloc'd because it may outlive the task. */
static void make_frame(void *arg)
{
    struct frame *made = arg;
    const struct script_request *request = made->request;
    struct strbuf buf;
    struct jw w;
    char *frame;

    strbuf_init(&buf, made->arena, REQUEST_BYTES_MAX);
    jw_init(&w, &buf);
    jw_obj(&w);
    JW_STR(&w, "script", request->text);
    jw_lit(&w, "svc");
    if (request->svc)
        jw_json(&w, request->svc);
    else
        jw_null(&w);
    jw_obj_end(&w);
    if (!jw_is_complete(&w))
        return;
    frame = malloc(REQUEST_HEAD + buf.len);
    MUST(frame != NULL);
    put_u32(frame, (uint32_t)buf.len);
    put_u32(frame + 4, (uint32_t)request->time_ms);
    memcpy(frame + REQUEST_HEAD, buf.ptr, buf.len);
    made->len = REQUEST_HEAD + buf.len;
    made->data = frame;
}

static void run_abandon(struct await *await)
{
    struct pool_run *run = CONTAINER_OF(await, struct pool_run, await);
    struct process *process = run->process;

    if (process->run != run) /* the answer has arrived in this tick of the event loop */
        return;
    process->run = NULL;
    end_process(process);
}

static void send_request(
    struct process *process, struct pool_run *run, char *frame, size_t len, int64_t time_ms)
{
    uv_buf_t buf = uv_buf_init(frame, (unsigned)len);

    run->process = process;
    process->run = run;
    process->request = frame;
    process->write.data = process;
    loop_timer_start(&process->timer, time_ms + GRACE_MS + (process->ready ? 0 : START_MS));
    if (uv_write(&process->write, (uv_stream_t *)&process->in, &buf, 1, on_written) != 0) {
        free(frame);
        process->request = NULL;
        end_process(process);
    }
}

/* --- results --- */

static void
fill_failure(struct script_result *ret, struct str code, struct str message, json_t *log)
{
    *ret = (struct script_result){.code = code, .message = message, .log = log};
}

static json_t *empty_log(struct arena *arena)
{
    json_t *log = NULL;
    struct jr_error error;

    MUST(jr_parse(arena, STR("[]"), &log, &error) == 0);
    return log;
}

AWAITS static void
script_pool_read_answer(struct task *task, const struct pool_run *run, struct script_result *ret)
{
    json_t *root = NULL;
    struct jr_error error;

    if (run->is_timed_out) {
        fill_failure(ret,
                     STR("script_timeout"),
                     STR("the script ran longer than its time limit"),
                     empty_log(task->arena));
        return;
    }
    if (run->answer.len == 0 ||
        jr_parse_off_thread(task, task->arena, run->answer, false, &root, &error) != 0 ||
        !json_is_array(json_object_get(root, "log"))) {
        fill_failure(ret,
                     STR("script_crashed"),
                     STR("the process of the script ended unexpectedly"),
                     empty_log(task->arena));
        return;
    }
    if (jr_bool(root, "ok", false)) {
        *ret = (struct script_result){.ok = true,
                                      .value = json_object_get(root, "result"),
                                      .log = json_object_get(root, "log")};
        return;
    }
    fill_failure(ret, jr_str(root, "code"), jr_str(root, "message"), json_object_get(root, "log"));
    ret->line = jr_i64(root, "line", 0);
}

static void count_result(const struct script_result *result)
{
    stats.runs++;
    stats.failures += !result->ok;
    stats.timeouts += str_is(result->code, "script_timeout");
    stats.memory += str_is(result->code, "script_memory");
    stats.crashes += str_is(result->code, "script_crashed");
}

/* --- the calls --- */

/* Runs a script. The caller holds a slot. */
static int
run_in_slot(struct task *task, const struct script_request *request, struct script_result *ret)
{
    struct pool_run run = {.arena = task->arena};
    struct process *process;
    struct frame frame = {.request = request, .arena = task->arena};

    if (jr_is_large(request->svc))
        work_off_thread(task, make_frame, &frame);
    else
        make_frame(&frame);
    if (!frame.data) {
        fill_failure(ret,
                     STR("script_error"),
                     STR("the script and its context are larger than 64 MB"),
                     empty_log(task->arena));
        return 0;
    }
    int rc = take_process(&process);
    if (rc != 0) {
        free(frame.data);
        return rc;
    }
    await_init(&run.await);
    run.await.abandon = run_abandon;
    send_request(process, &run, frame.data, frame.len, request->time_ms);
    TRY(await_wait(task, &run.await, 0));
    script_pool_read_answer(task, &run, ret);
    return 0;
}

int script_run(struct task *task, const struct script_request *request, struct script_result *ret)
{
    struct script_result result = {0};

    MUST(request->time_ms > 0);
    if (draining)
        return -ESHUTDOWN;
    struct share *share;
    TRY(shares_acquire(task, &slots, share_owner_of(task), 1, 0, &share));
    int rc = draining ? -ESHUTDOWN : run_in_slot(task, request, &result);
    shares_release(&slots, share, 1);
    if (rc != 0)
        return rc;
    count_result(&result);
    *ret = result;
    return 0;
}

static void find_program(const char *given)
{
    size_t len = sizeof(program);
    const char *name = "script-sandbox";

    if (given) {
        MUST((size_t)snprintf(program, sizeof(program), "%s", given) < sizeof(program));
        return;
    }
    MUST(uv_exepath(program, &len) == 0);
    char *slash = strrchr(program, '/');
    MUST(slash && (size_t)(slash + 1 - program) + strlen(name) < sizeof(program));
    memcpy(slash + 1, name, strlen(name) + 1);
}

const char *script_pool_check(const char *given)
{
    find_program(given);
    return access(program, X_OK) == 0 ? NULL : program;
}

void script_pool_init(const struct script_pool_config *given)
{
    config = *given;
    if (config.processes == 0)
        config.processes = 2;
    if (config.waiting == 0)
        config.waiting = 1000;
    if (config.memory_bytes == 0)
        config.memory_bytes = 64LL << 20;
    if (config.runs == 0)
        config.runs = 1000;
    if (config.idle_ms == 0)
        config.idle_ms = 60000;
    find_program(config.program);
    if (slots.owners != NULL) /* another pool was initialised before */
        shares_done(&slots);
    shares_init(&slots,
                &(struct shares_config){
                    .name = "script_processes",
                    .limit = config.processes,
                    .per_owner = SHARES_ANY,
                    .waiting = config.waiting,
                });
    list_init(&idle);
    stats = (struct script_pool_stats){0};
    draining = false;
}

void script_pool_drain(void)
{
    draining = true;
    LIST_FOR (it, &idle)
        end_process(LIST_ITEM(it, struct process, link));
}

void script_pool_stats(struct script_pool_stats *ret)
{
    *ret = stats;
    ret->busy = (unsigned)slots.held;
    ret->waiting = slots.waiting;
}
