#pragma once
/* What the areas of files share. The files themselves are common/product/files. */
#include "app.h"
#include "areas/items/items.h"
#include "files/ledger.h"
#include "files/rule.h"

extern const struct schema file_schema;
/* The first of an upload, with all of them as `items`. */
extern const struct schema files_uploaded_schema;
extern const struct schema folder_schema;

/* A result of files/ as an answer: 0, a negative, or the status that was put. */
int files_check(struct req *r, int rc) MUSTCHECK;
/* any: 503 when this installation keeps no files. */
int files_need_store(struct req *r) MUSTCHECK;
/* co: before bytes become a file: rights may have gone while they were on their way. */
AWAITS int files_check_caller(struct req *r) MUSTCHECK;
/* co: one statement of files/rule.h: its row, or 404. */
AWAITS int files_find(struct req *r, const struct db_call *call, struct rows *ret_rows) MUSTCHECK;
/* co: a folder that is named in a body or a query is one that the caller sees; 0 = none is named.
 */
AWAITS int files_check_folder(struct req *r, const char *field, int64_t id) MUSTCHECK;
/* co: the file or folder {id} of the path, which the caller may read, change or delete: 404. */
AWAITS int
files_find_path(struct req *r, enum files_kind kind, enum perm_action action, struct rows *ret_rows)
    MUSTCHECK;
/* co: route.guard of what reads the file of the path. */
AWAITS int files_read_guard(struct req *r);
/* co: deletes those of `ids` that the caller may, in a transaction that has begun, and commits it;
 * *ret_gone are the ids, arena-owned. */
AWAITS int files_remove(struct req *r, const int64_t *ids, size_t count, struct rows *ret_gone)
    MUSTCHECK;
