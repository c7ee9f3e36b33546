#pragma once
/*
 * One run of an operation, for a request to the gateway or a step of a job. It has three phases:
 * integration_prepare() finds all faults and fetches a token. integration_send() logs the call,
 * sends the request and logs the end. integration_read_answer() turns the answer into a value;
 * before it the caller reserves the memory that the tree of the answer may take.
 *
 * A request is sent at most once. The exception is a repetition with a new token after a 401, which
 * means that the API has done nothing. Redirects are followed only if the operation allows them,
 * only for GET and HEAD, and never to another origin. Credentials are only sent to the origin of
 * base_url.
 */
#include "fetch/fetch.h"
#include "integrations/answer.h"
#include "integrations/connection.h"
#include "integrations/fill.h"

struct integration_use {
    /* Set by the caller. */
    struct project *project;
    const struct caller *caller;
    int64_t integration_id; /* or `integration`, its name */
    struct str integration, operation;
    int64_t connection_id; /* 0 = connection_choose() chooses; for a job only among the project's */
    int64_t job_id;        /* 0 = a request */
    const json_t *params;  /* an object, or NULL */
    struct str traceparent;
    int64_t deadline_ms; /* monotonic; 0 = only the operation's timeout */

    /* Set by integration_prepare(). */
    struct integration_source source;
    struct integration_operation parsed_operation;
    struct connection connection;
    struct fill_values values;
    struct outgoing_request outgoing;

    /* Set by integration_send(). */
    int64_t call_id, duration_ms;
    struct fetch_response response;
    struct answer_text answer;
    struct fetch_budget room; /* the caller must release it with fetch_budget_release() */
    int64_t started_ms;
    int64_t tries;

    /* Set by integration_read_answer(). */
    json_t *headers; /* those of answer_headers(), masked */

    /* Set with INTEGRATION_FAILED. */
    struct connection_error error;
    struct schema_errors *findings; /* NULL = none */
};

/* co: Reads the integration and sets use->source. *ret_operation is the operation's stored JSON
 * text. Owned by the task's arena. Results as of integration_prepare(). */
AWAITS int integration_load(struct task *task,
                            struct integration_use *use,
                            struct str *ret_operation) MUSTCHECK;
/* co: Validates the values, builds the request, chooses the connection and fetches a token if
 * necessary. Returns 0, INTEGRATION_FAILED, INTEGRATION_BAD, a DB_*, or a negative. */
AWAITS int integration_prepare(struct task *task, struct integration_use *use) MUSTCHECK;
/* co: Masks the credentials of a prepared use and all secrets of its project in *shown, which is
 * replaced by a value of the task's arena. For values that are stored or logged. Returns 0, a DB_*,
 * or a negative. */
AWAITS int integration_mask(struct task *task, const struct integration_use *use, json_t **shown)
    MUSTCHECK;
/* co: Sends a prepared request and logs the call. Returns 0 for an answer of any status, and
 * otherwise as integration_prepare(). A 2xx whose text cannot be read is INTEGRATION_FAILED. */
AWAITS int integration_send(struct task *task, struct integration_use *use) MUSTCHECK;
/* co: Returns the answer as a masked value: for a 2xx the part that the operation's `response`
 * selects, otherwise all of it. Sets use->headers. Owned by the task's arena. Returns 0,
 * INTEGRATION_FAILED, or a negative. */
AWAITS int integration_read_answer(struct task *task,
                                   struct integration_use *use,
                                   json_t **ret_data) MUSTCHECK;
/* any: Returns whether the answer's status is a 2xx. */
static inline bool integration_has_succeeded(const struct integration_use *use)
{
    return use->response.status >= 200 && use->response.status < 300;
}
