#pragma once
/* The style of a CSV file, for imports and exports. */
#include <stdbool.h>

/* How dates and times are written: year first (RFC 3339), as spreadsheets do in most countries
 * (DMY), or as they do in the United States (MDY). DMY and MDY times are in the project's zone. */
enum csv_dates { CSV_DATES_ISO, CSV_DATES_DMY, CSV_DATES_MDY };

struct csv_style {
    char separator;         /* 0 = import: detect in the header row; export: a comma */
    bool has_bom;           /* an export begins with a byte order mark, so that Excel reads UTF-8 */
    bool has_decimal_comma; /* numbers are written as 1234,5 */
    enum csv_dates dates;
};
