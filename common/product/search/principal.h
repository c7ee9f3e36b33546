#pragma once
/*
 * Words for who may see a record: "@o17" is owned by user 17, "@u17" granted to that user, "@g5"
 * granted to group 5, "@r3" to role 3. No text gives such a term, because '@' is no letter. Their
 * postings have field 0; the fields of an index begin with 1.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

enum { PRINCIPAL_BYTES = 24, PRINCIPAL_FIELD = 0 };

/* Writes the word into `buffer`, which has PRINCIPAL_BYTES, and returns it there. `kind`: 'o', 'u',
 * 'g' or 'r'. */
struct str principal_print(char *buffer, char kind, int64_t id);
/* False: the word is not a principal. */
bool principal_parse(struct str word, char *ret_kind, int64_t *ret_id);
