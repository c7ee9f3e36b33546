/*
 * One control socket to the program, one connection to each child. A call that its task has left is
 * read until its child has ended, because the child holds the slot. An owner that starts much work
 * and leaves still has that work in its share.
 */
#include "loop/helper.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "base/panic.h"
#include "log/log.h"

#define BUFFER_BYTES 65536U

struct helper {
    struct helper_config config;
    struct shares slots;
    int control; /* -1 = the program does not run */
    unsigned starts;
    unsigned calls;
    bool stopped;
};

struct helper_call {
    struct helper *helper;
    struct task *task;
    struct share *share;
    uv_pipe_t pipe;
    struct await await;
    bool waits;        /* the task waits for `await` */
    bool is_abandoned; /* its task has left */
    bool ended;        /* the child has ended */
    bool closed;       /* uv_close() was called */
    unsigned holders;  /* references: the task's arena, the pipe */
    uv_write_t write;
    char *unsent; /* rest of a write, allocated with malloc() */
    size_t from, held;
    char buffer[BUFFER_BYTES];
};

static char path[PATH_MAX];

/* --- the program --- */

static bool helper_find_path(const char *name, const char *program)
{
    size_t len = sizeof(path);

    if (program)
        return (size_t)snprintf(path, sizeof(path), "%s", program) < sizeof(path);
    if (uv_exepath(path, &len) != 0)
        return false;
    char *slash = strrchr(path, '/');
    size_t capacity = slash ? sizeof(path) - (size_t)(slash + 1 - path) : 0;
    return slash && (size_t)snprintf(slash + 1, capacity, "%s", name) < capacity;
}

const char *helper_check(const char *name, const char *program)
{
    return helper_find_path(name, program) && access(path, X_OK) == 0 ? NULL : path;
}

static void helper_on_process_closed(uv_handle_t *handle)
{
    free(handle);
}

static void helper_on_process_end(uv_process_t *process, int64_t status UNUSED, int number UNUSED)
{
    uv_close((uv_handle_t *)process, helper_on_process_closed);
}

static int helper_process_start(struct helper *helper, int fd)
{
    uv_process_t *process = calloc(1, sizeof(*process));
    char *args[ARRAY_LEN(helper->config.args) + 2] = {path};
    char *env[] = {NULL};
    uv_stdio_container_t stdio[3] = {
        {.flags = UV_INHERIT_FD, .data.fd = fd},
        {.flags = UV_IGNORE},
        {.flags = UV_INHERIT_FD, .data.fd = STDERR_FILENO},
    };
    uv_process_options_t options = {
        .exit_cb = helper_on_process_end,
        .file = path,
        .args = args,
        .env = env,
        .cwd = "/",
        .stdio = stdio,
        .stdio_count = ARRAY_LEN(stdio),
    };

    MUST(process != NULL);
    for (size_t i = 0, n = 1; i < ARRAY_LEN(helper->config.args); i++)
        if (helper->config.args[i].ptr)
            args[n++] = (char *)helper->config.args[i].ptr;
    int rc = helper_find_path(helper->config.name, helper->config.program)
                 ? uv_spawn(loop_uv(), process, &options)
                 : -ENOENT;
    if (rc != 0) /* there is no exit to wait for */
        uv_close((uv_handle_t *)process, helper_on_process_closed);
    return rc;
}

static void helper_control_close(struct helper *helper)
{
    if (helper->control >= 0)
        (void)close(helper->control);
    helper->control = -1;
}

static int helper_program_start(struct helper *helper)
{
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return ERROR(-errno);
    int rc = helper_process_start(helper, ends[1]);
    (void)close(ends[1]);
    if (rc != 0) {
        (void)close(ends[0]);
        log_error("helper.start_failed", L_CSTR("program", helper->config.name), L_I64("rc", rc));
        return HELPER_ENDED;
    }
    helper->control = ends[0];
    helper->starts++;
    return 0;
}

/* Sends the connection to the program. Returns false when the program does not run. */
static bool helper_send_fd(const struct helper *helper, int fd)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    char nothing = 0;
    struct iovec iov = {&nothing, 1};
    struct msghdr message = {
        .msg_iov = &iov,
        .msg_iovlen = 1,
        .msg_control = &control,
        .msg_controllen = sizeof(control),
    };
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);

    *head = (struct cmsghdr){
        .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(head), &fd, sizeof(fd));
    return helper->control >= 0 &&
           sendmsg(helper->control, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
}

static int helper_send_fd_or_start(struct helper *helper, int fd)
{
    if (helper_send_fd(helper, fd))
        return 0;
    helper_control_close(helper);
    TRY(helper_program_start(helper));
    return helper_send_fd(helper, fd) ? 0 : HELPER_ENDED;
}

/* --- the end of a call --- */

static void helper_free(struct helper *helper)
{
    if (!helper->stopped || helper->calls > 0)
        return;
    shares_done(&helper->slots);
    free(helper);
}

static void helper_call_drop(struct helper_call *call)
{
    if (--call->holders > 0)
        return;
    free(call->unsent);
    free(call);
}

static void helper_on_call_closed(uv_handle_t *handle)
{
    struct helper_call *call = handle->data;
    struct helper *helper = call->helper;

    shares_release(&helper->slots, call->share, 1);
    helper_call_drop(call);
    helper->calls--;
    helper_free(helper);
}

static void helper_call_close(struct helper_call *call)
{
    if (call->closed)
        return;
    call->closed = true;
    uv_close((uv_handle_t *)&call->pipe, helper_on_call_closed);
}

static void helper_wake(struct helper_call *call, int rc)
{
    if (!call->waits)
        return;
    call->waits = false;
    await_done(&call->await, rc);
}

static void helper_on_alloc(uv_handle_t *handle, size_t suggested UNUSED, uv_buf_t *buf)
{
    struct helper_call *call = handle->data;

    *buf = uv_buf_init(call->buffer, sizeof(call->buffer));
}

static void helper_on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buf UNUSED)
{
    struct helper_call *call = stream->data;

    if (count == 0)
        return;
    call->ended = count < 0;
    call->from = 0;
    call->held = count > 0 ? (size_t)count : 0;
    if (call->is_abandoned && call->ended)
        helper_call_close(call);
    if (call->is_abandoned)
        return;
    (void)uv_read_stop(stream);
    helper_wake(call, 0);
}

void helper_close(struct helper_call *call)
{
    if (call->is_abandoned)
        return;
    call->is_abandoned = true;
    call->waits = false;
    int fd = -1;
    if (!call->ended && uv_fileno((uv_handle_t *)&call->pipe, &fd) == 0)
        (void)shutdown(fd, SHUT_WR); /* a child that waits for more input ends now */
    if (call->ended ||
        uv_read_start((uv_stream_t *)&call->pipe, helper_on_alloc, helper_on_read) != 0)
        helper_call_close(call);
}

static void helper_call_leave(void *arg)
{
    helper_close(arg);
    helper_call_drop(arg);
}

/* --- a call --- */

static struct helper_call *
helper_call_new(struct task *task, struct helper *helper, struct share *share, int fd)
{
    struct helper_call *call = malloc(sizeof(*call));

    MUST(call != NULL);
    memset(call, 0, offsetof(struct helper_call, buffer));
    call->helper = helper;
    call->task = task;
    call->share = share;
    call->holders = 2;
    MUST(uv_pipe_init(loop_uv(), &call->pipe, 0) == 0);
    call->pipe.data = call;
    helper->calls++;
    MUST(uv_pipe_open(&call->pipe, fd) == 0);
    arena_defer(task->arena, helper_call_leave, call);
    return call;
}

static int helper_open_in_slot(struct helper *helper, int *ret_fd)
{
    int ends[2];

    if (helper->stopped)
        return HELPER_ENDED;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return ERROR(-errno);
    int rc = helper_send_fd_or_start(helper, ends[1]);
    (void)close(ends[1]);
    if (rc != 0) {
        (void)close(ends[0]);
        return rc;
    }
    *ret_fd = ends[0];
    return 0;
}

int helper_open(struct task *task,
                struct helper *helper,
                struct share_owner owner,
                struct helper_call **ret_call)
{
    struct share *share;
    int fd = -1;

    TRY(shares_acquire(task, &helper->slots, owner, 1, 0, &share));
    int rc = helper_open_in_slot(helper, &fd);
    if (rc != 0) {
        shares_release(&helper->slots, share, 1);
        return rc;
    }
    *ret_call = helper_call_new(task, helper, share, fd);
    return 0;
}

static void helper_abandon(struct await *await)
{
    struct helper_call *call = CONTAINER_OF(await, struct helper_call, await);

    call->waits = false;
    (void)uv_read_stop((uv_stream_t *)&call->pipe);
}

AWAITS static int helper_call_wait(struct helper_call *call)
{
    await_init(&call->await);
    call->await.abandon = helper_abandon;
    call->waits = true;
    return await_wait(call->task, &call->await, 0);
}

static void helper_on_written(uv_write_t *write, int status)
{
    struct helper_call *call = write->data;

    free(call->unsent);
    call->unsent = NULL;
    if (!call->is_abandoned)
        helper_wake(call, status != 0 ? HELPER_ENDED : 0);
}

int helper_write(struct helper_call *call, struct str chunk)
{
    uv_buf_t buf = uv_buf_init((char *)chunk.ptr, (unsigned)chunk.len);
    int done = uv_try_write((uv_stream_t *)&call->pipe, &buf, 1);

    if (done < 0 && done != UV_EAGAIN)
        return HELPER_ENDED;
    chunk =
        (struct str){chunk.ptr + (done > 0 ? done : 0), chunk.len - (size_t)(done > 0 ? done : 0)};
    if (chunk.len == 0)
        return 0;
    call->unsent = malloc(chunk.len); /* the write may outlive the task */
    MUST(call->unsent != NULL);
    memcpy(call->unsent, chunk.ptr, chunk.len);
    buf = uv_buf_init(call->unsent, (unsigned)chunk.len);
    call->write.data = call;
    if (uv_write(&call->write, (uv_stream_t *)&call->pipe, &buf, 1, helper_on_written) != 0)
        return HELPER_ENDED;
    return helper_call_wait(call);
}

int helper_read(struct helper_call *call, void *into, size_t bytes)
{
    char *at = into;

    while (bytes > 0) {
        if (call->held == 0 && call->ended)
            return HELPER_ENDED;
        if (call->held == 0) {
            if (uv_read_start((uv_stream_t *)&call->pipe, helper_on_alloc, helper_on_read) != 0)
                return HELPER_ENDED;
            TRY(helper_call_wait(call));
            continue;
        }
        size_t some = call->held < bytes ? call->held : bytes;
        memcpy(at, call->buffer + call->from, some);
        call->from += some;
        call->held -= some;
        at += some;
        bytes -= some;
    }
    return 0;
}

/* --- start and end --- */

struct helper *helper_new(const struct helper_config *config)
{
    struct helper *helper = calloc(1, sizeof(*helper));

    MUST(helper != NULL && config->calls > 0);
    helper->config = *config;
    helper->control = -1;
    shares_init(&helper->slots,
                &(struct shares_config){
                    .name = config->slots,
                    .limit = config->calls,
                    .per_owner = SHARES_ANY,
                    .waiting = config->waiting,
                    .leave_room = true,
                });
    return helper;
}

void helper_stop(struct helper *helper)
{
    if (!helper || helper->stopped)
        return;
    helper->stopped = true;
    helper_control_close(helper);
    helper_free(helper);
}

unsigned helper_starts(const struct helper *helper)
{
    return helper->starts;
}
