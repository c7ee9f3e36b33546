/*
 * Import: the upload is read and written at the same time, so that the file never lies in memory or
 * on disk as a whole, and a client that sends faster than PostgreSQL writes is slowed down. Rows
 * are written in chunks. Each chunk commits together with the task row, so the row counts of the
 * task are true even after a crash. Another request may resume the task. From then on only that
 * request can write rows for the task.
 */
#include "areas/items/items_import.h"

#include <errno.h>

#include "areas/items/items_csv.h"
#include "base/clock.h"
#include "http/multipart.h"
#include "items/items.h"
#include "json/jr.h"
#include "records/import.h"
#include "tasks_sql.h"

#define PROGRESS_MS     1000
#define STOP_TIMEOUT_MS 2000 /* time to update the task row of an import that was cut off */

struct upload {
    struct req *r;
    struct records_ctx *ctx;
    struct multipart *multipart;
    struct import *import;
    int64_t task_id;
    int64_t attempt; /* 1 for the request that began the task; each resume adds 1 */
    int64_t reported_ms;
    int64_t done_before; /* rows imported by earlier requests */
};

/* --- the uploaded file --- */

static bool format_find(struct str name, enum import_format *ret_format)
{
    static const struct {
        const char *name;
        enum import_format format;
    } known[] = {{"csv", IMPORT_CSV},
                 {"json", IMPORT_JSON},
                 {"jsonl", IMPORT_JSONL},
                 {"ndjson", IMPORT_JSONL}};

    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        if (str_ieq(name, str_from(known[i].name))) {
            *ret_format = known[i].format;
            return true;
        }
    }
    return false;
}

/* Finds the format by the query parameter, else by the extension of the file name, else by the end
 * of the content type ("text/csv"). */
static int find_format(struct req *r,
                       struct str wanted,
                       const struct multipart_part *part,
                       enum import_format *ret_format)
{
    struct str candidates[] = {wanted, part->filename, part->content_type};
    static const char separators[] = {0, '.', '/'};

    for (size_t i = 0; i < ARRAY_LEN(candidates); i++) {
        struct str rest = candidates[i];
        struct str last = rest;
        while (separators[i] && rest.ptr)
            last = str_split(&rest, separators[i]);
        if (format_find(str_trim(str_split(&last, ';')), ret_format))
            return 0;
    }
    return fail(r,
                PROBLEM_UNSUPPORTED_MEDIA_TYPE,
                "Name the file .csv, .json or .jsonl, or send format=csv, json or jsonl.");
}

AWAITS static int
find_file(struct upload *upload, struct str wanted, enum import_format *ret_format)
{
    struct req *r = upload->r;
    struct multipart_part part;

    do {
        TRY(gateway_multipart_check(
            r, upload->multipart, multipart_next(upload->multipart, &part)));
        if (!part.name.ptr)
            return fail_field(r, "file", PROBLEM_REQUIRED, "the upload has no part named 'file'");
    } while (!str_is(part.name, "file"));
    return find_format(r, wanted, &part, ret_format);
}

/* --- the task row --- */

static struct str errors_json(struct req *r, const struct import_report *report)
{
    struct strbuf out;

    strbuf_init(&out, r->task.arena, 1024UL * 1024);
    records_import_errors(report, &out);
    return strbuf_view(&out);
}

/* co: Stores the progress in the task row. Matches import_progress_fn. */
AWAITS static int task_store_progress(void *arg,
                                      struct db *tx,
                                      const struct import_progress *progress,
                                      bool *ret_is_held)
{
    struct upload *upload = arg;
    struct req *r = upload->r;
    struct rows stored;

    int rc = db_query(&r->task,
                      tx,
                      SQL_TASK_PROGRESS(.id = upload->task_id,
                                        .run = upload->attempt,
                                        .done = progress->report->done,
                                        .failed = progress->report->failed,
                                        .errors = errors_json(r, progress->report),
                                        .rows = progress->rows,
                                        .digest = progress->digest),
                      &stored);
    *ret_is_held = rc != 0 || stored.count > 0;
    upload->reported_ms = clock_mono_ms();
    return rc;
}

/* co: Touches the task row at intervals, because a slow upload must not count as interrupted. */
AWAITS static int task_touch(struct upload *upload)
{
    if (clock_mono_ms() - upload->reported_ms < PROGRESS_MS)
        return 0;
    upload->reported_ms = clock_mono_ms();
    return sql_exec(
        upload->r, NULL, SQL_TASK_KEEP_ALIVE(.id = upload->task_id, .run = upload->attempt));
}

static int fail_resumed_elsewhere(struct req *r)
{
    return fail(r, PROBLEM_CONFLICT, "Another request has resumed this import.");
}

AWAITS static int finish_task(struct upload *upload)
{
    struct req *r = upload->r;
    const struct import_progress progress = records_import_progress(upload->import);
    const struct import_report *report = progress.report;
    const char *status = "succeeded";
    int64_t affected;

    if (report->failed)
        status = report->done ? "partial" : "failed";
    TRY(sql_exec(r,
                 &affected,
                 SQL_TASK_FINISH(.id = upload->task_id,
                                 .run = upload->attempt,
                                 .status = str_from(status),
                                 .done = report->done,
                                 .failed = report->failed,
                                 .errors = errors_json(r, report),
                                 .rows = progress.rows,
                                 .digest = progress.digest)));
    return affected ? 0 : fail_resumed_elsewhere(r);
}

/* co: Marks the task as failed, because the import ended before the file did. *ret_stopped (may be
 * NULL) is 0 when another request has resumed the import. */
AWAITS static int
stop_task(struct upload *upload, enum problem code, struct str detail, int64_t *ret_stopped)
{
    return sql_exec(upload->r,
                    ret_stopped,
                    SQL_TASK_FAIL(.id = upload->task_id,
                                  .run = upload->attempt,
                                  .code = str_from(problem_code(code)),
                                  .detail = detail));
}

/* co: Marks the task as failed after the client disconnected or the deadline passed. The statement
 * gets a deadline of its own and is not cancelled. */
AWAITS static void task_stop_aborted(struct upload *upload, int rc)
{
    struct task *task = &upload->r->task;
    bool cancelled = task->cancelled;
    int64_t deadline_ms = task->deadline_ms;

    task->cancelled = false;
    task->deadline_ms = clock_mono_ms() + STOP_TIMEOUT_MS;
    if (rc == -ETIMEDOUT)
        (void)stop_task(upload, PROBLEM_TIMEOUT, STR("the import took too long"), NULL);
    else
        (void)stop_task(upload, PROBLEM_BAD_REQUEST, STR("the upload ended early"), NULL);
    task->cancelled = cancelled;
    task->deadline_ms = deadline_ms;
}

/* Reads the report of the task row, with which the import continues. */
static int
read_report(struct req *r, const struct sql_task_resume_row *row, struct import_report **ret_report)
{
    struct import_report *report = ARENA_NEW(r->task.arena, report);
    struct jr_error error;
    json_t *errors;

    report->done = row->done;
    report->failed = row->failed;
    if (jr_parse(r->task.arena, row->errors, &errors, &error))
        return ERROR(-EINVAL);
    for (size_t i = 0; i < json_array_size(errors) && i < IMPORT_ERRORS_MAX; i++) {
        const json_t *item = json_array_get(errors, i);
        report->errors[report->error_count++] = (struct import_error){
            .row = json_integer_value(json_object_get(item, "row")),
            .code = problem_find(json_string_value(json_object_get(item, "code"))),
            .detail = str_from(json_string_value(json_object_get(item, "detail"))),
        };
    }
    *ret_report = report;
    return 0;
}

/* co: Takes the task over, also from a request that is still importing. That request writes no more
 * rows. */
AWAITS static int resume_task(struct upload *upload,
                              const struct entity *entity,
                              int64_t task_id,
                              struct import_config *config)
{
    struct req *r = upload->r;
    struct import_report *report = NULL;
    struct rows rows;

    TRY(sql_one(r,
                &rows,
                SQL_TASK_STATUS(.id = task_id,
                                .created_by = r->scope->caller->user_id,
                                .entity_id = entity->id)));
    TRY(sql_all(r, &rows, SQL_TASK_RESUME(.id = task_id)));
    if (!rows.count)
        return fail(r, PROBLEM_CONFLICT, "This import has ended: there is nothing to resume.");
    const struct sql_task_resume_row row = sql_task_resume_row(&rows, 0);
    TRY(read_report(r, &row, &report));
    upload->task_id = task_id;
    upload->attempt = row.run;
    upload->done_before = row.done;
    config->resume_from =
        (struct import_progress){.rows = row.rows, .digest = row.digest, .report = report};
    return 0;
}

AWAITS static int start_task(struct upload *upload, const struct entity *entity)
{
    struct req *r = upload->r;
    struct rows task;

    TRY(sql_one(r,
                &task,
                SQL_TASK_ADD(.created_by = r->scope->caller->user_id,
                             .entity = entity->name,
                             .entity_id = entity->id)));
    upload->task_id = sql_task_add_row(&task, 0).id;
    upload->attempt = 1;
    return 0;
}

/* --- feeding the file --- */

AWAITS static int import_feed(struct upload *upload, int *ret_records_rc)
{
    struct str chunk;

    for (;;) {
        TRY(gateway_multipart_check(
            upload->r, upload->multipart, multipart_read(upload->multipart, &chunk)));
        *ret_records_rc = chunk.len ? records_import_feed(upload->import, chunk)
                                    : records_import_finish(upload->import);
        if (*ret_records_rc || !chunk.len)
            return *ret_records_rc < 0 ? *ret_records_rc : 0;
        TRY(task_touch(upload));
    }
}

/* --- query parameters --- */

/* Reads mode=upsert and on_conflict, which is the id or a unique field as in the bulk route. */
static int read_mode(struct req *r,
                     const struct entity *entity,
                     const struct query *query,
                     struct import_config *config)
{
    struct str name = query_get(query, "on_conflict");
    bool is_upsert = str_is(query_get(query, "mode"), "upsert");

    if (!is_upsert && name.ptr)
        return fail(
            r, PROBLEM_INVALID_QUERY, "Query parameter 'on_conflict' is for mode=upsert only.");
    if (!is_upsert)
        return 0;
    if (!name.len)
        return fail(r,
                    PROBLEM_INVALID_QUERY,
                    "mode=upsert needs on_conflict: id, or the name of a unique field.");
    if (!caller_can_entity(r->scope->caller, entity->id, ACT_UPDATE))
        return fail(
            r, PROBLEM_FORBIDDEN, "This needs the permission %.*s:update.", STR_ARG(entity->name));
    const struct model_field *field = entity_field(entity, name);
    if (!field || !caller_can_field(r->scope->caller, field, ACT_READ))
        return fail(r,
                    PROBLEM_INVALID_QUERY,
                    "Query parameter 'on_conflict': the entity has no such field.");
    if (!str_is(name, "id") && (!field->unique || field->system))
        return fail(r,
                    PROBLEM_INVALID_QUERY,
                    "Query parameter 'on_conflict': must be id or a unique field.");
    config->key = field;
    return 0;
}

/* Reads mapping[column]=field. A column with an empty field is not imported. */
static int read_mapping(struct req *r,
                        const struct entity *entity,
                        const struct query *query,
                        struct import_config *config)
{
    struct import_mapping *mapping = ARENA_ARRAY(r->task.arena, mapping, query->count + 1);

    for (size_t i = 0; i < query->count; i++) {
        const struct query_item *item = &query->items[i];
        if (!str_is(item->name, "mapping"))
            continue;
        if (item->key_count != 1)
            return fail(r,
                        PROBLEM_INVALID_QUERY,
                        "Query parameter 'mapping': write mapping[column]=field.");
        const struct model_field *field = entity_field(entity, item->value);
        bool is_key = field && field == config->key;
        if (item->value.len && (!field || (field->system && !is_key)))
            return fail(r,
                        PROBLEM_INVALID_QUERY,
                        "Query parameter 'mapping': %.*s is not a field that can be imported.",
                        STR_ARG(item->value));
        mapping[config->mapping_count++] =
            (struct import_mapping){.column = item->keys[0], .field = field};
    }
    config->mapping = mapping;
    return 0;
}

/* co: Reads the query parameters, and the multipart body up to the file. */
AWAITS static int open_upload(struct req *r,
                              const struct entity *entity,
                              const struct items_import_config *in,
                              struct upload *upload,
                              struct import_config *ret_config)
{
    const struct app_conf *conf = (const struct app_conf *)(const void *)daemon_app()->conf;

    *upload = (struct upload){.r = r, .ctx = items_ctx(r)};
    *ret_config = (struct import_config){0};
    TRY(read_mode(r, entity, in->query, ret_config));
    TRY(read_mapping(r, entity, in->query, ret_config));
    int rc = multipart_new(r, conf->upload_bytes, &upload->multipart);
    if (rc == MULTIPART_INVALID)
        return fail(r, PROBLEM_UNSUPPORTED_MEDIA_TYPE, "Send the file as multipart/form-data.");
    if (rc)
        return gateway_upload_check(r, rc);
    TRY(find_file(upload, in->format, &ret_config->format));
    return items_csv_read(r, in->query, ret_config->format == IMPORT_CSV, &ret_config->csv);
}

/* co: Ends an import that stopped before the file did. Returns 0 when the request has imported
 * rows: the response is then the task. */
AWAITS static int import_end_stopped(struct upload *upload, int rc, int records_rc)
{
    struct req *r = upload->r;
    const struct records_error *error = &upload->ctx->error;
    int64_t stopped;

    if (records_rc)
        TRY(stop_task(upload, error->code, error->detail, &stopped));
    else
        TRY(stop_task(
            upload, problem_find(r->error_code), STR("the upload was not complete"), &stopped));
    if (rc)
        return rc;
    if (!stopped)
        return fail_resumed_elsewhere(r);
    if (records_import_report(upload->import)->done == upload->done_before)
        return items_reply_error(r, upload->ctx, records_rc);
    return 0;
}

int items_import_run(struct req *r,
                     const struct entity *entity,
                     const struct items_import_config *in,
                     int64_t *ret_task_id)
{
    struct upload *upload = ARENA_NEW(r->task.arena, upload);
    struct import_config config;
    int records_rc = 0;

    TRY(open_upload(r, entity, in, upload, &config));
    TRY(in->resume ? resume_task(upload, entity, in->resume, &config) : start_task(upload, entity));
    config.progress = task_store_progress;
    config.progress_arg = upload;
    upload->reported_ms = clock_mono_ms();
    upload->import = records_import_new(upload->ctx, entity, &config);
    int rc = import_feed(upload, &records_rc);
    if (rc < 0) {
        task_stop_aborted(upload, rc);
        return rc;
    }
    if (rc || records_rc)
        TRY(import_end_stopped(upload, rc, records_rc));
    else
        TRY(finish_task(upload));
    *ret_task_id = upload->task_id;
    return 0;
}

int items_import_preview(struct req *r,
                         const struct entity *entity,
                         const struct items_import_config *in)
{
    struct upload *upload = ARENA_NEW(r->task.arena, upload);
    struct import_config config;
    struct str chunk;
    int rc = 0;

    TRY(open_upload(r, entity, in, upload, &config));
    config.dry_run = true;
    upload->import = records_import_new(upload->ctx, entity, &config);
    do {
        TRY(gateway_multipart_check(
            r, upload->multipart, multipart_read(upload->multipart, &chunk)));
        rc = chunk.len ? records_import_feed(upload->import, chunk)
                       : records_import_finish(upload->import);
    } while (rc == 0 && chunk.len && !records_import_is_enough(upload->import));
    TRY(items_reply_error(r, upload->ctx, rc));
    resp_json(r);
    records_import_preview(upload->import, &r->body);
    return reply_json(r, 200);
}
