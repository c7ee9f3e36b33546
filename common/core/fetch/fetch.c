/* Runs one outbound request: checks it, resolves the host, connects and collects the response. */
#include "fetch/fetch.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/panic.h"
#include "fetch/fetch_guard_private.h"
#include "fetch/fetch_h2_private.h"
#include "fetch/fetch_loop_private.h"
#include "fetch/fetch_message_private.h"
#include "loop/shares.h"

enum { DEFAULT_IN_FLIGHT = 256, WAITING_PER_SLOT = 4, THREADS_PER_SLOT = 2, PURPOSE_FRACTION = 4 };
/* Buffers of libcurl for each push request in flight; its defaults are 16 KB and 64 KB. */
#define RECEIVE_BYTES        4096L
#define SEND_BYTES           16384L
#define DEFAULT_BUDGET_BYTES ((uint64_t)32 << 20)

/* State of one fetch() call, in the task's arena. */
struct fetch_op {
    struct fetch_transfer transfer;
    const struct fetch_request *request;
    struct fetch_guard guard;
    struct fetch_answer answer;
    struct fetch_exchange exchange; /* used when nghttp2 carries the request instead of libcurl */
    struct curl_slist *headers;     /* freed after the easy handle */
    struct curl_slist *resolve;
    int64_t due_ms;
};

/* A request holds its slot for as long as the remote server takes to respond. A project must
 * therefore leave slots to other projects (`slots`), and may use at most a quarter of all slots for
 * one purpose (`purposes`). */
static struct shares slots;
static struct shares purposes;
static struct shares fcm_streams; /* streams to the FCM host; projects take turns */
static char *ca_file;

/* Initialises the shares once per process. A later fetch_init() only changes the limits. */
static void slots_init(struct shares *shares, const struct shares_config *config)
{
    if (shares->owners == NULL)
        shares_init(shares, config);
    shares->config = *config;
}

void fetch_init(const struct fetch_config *config)
{
    unsigned max = config->max_in_flight ? config->max_in_flight : DEFAULT_IN_FLIGHT;
    ca_file = NULL;
    if (config->ca_file) {
        ca_file = strdup(config->ca_file);
        MUST(ca_file != NULL);
    }
    slots_init(&slots,
               &(struct shares_config){.name = "fetch_slots",
                                       .limit = max,
                                       .per_owner = SHARES_ANY,
                                       .waiting = (uint64_t)max * WAITING_PER_SLOT + max / 2,
                                       .leave_room = true});
    slots_init(&purposes,
               &(struct shares_config){.name = "fetch_purposes",
                                       .limit = SHARES_ANY,
                                       .per_owner = (max + PURPOSE_FRACTION - 1) / PURPOSE_FRACTION,
                                       .waiting = (uint64_t)max * WAITING_PER_SLOT});
    slots_init(&fcm_streams,
               &(struct shares_config){.name = "fetch_crowd",
                                       .limit = (uint64_t)FETCH_H2_CONNECTIONS * FETCH_H2_STREAMS,
                                       .per_owner = SHARES_ANY,
                                       .waiting = SHARES_ANY});
    fetch_budget_init(config->budget_bytes ? config->budget_bytes : DEFAULT_BUDGET_BYTES);
    fetch_url_allow(config->allow, config->nallow);
    fetch_resolve_init(max * THREADS_PER_SLOT);
    fetch_loop_init(ca_file);
    fetch_h2_init(config->ca_file);
}

void fetch_done(void)
{
    fetch_budget_done();
    fetch_resolve_done();
    fetch_h2_done();
    fetch_loop_done();
    fetch_url_allow_done();
    free(ca_file);
    ca_file = NULL;
}

unsigned fetch_in_flight(void)
{
    return (unsigned)slots.held;
}

/* --- choice of transport --- */

/* Only a response this small needs no memory budget (fetch_budget_private.h). The transfer of a
 * larger response may have to be paused, which the nghttp2 connections do not support. */
static bool is_small(const struct fetch_request *request)
{
    return request->max_response_bytes > 0 &&
           request->max_response_bytes <= FETCH_BUDGET_FREE_BYTES;
}

/* Push services send short responses, for which compression would cost more than it saves. */
static bool is_push(const struct fetch_request *request)
{
    return request->purpose == FETCH_PUSH_FCM || request->purpose == FETCH_PUSH_WEB;
}

static int url_read(struct task *task, struct fetch_op *op)
{
    return op->request->purpose == FETCH_PUSH_FCM && is_small(op->request)
               ? fetch_url_parse_cached(task->arena, op->request->url, &op->guard.url)
               : fetch_url_parse(task->arena, op->request->url, &op->guard.url);
}

/* --- libcurl's easy handle --- */

/* Push requests come in large numbers to few hosts. A request waits for a stream of an existing
 * HTTP/2 connection, because a new connection would not be faster and would cost far more. Without
 * TLS it does not wait: libcurl learns only from the first response whether the connection can be
 * multiplexed, and a slow first response would hold up all other requests. */
static void easy_set_push(CURL *easy, const struct fetch_op *op)
{
    (void)curl_easy_setopt(easy, CURLOPT_PIPEWAIT, op->guard.url.secure ? 1L : 0L);
    (void)curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, RECEIVE_BYTES);
    (void)curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, SEND_BYTES);
}

static void set_rules(CURL *easy, struct fetch_op *op)
{
    (void)curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    (void)curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    (void)curl_easy_setopt(easy, CURLOPT_PROXY, "");
    (void)curl_easy_setopt(easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    (void)curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    (void)curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, op->request->once ? 1L : 0L);
    /* Projects choose these hosts: they must not evict connections that all projects use. */
    if (op->request->purpose == FETCH_IDENTITY || op->request->purpose == FETCH_INTEGRATION)
        (void)curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L);
    if (is_push(op->request))
        easy_set_push(easy, op);
    if (ca_file)
        (void)curl_easy_setopt(easy, CURLOPT_CAINFO, ca_file);
}

static void set_message(CURL *easy, struct fetch_op *op)
{
    const struct fetch_request *request = op->request;
    if (fetch_message_has_body(request)) {
        (void)curl_easy_setopt(
            easy, CURLOPT_POSTFIELDS, request->body.len ? request->body.ptr : "");
        (void)curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body.len);
    }
    if (str_is(request->method, "HEAD"))
        (void)curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
    else
        (void)curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, fetch_message_method(request));
    (void)curl_easy_setopt(easy, CURLOPT_HTTPHEADER, op->headers);
    (void)curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, fetch_answer_on_header);
    (void)curl_easy_setopt(easy, CURLOPT_HEADERDATA, &op->answer);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, fetch_answer_on_body);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEDATA, &op->answer);
}

/* --- the call --- */

/* Returns -ETIMEDOUT only if the task's own deadline has passed. A timeout by the request's own
 * limit becomes FETCH_TIMEOUT. */
static int limit_rc(const struct task *task, int rc)
{
    if (rc != -ETIMEDOUT)
        return rc;
    bool own = task->deadline_ms != 0 && clock_mono_ms() >= task->deadline_ms;
    return own ? rc : FETCH_TIMEOUT;
}

static int code_rc(const struct fetch_op *op)
{
    CURLcode code = op->transfer.code;
    /* Check this first: when the write callback fails while curl_easy_pause() delivers the data of
     * a paused transfer, libcurl may not end the transfer with an error. */
    if (op->answer.too_large)
        return FETCH_TOO_LARGE;
    if (code == CURLE_OK || op->answer.response.unreadable)
        return 0;
    if (code == CURLE_OUT_OF_MEMORY)
        PANIC("libcurl: out of memory");
    if (op->guard.refused)
        return FETCH_REFUSED;
    if (code == CURLE_OPERATION_TIMEDOUT)
        return FETCH_TIMEOUT;
    if (code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL)
        return FETCH_BAD_URL;
    return FETCH_UNREACHABLE;
}

/* Returns the owner for `purposes` and for name lookups: the project and the purpose. A slow name
 * server then delays only requests of the same project and purpose. */
static struct share_owner owner_of(const struct task *task, const struct fetch_request *request)
{
    struct share_owner owner = share_owner_of(task);

    owner.part = request->purpose;
    return owner;
}

/* Resolves the host name once and checks every address. */
AWAITS static int name_resolve(struct task *task, struct fetch_op *op)
{
    int64_t left_ms = op->due_ms - clock_mono_ms();
    if (left_ms <= 0)
        return FETCH_TIMEOUT;
    return limit_rc(task,
                    fetch_guard_resolve(task, &op->guard, owner_of(task, op->request), left_ms));
}

AWAITS static int transfer_run(struct task *task, struct fetch_op *op)
{
    int64_t left_ms = op->due_ms - clock_mono_ms();
    if (left_ms <= 0)
        return FETCH_TIMEOUT;
    if (op->guard.url.parsed == NULL)
        TRY(fetch_url_parse(task->arena, op->request->url, &op->guard.url));
    CURL *easy = curl_easy_init();
    MUST(easy != NULL);
    op->transfer.easy = op->answer.easy = easy;
    op->transfer.max_host_connections =
        op->request->purpose == FETCH_PUSH_FCM ? FETCH_H2_CONNECTIONS : 0;
    op->headers = fetch_message_headers(task->arena, op->request, !is_push(op->request));
    op->resolve = fetch_guard_apply(easy, task->arena, &op->guard);
    set_rules(easy, op);
    set_message(easy, op);
    (void)curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)left_ms);
    int rc = fetch_loop_run(task, &op->transfer);
    fetch_budget_stop_waiting(&op->answer.budget);
    fetch_answer_end(&op->answer);
    if (rc == 0)
        rc = code_rc(op);
    if (rc == 0)
        (void)curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &op->answer.response.status);
    op->answer.response.resent = op->guard.sent_count > 1;
    curl_easy_cleanup(easy);
    curl_slist_free_all(op->headers);
    curl_slist_free_all(op->resolve);
    return rc;
}

AWAITS static int op_run_on_h2(struct task *task, struct fetch_op *op, struct fetch_h2_host *host)
{
    int64_t left_ms = op->due_ms - clock_mono_ms();

    if (left_ms <= 0)
        return FETCH_TIMEOUT;
    if (op->guard.url.target.ptr == NULL)
        op->guard.url.target = fetch_url_target(task->arena, &op->guard.url);
    op->exchange = (struct fetch_exchange){.host = host,
                                           .request = op->request,
                                           .url = &op->guard.url,
                                           .addresses = &op->guard.addresses,
                                           .answer = &op->answer};
    return limit_rc(task, fetch_exchange_run(task, &op->exchange, left_ms));
}

/* Returns the host whose nghttp2 connections may carry the request, NULL to use libcurl. libcurl
 * takes several times as long for many small requests to one host. */
static struct fetch_h2_host *h2_host_for(const struct fetch_op *op)
{
    if (!op->guard.url.secure || !is_small(op->request) || !is_push(op->request))
        return NULL;
    return fetch_h2_host_acquire(&op->guard.url, op->request->purpose == FETCH_PUSH_WEB);
}

AWAITS static int op_run(struct task *task, struct fetch_op *op)
{
    TRY(name_resolve(task, op));
    struct fetch_h2_host *host = h2_host_for(op);
    if (host == NULL)
        return transfer_run(task, op);
    int rc = fetch_h2_is_worthwhile(host) ? op_run_on_h2(task, op, host) : 0;
    if (rc == 0 && (op->exchange.host == NULL || op->exchange.no_h2))
        rc = transfer_run(task, op);
    fetch_h2_host_release(host);
    return rc;
}

AWAITS static int op_share_acquire(struct task *task,
                                   struct shares *shares,
                                   struct share_owner owner,
                                   const struct fetch_op *op,
                                   struct share **ret_share)
{
    int64_t left_ms = op->due_ms - clock_mono_ms();
    if (left_ms <= 0)
        return FETCH_TIMEOUT;
    int rc = shares_acquire(task, shares, owner, 1, left_ms, ret_share);
    return rc == -EAGAIN ? FETCH_BUSY : limit_rc(task, rc);
}

AWAITS static int op_run_in_fcm_streams(struct task *task, struct fetch_op *op)
{
    struct share *stream;

    if (op->request->purpose != FETCH_PUSH_FCM)
        return op_run(task, op);
    TRY(op_share_acquire(task, &fcm_streams, share_owner_of(task), op, &stream));
    int rc = op_run(task, op);
    shares_release(&fcm_streams, stream, 1);
    return rc;
}

/* Runs the request with its slots. A request of a job (FETCH_ANYTHING) takes no share of
 * `purposes`: jobs have other quotas. */
AWAITS static int op_run_in_slots(struct task *task, struct fetch_op *op)
{
    struct share *purpose = NULL;
    struct share *slot;

    if (op->request->purpose != FETCH_ANYTHING)
        TRY(op_share_acquire(task, &purposes, owner_of(task, op->request), op, &purpose));
    int rc = op_share_acquire(task, &slots, share_owner_of(task), op, &slot);
    if (rc == 0) {
        rc = op_run_in_fcm_streams(task, op);
        shares_release(&slots, slot, 1);
    }
    if (purpose != NULL)
        shares_release(&purposes, purpose, 1);
    return rc;
}

int fetch(struct task *task,
          const struct fetch_request *request,
          struct fetch_response *ret_response)
{
    struct fetch_op *op = ARENA_NEW(task->arena, op);
    int64_t timeout_ms = request->timeout_ms > 0 ? request->timeout_ms : FETCH_DEFAULT_TIMEOUT_MS;

    op->request = request;
    op->due_ms = clock_mono_ms() + timeout_ms;
    TRY(fetch_message_check(request));
    TRY(url_read(task, op));
    fetch_answer_init(&op->answer, task->arena, request->max_response_bytes);
    task_mark_lasting(task);
    op->answer.budget.owner = share_owner_of(task);
    int rc = op_run_in_slots(task, op);
    if (request->budget != NULL)
        *request->budget = op->answer.budget.budget;
    else
        fetch_budget_release(&op->answer.budget.budget);
    if (rc != 0)
        return rc;
    *ret_response = fetch_answer_take(&op->answer);
    return 0;
}
