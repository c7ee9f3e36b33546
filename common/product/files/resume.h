#pragma once
/*
 * Uploads that go on after an interruption, in any number of requests, to any gateway. What arrives
 * is kept in parts of the store; with the last byte they become one file. An upload is its
 * creator's alone, and ends by itself after a day.
 *
 * Results: those of the ledger; FILES_LATE also when another request has gone on with it.
 */
#include "files/ledger.h"

#define RESUME_PART_BYTES ((int64_t)16 << 20) /* as much as a gateway that dies forgets */
#define RESUME_SECONDS    86400
#define RESUME_ID_BYTES   FILE_KEY_BYTES
/* Limits of unfinished uploads. Expired and finished uploads do not count. */
#define RESUMES_OF_PROJECT_MAX 1000
#define RESUMES_OF_USER_MAX    100

struct resume {
    struct str id;
    int64_t length, received;
    struct str filename, metadata;
    struct opt_i64 folder_id;
    bool is_public;
    struct opt_i64 file_id; /* set: it is a file */
    int64_t expires_ms;
};

/* co: a new one: of *resume all but id, received, file_id and expires_ms is given. FILES_OVER_QUOTA
 * when there would be no room for it beside those under way, FILES_UPLOADS_OF_PROJECT,
 * FILES_UPLOADS_OF_USER when there are as many as may be: counted under a lock of the project. */
AWAITS int resume_create(const struct upload_config *config, struct resume *resume) MUSTCHECK;
/* co: arena-owned; FILES_GONE when the caller has none of that id. */
AWAITS int resume_find(const struct upload_config *config, struct str id, struct resume *ret)
    MUSTCHECK;
/* co: with all its parts, in `db` (a transaction of the caller's, or the project's); what is being
 * written of it comes to nothing. FILES_GONE. */
AWAITS int resume_remove(const struct upload_config *config, struct db *db, struct str id)
    MUSTCHECK;

/* Bytes of one request, in parts. */
struct resume_writer;
/* any: arena-owned; `config` is the file's, and is copied. */
struct resume_writer *resume_writer_new(const struct upload_config *config, struct resume *resume);
/* co: no more than `length` says. resume->received grows with each part that is kept. */
AWAITS int resume_write(struct resume_writer *writer, struct str piece) MUSTCHECK;
/* co: the request has no more: what has arrived is kept, or all of it is a file: resume->file_id.
 * It was whole, or it ends early: both are the same. */
AWAITS int resume_end(struct resume_writer *writer) MUSTCHECK;
