/* The query parameters for the form of CSV files. */
#include "areas/items/items_csv.h"

const char *const items_csv_separators[] = {"comma", "semicolon", "tab", NULL};
static const char separators[] = {',', ';', '\t'};
const char *const items_csv_decimals[] = {"point", "comma", NULL};
const char *const items_csv_dates[] = {"iso", "dmy", "mdy", NULL};
static const enum csv_dates dates[] = {CSV_DATES_ISO, CSV_DATES_DMY, CSV_DATES_MDY};

/* Parameters that have no meaning for other formats. */
static const char *const csv_params[] = {"separator", "bom", "decimal", "dates"};

int items_csv_read(struct req *r,
                   const struct query *query,
                   bool is_csv,
                   struct csv_style *ret_style)
{
    struct str separator = query_get(query, "separator");
    struct str order = query_get(query, "dates");
    struct csv_style style = {
        .has_bom = str_is(query_get(query, "bom"), "true"),
        .has_decimal_comma = str_is(query_get(query, "decimal"), "comma"),
    };

    for (size_t i = 0; !is_csv && i < ARRAY_LEN(csv_params); i++)
        if (query_get(query, csv_params[i]).ptr)
            return fail(r,
                        PROBLEM_INVALID_QUERY,
                        "Query parameter '%s' is for CSV only: leave it out or send format=csv.",
                        csv_params[i]);
    for (size_t i = 0; i < ARRAY_LEN(separators); i++)
        if (str_is(separator, items_csv_separators[i]))
            style.separator = separators[i];
    for (size_t i = 0; i < ARRAY_LEN(dates); i++)
        if (str_is(order, items_csv_dates[i]))
            style.dates = dates[i];
    *ret_style = style;
    return 0;
}
