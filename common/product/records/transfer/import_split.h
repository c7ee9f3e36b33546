#pragma once
/* Cuts the bytes of an import into rows. Byte by byte, so that a piece may
 * end anywhere. */
#include "records/import.h"

#define IMPORT_CELLS_MAX 1000

struct import_row {
    struct str text;         /* JSON formats: the object's text */
    const struct str *cells; /* CSV */
    size_t cell_count;
};
/* co: takes a row, borrowed for the call; non-zero stops the split and is returned. */
typedef int (*import_row_fn)(void *arg, const struct import_row *row);

struct import_split {
    enum import_format format;
    int state;
    struct strbuf text; /* of the row so far, without the marks around cells */
    size_t *ends;       /* of the cells within text */
    struct str *cells;  /* of the row that is handed on */
    size_t cell_count;
    unsigned depth; /* of an array's element */
    bool in_string, escaped;
    bool after_cr;
    size_t skipped; /* bytes of a byte order mark at the start */
    bool started;
    const char *reason; /* of the failure */
    import_row_fn fn;
    void *arg;
};

void import_split_init(struct import_split *split,
                       struct arena *arena,
                       enum import_format format,
                       import_row_fn fn,
                       void *arg);
/* co: 0, IMPORT_BROKEN, or the result of fn. */
AWAITS int import_split_feed(struct import_split *split, struct str piece) MUSTCHECK;
AWAITS int import_split_end(struct import_split *split) MUSTCHECK;
