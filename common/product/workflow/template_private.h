#pragma once
/*
 * Internal to workflow/: parsed references, texts that are split into literals and expressions, and
 * the places of values for findings.
 */
#include "workflow/json_path_private.h"
#include "workflow/template.h"

#define REFERENCE_PARTS 64

enum reference_part_kind { PART_NAME, PART_INDEX, PART_ALL };

struct reference_part {
    enum reference_part_kind kind;
    struct str name;
    size_t index;
};

enum reference_root { ROOT_TRIGGER, ROOT_STEPS, ROOT_SECRETS, ROOT_WORKFLOW, ROOT_JOB, ROOT_NONE };

struct reference {
    struct str text;          /* as written, borrowed */
    enum reference_root root; /* ROOT_NONE: a bare path */
    bool has_wildcard;
    size_t count;
    struct reference_part *parts; /* begins with the root, except in a bare path */
};

/* any: Reads a reference from the start of *rest and removes it there. Returns 0 or
 * TEMPLATE_SYNTAX. */
int reference_scan(struct arena *arena,
                   struct str *rest,
                   struct reference **ret_reference,
                   struct str *ret_error) MUSTCHECK;
/* As reference_eval(), but subtracts the items that [*] expands from *left, so that the cost of
 * many expressions together is limited. TEMPLATE_TOO_LARGE when *left is too small. */
#define TEMPLATE_MAX_ITEMS 1000000
int reference_find(struct arena *arena,
                   const struct reference *reference,
                   const struct template_context *context,
                   size_t *left,
                   json_t **ret_value,
                   struct str *ret_error) MUSTCHECK;
/* Counts the items that the first [*] expands. Returns 0 or TEMPLATE_UNRESOLVED. */
int reference_rows(struct arena *arena,
                   const struct reference *reference,
                   const struct template_context *context,
                   size_t *ret_rows,
                   struct str *ret_error) MUSTCHECK;
struct reference_view reference_view(const struct reference *reference);

/* any: Reads the next literal of *rest (may be empty) and the expression after it. *ret_reference
 * is NULL after the last literal, and rest->ptr is NULL at the end. Returns 0 or
 * TEMPLATE_SYNTAX. */
int template_next(struct arena *arena,
                  struct str *rest,
                  struct str *ret_literal,
                  struct reference **ret_reference,
                  struct str *ret_error) MUSTCHECK;
/* any: Whether the text is one expression and nothing else. */
bool template_is_single(struct arena *arena, struct str text);
bool template_has_braces(struct str text);

/* Returns the first bytes of a text for an error message, arena-owned. No character is cut in
 * half. */
struct str text_shorten(struct arena *arena, struct str text);
/* The type of a value, for an error message: "a text", "null", ... */
const char *json_type_text(const json_t *value);
struct str json_text(const json_t *value);
