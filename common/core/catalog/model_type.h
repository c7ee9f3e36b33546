#pragma once
/*
 * Types of the fields of entities. model_type.def is the list. Pure data: records/rules/value.c
 * reads values, api-gateway/ddl converts columns from one type to another.
 */
#include <stddef.h>

#include "base/str.h"
#include "catalog/operator.h"

enum model_type {
#define MODEL_TYPE(constant, ...) constant,
#include "catalog/model_type.def"
    TYPE_COUNT,
};

enum { FITS_EACH = FITS_ANY | FITS_SET };

/* Properties that several types share: options and flags of a field, and uses of its values. */
enum model_trait {
    TRAIT_TEXT = 1,     /* option max_length */
    TRAIT_NUMBER = 2,   /* options min and max; sums */
    TRAIT_CALENDAR = 4, /* groups of days, months, ... */
    TRAIT_INDEX = 8,    /* flags unique and indexed */
    TRAIT_DEFAULT = 16, /* a default value */
    TRAIT_SEARCH = 32,  /* the field's text can be searched */
};

/* How a column of the type becomes JSON. */
enum model_print {
    PRINT_TEXT,   /* a JSON string */
    PRINT_JSON,   /* the text is JSON already */
    PRINT_COLUMN, /* by the type of the PostgreSQL column */
    PRINT_MASK,   /* only whether there is a value */
};

struct model_type_info {
    const char *name;
    const char *sql; /* type of the PostgreSQL column */
    size_t bytes;    /* bytes that a value counts in the size of a record; 0 = those of the value */
    size_t width;    /* most bytes of a value in an answer; 0 = any number */
    unsigned fits;   /* bits of operator_scope: the operators of filters for the type. A type with
                        FITS_SET can also be sorted and grouped by */
    unsigned traits; /* bits of model_trait */
    enum model_print print;
    const char *json_type, *json_format; /* of the JSON schema; NULL = any type, no format */
    const char *typescript;              /* in the generated client; NULL = a relation */
    const char *doc;                     /* description for documents; NULL = none */
    const char *example; /* JSON text for documents; NULL = depends on the field's options */
    /* SQL of conversions between the type and texts; "%s" is replaced by the column. A type
     * that does not convert has NULL. */
    const char *to_text;   /* converts a value to a text */
    const char *from_text; /* converts a text to a value */
    const char *not_text;  /* true for a text that cannot be converted; NULL = all can. It examines
                              the text before a cast, so that no text makes a cast fail */
    enum model_type view;  /* type in a materialised view, which has no references */
};

/* any: Returns the static properties of a type. */
const struct model_type_info *model_type_info(enum model_type type);
/* any: Returns the type of this name; TYPE_COUNT when there is none. */
enum model_type model_type_find(struct str name);
/* The names of all types, ended by NULL. */
extern const char *const model_type_names[TYPE_COUNT + 1];
