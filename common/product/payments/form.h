#pragma once
/* Form bodies of the processor: a[b][0]=c. Brackets of keys are literal, values are escaped. */
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"

struct form {
    struct strbuf text;
};
/* any: Begins an empty form in `arena`. */
void form_init(struct form *form, struct arena *arena);
/* any: form_str(), form_i64() and form_bool() add one member. `key` is a literal such as
 * "line_items[0][price]". A text of STR_NONE (ptr NULL) adds nothing. */
void form_str(struct form *form, const char *key, struct str value);
void form_i64(struct form *form, const char *key, int64_t value);
void form_bool(struct form *form, const char *key, bool value);
/* any: Adds "<prefix>[<name>]" for each string of a flat object (metadata). NULL adds nothing. */
void form_map(struct form *form, const char *prefix, const json_t *object);
/* any: Returns the encoded form, borrowed from its arena. */
struct str form_text(const struct form *form);
