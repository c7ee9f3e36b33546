/*
 * Resumable uploads by the tus protocol 1.0: core, creation, termination, expiration. An upload
 * belongs to its creator. Its requests may go to any gateway.
 */
#include "areas/files/files.h"
#include "base/clock.h"
#include "base/num.h"
#include "files/name.h"
#include "files/resume.h"
#include <errno.h>

#define TUS_VERSION        "1.0.0"
#define TUS_BODY           "application/offset+octet-stream"
#define TUS_METADATA_BYTES 4096

static const struct query_param tus_query[] = {
    {.name = "folder_id",
     .type = FIELD_I64,
     .has_min = true,
     .min = 1,
     .doc = "Folder that the file is put into"},
    {.name = "is_public",
     .type = FIELD_BOOL,
     .fallback = "false",
     .doc = "Whether anyone can read the file at /files/{id}/public"},
    {0},
};

static const struct field tus_fields[] = {
    {.name = "id", .type = FIELD_STR, .required = true},
    {.name = "filename", .type = FIELD_STR, .required = true},
    {.name = "length", .type = FIELD_I64, .required = true, .doc = "Bytes of the whole file"},
    {.name = "offset", .type = FIELD_I64, .required = true, .doc = "Bytes that were received"},
    {.name = "file_id",
     .type = FIELD_I64,
     .required = true,
     .nullable = true,
     .doc = "The file that the upload has become, once all bytes were received"},
    {.name = "expires_at", .type = FIELD_TIME, .required = true},
};
static const struct schema tus_schema = SCHEMA_OUT("FileUpload", tus_fields);

static uint64_t tus_max(void)
{
    return ((const struct app_conf *)(const void *)daemon_app()->conf)->upload_bytes;
}

/* --- headers --- */

/* Every response has the header Tus-Resumable, and every request must have it. */
static int tus_check_version(struct req *r)
{
    resp_header(r, "Tus-Resumable", STR(TUS_VERSION));
    if (str_is(req_header(r, "tus-resumable"), TUS_VERSION))
        return 0;
    resp_header(r, "Tus-Version", STR(TUS_VERSION));
    return fail(r, PROBLEM_PRECONDITION_FAILED, "Tus-Resumable must be " TUS_VERSION ".");
}

static int tus_number(struct req *r, const char *name, int64_t *ret_value)
{
    if (num_parse_i64(req_header(r, name), ret_value) && *ret_value >= 0)
        return 0;
    return fail(r, PROBLEM_BAD_REQUEST, "%s must be a number.", name);
}

static void tus_headers(struct req *r, const struct resumable_upload *resume)
{
    char date[CLOCK_TEXT_BYTES];

    resp_header_printf(r, "Upload-Offset", "%lld", (long long)resume->received);
    resp_header_printf(r, "Upload-Expires", "%s GMT", clock_format_mail(date, resume->expires_ms));
    if (resume->file_id.set)
        resp_header_printf(r,
                           "Content-Location",
                           "/org/%.*s/files/%lld",
                           STR_ARG(r->scope->project->slug),
                           (long long)resume->file_id.value);
}

/* --- requests --- */

static struct upload_config tus_config(struct req *r)
{
    return (struct upload_config){
        .task = &r->task,
        .directory = gateway_directory(),
        .project = r->scope->project,
        .quota = r->scope->project->settings.storage_quota,
        .created_by = r->scope->caller->user_id,
    };
}

AWAITS static int tus_folder(struct req *r, struct resumable_upload *resume)
{
    const struct query *query;
    int64_t folder_id = 0;

    TRY(req_query(r, &query));
    struct str folder = query_get(query, "folder_id");
    if (folder.ptr && !num_parse_i64(folder, &folder_id))
        return fail(r, PROBLEM_INVALID_QUERY, NULL);
    TRY(files_check_folder(r, "folder_id", folder_id));
    resume->folder_id = some_id(folder_id);
    resume->is_public = str_is(query_get(query, "is_public"), "true");
    return 0;
}

AWAITS static int tus_create(struct req *r)
{
    struct upload_config config = tus_config(r);
    struct resumable_upload resume = {.metadata = req_header(r, "upload-metadata")};

    TRY(tus_check_version(r));
    TRY(files_check_store(r));
    TRY(tus_number(r, "upload-length", &resume.length));
    if ((uint64_t)resume.length > tus_max())
        return gateway_upload_check(r, REQ_BODY_TOO_LARGE);
    if (resume.metadata.len > TUS_METADATA_BYTES ||
        !file_name_of_metadata(r->task.arena, resume.metadata, &resume.filename))
        return fail(r, PROBLEM_BAD_REQUEST, "Upload-Metadata is not valid, or too long.");
    if (!resume.metadata.ptr)
        resume.metadata = STR("");
    TRY(tus_folder(r, &resume));
    TRY(files_check(r, resume_create(&config, &resume)));
    if (resume.length == 0) /* no request with bytes follows */
        TRY(files_check(r, resume_end(resume_writer_new(&config, &resume))));
    tus_headers(r, &resume);
    resp_header_printf(
        r, "Location", "%.*s/files/tus/%.*s", STR_ARG(gateway_base_url(r)), STR_ARG(resume.id));
    return reply_empty(r, 201);
}

/* The handlers check the protocol version. If the guard checked the version, 412 would come before
 * 404. */
AWAITS static int tus_guard(struct req *r)
{
    struct upload_config config = tus_config(r);
    struct resumable_upload resume;

    resp_header(r, "Tus-Resumable", STR(TUS_VERSION));
    return files_check(r, resume_find(&config, req_param(r, "id"), &resume));
}

AWAITS static int tus_get(struct req *r)
{
    struct upload_config config = tus_config(r);
    struct resumable_upload resume;
    struct jw w;

    TRY(tus_check_version(r));
    TRY(files_check(r, resume_find(&config, req_param(r, "id"), &resume)));
    tus_headers(r, &resume);
    resp_header_printf(r, "Upload-Length", "%lld", (long long)resume.length);
    if (resume.metadata.len > 0)
        resp_header(r, "Upload-Metadata", resume.metadata);
    w = resp_json(r);
    jw_obj(&w);
    JW_STR(&w, "id", resume.id);
    JW_STR(&w, "filename", resume.filename);
    JW_I64(&w, "length", resume.length);
    JW_I64(&w, "offset", resume.received);
    if (resume.file_id.set)
        JW_I64(&w, "file_id", resume.file_id.value);
    else
        JW_NULL(&w, "file_id");
    jw_lit(&w, "expires_at");
    jw_time(&w, resume.expires_ms);
    jw_obj_end(&w);
    return reply_json(r, 200);
}

static int tus_check(struct req *r, int rc)
{
    if (rc == FILES_COLLECTED)
        return fail(r, PROBLEM_CONFLICT, "Another request has continued this upload.");
    return files_check(r, rc);
}

/* co: Writes the body to the upload. When reading the body fails with a status (rc > 0), the bytes
 * that have arrived are still stored. */
AWAITS static int tus_write_body(struct req *r,
                                 struct resume_writer *writer,
                                 const struct resumable_upload *resume,
                                 int64_t offset)
{
    int64_t left = resume->length - offset;
    const uint64_t most = (uint64_t)left;
    struct str chunk;

    for (;;) {
        int rc = req_body_read(r, most, &chunk);
        int held = rc > 0 ? resume_end(writer) : 0;
        if (held < 0)
            return held;
        TRY(gateway_upload_check(r, rc));
        if (chunk.len == 0)
            return tus_check(r, resume_end(writer));
        left -= (int64_t)chunk.len;
        if (left == 0)
            TRY(files_check_caller(r));
        TRY(tus_check(r, resume_write(writer, chunk)));
    }
}

AWAITS static int tus_patch(struct req *r)
{
    struct upload_config config = tus_config(r);
    struct resumable_upload resume;
    int64_t offset;

    TRY(tus_check_version(r));
    if (!str_ieq(req_header(r, "content-type"), STR(TUS_BODY)))
        return fail(r, PROBLEM_UNSUPPORTED_MEDIA_TYPE, "Send bytes as " TUS_BODY ".");
    TRY(req_encoding(r, NULL)); /* no compressed body: offsets count bytes of the file */
    TRY(files_check_store(r));
    TRY(tus_number(r, "upload-offset", &offset));
    TRY(files_check(r, resume_find(&config, req_param(r, "id"), &resume)));
    if (offset != resume.received)
        return fail(r,
                    PROBLEM_CONFLICT,
                    "The upload has %lld bytes; read its Upload-Offset and continue from there.",
                    (long long)resume.received);
    if (r->content_length > resume.length - offset)
        return fail(r,
                    PROBLEM_PAYLOAD_TOO_LARGE,
                    "The body goes beyond the bytes that Upload-Length announced.");
    r->task.deadline_ms = clock_mono_ms() + upload_limit_ms();
    r->scope->begin_hook = NULL; /* a concurrent writer is refused by its offset later */
    if (!resume.file_id.set)
        TRY(tus_write_body(r, resume_writer_new(&config, &resume), &resume, offset));
    tus_headers(r, &resume);
    return reply_empty(r, 204);
}

AWAITS static int tus_delete(struct req *r)
{
    struct upload_config config = tus_config(r);

    TRY(tus_check_version(r));
    TRY(sql_begin(r));
    TRY(files_check(r, resume_remove(&config, r->scope->db, req_param(r, "id"))));
    TRY(sql_commit(r));
    return reply_empty(r, 204);
}

static const struct route files_tus_routes[] = {
    {
        .method = HTTP_POST_M,
        .path = "/files/tus",
        .id = "files_tus_create",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_FILES_CREATE,
        .query = tus_query,
        .success = {201},
        .extra_statuses = {409, 412, 413},
        .run = tus_create,
        .summary = "Begin an upload that can be resumed after an interruption",
        .doc = "The tus protocol 1.0 (creation, termination, expiration), for any tus client. Only "
               "the filename of Upload-Metadata is used. An upload expires after a day. A project "
               "may have 1,000 unfinished uploads and a user 100 of them; one more is a 409.",
    },
    {
        .method = HTTP_GET_M,
        .path = "/files/tus/{id}",
        .id = "files_tus_get",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_FILES_CREATE,
        .success = {200, &tus_schema},
        .extra_statuses = {404, 412},
        .run = tus_get,
        .guard = tus_guard,
        .summary = "Get the progress of an upload",
        .doc = "tus clients send HEAD and read Upload-Offset.",
    },
    {
        .method = HTTP_PUT_M,
        .path = "/files/tus/{id}",
        .id = "files_tus_write",
        .method_override = true,
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_FILES_CREATE,
        .body_type = TUS_BODY,
        .success = {204},
        .extra_statuses = {404, 408, 409, 412, 413, 507},
        .run = tus_patch,
        .guard = tus_guard,
        .summary = "Continue an upload",
        .doc = "tus clients use PATCH, or POST with X-HTTP-Method-Override. With the last byte the "
               "upload becomes a file, which Content-Location names. An interruption loses at most "
               "16 MB.",
    },
    {
        .method = HTTP_DELETE_M,
        .path = "/files/tus/{id}",
        .id = "files_tus_delete",
        .method_override = true,
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_FILES_CREATE,
        .success = {204},
        .extra_statuses = {404, 412},
        .run = tus_delete,
        .guard = tus_guard,
        .summary = "Cancel an upload",
    },
};
ROUTES(files_tus, "Files");
