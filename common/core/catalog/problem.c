/* The one list of error codes. Codes are promised to callers: add, never rename. */
#include "catalog/problem.h"

#include <pthread.h>
#include <stddef.h>

#include "base/map.h"
#include "base/panic.h"
#include "base/rc.h"

/* clang-format off */
#define PROBLEMS(P)                                                                                \
    /* 400: the request itself */                                                                  \
    P(bad_request, 400, "Bad request")                                                             \
    P(invalid_json, 400, "Body is not valid JSON")                                                 \
    P(invalid_query, 400, "Invalid query string")                                                  \
    P(validation_failed, 400, "Unprocessable request")                                             \
    P(unknown_field, 400, "Unknown field")                                                         \
    P(unknown_parameter, 400, "Unknown parameter")                                                 \
    P(required, 400, "Required value is missing")                                                  \
    P(read_only, 400, "Value is set by the service")                                               \
    P(type_mismatch, 400, "Value has the wrong type")                                              \
    P(out_of_range, 400, "Value is out of range")                                                  \
    P(too_long, 400, "Value is too long")                                                          \
    P(too_large_answer, 400, "Answer would be too large")                                          \
    P(pattern, 400, "Value has the wrong format")                                                  \
    P(flow_state_invalid, 400, "Sign-in flow is unknown or has expired")                           \
    P(redirect_not_allowed, 400, "Redirect address is not allowed")                                \
    /* 401: who is calling */                                                                      \
    P(unauthorized, 401, "Authentication is required")                                             \
    P(invalid_credentials, 401, "Invalid credentials")                                             \
    P(token_invalid, 401, "Token is invalid")                                                      \
    P(token_expired, 401, "Token has expired")                                                     \
    P(session_expired, 401, "Session has expired")                                                 \
    P(refresh_token_invalid, 401, "Refresh token is invalid")                                      \
    P(refresh_token_reused, 401, "Refresh token was used before")                                  \
    /* 402: money */                                                                               \
    P(card_error, 402, "The payment was declined")                                                 \
    /* 403: what the caller may do */                                                              \
    P(forbidden, 403, "Not permitted")                                                             \
    P(api_access_disabled, 403, "API access is disabled")                                          \
    P(admin_required, 403, "Administrator access is required")                                     \
    P(email_not_confirmed, 403, "E-mail address is not confirmed")                                 \
    P(email_not_verified, 403, "E-mail address is not verified by the provider")                   \
    P(user_suspended, 403, "User is suspended")                                                    \
    P(signup_disabled, 403, "Sign-up is disabled")                                                 \
    /* 404-408 */                                                                                  \
    P(not_found, 404, "Not found")                                                                 \
    P(route_not_found, 404, "No such route")                                                       \
    P(method_not_allowed, 405, "Method is not allowed")                                            \
    P(not_acceptable, 406, "No acceptable representation")                                         \
    P(request_timeout, 408, "Request was not received in time")                                    \
    /* 409: the state of things */                                                                 \
    P(conflict, 409, "Conflict")                                                                   \
    P(unique_violation, 409, "Value already exists")                                               \
    P(foreign_key_violation, 409, "Referenced record is missing or still in use")                  \
    P(already_exists, 409, "Already exists")                                                       \
    P(in_use, 409, "Still in use")                                                                 \
    P(schema_conflict, 409, "Change does not fit the existing data")                               \
    P(workflow_disabled, 409, "Workflow is disabled")                                              \
    P(last_administrator, 409, "The last administrator must stay")                                 \
    P(identity_link_required, 409, "Identity must be linked first")                                \
    P(payments_not_configured, 409, "Payments are not configured")                                 \
    P(account_not_ready, 409, "The processor account cannot take payments yet")                    \
    P(payment_state, 409, "The payment is in another state")                                       \
    P(offer_unavailable, 409, "Offer is not available")                                            \
    P(idempotency_in_progress, 409, "A request with this idempotency key is in progress")          \
    P(too_many_rows, 409, "Too many rows are affected")                                            \
    P(lock_token_invalid, 409, "Lock token is invalid")                                            \
    P(not_locked, 409, "Not locked")                                                               \
    /* 411-431: conditions, sizes, meaning */                                                      \
    P(length_required, 411, "Length is required")                                                  \
    P(precondition_failed, 412, "Precondition failed")                                             \
    P(payload_too_large, 413, "Payload is too large")                                              \
    P(uri_too_long, 414, "URI is too long")                                                        \
    P(unsupported_media_type, 415, "Unsupported media type")                                       \
    P(expectation_failed, 417, "Expectation failed")                                               \
    P(unprocessable, 422, "Unprocessable")                                                         \
    P(idempotency_mismatch, 422, "Idempotency key was used with another request")                  \
    P(locked, 423, "Locked")                                                                       \
    P(precondition_required, 428, "Precondition is required")                                      \
    P(rate_limited, 429, "Too many requests")                                                      \
    P(headers_too_large, 431, "Header fields are too large")                                       \
    /* 500: the service and what it depends on */                                                  \
    P(internal, 500, "Internal error")                                                             \
    P(provider_error, 502, "Provider answered with an error")                                      \
    P(dependency_unavailable, 503, "A dependency is unavailable")                                  \
    P(too_many_requests_in_flight, 503, "Too many requests in flight")                             \
    P(service_draining, 503, "Service is shutting down")                                           \
    P(outcome_unknown, 503, "Outcome is unknown")                                                  \
    P(timeout, 504, "Timed out")                                                                   \
    P(storage_full, 507, "Storage is full")
/* clang-format on */

static const struct problem problems[] = {
#define P(code, status, title) {#code, status, title},
    PROBLEMS(P)
#undef P
        {NULL, 0, NULL},
};

/* Standard reason phrases (RFC 9110 section 15 and the IANA registry), for answers without a
 * code. */
static const struct {
    int status;
    const char *title;
} status_titles[] = {
    {100, "Continue"},
    {101, "Switching Protocols"},
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {206, "Partial Content"},
    {301, "Moved Permanently"},
    {302, "Found"},
    {303, "See Other"},
    {304, "Not Modified"},
    {307, "Temporary Redirect"},
    {308, "Permanent Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {402, "Payment Required"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {411, "Length Required"},
    {412, "Precondition Failed"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {416, "Range Not Satisfiable"},
    {417, "Expectation Failed"},
    {421, "Misdirected Request"},
    {422, "Unprocessable Content"},
    {423, "Locked"},
    {424, "Failed Dependency"},
    {426, "Upgrade Required"},
    {428, "Precondition Required"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
    {507, "Insufficient Storage"},
};

/* Code to problem; built once, only read afterwards. */
static struct map *by_code;
static pthread_once_t by_code_once = PTHREAD_ONCE_INIT;

static void by_code_build(void)
{
    by_code = map_new();
    for (const struct problem *it = problems; it->code != NULL; it++) {
        void *before = map_put(by_code, str_from(it->code), (void *)it);
        MUST(before == NULL);
    }
}

const struct problem *problem_find(const char *code)
{
    pthread_once(&by_code_once, by_code_build);
    const struct problem *problem = map_get(by_code, str_from(code));
    if (problem == NULL)
        PANIC("error code \"%s\" is not in the catalog", code);
    return problem;
}

const struct problem *problem_all(void)
{
    return problems;
}

/* Ours, as GoTrue names it, and as RFC 6749 does (NULL: by its status). */
static const struct {
    const char *code, *sign_in, *oauth;
} foreign[] = {
    {"invalid_credentials", "invalid_credentials", "invalid_grant"},
    {"email_not_confirmed", "email_not_confirmed", "invalid_grant"},
    {"user_suspended", "user_banned", "invalid_grant"},
    {"refresh_token_invalid", "refresh_token_not_found", "invalid_grant"},
    {"refresh_token_reused", "refresh_token_already_used", "invalid_grant"},
    {"session_expired", "session_expired", "invalid_grant"},
    {"signup_disabled", "signup_disabled", "access_denied"},
    {"flow_state_invalid", "flow_state_not_found", "invalid_grant"},
    {"rate_limited", "over_request_rate_limit", "temporarily_unavailable"},
    {"unauthorized", "no_authorization", "invalid_request"},
    {"token_invalid", "bad_jwt", "invalid_token"},
    {"token_expired", "bad_jwt", "invalid_token"},
    {"internal", "unexpected_failure", "server_error"},
    {"timeout", "request_timeout", "temporarily_unavailable"},
};

const char *problem_sign_in_code(const char *code)
{
    for (size_t i = 0; i < ARRAY_LEN(foreign); i++)
        if (strcmp(foreign[i].code, code) == 0)
            return foreign[i].sign_in;
    return code;
}

const char *problem_oauth_code(const struct problem *problem)
{
    for (size_t i = 0; i < ARRAY_LEN(foreign); i++)
        if (strcmp(foreign[i].code, problem->code) == 0)
            return foreign[i].oauth;
    if (problem->status >= 500)
        return problem->status == 503 ? "temporarily_unavailable" : "server_error";
    return problem->status == 403 ? "access_denied" : "invalid_request";
}

const char *problem_status_title(int status)
{
    for (size_t i = 0; i < ARRAY_LEN(status_titles); i++)
        if (status_titles[i].status == status)
            return status_titles[i].title;
    return status >= 500 ? "Server error" : status >= 400 ? "Client error" : "Success";
}
