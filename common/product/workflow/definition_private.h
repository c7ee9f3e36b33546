#pragma once
/* Internal to definition_*.c: what the checks share. */
#include "workflow/definition.h"
#include "workflow/template_private.h"

/* One definition while it is checked; findings go to `errors`. */
struct check {
    struct arena *arena;
    struct schema_errors *errors;
    struct definition *definition;
    const struct step_param *param; /* whose value is checked */
    bool links_broken;              /* a link leads nowhere: what is reached is not known */
};

/* any: adds a finding at a place. */
void check_fail(const struct check *in,
                const struct place *at,
                enum problem code,
                const char *format,
                ...) PRINTF_LIKE(4, 5);
/* any: the member's value, NULL when it is absent or null. */
const json_t *check_member(const json_t *object, const char *name);
/* any: findings for members of the object that are not in the NULL-terminated list. */
void check_known(const struct check *in,
                 const struct place *at,
                 const json_t *object,
                 const char *const *names);
/* any: the value is an object, else a finding. */
bool check_object(const struct check *in, const struct place *at, const json_t *value);

/* Texts: 1 to `max` characters, no templates unless `templates`, no control characters unless
 * `lines`. */
struct text_rule {
    size_t max;
    bool templates, lines;
};
bool check_text(const struct check *in,
                const struct place *at,
                const json_t *value,
                const struct text_rule *rule,
                struct str *ret_text);

/* --- steps --- */

typedef void (*param_check_fn)(const struct check *in, const struct place *at, const json_t *value);
/* A parameter as catalog/step.def has it. */
struct step_param {
    enum step_action of; /* of a row that begins an action */
    const char *name;    /* NULL ends the list */
    bool required;
    bool templates; /* expressions are evaluated in it */
    bool secrets;   /* and may name secrets */
    param_check_fn check;
    size_t min, max; /* of texts, lists and numbers */
};
/* any: the parameters of an action; none for Condition, whose parameters are its condition. */
const struct step_param *step_params(enum step_action action);
/* any: a parameter of the list has this name. */
bool check_has_param(const struct step_param *list, struct str name);
/* any: members, types and literal values of a step's parameters. */
void check_params(const struct check *in, const struct place *at, struct step *step);

/* The types of parameters; the bounds are those of in->param. */
#define PARAM(name, flags, type, min, max, about)                                                  \
    void check_param_##type(const struct check *in, const struct place *at, const json_t *value);
#include "catalog/step.def"
/* any: the members of an object by a list. */
void check_param_list(const struct check *in,
                      const struct place *at,
                      const json_t *object,
                      const struct step_param *list);

/* any: the member is a group of a filter ("or", "and" with an array), not a field of that name. */
bool definition_is_group(struct str name, const json_t *value);

/* Where a step and its parameters are. */
struct step_place {
    struct place steps, step, params;
};
void step_place_init(struct step_place *place, const struct definition *definition, size_t index);

/* any: doc.trigger into the definition. */
void check_trigger(struct check *in, const json_t *trigger);
/* any: steps that nothing reaches, loops, and what the steps refer to. */
void check_graph(struct check *in);
