/* /files: metadata, links, deletion. For bytes see files_upload.c and files_download.c. */
#include "areas/files/files.h"

#include <errno.h>

#include "base/clock.h"
#include "base/num.h"
#include "files/link.h"
#include "files/media.h"
#include "files/name.h"
#include "files/resume.h"
#include "files_sql.h"

#define DELETE_MAX       500
#define LINK_SECONDS     3600
#define LINK_SECONDS_MAX (7 * 24 * 3600)

/* --- bodies --- */

struct file_in {
    struct in_str filename;
    struct in_i64 folder_id;
    struct in_bool is_public;
};

static const struct field update_fields[] = {
    {.name = "filename",
     FIELD_AT(struct file_in, filename),
     .type = FIELD_STR,
     .min = 1,
     .max = FILE_NAME_BYTES,
     .example = "\"report.pdf\""},
    {.name = "folder_id",
     FIELD_AT(struct file_in, folder_id),
     .type = FIELD_I64,
     .nullable = true,
     .has_min = true,
     .min = 1},
    {.name = "is_public", FIELD_AT(struct file_in, is_public), .type = FIELD_BOOL},
};
static const struct schema update_schema = SCHEMA("FileUpdate", struct file_in, update_fields);

struct delete_in {
    struct in_ids ids;
};

static const struct field delete_fields[] = {
    {.name = "ids",
     FIELD_AT(struct delete_in, ids),
     .type = FIELD_IDS,
     .required = true,
     .min = 1,
     .max = DELETE_MAX,
     .doc = "Files to delete",
     .example = "[1]"},
};
static const struct schema delete_schema = SCHEMA("FilesDelete", struct delete_in, delete_fields);

static const struct field deleted_fields[] = {
    {.name = "deleted", .type = FIELD_I64, .required = true},
    {.name = "not_found",
     .type = FIELD_IDS,
     .required = true,
     .doc = "Ids that do not exist or may not be deleted by the caller"},
};
static const struct schema deleted_schema = SCHEMA_OUT("FilesDeleted", deleted_fields);

struct link_in {
    struct in_i64 expires_in;
};

static const struct field link_fields[] = {
    {.name = "expires_in",
     FIELD_AT(struct link_in, expires_in),
     .type = FIELD_I64,
     .has_min = true,
     .min = 1,
     .has_max = true,
     .max = LINK_SECONDS_MAX,
     .doc = "Seconds; an hour when left out, a week at most",
     .example = "3600"},
};
static const struct schema link_schema = SCHEMA("FileLinkCreate", struct link_in, link_fields);

static const struct field link_out_fields[] = {
    {.name = "url",
     .type = FIELD_STR,
     .required = true,
     .format = "url",
     .doc = "Needs no header; anyone who has the link can read this file until expires_at"},
    {.name = "expires_at", .type = FIELD_TIME, .required = true},
};
static const struct schema link_out_schema = SCHEMA_OUT("FileLink", link_out_fields);

/* --- shared by the handlers --- */

int files_check(struct req *r, int rc)
{
    switch (rc) {
    case FILES_OVER_QUOTA:
        return fail(r,
                    PROBLEM_PAYLOAD_TOO_LARGE,
                    "The project's files may have %lld bytes together (storage_quota).",
                    (long long)r->scope->project->settings.storage_quota);
    case FILES_UPLOADS_OF_USER:
        return fail(r,
                    PROBLEM_CONFLICT,
                    "The caller has %d unfinished uploads, as many as a user may have: finish or "
                    "delete some, or wait until they expire, a day after they began.",
                    RESUMES_OF_USER_MAX);
    case FILES_UPLOADS_OF_PROJECT:
        return fail(r,
                    PROBLEM_CONFLICT,
                    "The project has %d unfinished uploads, as many as it may have: finish or "
                    "delete some, or wait until they expire, a day after they began.",
                    RESUMES_OF_PROJECT_MAX);
    case FILES_FULL:
        return fail(r, PROBLEM_STORAGE_FULL, "The file store is full.");
    case FILES_UNAVAILABLE:
        return fail(
            r, PROBLEM_DEPENDENCY_UNAVAILABLE, "The file store cannot be reached; try again.");
    case FILES_COLLECTED:
        return fail(r, PROBLEM_REQUEST_TIMEOUT, "The upload took too long.");
    case FILES_MISSING:
        return fail(r, PROBLEM_NOT_FOUND, NULL);
    case HELPER_ENDED:
    case -EAGAIN: /* too many requests of the project are waiting */
        return fail(
            r, PROBLEM_DEPENDENCY_UNAVAILABLE, "The picture cannot be processed now; try again.");
    case PICTURE_NONE:
        return fail(r,
                    PROBLEM_NOT_A_PICTURE,
                    "The file is not a readable PNG, JPEG, GIF, WebP, AVIF, HEIC or TIFF.");
    case PICTURE_MALFORMED:
        return fail(r, PROBLEM_PICTURE_BROKEN, "The picture is truncated or malformed.");
    case PICTURE_TOO_LARGE:
        return fail(r,
                    PROBLEM_PICTURE_TOO_LARGE,
                    "The picture has more than %d million pixels (of all frames together), %u "
                    "frames or %lld MB, or needs too much memory. For an animated picture, "
                    "frame=first returns a still one.",
                    (int)(MEDIA_PIXELS_LIMIT / 1000000),
                    MEDIA_FRAMES_LIMIT,
                    MEDIA_INPUT_LIMIT >> 20);
    case PICTURE_TOO_SLOW:
        return fail(r,
                    PROBLEM_PICTURE_TOO_LARGE,
                    "The picture takes too much time. For an animated picture, frame=first "
                    "returns a still one.");
    case DB_FOREIGN_KEY: /* the folder was deleted after the check */
        return fail_field(
            r, "folder_id", PROBLEM_FOREIGN_KEY_VIOLATION, "names a folder that does not exist");
    default:
        return rc > 0 ? fail_db(r, rc) : rc;
    }
}

int files_check_store(struct req *r)
{
    if (store_is_configured())
        return 0;
    return fail(
        r,
        PROBLEM_DEPENDENCY_UNAVAILABLE,
        "This installation has no file store (GROUNDWORK_FILES_DIR, GROUNDWORK_S3_ENDPOINT).");
}

int files_check_caller(struct req *r)
{
    const struct caller *caller = r->scope->caller;
    int rc = gateway_refresh_rights(r);

    TRY(gateway_rights_check(r, rc));
    if (rc == 0 && caller->rights->active && caller_can(caller, PERM_SVC_FILES_CREATE))
        return 0;
    return fail(r, PROBLEM_FORBIDDEN, "The caller may no longer upload.");
}

int files_find(struct req *r, const struct db_call *call, struct rows *ret_rows)
{
    return sql_one(r, ret_rows, call->sql, call->params, call->param_count);
}

int files_find_path(struct req *r,
                    enum files_kind kind,
                    enum perm_action action,
                    struct rows *ret_rows)
{
    int64_t id;

    TRY(req_id(r, "id", &id));
    struct db_call call = files_select(items_ctx(r), kind, action, id);
    return files_find(r, &call, ret_rows);
}

int files_read_guard(struct req *r)
{
    struct rows rows;

    return files_find_path(r, FILES_KIND_FILE, ACT_READ, &rows);
}

int files_check_folder(struct req *r, const char *field, int64_t id)
{
    struct rows rows;

    if (id == 0)
        return 0;
    struct db_call call = files_select(items_ctx(r), FILES_KIND_FOLDER, ACT_READ, id);
    TRY(sql_all(r, &rows, call.sql, call.params, call.param_count));
    if (rows.count == 0)
        return fail_field(
            r, field, PROBLEM_FOREIGN_KEY_VIOLATION, "names a folder that does not exist");
    return 0;
}

int files_remove(struct req *r, const int64_t *ids, size_t count, struct rows *ret_gone)
{
    struct db_call lock = files_lock(items_ctx(r), FILES_KIND_FILE, ACT_DELETE, ids, count);
    int64_t *found;
    struct rows keys;

    TRY(sql_all(r, ret_gone, lock.sql, lock.params, lock.param_count));
    if (ret_gone->count == 0)
        return 0;
    found = ARENA_ARRAY(r->task.arena, found, ret_gone->count);
    for (size_t i = 0; i < ret_gone->count; i++)
        found[i] = rows_i64(ret_gone, i, 0);
    int rc = files_delete(&r->task, r->scope->db, found, ret_gone->count, &keys);
    if (rc == DB_NOT_NULL) /* the foreign key would set the field to null (0008_files.sql) */
        return fail(r, PROBLEM_CONFLICT, "A file is the value of a required field of its record.");
    TRY(files_check(r, rc));
    TRY(sql_commit(r));
    files_bytes_remove(&r->scope->project->db, &keys);
    return 0;
}

/* --- handlers --- */

static const struct query_param list_query[] = {
    PAGE_QUERY,
    {.name = "folder_id",
     .type = FIELD_I64,
     .has_min = true,
     .min = 0,
     .doc = "Files in this folder; 0: files in no folder"},
    {.name = "mime_type",
     .type = FIELD_STR,
     .doc = "Such as image/png, or image/ for all types of a kind"},
    {0},
};

AWAITS static int files_list(struct req *r)
{
    struct files_filter filter = {0};
    const struct query *query;

    TRY(req_query(r, &query));
    struct str folder = query_get(query, "folder_id");
    filter.in_folder = folder.ptr != NULL;
    if (filter.in_folder && !num_parse_i64(folder, &filter.folder_id))
        return fail(r, PROBLEM_INVALID_QUERY, NULL);
    filter.mime_type = query_get(query, "mime_type");
    struct db_call page = files_page(items_ctx(r), FILES_KIND_FILE, &filter);
    return reply_page(r, "-id", page.sql, page.params, page.param_count);
}

AWAITS static int files_get(struct req *r)
{
    struct rows rows;

    TRY(files_find_path(r, FILES_KIND_FILE, ACT_READ, &rows));
    return reply_row(r, 200, &rows);
}

AWAITS static int file_update_guard(struct req *r)
{
    struct rows rows;

    return files_find_path(r, FILES_KIND_FILE, ACT_UPDATE, &rows);
}

AWAITS static int file_delete_guard(struct req *r)
{
    struct rows rows;

    return files_find_path(r, FILES_KIND_FILE, ACT_DELETE, &rows);
}

AWAITS static int files_update(struct req *r)
{
    struct rows rows;
    struct file_in in;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(req_json(r, &update_schema, &in));
    if (in.filename.set && !file_name_is_clean(r->task.arena, in.filename.value))
        return fail_field(r,
                          "filename",
                          PROBLEM_PATTERN,
                          "must be one name of at most 255 bytes, without path or control "
                          "characters");
    TRY(files_check_folder(r, "folder_id", in.folder_id.value));
    TRY(sql_begin(r));
    struct db_call lock = files_lock(items_ctx(r), FILES_KIND_FILE, ACT_UPDATE, &id, 1);
    TRY(files_find(r, &lock, &rows));
    const struct opt_bool is_public = {in.is_public.value, in.is_public.set};
    TRY(files_check(r,
                    db_query(&r->task,
                             r->scope->db,
                             SQL_FILE_SAVE(.id = id,
                                           .filename = in.filename.value,
                                           .folder_set = in.folder_id.set,
                                           .folder_id = some_id(in.folder_id.value),
                                           .is_public = is_public),
                             NULL)));
    struct db_call call = files_select_unruled(items_ctx(r), id, false);
    TRY(files_find(r, &call, &rows));
    TRY(sql_commit(r));
    return reply_row(r, 200, &rows);
}

/* co: Reads width, height and duration, for which an upload may have had no time. */
AWAITS static int files_probe(struct req *r)
{
    struct media_facts facts = {0};
    struct file_row file;
    struct rows rows;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(files_check_store(r));
    struct db_call call = files_select(items_ctx(r), FILES_KIND_FILE, ACT_UPDATE, id);
    TRY(files_find(r, &call, &rows));
    file_row_read(&rows, 0, &file);
    struct media_file media = {.size = file.size};
    file_key_set(r->scope->project->number, file.key, &media.key);
    if (media_may_have_facts(file.mime_type))
        TRY(files_check(r, media_facts_read(&r->task, &media, &facts)));
    TRY(files_check(r,
                    db_query(&r->task,
                             r->scope->db,
                             SQL_FILE_LOOKED(.id = id,
                                             .width = some_id(facts.width),
                                             .height = some_id(facts.height),
                                             .duration = media_duration(&facts)),
                             NULL)));
    call = files_select_unruled(items_ctx(r), id, false);
    TRY(files_find(r, &call, &rows));
    return reply_row(r, 200, &rows);
}

AWAITS static int files_delete_one(struct req *r)
{
    struct rows gone;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(sql_begin(r));
    TRY(files_remove(r, &id, 1, &gone));
    return gone.count > 0 ? reply_empty(r, 204) : fail(r, PROBLEM_NOT_FOUND, NULL);
}

static bool rows_contain_id(const struct rows *rows, int64_t id)
{
    size_t low = 0;
    size_t high = rows->count;

    while (low < high) {
        size_t middle = (low + high) / 2;
        if (rows_i64(rows, middle, 0) < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < rows->count && rows_i64(rows, low, 0) == id;
}

AWAITS static int files_delete_many(struct req *r)
{
    struct delete_in in;
    struct rows gone;
    struct jw w;

    TRY(req_json(r, &delete_schema, &in));
    TRY(sql_begin(r));
    TRY(files_remove(r, in.ids.items, in.ids.count, &gone));
    w = resp_json(r);
    jw_obj(&w);
    JW_I64(&w, "deleted", (int64_t)gone.count);
    jw_lit(&w, "not_found");
    jw_arr(&w);
    for (size_t i = 0; i < in.ids.count; i++)
        if (!rows_contain_id(&gone, in.ids.items[i]))
            jw_i64(&w, in.ids.items[i]);
    jw_arr_end(&w);
    jw_obj_end(&w);
    return reply_json(r, 200);
}

AWAITS static int files_link(struct req *r)
{
    const struct project *project = r->scope->project;
    struct link_in in;
    struct rows rows;
    int64_t id;
    struct jw w;

    TRY(req_id(r, "id", &id));
    TRY(req_json(r, &link_schema, &in));
    struct db_call call = files_select(items_ctx(r), FILES_KIND_FILE, ACT_READ, id);
    TRY(files_find(r, &call, &rows));
    int64_t seconds = in.expires_in.set ? in.expires_in.value : LINK_SECONDS;
    int64_t end_s = clock_wall_ms() / 1000 + seconds;
    struct str token = file_link_sign(
        r->task.arena, &project->data_key, &(struct file_link){project->number, id}, end_s);
    w = resp_json(r);
    jw_obj(&w);
    JW_STR(&w,
           "url",
           arena_printf(r->task.arena,
                        "%.*s/files/%lld/shared?token=%.*s",
                        STR_ARG(gateway_base_url(r)),
                        (long long)id,
                        STR_ARG(token)));
    jw_lit(&w, "expires_at");
    jw_time(&w, end_s * 1000);
    jw_obj_end(&w);
    return reply_json(r, 200);
}

static const struct route files_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = "/files",
        .id = "files_list",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_FILES_READ,
        .query = list_query,
        .headers = HEADER_GROUP_ID,
        .success = {200, &file_schema, .list = true},
        .run = files_list,
        .summary = "List files",
        .doc = "Lists the files that the caller may read: its own, with X-Group-Id those of the "
               "group's members, and those that are the value of a record's field that the caller "
               "may read. Administrators see all.",
    },
    {
        .method = HTTP_GET_M,
        .path = "/files/{id}",
        .id = "files_get",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_FILES_READ,
        .headers = HEADER_GROUP_ID,
        .success = {200, &file_schema},
        .extra_statuses = {404},
        .run = files_get,
        .summary = "Get a file's metadata",
    },
    {
        .method = HTTP_PUT_M,
        .path = "/files/{id}",
        .id = "files_update",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_FILES_UPDATE,
        .body = &update_schema,
        .success = {200, &file_schema},
        .extra_statuses = {404, 409},
        .run = files_update,
        .guard = file_update_guard,
        .summary = "Rename a file, move it, make it public",
        .doc = "Members that are left out keep their value.",
    },
    {
        .method = HTTP_POST_M,
        .path = "/files/{id}/probe",
        .id = "files_probe",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_FILES_UPDATE,
        .success = {200, &file_schema},
        .extra_statuses = {404, 422},
        .run = files_probe,
        .guard = file_update_guard,
        .summary = "Read a file's width, height and duration again",
        .doc = "An upload reads these values without being asked, unless reading them takes longer "
               "than two seconds.",
    },
    {
        .method = HTTP_DELETE_M,
        .path = "/files/{id}",
        .id = "files_delete",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_FILES_DELETE,
        .success = {204},
        .extra_statuses = {404, 409},
        .run = files_delete_one,
        .guard = file_delete_guard,
        .summary = "Delete a file",
        .doc = "A record's field whose value is the file becomes null, without an event.",
    },
    {
        .method = HTTP_DELETE_M,
        .path = "/files",
        .id = "files_delete_many",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_FILES_DELETE,
        .body = &delete_schema,
        .success = {200, &deleted_schema},
        .extra_statuses = {409},
        .run = files_delete_many,
        .summary = "Delete files",
    },
    {
        .method = HTTP_POST_M,
        .path = "/files/{id}/link",
        .id = "files_link",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_FILES_READ,
        .headers = HEADER_GROUP_ID,
        .body = &link_schema,
        .body_optional = true,
        .success = {200, &link_out_schema},
        .extra_statuses = {404},
        .run = files_link,
        .guard = files_read_guard,
        .class = CLASS_READ,
        .summary = "Create a link to read a file without credentials for a limited time",
        .doc = "For web pages and emails. A link cannot be revoked; it works until it expires or "
               "its file is deleted.",
    },
};
ROUTES(files, "Files");
