#pragma once
/*
 * Conditions of workflow steps and trigger filters.
 *
 *   {"all": [{"field": "$svc.trigger.data.total", "op": "gt", "value": 100},
 *            {"any": [{"field": "$svc.steps.find.data", "op": "not_empty"}, ...]}]}
 *
 * A condition is a group or a single comparison. A group has exactly one of "all" and "any", with 1
 * to 50 members. Groups nest up to 5 deep. Operators: eq ne gt gte lt lte in nin contains
 * not_contains starts_with ends_with empty not_empty exists not_exists between, and matches_any_of,
 * which means in. "value" is a JSON value or a reference text ("$svc...."), and so is each item of
 * a list. empty, not_empty, exists and not_exists take no value.
 *
 * eq: values of different types are never equal, with two exceptions. An integer equals a real of
 * the same number, and a number equals a text that is exactly that number in JSON (form data). gt,
 * gte, lt, lte and between (which includes both ends) compare two numbers, a number with a text
 * that is a number, or two texts byte by byte (RFC 3339 times in UTC sort as texts). For any other
 * pair they are false. contains: an item of a list, a part of a text, or a member name of an
 * object. empty: null, absent, "", [] or {}. eq and ne with null test for null or absence. ne, nin,
 * not_contains, not_empty and not_exists are the exact opposites of eq, in, contains, empty and
 * exists. Members of a group are evaluated in order until the result is certain.
 *
 * A reference that does not resolve fails the step. Exceptions are a "field" under exists,
 * not_exists, empty and not_empty, and under eq and ne with null. With plain names of one object
 * (`fields`), an absent member counts as null, and only exists and not_exists distinguish the two.
 */
#include <jansson.h>

#include "workflow/template.h"

struct condition; /* a parsed condition, arena-owned */

/* any: Parses a condition. *ret_condition is arena-owned and borrows from `value`. With `fields`,
 * "field" is the plain name of a member of one object (trigger filters: {"field": "action_id",
 * "op": "eq", "value": "yes"}) and "value" must not be a reference. Without `fields`, "field" is a
 * reference without braces. Returns 0, or TEMPLATE_SYNTAX with *ret_error and *ret_path, the place
 * of the error ("all[1].op", empty for the whole condition). */
int condition_parse(struct arena *arena,
                    const json_t *value,
                    bool fields,
                    struct condition **ret_condition,
                    struct str *ret_path,
                    struct str *ret_error) MUSTCHECK;
/* any: Evaluates a condition. Resolves references in `context`. With `fields`, context->root is the
 * object that has the named members. Returns 0 with *ret_holds, or TEMPLATE_UNRESOLVED,
 * TEMPLATE_FORBIDDEN or TEMPLATE_TOO_LARGE with *ret_error. */
int condition_eval(struct arena *arena,
                   const struct condition *condition,
                   const struct template_context *context,
                   bool *ret_holds,
                   struct str *ret_error) MUSTCHECK;
/* any: Calls `visit` for every reference of the condition, or with `fields` for every name (the
 * view has an empty root and the name as its text). The view's `path` is the member path within the
 * condition. Stops at the first non-zero result of `visit` and returns that result, else 0. */
int condition_visit(const struct condition *condition, template_visit_fn visit, void *arg);
