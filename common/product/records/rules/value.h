#pragma once
/*
 * Checks one value of a write against its field, and converts it into the parameter that PostgreSQL
 * takes. The value comes as JSON, as the text of an import cell or of a filter. A written value
 * that passes fits its column: the database can only refuse what depends on other rows (uniqueness,
 * references). Pure; any thread.
 */
#include "records/records.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "db/sql.h"
#include "json/schema.h"
#include "model/model.h"
#include "project/project.h"

enum {
    VALUE_VARCHAR_CHARS = 255, /* when the field has no max_length */
    VALUE_TEXT_BYTES = 1024 * 1024,
    VALUE_INDEXED_BYTES = 2600, /* of unique and indexed texts: a third of a PostgreSQL page */
    VALUE_JSON_BYTES = 256 * 1024,
    VALUE_SECRET_BYTES = 8 * 1024,
    VALUE_DECIMAL_DIGITS = 38, /* before and after the decimal point together */
    VALUE_LINKS_MAX = 1000,    /* ids of a many relation */
};

struct value_scope {
    struct arena *arena;
    const struct project *project; /* its number and data key seal secrets */
    struct schema_errors *errors;  /* receives the findings */
};

struct value {
    const struct model_field *field;
    struct db_param param; /* for the column; a many relation has none */
    const int64_t *ids;    /* many relation: the ids in order, without duplicates */
    size_t id_count;
};

/* Checks `json` (null included) against `field`. Returns false after it added a finding under the
 * field's name: required, type_mismatch, out_of_range, too_long, pattern or, for a secret,
 * validation_failed. Texts of *ret_value may borrow from `json`. */
bool value_read(const struct value_scope *scope,
                const struct model_field *field,
                const json_t *json,
                struct value *ret_value);
/* Returns true for the mask that answers show in place of a stored secret. A client that sends the
 * mask back does not change the secret. */
bool value_is_mask(const struct model_field *field, const json_t *json);

/* Returns the parameter as text in PostgreSQL's input syntax, for arrays; STR_NONE for null.
 * Arena-owned, or borrowed from `param`. */
struct str value_text(struct arena *arena, const struct db_param *param);

/* Returns the additional authenticated data (AAD) of a sealed secret, because of which the secret
 * does not open in another project, entity or field. Arena-owned. */
struct str value_secret_aad(struct arena *arena,
                            const struct project *project,
                            const struct model_field *field);

/* Parses `text` with jr_parse_stored(). Returns an owned reference (json_decref()), or NULL when
 * `text` is not JSON. */
json_t *value_document(struct str text);
/* Converts an import cell into JSON for value_read(), by the type of the field: numbers, booleans,
 * documents and id lists ("1;2" or "[1,2]"). A text that cannot be read as the type stays a text,
 * which value_read() refuses. Returns an owned reference (json_decref()). */
json_t *value_cell(const struct model_field *field, struct str cell);

/* any: Parses the value of a filter by the type of the field. Returns NULL, or the fault ("must be
 * a whole number"). A time is PARAM_TIME; without an offset it is in the project's time zone. Texts
 * are borrowed. Not for json and secret fields. */
const char *value_filter(const struct project *project,
                         const struct model_field *field,
                         struct str text,
                         struct db_param *ret_value);
