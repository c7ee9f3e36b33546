#pragma once
/* The query parameters for the form of CSV files, in imports and exports. */
#include "app.h"
#include "records/csv.h"

extern const char *const items_csv_separators[];
extern const char *const items_csv_decimals[];
extern const char *const items_csv_dates[];

/* clang-format off */
#define CSV_SEPARATOR_PARAM(default_name, text)                                                    \
    {.name = "separator", .type = FIELD_STR, .values = items_csv_separators,                       \
     .fallback = (default_name), .doc = (text)}
#define CSV_DECIMAL_PARAM                                                                          \
    {.name = "decimal", .type = FIELD_STR, .values = items_csv_decimals, .fallback = "point",      \
     .doc = "Decimal mark of numbers in CSV; with comma, the thousands may be separated by "       \
            "points, blanks or apostrophes"}
#define CSV_DATES_PARAM                                                                            \
    {.name = "dates", .type = FIELD_STR, .values = items_csv_dates, .fallback = "iso",             \
     .doc = "Form of dates and times in CSV: iso, or dmy or mdy as spreadsheets write them, in "   \
            "the time zone of the project: 31.01.2026 14:05 or 1/31/2026 2:05 PM"}
/* clang-format on */

/* any: Reads the CSV style from the query. Responds 400 when the query has a CSV parameter although
 * the file is not CSV. */
int items_csv_read(struct req *r,
                   const struct query *query,
                   bool is_csv,
                   struct csv_style *ret_style) MUSTCHECK;
