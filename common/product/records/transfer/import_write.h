#pragma once
/*
 * Collects the rows of an import into chunks and writes them. Each chunk is one transaction; a
 * chunk that the database refuses is written row by row. The task works in an arena of the chunk
 * while the chunk is written, so memory stays as large as one chunk.
 */
#include "crypto/digest.h"
#include "records/import.h"

#define IMPORT_CHUNK_ROWS  200
#define IMPORT_CHUNK_BYTES ((size_t)1024 * 1024)

/* A row that was read. */
struct import_entry {
    int64_t row;
    json_t *record; /* owned; NULL = the row was already refused */
    enum problem code;
    struct str detail;
    uint8_t digest[DIGEST_SHA256_BYTES]; /* of the rows up to and including this row */
};

struct import_writer {
    struct records_ctx *ctx;
    const struct entity *entity; /* an entity of ctx->model */
    const struct import_config *config;
    struct arena *arena; /* arena of the import: error texts, models */
    struct import_report report;
    struct import_entry entries[IMPORT_CHUNK_ROWS];
    size_t count;
    size_t bytes;                        /* bytes of the chunk */
    uint8_t digest[DIGEST_SHA256_BYTES]; /* digest of all rows read */
    bool is_lost;                        /* another request has taken over the import */
};

/* any: Prepares a writer. `config` and `ctx` are borrowed. Memory is allocated from the arena that
 * the task has now; the writer ends with this arena. */
void import_writer_init(struct import_writer *writer,
                        struct records_ctx *ctx,
                        const struct entity *entity,
                        const struct import_config *config);
/* any: Returns true when rows name the records that they change by `id`. */
bool import_writer_is_by_id(const struct import_writer *writer);
/* any: Adds the bytes of a row that was read to the digest. */
void import_writer_digest_row(struct import_writer *writer, struct str bytes);
/* any: Returns the digest of all rows read, in hexadecimal; arena-owned. */
struct str import_writer_digest(const struct import_writer *writer);
/* co: Adds a row and takes over the reference to `record`. `bytes`: size of the row in the file.
 * Writes the chunk when it is full. */
AWAITS int
import_writer_add(struct import_writer *writer, int64_t row, json_t *record, size_t bytes)
    MUSTCHECK;
/* co: Adds a row that cannot be read; `detail` is copied. Writes the chunk when it is full. */
AWAITS int import_writer_refuse(struct import_writer *writer,
                                int64_t row,
                                enum problem code,
                                struct str detail) MUSTCHECK;
/* co: Writes the collected rows. */
AWAITS int import_writer_flush(struct import_writer *writer) MUSTCHECK;
