#pragma once
/*
 * Imports: chunks of a file become records as they arrive. Formats are CSV (RFC 4180, UTF-8 with or
 * without a byte order mark, header row of field names), a JSON array of objects, and JSON Lines.
 * Rows are written in batches, as new records or as changes of existing records. A row that is
 * refused or malformed is reported, and the import continues with the next row. Memory does not
 * grow with the file.
 *
 * Members that the service sets (id, created_at, ...) and masked secrets are ignored, so that an
 * export can be imported. The apostrophe that an export puts before a text that looks like a
 * formula is removed (transfer/cell.h). Cells have the meaning of PostgreSQL's COPY: nothing
 * between two separators is null, or the default of a required field; two quotes are the empty
 * text. A blank cell is also null if its field is no text.
 */
#include "records/csv.h"
#include "records/records.h"

enum import_format { IMPORT_CSV, IMPORT_JSON, IMPORT_JSONL };

#define IMPORT_ERRORS_MAX 100
#define IMPORT_ROW_BYTES  ((size_t)2 * 1024 * 1024)

/* The field for a column of the file, or for a member of its objects, that does not have a field's
 * name. */
struct import_mapping {
    struct str column;
    const struct model_field *field; /* NULL: ignore the column */
};

struct import_error {
    int64_t row; /* counted from 1 without the header */
    enum problem code;
    struct str detail;
};

struct import_report {
    int64_t done, failed;                          /* counts of rows */
    struct import_error errors[IMPORT_ERRORS_MAX]; /* the first errors */
    size_t error_count;
};

/* The state of an import after a number of rows. */
struct import_progress {
    int64_t rows;
    struct str digest; /* hexadecimal digest of these rows, to recognise the same file */
    const struct import_report *report;
};
/* co: stores the progress in the transaction `tx` that writes the rows, so that both are committed
 * or neither is. *ret_is_held: no other request has taken over the import. Results as of
 * db_query(). */
typedef AWAITS int (*import_progress_fn)(void *arg,
                                         struct db *tx,
                                         const struct import_progress *progress,
                                         bool *ret_is_held);

struct import_config {
    enum import_format format;
    struct csv_style csv;
    const struct import_mapping *mapping; /* borrowed until the import ends */
    size_t mapping_count;
    /* A unique field, or the id. A row updates the record that has the row's value of this field.
     * Other rows create records: for a unique field the rows with a new value, for the id only the
     * rows without an id. NULL = every row creates a record. */
    const struct model_field *key;
    import_progress_fn progress; /* NULL in a dry run */
    void *progress_arg;
    struct import_progress resume_from; /* rows already done: skipped, but they must be the same */
    bool dry_run; /* write the first rows and roll back: records_import_preview() */
};

struct import;

/* any: makes an import in ctx->task->arena. `ctx` is borrowed until the import ends; ctx->db is in
 * autocommit. */
struct import *records_import_new(struct records_ctx *ctx,
                                  const struct entity *entity,
                                  const struct import_config *config);
/* co: takes the next chunk of the file. RECORDS_FAILED ends the import with ctx->error: the file is
 * malformed, its header names an unknown field, the database is unavailable, or another request has
 * taken over the import. Rows that the report counts as done stay. */
AWAITS int records_import_feed(struct import *import, struct str chunk) MUSTCHECK;
/* co: ends the file and writes the remaining rows. RECORDS_FAILED as for records_import_feed(),
 * also for a truncated file. */
AWAITS int records_import_finish(struct import *import) MUSTCHECK;
/* any: the rows written and refused so far; valid until the next call. */
const struct import_report *records_import_report(const struct import *import);
/* any: the progress over the whole file, after records_import_finish(). Arena-owned, valid until
 * the next call. */
struct import_progress records_import_progress(const struct import *import);
/* any: writes the errors as a JSON array: [{"row":3,"code":"validation_failed","detail":"..."}]. */
void records_import_errors(const struct import_report *report, struct strbuf *out);
/* any: whether a dry run has read all rows that it examines. */
bool records_import_is_enough(const struct import *import);
/* any: writes the result of a dry run as an object: number of examined rows, how many of them would
 * be accepted, columns with the type of their values, and errors. */
void records_import_preview(const struct import *import, struct strbuf *out);
