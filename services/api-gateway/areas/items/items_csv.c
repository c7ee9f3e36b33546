/* The parameters that say how CSV is written. */
#include "areas/items/items_csv.h"

const char *const items_csv_separators[] = {"comma", "semicolon", "tab", NULL};
static const char separators[] = {',', ';', '\t'};

/* Those that say nothing of other formats. */
static const char *const csv_params[] = {"separator", "bom"};

int items_csv_read(struct req *r,
                   const struct query *query,
                   bool is_csv,
                   struct csv_style *ret_style)
{
    struct str separator = query_get(query, "separator");
    struct csv_style style = {.has_mark = str_is(query_get(query, "bom"), "true")};

    for (size_t i = 0; !is_csv && i < ARRAY_LEN(csv_params); i++)
        if (query_get(query, csv_params[i]).ptr)
            return fail(r,
                        PROBLEM_INVALID_QUERY,
                        "Query parameter '%s' is for CSV: leave it out or say format=csv.",
                        csv_params[i]);
    for (size_t i = 0; i < ARRAY_LEN(separators); i++)
        if (str_is(separator, items_csv_separators[i]))
            style.separator = separators[i];
    *ret_style = style;
    return 0;
}
