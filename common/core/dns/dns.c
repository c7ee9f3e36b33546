/*
 * Each call has its own channel of c-ares, which is destroyed when the call ends. c-ares calls back
 * from inside its own functions, also from ares_destroy(): a call that is over ignores these
 * callbacks.
 */
#include "dns/dns.h"

#include <ares.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/panic.h"
#include "loop/shares.h"
#include "loop/task.h"

#define TRY_MS            2000 /* wait for the first answer of a server; later tries wait longer */
#define TRIES             2
#define CALLS             32 /* calls under way */
#define CALLS_PER_PROJECT 4  /* calls of one project under way */
#define CALLS_WAITING_MAX 16

enum { CLASS_IN = 1, TYPE_TXT = 16 }; /* RFC 1035, 3.2 */

/* A call, on the stack of dns_query_txt(), which lives as long as its channel. */
struct dns_call {
    struct await await;
    struct arena *arena;
    ares_channel channel;
    struct loop_timer timer;
    struct list watches;
    size_t pending;
    bool has_ended; /* the task no longer waits */
};

struct dns_pending_question { /* a question of a call */
    struct dns_call *call;
    struct dns_question *question;
};

struct dns_watch {
    struct dns_call *call;
    uv_poll_t poll;
    struct list link;
    ares_socket_t fd;
};

static struct {
    char *servers; /* NULL: the servers of /etc/resolv.conf */
    struct shares calls;
} dns;

/* --- answers --- */

/* Joins the strings of one record, which are consecutive. STR_NONE when they are too long. */
static struct str dns_text_of(struct arena *arena,
                              const struct ares_txt_ext *chunk,
                              const struct ares_txt_ext **ret_next)
{
    const struct ares_txt_ext *first = chunk;
    size_t bytes = 0;
    size_t at = 0;

    do
        bytes += chunk->length;
    while ((chunk = chunk->next) != NULL && !chunk->record_start);
    *ret_next = chunk;
    if (bytes > DNS_TEXT_MAX)
        return STR_NONE;
    char *text = arena_alloc(arena, bytes + 1);
    for (; first != chunk; first = first->next) {
        memcpy(text + at, first->txt, first->length);
        at += first->length;
    }
    text[at] = '\0';
    return (struct str){text, bytes};
}

static void
texts_read(struct arena *arena, struct dns_question *question, const struct ares_txt_ext *chunk)
{
    question->texts = ARENA_ARRAY(arena, question->texts, DNS_TEXTS_MAX);
    while (chunk != NULL && question->count < DNS_TEXTS_MAX) {
        struct str text = dns_text_of(arena, chunk, &chunk);
        if (text.ptr != NULL)
            question->texts[question->count++] = text;
    }
    question->rc = 0;
}

static bool is_missing(int status)
{
    return status == ARES_ENODATA || status == ARES_ENOTFOUND;
}

static void
question_end(struct dns_call *call, struct dns_question *question, int status, struct str answer)
{
    struct ares_txt_ext *pieces = NULL;

    if (status == ARES_SUCCESS)
        status =
            ares_parse_txt_reply_ext((const unsigned char *)answer.ptr, (int)answer.len, &pieces);
    if (status == ARES_SUCCESS) {
        texts_read(call->arena, question, pieces);
    } else if (is_missing(status)) {
        question->rc = DNS_MISSING;
    } else {
        question->rc = DNS_FAILED;
        question->reason = ares_strerror(status);
    }
    ares_free_data(pieces);
}

static void on_answer(void *arg, int status, int timeouts, unsigned char *answer, int len)
{
    const struct dns_pending_question *question = arg;
    struct dns_call *call = question->call;

    (void)timeouts;
    if (call->has_ended)
        return;
    question_end(call, question->question, status, (struct str){(const char *)answer, (size_t)len});
    if (--call->pending == 0)
        await_done(&call->await, 0);
}

/* --- sockets and time --- */

static void timer_set(struct dns_call *call)
{
    struct timeval left;

    if (ares_timeout(call->channel, NULL, &left) == NULL)
        loop_timer_stop(&call->timer);
    else
        loop_timer_start(&call->timer, (int64_t)left.tv_sec * 1000 + left.tv_usec / 1000 + 1);
}

static void dns_on_due(void *arg)
{
    struct dns_call *call = arg;

    ares_process_fd(call->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
    timer_set(call);
}

static void dns_on_poll(uv_poll_t *poll, int status, int events)
{
    const struct dns_watch *watch = CONTAINER_OF(poll, struct dns_watch, poll);
    struct dns_call *call = watch->call;
    ares_socket_t fd = watch->fd; /* ares_process_fd() may end the watch */
    bool in = status < 0 || (events & UV_READABLE);
    bool out = status < 0 || (events & UV_WRITABLE);

    ares_process_fd(call->channel, in ? fd : ARES_SOCKET_BAD, out ? fd : ARES_SOCKET_BAD);
    timer_set(call);
}

static void dns_on_closed(uv_handle_t *handle)
{
    free(CONTAINER_OF(handle, struct dns_watch, poll));
}

static struct dns_watch *dns_watch_find(struct dns_call *call, ares_socket_t fd)
{
    LIST_FOR (node, &call->watches) {
        struct dns_watch *watch = LIST_ITEM(node, struct dns_watch, link);
        if (watch->fd == fd)
            return watch;
    }
    return NULL;
}

static struct dns_watch *dns_watch_begin(struct dns_call *call, ares_socket_t fd)
{
    struct dns_watch *watch = calloc(1, sizeof(*watch));

    MUST(watch != NULL);
    watch->call = call;
    watch->fd = fd;
    MUST(uv_poll_init_socket(loop_uv(), &watch->poll, fd) == 0);
    list_append(&call->watches, &watch->link);
    return watch;
}

/* Called before c-ares closes the descriptor, because the next socket may get the same number. */
static void dns_watch_end(struct dns_watch *watch)
{
    list_remove(&watch->link);
    (void)uv_poll_stop(&watch->poll);
    uv_close((uv_handle_t *)&watch->poll, dns_on_closed);
}

static void dns_on_socket(void *arg, ares_socket_t fd, int readable, int writable)
{
    struct dns_call *call = arg;
    struct dns_watch *watch = dns_watch_find(call, fd);
    int events = (readable ? UV_READABLE : 0) | (writable ? UV_WRITABLE : 0);

    if (events == 0) {
        if (watch != NULL)
            dns_watch_end(watch);
        return;
    }
    if (watch == NULL)
        watch = dns_watch_begin(call, fd);
    MUST(uv_poll_start(&watch->poll, events, dns_on_poll) == 0);
}

/* --- calls --- */

/* Returns false when no name server is known. */
static bool channel_open(struct dns_call *call, const char *servers)
{
    struct ares_options options = {
        .timeout = TRY_MS,
        .tries = TRIES,
        .sock_state_cb = dns_on_socket,
        .sock_state_cb_data = call,
    };

    if (ares_init_options(&call->channel,
                          &options,
                          ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_SOCK_STATE_CB) !=
        ARES_SUCCESS)
        return false;
    if (servers == NULL || ares_set_servers_ports_csv(call->channel, servers) == ARES_SUCCESS)
        return true;
    ares_destroy(call->channel);
    return false;
}

static void dns_abandon(struct await *await)
{
    CONTAINER_OF(await, struct dns_call, await)->has_ended = true;
}

AWAITS static int questions_send(struct task *task,
                                 struct dns_call *call,
                                 struct dns_question *questions,
                                 size_t count,
                                 int64_t limit_ms)
{
    struct dns_pending_question *question = ARENA_ARRAY(task->arena, question, count);

    call->pending = count;
    for (size_t i = 0; i < count; i++) {
        question[i] = (struct dns_pending_question){call, &questions[i]};
        ares_query(call->channel,
                   arena_cstr(task->arena, questions[i].name),
                   CLASS_IN,
                   TYPE_TXT,
                   on_answer,
                   &question[i]);
    }
    timer_set(call);
    int rc = count > 0 ? await_wait(task, &call->await, limit_ms) : 0;
    call->has_ended = true;
    loop_timer_stop(&call->timer);
    ares_destroy(call->channel);
    LIST_FOR (node, &call->watches)
        dns_watch_end(LIST_ITEM(node, struct dns_watch, link));
    return rc;
}

/* True when the call's own limit has passed, but not the deadline of its task. */
static bool is_call_limit_only(const struct task *task, int rc)
{
    return rc == -ETIMEDOUT && (task->deadline_ms == 0 || clock_mono_ms() < task->deadline_ms);
}

int dns_query_txt(struct task *task, struct dns_question *questions, size_t count, int64_t limit_ms)
{
    struct dns_call call = {.arena = task->arena};
    struct share *share;

    for (size_t i = 0; i < count; i++) {
        questions[i].rc = DNS_FAILED;
        questions[i].reason = "no answer in time";
        questions[i].count = 0;
    }
    int rc = shares_acquire(task, &dns.calls, share_owner_of(task), 1, limit_ms, &share);
    if (rc != 0)
        return rc == -EAGAIN || is_call_limit_only(task, rc) ? DNS_BUSY : rc;
    await_init(&call.await);
    call.await.abandon = dns_abandon;
    loop_timer_init(&call.timer, dns_on_due, &call);
    list_init(&call.watches);
    if (channel_open(&call, dns.servers)) {
        rc = questions_send(task, &call, questions, count, limit_ms);
    } else {
        for (size_t i = 0; i < count; i++)
            questions[i].reason = "no name server can be queried";
    }
    shares_release(&dns.calls, share, 1);
    return is_call_limit_only(task, rc) ? 0 : rc; /* answers that have arrived count */
}

/* --- life --- */

int dns_start(struct str servers)
{
    const struct shares_config config = {
        .name = "dns",
        .limit = CALLS,
        .per_owner = CALLS_PER_PROJECT,
        .waiting = CALLS_WAITING_MAX,
        .leave_room = true,
    };
    struct dns_call probe = {0};

    MUST(ares_library_init(ARES_LIB_INIT_ALL) == ARES_SUCCESS);
    list_init(&probe.watches);
    free(dns.servers);
    dns.servers = servers.len ? strndup(servers.ptr, servers.len) : NULL;
    MUST(servers.len == 0 || dns.servers != NULL);
    if (dns.calls.owners == NULL) /* once a process: calls under way keep their share */
        shares_init(&dns.calls, &config);
    if (dns.servers == NULL)
        return 0;
    if (!channel_open(&probe, dns.servers))
        return DNS_BAD_SERVERS;
    ares_destroy(probe.channel);
    return 0;
}

void dns_stop(void)
{
    free(dns.servers);
    dns.servers = NULL;
}
