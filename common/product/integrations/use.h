#pragma once
/*
 * One run of an operation, for whoever asks: a request, a step of a job. Prepared (everything that
 * can be wrong is found, tokens are there), sent (a row of the call before, its end after), and
 * what came back made into a value. Between the last two whoever runs it sees to the memory that
 * the answer's tree may take.
 *
 * At most once: nothing is sent again but with a new token after a 401, which says that nothing was
 * done. Redirects are followed only where the operation says so, of GET and HEAD, and never to
 * another origin. Credentials go to no other origin than that of base_url.
 */
#include "fetch/fetch.h"
#include "integrations/answer.h"
#include "integrations/connection.h"
#include "integrations/fill.h"

struct integration_use {
    /* Who runs what. */
    struct project *project;
    const struct caller *caller;
    int64_t integration_id; /* or a name */
    struct str integration, operation;
    int64_t connection_id; /* 0 = the caller's own, else the project's; of a job the project's */
    int64_t job_id;        /* 0 = a request */
    const json_t *params;  /* an object, or NULL */
    struct str traceparent;
    int64_t deadline_ms; /* monotonic; 0 = the operation's own time alone */

    /* Of integration_prepare(). */
    struct integration_source source;
    struct integration_operation work;
    struct connection connection;
    struct fill_values values;
    struct outgoing outgoing;

    /* Of integration_send(). */
    int64_t call_id, duration_ms;
    struct fetch_response response;
    struct answer_text answer;
    struct fetch_room room; /* whoever runs it leaves it */
    int64_t begun_ms;
    int64_t tries;

    /* Of integration_take(). */
    json_t *headers; /* as answer_headers(), masked */

    /* Of INTEGRATION_FAILED. */
    struct connection_error error;
    struct schema_errors *findings; /* NULL = none */
};

/* co: the integration, and its operation as it is stored: use->source is set. Results as of
 * integration_prepare(). */
AWAITS int integration_find(struct task *task,
                            struct integration_use *use,
                            struct str *ret_operation) MUSTCHECK;
/* co: 0, INTEGRATION_FAILED, a DB_*, or a negative. */
AWAITS int integration_prepare(struct task *task, struct integration_use *use) MUSTCHECK;
/* co: takes the credentials of a prepared use, and all secrets of its project, out of what is
 * stored of it. *shown is replaced by an arena-owned value. 0, a DB_*, or a negative. */
AWAITS int integration_hide(struct task *task, const struct integration_use *use, json_t **shown)
    MUSTCHECK;
/* co: 0 with any status, whose answer is a text, or as above: INTEGRATION_FAILED also for a 2xx
 * whose answer cannot be read. */
AWAITS int integration_send(struct task *task, struct integration_use *use) MUSTCHECK;
/* co: the answer as a value, masked: of a 2xx what the operation keeps of it, else all of it; and
 * its headers. 0, INTEGRATION_FAILED, or a negative. */
AWAITS int integration_take(struct task *task, struct integration_use *use, json_t **ret_data)
    MUSTCHECK;
/* any: an answer that says that it was done. */
static inline bool integration_went_well(const struct integration_use *use)
{
    return use->response.status >= 200 && use->response.status < 300;
}
