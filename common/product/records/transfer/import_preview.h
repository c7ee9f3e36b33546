#pragma once
/* What the columns of a file hold, seen in its first rows: for whoever decides where each goes. */
#include "records/import.h"

struct import_preview;

/* any: `style`, which is borrowed, is how the cells of CSV are written. */
struct import_preview *import_preview_new(struct arena *arena, const struct csv_style *style);
/* any: a column by its name in the file; `field` where it goes, NULL = nowhere. Texts are taken
 * over. */
void import_preview_column(struct import_preview *preview,
                           struct str name,
                           const struct model_field *field);
/* any: a cell of the column `at` (in the order of import_preview_column()); nothing is borrowed. */
void import_preview_cell(struct import_preview *preview, size_t at, struct str cell);
/* any: members of a JSON row, each a column from its first sight on. */
void import_preview_members(struct import_preview *preview,
                            const struct entity *entity,
                            const json_t *record);
/* any: the columns as an array, for records_import_preview(). */
void import_preview_json(const struct import_preview *preview, struct jw *w);
