#pragma once
/* Describes the columns of a file by its first rows, for a user who decides to which field each
 * column maps. */
#include "records/import.h"

struct import_preview;

/* any: Creates a preview in `arena`. `style` says how the cells of CSV are written and is
 * borrowed. */
struct import_preview *import_preview_new(struct arena *arena, const struct csv_style *style);
/* any: Adds a column by its name in the file. `field` is the field that the column maps to, NULL =
 * none. The name is copied. */
void import_preview_column(struct import_preview *preview,
                           struct str name,
                           const struct model_field *field);
/* any: Adds a cell of the column with index `at`, in the order of import_preview_column(). The cell
 * is not borrowed. */
void import_preview_cell(struct import_preview *preview, size_t at, struct str cell);
/* any: Adds the members of a JSON row. A member with a new name becomes a new column. */
void import_preview_members(struct import_preview *preview,
                            const struct entity *entity,
                            const json_t *record);
/* any: Writes the columns as an array, for records_import_preview(). */
void import_preview_json(const struct import_preview *preview, struct jw *w);
