#pragma once
/*
 * Values of parameters, and templates with expressions "{{ name }}" that refer to parameters. A
 * text that is one expression and nothing else becomes the parameter's value of any type; if the
 * parameter has no value, the text is removed from its object or array. In a longer text, string
 * values are inserted as they are, other values as JSON text, missing values as the empty text.
 * Inserted text is never scanned for expressions again.
 */
#include "integrations/integration.h"

#define FILL_BYTES_MAX ((size_t)1 << 20) /* of all insertions of a request together */

/* One value for each parameter of the operation; NULL = none. */
struct fill_values {
    const struct integration_operation *operation;
    json_t **items;
    size_t *bytes;     /* length of each value as text */
    size_t bytes_left; /* bytes of FILL_BYTES_MAX that may still be inserted */
};

/* any: Reads the values of an operation's parameters from the members of `params`. Checks types,
 * required parameters and enums; a missing or null member gets the default. Values are borrowed,
 * arrays are arena-owned. Adds findings for "params.<name>". Returns true when it added none. */
bool fill_values_read(struct arena *arena,
                      const struct integration_operation *operation,
                      const json_t *params,
                      struct fill_values *ret_values,
                      struct schema_errors *errors);
/* any: Returns the value of a parameter; NULL = none. Borrowed. */
json_t *fill_value_of(const struct fill_values *values, struct str name);
/* any: Returns a value as it is inserted in texts; borrowed or arena-owned. */
struct str fill_text_of(struct arena *arena, const json_t *value);

/* any: Checks that each "{{" in the texts of a template is closed and names a parameter, and that
 * there are at most *left expressions, which are subtracted from *left. Returns NULL, or what is
 * wrong, static or arena-owned. */
const char *fill_fault(struct arena *arena,
                       const struct integration_operation *operation,
                       const json_t *template,
                       size_t *left);
/* any: Returns whether a parameter's values must not be shown. The parameter is declared secret, or
 * secret_is_credential_name() holds for its name, its wire name, or the name of a query parameter,
 * header or body member in whose template it is used. */
bool fill_is_hidden(const struct integration_operation *operation,
                    const struct integration_param *param);
/* any: Returns whether a template uses a parameter for which fill_is_hidden() holds. */
bool fill_names_secret(const struct integration_operation *operation, struct str template);
/* any: Fills a template text, which fill_fault() has accepted. *ret_text is arena-owned and
 * NUL-terminated. Returns 0, or INTEGRATION_TOO_LARGE. */
int fill_text(struct arena *arena,
              struct fill_values *values,
              struct str template,
              struct str *ret_text) MUSTCHECK;
/* any: Fills a template of any JSON type. *ret_value is arena-owned; NULL when the template is one
 * expression whose parameter has no value. Returns 0, or INTEGRATION_TOO_LARGE. */
int fill_json(struct arena *arena,
              struct fill_values *values,
              const json_t *template,
              json_t **ret_value) MUSTCHECK;
