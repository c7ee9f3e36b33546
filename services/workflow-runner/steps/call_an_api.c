/*
 * CallAnApi: sends one HTTP request through common/core/fetch, at most once. The history row is
 * committed as `sent` before anything leaves the process. When the step is found again after a
 * crash, it is interrupted and never sent again.
 */
#include "base/clock.h"
#include "base/secret_mask.h"
#include "fetch/fetch.h"
#include "integrations/answer.h"
#include "integrations/content_type.h"
#include "job_budget.h"
#include "json/jr.h"
#include "run_step.h"
#include "step.h"

#define HEADERS_MAX   50
#define REDIRECTS_MAX 5
#define BEFORE_STEP_MS                                                                             \
    100 /* the request times out before the step, so that both report the same failure */

/* Refused, closed, filtered and slow addresses get the same answer, so that a workflow cannot scan
 * ports. */
static int fail_unreachable(struct step_call *call)
{
    return step_fail(
        call, PROBLEM_UNREACHABLE, "The address did not answer in time, or is not allowed.");
}

static int add_header(struct step_call *call,
                      struct fetch_request *request,
                      struct fetch_header *headers,
                      const char *name,
                      const json_t *value)
{
    struct arena *arena = call->task->arena;
    struct str text;

    if (request->nheaders == HEADERS_MAX)
        return step_fail(call, PROBLEM_TOO_LONG, "headers: at most %d are allowed", HEADERS_MAX);
    if (json_is_string(value))
        text = (struct str){json_string_value(value), json_string_length(value)};
    else if (json_is_number(value) || json_is_boolean(value))
        text = jr_print(arena, value);
    else
        return step_fail(call, PROBLEM_TYPE_MISMATCH, "headers.%s: expected a text", name);
    headers[request->nheaders++] = (struct fetch_header){.name = str_from(name), .value = text};
    return 0;
}

/* The value of a header, STR_NONE when the request has no such header. */
static struct str header_value(const struct fetch_request *request, const char *name)
{
    for (size_t i = 0; i < request->nheaders; i++) {
        if (str_ieq(request->headers[i].name, str_from(name)))
            return request->headers[i].value;
    }
    return STR_NONE;
}

/* Sets the body: JSON, or a text as it is when the headers name another content type. */
static void set_body(struct step_call *call, const json_t *body, struct fetch_request *request)
{
    struct arena *arena = call->task->arena;
    const struct content_type type =
        content_type_read(arena, header_value(request, "content-type"));

    if (content_type_takes_text(&type, body))
        request->body = (struct str){json_string_value(body), json_string_length(body)};
    else
        request->body = jr_print(arena, body);
}

/* Reads the headers and sets the body. `body` NULL: the request has no body. */
static int read_headers(struct step_call *call,
                        const json_t *value,
                        const json_t *body,
                        struct fetch_request *request)
{
    struct fetch_header *headers = ARENA_ARRAY(call->task->arena, headers, HEADERS_MAX + 2);
    const char *name;
    json_t *item;

    request->headers = headers;
    json_object_foreach((json_t *)value, name, item)
        TRY(add_header(call, request, headers, name, item));
    if (body != NULL)
        set_body(call, body, request);
    if (body != NULL && header_value(request, "content-type").ptr == NULL)
        headers[request->nheaders++] =
            (struct fetch_header){.name = STR("Content-Type"), .value = STR("application/json")};
    if (call->job->traceparent.len && header_value(request, "traceparent").ptr == NULL)
        headers[request->nheaders++] =
            (struct fetch_header){.name = STR("traceparent"), .value = call->job->traceparent};
    return 0;
}

/* A copy of the headers for the history. Credentials are hidden in headers whose names suggest one,
 * wherever their values come from. */
static json_t *shown_headers(struct step_call *call, const json_t *headers)
{
    json_t *shown = step_own_json(call, json_copy((json_t *)headers));
    const char *name;
    json_t *item;

    json_object_foreach((json_t *)headers, name, item)
    {
        struct str text = secret_hide(call->task->arena, jr_str(headers, name));
        if (secret_is_credential_name(str_from(name)))
            (void)json_object_set_new(shown, name, json_stringn(text.ptr, text.len));
    }
    return shown;
}

AWAITS static int api_read_request(struct step_call *call, struct fetch_request *request)
{
    struct arena *arena = call->task->arena;
    json_t *headers;
    json_t *body;

    request->url = fetch_url_escape(arena, jr_str(call->step->params, "url"));
    request->method = jr_str(call->step->params, "method");
    TRY(step_param(call, "headers", true, &headers));
    TRY(step_param(call, "body", true, &body));
    struct str url = secret_url_mask(arena, request->url);
    call->input = json_pack("{s:s%, s:O}",
                            "url",
                            url.ptr,
                            url.len,
                            "method",
                            json_object_get(call->step->params, "method"));
    step_own_json(call, call->input);
    if (headers != NULL)
        (void)json_object_set(call->input, "headers", shown_headers(call, headers));
    if (body != NULL)
        (void)json_object_set(call->input, "body", body);
    return read_headers(call, headers, body, request);
}

static int pick_results(struct step_call *call, json_t *answer, json_t **ret_data)
{
    struct str path = jr_str(call->step->params, "results_path");
    struct str reason;

    if (answer_pick(call->task->arena, path, answer, ret_data, &reason) != 0)
        return step_fail(call,
                         PROBLEM_RESULTS_PATH,
                         "The answer has nothing at \"%.*s\": %.*s",
                         STR_ARG(path),
                         STR_ARG(reason));
    return 0;
}

static bool api_is_success(const struct fetch_response *response)
{
    return response->status >= 200 && response->status <= 299;
}

static int fail_fetch(struct step_call *call, int rc)
{
    switch (rc) {
    case FETCH_TOO_LARGE:
        return step_fail(call,
                         PROBLEM_RESPONSE_TOO_LARGE,
                         "The answer is larger than %d bytes.",
                         FETCH_DEFAULT_RESPONSE_BYTES);
    case FETCH_BAD_URL:
        return step_fail(call, PROBLEM_BAD_URL, "The URL cannot be used.");
    case FETCH_BAD_HEADER:
        return step_fail(call,
                         PROBLEM_BAD_HEADER,
                         "A header cannot be sent: line breaks and framing headers are refused.");
    case FETCH_BUSY:
        return step_fail(call, PROBLEM_BUSY, "Too many requests wait to be sent.");
    default:
        return fail_unreachable(call);
    }
}

/* Checks that each secret of the workflow may be sent to the host of `url`: a secret with
 * allowed_hosts may be sent to these hosts only. Call it before anything is sent. */
static int check_host(struct step_call *call, struct str url)
{
    struct str host;

    if (call->secrets == NULL)
        return 0;
    if (fetch_url_host(call->task->arena, url, &host) != 0)
        return step_fail(call, PROBLEM_BAD_URL, "The URL cannot be used.");
    struct str secret = secrets_find_unsendable(call->secrets, host);
    if (secret.ptr == NULL)
        return 0;
    return step_fail(
        call,
        PROBLEM_SECRET_HOST,
        "The secret %.*s may not be sent to %.*s: its allowed_hosts do not have this host.",
        STR_ARG(secret),
        STR_ARG(host));
}

AWAITS static int api_take_answer(struct step_call *call,
                                  const struct fetch_response *response,
                                  const struct answer_text *text)
{
    json_t *answer = answer_read(call->task, text);
    json_t *data;

    if (!api_is_success(response)) {
        call->error.response = answer;
        return step_fail(call, PROBLEM_HTTP_STATUS, "The address answered %ld.", response->status);
    }
    TRY(pick_results(call, answer, &data));
    call->output = step_own_json(call,
                                 json_pack("{s:O, s:I, s:O}",
                                           "data",
                                           data,
                                           "status_code",
                                           (json_int_t)response->status,
                                           "headers",
                                           answer_headers(call->task->arena, response)));
    return 0;
}

/* co: Reads the text of an answer. An unreadable text is ignored when the status reports a failure,
 * because the status says enough. */
AWAITS static int api_read_text(struct step_call *call,
                                const struct fetch_response *response,
                                struct answer_text *ret_text)
{
    struct str reason;

    call->error.status_code = response->status;
    int rc = answer_text_read(call->task, response, ret_text, &reason);
    if (rc == 0 || !api_is_success(response))
        return 0;
    if (rc == ANSWER_TOO_LARGE)
        return fail_fetch(call, FETCH_TOO_LARGE);
    return step_fail(
        call, PROBLEM_UNREADABLE_ANSWER, "The answer cannot be read: %.*s.", STR_ARG(reason));
}

/* co: Takes the answer when the memory budget allows: a text of a megabyte may become a tree of
 * eighty. */
AWAITS static int take_answer_in_budget(struct step_call *call,
                                        const struct fetch_response *response)
{
    struct job_budget_temporary moment;
    struct answer_text text;

    TRY(api_read_text(call, response, &text));
    int rc = job_budget_temporary_acquire(call->task, jr_tree_bytes(text.text), &moment);
    if (rc == BUDGET_EXCEEDED)
        return step_fail(call, PROBLEM_RESPONSE_TOO_LARGE, "The answer holds too many values.");
    TRY(rc);
    rc = api_take_answer(call, response, &text);
    job_budget_temporary_release(&moment);
    return rc;
}

/* --- redirects --- */

static bool is_redirect(long status)
{
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

/* Keeps those headers of a request for which `stays` is true. */
static void headers_filter(const struct step_call *call,
                           struct fetch_request *request,
                           bool (*stays)(const struct step_call *call, struct str name))
{
    struct fetch_header *headers = ARENA_ARRAY(call->task->arena, headers, request->nheaders);
    size_t count = 0;

    for (size_t i = 0; i < request->nheaders; i++)
        if (stays(call, request->headers[i].name))
            headers[count++] = request->headers[i];
    request->headers = headers;
    request->nheaders = count;
}

static bool is_not_content_type(const struct step_call *call, struct str name)
{
    (void)call;
    return !str_ieq(name, STR("content-type"));
}

/* Whether a header may be sent to another server, which must get nothing that was meant for the
 * first one. The permitted headers are listed, because no list can name all headers that may hold a
 * credential, and their values must be fixed texts. */
static bool is_shareable_header(const struct step_call *call, struct str name)
{
    const json_t *headers = json_object_get(call->step->params, "headers");
    const char *text = json_string_value(json_object_getn(headers, name.ptr, name.len));

    return text != NULL && strstr(text, "{{") == NULL &&
           (str_ieq(name, STR("accept")) || str_ieq(name, STR("accept-language")) ||
            str_ieq(name, STR("user-agent")));
}

/* Makes the next request a GET after a 303, and after a 301 or 302 that answers a POST (RFC 9110,
 * 15.4). */
static void redirect_to_get(const struct step_call *call,
                            const struct fetch_response *response,
                            struct fetch_request *request)
{
    bool posts = str_is(request->method, "POST");

    if (response->status != 303 && !(posts && response->status <= 302))
        return;
    request->method = STR("GET");
    request->body = STR_NONE;
    headers_filter(call, request, is_not_content_type);
}

static bool is_same_origin(struct arena *arena, struct str one, struct str other)
{
    return str_eq(integration_origin(arena, one), integration_origin(arena, other));
}

/* Follows a redirect: *request becomes the next request. *ret_leads false: this answer is the last
 * one. 0, or STEP_FAILED when the redirect leads to an address that is not allowed. */
static int api_follow(struct step_call *call,
                      const struct fetch_response *response,
                      struct fetch_request *request,
                      bool *ret_leads)
{
    struct str location = fetch_response_header(response, "location");
    struct fetch_request next = *request;

    *ret_leads = false;
    if (!is_redirect(response->status))
        return 0;
    int rc = fetch_url_join(call->task->arena, request->url, location, &next.url);
    if (rc != 0)
        return rc == FETCH_REFUSED ? fail_unreachable(call) : 0;
    redirect_to_get(call, response, &next);
    if (!is_same_origin(call->task->arena, next.url, request->url)) {
        if (!str_is(next.method, "GET") || next.body.len > 0)
            return 0;
        headers_filter(call, &next, is_shareable_header);
    }
    *request = next;
    *ret_leads = true;
    return 0;
}

/* co: Sends the request and follows redirects if wanted. 0, STEP_FAILED, or a negative. */
AWAITS static int
api_send(struct step_call *call, struct fetch_request *request, struct fetch_response *ret_response)
{
    bool leads = jr_bool(call->step->params, "follow_redirects", false);

    for (int left = leads ? REDIRECTS_MAX : 0;; left--) {
        fetch_budget_release(request->budget);
        request->timeout_ms = call->task->deadline_ms - clock_mono_ms() - BEFORE_STEP_MS;
        if (request->timeout_ms <= 0)
            return fail_unreachable(call);
        int rc = fetch(call->task, request, ret_response);
        if (rc != 0)
            return rc > 0 ? fail_fetch(call, rc) : rc;
        if (left == 0)
            return 0;
        TRY(api_follow(call, ret_response, request, &leads));
        if (!leads)
            return 0;
    }
}

int step_call_an_api(struct step_call *call)
{
    struct fetch_request request = {.once = true};
    struct fetch_response response = {0};

    TRY(api_read_request(call, &request));
    TRY(check_host(call, request.url));
    if (fetch_url_check(request.url) == FETCH_REFUSED)
        return fail_unreachable(call);
    TRY(step_sent(call));
    struct fetch_budget budget = {0};
    request.budget = &budget;
    int rc = api_send(call, &request, &response);
    if (rc == 0)
        rc = take_answer_in_budget(call, &response);
    fetch_budget_release(&budget);
    return rc;
}
