/* Rows of CSV (RFC 4180), of a JSON array and of JSON Lines, one byte at a time. */
#include "records/transfer/import_split.h"

enum csv_state { CSV_CELL, CSV_PLAIN, CSV_QUOTED, CSV_QUOTE };
enum list_state { LIST_START, LIST_FIRST, LIST_ITEM_DUE, LIST_INSIDE, LIST_NEXT, LIST_END };

static const unsigned char mark[] = {0xef, 0xbb, 0xbf}; /* byte order mark */

static int broken(struct import_split *split, const char *reason)
{
    split->reason = reason;
    return IMPORT_BROKEN;
}

static int split_put(struct import_split *split, char c)
{
    strbuf_char(&split->text, c);
    return split->text.overflow ? broken(split, "a row is longer than 2 MB") : 0;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* --- CSV --- */

static int csv_cell_end(struct import_split *split)
{
    if (split->cell_count == IMPORT_CELLS_MAX)
        return broken(split, "a row has more than 1,000 cells");
    split->ends[split->cell_count++] = split->text.len;
    split->state = CSV_CELL;
    return 0;
}

AWAITS static int csv_row_end(struct import_split *split)
{
    struct str *items = split->cells;
    size_t start = 0;

    TRY(csv_cell_end(split));
    for (size_t i = 0; i < split->cell_count; i++) {
        items[i] = (struct str){split->text.ptr + start, split->ends[i] - start};
        start = split->ends[i];
    }
    const struct import_row row = {.cells = items, .cell_count = split->cell_count};
    bool blank = row.cell_count == 1 && items[0].len == 0;
    int rc = blank ? 0 : split->fn(split->arg, &row);
    split->text.len = 0;
    split->cell_count = 0;
    return rc;
}

/* Outside quotes, where commas and line ends count. */
AWAITS static int csv_mark(struct import_split *split, char c)
{
    split->after_cr = c == '\r';
    if (c == ',')
        return csv_cell_end(split);
    return csv_row_end(split);
}

AWAITS static int csv_byte(struct import_split *split, char c)
{
    bool marks = c == ',' || c == '\r' || c == '\n';

    if (split->after_cr && c == '\n') {
        split->after_cr = false;
        return 0;
    }
    split->after_cr = false;
    switch ((enum csv_state)split->state) {
    case CSV_CELL:
        if (marks)
            return csv_mark(split, c);
        split->state = c == '"' ? CSV_QUOTED : CSV_PLAIN;
        return c == '"' ? 0 : split_put(split, c);
    case CSV_PLAIN:
        if (marks)
            return csv_mark(split, c);
        return c == '"' ? broken(split, "a quote stands in a cell without quotes")
                        : split_put(split, c);
    case CSV_QUOTED:
        if (c != '"')
            return split_put(split, c);
        split->state = CSV_QUOTE;
        return 0;
    case CSV_QUOTE:
        if (marks)
            return csv_mark(split, c);
        split->state = CSV_QUOTED;
        return c == '"' ? split_put(split, c) : broken(split, "text follows a closing quote");
    }
    return 0;
}

AWAITS static int csv_end(struct import_split *split)
{
    if (split->state == CSV_QUOTED)
        return broken(split, "the file ends inside quotes");
    if (split->state == CSV_CELL && split->cell_count == 0)
        return 0;
    return csv_row_end(split);
}

/* --- JSON --- */

AWAITS static int text_end(struct import_split *split)
{
    const struct import_row row = {.text = strbuf_view(&split->text)};

    int rc = split->fn(split->arg, &row);
    split->text.len = 0;
    return rc;
}

AWAITS static int line_byte(struct import_split *split, char c)
{
    if (c != '\n')
        return split->text.len == 0 && is_space(c) ? 0 : split_put(split, c);
    return split->text.len > 0 ? text_end(split) : 0;
}

/* Within an element only its end matters; what is in it is the reader's business. */
AWAITS static int list_inside(struct import_split *split, char c)
{
    TRY(split_put(split, c));
    if (split->in_string) {
        bool ends = c == '"' && !split->escaped;
        split->escaped = c == '\\' && !split->escaped;
        split->in_string = !ends;
        return 0;
    }
    split->in_string = c == '"';
    if (c == '{' || c == '[')
        split->depth++;
    if (c != '}' && c != ']')
        return 0;
    if (--split->depth > 0)
        return 0;
    split->state = LIST_NEXT;
    return text_end(split);
}

AWAITS static int list_byte(struct import_split *split, char c)
{
    if (split->state == LIST_INSIDE)
        return list_inside(split, c);
    if (is_space(c))
        return 0;
    switch ((enum list_state)split->state) {
    case LIST_START:
        split->state = LIST_FIRST;
        return c == '[' ? 0 : broken(split, "the file must be a JSON array");
    case LIST_FIRST:
    case LIST_ITEM_DUE:
        if (c == ']' && split->state == LIST_FIRST) {
            split->state = LIST_END;
            return 0;
        }
        if (c != '{')
            return broken(split, "the array must hold objects");
        split->state = LIST_INSIDE;
        split->depth = 0;
        return list_inside(split, c);
    case LIST_NEXT:
        split->state = c == ',' ? LIST_ITEM_DUE : LIST_END;
        return c == ',' || c == ']' ? 0 : broken(split, "a comma is missing between objects");
    case LIST_INSIDE:
    case LIST_END:
        break;
    }
    return broken(split, "text follows the array");
}

/* --- all --- */

void import_split_init(struct import_split *split,
                       struct arena *arena,
                       enum import_format format,
                       import_row_fn fn,
                       void *arg)
{
    *split = (struct import_split){.format = format, .fn = fn, .arg = arg};
    split->ends = ARENA_ARRAY(arena, split->ends, IMPORT_CELLS_MAX);
    split->cells = ARENA_ARRAY(arena, split->cells, IMPORT_CELLS_MAX);
    strbuf_init(&split->text, arena, IMPORT_ROW_BYTES_MAX);
}

AWAITS static int format_byte(struct import_split *split, char c)
{
    switch (split->format) {
    case IMPORT_CSV:
        return csv_byte(split, c);
    case IMPORT_JSON:
        return list_byte(split, c);
    case IMPORT_JSONL:
        return line_byte(split, c);
    }
    return 0;
}

int import_split_feed(struct import_split *split, struct str piece)
{
    for (size_t i = 0; i < piece.len; i++) {
        if (!split->started && split->skipped < sizeof(mark) &&
            (unsigned char)piece.ptr[i] == mark[split->skipped]) {
            split->skipped++;
            continue;
        }
        if (!split->started && split->skipped > 0 && split->skipped < sizeof(mark))
            return broken(split, "the file is not UTF-8");
        split->started = true;
        TRY(format_byte(split, piece.ptr[i]));
    }
    return 0;
}

int import_split_end(struct import_split *split)
{
    switch (split->format) {
    case IMPORT_CSV:
        return csv_end(split);
    case IMPORT_JSON:
        return split->state == LIST_END ? 0 : broken(split, "the file ends inside the array");
    case IMPORT_JSONL:
        return split->text.len > 0 ? text_end(split) : 0;
    }
    return 0;
}
