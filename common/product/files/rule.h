#pragma once
/*
 * Statements that read the files and folders that a caller may see. They apply the row rule of
 * records (records/rules/rls.h), which treats a file or folder as a row of its owner. A file that
 * is attached to a record is also visible to callers that may read the record's field. All
 * statements are arena-owned; text values of parameters are borrowed until the statement is sent.
 */
#include "records/records.h"

enum files_kind { FILES_KIND_FILE, FILES_KIND_FOLDER };

/* The filter of a list of files or folders. */
struct files_filter {
    bool in_folder;       /* only those with folder_id as their parent */
    int64_t folder_id;    /* 0 = those without a parent */
    struct str mime_type; /* a type, or its beginning up to the slash ("image/"); no ptr = any */
};

/* any: Returns a :page statement of the files or folders that the caller may read. */
struct db_call
files_page(struct records_ctx *ctx, enum files_kind kind, const struct files_filter *filter);
/* any: Returns a statement that reads one file or folder; no row if the caller may not do `action`
 * with it. */
struct db_call
files_select(struct records_ctx *ctx, enum files_kind kind, enum perm_action action, int64_t id);
/* any: Returns a statement that locks, by ascending id, the rows among `ids` with which the caller
 * may do `action`; its only column is id. Run it in the transaction that does the action. */
struct db_call files_lock(struct records_ctx *ctx,
                          enum files_kind kind,
                          enum perm_action action,
                          const int64_t *ids,
                          size_t count);
/* any: Returns a statement that reads one file without the row rule; with `is_public` only if the
 * file is public. */
struct db_call files_select_unruled(struct records_ctx *ctx, int64_t id, bool is_public);

/* The columns of a file that a download needs. */
struct file_row {
    int64_t id, size, created_ms;
    struct str key, filename, mime_type;
    struct str sha256; /* hexadecimal */
};
/* any: Reads a row of files_page(), files_select() or files_select_unruled(). Borrows from `rows`.
 */
void file_row_read(const struct rows *rows, size_t row, struct file_row *ret_file);
