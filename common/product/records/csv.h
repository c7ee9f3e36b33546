#pragma once
/* How CSV is written: what imports and exports are told of a file. */
#include <stdbool.h>

/* How dates and times are written: with the year first (RFC 3339), or as spreadsheets do it in most
 * countries and in the United States. The latter are times in the zone of the project. */
enum csv_dates { CSV_DATES_ISO, CSV_DATES_DMY, CSV_DATES_MDY };

struct csv_style {
    char separator; /* between cells; 0 = of an import: found in the header row, of an export: a
                       comma */
    bool has_mark;  /* an export begins with a byte order mark, by which Excel knows UTF-8 */
    bool has_decimal_comma; /* numbers: 1234,5 */
    enum csv_dates dates;
};
