/* Uploads: streamed into the store while they arrive, in constant memory. */
#include "areas/files/files.h"
#include "base/clock.h"
#include "base/num.h"
#include "http/multipart.h"
#include "records/records.h"

static const struct query_param upload_query[] = {
    {.name = "folder_id",
     .type = FIELD_I64,
     .has_min = true,
     .min = 1,
     .doc = "Folder that the files are put into"},
    {.name = "is_public",
     .type = FIELD_BOOL,
     .fallback = "false",
     .doc = "Whether anyone can read the files at /files/{id}/public"},
    {.name = "entity",
     .type = FIELD_STR,
     .doc = "Entity of the record; may be left out when exactly one entity that the caller may "
            "change has a field of type file with the name in fieldName"},
    {.name = "entityId",
     .type = FIELD_I64,
     .has_min = true,
     .min = 1,
     .doc = "With fieldName: id of the record; the file becomes the value of the field fieldName "
            "and replaces the previous file"},
    {.name = "fieldName",
     .type = FIELD_STR,
     .doc = "With entityId: the record's field, of type file"},
    {0},
};

/* The field of a record whose value an upload becomes. */
struct attach_target {
    const struct entity *entity; /* NULL = the upload is for no record */
    const struct model_field *field;
    int64_t record_id;
};

static uint64_t upload_max(void)
{
    return ((const struct app_conf *)(const void *)daemon_app()->conf)->upload_bytes;
}

/* Returns the entity's field of type file with this name, if the caller may set it, else NULL. */
static const struct model_field *
file_field(const struct req *r, const struct entity *entity, struct str name)
{
    const struct model_field *field = entity_field(entity, name);

    return caller_can_entity(r->scope->caller, entity->id, ACT_UPDATE) && field &&
                   field->type == TYPE_FILE && caller_can_field(r->scope->caller, field, ACT_UPDATE)
               ? field
               : NULL;
}

/* Returns the only entity with a field of type file and this name that the caller may set. NULL
 * when no entity has such a field, or several have one. */
static const struct entity *entity_of_field(const struct req *r, struct str name)
{
    const struct model *model = r->scope->model;
    const struct entity *found = NULL;

    for (size_t i = 0; i < model->entity_count; i++) {
        if (!file_field(r, &model->entities[i], name))
            continue;
        if (found)
            return NULL;
        found = &model->entities[i];
    }
    return found;
}

/* Puts 400 for a missing parameter that another parameter requires. */
static int
param_require(struct req *r, const struct query *query, const char *name, const char *why)
{
    return query_get(query, name).ptr ? 0 : fail_field(r, name, PROBLEM_REQUIRED, "%s", why);
}

static int attach_read(struct req *r, const struct query *query, struct attach_target *ret_attach)
{
    struct str entity = query_get(query, "entity");
    struct str field = query_get(query, "fieldName");
    struct attach_target attach = {0};

    *ret_attach = attach;
    if (!entity.ptr && !query_get(query, "entityId").ptr && !field.ptr)
        return 0;
    TRY(param_require(
        r, query, "entityId", "is required with entity or fieldName: the record's id"));
    TRY(param_require(r, query, "fieldName", "is required with entityId: the record's field"));
    if (!num_parse_i64(query_get(query, "entityId"), &attach.record_id))
        return fail(r, PROBLEM_INVALID_QUERY, NULL);
    attach.entity = entity.ptr ? model_entity(r->scope->model, entity) : entity_of_field(r, field);
    if (!attach.entity && !entity.ptr)
        return param_require(
            r,
            query,
            "entity",
            "is required here: no entity that you may change, or more than one, has "
            "a field of type file with the name in fieldName");
    if (!attach.entity || !caller_can_entity(r->scope->caller, attach.entity->id, ACT_UPDATE))
        return fail(r, PROBLEM_NOT_FOUND, "There is no such entity.");
    attach.field = file_field(r, attach.entity, field);
    if (!attach.field)
        return fail_field(
            r, "fieldName", PROBLEM_UNKNOWN_FIELD, "there is no such field of type file");
    *ret_attach = attach;
    return 0;
}

/* co: Reads the query, which applies to all files of the upload, and checks it before any bytes are
 * read. */
AWAITS static int
upload_prepare(struct req *r, struct upload **ret_upload, struct attach_target *ret_attach)
{
    struct upload_config config = {
        .task = &r->task,
        .directory = gateway_directory(),
        .project = r->scope->project,
        .quota = r->scope->project->settings.storage_quota,
        .created_by = r->scope->caller->user_id,
    };
    const struct query *query;
    int64_t folder_id = 0;

    TRY(files_check_store(r));
    TRY(req_query(r, &query));
    struct str folder = query_get(query, "folder_id");
    if (folder.ptr && !num_parse_i64(folder, &folder_id))
        return fail(r, PROBLEM_INVALID_QUERY, NULL);
    TRY(files_check_folder(r, "folder_id", folder_id));
    TRY(attach_read(r, query, ret_attach));
    config.folder_id = some_id(folder_id);
    config.is_public = str_is(query_get(query, "is_public"), "true");
    r->task.deadline_ms = clock_mono_ms() + upload_limit_ms();
    *ret_upload = upload_new(&config);
    return 0;
}

struct upload_deletion {
    int64_t id;
    struct rows keys;
};

AWAITS static int upload_delete(struct task *task, struct db *tx, void *arg)
{
    struct upload_deletion *gone = arg;

    return files_delete(task, tx, &gone->id, 1, &gone->keys);
}

/* co: Deletes the new file again, because the record could not be changed. */
AWAITS static void upload_undo(struct req *r, int64_t id)
{
    struct db *db = &r->scope->project->db;
    struct upload_deletion gone = {.id = id};

    if (db_transact(&r->task, db, upload_delete, &gone) == 0)
        files_bytes_remove(db, &gone.keys);
}

/* co: Writes the record like any other update, with its rules, events and locks. After a crash
 * before this update the file stays, as a file of the caller that is attached to no record. */
AWAITS static int upload_attach(struct req *r, const struct attach_target *attach, int64_t id)
{
    struct records_ctx *ctx = items_ctx(r);
    const struct entity *entity = attach->entity;
    json_t *body = json_object();
    struct strbuf out;
    int64_t version;
    int rc;

    (void)json_object_set_new(
        body, arena_cstr(r->task.arena, attach->field->name), json_integer(id));
    do {
        strbuf_init(&out, r->task.arena, r->body.max);
        rc = records_update(ctx, entity, attach->record_id, body, 0, &out, &version);
    } while (records_should_repeat(ctx, &entity, &rc));
    json_decref(body);
    if (rc != 0)
        upload_undo(r, id);
    return items_reply_error(r, ctx, rc);
}

AWAITS static int upload_finish(struct req *r,
                                struct upload *upload,
                                const struct attach_target *attach,
                                struct rows *ret_files)
{
    const int64_t *ids = NULL;
    size_t count = upload_count(upload);
    struct db_call *calls = ARENA_ARRAY(r->task.arena, calls, count);

    TRY(files_check_caller(r));
    TRY(files_check(r, upload_commit(upload, &ids)));
    if (attach->entity)
        TRY(upload_attach(r, attach, ids[0]));
    for (size_t i = 0; i < count; i++)
        calls[i] = files_select_unruled(items_ctx(r), ids[i], false);
    TRY(sql_batch(r, calls, count));
    for (size_t i = 0; i < count; i++)
        ret_files[i] = calls[i].rows;
    resp_header_printf(
        r, "Location", "/org/%.*s/files/%lld", STR_ARG(r->scope->project->slug), (long long)ids[0]);
    return 0;
}

/* --- multipart/form-data --- */

AWAITS static int
upload_read_part(struct req *r, struct multipart *multipart, struct upload *upload)
{
    struct str chunk;

    do {
        TRY(gateway_multipart_check(r, multipart, multipart_read(multipart, &chunk)));
        if (chunk.len > 0)
            TRY(files_check(r, upload_write(upload, chunk)));
    } while (chunk.len > 0);
    return files_check(r, upload_end(upload));
}

AWAITS static int
upload_read_parts(struct req *r, struct multipart *multipart, struct upload *upload, size_t most)
{
    struct multipart_part part;

    for (;;) {
        TRY(gateway_multipart_check(r, multipart, multipart_next(multipart, &part)));
        if (!part.name.ptr)
            break;
        if (!str_is(part.name, "file"))
            return fail_field(r,
                              arena_cstr(r->task.arena, part.name),
                              PROBLEM_UNKNOWN_FIELD,
                              "every part must be one file and be named 'file'");
        if (upload_count(upload) == most)
            return fail_field(
                r, "file", PROBLEM_OUT_OF_RANGE, "this upload may have at most %zu files", most);
        TRY(files_check(r, upload_begin(upload, part.filename)));
        TRY(upload_read_part(r, multipart, upload));
    }
    if (upload_count(upload) == 0)
        return fail_field(r, "file", PROBLEM_REQUIRED, "the upload has no part named 'file'");
    return 0;
}

AWAITS static int files_upload(struct req *r)
{
    struct rows files[UPLOAD_FILES_MAX];
    struct multipart *multipart = NULL;
    struct upload *upload = NULL;
    struct attach_target attach = {0};
    struct jw w;

    int rc = multipart_new(r, upload_max(), &multipart);
    if (rc == MULTIPART_INVALID)
        return fail(r, PROBLEM_UNSUPPORTED_MEDIA_TYPE, "Send files as multipart/form-data.");
    TRY(gateway_upload_check(r, rc));
    TRY(upload_prepare(r, &upload, &attach));
    TRY(upload_read_parts(r, multipart, upload, attach.entity ? 1 : UPLOAD_FILES_MAX));
    TRY(upload_finish(r, upload, &attach, files));
    w = resp_json(r);
    jw_obj(&w);
    rows_json_members(&w, &files[0], 0);
    jw_lit(&w, "items");
    jw_arr(&w);
    for (size_t i = 0; i < upload_count(upload); i++) {
        jw_obj(&w);
        rows_json_members(&w, &files[i], 0);
        jw_obj_end(&w);
    }
    jw_arr_end(&w);
    jw_obj_end(&w);
    return reply_json(r, 201);
}

/* --- the body as one file --- */

AWAITS static int upload_read_body(struct req *r, struct upload *upload)
{
    uint64_t most = upload_max();
    struct str chunk;

    TRY(files_check(r, upload_begin(upload, req_param(r, "filename"))));
    if (r->content_length > upload_budget(upload))
        return files_check(r, FILES_OVER_QUOTA);
    do {
        TRY(gateway_upload_check(r, req_body_read(r, most, &chunk)));
        if (chunk.len > 0)
            TRY(files_check(r, upload_write(upload, chunk)));
    } while (chunk.len > 0);
    return files_check(r, upload_end(upload));
}

AWAITS static int files_put(struct req *r)
{
    struct upload *upload = NULL;
    struct attach_target attach = {0};
    struct rows file;

    if (r->content_length > 0 && (uint64_t)r->content_length > upload_max())
        return gateway_upload_check(r, REQ_BODY_TOO_LARGE);
    TRY(upload_prepare(r, &upload, &attach));
    TRY(upload_read_body(r, upload));
    TRY(upload_finish(r, upload, &attach, &file));
    return reply_row(r, 201, &file);
}

static const struct route files_upload_routes[] = {
    {
        .method = HTTP_POST_M,
        .path = "/files",
        .id = "files_upload",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_FILES_CREATE,
        .query = upload_query,
        .body_type = "multipart/form-data",
        .success = {201, &files_uploaded_schema},
        .extra_statuses = {404, 408, 409, 423, 507},
        .run = files_upload,
        .summary = "Upload files",
        .doc = "Each part named \"file\" becomes a file. An upload has at most 20 files, and "
               "stores all or none. GROUNDWORK_UPLOAD_BYTES limits the whole upload, and "
               "storage_quota all files of the project. An upload beyond either limit ends early "
               "with 413 and stores nothing.",
    },
    {
        .method = HTTP_PUT_M,
        .path = "/files/upload/{filename}",
        .id = "files_put",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_FILES_CREATE,
        .query = upload_query,
        .body_type = "application/octet-stream",
        .success = {201, &file_schema},
        .extra_statuses = {404, 408, 409, 423, 507},
        .run = files_put,
        .summary = "Upload one file as the body",
        .doc =
            "For programs: curl -T report.pdf {base_url}/files/upload/. Each call creates a file.",
    },
};
ROUTES(files_upload, "Files");
