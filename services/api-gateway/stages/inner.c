/* Requests without a connection. */
#include "stages/inner.h"

#include <errno.h>

#include "base/clock.h"
#include "base/panic.h"
#include "http/router.h"
#include "stages/stages.h"

#define HEADERS_BYTES 8192
#define LIMIT_MS      15000

/* An inner request, with a task and an arena of its own. */
struct inner_task {
    struct req req;
    struct scope scope;
    struct caller caller;
    int (*answer)(struct req *r); /* AWAITS */
    struct await ended;
    bool is_awaited, is_done;
    int rc;
};

static struct http_server *inner_server;

void inner_start(struct http_server *server)
{
    inner_server = server;
}

int inner_handle(struct req *r)
{
    TRY(authorize_run(r));
    TRY(rate_limit_run(r));
    return handler_run(r);
}

AWAITS static void inner_task_run(struct task *task UNUSED, void *arg)
{
    struct inner_task *request = arg;
    struct str allow;

    MUST(router_match(gateway_router, &request->req, &allow) == 0); /* inner.path is a route */
    request->rc = request->answer(&request->req);
    gateway_roll_back(&request->req);
    request->is_done = true;
    if (request->is_awaited)
        await_done(&request->ended, 0);
}

static void inner_abandon(struct await *await)
{
    CONTAINER_OF(await, struct inner_task, ended)->is_awaited = false;
}

/* co: Runs the inner request to its end. If the waiting task is cancelled, so is the inner request,
 * and its end is still awaited: its memory belongs to the waiting task. */
AWAITS static void inner_task_wait(struct task *task, struct inner_task *request)
{
    await_init(&request->ended);
    request->ended.abandon = inner_abandon;
    request->is_awaited = true;
    task_start(&request->req.task, inner_task_run, request);
    (void)!await_wait(task, &request->ended, 0);
    if (request->is_done)
        return;
    task_cancel(&request->req.task);
    await_init(&request->ended);
    request->is_awaited = true;
    (void)!await_wait(task, &request->ended, 0);
}

static struct inner_task *
inner_task_new(struct task *task, const struct inner_req *inner, struct arena *arena, size_t most)
{
    struct inner_task *request = ARENA_NEW(task->arena, request);
    struct req *r = &request->req;
    int64_t due_ms = clock_mono_ms() + LIMIT_MS;

    r->task.arena = arena;
    r->task.deadline_ms =
        task->deadline_ms != 0 && task->deadline_ms < due_ms ? task->deadline_ms : due_ms;
    r->task.log = task->log;
    r->task.project = task->project;
    r->server = inner_server;
    r->method = inner->method;
    r->path = inner->path;
    r->query = inner->query;
    r->target = r->query.len ? arena_printf(arena, "%.*s?%.*s", STR_ARG(r->path), STR_ARG(r->query))
                             : r->path;
    r->content_length = -1;
    r->started_us = clock_mono_us();
    strbuf_init(&r->body, arena, most);
    strbuf_init(&r->extra_headers, arena, HEADERS_BYTES);
    r->scope = &request->scope;
    request->answer = inner->answer;
    request->caller = *inner->caller;
    request->scope.project = inner->project;
    request->scope.caller = &request->caller;
    request->scope.db = &inner->project->db;
    project_hold(arena, inner->project);
    gateway_hold_model(r);
    return request;
}

int inner_run(struct task *task,
              const struct inner_req *inner,
              size_t most,
              struct inner_answer *ret)
{
    struct arena *arena = arena_new(0);
    struct inner_task *request = inner_task_new(task, inner, arena, most);
    struct req *r = &request->req;

    inner_task_wait(task, request);
    int rc = request->rc;
    if (rc >= 0 && (r->body.overflow || r->streaming)) {
        r->body.len = 0;
        r->body.overflow = false;
        rc = fail(r,
                  PROBLEM_TOO_LARGE_ANSWER,
                  "The answer is too large; request fewer records or fields.");
    }
    *ret = (struct inner_answer){
        .status = rc,
        .code = r->error_code,
        .body = r->body.len > 0 ? arena_dup(task->arena, strbuf_view(&r->body)) : STR(""),
    };
    arena_free(arena);
    return rc < 0 ? rc : 0;
}
