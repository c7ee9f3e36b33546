#pragma once
/* Internal to definition_*.c: declarations that the checks share. */
#include "workflow/definition.h"
#include "workflow/template_private.h"

/* A definition while it is checked. Findings go to `errors`. */
struct check {
    struct arena *arena;
    struct schema_errors *errors;
    struct definition *definition;
    const struct step_param *param; /* the parameter whose value is being checked */
    bool has_invalid_links; /* a step, key or link is invalid: it is unknown which steps are reached
                             */
};

/* any: Adds a finding at a place. */
void check_fail(const struct check *in,
                const struct json_path *at,
                enum problem code,
                const char *format,
                ...) PRINTF_LIKE(4, 5);
/* any: Returns the member's value, or NULL when the member is absent or null. */
const json_t *check_member(const json_t *object, const char *name);
/* any: Adds a finding for each member of the object that is not in the NULL-terminated list. */
void check_known(const struct check *in,
                 const struct json_path *at,
                 const json_t *object,
                 const char *const *names);
/* any: Whether the value is an object. Adds a finding when it is not. */
bool check_object(const struct check *in, const struct json_path *at, const json_t *value);

/* The rule for a text: 1 to `max` characters, no templates unless `allows_templates`, no control
 * characters unless `allows_lines`. */
struct text_rule {
    size_t max;
    bool allows_templates, allows_lines;
};
bool check_text(const struct check *in,
                const struct json_path *at,
                const json_t *value,
                const struct text_rule *rule,
                struct str *ret_text);

/* --- steps --- */

typedef void (*param_check_fn)(const struct check *in,
                               const struct json_path *at,
                               const json_t *value);
/* A parameter of catalog/step.def. */
struct step_param {
    enum step_action step_action; /* in a row without a name: the action that begins there */
    const char *name;             /* NULL ends the list */
    bool is_required;
    bool allows_templates; /* expressions in the value are evaluated */
    bool allows_secrets;   /* expressions may name secrets */
    param_check_fn check;
    size_t min, max; /* of texts, lists and numbers */
};
/* any: Returns the parameters of an action. Condition has none: its parameters are the
 * condition. */
const struct step_param *step_params(enum step_action action);
/* any: Whether a parameter of the list has this name. */
bool check_has_param(const struct step_param *list, struct str name);
/* any: Checks the members, types and literal values of a step's parameters. */
void check_params(const struct check *in, const struct json_path *at, struct step *step);

/* One check for each type of parameter. The bounds are those of in->param. */
#define PARAM(name, flags, type, min, max, about)                                                  \
    void check_param_##type(                                                                       \
        const struct check *in, const struct json_path *at, const json_t *value);
#include "catalog/step.def"
/* any: Checks the members of an object against a list of parameters. */
void check_param_list(const struct check *in,
                      const struct json_path *at,
                      const json_t *object,
                      const struct step_param *list);

/* any: Whether the member is a group of a filter ("or", "and" with an array), not a field of that
 * name. */
bool definition_is_group(struct str name, const json_t *value);

/* The places of a step and its parameters. The places point at each other: do not copy the
 * struct. */
struct step_paths {
    struct json_path steps, step, params;
};
void step_paths_init(struct step_paths *paths, const struct definition *definition, size_t index);

/* any: Reads doc.trigger into the definition. */
void check_trigger(struct check *in, const json_t *trigger);
/* any: Checks for steps that no step leads to, for loops, and what the steps refer to. */
void check_graph(struct check *in);
