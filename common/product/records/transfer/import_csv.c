/*
 * Splits CSV (RFC 4180; also with semicolons or tabs) into rows, one byte at a time. A quote has
 * its meaning only at the start of a cell; within a cell without quotes it is text. A malformed row
 * ends with its line. When such a row has several lines, the quote that joined them was probably a
 * mistake, so the second line is read again as a row.
 */
#include "records/transfer/import_csv.h"

#include <string.h>

#include "base/ascii.h"
#include "loop/task.h"

#define SEPARATORS ",;\t" /* the first is the default */

enum csv_state { CSV_CELL, CSV_PLAIN, CSV_QUOTED, CSV_QUOTE, CSV_MALFORMED };

/* --- reading again --- */

/* Begins to store the bytes that follow the current byte, which is the first line end inside
 * quotes. */
static void window_open(struct import_window *window)
{
    if (window->is_open)
        return;
    if (window->at == window->bytes.len)
        window->at = window->bytes.len = 0;
    window->start = window->at;
    window->is_open = true;
}

static void window_add(struct import_window *window, char c)
{
    struct strbuf *bytes = &window->bytes;

    if (window->start > 0) {
        bytes->len -= window->start;
        memmove(bytes->ptr, bytes->ptr + window->start, bytes->len);
        window->start = 0;
    }
    strbuf_char(bytes, c);
    window->at = bytes->len;
}

static size_t window_unread_bytes(const struct import_window *window)
{
    return window->bytes.len - window->start;
}

/* Limits repeated reading: a file in which each line opens a quote is read twice, not a thousand
 * times. */
static bool can_read_again(const struct import_window *window)
{
    return window->is_open && window->reread_bytes + window_unread_bytes(window) <=
                                  window->file_bytes + 2 * IMPORT_ROW_BYTES;
}

/* --- rows --- */

static void csv_cell_end(struct import_split *split)
{
    bool quoted = split->state == CSV_QUOTE;

    split->state = CSV_CELL;
    if (split->cell_count == IMPORT_CELLS_MAX) {
        if (split->row_reason == NULL)
            split->row_reason = "the row has more than 1,000 cells";
        return;
    }
    split->quoted[split->cell_count] = quoted;
    split->ends[split->cell_count++] = split->text.len;
}

/* co: Passes on the cells of the row, or why the row cannot be read. Skips blank lines. */
AWAITS static int csv_row_end(struct import_split *split)
{
    struct str *items = split->cells;
    size_t start = 0;

    csv_cell_end(split);
    for (size_t i = 0; i < split->cell_count; i++) {
        items[i] = split->quoted[i] ? STR("") : STR_NONE;
        if (split->ends[i] > start)
            items[i] = (struct str){split->text.ptr + start, split->ends[i] - start};
        start = split->ends[i];
    }
    const struct import_row row = {.text = strbuf_view(&split->text),
                                   .cells = items,
                                   .cell_count = split->cell_count,
                                   .reason = split->row_reason};
    bool blank = row.reason == NULL && row.cell_count == 1 && items[0].ptr == NULL;
    split->window.is_open = false;
    int rc = blank ? 0 : split->fn(split->arg, &row);
    split->text.len = 0;
    split->text.overflow = false;
    split->cell_count = 0;
    split->row_reason = NULL;
    return rc;
}

/* co: Ends a row that cannot be read. `c` is the byte that shows the error. */
AWAITS static int csv_end_malformed(struct import_split *split, const char *reason, char c)
{
    struct import_window *window = &split->window;

    if (split->row_reason == NULL)
        split->row_reason = reason;
    if (can_read_again(window)) {
        window->reread_bytes += window_unread_bytes(window);
        window->at = window->start;
        return csv_row_end(split);
    }
    window->is_open = false;
    split->state = CSV_MALFORMED;
    return c == '\n' || c == '\r' ? csv_row_end(split) : 0;
}

AWAITS static int csv_put(struct import_split *split, char c)
{
    return import_split_put(split, c) ? 0 : csv_end_malformed(split, split->row_reason, c);
}

/* co: Handles a separator or a line end outside quotes. */
AWAITS static int csv_end_cell_or_row(struct import_split *split, char c)
{
    if (c != split->separator)
        return csv_row_end(split);
    csv_cell_end(split);
    return split->row_reason == NULL ? 0 : csv_end_malformed(split, split->row_reason, c);
}

AWAITS static int csv_byte(struct import_split *split, char c)
{
    bool line_end = c == '\r' || c == '\n';
    bool marks = line_end || c == split->separator;
    bool paired = split->after_cr && c == '\n';

    split->after_cr = c == '\r' && split->state != CSV_QUOTED;
    if (paired)
        return 0;
    switch ((enum csv_state)split->state) {
    case CSV_CELL:
        if (marks)
            return csv_end_cell_or_row(split, c);
        split->state = c == '"' ? CSV_QUOTED : CSV_PLAIN;
        return c == '"' ? 0 : csv_put(split, c);
    case CSV_PLAIN:
        return marks ? csv_end_cell_or_row(split, c) : csv_put(split, c);
    case CSV_QUOTED:
        if (c == '"') {
            split->state = CSV_QUOTE;
            return 0;
        }
        if (line_end)
            window_open(&split->window);
        return csv_put(split, c);
    case CSV_QUOTE:
        if (marks)
            return csv_end_cell_or_row(split, c);
        split->state = CSV_QUOTED;
        return c == '"' ? csv_put(split, c)
                        : csv_end_malformed(split, "text follows a closing quote", c);
    case CSV_MALFORMED:
        return line_end ? csv_row_end(split) : 0;
    }
    return 0;
}

/* --- the separator --- */

/* Counts the marks outside quotes. */
static size_t count_separators(struct str row, char mark)
{
    bool in_quotes = false;
    bool begins = true; /* the next byte starts a cell, which a quote may open */
    size_t count = 0;

    for (size_t i = 0; i < row.len; i++) {
        char c = row.ptr[i];
        count += !in_quotes && c == mark;
        if (c == '"' && (in_quotes || begins))
            in_quotes = !in_quotes;
        begins = ascii_is_in(c, SEPARATORS);
    }
    return count;
}

/* Returns true for the line "sep=;" above the header, a convention of Excel. */
static bool names_separator(struct str row)
{
    return row.len == 5 && str_ieq((struct str){row.ptr, 4}, STR("sep=")) &&
           ascii_is_in(row.ptr[4], SEPARATORS);
}

/* Finds the separator in the header, which is in the window and will be read from there. */
static void csv_begin(struct import_split *split)
{
    struct strbuf *bytes = &split->window.bytes;
    struct str row = strbuf_view(bytes);
    size_t most = 0;

    while (row.len > 0 && ascii_is_in(row.ptr[row.len - 1], "\r\n"))
        row.len--;
    split->is_begun = true;
    if (names_separator(row)) {
        split->separator = row.ptr[4];
        bytes->len = 0;
    }
    if (split->separator != 0)
        return;
    split->separator = SEPARATORS[0];
    for (const char *mark = SEPARATORS; *mark != '\0'; mark++) {
        size_t count = count_separators(row, *mark);
        if (count > most)
            split->separator = *mark;
        most = count > most ? count : most;
    }
}

/* Copies the header, up to its line end, into the window. Returns the bytes taken of `chunk`. */
static size_t csv_take_header(struct import_split *split, struct str chunk)
{
    struct strbuf *bytes = &split->window.bytes;

    for (size_t i = 0; i < chunk.len; i++) {
        char c = chunk.ptr[i];
        bool line_end = c == '\r' || c == '\n';
        bool begins = bytes->len == 0 || ascii_is_in(bytes->ptr[bytes->len - 1], SEPARATORS);
        if (line_end && bytes->len == 0)
            continue;
        strbuf_char(bytes, c);
        if (c == '"' && (split->in_quotes || begins))
            split->in_quotes = !split->in_quotes;
        if ((line_end && !split->in_quotes) || bytes->len == IMPORT_ROW_BYTES) {
            csv_begin(split);
            return i + 1;
        }
    }
    return chunk.len;
}

/* --- the file --- */

/* co: Handles the next byte of the file. */
AWAITS static int csv_file_byte(struct import_split *split, char c)
{
    struct import_window *window = &split->window;

    window->file_bytes++;
    if (window->is_open)
        window_add(window, c);
    return csv_byte(split, c);
}

int import_csv_feed(struct import_split *split, struct str chunk)
{
    struct import_window *window = &split->window;
    size_t taken = split->is_begun ? 0 : csv_take_header(split, chunk);

    if (!split->is_begun)
        return 0;
    for (size_t steps = 1;; steps++) {
        if (steps % 4096 == 0)
            TRY(task_yield_if_due(split->task));
        if (window->at < window->bytes.len)
            TRY(csv_byte(split, window->bytes.ptr[window->at++]));
        else if (taken == chunk.len)
            return 0;
        else if (window->is_open && window_unread_bytes(window) == IMPORT_ROW_BYTES)
            TRY(csv_end_malformed(split, "the row is longer than 2 MB", 0));
        else
            TRY(csv_file_byte(split, chunk.ptr[taken++]));
    }
}

int import_csv_end(struct import_split *split)
{
    if (!split->is_begun) {
        csv_begin(split);
        TRY(import_csv_feed(split, STR("")));
    }
    while (split->state == CSV_QUOTED && can_read_again(&split->window)) {
        TRY(csv_end_malformed(split, "a quote is not closed", 0));
        TRY(import_csv_feed(split, STR("")));
    }
    if (split->state == CSV_QUOTED)
        split->row_reason = "a quote is not closed";
    if (split->state == CSV_CELL && split->cell_count == 0)
        return 0;
    return csv_row_end(split);
}
