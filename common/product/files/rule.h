#pragma once
/*
 * Files and folders as callers see them: the statements that read them carry the row rule of
 * records (records/rules/rls.h), for which a file or folder is a row of its owner. A file that is
 * attached to a record is seen by whoever sees the record, too.
 */
#include "records/records.h"

enum files_kind { OF_FILES, OF_FOLDERS };

/* What a list is asked for; ids of 0 and texts without ptr: anything. */
struct files_filter {
    bool in_folder; /* of folder_id, 0 = of none */
    int64_t folder_id;
    struct str mime_type; /* or its beginning up to the slash: "image/" */
};

/* any: a :page statement of what the caller reads, sorted by id, filename, ... Arena-owned. */
struct db_call
files_page(struct records_ctx *ctx, enum files_kind kind, const struct files_filter *filter);
/* any: one row, or none: what the caller may do `action` with. */
struct db_call
files_one(struct records_ctx *ctx, enum files_kind kind, enum perm_action action, int64_t id);
/* any: those of the ids that the caller may do `action` with, in the transaction that will do it:
 * their rows are locked, by ascending id. One column, id. */
struct db_call files_lock(struct records_ctx *ctx,
                          enum files_kind kind,
                          enum perm_action action,
                          const int64_t *ids,
                          size_t count);
/* any: one row, or none, whoever asks: with `is_public` a public one. */
struct db_call files_unruled(struct records_ctx *ctx, int64_t id, bool is_public);

/* A row of those for files: what a download needs. */
struct file_row {
    int64_t id, size, created_ms;
    struct str key, filename, mime_type;
    struct str sha256; /* hexadecimal */
};
/* any: borrowed from the rows. */
void file_row_read(const struct rows *rows, size_t row, struct file_row *ret_file);
