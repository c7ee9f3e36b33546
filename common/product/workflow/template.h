#pragma once
/*
 * Templates of workflow parameters: "{{ $svc.trigger.data.items[0].name }}" in texts, and
 * references without braces in conditions. A parsed reference is immutable and borrows from its
 * text and its arena; evaluating it reads a context of JSON values. Results are never scanned
 * again: "{{" in data stays text.
 *
 * Reference: $svc . root, roots are trigger, steps, secrets, workflow, job (secrets only where
 * allowed; steps need a key, secrets exactly a name); then .name (letters, digits, _ and -), ["any
 * name"] (\" and \\ are escapes), [n] (n >= 0; negative is refused), [*] (every item: the result is
 * one flat array of what follows, also of several [*]; an item without it is an error). At most 64
 * parts. A text that is one expression and nothing else keeps the value's JSON type; within other
 * text, texts are inserted as they are, numbers and booleans as JSON prints them, null as nothing,
 * objects and arrays as compact JSON. "{{" without "}}" and anything but a reference between them
 * is a syntax error. $svc.trigger.data is an empty object when the trigger had no payload; where it
 * is template_no_payload(), whatever is asked of it is null.
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
    56 /* of the result: what is stored around it must stay readable (JR_MAX_DEPTH) */

/* A secret by name: its value, or STR_NONE when there is none. Called during evaluation. */
typedef struct str (*template_secret_fn)(struct str name, void *arg);

struct template_context {
    const json_t *root; /* {"trigger": {...}, "steps": {...}, "workflow": {...}, "job": {...}} */
    template_secret_fn secret; /* NULL: secrets are forbidden here */
    void *secret_arg;
    bool html;   /* what is inserted is escaped for HTML; the result is a text */
    bool by_row; /* the first [*] of a reference means [row]: one item instead of all */
    size_t row;
};

/* any: parses a reference without braces ("$svc.trigger.id"), surrounding blanks allowed. Borrows
 * `text`. 0 or TEMPLATE_SYNTAX with *ret_error. */
int reference_parse(struct arena *arena,
                    struct str text,
                    struct reference **ret_reference,
                    struct str *ret_error) MUSTCHECK;
/* any: parses a bare path ("data.items[0].name", "[0]"): parts as those of a reference, looked up
 * in the value that is context->root at evaluation (results_path of CallAnApi). 0 or
 * TEMPLATE_SYNTAX. */
int reference_parse_path(struct arena *arena,
                         struct str text,
                         struct reference **ret_reference,
                         struct str *ret_error) MUSTCHECK;
/* any: *ret_value borrows from the context (or is arena-owned for [*] and secrets). 0,
 * TEMPLATE_UNRESOLVED, TEMPLATE_FORBIDDEN, or TEMPLATE_TOO_LARGE ([*] over more than a million
 * items). */
int reference_eval(struct arena *arena,
                   const struct reference *reference,
                   const struct template_context *context,
                   json_t **ret_value,
                   struct str *ret_error) MUSTCHECK;

/* any: a JSON value with every text in it (member values, not names) evaluated, at any depth.
 * Values without templates are shared, not copied: the result lives as long as the arena, `value`
 * and the context. 0, or an enum template_result with *ret_error, which names the expression and
 * the member path. Parses each text as it goes:
 * "{{" may come from the workflow's author only, never from data. */
int template_eval(struct arena *arena,
                  const json_t *value,
                  const struct template_context *context,
                  json_t **ret_value,
                  struct str *ret_error) MUSTCHECK;

/* any: the data of a trigger that never has a payload, or was started without one: an empty object
 * of which every member is null. Borrowed, lives as long as the process. */
json_t *template_no_payload(void);

/* any: how many items the first [*] of each reference in a value has to walk: what context->row
 * counts up to. They must agree. SIZE_MAX = there is no [*]. 0, TEMPLATE_SYNTAX, or
 * TEMPLATE_UNRESOLVED with *ret_error. */
int template_rows(struct arena *arena,
                  const json_t *value,
                  const struct template_context *context,
                  size_t *ret_rows,
                  struct str *ret_error) MUSTCHECK;

/* What a value refers to, for checks at save time. Called once per expression; non-zero stops and
 * is returned. */
struct reference_view {
    struct str root;  /* "trigger", "steps", "secrets", ... */
    struct str first; /* the part after it: step key, secret name, "data"; empty = none */
    struct str text;  /* as written */
    struct str place; /* member path of the text it stands in, "body.items[2]"; arena-owned, empty
                         for the value itself */
    bool wildcard;    /* has [*] */
};
typedef int (*template_visit_fn)(const struct reference_view *view, void *arg);
/* any: walks a JSON value. 0, what visit returned (not TEMPLATE_SYNTAX), or TEMPLATE_SYNTAX with
 * *ret_place (as in the view) and *ret_error. `braces` false: the whole text is a reference (a
 * value that is no text has none). */
int template_visit(struct arena *arena,
                   const json_t *value,
                   bool braces,
                   template_visit_fn visit,
                   void *arg,
                   struct str *ret_place,
                   struct str *ret_error);
