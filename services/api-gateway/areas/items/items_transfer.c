/* /entities/{entity}/items/export and import: any number of records in constant memory. */
#include <errno.h>

#include "areas/items/items_csv.h"
#include "areas/items/items_import.h"
#include "base/num.h"
#include "items/items.h"

#define EXPORT_TIMEOUT_MS (10 * 60 * 1000)
#define IMPORT_TIMEOUT_MS (10 * 60 * 1000)

/* --- export --- */

static const struct query_param export_query[] = {
    {.name = "format",
     .type = FIELD_STR,
     .values = (const char *const[]){"csv", "jsonl", NULL},
     .fallback = "jsonl",
     .doc = "csv: RFC 4180 with a header row; jsonl: one JSON object per line"},
    CSV_SEPARATOR_PARAM("comma", "Separator between the cells of CSV"),
    {.name = "bom",
     .type = FIELD_BOOL,
     .fallback = "false",
     .doc = "Whether the CSV begins with a byte order mark, so that Excel recognises UTF-8"},
    CSV_DECIMAL_PARAM,
    CSV_DATES_PARAM,
    {.name = "filter", .type = FIELD_STR, .deep = true, .doc = "As in the list of records"},
    {.name = "sort", .type = FIELD_STR, .doc = "As in the list of records"},
    {.name = "order",
     .type = FIELD_STR,
     .values = page_orders,
     .doc = "Direction for a single sort field"},
    {.name = "fields", .type = FIELD_STR, .doc = "Fields to export, separated by commas"},
    {0},
};

struct export_stream {
    struct req *r;
    const struct entity *entity;
    const struct csv_style *csv; /* NULL = JSON Lines */
    bool has_begun;
};

/* co: Sends the response head with the first chunk, so that a failure before the first chunk can
 * still be a problem response. */
AWAITS static int export_chunk(struct str chunk, void *arg)
{
    struct export_stream *stream = arg;

    if (!stream->has_begun) {
        resp_header_printf(stream->r,
                           "Content-Disposition",
                           "attachment; filename=\"%.*s.%s\"",
                           STR_ARG(stream->entity->name),
                           stream->csv ? "csv" : "jsonl");
        TRY(resp_stream_begin(stream->r,
                              200,
                              stream->csv ? STR("text/csv; charset=utf-8")
                                          : STR("application/jsonl")));
        stream->has_begun = true;
    }
    return resp_stream_write(stream->r, chunk);
}

AWAITS static int items_export(struct req *r)
{
    struct records_ctx *ctx = items_ctx(r);
    struct records_query wanted;
    const struct query *query;
    struct csv_style style;
    int rc;

    TRY(req_query(r, &query));
    TRY(items_reply_error(r, ctx, items_query_read(ctx, query, &wanted)));
    bool is_csv = str_is(query_get(query, "format"), "csv");
    TRY(items_csv_read(r, query, is_csv, &style));
    struct export_stream stream = {
        .r = r, .entity = r->scope->entity, .csv = is_csv ? &style : NULL};
    rc = records_export(ctx, r->scope->entity, &wanted, stream.csv, export_chunk, &stream);
    if (!stream.has_begun && rc == 0)
        TRY(export_chunk(STR(""), &stream));
    if (!stream.has_begun)
        return items_reply_error(r, ctx, rc);
    if (rc)
        return rc < 0 ? rc
                      : ERROR(-EPIPE); /* too late for another status: the stream ends unfinished */
    TRY(resp_stream_end(r));
    return 200;
}

/* --- import --- */

static const struct query_param import_query[] = {
    {.name = "format",
     .type = FIELD_STR,
     .values = (const char *const[]){"csv", "json", "jsonl", NULL},
     .doc = "Format of the uploaded file; detected by its name or content type when left out"},
    CSV_SEPARATOR_PARAM(
        NULL, "Separator between the cells of CSV; detected in the header row when left out"),
    CSV_DECIMAL_PARAM,
    CSV_DATES_PARAM,
    {.name = "mode",
     .type = FIELD_STR,
     .values = (const char *const[]){"create", "upsert", NULL},
     .fallback = "create",
     .doc = "upsert: a row changes the record that on_conflict finds, which needs the permission "
            "to update, too; fields without a column keep their value"},
    {.name = "on_conflict",
     .type = FIELD_STR,
     .doc = "With mode=upsert: a unique field, by whose value the record is found (a new value "
            "creates a record), or id (a row without an id creates a record)"},
    {.name = "mapping",
     .type = FIELD_STR,
     .deep = true,
     .doc = "mapping[column]=field: the field for a column of the file; an empty field skips the "
            "column"},
    {.name = "resume",
     .type = FIELD_I64,
     .has_min = true,
     .min = 1,
     .doc = "Id of the task of an unfinished import: send the same file again; rows that the task "
            "has already processed are skipped"},
    DRY_RUN_PARAM("Import nothing: the first 200 rows are tried and rolled back"),
    {0},
};

static const struct field import_preview_column_fields[] = {
    {.name = "column",
     .type = FIELD_STR,
     .required = true,
     .doc = "Name of the column in the file"},
    {.name = "field",
     .type = FIELD_STR,
     .required = true,
     .nullable = true,
     .doc = "Field that gets the values; null: the column is skipped"},
    {.name = "type",
     .type = FIELD_STR,
     .required = true,
     .nullable = true,
     .doc = "Type of the field"},
    {.name = "guessed_type",
     .type = FIELD_STR,
     .required = true,
     .nullable = true,
     .doc = "The narrowest type that fits all values of the column; null: the column is empty"},
    {.name = "filled", .type = FIELD_I64, .required = true},
    {.name = "empty", .type = FIELD_I64, .required = true},
    {.name = "examples", .type = FIELD_STRS, .required = true},
};
static const struct schema import_preview_column_schema =
    SCHEMA_OUT("ImportColumn", import_preview_column_fields);
static const struct field import_preview_error_fields[] = {
    {.name = "row",
     .type = FIELD_I64,
     .required = true,
     .doc = "Number of the row, from 1, without the header"},
    {.name = "code", .type = FIELD_STR, .required = true},
    {.name = "detail", .type = FIELD_STR, .required = true},
};
static const struct schema import_preview_error_schema =
    SCHEMA_OUT("ImportError", import_preview_error_fields);
static const struct field import_preview_fields[] = {
    {.name = "rows", .type = FIELD_I64, .required = true, .doc = "Number of rows that were read"},
    {.name = "taken", .type = FIELD_I64, .required = true},
    {.name = "refused", .type = FIELD_I64, .required = true},
    {.name = "columns", .type = FIELD_LIST, .required = true, .sub = &import_preview_column_schema},
    {.name = "errors", .type = FIELD_LIST, .required = true, .sub = &import_preview_error_schema},
};
static const struct schema import_preview_schema = SCHEMA_OUT("ImportTried", import_preview_fields);

static const struct field import_out_fields[] = {
    {.name = "task_id",
     .type = FIELD_I64,
     .required = true,
     .doc = "Id of the task; GET /tasks/{id} shows the progress"},
};
static const struct schema import_out_schema = SCHEMA_OUT("ImportStarted", import_out_fields);

AWAITS static int items_import(struct req *r)
{
    const struct query *query;
    int64_t task_id;
    struct jw w;

    TRY(req_query(r, &query));
    struct items_import_config config = {.format = query_get(query, "format"), .query = query};
    bool resumes = num_parse_i64(query_get(query, "resume"), &config.resume);
    bool tries = str_is(query_get(query, "dry_run"), "true");
    if (resumes && tries)
        return fail(
            r, PROBLEM_INVALID_QUERY, "Query parameter 'resume' cannot be used in a dry run.");
    if (tries)
        return items_import_preview(r, r->scope->entity, &config);
    TRY(items_import_run(r, r->scope->entity, &config, &task_id));
    w = resp_json(r);
    jw_obj(&w);
    JW_I64(&w, "task_id", task_id);
    jw_obj_end(&w);
    resp_header_printf(r,
                       "Location",
                       "/org/%.*s/tasks/%lld",
                       STR_ARG(r->scope->project->slug),
                       (long long)task_id);
    return reply_json(r, 202);
}

static const struct route items_transfer_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = "/entities/{entity}/items/export",
        .id = "items_export",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_ENTITY_READ,
        .perm_and = PERM_SVC_EXPORTS_CREATE,
        .query = export_query,
        .headers = HEADER_GROUP_ID,
        .success = {200, NULL, .content_type = "application/jsonl", .other_type = "text/csv"},
        .extra_statuses = {404},
        .run = items_export,
        .class = CLASS_HEAVY,
        .timeout_ms = EXPORT_TIMEOUT_MS,
        .summary = "Export records as CSV or JSON Lines, streamed",
    },
    {
        .method = HTTP_POST_M,
        .path = "/entities/{entity}/items/import",
        .id = "items_import",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_ENTITY_CREATE,
        .query = import_query,
        .body_type = "multipart/form-data",
        .success = {202, &import_out_schema},
        .dry_run = &import_preview_schema,
        .extra_statuses = {404, 408, 409},
        .run = items_import,
        .class = CLASS_HEAVY,
        .timeout_ms = IMPORT_TIMEOUT_MS,
        .summary = "Import records from a CSV, JSON or JSON Lines file, streamed",
    },
};
ROUTES(items_transfer, "Records");
