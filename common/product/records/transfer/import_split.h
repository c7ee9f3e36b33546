#pragma once
/* Splits the bytes of an import into rows: JSON in import_split.c, CSV in import_csv.c. A chunk of
 * the file may end at any byte. A row that cannot be read is passed on with the reason, and the
 * rows after it are read. */
#include "records/import.h"

#define IMPORT_CELLS_MAX 1000

struct import_row {
    struct str text;         /* JSON formats: the text of the object; CSV: the text of all cells */
    const struct str *cells; /* CSV; STR_NONE = nothing between two separators */
    size_t cell_count;
    const char *reason; /* why the row cannot be read; NULL = no error */
};
/* co: Takes a row, which is borrowed for the call. A non-zero result stops the split, which returns
 * it. */
typedef int (*import_row_fn)(void *arg, const struct import_row *row);

/* CSV: bytes that may be read a second time. These are the bytes of the header, in which the
 * separator is searched first, and the bytes of a row from its second line on, for the case that
 * the row turns out to be malformed, such as by a quote that is never closed. */
struct import_window {
    struct strbuf bytes;
    size_t at; /* index of the next byte to read; bytes.len = the next byte comes from the file */
    size_t start;                    /* index of the row's second line, if is_open */
    bool is_open;                    /* bytes of the file are being added */
    size_t file_bytes, reread_bytes; /* bytes read from the file, and bytes read a second time */
};

struct import_split {
    struct task *task; /* borrowed */
    enum import_format format;
    int state;
    char separator;     /* CSV; 0 = not yet known */
    bool is_begun;      /* CSV: the separator is known */
    bool in_quotes;     /* CSV: inside quotes of the header, before is_begun */
    struct strbuf text; /* the row so far, without quotes and separators */
    size_t *ends;       /* ends of the cells in `text` */
    bool *quoted;       /* parallel to `ends`: the cell was in quotes */
    struct str *cells;  /* cells of the row that is passed on */
    size_t cell_count;
    unsigned depth; /* nesting inside an element of the array */
    bool in_string, escaped;
    bool after_cr;
    size_t skipped; /* bytes of a byte order mark at the start */
    bool is_started;
    struct import_window window;
    const char *row_reason; /* why the row so far cannot be read; NULL = no error */
    const char *reason;     /* why the split failed */
    import_row_fn fn;
    void *arg;
};

/* any: Prepares a split. `task` is borrowed while the split is used; memory is allocated from the
 * arena that the task has now. `separator`: of CSV, 0 = detected in the header. */
void import_split_init(struct import_split *split,
                       struct task *task,
                       enum import_format format,
                       char separator,
                       import_row_fn fn,
                       void *arg);
/* co: import_split_feed() splits the next bytes of the file, import_split_end() ends the file. Both
 * return 0, IMPORT_MALFORMED, or the non-zero result of `fn`. */
AWAITS int import_split_feed(struct import_split *split, struct str chunk) MUSTCHECK;
AWAITS int import_split_end(struct import_split *split) MUSTCHECK;

/* any: Adds a byte to the row, of JSON or CSV. Sets row_reason and returns false when the row is
 * longer than IMPORT_ROW_BYTES. */
bool import_split_put(struct import_split *split, char c);
