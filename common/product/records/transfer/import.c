/* Converts the rows of a file into records: columns into fields, and cells into values. */
#include "records/import.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "loop/task.h"
#include "records/records.h"
#include "records/rules/error.h"
#include "records/rules/field_rule.h"
#include "records/rules/value.h"
#include "records/transfer/cell.h"
#include "records/transfer/import_preview.h"
#include "records/transfer/import_split.h"
#include "records/transfer/import_write.h"

struct import {
    struct records_ctx *ctx;
    struct import_config config;
    struct import_writer writer;
    struct import_preview *preview; /* only in a dry run */
    bool is_done;
    struct import_split split;
    const struct model_field **columns; /* CSV: the field of each column; NULL = ignored */
    size_t column_count;
    bool header_done;
    int64_t rows; /* read so far */
};

/* --- report --- */

const struct import_report *records_import_report(const struct import *import)
{
    return &import->writer.report;
}

struct import_progress records_import_progress(const struct import *import)
{
    return (struct import_progress){
        .rows = import->rows,
        .digest = import_writer_digest(&import->writer),
        .report = &import->writer.report,
    };
}

static void import_put_errors(const struct import_report *report, struct jw *w)
{
    jw_arr(w);
    for (size_t i = 0; i < report->error_count; i++) {
        const struct import_error *error = &report->errors[i];
        jw_obj(w);
        JW_I64(w, "row", error->row);
        JW_CSTR(w, "code", problem_code(error->code));
        JW_STR(w, "detail", error->detail);
        jw_obj_end(w);
    }
    jw_arr_end(w);
}

void records_import_errors(const struct import_report *report, struct strbuf *out)
{
    struct jw w;

    jw_init(&w, out);
    import_put_errors(report, &w);
}

/* --- fields --- */

/* Returns true for a member that the service sets and the import ignores; "version" too, unless the
 * entity has such a field. The id is not ignored when rows change records by their id. */
static bool is_ignored_member(const struct import *import, struct str name)
{
    const struct model_field *field = entity_field(import->writer.entity, name);

    if (field == NULL)
        return str_is(name, "version");
    return field->system && !(import_writer_is_by_id(&import->writer) && str_is(name, "id"));
}

/* Returns true when the caller may write the field. An import by id (import_writer_is_by_id()) only
 * changes records, so it needs only the right to update. Any other import needs the right to
 * create, and with a key also the right to update. */
static bool can_write_field(const struct import *import, const struct model_field *field)
{
    const struct records_ctx *ctx = import->ctx;
    bool changes = import->config.key != NULL;

    if (import_writer_is_by_id(&import->writer))
        return field_rule_allows(ctx, field, ACT_UPDATE);
    return field_rule_allows(ctx, field, ACT_CREATE) &&
           (!changes || field_rule_allows(ctx, field, ACT_UPDATE));
}

/* --- CSV --- */

static bool text_is_clean(struct str text)
{
    return utf8_valid(text) && (text.len == 0 || memchr(text.ptr, 0, text.len) == NULL);
}

static const struct import_mapping *mapping_find(const struct import *import, struct str name)
{
    for (size_t i = 0; i < import->config.mapping_count; i++)
        if (str_eq(import->config.mapping[i].column, name))
            return &import->config.mapping[i];
    return NULL;
}

/* Finds the field of one column. An unknown name is a finding, but not in a dry run. */
static const struct model_field *find_column(struct import *import, struct str name)
{
    const struct import_mapping *mapping = mapping_find(import, name);
    const struct model_field *field = NULL;

    if (mapping != NULL)
        field = mapping->field;
    else if (!is_ignored_member(import, name))
        field = entity_field(import->writer.entity, name);
    bool known = field != NULL && (field_rule_allows(import->ctx, field, ACT_READ) ||
                                   can_write_field(import, field));
    if (!known && mapping == NULL && !is_ignored_member(import, name) && !import->config.dry_run)
        records_finding_add(import->ctx, name, PROBLEM_UNKNOWN_FIELD, "is not a known field");
    for (size_t i = 0; known && i < import->column_count; i++)
        if (import->columns[i] == field)
            records_finding_add(import->ctx,
                                name,
                                PROBLEM_VALIDATION_FAILED,
                                "maps to the same field as another column");
    return known ? field : NULL;
}

/* A mapping of a column that the file does not have is most likely a typing error. */
static void check_mapping(struct import *import, const struct import_row *row)
{
    for (size_t i = 0; i < import->config.mapping_count; i++) {
        struct str wanted = import->config.mapping[i].column;
        size_t at = 0;
        while (at < row->cell_count && !str_eq(str_trim(row->cells[at]), wanted))
            at++;
        if (at == row->cell_count)
            records_finding_add(
                import->ctx, wanted, PROBLEM_VALIDATION_FAILED, "is not a column of the file");
    }
}

static void check_key_column(struct import *import)
{
    const struct model_field *key = import->config.key;
    size_t at = 0;

    while (at < import->column_count && import->columns[at] != key)
        at++;
    if (key != NULL && at == import->column_count)
        records_finding_add(import->ctx,
                            key->name,
                            PROBLEM_REQUIRED,
                            "is named in on_conflict, but is not a column of the file");
}

/* Finds the fields of the header. A field that the caller may neither read nor write is unknown. */
static int read_header(struct import *import, const struct import_row *row)
{
    struct records_ctx *ctx = import->ctx;

    import->header_done = true;
    if (row->reason != NULL)
        return records_fail(
            ctx, PROBLEM_VALIDATION_FAILED, "The header cannot be read: %s.", row->reason);
    import->columns = ARENA_ARRAY(ctx->task->arena, import->columns, row->cell_count);
    for (size_t i = 0; i < row->cell_count; i++) {
        struct str name = str_trim(row->cells[i]);
        if (!text_is_clean(name))
            return records_fail(ctx, PROBLEM_VALIDATION_FAILED, "The header is not UTF-8.");
        const struct model_field *field = find_column(import, name);
        import->columns[import->column_count++] = field;
        if (import->preview != NULL)
            import_preview_column(import->preview, name, field);
    }
    check_mapping(import, row);
    check_key_column(import);
    return records_fail_findings(ctx, PROBLEM_VALIDATION_FAILED);
}

static bool import_is_text(const struct model_field *field)
{
    return (model_type_info(field->type)->traits & TRAIT_TEXT) != 0 || field->type == TYPE_SECRET;
}

/* Returns the value of an empty cell: an owned null, or NULL to leave the field out. A required
 * field with a default is left out, so that the default applies. So is a field that the caller may
 * not write, because null would be a change. */
static json_t *empty_cell(const struct import *import, const struct model_field *field)
{
    bool is_left_out = field->system || (field->required && field->default_value != NULL);

    return is_left_out || !can_write_field(import, field) ? NULL : json_null();
}

/* Converts *cell to the form without a style, in `text` if needed. Returns the error, else NULL. */
static const char *plain_cell(const struct csv_style *style,
                              const struct model_field *field,
                              struct cell_text *text,
                              struct str *cell)
{
    unsigned traits = model_type_info(field->type)->traits;

    if ((traits & TRAIT_NUMBER) != 0 && style->has_decimal_comma &&
        !cell_number_read(*cell, text, cell))
        return cell_number_expected();
    if ((traits & TRAIT_CALENDAR) != 0 && style->dates != CSV_DATES_ISO &&
        !cell_moment_read(*cell, style->dates, text, cell))
        return cell_moment_expected(style->dates);
    return NULL;
}

/* Returns the value of a cell, owned. NULL = the field is left out, or the cell cannot be read:
 * then *ret_reason says why. */
static json_t *read_cell(const struct import *import,
                         const struct model_field *field,
                         struct str cell,
                         const char **ret_reason)
{
    struct cell_text text;

    *ret_reason = NULL;
    if (cell.ptr == NULL || (!import_is_text(field) && str_trim(cell).len == 0))
        return empty_cell(import, field);
    if (field->type == TYPE_SECRET)
        return value_cell(field, cell);
    cell = cell_unguarded(cell);
    *ret_reason = field->system ? NULL : plain_cell(&import->config.csv, field, &text, &cell);
    return *ret_reason == NULL ? value_cell(field, cell) : NULL;
}

AWAITS static int PRINTF_LIKE(2, 3) refuse_row(struct import *import, const char *format, ...)
{
    char text[256];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return import_writer_refuse(
        &import->writer, import->rows, PROBLEM_VALIDATION_FAILED, str_from(text));
}

AWAITS static int import_take_cells(struct import *import, const struct import_row *row)
{
    const char *reason = NULL;
    size_t bytes = 0;

    if (row->cell_count != import->column_count)
        return refuse_row(import,
                          "the row has %zu cells, but the header has %zu",
                          row->cell_count,
                          import->column_count);
    for (size_t i = 0; i < row->cell_count; i++) {
        bytes += row->cells[i].len;
        if (text_is_clean(row->cells[i]))
            continue;
        return refuse_row(import, "the row is not UTF-8 text");
    }
    json_t *record = json_object();
    for (size_t i = 0; i < row->cell_count; i++) {
        const struct model_field *field = import->columns[i];
        if (import->preview != NULL)
            import_preview_cell(import->preview, i, cell_unguarded(row->cells[i]));
        if (field == NULL)
            continue;
        json_t *value = read_cell(import, field, row->cells[i], &reason);
        if (reason != NULL) {
            json_decref(record);
            return refuse_row(import, "%.*s: %s", STR_ARG(field->name), reason);
        }
        if (value != NULL)
            (void)json_object_setn_new(record, field->name.ptr, field->name.len, value);
    }
    return import_writer_add(&import->writer, import->rows, record, bytes);
}

/* --- JSON --- */

static void drop_members(const struct import *import, json_t *record)
{
    void *next;
    const char *key;
    json_t *value;

    json_object_foreach_safe(record, next, key, value)
    {
        if (is_ignored_member(import, str_from(key)))
            (void)json_object_del(record, key);
    }
}

/* Renames each mapped member to its field, or removes the member when it maps to no field. A member
 * that already has the field's name is replaced. */
static void map_members(const struct import *import, json_t *record)
{
    for (size_t i = 0; i < import->config.mapping_count; i++) {
        const struct import_mapping *mapping = &import->config.mapping[i];
        json_t *value = json_object_getn(record, mapping->column.ptr, mapping->column.len);
        if (value == NULL)
            continue;
        json_incref(value);
        (void)json_object_deln(record, mapping->column.ptr, mapping->column.len);
        if (mapping->field != NULL)
            (void)json_object_setn(
                record, mapping->field->name.ptr, mapping->field->name.len, value);
        json_decref(value);
    }
}

AWAITS static int import_take_text(struct import *import, struct str text)
{
    json_t *record = value_document(text);

    if (record == NULL)
        return import_writer_refuse(
            &import->writer, import->rows, PROBLEM_INVALID_JSON, STR("the row is not valid JSON"));
    if (import->preview != NULL && json_is_object(record))
        import_preview_members(import->preview, import->writer.entity, record);
    map_members(import, record);
    drop_members(import, record);
    return import_writer_add(&import->writer, import->rows, record, text.len);
}

/* --- start and end --- */

static int import_fail_other_file(struct import *import)
{
    return records_fail(import->ctx,
                        PROBLEM_CONFLICT,
                        "The first %lld rows of the file differ from the rows that the import has "
                        "processed: send these rows unchanged, or import without resume.",
                        (long long)import->config.resume_from.rows);
}

/* Skips a row that was handled before the import was resumed. The digest at the last of these rows
 * shows whether the file is the same. */
static int import_skip_row(struct import *import)
{
    const struct import_progress *from = &import->config.resume_from;

    if (import->rows < from->rows || str_eq(import_writer_digest(&import->writer), from->digest))
        return 0;
    return import_fail_other_file(import);
}

AWAITS static int import_take_row(void *arg, const struct import_row *row)
{
    struct import *import = arg;

    if (import->split.format == IMPORT_CSV && !import->header_done)
        return read_header(import, row);
    import->rows++;
    import_writer_digest_row(&import->writer, row->text);
    if (import->rows <= import->config.resume_from.rows)
        return import_skip_row(import);
    if (row->reason != NULL)
        TRY(refuse_row(import, "%s", row->reason));
    else if (import->split.format == IMPORT_CSV)
        TRY(import_take_cells(import, row));
    else
        TRY(import_take_text(import, row->text));
    /* A dry run ends after its first chunk. */
    return import->config.dry_run && import->writer.count == 0 ? IMPORT_DRY_RUN_DONE : 0;
}

struct import *records_import_new(struct records_ctx *ctx,
                                  const struct entity *entity,
                                  const struct import_config *config)
{
    struct arena *arena = ctx->task->arena;
    struct import *import = ARENA_NEW(arena, import);

    import->ctx = ctx;
    import->config = *config;
    import_writer_init(&import->writer, ctx, entity, &import->config);
    if (config->dry_run)
        import->preview = import_preview_new(arena, &import->config.csv);
    import_split_init(
        &import->split, ctx->task, config->format, config->csv.separator, import_take_row, import);
    return import;
}

static int import_settle(struct import *import, int rc)
{
    if (rc == IMPORT_DRY_RUN_DONE) {
        import->is_done = true;
        return 0;
    }
    if (rc != IMPORT_MALFORMED)
        return rc;
    return records_fail(import->ctx,
                        PROBLEM_VALIDATION_FAILED,
                        "After row %lld: %s.",
                        (long long)import->rows,
                        import->split.reason);
}

int records_import_feed(struct import *import, struct str chunk)
{
    return import_settle(import, import_split_feed(&import->split, chunk));
}

int records_import_finish(struct import *import)
{
    TRY(import_settle(import, import_split_end(&import->split)));
    if (import->split.format == IMPORT_CSV && !import->header_done)
        return records_fail(import->ctx, PROBLEM_VALIDATION_FAILED, "The file has no header row.");
    if (import->rows < import->config.resume_from.rows)
        return import_fail_other_file(import);
    import->is_done = import->config.dry_run;
    return import_writer_flush(&import->writer);
}

/* --- dry runs --- */

bool records_import_is_enough(const struct import *import)
{
    return import->is_done;
}

void records_import_preview(const struct import *import, struct strbuf *out)
{
    struct jw w;

    jw_init(&w, out);
    jw_obj(&w);
    JW_I64(&w, "rows", import->rows);
    JW_I64(&w, "taken", import->writer.report.done);
    JW_I64(&w, "refused", import->writer.report.failed);
    jw_lit(&w, "columns");
    import_preview_json(import->preview, &w);
    jw_lit(&w, "errors");
    import_put_errors(&import->writer.report, &w);
    jw_obj_end(&w);
}
