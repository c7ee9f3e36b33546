/*
 * Import: the upload is read and written at the same time, so that it never lies in memory or on
 * disk, and a client that sends faster than PostgreSQL writes is slowed down. Rows are written in
 * chunks that commit one by one; the task row follows once a second.
 */
#include "areas/items/items_import.h"

#include <errno.h>

#include "areas/items/items.h"
#include "areas/items/items_csv.h"
#include "base/clock.h"
#include "http/multipart.h"
#include "records/import.h"
#include "tasks_sql.h"

#define PROGRESS_MS 1000
#define LAST_MS     2000 /* for the task row of an import that was cut off */

struct upload {
    struct req *r;
    struct records_ctx *ctx;
    struct multipart *multipart;
    struct import *import;
    int64_t task_id;
    int64_t reported_ms;
};

/* --- what is uploaded --- */

static bool named_format(struct str name, enum import_format *ret_format)
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

/* The query's word, else the file name's ending, else the end of the content type ("text/csv"). */
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
        if (named_format(str_trim(str_split(&last, ';')), ret_format))
            return 0;
    }
    return fail(r,
                PROBLEM_UNSUPPORTED_MEDIA_TYPE,
                "Name the file .csv, .json or .jsonl, or say format=csv, json or jsonl.");
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

static struct str errors_json(struct upload *upload)
{
    struct strbuf out;

    strbuf_init(&out, upload->r->task.arena, 1024UL * 1024);
    records_import_errors(records_import_report(upload->import), &out);
    return strbuf_view(&out);
}

AWAITS static int report_progress(struct upload *upload)
{
    const struct import_report *report = records_import_report(upload->import);

    if (clock_mono_ms() - upload->reported_ms < PROGRESS_MS)
        return 0;
    upload->reported_ms = clock_mono_ms();
    return sql_exec(upload->r,
                    NULL,
                    SQL_TASK_PROGRESS(.id = upload->task_id,
                                      .done = report->done,
                                      .failed = report->failed,
                                      .errors = errors_json(upload)));
}

AWAITS static int finish_task(struct upload *upload, bool whole)
{
    const struct import_report *report = records_import_report(upload->import);
    const char *status = "succeeded";

    if (!whole || (report->failed && !report->done))
        status = "failed";
    else if (report->failed)
        status = "partial";
    return sql_exec(upload->r,
                    NULL,
                    SQL_TASK_FINISH(.id = upload->task_id,
                                    .status = str_from(status),
                                    .done = report->done,
                                    .failed = report->failed,
                                    .errors = errors_json(upload)));
}

/* The caller left, or the time is over: the task row still learns what was written. */
AWAITS static void finish_late(struct upload *upload, int rc)
{
    struct task *task = &upload->r->task;
    bool cancelled = task->cancelled;
    int64_t deadline_ms = task->deadline_ms;

    if (rc == -ETIMEDOUT)
        records_import_stopped(upload->import, PROBLEM_TIMEOUT, STR("the import took too long"));
    else
        records_import_stopped(upload->import, PROBLEM_BAD_REQUEST, STR("the upload ended early"));
    task->cancelled = false;
    task->deadline_ms = clock_mono_ms() + LAST_MS;
    (void)finish_task(upload, false);
    task->cancelled = cancelled;
    task->deadline_ms = deadline_ms;
}

/* --- the way of the file --- */

AWAITS static int feed(struct upload *upload, int *ret_records_rc)
{
    struct str piece;

    for (;;) {
        TRY(gateway_multipart_check(
            upload->r, upload->multipart, multipart_read(upload->multipart, &piece)));
        *ret_records_rc = piece.len ? records_import_feed(upload->import, piece)
                                    : records_import_finish(upload->import);
        if (*ret_records_rc || !piece.len)
            return *ret_records_rc < 0 ? *ret_records_rc : 0;
        TRY(report_progress(upload));
    }
}

AWAITS static int start_task(struct upload *upload, const struct entity *entity)
{
    struct req *r = upload->r;
    struct strbuf doc;
    struct rows task;
    struct jw w;

    strbuf_init(&doc, r->task.arena, 1024);
    jw_init(&w, &doc);
    jw_obj(&w);
    JW_STR(&w, "entity", entity->name);
    jw_obj_end(&w);
    TRY(sql_one(r,
                &task,
                SQL_TASK_ADD(.kind = STR("import"),
                             .created_by = r->scope->caller->user_id,
                             .doc = strbuf_view(&doc))));
    upload->task_id = sql_task_add_row(&task, 0).id;
    upload->reported_ms = clock_mono_ms();
    return 0;
}

/* --- what the query says --- */

/* mode=upsert and on_conflict, which is the id or a field as the bulk route takes it. */
static int read_mode(struct req *r,
                     const struct entity *entity,
                     const struct query *query,
                     struct import_config *config)
{
    struct str name = query_get(query, "on_conflict");
    bool is_upsert = str_is(query_get(query, "mode"), "upsert");

    if (!is_upsert && name.ptr)
        return fail(
            r, PROBLEM_INVALID_QUERY, "Query parameter 'on_conflict' goes with mode=upsert.");
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
    if (!field || !caller_field(r->scope->caller, field, ACT_READ))
        return fail(r,
                    PROBLEM_INVALID_QUERY,
                    "Query parameter 'on_conflict': the entity has no such field.");
    if (!str_is(name, "id") && (!field->unique || field->system))
        return fail(r,
                    PROBLEM_INVALID_QUERY,
                    "Query parameter 'on_conflict': the field must be id, or unique.");
    config->key = field;
    return 0;
}

/* mapping[column]=field; an empty one goes nowhere. */
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
            return fail(r, PROBLEM_INVALID_QUERY, "Write mapping[column]=field.");
        const struct model_field *field = entity_field(entity, item->value);
        bool is_key = field && field == config->key;
        if (item->value.len && (!field || (field->system && !is_key)))
            return fail(r,
                        PROBLEM_INVALID_QUERY,
                        "Query parameter 'mapping': %.*s is no field that is imported.",
                        STR_ARG(item->value));
        mapping[config->mapping_count++] =
            (struct import_mapping){.column = item->keys[0], .field = field};
    }
    config->mapping = mapping;
    return 0;
}

/* co: the multipart body up to the file. */
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

int items_import_run(struct req *r,
                     const struct entity *entity,
                     const struct items_import_config *in,
                     int64_t *ret_task_id)
{
    struct upload *upload = ARENA_NEW(r->task.arena, upload);
    struct import_config config;
    int records_rc = 0;

    TRY(open_upload(r, entity, in, upload, &config));
    TRY(start_task(upload, entity));
    upload->import = records_import_new(upload->ctx, entity, &config);
    int rc = feed(upload, &records_rc);
    if (rc < 0) {
        finish_late(upload, rc);
        return rc;
    }
    if (records_rc)
        records_import_stopped(upload->import, upload->ctx->error.code, upload->ctx->error.detail);
    else if (rc)
        records_import_stopped(
            upload->import, problem_find(r->error_code), STR("the upload was not complete"));
    TRY(finish_task(upload, rc == 0 && records_rc == 0));
    if (rc)
        return rc;
    if (records_rc && !records_import_report(upload->import)->done)
        return items_check(r, upload->ctx, records_rc);
    *ret_task_id = upload->task_id;
    return 0;
}

int items_import_try(struct req *r,
                     const struct entity *entity,
                     const struct items_import_config *in)
{
    struct upload *upload = ARENA_NEW(r->task.arena, upload);
    struct import_config config;
    struct str piece;
    int rc = 0;

    TRY(open_upload(r, entity, in, upload, &config));
    config.dry_run = true;
    upload->import = records_import_new(upload->ctx, entity, &config);
    do {
        TRY(gateway_multipart_check(
            r, upload->multipart, multipart_read(upload->multipart, &piece)));
        rc = piece.len ? records_import_feed(upload->import, piece)
                       : records_import_finish(upload->import);
    } while (rc == 0 && piece.len && !records_import_enough(upload->import));
    TRY(items_check(r, upload->ctx, rc));
    resp_json(r);
    records_import_preview(upload->import, &r->body);
    return reply_json(r, 200);
}
