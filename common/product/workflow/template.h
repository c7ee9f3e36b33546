#pragma once
/*
 * Templates of workflow parameters: "{{ $svc.trigger.data.items[0].name }}" in texts, and
 * references without braces in conditions. A parsed reference is immutable and borrows from its
 * text and its arena. Evaluation reads a context of JSON values. Results are never scanned again:
 * "{{" in data stays text.
 *
 * A reference is $svc, a dot, a root, and further parts, at most 64 in all. Roots are trigger,
 * steps, secrets (only where allowed), workflow and job. A step key must follow steps, and exactly
 * one name must follow secrets. Parts:
 *  - .name (letters, digits, _ and -)
 *  - ["any name"] (\" and \\ are escapes)
 *  - [n] (n >= 0; negative is refused)
 *  - [*] (every item: the result is one flat array of what the following parts lead to, also with
 *    several [*]; an item without these parts is an error)
 *
 * A text that is one expression and nothing else keeps the value's JSON type. Within other text,
 * texts are inserted as they are, numbers and booleans as JSON prints them, null as nothing,
 * objects and arrays as compact JSON. "{{" without "}}", and anything but a reference between them,
 * is a syntax error. $svc.trigger.data is an empty object when the trigger had no payload. Where
 * the data is template_no_payload(), every reference into it is null.
 */
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/result.h"
#include "base/str.h"

struct reference; /* one parsed $svc... */

#define TEMPLATE_MAX_BYTES 1048576 /* of the result as JSON, without escapes */
#define TEMPLATE_MAX_DEPTH                                                                         \
    56 /* of the result: leaves room for the stored document around it (JR_MAX_DEPTH) */

/* Returns the value of a secret, or STR_NONE when there is no such secret. Called during
 * evaluation. */
typedef struct str (*template_secret_fn)(struct str name, void *arg);

struct template_context {
    const json_t *root; /* {"trigger": {...}, "steps": {...}, "workflow": {...}, "job": {...}} */
    template_secret_fn secret; /* NULL: secrets are forbidden here */
    void *secret_arg;
    bool html;   /* inserted values are escaped for HTML; the result is always a text */
    bool by_row; /* the first [*] of a reference means [row]: one item instead of all */
    size_t row;
};

/* any: Parses a reference without braces ("$svc.trigger.id"); surrounding blanks are allowed.
 * *ret_reference is arena-owned and borrows `text`. Returns 0, or TEMPLATE_SYNTAX with
 * *ret_error. */
int reference_parse(struct arena *arena,
                    struct str text,
                    struct reference **ret_reference,
                    struct str *ret_error) MUSTCHECK;
/* any: Parses a bare path ("data.items[0].name", "[0]") with the same parts as a reference.
 * Evaluation looks the path up in the value context->root (results_path of CallAnApi).
 * *ret_reference is arena-owned and borrows `text`. Returns 0, or TEMPLATE_SYNTAX with
 * *ret_error. */
int reference_parse_path(struct arena *arena,
                         struct str text,
                         struct reference **ret_reference,
                         struct str *ret_error) MUSTCHECK;
/* any: Looks a reference up in the context. *ret_value borrows from the context, or is arena-owned
 * (for [*] and secrets). Returns 0, or with *ret_error TEMPLATE_UNRESOLVED, TEMPLATE_FORBIDDEN, or
 * TEMPLATE_TOO_LARGE ([*] over more than a million items). */
int reference_eval(struct arena *arena,
                   const struct reference *reference,
                   const struct template_context *context,
                   json_t **ret_value,
                   struct str *ret_error) MUSTCHECK;

/* any: Evaluates every text of a JSON value (member values, not names) at any depth. Values without
 * templates are shared, not copied: the result lives as long as the arena, `value` and the context.
 * Returns 0, or a TEMPLATE_* result with *ret_error, which names the expression and the member
 * path. Parses each text during evaluation: "{{" may come from the workflow's author only, never
 * from data. */
int template_eval(struct arena *arena,
                  const json_t *value,
                  const struct template_context *context,
                  json_t **ret_value,
                  struct str *ret_error) MUSTCHECK;

/* any: Returns the data of a trigger that never has a payload or was started without one: an empty
 * object, in which every reference resolves to null. Borrowed; lives as long as the process. */
json_t *template_no_payload(void);

/* any: Counts the items that the first [*] of each reference in a value expands: the number of rows
 * for context->row. All references must agree. *ret_rows is SIZE_MAX when no reference has [*].
 * Returns 0, or TEMPLATE_SYNTAX or TEMPLATE_UNRESOLVED with *ret_error. */
int template_rows(struct arena *arena,
                  const json_t *value,
                  const struct template_context *context,
                  size_t *ret_rows,
                  struct str *ret_error) MUSTCHECK;

/* A reference within a value, for checks when a workflow is saved. */
struct reference_view {
    struct str root; /* "trigger", "steps", "secrets", ... */
    struct str
        second_part;   /* the part after the root: step key, secret name, "data"; empty = none */
    struct str text;   /* as written */
    struct str path;   /* member path of the text that has the reference, "body.items[2]";
                           arena-owned, empty for the value itself */
    bool has_wildcard; /* has [*] */
};
/* Called once per expression. A non-zero result stops the walk and is returned. */
typedef int (*template_visit_fn)(const struct reference_view *view, void *arg);
/* any: Calls `visit` for each reference in a JSON value. Returns 0, the result of `visit` (not
 * TEMPLATE_SYNTAX), or TEMPLATE_SYNTAX with *ret_place (as reference_view.path) and *ret_error.
 * Without `braces`, the whole text is a reference, and a value that is not a text has none. */
int template_visit(struct arena *arena,
                   const json_t *value,
                   bool braces,
                   template_visit_fn visit,
                   void *arg,
                   struct str *ret_place,
                   struct str *ret_error);
