/* /folders: folders of files. A folder belongs to its creator, under the row rule of records. */
#include "areas/files/files.h"
#include "base/num.h"
#include "files/name.h"
#include "files_sql.h"

#define DEPTH_MAX 20

static const struct field out_fields[] = {
    {.name = "id", .type = FIELD_I64, .required = true},
    {.name = "name", .type = FIELD_STR, .required = true, .example = "\"Invoices\""},
    {.name = "parent_id", .type = FIELD_I64, .required = true, .nullable = true},
    {.name = "created_by", .type = FIELD_I64, .required = true},
    {.name = "created_at", .type = FIELD_TIME, .required = true},
    {.name = "updated_at", .type = FIELD_TIME, .required = true},
};
const struct schema folder_schema = SCHEMA_OUT("Folder", out_fields);

struct folder_in {
    struct in_str name;
    struct in_i64 parent_id;
};

#define FOLDER_FIELDS(is_required)                                                                 \
    {.name = "name",                                                                               \
     FIELD_AT(struct folder_in, name),                                                             \
     .type = FIELD_STR,                                                                            \
     .required = (is_required),                                                                    \
     .min = 1,                                                                                     \
     .max = FILE_NAME_BYTES,                                                                       \
     .example = "\"Invoices\""},                                                                   \
    {                                                                                              \
        .name = "parent_id", FIELD_AT(struct folder_in, parent_id), .type = FIELD_I64,             \
        .nullable = true, .has_min = true, .min = 1, .doc = "null: a top-level folder"             \
    }

static const struct field create_fields[] = {FOLDER_FIELDS(true)};
static const struct field update_fields[] = {FOLDER_FIELDS(false)};
static const struct schema create_schema = SCHEMA("FolderCreate", struct folder_in, create_fields);
static const struct schema update_schema = SCHEMA("FolderUpdate", struct folder_in, update_fields);

static const struct query_param list_query[] = {
    PAGE_QUERY,
    {.name = "parent_id",
     .type = FIELD_I64,
     .has_min = true,
     .min = 0,
     .doc = "Folders in this folder; 0: top-level folders"},
    {0},
};

static int check_name(struct req *r, const struct in_str *name)
{
    if (!name->set || file_name_is_clean(r->task.arena, name->value))
        return 0;
    return fail_field(r,
                      "name",
                      PROBLEM_PATTERN,
                      "must be one name of at most 255 bytes, without slashes or control "
                      "characters");
}

static int folder_check_result(struct req *r, int rc)
{
    if (rc == DB_UNIQUE)
        return fail_unique_violation(r, "name", "is taken", "A folder with this name exists.");
    if (rc == DB_FOREIGN_KEY)
        return fail_field(
            r, "parent_id", PROBLEM_FOREIGN_KEY_VIOLATION, "names a folder that does not exist");
    return rc > 0 ? fail_db(r, rc) : rc;
}

AWAITS static int folders_list(struct req *r)
{
    struct files_filter filter = {0};
    const struct query *query;

    TRY(req_query(r, &query));
    struct str parent = query_get(query, "parent_id");
    filter.in_folder = parent.ptr != NULL;
    if (filter.in_folder && !num_parse_i64(parent, &filter.folder_id))
        return fail(r, PROBLEM_INVALID_QUERY, NULL);
    struct db_call page = files_page(items_ctx(r), FILES_KIND_FOLDER, &filter);
    return reply_page(r, "id", page.sql, page.params, page.param_count);
}

AWAITS static int find_folder(struct req *r, int64_t id, struct rows *ret_rows)
{
    struct db_call call = files_select(items_ctx(r), FILES_KIND_FOLDER, ACT_READ, id);

    return files_find(r, &call, ret_rows);
}

AWAITS static int folders_get(struct req *r)
{
    struct rows rows;

    TRY(files_find_path(r, FILES_KIND_FOLDER, ACT_READ, &rows));
    return reply_row(r, 200, &rows);
}

/* co: In the transaction: checks that folder `id` (0 = a new one) fits below `parent_id` without a
 * cycle. A lock serialises moves, so the result still holds at the commit. */
AWAITS static int folder_check_parent(struct req *r, int64_t id, int64_t parent_id)
{
    if (parent_id == 0)
        return 0;
    struct db_call calls[] = {
        db_call(SQL_FOLDERS_LOCK()),
        db_call(SQL_FOLDER_PLACE(.id = parent_id, .other = id)),
        db_call(SQL_FOLDER_HEIGHT(.id = id)),
    };
    TRY(sql_batch(r, calls, ARRAY_LEN(calls)));
    const struct sql_folder_place_row row = sql_folder_place_row(&calls[1].rows, 0);
    int64_t height = sql_folder_height_row(&calls[2].rows, 0).height;
    if (row.inside)
        return fail(r, PROBLEM_CONFLICT, "A folder cannot be moved into itself.");
    if (row.depth + (height > 0 ? height : 1) > DEPTH_MAX)
        return fail_field(r,
                          "parent_id",
                          PROBLEM_OUT_OF_RANGE,
                          "folders may be at most %d levels deep",
                          DEPTH_MAX);
    return 0;
}

AWAITS static int folders_create(struct req *r)
{
    struct folder_in in;
    struct rows rows;

    TRY(req_json(r, &create_schema, &in));
    TRY(check_name(r, &in.name));
    TRY(files_check_folder(r, "parent_id", in.parent_id.value));
    TRY(sql_begin(r));
    TRY(folder_check_parent(r, 0, in.parent_id.value));
    TRY(folder_check_result(r,
                            db_query(&r->task,
                                     r->scope->db,
                                     SQL_FOLDER_ADD(.name = in.name.value,
                                                    .parent_id = some_id(in.parent_id.value),
                                                    .created_by = r->scope->caller->user_id),
                                     &rows)));
    TRY(find_folder(r, sql_folder_add_row(&rows, 0).id, &rows));
    TRY(sql_commit(r));
    return reply_created(r, &rows);
}

AWAITS static int lock_folder(struct req *r, enum perm_action action, int64_t id)
{
    struct db_call lock = files_lock(items_ctx(r), FILES_KIND_FOLDER, action, &id, 1);
    struct rows rows;

    return files_find(r, &lock, &rows);
}

AWAITS static int folder_update_guard(struct req *r)
{
    struct rows rows;

    return files_find_path(r, FILES_KIND_FOLDER, ACT_UPDATE, &rows);
}

AWAITS static int folder_delete_guard(struct req *r)
{
    struct rows rows;

    return files_find_path(r, FILES_KIND_FOLDER, ACT_DELETE, &rows);
}

AWAITS static int folders_update(struct req *r)
{
    struct folder_in in;
    struct rows rows;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(req_json(r, &update_schema, &in));
    TRY(check_name(r, &in.name));
    TRY(files_check_folder(r, "parent_id", in.parent_id.value));
    TRY(sql_begin(r));
    TRY(folder_check_parent(r, id, in.parent_id.value));
    TRY(lock_folder(r, ACT_UPDATE, id));
    TRY(folder_check_result(r,
                            db_query(&r->task,
                                     r->scope->db,
                                     SQL_FOLDER_SAVE(.id = id,
                                                     .name = in.name.value,
                                                     .parent_set = in.parent_id.set,
                                                     .parent_id = some_id(in.parent_id.value)),
                                     NULL)));
    TRY(find_folder(r, id, &rows));
    TRY(sql_commit(r));
    return reply_row(r, 200, &rows);
}

AWAITS static int folders_delete(struct req *r)
{
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(sql_begin(r));
    TRY(lock_folder(r, ACT_DELETE, id));
    int rc = db_query(&r->task, r->scope->db, SQL_FOLDER_REMOVE(.id = id), NULL);
    if (rc == DB_FOREIGN_KEY)
        return fail(r, PROBLEM_IN_USE, "The folder is not empty.");
    if (rc)
        return rc > 0 ? fail_db(r, rc) : rc;
    TRY(sql_commit(r));
    return reply_empty(r, 204);
}

static const struct route folders_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = "/folders",
        .id = "folders_list",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_FILES_READ,
        .query = list_query,
        .headers = HEADER_GROUP_ID,
        .success = {200, &folder_schema, .list = true},
        .run = folders_list,
        .summary = "List folders",
    },
    {
        .method = HTTP_POST_M,
        .path = "/folders",
        .id = "folders_create",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_FILES_CREATE,
        .body = &create_schema,
        .success = {201, &folder_schema},
        .extra_statuses = {409},
        .run = folders_create,
        .summary = "Create a folder",
    },
    {
        .method = HTTP_GET_M,
        .path = "/folders/{id}",
        .id = "folders_get",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_FILES_READ,
        .headers = HEADER_GROUP_ID,
        .success = {200, &folder_schema},
        .extra_statuses = {404},
        .run = folders_get,
        .summary = "Get a folder",
    },
    {
        .method = HTTP_PUT_M,
        .path = "/folders/{id}",
        .id = "folders_update",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_FILES_UPDATE,
        .body = &update_schema,
        .success = {200, &folder_schema},
        .extra_statuses = {404, 409},
        .run = folders_update,
        .guard = folder_update_guard,
        .summary = "Rename or move a folder",
    },
    {
        .method = HTTP_DELETE_M,
        .path = "/folders/{id}",
        .id = "folders_delete",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_FILES_DELETE,
        .success = {204},
        .extra_statuses = {404, 409},
        .run = folders_delete,
        .guard = folder_delete_guard,
        .summary = "Delete an empty folder",
    },
};
ROUTES(folders, "Files");
