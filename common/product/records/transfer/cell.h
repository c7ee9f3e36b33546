#pragma once
/*
 * Values as cells of CSV. Pure, any thread.
 *
 * Texts: spreadsheets run cells that begin like a formula, so an export puts an apostrophe before
 * these, and before those that begin as such a cell is written; an import takes one away from each
 * of them. So each text comes back as it was.
 *
 * Numbers and dates as spreadsheets write them, from and to the forms that records have.
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "records/csv.h"

/* Whether an export puts an apostrophe before the text, and an import takes one from its begin: any
 * number of apostrophes and then =, +, -, @, a tab or a line end. */
bool cell_is_guarded(struct str text);
/* The text of a cell that an export has guarded; other texts as they are. */
struct str cell_unguarded(struct str cell);

/* Room for what a cell becomes. */
struct cell_text {
    char bytes[512];
    size_t len;
    bool overflow;
};

/* "-1.234,5" as "-1234.5": a decimal comma, and points, blanks or apostrophes between thousands.
 * False when it is no such number. *ret_number lies in `text`. */
bool cell_number_read(struct str cell, struct cell_text *text, struct str *ret_number);
/* "31.1.26 2:05 PM" as "2026-01-31T14:05": points, strokes or hyphens, years of two digits as Excel
 * takes them (29 = 2029, 30 = 1930). What has its year first stays as it is. False when it is none
 * of both, or no day of the calendar. *ret_moment lies in `text` or is the cell. `dates` is not
 * CSV_DATES_ISO. */
bool cell_moment_read(struct str cell,
                      enum csv_dates dates,
                      struct cell_text *text,
                      struct str *ret_moment);
/* What a cell has to look like for the two above: "expected ...". */
const char *cell_number_expected(void);
const char *cell_moment_expected(enum csv_dates dates);
/* "2026-01-31" or "2026-01-31T14:05:07.000Z" as 31/01/2026 or 31/01/2026 14:05:07, milliseconds
 * only where there are any. The answer lies in `text`. */
struct str cell_moment_print(struct str moment, enum csv_dates dates, struct cell_text *text);
