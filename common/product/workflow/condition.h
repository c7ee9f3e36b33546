#pragma once
/*
 * Conditions of workflow steps and trigger filters.
 *
 *   {"all": [{"field": "$svc.trigger.data.total", "op": "gt", "value": 100},
 *            {"any": [{"field": "$svc.steps.find.data", "op": "not_empty"}, ...]}]}
 *
 * A group has exactly one of "all" and "any", with 1..50 members; groups nest up to 5 deep; a
 * single comparison may stand alone. Operators: eq ne gt gte lt lte in nin contains not_contains
 * starts_with ends_with empty not_empty exists not_exists between matches_any_of = in. "value" may
 * be a JSON value or a reference text ("$svc...."), also as an item of a list; empty, not_empty,
 * exists and not_exists take none.
 *
 * eq: values of different types are never equal except integer and real of the same number, and a
 * number against a text that is exactly that number in JSON (form data). gt, gte, lt, lte, between
 * (both ends included): two numbers, a number and a text that is one, or two texts byte by byte
 * (RFC 3339 times sort as texts); anything else does not hold. contains: an item of a list, a part
 * of a text, a member name of an object. empty: null, absent, "", [], {}. eq/ne with null ask for
 * null or absence. ne, nin, not_contains, not_empty, not_exists are the exact opposites. Members
 * are looked at in order, no further than needed.
 *
 * A reference that does not resolve fails the step, except under exists, not_exists, empty,
 * not_empty, and eq/ne null. With plain names of one object (`fields`) a member that is absent is
 * null, and only exists and not_exists tell the difference.
 */
#include <jansson.h>

#include "workflow/template.h"

struct condition; /* parsed, arena-owned */

/* any: 0, or TEMPLATE_SYNTAX with *ret_error and *ret_path ("all[1].op", empty for the whole). With
 * `fields`, names are plain member names of one object (trigger filters: {"field": "action_id",
 * "op": "eq", "value": "yes"}) and values are no references; else fields are references without
 * braces. Borrows from `value`. */
int condition_parse(struct arena *arena,
                    const json_t *value,
                    bool fields,
                    struct condition **ret_condition,
                    struct str *ret_path,
                    struct str *ret_error) MUSTCHECK;
/* any: context->root is what names are looked up in: for `fields` the object itself. 0 with
 * *ret_holds, or an enum template_result. */
int condition_eval(struct arena *arena,
                   const struct condition *condition,
                   const struct template_context *context,
                   bool *ret_holds,
                   struct str *ret_error) MUSTCHECK;
/* any: calls visit for every reference of it, or with `fields` for every name (root empty, the name
 * as text). The view's place is the member path within the condition. Non-zero stops and is
 * returned. */
int condition_visit(const struct condition *condition, template_visit_fn visit, void *arg);
