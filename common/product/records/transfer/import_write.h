#pragma once
/*
 * Rows of an import, collected to chunks and written: each chunk is a transaction, and one that the
 * database refuses is made row by row. A chunk has an arena of its own, which the task works with
 * while it is written: memory stays as large as one chunk.
 */
#include "crypto/digest.h"
#include "records/import.h"

#define IMPORT_CHUNK_ROWS  200
#define IMPORT_CHUNK_BYTES ((size_t)1024 * 1024)

/* A row that was read. */
struct import_entry {
    int64_t row;
    json_t *record; /* owned; NULL = it was refused already */
    enum problem code;
    struct str detail;
    uint8_t digest[DIGEST_SHA256_BYTES]; /* of the rows up to it */
};

struct import_writer {
    struct records_ctx *ctx;
    const struct entity *entity; /* of ctx->model */
    const struct import_config *config;
    struct arena *arena; /* of the import: texts of errors, models */
    struct import_report report;
    struct import_entry entries[IMPORT_CHUNK_ROWS];
    size_t count;
    size_t bytes;                        /* of the chunk */
    uint8_t digest[DIGEST_SHA256_BYTES]; /* of the rows that were read */
    bool is_lost;                        /* another request goes on with the import */
};

/* any: `config` and ctx are borrowed; memory is of the task's arena at this moment, which ends with
 * the writer. */
void import_writer_init(struct import_writer *writer,
                        struct records_ctx *ctx,
                        const struct entity *entity,
                        const struct import_config *config);
/* any: the import takes its rows as changes of records with their ids. */
bool import_writer_is_by_id(const struct import_writer *writer);
/* any: a row was read: its bytes, for the digest. */
void import_writer_read(struct import_writer *writer, struct str bytes);
/* any: the digest of the rows that were read, hexadecimal, arena-owned. */
struct str import_writer_digest(const struct import_writer *writer);
/* co: takes a row and the reference to its record, and writes a chunk that is full. */
AWAITS int
import_writer_add(struct import_writer *writer, int64_t row, json_t *record, size_t bytes)
    MUSTCHECK;
/* co: the same for a row that cannot be read; `detail` is copied. */
AWAITS int import_writer_refuse(struct import_writer *writer,
                                int64_t row,
                                enum problem code,
                                struct str detail) MUSTCHECK;
/* co: writes what is collected. */
AWAITS int import_writer_flush(struct import_writer *writer) MUSTCHECK;
