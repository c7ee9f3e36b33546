#pragma once
/*
 * Values as cells of CSV. Pure; any thread.
 *
 * Texts: spreadsheets run cells that begin like a formula. An export therefore puts an apostrophe
 * before such a text, and before a text that begins like such a guarded cell. An import removes the
 * apostrophe from each guarded cell. So every text is the same after an export and an import.
 *
 * Numbers and dates: converted between the forms that spreadsheets write and the forms of records.
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "records/csv.h"

/* Returns true for any number of apostrophes followed by =, +, -, @, a tab or a line end. An export
 * puts an apostrophe before such a text; an import removes the first apostrophe of such a text, if
 * the text begins with one. */
bool cell_is_guarded(struct str text);
/* Returns the text of a cell without the apostrophe of an export; other texts unchanged. Borrowed
 * from `cell`. */
struct str cell_unguarded(struct str cell);

/* Buffer for a converted cell. */
struct cell_text {
    char bytes[512];
    size_t len;
    bool overflow;
};

/* Converts "-1.234,5" to "-1234.5": a decimal comma, and points, blanks or apostrophes between
 * thousands. Returns false when the cell is no such number. *ret_number lies in `text`. */
bool cell_number_read(struct str cell, struct cell_text *text, struct str *ret_number);
/* Converts "31.1.26 2:05 PM" to "2026-01-31T14:05": separated by points, slashes or hyphens, with
 * years of two digits as Excel takes them (29 = 2029, 30 = 1930). A cell that begins with a year of
 * four digits stays as it is. Returns false for other cells, and for a day that is not in the
 * calendar. *ret_moment lies in `text` or is the cell. `dates` must not be CSV_DATES_ISO. */
bool cell_moment_read(struct str cell,
                      enum csv_dates dates,
                      struct cell_text *text,
                      struct str *ret_moment);
/* Return the message "expected ..." for a cell that cell_number_read() or cell_moment_read()
 * refuses. */
const char *cell_number_expected(void);
const char *cell_moment_expected(enum csv_dates dates);
/* Prints "2026-01-31" or "2026-01-31T14:05:07.000Z" as 31/01/2026 or 31/01/2026 14:05:07, with
 * milliseconds only when they are not 0. CSV_DATES_MDY prints the month first. The result lies in
 * `text`. */
struct str cell_moment_print(struct str moment, enum csv_dates dates, struct cell_text *text);
