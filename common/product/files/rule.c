/* Statements over files and folders under the row rule. */
#include "files/rule.h"

#include "records/owned.h"

static const struct {
    const char *select, *parent, *sort, *lock, *page_name, *one_name, *lock_name;
} kinds[] = {
    [FILES_KIND_FILE] =
        {"select f.id, f.filename, f.mime_type, f.size, encode(f.sha256, 'hex') as sha256,"
         " f.folder_id, e.name as entity, f.record_id as entity_id, d.name as field_name,"
         " f.is_public, f.width, f.height, f.duration, f.created_by as uploaded_by,"
         " f.created_at, f.updated_at, f.key as _key"
         " from {p}.files f left join {p}.entities e on e.id = f.entity_id"
         " left join {p}.fields d on d.id = f.field_id where true",
         " and f.folder_id",
         "id,filename,mime_type,size,created_at,updated_at",
         "select f.id from {p}.files f where f.id = any(",
         "files.page",
         "files.one",
         "files.lock"},
    [FILES_KIND_FOLDER] =
        {"select f.id, f.name, f.parent_id, f.created_by, f.created_at, f.updated_at"
         " from {p}.folders f where true",
         " and f.parent_id",
         "id,name,created_at,updated_at",
         "select f.id from {p}.folders f where f.id = any(",
         "folders.page",
         "folders.one",
         "folders.lock"},
};

static struct owned_statement *select_from(struct records_ctx *ctx, enum files_kind kind)
{
    struct owned_statement *statement = owned_new(ctx);

    owned_add_text(statement, kinds[kind].select);
    return statement;
}

static void
files_rule(struct owned_statement *statement, enum files_kind kind, enum perm_action action)
{
    if (kind == FILES_KIND_FILE)
        owned_add_file_rule(statement, action, "f");
    else
        owned_add_rule(statement, action, "f");
}

static void page_filter(struct owned_statement *statement, const struct files_filter *filter)
{
    bool beginning = filter->mime_type.ptr && str_ends(filter->mime_type, STR("/"));

    if (!filter->mime_type.ptr)
        return;
    owned_add_text(statement,
                   beginning ? " and starts_with(f.mime_type, " : " and f.mime_type = (");
    owned_add_value(statement, P_STR(filter->mime_type), "text");
    owned_add_text(statement, ")");
}

struct db_call
files_page(struct records_ctx *ctx, enum files_kind kind, const struct files_filter *filter)
{
    struct owned_statement *statement = select_from(ctx, kind);

    if (filter->in_folder) {
        owned_add_text(statement, kinds[kind].parent);
        owned_add_text(statement, filter->folder_id ? " = " : " is null");
        if (filter->folder_id)
            owned_add_value(statement, P_I64(filter->folder_id), "bigint");
    }
    page_filter(statement, filter);
    files_rule(statement, kind, ACT_READ);
    return owned_finish(statement, kinds[kind].page_name, SQL_PAGE, kinds[kind].sort);
}

struct db_call
files_select(struct records_ctx *ctx, enum files_kind kind, enum perm_action action, int64_t id)
{
    struct owned_statement *statement = select_from(ctx, kind);

    owned_add_text(statement, " and f.id = ");
    owned_add_value(statement, P_I64(id), "bigint");
    files_rule(statement, kind, action);
    return owned_finish(statement, kinds[kind].one_name, SQL_OPT, NULL);
}

struct db_call files_lock(struct records_ctx *ctx,
                          enum files_kind kind,
                          enum perm_action action,
                          const int64_t *ids,
                          size_t count)
{
    struct owned_statement *statement = owned_new(ctx);

    owned_add_text(statement, kinds[kind].lock);
    owned_add_value(statement, P_I64S(ids, count), "bigint[]");
    owned_add_text(statement, ")");
    files_rule(statement, kind, action);
    owned_add_text(statement, " order by f.id for update of f");
    return owned_finish_write(statement, kinds[kind].lock_name, SQL_MANY);
}

struct db_call files_select_unruled(struct records_ctx *ctx, int64_t id, bool is_public)
{
    struct owned_statement *statement = select_from(ctx, FILES_KIND_FILE);

    owned_add_text(statement, " and f.id = ");
    owned_add_value(statement, P_I64(id), "bigint");
    if (is_public)
        owned_add_text(statement, " and f.is_public");
    return owned_finish(statement, "files.unruled", SQL_OPT, NULL);
}

void file_row_read(const struct rows *rows, size_t row, struct file_row *ret_file)
{
    *ret_file = (struct file_row){
        .id = rows_i64(rows, row, rows_column(rows, "id")),
        .size = rows_i64(rows, row, rows_column(rows, "size")),
        .created_ms = rows_time(rows, row, rows_column(rows, "created_at")),
        .key = rows_str(rows, row, rows_column(rows, "_key")),
        .filename = rows_str(rows, row, rows_column(rows, "filename")),
        .mime_type = rows_str(rows, row, rows_column(rows, "mime_type")),
        .sha256 = rows_str(rows, row, rows_column(rows, "sha256")),
    };
}
