#pragma once
/*
 * Refusals of requests outside of their handlers' own rules, in one table. The stages answer from
 * this table, and the documents of GET /docs read it. A route names only the statuses that its own
 * handler adds (route.success and route.extra_statuses).
 */
#include "app.h"

/* Which routes a refusal belongs to. */
enum refusal_when {
    WHEN_NO_ROUTE, /* no route has matched, so no operation has this refusal */
    WHEN_ALWAYS,
    WHEN_PROJECT,     /* inside a project */
    WHEN_BODY,        /* the route reads a body */
    WHEN_CREDENTIALS, /* the route checks credentials */
    WHEN_OPERATOR,    /* the operator's API */
    WHEN_IF_MATCH,    /* from here on: the route understands the header (route.headers) */
    WHEN_IF_NONE_MATCH,
    WHEN_LOCK_TOKEN,
    WHEN_IDEMPOTENT,
};

/* name, problem (of PROBLEM_...), when */
/* clang-format off */
#define REFUSALS(R)                                                                                \
    /* the HTTP server, before a route has matched */                                              \
    R(NO_ROUTE, ROUTE_NOT_FOUND, WHEN_NO_ROUTE)                                                    \
    R(BAD_PATH, BAD_REQUEST, WHEN_NO_ROUTE)                                                        \
    R(METHOD, METHOD_NOT_ALLOWED, WHEN_NO_ROUTE)                                                   \
    R(EXPECTATION, EXPECTATION_FAILED, WHEN_NO_ROUTE)                                              \
    R(MALFORMED, BAD_REQUEST, WHEN_ALWAYS)                                                         \
    R(TARGET_LONG, URI_TOO_LONG, WHEN_ALWAYS)                                                      \
    R(HEAD_LARGE, HEADERS_TOO_LARGE, WHEN_ALWAYS)                                                  \
    R(HEAD_SLOW, REQUEST_TIMEOUT, WHEN_ALWAYS)                                                     \
    R(BUSY, TOO_MANY_REQUESTS_IN_FLIGHT, WHEN_ALWAYS)                                              \
    /* the stages */                                                                               \
    R(PROJECT_UNKNOWN, NOT_FOUND, WHEN_PROJECT)                                                    \
    R(PROJECT_AWAY, DEPENDENCY_UNAVAILABLE, WHEN_PROJECT)                                          \
    R(PROJECT_BUSY, TOO_MANY_REQUESTS_IN_FLIGHT, WHEN_PROJECT)                                     \
    R(CREDENTIALS_TWICE, BAD_REQUEST, WHEN_CREDENTIALS)                                            \
    R(CREDENTIALS, UNAUTHORIZED, WHEN_CREDENTIALS)                                                 \
    R(TOKEN, TOKEN_INVALID, WHEN_CREDENTIALS)                                                      \
    R(TOKEN_EXPIRED, TOKEN_EXPIRED, WHEN_CREDENTIALS)                                              \
    R(GROUP_ID, BAD_REQUEST, WHEN_CREDENTIALS)                                                     \
    R(FORBIDDEN, FORBIDDEN, WHEN_CREDENTIALS)                                                      \
    R(ADMIN, ADMIN_REQUIRED, WHEN_CREDENTIALS)                                                     \
    R(API_ACCESS, API_ACCESS_DISABLED, WHEN_CREDENTIALS)                                           \
    R(RATE, RATE_LIMITED, WHEN_PROJECT)                                                            \
    R(OPERATOR_ROUTE, ROUTE_NOT_FOUND, WHEN_OPERATOR)                                              \
    R(OPERATOR_TOKEN, UNAUTHORIZED, WHEN_OPERATOR)                                                 \
    /* refusals that all handlers share: app/reply.h */                                            \
    R(QUERY, INVALID_QUERY, WHEN_ALWAYS)                                                           \
    R(BODY_LARGE, PAYLOAD_TOO_LARGE, WHEN_BODY)                                                    \
    R(BODY_TYPE, UNSUPPORTED_MEDIA_TYPE, WHEN_BODY)                                                \
    R(STALE, PRECONDITION_FAILED, WHEN_IF_MATCH)                                                   \
    R(LOCKED, LOCKED, WHEN_LOCK_TOKEN)                                                             \
    R(REPEATED, IDEMPOTENCY_IN_PROGRESS, WHEN_IDEMPOTENT)                                          \
    R(REPEATED_OTHERWISE, IDEMPOTENCY_MISMATCH, WHEN_IDEMPOTENT)                                   \
    R(INTERNAL, INTERNAL, WHEN_ALWAYS)                                                             \
    R(AWAY, DEPENDENCY_UNAVAILABLE, WHEN_ALWAYS)                                                   \
    R(TIMEOUT, TIMEOUT, WHEN_ALWAYS)
/* clang-format on */

enum refusal {
#define REFUSAL_NAME(name, problem, when) REFUSE_##name,
    REFUSALS(REFUSAL_NAME)
#undef REFUSAL_NAME
};

/* any: Puts the answer of a refusal and returns its status. `detail`: a printf format, or NULL. */
int refusal(struct req *r, enum refusal why, const char *detail, ...) PRINTF_LIKE(3, 4);

/* Returns the problem of a refusal. */
enum problem refusal_problem(enum refusal why);

#define REFUSAL_STATUSES_MAX 48
/* Lists the statuses that a route may answer with in addition to route.success, from the table and
 * from route.extra_statuses: in ascending order, each once. Returns their number. */
size_t refusal_statuses(const struct route *route, int ret[REFUSAL_STATUSES_MAX]);
