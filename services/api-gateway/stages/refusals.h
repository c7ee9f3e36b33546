#pragma once
/*
 * What a request may be refused with before, beside and after its handler: one table, which the
 * stages answer from and the documents of GET /docs read. A route names only what its own handler
 * adds (route.ok and route.fails).
 */
#include "app.h"

/* Which routes a refusal belongs to. */
enum refusal_when {
    WHEN_NO_ROUTE, /* there is none yet, so no operation has it */
    WHEN_ALWAYS,
    WHEN_PROJECT,     /* inside a project */
    WHEN_BODY,        /* a body is read */
    WHEN_CREDENTIALS, /* credentials are looked at */
    WHEN_OPERATOR,    /* the operator's API */
    WHEN_IF_MATCH,    /* bits of route.headers */
    WHEN_IF_NONE_MATCH,
    WHEN_LOCK_TOKEN,
    WHEN_IDEMPOTENT,
};

/* name, problem, when */
/* clang-format off */
#define REFUSALS(R)                                                                                \
    /* the server, before there is a route */                                                      \
    R(NO_ROUTE, PROBLEM_ROUTE_NOT_FOUND, WHEN_NO_ROUTE)                                                  \
    R(BAD_PATH, PROBLEM_BAD_REQUEST, WHEN_NO_ROUTE)                                                      \
    R(METHOD, PROBLEM_METHOD_NOT_ALLOWED, WHEN_NO_ROUTE)                                                 \
    R(EXPECTATION, PROBLEM_EXPECTATION_FAILED, WHEN_NO_ROUTE)                                            \
    R(MALFORMED, PROBLEM_BAD_REQUEST, WHEN_ALWAYS)                                                       \
    R(TARGET_LONG, PROBLEM_URI_TOO_LONG, WHEN_ALWAYS)                                                    \
    R(HEAD_LARGE, PROBLEM_HEADERS_TOO_LARGE, WHEN_ALWAYS)                                                \
    R(HEAD_SLOW, PROBLEM_REQUEST_TIMEOUT, WHEN_ALWAYS)                                                   \
    R(BUSY, PROBLEM_TOO_MANY_REQUESTS_IN_FLIGHT, WHEN_ALWAYS)                                            \
    /* the stages */                                                                               \
    R(PROJECT_UNKNOWN, PROBLEM_NOT_FOUND, WHEN_PROJECT)                                                  \
    R(PROJECT_AWAY, PROBLEM_DEPENDENCY_UNAVAILABLE, WHEN_PROJECT)                                        \
    R(PROJECT_BUSY, PROBLEM_TOO_MANY_REQUESTS_IN_FLIGHT, WHEN_PROJECT)                                   \
    R(CREDENTIALS_TWICE, PROBLEM_BAD_REQUEST, WHEN_CREDENTIALS)                                          \
    R(CREDENTIALS, PROBLEM_UNAUTHORIZED, WHEN_CREDENTIALS)                                               \
    R(TOKEN, PROBLEM_TOKEN_INVALID, WHEN_CREDENTIALS)                                                    \
    R(TOKEN_EXPIRED, PROBLEM_TOKEN_EXPIRED, WHEN_CREDENTIALS)                                            \
    R(GROUP_ID, PROBLEM_BAD_REQUEST, WHEN_CREDENTIALS)                                                   \
    R(FORBIDDEN, PROBLEM_FORBIDDEN, WHEN_CREDENTIALS)                                                    \
    R(ADMIN, PROBLEM_ADMIN_REQUIRED, WHEN_CREDENTIALS)                                                   \
    R(API_ACCESS, PROBLEM_API_ACCESS_DISABLED, WHEN_CREDENTIALS)                                         \
    R(RATE, PROBLEM_RATE_LIMITED, WHEN_PROJECT)                                                          \
    R(OPERATOR_ROUTE, PROBLEM_ROUTE_NOT_FOUND, WHEN_OPERATOR)                                            \
    R(OPERATOR_TOKEN, PROBLEM_UNAUTHORIZED, WHEN_OPERATOR)                                               \
    /* what handlers share: app/reply.h */                                                         \
    R(QUERY, PROBLEM_INVALID_QUERY, WHEN_ALWAYS)                                                         \
    R(BODY_LARGE, PROBLEM_PAYLOAD_TOO_LARGE, WHEN_BODY)                                                  \
    R(BODY_TYPE, PROBLEM_UNSUPPORTED_MEDIA_TYPE, WHEN_BODY)                                              \
    R(STALE, PROBLEM_PRECONDITION_FAILED, WHEN_IF_MATCH)                                                 \
    R(LOCKED, PROBLEM_LOCKED, WHEN_LOCK_TOKEN)                                                           \
    R(REPEATED, PROBLEM_IDEMPOTENCY_IN_PROGRESS, WHEN_IDEMPOTENT)                                        \
    R(REPEATED_OTHERWISE, PROBLEM_IDEMPOTENCY_MISMATCH, WHEN_IDEMPOTENT)                                 \
    R(INTERNAL, PROBLEM_INTERNAL, WHEN_ALWAYS)                                                           \
    R(AWAY, PROBLEM_DEPENDENCY_UNAVAILABLE, WHEN_ALWAYS)                                                 \
    R(TIMEOUT, PROBLEM_TIMEOUT, WHEN_ALWAYS)
/* clang-format on */

enum refusal {
#define REFUSAL_NAME(name, problem, when) REFUSE_##name,
    REFUSALS(REFUSAL_NAME)
#undef REFUSAL_NAME
};

/* any: the answer; its status. `detail` is a format or NULL. */
int refusal(struct req *r, enum refusal why, const char *detail, ...) PRINTF_LIKE(3, 4);

/* Statuses that a route may answer with besides route.ok, ascending, each once: those of the table
 * and the route's own. */
#define REFUSAL_STATUSES_MAX 48
size_t refusal_statuses(const struct route *route, int ret[REFUSAL_STATUSES_MAX]);
