#pragma once
/*
 * The ledger records which bytes of the store are files. An upload's key is written to the garbage
 * list before its first byte is stored. One transaction removes the key from this list and adds the
 * file's row. A deletion moves the key back to the list, then removes the bytes. So a file's row
 * always has its bytes, and the collector (collect.h) knows all bytes that are not files.
 *
 * Results: DB_*, FILES_OVER_QUOTA, FILES_COLLECTED, those of the store, -ECANCELED, -ETIMEDOUT.
 */
#include "files/store.h"
#include "project/project.h"

/* any: Sets two times; call once in each worker. `upload_seconds`: how long an upload may take;
 * after twice this time the collector removes its bytes. `again_seconds`: when a removal that a
 * process has begun is tried again. By then that process has finished or died, and two concurrent
 * removals do no harm. */
void ledger_start(int64_t upload_seconds, int64_t again_seconds);
/* any: Returns how long an upload may take. */
int64_t upload_limit_ms(void);
/* any: Returns the `again_seconds` of ledger_start(). */
int64_t ledger_retry_seconds(void);

/* co: Returns in *ret_is_stored whether the store may have bytes of any project. Fails with DB_*.
 */
AWAITS int files_exist(struct task *task, struct directory *directory, bool *ret_is_stored)
    MUSTCHECK;

struct upload_config {
    struct task *task;
    struct directory *directory;
    struct project *project;
    int64_t quota; /* bytes that the project may store; 0 = no limit */
    int64_t created_by;
    struct opt_i64 folder_id;
    bool is_public;
    /* id of the resumable upload (resume.h) that the file belongs to; empty = none */
    struct str resume_id;
    int64_t resume_offset; /* bytes that the resumable upload had received before this file */
};

/* co: Registers the project with the collector. Queries the database once in each process. */
AWAITS int files_register_project(const struct upload_config *config) MUSTCHECK;

#define UPLOAD_FILES_MAX 20

/* An upload of one or more files, whose rows are added in one transaction. */
struct upload;
/* any: Makes an upload, arena-owned; copies `config`. Files that are not committed when the arena
 * ends are removed from the store in the background. */
struct upload *upload_new(const struct upload_config *config);
/* co: Begins the next file, at most UPLOAD_FILES_MAX. `name` is the client's, and is cleaned. */
AWAITS int upload_begin(struct upload *upload, struct str name) MUSTCHECK;
/* co: Appends a chunk to the current file. FILES_OVER_QUOTA when the file exceeds upload_budget().
 */
AWAITS int upload_write(struct upload *upload, struct str chunk) MUSTCHECK;
/* co: Ends the current file. Returns 0 once its bytes would survive a power cut. */
AWAITS int upload_end(struct upload *upload) MUSTCHECK;
/* any: Returns the number of files that were begun. */
size_t upload_count(const struct upload *upload);
/* any: Returns how many bytes the current file may have, as of upload_begin(); INT64_MAX without a
 * quota. */
int64_t upload_budget(const struct upload *upload);
/* co: Adds the rows of all files, each of which must have ended. *ret_ids has upload_count() ids
 * and is arena-owned. FILES_OVER_QUOTA, FILES_COLLECTED (the collector has taken a key, or another
 * request has continued the resumable upload). */
AWAITS int upload_commit(struct upload *upload, const int64_t **ret_ids) MUSTCHECK;

/* co: Stores the upload's only file as a part of the resumable upload in its config, instead of
 * adding a file's row. FILES_COLLECTED. */
AWAITS int upload_store_part(struct upload *upload) MUSTCHECK;
/* co: Runs `calls` in one transaction so that the upload's only file stays in the store. The first
 * call must remove the key from the garbage list or postpone its removal, and return a row if it
 * did. FILES_COLLECTED when it returns none. */
AWAITS int upload_commit_by(struct upload *upload, struct db_call *calls, size_t count) MUSTCHECK;
/* any: upload_key() returns the key of the last file. upload_facts() returns the facts of the last
 * file once it has ended; the upload owns them. */
struct file_key upload_key(const struct upload *upload);
const struct file_facts *upload_facts(const struct upload *upload);

/* co: Deletes the rows of files and subtracts them from the totals, in the transaction `tx`.
 * *ret_keys is arena-owned; pass it to files_bytes_remove() after the commit. */
AWAITS int files_delete(struct task *task,
                        struct db *tx,
                        const int64_t *ids,
                        size_t count,
                        struct rows *ret_keys) MUSTCHECK;
/* any: Removes the bytes of deleted rows from the store in the background. The first column of
 * `keys` is the key. The collector removes what this process does not. */
void files_bytes_remove(const struct db *db, const struct rows *keys);
