#pragma once
/* The parameters that say how CSV is written, of imports and exports. */
#include "app.h"
#include "records/csv.h"

extern const char *const items_csv_separators[];

/* clang-format off */
#define CSV_SEPARATOR_PARAM(default_name, text)                                                    \
    {.name = "separator", .type = FIELD_STR, .values = items_csv_separators,                       \
     .fallback = (default_name), .doc = (text)}
/* clang-format on */

/* any: the style that the query asks for; 400 when it asks for one though the file is not CSV. */
int items_csv_read(struct req *r,
                   const struct query *query,
                   bool is_csv,
                   struct csv_style *ret_style) MUSTCHECK;
