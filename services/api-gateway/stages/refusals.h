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

/* name, code of catalog/problem.c, when */
/* clang-format off */
#define REFUSALS(R)                                                                                \
    /* the server, before there is a route */                                                      \
    R(NO_ROUTE, "route_not_found", WHEN_NO_ROUTE)                                                  \
    R(BAD_PATH, "bad_request", WHEN_NO_ROUTE)                                                      \
    R(METHOD, "method_not_allowed", WHEN_NO_ROUTE)                                                 \
    R(EXPECTATION, "expectation_failed", WHEN_NO_ROUTE)                                            \
    R(MALFORMED, "bad_request", WHEN_ALWAYS)                                                       \
    R(TARGET_LONG, "uri_too_long", WHEN_ALWAYS)                                                    \
    R(HEAD_LARGE, "headers_too_large", WHEN_ALWAYS)                                                \
    R(HEAD_SLOW, "request_timeout", WHEN_ALWAYS)                                                   \
    R(BUSY, "too_many_requests_in_flight", WHEN_ALWAYS)                                            \
    /* the stages */                                                                               \
    R(PROJECT_UNKNOWN, "not_found", WHEN_PROJECT)                                                  \
    R(PROJECT_AWAY, "dependency_unavailable", WHEN_PROJECT)                                        \
    R(PROJECT_BUSY, "too_many_requests_in_flight", WHEN_PROJECT)                                   \
    R(CREDENTIALS_TWICE, "bad_request", WHEN_CREDENTIALS)                                          \
    R(CREDENTIALS, "unauthorized", WHEN_CREDENTIALS)                                               \
    R(TOKEN, "token_invalid", WHEN_CREDENTIALS)                                                    \
    R(TOKEN_EXPIRED, "token_expired", WHEN_CREDENTIALS)                                            \
    R(GROUP_ID, "bad_request", WHEN_CREDENTIALS)                                                   \
    R(FORBIDDEN, "forbidden", WHEN_CREDENTIALS)                                                    \
    R(ADMIN, "admin_required", WHEN_CREDENTIALS)                                                   \
    R(API_ACCESS, "api_access_disabled", WHEN_CREDENTIALS)                                         \
    R(RATE, "rate_limited", WHEN_PROJECT)                                                          \
    R(OPERATOR_ROUTE, "route_not_found", WHEN_OPERATOR)                                            \
    R(OPERATOR_TOKEN, "unauthorized", WHEN_OPERATOR)                                               \
    /* what handlers share: app/reply.h */                                                         \
    R(QUERY, "invalid_query", WHEN_ALWAYS)                                                         \
    R(BODY_LARGE, "payload_too_large", WHEN_BODY)                                                  \
    R(BODY_TYPE, "unsupported_media_type", WHEN_BODY)                                              \
    R(STALE, "precondition_failed", WHEN_IF_MATCH)                                                 \
    R(LOCKED, "locked", WHEN_LOCK_TOKEN)                                                           \
    R(REPEATED, "idempotency_in_progress", WHEN_IDEMPOTENT)                                        \
    R(REPEATED_OTHERWISE, "idempotency_mismatch", WHEN_IDEMPOTENT)                                 \
    R(INTERNAL, "internal", WHEN_ALWAYS)                                                           \
    R(AWAY, "dependency_unavailable", WHEN_ALWAYS)                                                 \
    R(TIMEOUT, "timeout", WHEN_ALWAYS)
/* clang-format on */

enum refusal {
#define REFUSAL_NAME(name, code, when) REFUSE_##name,
    REFUSALS(REFUSAL_NAME)
#undef REFUSAL_NAME
};

/* any: the answer; its status. `detail` is a format or NULL. */
int refusal(struct req *r, enum refusal why, const char *detail, ...) PRINTF_LIKE(3, 4);

/* Statuses that a route may answer with besides route.ok, ascending, each once: those of the table
 * and the route's own. */
#define REFUSAL_STATUSES_MAX 48
size_t refusal_statuses(const struct route *route, int ret[REFUSAL_STATUSES_MAX]);
