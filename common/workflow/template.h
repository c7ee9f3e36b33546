#pragma once
/*
 * Templates of workflow parameters: "{{ $svc.trigger.data.items[0].name }}" in texts, and references
 * without braces in conditions. A parsed template is immutable and borrows from its arena; evaluating it
 * reads a context of JSON values. Results are never scanned again.
 *
 * Reference: $svc . root, roots are trigger, steps, secrets, workflow, job (secrets only where allowed);
 * then .name (letters, digits, _ and -), ["any name"], [n] (n >= 0; negative is refused), [*] (every item:
 * the result is an array of what follows, items without it are an error). At most 64 parts.
 * A text that is one expression and nothing else keeps the value's JSON type; within other text, texts are
 * inserted as they are, numbers and booleans as JSON prints them, null as nothing, objects and arrays as
 * compact JSON. "{{" without "}}" and anything but a reference between them is a syntax error.
 */
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/rc.h"
#include "base/str.h"

struct reference; /* one parsed $svc... */

enum template_result {
    TEMPLATE_SYNTAX = 1,     /* ret_error tells where */
    TEMPLATE_UNRESOLVED,     /* the value does not exist: "$svc.steps.find.data[0].id does not resolve: data has 0 items" */
    TEMPLATE_FORBIDDEN,      /* secrets where they are not allowed */
    TEMPLATE_TOO_LARGE,      /* the result exceeds TEMPLATE_MAX_BYTES */
};
#define TEMPLATE_MAX_BYTES 1048576

/* A secret by name: its value, or STR_NONE when there is none. Called during evaluation. */
typedef struct str (*template_secret_fn)(struct str name, void *arg);

struct template_context {
    const json_t *root;          /* {"trigger": {...}, "steps": {...}, "workflow": {...}, "job": {...}} */
    template_secret_fn secret;   /* NULL: secrets are forbidden here */
    void *secret_arg;
};

/* any: parses a reference without braces ("$svc.trigger.id"), surrounding blanks allowed.
 * 0 or TEMPLATE_SYNTAX with *ret_error. */
int reference_parse(struct arena *arena, struct str text, struct reference **ret_reference, struct str *ret_error) MUSTCHECK;
/* any: *ret_value borrows from the context (or is arena-owned for [*] and secrets). 0, TEMPLATE_UNRESOLVED, TEMPLATE_FORBIDDEN. */
int reference_eval(struct arena *arena, const struct reference *reference, const struct template_context *context,
                   json_t **ret_value, struct str *ret_error) MUSTCHECK;

/* any: a JSON value with every text in it (member values, not names) evaluated, at any depth. Values without
 * templates are shared, not copied. The result is arena-owned. 0, or an enum template_result with *ret_error,
 * which names the expression and the member path. Parses each text as it goes: "{{" may come from the
 * workflow's author only, never from data. */
int template_eval(struct arena *arena, const json_t *value, const struct template_context *context,
                  json_t **ret_value, struct str *ret_error) MUSTCHECK;

/* What a value refers to, for checks at save time. Called once per expression; non-zero stops and is returned. */
struct reference_view {
    struct str root;      /* "trigger", "steps", "secrets", ... */
    struct str first;     /* the part after it: step key, secret name, "data"; empty = none */
    struct str text;      /* as written */
    bool wildcard;        /* has [*] */
};
typedef int (*template_visit_fn)(const struct reference_view *view, void *arg);
/* any: walks a JSON value. 0, TEMPLATE_SYNTAX, or what visit returned. `braces` false: the whole text is a reference. */
int template_visit(struct arena *arena, const json_t *value, bool braces, template_visit_fn visit, void *arg,
                   struct str *ret_error) MUSTCHECK;
