/* The table of refusals, and which of them apply to a route. */
#include "stages/refusals.h"

#include <stdarg.h>

#include "base/panic.h"
#include "catalog/problem.h"
#include "stages/conditional.h"

#define NOT_MODIFIED 304

static const struct {
    enum problem problem;
    enum refusal_when when;
} refusals[] = {
#define REFUSAL_ROW(name, problem, when) {PROBLEM_##problem, when},
    REFUSALS(REFUSAL_ROW)
#undef REFUSAL_ROW
};

int refusal(struct req *r, enum refusal why, const char *detail, ...)
{
    struct str text = STR_NONE;
    va_list args;

    if (detail) {
        va_start(args, detail);
        text = arena_vprintf(r->task.arena, detail, args);
        va_end(args);
    }
    return fail_with(r, refusals[why].problem, text, NULL);
}

enum problem refusal_problem(enum refusal why)
{
    return refusals[why].problem;
}

static bool refusal_applies(const struct route *route, enum refusal_when when)
{
    switch (when) {
    case WHEN_NO_ROUTE:
        return false;
    case WHEN_ALWAYS:
        return true;
    case WHEN_PROJECT:
        return route->auth != AUTH_OPERATOR;
    case WHEN_BODY:
        return route->body || route->body_type;
    case WHEN_CREDENTIALS:
        return route->auth != AUTH_PUBLIC && route->auth != AUTH_OPERATOR;
    case WHEN_OPERATOR:
        return route->auth == AUTH_OPERATOR;
    case WHEN_IF_MATCH:
        return conditional_headers(route) & HEADER_IF_MATCH;
    case WHEN_IF_NONE_MATCH:
        return conditional_headers(route) & HEADER_IF_NONE_MATCH;
    case WHEN_LOCK_TOKEN:
        return route->headers & HEADER_LOCK_TOKEN;
    case WHEN_IDEMPOTENT:
        return route->headers & HEADER_IDEMPOTENCY_KEY;
    }
    return false;
}

/* Inserts a status into the ascending list unless it is already there. Returns the new count. */
static size_t statuses_add(int *statuses, size_t count, int status)
{
    size_t at = count;

    while (at > 0 && statuses[at - 1] > status)
        at--;
    if (at > 0 && statuses[at - 1] == status)
        return count;
    MUST(count < REFUSAL_STATUSES_MAX);
    for (size_t i = count; i > at; i--)
        statuses[i] = statuses[i - 1];
    statuses[at] = status;
    return count + 1;
}

size_t refusal_statuses(const struct route *route, int ret[REFUSAL_STATUSES_MAX])
{
    size_t count = 0;

    for (size_t i = 0; i < ARRAY_LEN(refusals); i++) {
        if (refusal_applies(route, refusals[i].when))
            count = statuses_add(ret, count, problem_info(refusals[i].problem)->status);
    }
    if (refusal_applies(route, WHEN_IF_NONE_MATCH))
        count = statuses_add(ret, count, NOT_MODIFIED);
    for (size_t i = 0; i < ARRAY_LEN(route->extra_statuses); i++) {
        if (route->extra_statuses[i] && route->extra_statuses[i] != route->success.status)
            count = statuses_add(ret, count, route->extra_statuses[i]);
    }
    return count;
}
