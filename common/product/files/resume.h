#pragma once
/*
 * Resumable uploads (tus): a client sends a file in any number of requests, to any gateway. The
 * bytes are stored in parts; with the last byte the parts become one file. Only its creator can see
 * an upload. An upload expires after RESUME_SECONDS.
 *
 * Results: those of the ledger; FILES_COLLECTED also when another request has continued the upload.
 */
#include "files/ledger.h"

#define RESUME_PART_BYTES ((int64_t)16 << 20) /* most that is lost when a gateway dies */
#define RESUME_SECONDS    86400
#define RESUME_ID_BYTES   FILE_KEY_BYTES
/* Limits of unfinished uploads. Expired and finished uploads do not count. */
#define RESUMES_OF_PROJECT_MAX 1000
#define RESUMES_OF_USER_MAX    100

struct resumable_upload {
    struct str id;
    int64_t length, received;
    struct str filename, metadata;
    struct opt_i64 folder_id;
    bool is_public;
    struct opt_i64 file_id; /* the file; not set before the last byte is stored */
    int64_t expires_ms;
};

/* co: Creates an upload. The caller sets length, filename, metadata, folder_id and is_public of
 * *resume; this function sets id (arena-owned) and expires_ms. FILES_OVER_QUOTA when the file would
 * not fit in addition to the files and the unfinished uploads. FILES_UPLOADS_OF_PROJECT and
 * FILES_UPLOADS_OF_USER when a limit above is reached; a lock of the project makes the count exact.
 */
AWAITS int resume_create(const struct upload_config *config, struct resumable_upload *resume)
    MUSTCHECK;
/* co: Reads an upload of config->created_by; texts are arena-owned, `id` is borrowed. FILES_MISSING
 * when this user has no upload of that id. */
AWAITS int resume_find(const struct upload_config *config,
                       struct str id,
                       struct resumable_upload *ret) MUSTCHECK;
/* co: Deletes an upload of config->created_by with all its parts, in `db` (the caller's transaction
 * or the project's database). A request that is writing to it fails with FILES_COLLECTED.
 * FILES_MISSING when there is no such upload. */
AWAITS int resume_remove(const struct upload_config *config, struct db *db, struct str id)
    MUSTCHECK;

/* Writes the bytes of one request in parts. */
struct resume_writer;
/* any: Makes a writer, arena-owned. Copies `config`; borrows `resume` and updates it. */
struct resume_writer *resume_writer_new(const struct upload_config *config,
                                        struct resumable_upload *resume);
/* co: Appends a chunk. The chunks must not exceed resume->length in total. resume->received grows
 * with each part that is stored. */
AWAITS int resume_write(struct resume_writer *writer, struct str chunk) MUSTCHECK;
/* co: Ends the request, also if it was interrupted. Stores the last part; if the upload is
 * complete, it becomes a file and resume->file_id is set. */
AWAITS int resume_end(struct resume_writer *writer) MUSTCHECK;
