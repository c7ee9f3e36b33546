#pragma once
/* Shared by the handlers of files and folders. The store and the ledger of files are in
 * common/product/files. */
#include "app.h"
#include "files/ledger.h"
#include "files/rule.h"
#include "items/items.h"

extern const struct schema file_schema;
/* The first file of an upload, with all files of the upload as `items`. */
extern const struct schema files_uploaded_schema;
extern const struct schema folder_schema;

/* any: Answers a result of common/product/files. Returns 0, a negative, or the status put. */
int files_check(struct req *r, int rc) MUSTCHECK;
/* any: Puts 503 when this installation has no file store. Returns 0 or 503. */
int files_check_store(struct req *r) MUSTCHECK;
/* co: Reads the caller's rights again before uploaded bytes become a file, because the rights may
 * have been revoked during the upload. Returns 0, or the status put: 403. */
AWAITS int files_check_caller(struct req *r) MUSTCHECK;
/* co: Runs a statement of files/rule.h. Returns 0 with its row, or the status put: 404 without a
 * row. */
AWAITS int files_find(struct req *r, const struct db_call *call, struct rows *ret_rows) MUSTCHECK;
/* co: Checks that the caller sees the folder `id`, which a body or query names in `field`; 0 = none
 * is named. Returns 0, or the status put: 400. */
AWAITS int files_check_folder(struct req *r, const char *field, int64_t id) MUSTCHECK;
/* co: Finds the file or folder {id} of the path. Returns 0 with its row, or the status put: 404
 * when the caller may not do `action` with it. */
AWAITS int
files_find_path(struct req *r, enum files_kind kind, enum perm_action action, struct rows *ret_rows)
    MUSTCHECK;
/* co: route.guard of routes that read the file of the path. */
AWAITS int files_read_guard(struct req *r);
/* co: Deletes those of `ids` that the caller may delete, and commits the transaction, which the
 * caller has begun. *ret_gone lists the deleted ids, arena-owned; when it is empty, nothing was
 * committed. Returns 0, a negative, or the status put: 409 when a file is the value of a required
 * field. */
AWAITS int files_remove(struct req *r, const int64_t *ids, size_t count, struct rows *ret_gone)
    MUSTCHECK;
