#pragma once
/* Forms: a[b][0]=c; brackets of keys are literal, values are escaped. */
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"

struct form {
    struct strbuf text;
};
void form_init(struct form *form, struct arena *arena);
/* `key` is a literal such as "line_items[0][price]"; STR_NONE (ptr NULL) adds nothing. */
void form_str(struct form *form, const char *key, struct str value);
void form_i64(struct form *form, const char *key, int64_t value);
void form_bool(struct form *form, const char *key, bool value);
/* "<prefix>[<name>]" for each member of a flat object of strings (metadata); NULL adds nothing. */
void form_map(struct form *form, const char *prefix, const json_t *object);
struct str form_text(const struct form *form);
