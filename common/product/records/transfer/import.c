/*
 * Rows of a file as records, in chunks through the bulk writer. Each chunk has an arena of its own,
 * which the task works with while it is written: memory stays as large as one chunk.
 */
#include "records/import.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "loop/task.h"
#include "records/records.h"
#include "records/rules/error.h"
#include "records/rules/field_rule.h"
#include "records/transfer/cell.h"
#include "records/transfer/import_preview.h"
#include "records/transfer/import_split.h"
#include "records/write/bulk.h"
#include "records/write/value.h"

#define CHUNK_ROWS  200
#define CHUNK_BYTES ((size_t)1024 * 1024)

struct import {
    struct records_ctx *ctx;
    const struct entity *entity;
    struct import_config config;
    struct import_preview *preview; /* of a dry run */
    bool enough;
    struct import_split split;
    const struct model_field **columns; /* CSV: NULL = passed over */
    size_t column_count;
    bool header_done;
    json_t *chunk; /* rows to be written */
    int64_t numbers[CHUNK_ROWS];
    size_t chunk_bytes;
    int64_t rows; /* read so far */
    struct import_error errors[IMPORT_ERRORS_MAX];
    struct import_report report;
};

/* --- report --- */

/* Texts of errors live as long as the import: ctx->task->arena must be the outer one here. */
static void report_error(struct import *import, int64_t row, enum problem code, struct str detail)
{
    import->report.failed++;
    if (import->report.error_count == IMPORT_ERRORS_MAX)
        return;
    import->errors[import->report.error_count++] = (struct import_error){
        .row = row,
        .code = code,
        .detail = arena_dup(import->ctx->task->arena, detail),
    };
}

const struct import_report *records_import_report(const struct import *import)
{
    return &import->report;
}

void records_import_stopped(struct import *import, enum problem code, struct str detail)
{
    struct import_report *report = &import->report;

    if (report->error_count == IMPORT_ERRORS_MAX)
        report->error_count--;
    import->errors[report->error_count++] = (struct import_error){
        .row = import->rows + 1,
        .code = code,
        .detail = arena_dup(import->ctx->task->arena, detail),
    };
}

static int order_errors(const void *left, const void *right)
{
    int64_t a = ((const struct import_error *)left)->row;
    int64_t b = ((const struct import_error *)right)->row;

    return (a > b) - (a < b);
}

static void import_put_errors(const struct import *import, struct jw *w)
{
    jw_arr(w);
    for (size_t i = 0; i < import->report.error_count; i++) {
        const struct import_error *error = &import->errors[i];
        jw_obj(w);
        JW_I64(w, "row", error->row);
        JW_CSTR(w, "code", problem_code(error->code));
        JW_STR(w, "detail", error->detail);
        jw_obj_end(w);
    }
    jw_arr_end(w);
}

void records_import_errors(const struct import *import, struct strbuf *out)
{
    struct jw w;

    jw_init(&w, out);
    import_put_errors(import, &w);
}

/* --- chunks --- */

/* A model that was read again while the chunk was written: its reference goes with the chunk's
 * arena, so take one that stays. */
static void keep_model(struct import *import, struct arena *arena, const struct model *before)
{
    const struct model *model = import->ctx->model;

    if (model != before)
        model_adopt(arena, model_ref((struct model *)model));
}

/* The failure's texts, out of the chunk's arena. */
static void keep_error(struct records_ctx *ctx, struct arena *arena)
{
    struct records_error *error = &ctx->error;

    error->detail = arena_dup(arena, error->detail);
    for (size_t i = 0; i < error->fields.count && i < ARRAY_LEN(error->fields.items); i++) {
        struct schema_error *item = &error->fields.items[i];
        item->field = arena_dup(arena, item->field);
        item->message = arena_dup(arena, item->message);
    }
}

/* In a dry run, what was written is taken back. */
AWAITS static int import_write_rows(struct import *import,
                                    const struct records_bulk *bulk,
                                    struct records_bulk_outcome *ret_outcome)
{
    struct records_ctx *ctx = import->ctx;
    struct db *db = ctx->db;
    struct db *tx;

    if (!import->config.dry_run)
        return records_bulk_write(ctx, import->entity, bulk, ret_outcome);
    TRY(records_db(ctx, import->entity, db_begin(ctx->task, db, &tx)));
    ctx->db = tx;
    int rc = records_bulk_write(ctx, import->entity, bulk, ret_outcome);
    ctx->db = db;
    db_rollback(tx);
    return rc;
}

AWAITS static int write_chunk(struct import *import)
{
    const struct records_bulk bulk = {.items = import->chunk};
    struct records_bulk_outcome outcome = {0};
    struct records_ctx *ctx = import->ctx;
    const struct model *model = ctx->model;
    struct arena *outer = ctx->task->arena;
    size_t count = json_array_size(import->chunk);

    if (count == 0)
        return import->config.dry_run ? IMPORT_ENOUGH : 0;
    struct arena *arena = arena_new(0);
    ctx->task->arena = arena;
    ctx->reloaded = false;
    int rc;
    do
        rc = import_write_rows(import, &bulk, &outcome);
    while (records_again(ctx, &import->entity, &rc));
    ctx->task->arena = outer;
    keep_model(import, outer, model);
    if (rc != 0)
        keep_error(ctx, outer);
    for (size_t i = 0; rc == 0 && i < outcome.count; i++) {
        const struct records_bulk_result *result = &outcome.results[i];
        if (result->id != 0)
            import->report.done++;
        else
            report_error(import, import->numbers[i], result->error.code, result->error.detail);
    }
    /* Rows that could not be read were reported before those of their chunk. */
    qsort(import->errors, import->report.error_count, sizeof(*import->errors), order_errors);
    arena_free(arena);
    (void)json_array_clear(import->chunk);
    import->chunk_bytes = 0;
    return rc == 0 && import->config.dry_run ? IMPORT_ENOUGH : rc;
}

/* Takes the reference to `row`. */
AWAITS static int import_add_row(struct import *import, json_t *row, size_t bytes)
{
    import->numbers[json_array_size(import->chunk)] = import->rows;
    (void)json_array_append_new(import->chunk, row);
    import->chunk_bytes += bytes;
    if (json_array_size(import->chunk) < CHUNK_ROWS && import->chunk_bytes < CHUNK_BYTES)
        return 0;
    return write_chunk(import);
}

/* --- CSV --- */

/* Set by the service: "version" too, unless the entity has a field of that name. */
static bool passed_over(const struct entity *entity, struct str name)
{
    const struct model_field *field = entity_field(entity, name);

    return field != NULL ? field->system : str_is(name, "version");
}

static bool clean(struct str text)
{
    return utf8_valid(text) && (text.len == 0 || memchr(text.ptr, 0, text.len) == NULL);
}

static const struct import_mapping *mapping_of(const struct import *import, struct str name)
{
    for (size_t i = 0; i < import->config.mapping_count; i++)
        if (str_eq(import->config.mapping[i].column, name))
            return &import->config.mapping[i];
    return NULL;
}

static bool may_import(const struct records_ctx *ctx, const struct model_field *field)
{
    return field_rule_allows(ctx, field, ACT_READ) || field_rule_allows(ctx, field, ACT_CREATE);
}

/* The field of one column; findings for what is none, unless a dry run is to tell so. */
static const struct model_field *find_column(struct import *import, struct str name)
{
    const struct import_mapping *mapping = mapping_of(import, name);
    const struct model_field *field = NULL;

    if (mapping != NULL)
        field = mapping->field;
    else if (!passed_over(import->entity, name))
        field = entity_field(import->entity, name);
    bool known = field != NULL && may_import(import->ctx, field);
    if (!known && mapping == NULL && !passed_over(import->entity, name) && !import->config.dry_run)
        records_finding(import->ctx, name, PROBLEM_UNKNOWN_FIELD, "is not a known field");
    for (size_t i = 0; known && i < import->column_count; i++)
        if (import->columns[i] == field)
            records_finding(import->ctx, name, PROBLEM_VALIDATION_FAILED, "is a column twice");
    return known ? field : NULL;
}

/* A mapping of what is not there is a slip of the pen. */
static void check_mapping(struct import *import, const struct import_row *row)
{
    for (size_t i = 0; i < import->config.mapping_count; i++) {
        struct str wanted = import->config.mapping[i].column;
        size_t at = 0;
        while (at < row->cell_count && !str_eq(str_trim(row->cells[at]), wanted))
            at++;
        if (at == row->cell_count)
            records_finding(
                import->ctx, wanted, PROBLEM_VALIDATION_FAILED, "is no column of the file");
    }
}

/* A field for each cell of the header; what the caller may neither read nor write is unknown. */
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
        if (!clean(name))
            return records_fail(ctx, PROBLEM_VALIDATION_FAILED, "The header is not UTF-8.");
        const struct model_field *field = find_column(import, name);
        import->columns[import->column_count++] = field;
        if (import->preview != NULL)
            import_preview_column(import->preview, name, field);
    }
    check_mapping(import, row);
    return records_fail_found(ctx, PROBLEM_VALIDATION_FAILED);
}

static bool import_is_text(const struct model_field *field)
{
    return field->type == TYPE_VARCHAR || field->type == TYPE_TEXT || field->type == TYPE_SECRET;
}

/* Null or nothing, owned: a cell without a value of a field that has to have one takes its default;
 * so does what the caller may not write, which null would change as well as any value. */
static json_t *empty_cell(const struct records_ctx *ctx, const struct model_field *field)
{
    bool is_left_out = field->required && field->fallback != NULL;

    return is_left_out || !field_rule_allows(ctx, field, ACT_CREATE) ? NULL : json_null();
}

/* The value of a cell, owned; NULL when it is left out. */
static json_t *
read_cell(const struct records_ctx *ctx, const struct model_field *field, struct str cell)
{
    if (cell.ptr == NULL || (!import_is_text(field) && str_trim(cell).len == 0))
        return empty_cell(ctx, field);
    return value_cell(field, field->type == TYPE_SECRET ? cell : cell_unguarded(cell));
}

static int refuse_shape(struct import *import, const struct import_row *row)
{
    char text[96];

    snprintf(text,
             sizeof(text),
             "the row has %zu cells, the header %zu",
             row->cell_count,
             import->column_count);
    report_error(import, import->rows, PROBLEM_VALIDATION_FAILED, str_from(text));
    return 0;
}

AWAITS static int take_cells(struct import *import, const struct import_row *row)
{
    size_t bytes = 0;

    if (row->cell_count != import->column_count)
        return refuse_shape(import, row);
    for (size_t i = 0; i < row->cell_count; i++) {
        bytes += row->cells[i].len;
        if (clean(row->cells[i]))
            continue;
        report_error(
            import, import->rows, PROBLEM_VALIDATION_FAILED, STR("the row is not UTF-8 text"));
        return 0;
    }
    json_t *record = json_object();
    for (size_t i = 0; i < row->cell_count; i++) {
        const struct model_field *field = import->columns[i];
        if (import->preview != NULL)
            import_preview_cell(import->preview, i, cell_unguarded(row->cells[i]));
        json_t *value = field != NULL ? read_cell(import->ctx, field, row->cells[i]) : NULL;
        if (value != NULL)
            (void)json_object_setn_new(record, field->name.ptr, field->name.len, value);
    }
    return import_add_row(import, record, bytes);
}

/* --- JSON --- */

static void drop_members(const struct entity *entity, json_t *record)
{
    void *next;
    const char *key;
    json_t *value;

    json_object_foreach_safe(record, next, key, value)
    {
        if (passed_over(entity, str_from(key)))
            (void)json_object_del(record, key);
    }
}

/* Each member that is mapped goes where it belongs; one that is there under both names is left to
 * the checks of records, which know both. */
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

AWAITS static int take_text(struct import *import, struct str text)
{
    json_t *record = value_document(text);

    if (record == NULL) {
        report_error(import, import->rows, PROBLEM_INVALID_JSON, STR("the row is not valid JSON"));
        return 0;
    }
    if (import->preview != NULL && json_is_object(record))
        import_preview_members(import->preview, import->entity, record);
    map_members(import, record);
    drop_members(import->entity, record);
    return import_add_row(import, record, text.len);
}

/* --- life --- */

AWAITS static int import_take_row(void *arg, const struct import_row *row)
{
    struct import *import = arg;

    if (import->split.format == IMPORT_CSV && !import->header_done)
        return read_header(import, row);
    import->rows++;
    if (row->reason != NULL)
        report_error(import, import->rows, PROBLEM_VALIDATION_FAILED, str_from(row->reason));
    else if (import->split.format == IMPORT_CSV)
        TRY(take_cells(import, row));
    else
        TRY(take_text(import, row->text));
    return import->config.dry_run && import->rows == CHUNK_ROWS ? write_chunk(import) : 0;
}

static void free_chunk(void *chunk)
{
    json_decref(chunk);
}

struct import *records_import_new(struct records_ctx *ctx,
                                  const struct entity *entity,
                                  const struct import_config *config)
{
    struct arena *arena = ctx->task->arena;
    struct import *import = ARENA_NEW(arena, import);

    import->ctx = ctx;
    import->entity = entity;
    import->config = *config;
    if (config->dry_run)
        import->preview = import_preview_new(arena);
    import->chunk = json_array();
    arena_defer(arena, free_chunk, import->chunk);
    import->report.errors = import->errors;
    import_split_init(
        &import->split, ctx->task, config->format, config->csv.separator, import_take_row, import);
    return import;
}

static int import_settle(struct import *import, int rc)
{
    if (rc == IMPORT_ENOUGH) {
        import->enough = true;
        return 0;
    }
    if (rc != IMPORT_BROKEN)
        return rc;
    return records_fail(import->ctx,
                        PROBLEM_VALIDATION_FAILED,
                        "After row %lld: %s.",
                        (long long)import->rows,
                        import->split.reason);
}

int records_import_feed(struct import *import, struct str piece)
{
    return import_settle(import, import_split_feed(&import->split, piece));
}

int records_import_finish(struct import *import)
{
    TRY(import_settle(import, import_split_end(&import->split)));
    if (import->split.format == IMPORT_CSV && !import->header_done)
        return records_fail(import->ctx, PROBLEM_VALIDATION_FAILED, "The file has no header row.");
    return import_settle(import, write_chunk(import));
}

/* --- dry runs --- */

bool records_import_enough(const struct import *import)
{
    return import->enough;
}

void records_import_preview(const struct import *import, struct strbuf *out)
{
    struct jw w;

    jw_init(&w, out);
    jw_obj(&w);
    JW_I64(&w, "rows", import->rows);
    JW_I64(&w, "taken", import->report.done);
    JW_I64(&w, "refused", import->report.failed);
    jw_lit(&w, "columns");
    import_preview_json(import->preview, &w);
    jw_lit(&w, "errors");
    import_put_errors(import, &w);
    jw_obj_end(&w);
}
