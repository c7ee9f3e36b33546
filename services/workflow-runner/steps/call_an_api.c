/*
 * CallAnApi: one HTTP request through common/core/fetch, at most once. The history row says `sent`
 * before anything leaves the process; found again after a crash it is interrupted and never sent
 * again.
 */
#include "base/clock.h"
#include "base/secret_mask.h"
#include "fetch/fetch.h"
#include "integrations/answer.h"
#include "json/jr.h"
#include "room.h"
#include "run_step.h"
#include "step.h"

#define HEADERS_MAX 50
#define BEFORE_STEP_MS                                                                             \
    100 /* the request gives up before the step does, so that both are one answer */

/* An address that is refused, closed, filtered or slow answers alike: a workflow is no port
 * scanner. */
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
        return step_fail(call, PROBLEM_TOO_LONG, "headers: more than %d", HEADERS_MAX);
    if (json_is_string(value))
        text = (struct str){json_string_value(value), json_string_length(value)};
    else if (json_is_number(value) || json_is_boolean(value))
        text = jr_print(arena, value);
    else
        return step_fail(call, PROBLEM_TYPE_MISMATCH, "headers.%s: expected a text", name);
    headers[request->nheaders++] = (struct fetch_header){.name = str_from(name), .value = text};
    return 0;
}

static bool has_header(const struct fetch_request *request, const char *name)
{
    for (size_t i = 0; i < request->nheaders; i++) {
        if (str_ieq(request->headers[i].name, str_from(name)))
            return true;
    }
    return false;
}

static int read_headers(struct step_call *call, const json_t *value, struct fetch_request *request)
{
    struct fetch_header *headers = ARENA_ARRAY(call->task->arena, headers, HEADERS_MAX + 2);
    const char *name;
    json_t *item;

    request->headers = headers;
    json_object_foreach((json_t *)value, name, item)
        TRY(add_header(call, request, headers, name, item));
    if (request->body.ptr != NULL && !has_header(request, "content-type"))
        headers[request->nheaders++] =
            (struct fetch_header){.name = STR("Content-Type"), .value = STR("application/json")};
    if (call->job->traceparent.len && !has_header(request, "traceparent"))
        headers[request->nheaders++] =
            (struct fetch_header){.name = STR("traceparent"), .value = call->job->traceparent};
    return 0;
}

/* Headers that hold a credential by their name, whatever its source. */
static json_t *shown_headers(struct step_call *call, const json_t *headers)
{
    json_t *shown = step_own(call, json_copy((json_t *)headers));
    const char *name;
    json_t *item;

    json_object_foreach((json_t *)headers, name, item)
    {
        struct str text = secret_hide(call->task->arena, jr_str(headers, name));
        if (secret_name(str_from(name)))
            (void)json_object_set_new(shown, name, json_stringn(text.ptr, text.len));
    }
    return shown;
}

AWAITS static int api_read_request(struct step_call *call, struct fetch_request *request)
{
    struct arena *arena = call->task->arena;
    json_t *headers;
    json_t *body;

    request->url = jr_str(call->step->params, "url");
    request->method = jr_str(call->step->params, "method");
    TRY(step_param(call, "headers", true, &headers));
    TRY(step_param(call, "body", true, &body));
    struct str url = secret_url(arena, request->url);
    call->input = json_pack("{s:s%, s:O}",
                            "url",
                            url.ptr,
                            url.len,
                            "method",
                            json_object_get(call->step->params, "method"));
    step_own(call, call->input);
    if (headers != NULL)
        (void)json_object_set(call->input, "headers", shown_headers(call, headers));
    if (body != NULL) {
        (void)json_object_set(call->input, "body", body);
        request->body = jr_print(arena, body);
    }
    return read_headers(call, headers, request);
}

/* Keeps the part at results_path. */
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

static bool api_went_well(const struct fetch_response *response)
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

/* Before anything leaves: a secret that is bound to hosts goes to none but these. */
static int check_host(struct step_call *call, struct str url)
{
    struct str host;

    if (call->secrets == NULL)
        return 0;
    if (fetch_url_host(call->task->arena, url, &host) != 0)
        return step_fail(call, PROBLEM_BAD_URL, "The URL cannot be used.");
    struct str secret = secrets_unsendable(call->secrets, host);
    if (secret.ptr == NULL)
        return 0;
    return step_fail(call,
                     PROBLEM_SECRET_HOST,
                     "The secret %.*s may not be sent to %.*s (its allowed_hosts).",
                     STR_ARG(secret),
                     STR_ARG(host));
}

AWAITS static int api_take_answer(struct step_call *call,
                                  const struct fetch_response *response,
                                  const struct answer_text *text)
{
    json_t *answer = answer_read(call->task, text);
    json_t *data;

    if (!api_went_well(response)) {
        call->error.response = answer;
        return step_fail(call, PROBLEM_HTTP_STATUS, "The address answered %ld.", response->status);
    }
    TRY(pick_results(call, answer, &data));
    call->output = step_own(
        call, json_pack("{s:O, s:I}", "data", data, "status_code", (json_int_t)response->status));
    return 0;
}

/* co: the text of an answer. That one says no is known without its words. */
AWAITS static int api_read_text(struct step_call *call,
                                const struct fetch_response *response,
                                struct answer_text *ret_text)
{
    struct str reason;

    call->error.status_code = response->status;
    int rc = answer_text_read(call->task, response, ret_text, &reason);
    if (rc == 0 || !api_went_well(response))
        return 0;
    if (rc == ANSWER_TOO_LARGE)
        return fail_fetch(call, FETCH_TOO_LARGE);
    return step_fail(
        call, PROBLEM_UNREADABLE_ANSWER, "The answer cannot be read: %.*s.", STR_ARG(reason));
}

/* co: a text of a megabyte may become a tree of eighty: it is made when there is room for it. */
AWAITS static int take_counted(struct step_call *call, const struct fetch_response *response)
{
    struct room_moment moment;
    struct answer_text text;

    TRY(api_read_text(call, response, &text));
    int rc = room_moment(call->task, jr_tree_bytes(text.text), &moment);
    if (rc == ROOM_NONE)
        return step_fail(call, PROBLEM_RESPONSE_TOO_LARGE, "The answer holds too many values.");
    TRY(rc);
    rc = api_take_answer(call, response, &text);
    room_moment_end(&moment);
    return rc;
}

int step_call_an_api(struct step_call *call)
{
    struct fetch_request request = {.once = true};
    struct fetch_response response;

    TRY(api_read_request(call, &request));
    TRY(check_host(call, request.url));
    if (fetch_url_check(request.url) == FETCH_REFUSED)
        return fail_unreachable(call);
    TRY(step_sent(call));
    request.timeout_ms = call->task->deadline_ms - clock_mono_ms() - BEFORE_STEP_MS;
    if (request.timeout_ms <= 0)
        return fail_unreachable(call);
    struct fetch_room room = {0};
    request.room = &room;
    int rc = fetch(call->task, &request, &response);
    if (rc == 0)
        rc = take_counted(call, &response);
    else if (rc > 0)
        rc = fail_fetch(call, rc);
    fetch_room_leave(&room);
    return rc;
}
