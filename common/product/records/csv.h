#pragma once
/* How CSV is written: what imports and exports are told of a file. */
#include <stdbool.h>

struct csv_style {
    char separator; /* between cells; 0 = of an import: found in the header row, of an export: a
                       comma */
    bool has_mark;  /* an export begins with a byte order mark, by which Excel knows UTF-8 */
};
