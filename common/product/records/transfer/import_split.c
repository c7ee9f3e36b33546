/* Splits a JSON array and JSON Lines into rows, one byte at a time. */
#include "records/transfer/import_split.h"

#include "loop/task.h"
#include "records/transfer/import_csv.h"

enum list_state { LIST_START, LIST_FIRST, LIST_ITEM_DUE, LIST_INSIDE, LIST_NEXT, LIST_END };

static const unsigned char byte_order_mark[] = {0xef, 0xbb, 0xbf}; /* U+FEFF as UTF-8 */

static int split_fail_malformed(struct import_split *split, const char *reason)
{
    split->reason = reason;
    return IMPORT_MALFORMED;
}

bool import_split_put(struct import_split *split, char c)
{
    strbuf_char(&split->text, c);
    if (split->text.overflow && split->row_reason == NULL)
        split->row_reason = "the row is longer than 2 MB";
    return !split->text.overflow;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* --- JSON --- */

AWAITS static int text_end(struct import_split *split)
{
    const struct import_row row = {.text = strbuf_view(&split->text), .reason = split->row_reason};

    int rc = split->fn(split->arg, &row);
    split->text.len = 0;
    split->text.overflow = false;
    split->row_reason = NULL;
    return rc;
}

AWAITS static int line_byte(struct import_split *split, char c)
{
    if (c == '\n')
        return split->text.len > 0 ? text_end(split) : 0;
    if (split->text.len > 0 || !is_space(c))
        (void)import_split_put(split, c);
    return 0;
}

/* Inside an element only its end matters here; its content is parsed later. */
AWAITS static int list_inside(struct import_split *split, char c)
{
    (void)import_split_put(split, c);
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
        return c == '[' ? 0 : split_fail_malformed(split, "the file must be a JSON array");
    case LIST_FIRST:
    case LIST_ITEM_DUE:
        if (c == ']' && split->state == LIST_FIRST) {
            split->state = LIST_END;
            return 0;
        }
        if (c != '{')
            return split_fail_malformed(split, "the array must contain only objects");
        split->state = LIST_INSIDE;
        split->depth = 0;
        return list_inside(split, c);
    case LIST_NEXT:
        split->state = c == ',' ? LIST_ITEM_DUE : LIST_END;
        return c == ',' || c == ']'
                   ? 0
                   : split_fail_malformed(split, "a comma is missing between objects");
    case LIST_INSIDE:
    case LIST_END:
        break;
    }
    return split_fail_malformed(split, "text follows the array");
}

/* --- all formats --- */

void import_split_init(struct import_split *split,
                       struct task *task,
                       enum import_format format,
                       char separator,
                       import_row_fn fn,
                       void *arg)
{
    struct arena *arena = task->arena;

    *split = (struct import_split){
        .task = task, .format = format, .separator = separator, .fn = fn, .arg = arg};
    split->ends = ARENA_ARRAY(arena, split->ends, IMPORT_CELLS_MAX);
    split->quoted = ARENA_ARRAY(arena, split->quoted, IMPORT_CELLS_MAX);
    split->cells = ARENA_ARRAY(arena, split->cells, IMPORT_CELLS_MAX);
    strbuf_init(&split->text, arena, IMPORT_ROW_BYTES);
    strbuf_init(&split->window.bytes, arena, IMPORT_ROW_BYTES);
}

/* co: Splits the bytes that follow the byte order mark. */
AWAITS static int split_after_mark(struct import_split *split, struct str chunk)
{
    if (split->format == IMPORT_CSV)
        return import_csv_feed(split, chunk);
    for (size_t i = 0; i < chunk.len; i++)
        TRY(split->format == IMPORT_JSON ? list_byte(split, chunk.ptr[i])
                                         : line_byte(split, chunk.ptr[i]));
    return 0;
}

int import_split_feed(struct import_split *split, struct str chunk)
{
    for (size_t i = 0; i < chunk.len; i++) {
        if (!split->is_started && split->skipped < sizeof(byte_order_mark) &&
            (unsigned char)chunk.ptr[i] == byte_order_mark[split->skipped]) {
            split->skipped++;
            continue;
        }
        if (!split->is_started && split->skipped > 0 && split->skipped < sizeof(byte_order_mark))
            return split_fail_malformed(split, "the file is not UTF-8");
        split->is_started = true;
        return split_after_mark(split, (struct str){chunk.ptr + i, chunk.len - i});
    }
    return 0;
}

int import_split_end(struct import_split *split)
{
    switch (split->format) {
    case IMPORT_CSV:
        return import_csv_end(split);
    case IMPORT_JSON:
        return split->state == LIST_END
                   ? 0
                   : split_fail_malformed(split, "the file ends inside the array");
    case IMPORT_JSONL:
        return split->text.len > 0 ? text_end(split) : 0;
    }
    return 0;
}
