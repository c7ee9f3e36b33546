#pragma once
/*
 * Conditions of workflow steps and trigger filters.
 *
 *   {"all": [{"field": "$svc.trigger.data.total", "op": "gt", "value": 100},
 *            {"any": [{"field": "$svc.steps.find.data", "op": "not_empty"}, ...]}]}
 *
 * A group has exactly one of "all" and "any", with 1..50 members; groups nest up to 5 deep; a single
 * comparison may stand alone. Operators: eq ne gt gte lt lte in nin contains not_contains starts_with ends_with
 * empty not_empty exists not_exists between matches_any_of = in. "value" may be a JSON value or a
 * reference text ("$svc...."). Values of different types are never equal except integer and real of the same
 * number, and a number against a text that is exactly that number in JSON (form data); gt.. compare
 * numbers, or texts (RFC 3339 times sort as texts). eq/ne with null ask for null or absence. A reference
 * that does not resolve fails the step, except under exists, not_exists, empty, not_empty, and eq/ne null.
 */
#include <jansson.h>

#include "workflow/template.h"

struct condition; /* parsed, arena-owned */

/* any: 0, or TEMPLATE_SYNTAX with *ret_error and *ret_path ("all[1].op"). With `fields` names are plain member names
 * of one object (trigger filters: {"field": "action_id", "op": "eq", "value": "yes"}), else references. */
int condition_parse(struct arena *arena, const json_t *value, bool fields, struct condition **ret_condition,
                    struct str *ret_path, struct str *ret_error) MUSTCHECK;
/* any: context->root is what names are looked up in: for `fields` the object itself. 0 with *ret_holds, or an enum
 * template_result. */
int condition_eval(struct arena *arena, const struct condition *condition, const struct template_context *context,
                   bool *ret_holds, struct str *ret_error) MUSTCHECK;
/* any: every reference of it, as template_visit(). */
int condition_visit(struct arena *arena, const struct condition *condition, template_visit_fn visit, void *arg,
                    struct str *ret_error) MUSTCHECK;
