#pragma once
/*
 * Which bytes of the store are files. An upload is in the ledger before its first byte is written
 * and becomes a file in the transaction that takes it out of there again; a file that is deleted
 * goes back to it, and its bytes follow. So no row is ever without its bytes, and bytes without a
 * row are known to the collector (collect.h).
 *
 * Results: DB_*, FILES_OVER_QUOTA, FILES_LATE, those of the store, -ECANCELED, -ETIMEDOUT.
 */
#include "files/store.h"
#include "project/project.h"

/* any: once in each worker, in seconds: how long an upload may take (after twice that what is left
 * of it is removed), and when bytes that somebody began to remove are removed again: by then
 * whoever it was is done, or dead; two at a time do no harm. */
void ledger_start(int64_t upload_seconds, int64_t again_seconds);
/* How long an upload may take. */
int64_t upload_limit_ms(void);
/* The second of these times. */
int64_t ledger_again_seconds(void);

/* co: has a project ever kept a file? DB_*. */
AWAITS int files_are_kept(struct task *task, struct directory *directory, bool *ret_kept) MUSTCHECK;

struct upload_config {
    struct task *task;
    struct directory *directory;
    struct project *project;
    int64_t quota; /* bytes that the project may keep; 0 = no limit */
    int64_t created_by;
    struct opt_i64 folder_id;
    bool is_public;
    /* Of one that goes on after an interruption (resume.h): its id, and how many of its bytes there
     * are; empty: of none. */
    struct str resumes;
    int64_t resumes_at;
};

/* co: the collector visits the project from now on. Asks the database once in each process. */
AWAITS int files_note_project(const struct upload_config *config) MUSTCHECK;

#define UPLOAD_FILES_MAX 20

/* Files that become rows together or not at all. Arena-owned: what has not been committed when the
 * arena dies is removed from the store in the background. */
struct upload;
struct upload *upload_new(const struct upload_config *config);
/* co: the next file; `name` is what its sender calls it. */
AWAITS int upload_begin(struct upload *upload, struct str name) MUSTCHECK;
/* co: FILES_OVER_QUOTA as soon as there is no room for it. */
AWAITS int upload_write(struct upload *upload, struct str piece) MUSTCHECK;
/* co: its bytes are safe. */
AWAITS int upload_end(struct upload *upload) MUSTCHECK;
size_t upload_count(const struct upload *upload);
/* Bytes that still fit, as of upload_begin(); INT64_MAX without a quota. */
int64_t upload_room(const struct upload *upload);
/* co: all that have ended become files. *ret_ids is the arena's, upload_count() of them. */
AWAITS int upload_commit(struct upload *upload, const int64_t **ret_ids) MUSTCHECK;

/* co: the only one stays in the store as a part of what it resumes, and is no file. FILES_LATE. */
AWAITS int upload_keep(struct upload *upload) MUSTCHECK;
/* co: the only one stays in the store by the first of the calls, which takes its key out of the
 * garbage and gives a row then; all of them are one transaction. FILES_LATE: it gave none. */
AWAITS int upload_keep_by(struct upload *upload, struct db_call *calls, size_t count) MUSTCHECK;
/* Where the last one lies, and what is known of it once it has ended. */
struct file_key upload_key(const struct upload *upload);
const struct file_facts *upload_facts(const struct upload *upload);

/* co: rows of files and their sums go, in the transaction `tx`; *ret_keys, arena-owned, are for
 * files_discard() once it is committed. */
AWAITS int files_delete(struct task *task,
                        struct db *tx,
                        const int64_t *ids,
                        size_t count,
                        struct rows *ret_keys) MUSTCHECK;
/* any: removes the bytes of deleted rows, whose first column is their key, from the store, in the
 * background; who dies before that leaves it to the collector. */
void files_discard(const struct db *db, const struct rows *keys);
