#pragma once
/*
 * One value of a record on its way in: JSON, or the text of an import cell, checked against its
 * field and turned into the parameter that PostgreSQL takes. Whatever passes here fits its column:
 * the database finds fault only with what needs other rows (uniqueness, references). Pure, any
 * thread.
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
    VALUE_VARCHAR_CHARS = 255, /* when the field names no max_length */
    VALUE_TEXT_BYTES = 1024 * 1024,
    VALUE_INDEXED_BYTES = 2600, /* of unique and indexed texts: a third of PostgreSQL's page */
    VALUE_JSON_BYTES = 256 * 1024,
    VALUE_SECRET_BYTES = 8 * 1024,
    VALUE_DECIMAL_DIGITS = 38, /* before and after the point together */
    VALUE_LINKS_MAX = 1000,    /* ids of a many relation */
};

struct value_scope {
    struct arena *arena;
    const struct project *project; /* number and data key, for secrets */
    struct schema_errors *errors;  /* findings go here */
};

struct value {
    const struct model_field *field;
    struct db_param param; /* of the column; a many relation has none */
    const int64_t *ids;    /* many relation: the wanted ids in order, without repeats */
    size_t id_count;
};

/* Checks `json` (null included) against `field`. False leaves a finding under the field's name:
 * required, type_mismatch, out_of_range, too_long or pattern. Texts borrow from `json`. */
bool value_read(const struct value_scope *scope,
                const struct model_field *field,
                const json_t *json,
                struct value *ret_value);
/* True for the text that stands for a stored secret in answers: sent back, it changes nothing. */
bool value_is_mask(const struct model_field *field, const json_t *json);

/* The parameter as text in PostgreSQL's input syntax, for arrays; STR_NONE for null. */
struct str value_text(struct arena *arena, const struct db_param *param);

/* What a secret is sealed for: it does not open in another project, entity or field. */
struct str value_secret_place(struct arena *arena,
                              const struct project *project,
                              const struct model_field *field);

/* The guarded reader's tree as an owned reference (json_decref), NULL when `text` is not JSON. */
json_t *value_document(struct str text);
/* An import cell as JSON for value_read(): numbers, booleans, documents and id lists ("1;2" or
 * "[1,2]") by the field's type; text that does not read as its type stays text, to be refused
 * there. Returns owned (json_decref). */
json_t *value_cell(const struct model_field *field, struct str cell);
