/* Problem tables, generated from problem.def. */
#include "catalog/problem.h"

#include <pthread.h>
#include <stddef.h>

#include "base/map.h"
#include "base/panic.h"
#include "base/result.h"

static const struct problem_info infos[PROBLEM_COUNT] = {
#define PROBLEM(constant, code, status, title) [constant] = {code, status, title},
#define FAILURE(constant, code)                [constant] = {code, 0, NULL},
#include "catalog/problem.def"
#undef FAILURE
#undef PROBLEM
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

/* Maps codes to infos. The map is built once and then only read. */
static struct map *by_code;
static pthread_once_t by_code_once = PTHREAD_ONCE_INIT;

static void by_code_build(void)
{
    by_code = map_new();
    for (size_t i = 1; i < ARRAY_LEN(infos); i++) {
        void *before = map_put(by_code, str_from(infos[i].code), (void *)&infos[i]);
        MUST(before == NULL);
    }
}

const struct problem_info *problem_info(enum problem problem)
{
    MUST(problem > PROBLEM_NONE && problem < PROBLEM_COUNT);
    return &infos[problem];
}

const char *problem_code(enum problem problem)
{
    return problem_info(problem)->code;
}

enum problem problem_find(const char *code)
{
    pthread_once(&by_code_once, by_code_build);
    const struct problem_info *info = code != NULL ? map_get(by_code, str_from(code)) : NULL;
    return info ? (enum problem)(info - infos) : PROBLEM_NONE;
}

/* A problem, GoTrue's code for it, and the OAuth error for it. */
static const struct {
    enum problem problem;
    const char *sign_in, *oauth;
} foreign[] = {
    {PROBLEM_INVALID_CREDENTIALS, "invalid_credentials", "invalid_grant"},
    {PROBLEM_EMAIL_NOT_CONFIRMED, "email_not_confirmed", "invalid_grant"},
    {PROBLEM_USER_SUSPENDED, "user_banned", "invalid_grant"},
    {PROBLEM_REFRESH_TOKEN_INVALID, "refresh_token_not_found", "invalid_grant"},
    {PROBLEM_REFRESH_TOKEN_REUSED, "refresh_token_already_used", "invalid_grant"},
    {PROBLEM_SESSION_EXPIRED, "session_expired", "invalid_grant"},
    {PROBLEM_SIGNUP_DISABLED, "signup_disabled", "access_denied"},
    {PROBLEM_FLOW_STATE_INVALID, "flow_state_not_found", "invalid_grant"},
    {PROBLEM_RATE_LIMITED, "over_request_rate_limit", "temporarily_unavailable"},
    {PROBLEM_UNAUTHORIZED, "no_authorization", "invalid_request"},
    {PROBLEM_TOKEN_INVALID, "bad_jwt", "invalid_token"},
    {PROBLEM_TOKEN_EXPIRED, "bad_jwt", "invalid_token"},
    {PROBLEM_INTERNAL, "unexpected_failure", "server_error"},
    {PROBLEM_TIMEOUT, "request_timeout", "temporarily_unavailable"},
};

const char *problem_sign_in_code(enum problem problem)
{
    for (size_t i = 0; i < ARRAY_LEN(foreign); i++)
        if (foreign[i].problem == problem)
            return foreign[i].sign_in;
    return problem_code(problem);
}

const char *problem_oauth_code(enum problem problem)
{
    int status = problem_info(problem)->status;

    for (size_t i = 0; i < ARRAY_LEN(foreign); i++)
        if (foreign[i].problem == problem)
            return foreign[i].oauth;
    if (status >= 500)
        return status == 503 ? "temporarily_unavailable" : "server_error";
    return status == 403 ? "access_denied" : "invalid_request";
}

const char *problem_status_title(int status)
{
    for (size_t i = 0; i < ARRAY_LEN(status_titles); i++)
        if (status_titles[i].status == status)
            return status_titles[i].title;
    return status >= 500 ? "Server error" : status >= 400 ? "Client error" : "Success";
}
