#pragma once
/*
 * Values of parameters, and the templates that they fill. "{{ name }}" in a text stands for a
 * parameter; a text that is one of them and nothing else becomes its value, whatever type that has,
 * and goes out of its object or array when there is none. Within other text, texts are inserted as
 * they are, other values as JSON prints them, nothing as nothing. What was inserted is never looked
 * at again.
 */
#include "integrations/integration.h"

#define FILL_BYTES_MAX ((size_t)1 << 20) /* of what all insertions of a request come to */

/* One value for each parameter of the operation; NULL: none. */
struct fill_values {
    const struct integration_operation *operation;
    json_t **items;
    size_t *bytes; /* that each takes as text */
    size_t left;   /* of FILL_BYTES_MAX */
};

/* any: values of an object by parameter, checked: types, what is required, what an enum has; those
 * left out have their default. Findings say "params.name". True when it added none. */
bool fill_values_read(struct arena *arena,
                      const struct integration_operation *operation,
                      const json_t *params,
                      struct fill_values *ret_values,
                      struct schema_errors *errors);
/* any: the value of a parameter, NULL = there is none. */
json_t *fill_value_of(const struct fill_values *values, struct str name);
/* any: a scalar as it stands in texts; borrowed or arena-owned. */
struct str fill_text_of(struct arena *arena, const json_t *value);

/* any: every {{ in the texts of a value is closed and names a parameter, and there are no more of
 * them than *left, from which they go. NULL, or what is wrong, arena-owned. */
const char *fill_fault(struct arena *arena,
                       const struct integration_operation *operation,
                       const json_t *template,
                       size_t *left);
/* any: a parameter whose values are shown nowhere: it says so itself, its name or its name on the
 * wire does (secret_name), or that of a query parameter, header or member that it is sent as. */
bool fill_is_hidden(const struct integration_operation *operation,
                    const struct integration_param *param);
/* any: a template in which a parameter stands whose values are shown nowhere. */
bool fill_names_secret(const struct integration_operation *operation, struct str template);
/* any: a text with its parameters. 0, or INTEGRATION_TOO_LARGE. */
int fill_text(struct arena *arena,
              struct fill_values *values,
              struct str template,
              struct str *ret_text) MUSTCHECK;
/* any: a value with them, arena-owned; NULL when it was a parameter without a value. 0, or
 * INTEGRATION_TOO_LARGE. */
int fill_json(struct arena *arena,
              struct fill_values *values,
              const json_t *template,
              json_t **ret_value) MUSTCHECK;
