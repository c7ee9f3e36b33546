#pragma once
/*
 * Imports: pieces of a file, as they arrive, become records. CSV (RFC 4180, UTF-8 with or without a
 * byte order mark, header row of field names), a JSON array of objects, or JSON Lines. Rows are
 * written in chunks, as new records or as changes of those that are there: a row that is refused or
 * cannot be read is reported and the rest goes on. Memory does not grow with the file.
 *
 * Members that the service sets (id, created_at, ...) and masked secrets are passed over, so that
 * an export can be imported; so is the apostrophe that an export puts before what looks like a
 * formula (transfer/cell.h). Cells mean what they mean to PostgreSQL's COPY: nothing between two
 * separators is null, or the default of a required field; two quotes are the empty text. A blank
 * cell of a field that is no text is null, too.
 */
#include "records/csv.h"
#include "records/records.h"

enum import_format { IMPORT_CSV, IMPORT_JSON, IMPORT_JSONL };

#define IMPORT_ERRORS_MAX    100
#define IMPORT_ROW_BYTES_MAX ((size_t)2 * 1024 * 1024)

/* Where a column of the file goes, or a member of its objects, whose name is no field's. */
struct import_mapping {
    struct str column;
    const struct model_field *field; /* NULL: nowhere */
};

struct import_error {
    int64_t row; /* from 1, the header not counted */
    enum problem code;
    struct str detail;
};

struct import_report {
    int64_t done, failed;                          /* rows */
    struct import_error errors[IMPORT_ERRORS_MAX]; /* the first ones */
    size_t error_count;
};

/* How far an import is: what is true of the rows up to one of them. */
struct import_progress {
    int64_t rows;
    struct str digest; /* hexadecimal, of these rows: by it the same file is known again */
    const struct import_report *report;
};
/* co: notes the progress in the transaction that makes it, so that both are there or neither.
 * *ret_is_held: no other request has taken the import over. Results as of db_query(). */
typedef AWAITS int (*import_progress_fn)(void *arg,
                                         struct db *tx,
                                         const struct import_progress *progress,
                                         bool *ret_is_held);

struct import_config {
    enum import_format format;
    struct csv_style csv;
    const struct import_mapping *mapping; /* borrowed until the import ends */
    size_t mapping_count;
    /* Rows change the records that have the same value of this field, which is unique or the id,
     * and make others: those of a new value, but for an id, where a row without one makes one. NULL
     * = rows make records. */
    const struct model_field *key;
    import_progress_fn progress; /* NULL in a dry run */
    void *progress_arg;
    struct import_progress from; /* rows before it were dealt with: they are passed over, and have
                                    to be the same */
    bool dry_run; /* the first rows are written and taken back: records_import_preview() */
};

struct import;

/* any: `ctx` is borrowed until the import ends, ctx->db autocommit. Lives in ctx->task->arena. */
struct import *records_import_new(struct records_ctx *ctx,
                                  const struct entity *entity,
                                  const struct import_config *config);
/* co: takes the next piece of the file. RECORDS_FAILED ends the import with ctx->error: the file's
 * form is broken, its header names an unknown field, the database is not available, or another
 * request goes on with the import; rows reported as done stay. */
AWAITS int records_import_feed(struct import *import, struct str piece) MUSTCHECK;
/* co: the file is over: writes what is left. RECORDS_FAILED as above, also for a file cut short. */
AWAITS int records_import_finish(struct import *import) MUSTCHECK;
/* any: rows written and refused so far, valid until the next call. */
const struct import_report *records_import_report(const struct import *import);
/* any: after records_import_finish(): of the whole file. Arena-owned, valid until the next call. */
struct import_progress records_import_progress(const struct import *import);
/* any: the errors as a JSON array: [{"row":3,"code":"validation_failed","detail":"..."}]. */
void records_import_errors(const struct import_report *report, struct strbuf *out);
/* any: of a dry run: it has seen all that it looks at. */
bool records_import_enough(const struct import *import);
/* any: of a dry run, as an object: rows looked at, which of them would be taken, columns with the
 * type that their values have, and the errors. */
void records_import_preview(const struct import *import, struct strbuf *out);
