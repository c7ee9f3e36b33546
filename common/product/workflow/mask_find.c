/* Finds a text in its encoded forms. */
#include "base/ascii.h"
#include "base/codec.h"
#include "base/panic.h"
#include "workflow/mask_private.h"

#define END  (-1) /* of the text, or an invalid encoding */
#define PLUS 256  /* a + in percent-encoding: + or a blank */

#define WORK_MIN      65536
#define WORK_PER_BYTE 32

/* --- readers --- */

struct pending_bytes {
    unsigned char bytes[4];
    int count; /* still to be read: the last `count` of `bytes` */
};
struct mask_cursor {
    struct str text;
    size_t at;
    struct pending_bytes inner, outer; /* of \u escapes that encode several bytes */
};
typedef int (*reader_fn)(struct mask_cursor *cursor);

static int mask_next_plain(struct mask_cursor *cursor)
{
    return cursor->at < cursor->text.len ? (unsigned char)cursor->text.ptr[cursor->at++] : END;
}

static int read_percent(struct mask_cursor *cursor)
{
    int c = mask_next_plain(cursor);

    if (c == '+')
        return PLUS;
    if (c != '%')
        return c;
    int high = ascii_hex(mask_next_plain(cursor));
    int low = high == END ? END : ascii_hex(mask_next_plain(cursor));
    return low == END ? END : high << 4 | low;
}

static int read_hex_quad(struct mask_cursor *cursor, reader_fn below)
{
    int value = 0;

    for (int i = 0; i < 4; i++) {
        int digit = ascii_hex(below(cursor));
        if (digit == END)
            return END;
        value = value << 4 | digit;
    }
    return value;
}

/* Returns the first byte of a code point in UTF-8 and stores the following bytes in `rest`. */
static int mask_encode(int code, struct pending_bytes *rest)
{
    if (code < 0x80)
        return code;
    int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const int heads[] = {0, 0xc0, 0xe0, 0xf0};
    for (int i = 0; i < more; i++)
        rest->bytes[3 - i] = (unsigned char)(0x80 | (code >> (6 * i) & 0x3f));
    rest->count = more;
    return heads[more] | code >> (6 * more);
}

static int
read_unicode_escape(struct mask_cursor *cursor, reader_fn below, struct pending_bytes *rest)
{
    int code = read_hex_quad(cursor, below);

    if (code >= 0xd800 && code < 0xdc00) {
        int backslash = below(cursor);
        int letter = below(cursor);
        if (backslash != '\\' || letter != 'u')
            return END;
        int low = read_hex_quad(cursor, below);
        if (low < 0xdc00 || low > 0xdfff)
            return END;
        code = 0x10000 + ((code - 0xd800) << 10 | (low - 0xdc00));
    }
    return code == END ? END : mask_encode(code, rest);
}

/* Reads a byte through `below` and undoes JSON escapes (RFC 8259 section 7). */
static int mask_unescape(struct mask_cursor *cursor, reader_fn below, struct pending_bytes *rest)
{
    static const char letters[] = "bfnrt\"\\/";
    static const char meanings[] = "\b\f\n\r\t\"\\/";

    if (rest->count > 0)
        return rest->bytes[4 - rest->count--];
    int c = below(cursor);
    if (c != '\\')
        return c;
    c = below(cursor);
    if (c == 'u')
        return read_unicode_escape(cursor, below, rest);
    const char *letter = c > 0 && c < 128 ? strchr(letters, c) : NULL;
    return letter ? meanings[letter - letters] : END;
}

static int read_json(struct mask_cursor *cursor)
{
    return mask_unescape(cursor, mask_next_plain, &cursor->inner);
}

static int read_json_twice(struct mask_cursor *cursor)
{
    return mask_unescape(cursor, read_json, &cursor->outer);
}

/* Undoes percent-encoding, then JSON escapes. */
static int read_percent_then_json(struct mask_cursor *cursor)
{
    return mask_unescape(cursor, read_percent, &cursor->inner);
}

/* Undoes JSON escapes, then percent-encoding: the escapes "\u0025" and "\/" matter here. */
static int read_json_then_percent(struct mask_cursor *cursor)
{
    int c = read_json(cursor);

    if (c == '+')
        return PLUS;
    if (c != '%')
        return c;
    int high = ascii_hex(read_json(cursor));
    int low = high == END ? END : ascii_hex(read_json(cursor));
    return low == END ? END : high << 4 | low;
}

static const struct {
    reader_fn read;
    const char *needs; /* the text must contain one of these characters, else the reader finds only
                          what mask_next_plain() finds; NULL = no condition */
} readers[] = {
    {mask_next_plain, NULL},
    {read_percent, "%+"},
    {read_json, "\\"},
    {read_json_twice, "\\"},
    {read_percent_then_json, "%"},
    {read_json_then_percent, "\\"},
};

/* --- needles --- */

static bool is_base64(char c)
{
    return ascii_is(c, ASCII_ALNUM) || c == '+' || c == '/' || c == '-' || c == '_';
}

/* Returns the base64 characters that depend only on the text, when `shift` unknown bytes precede
 * it. */
static struct mask_needle base64_needle(struct arena *arena, struct str text, size_t shift)
{
    char *padded = arena_zalloc(arena, text.len + 2);

    memcpy(padded + shift, text.ptr, text.len);
    struct str coded = codec_b64(arena, (struct str){padded, shift + text.len});
    explicit_bzero(padded, text.len + 2);
    size_t from = (shift * 8 + 5) / 6;
    size_t to = (shift + text.len) * 8 / 6;
    return (struct mask_needle){
        .bytes = {coded.ptr + from, to - from},
        .form = MASK_BASE64,
        .shares_char_before = shift > 0,
        .shares_char_after = (shift + text.len) % 3 != 0,
    };
}

void mask_needles(struct arena *arena,
                  struct str text,
                  struct mask_needle ret_needles[MASK_NEEDLES])
{
    ret_needles[0] = (struct mask_needle){.bytes = text};
    for (size_t shift = 0; shift < 3; shift++)
        ret_needles[1 + shift] = base64_needle(arena, text, shift);
    ret_needles[4] = (struct mask_needle){.bytes = codec_hex(arena, text), .form = MASK_HEX};
}

/* --- search --- */

static int mask_fold(enum mask_form form, int c)
{
    if (form == MASK_HEX)
        return c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c;
    if (form == MASK_PLAIN)
        return c;
    return c == '-' || c == PLUS ? '+' : c == '_' ? '/' : c;
}

static bool mask_same(enum mask_form form, int got, unsigned char want)
{
    if (form == MASK_PLAIN && got == PLUS)
        return want == ' ' || want == '+';
    return mask_fold(form, got) == want;
}

/* Returns the end of the needle that begins at `at`, or 0. Adds the number of bytes read to
 * *work. */
static size_t needle_match(
    const struct mask_needle *needle, struct str text, size_t at, reader_fn read, size_t *work)
{
    struct mask_cursor cursor = {.text = text, .at = at};

    for (size_t i = 0; i < needle->bytes.len; i++) {
        int got = read(&cursor);
        ++*work;
        while (needle->form != MASK_PLAIN && i > 0 && (got == '\r' || got == '\n'))
            got = read(&cursor);
        if (got == END || !mask_same(needle->form, got, (unsigned char)needle->bytes.ptr[i]))
            return 0;
    }
    return cursor.at;
}

static void mask_add(struct mask_spans *spans, size_t from, size_t to)
{
    ARENA_PUSH(spans->arena, spans->items, spans->count, spans->room, (struct mask_span){from, to});
}

/* `begins` marks the decoded bytes with which a needle may begin, so that most positions of the
 * text need one test only. */
struct mask_search {
    const struct mask_needle *needles;
    size_t count;
    struct str text;
    struct mask_spans *spans;
    bool begins[PLUS + 1];
    size_t work, work_max;
};

static void
add_match(struct mask_search *search, const struct mask_needle *needle, size_t from, size_t to)
{
    struct str text = search->text;

    if (needle->shares_char_before && from > 0 && is_base64(text.ptr[from - 1]))
        from--;
    if (needle->shares_char_after && to < text.len && is_base64(text.ptr[to]))
        to++;
    mask_add(search->spans, from, to);
}

static void find_with_reader(struct mask_search *search, reader_fn read)
{
    for (size_t at = 0; at < search->text.len && search->work <= search->work_max; at++) {
        struct mask_cursor cursor = {.text = search->text, .at = at};
        char c = search->text.ptr[at];
        int first = c == '%' || c == '\\' || c == '+' ? read(&cursor) : (unsigned char)c;
        if (first == END || !search->begins[first])
            continue;
        for (size_t i = 0; i < search->count; i++) {
            const struct mask_needle *needle = &search->needles[i];
            if (!mask_same(needle->form, first, (unsigned char)needle->bytes.ptr[0]))
                continue;
            size_t end = needle_match(needle, search->text, at, read, &search->work);
            if (end)
                add_match(search, needle, at, end);
        }
    }
}

void mask_find(const struct mask_needle *needles,
               size_t count,
               struct str text,
               struct mask_spans *spans)
{
    struct mask_search search = {
        .needles = needles,
        .count = count,
        .text = text,
        .spans = spans,
        .work_max = WORK_MIN + text.len * WORK_PER_BYTE,
    };

    for (size_t i = 0; i < count; i++) {
        for (int c = 0; c <= PLUS; c++)
            search.begins[c] |=
                mask_same(needles[i].form, c, (unsigned char)needles[i].bytes.ptr[0]);
    }
    for (size_t i = 0; count && i < ARRAY_LEN(readers); i++) {
        const char *needs = readers[i].needs;
        bool useful = !needs;
        for (; needs && *needs && !useful; needs++)
            useful = memchr(text.ptr, *needs, text.len) != NULL;
        if (useful)
            find_with_reader(&search, readers[i].read);
    }
    /* A text that was made to be slow to search is not worth storing: mask all of it. */
    if (search.work > search.work_max)
        mask_add(spans, 0, text.len);
}
