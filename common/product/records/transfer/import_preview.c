/* Describes columns. The type of a column is the narrowest type that all its values fit. */
#include "records/transfer/import_preview.h"

#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/utf8.h"
#include "records/rules/value.h"
#include "records/transfer/cell.h"

#define COLUMNS_MAX     1000
#define EXAMPLES        3
#define EXAMPLE_BYTES   100
#define VARCHAR_LETTERS 255

/* Bits of the types that a value may have. A column keeps the bits that all its values have. */
enum kind {
    KIND_BOOL = 1,
    KIND_INTEGER = 2,
    KIND_FLOAT = 4,
    KIND_DATE = 8,
    KIND_DATETIME = 16,
    KIND_JSON = 32,
    KIND_VARCHAR = 64,
    KIND_TEXT = 128,
    KIND_ANY = 255,
};

/* Narrow types first. */
static const struct {
    enum kind kind;
    enum model_type type;
} guesses[] = {
    {KIND_BOOL, TYPE_BOOL},
    {KIND_INTEGER, TYPE_INTEGER},
    {KIND_FLOAT, TYPE_FLOAT},
    {KIND_DATE, TYPE_DATE},
    {KIND_DATETIME, TYPE_DATETIME},
    {KIND_JSON, TYPE_JSON},
    {KIND_VARCHAR, TYPE_VARCHAR},
    {KIND_TEXT, TYPE_TEXT},
};

struct column {
    struct str name;
    const struct model_field *field;
    unsigned kinds;
    int64_t filled, empty;
    struct str examples[EXAMPLES];
    size_t example_count;
};

struct import_preview {
    struct arena *arena;
    const struct csv_style *style;
    struct column *columns;
    size_t count, capacity;
};

struct import_preview *import_preview_new(struct arena *arena, const struct csv_style *style)
{
    struct import_preview *preview = ARENA_NEW(arena, preview);

    preview->arena = arena;
    preview->style = style;
    return preview;
}

void import_preview_column(struct import_preview *preview,
                           struct str name,
                           const struct model_field *field)
{
    if (preview->count == COLUMNS_MAX)
        return;
    if (preview->count == preview->capacity) {
        size_t capacity = preview->capacity == 0 ? 32 : 2 * preview->capacity;
        struct column *columns = ARENA_ARRAY(preview->arena, columns, capacity);
        if (preview->count > 0)
            memcpy(columns, preview->columns, preview->count * sizeof(*columns));
        preview->columns = columns;
        preview->capacity = capacity;
    }
    preview->columns[preview->count++] =
        (struct column){.name = arena_dup(preview->arena, name), .field = field, .kinds = KIND_ANY};
}

/* --- values --- */

static unsigned kinds_of_text(struct str text)
{
    unsigned kinds = KIND_TEXT;
    struct clock_reading reading;

    if (utf8_length(text) <= VARCHAR_LETTERS)
        kinds |= KIND_VARCHAR;
    if (clock_parse_date(text))
        kinds |= KIND_DATE;
    if (clock_read(text, &reading))
        kinds |= KIND_DATETIME;
    return kinds;
}

/* Converts a number or date to the form without a style; other cells stay as they are. */
static struct str cell_plain(const struct csv_style *style, struct str cell, struct cell_text *text)
{
    struct str plain;

    if (style->has_decimal_comma && cell_number_read(cell, text, &plain))
        return plain;
    if (style->dates != CSV_DATES_ISO && cell_moment_read(cell, style->dates, text, &plain))
        return plain;
    return cell;
}

static unsigned kinds_of_cell(const struct csv_style *style, struct str cell)
{
    struct cell_text plain;
    struct str text = cell_plain(style, str_trim(cell), &plain);
    unsigned kinds = kinds_of_text(text);
    double number;
    int64_t whole;

    if (str_ieq(text, STR("true")) || str_ieq(text, STR("false")))
        kinds |= KIND_BOOL;
    if (num_parse_i64(text, &whole))
        kinds |= KIND_INTEGER;
    if (num_parse_f64(text, &number) && isfinite(number))
        kinds |= KIND_FLOAT;
    if (text.len > 1 && (text.ptr[0] == '{' || text.ptr[0] == '[')) {
        json_t *document = value_document(text);
        if (document != NULL)
            kinds |= KIND_JSON;
        json_decref(document);
    }
    return kinds;
}

static unsigned kinds_of_json(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_TRUE:
    case JSON_FALSE:
        return KIND_BOOL | KIND_JSON;
    case JSON_INTEGER:
        return KIND_INTEGER | KIND_FLOAT | KIND_JSON;
    case JSON_REAL:
        return KIND_FLOAT | KIND_JSON;
    case JSON_STRING:
        return kinds_of_text((struct str){json_string_value(value), json_string_length(value)});
    default:
        return KIND_JSON;
    }
}

static void preview_take(struct import_preview *preview,
                         struct column *column,
                         unsigned kinds,
                         struct str shown)
{
    column->filled++;
    column->kinds &= kinds;
    if (column->example_count < EXAMPLES)
        column->examples[column->example_count++] =
            arena_dup(preview->arena, utf8_cut(shown, EXAMPLE_BYTES));
}

void import_preview_cell(struct import_preview *preview, size_t at, struct str cell)
{
    if (at >= preview->count)
        return;
    if (str_trim(cell).len == 0)
        preview->columns[at].empty++;
    else
        preview_take(preview, &preview->columns[at], kinds_of_cell(preview->style, cell), cell);
}

static struct column *
preview_column(struct import_preview *preview, const struct entity *entity, struct str name)
{
    for (size_t i = 0; i < preview->count; i++)
        if (str_eq(preview->columns[i].name, name))
            return &preview->columns[i];
    if (preview->count == COLUMNS_MAX)
        return NULL;
    import_preview_column(preview, name, entity_field(entity, name));
    return &preview->columns[preview->count - 1];
}

static void
preview_take_member(struct import_preview *preview, struct column *column, const json_t *value)
{
    char *text;

    if (json_is_null(value)) {
        column->empty++;
        return;
    }
    if (json_is_string(value)) {
        preview_take(preview,
                     column,
                     kinds_of_json(value),
                     (struct str){json_string_value(value), json_string_length(value)});
        return;
    }
    text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    preview_take(preview, column, kinds_of_json(value), str_from(text != NULL ? text : ""));
    free(text);
}

void import_preview_members(struct import_preview *preview,
                            const struct entity *entity,
                            const json_t *record)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)record, key, value)
    {
        struct column *column = preview_column(preview, entity, str_from(key));
        if (column != NULL)
            preview_take_member(preview, column, value);
    }
}

/* --- the answer --- */

static struct str column_guess_type(const struct column *column)
{
    for (size_t i = 0; column->filled > 0 && i < ARRAY_LEN(guesses); i++)
        if ((column->kinds & guesses[i].kind) != 0)
            return str_from(model_type_info(guesses[i].type)->name);
    /* no common type, such as a text in one row and a number in another */
    return column->filled > 0 ? str_from(model_type_info(TYPE_JSON)->name) : STR_NONE;
}

void import_preview_json(const struct import_preview *preview, struct jw *w)
{
    jw_arr(w);
    for (size_t i = 0; i < preview->count; i++) {
        const struct column *column = &preview->columns[i];
        const struct model_field *field = column->field;
        jw_obj(w);
        JW_STR(w, "column", column->name);
        JW_STR_OR_NULL(w, "field", field != NULL ? field->name : STR_NONE);
        JW_STR_OR_NULL(
            w, "type", field != NULL ? str_from(model_type_info(field->type)->name) : STR_NONE);
        JW_STR_OR_NULL(w, "guessed_type", column_guess_type(column));
        JW_I64(w, "filled", column->filled);
        JW_I64(w, "empty", column->empty);
        jw_lit(w, "examples");
        jw_arr(w);
        for (size_t k = 0; k < column->example_count; k++)
            jw_str(w, column->examples[k]);
        jw_arr_end(w);
        jw_obj_end(w);
    }
    jw_arr_end(w);
}
