#pragma once
/* Cuts the bytes of an import into rows. Byte by byte, so that a piece may end anywhere: JSON in
 * import_split.c, CSV in import_csv.c. A row that cannot be read is handed on with its reason, and
 * the rows after it are read. */
#include "records/import.h"

#define IMPORT_CELLS_MAX 1000

struct import_row {
    struct str text;         /* JSON formats: the object's text; CSV: that of all cells */
    const struct str *cells; /* CSV; STR_NONE = nothing between two separators */
    size_t cell_count;
    const char *reason; /* why the row cannot be read; NULL = it can */
};
/* co: takes a row, borrowed for the call; non-zero stops the split and is returned. */
typedef int (*import_row_fn)(void *arg, const struct import_row *row);

/* CSV: bytes that are read a second time. Those of the header, in which the separator is found; and
 * those of a row from its second line on, when a quote that was opened on an earlier line turns out
 * not to be closed. */
struct import_window {
    struct strbuf bytes;
    size_t at;    /* the next byte to be read; the length: the next one is the file's */
    size_t start; /* of the row's second line; with is_open */
    bool is_open; /* bytes of the file are added */
    size_t first_bytes, again_bytes; /* read from the file, and read again */
};

struct import_split {
    struct task *task; /* borrowed */
    enum import_format format;
    int state;
    char separator;     /* CSV; with is_begun */
    bool is_begun;      /* CSV: the separator is known */
    bool in_quotes;     /* CSV: of the header, before */
    struct strbuf text; /* of the row so far, without the marks around cells */
    size_t *ends;       /* of the cells within text */
    bool *quoted;       /* parallel: the cell stood in quotes */
    struct str *cells;  /* of the row that is handed on */
    size_t cell_count;
    unsigned depth; /* of an array's element */
    bool in_string, escaped;
    bool after_cr;
    size_t skipped; /* bytes of a byte order mark at the start */
    bool started;
    struct import_window window;
    const char *row_reason; /* why the row so far cannot be read; NULL = it can */
    const char *reason;     /* of the failure */
    import_row_fn fn;
    void *arg;
};

/* any: `task` is borrowed while the split is used; memory is of its arena at this moment.
 * `separator` of CSV, 0 = found in the header. */
void import_split_init(struct import_split *split,
                       struct task *task,
                       enum import_format format,
                       char separator,
                       import_row_fn fn,
                       void *arg);
/* co: 0, IMPORT_BROKEN, or the result of fn. */
AWAITS int import_split_feed(struct import_split *split, struct str piece) MUSTCHECK;
AWAITS int import_split_end(struct import_split *split) MUSTCHECK;

/* any: adds a byte to the row; false when the row is too long by now, which is noted. */
bool import_split_put(struct import_split *split, char c);
