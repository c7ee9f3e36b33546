#include "search/lexicon.h"

#include <stdlib.h>

#include "base/utf8.h"
#include "search/tokens.h"
#include "search/typo_private.h"

enum { RECORD_HEAD = 6 }; /* id, weight, length */

uint8_t lexicon_weight(int64_t df)
{
    if (df <= 1)
        return df == 1;
    unsigned log = 63 - (unsigned)__builtin_clzll((uint64_t)df);
    /* df is at least the square root of two times the power: half a step more */
    bool half = log > 0 && (unsigned __int128)(uint64_t)df * (uint64_t)df >= (unsigned __int128)1
                                                                                 << (2 * log + 1);
    return (uint8_t)(2 * log + half);
}

/* --- keys ------------------------------------------------------------------------------------- */

/* Bytes of the first letter; 0: typos are not tolerated in the term. */
static size_t first_letter(struct str term)
{
    uint32_t code;

    if (term.len == 0 || term.len > TERM_BYTES || term.ptr[0] == '@' || tokens_is_unspaced(term))
        return 0;
    for (size_t i = 0; i < term.len; i++)
        if (term.ptr[i] >= '0' && term.ptr[i] <= '9')
            return 0;
    return utf8_decode(term, 0, &code);
}

static struct str row_key(struct arena *arena, struct str term, size_t first, size_t letters)
{
    return arena_printf(arena, "%.*s%02zu", (int)first, term.ptr, letters);
}

bool lexicon_key(struct arena *arena, struct str term, struct str *ret_key)
{
    size_t first = first_letter(term);

    if (first == 0)
        return false;
    *ret_key = row_key(arena, term, first, utf8_length(term));
    return true;
}

size_t lexicon_keys(struct arena *arena, struct str term, unsigned typos, struct str keys[static 5])
{
    size_t first = first_letter(term);
    size_t letters = utf8_length(term);
    size_t count = 0;

    if (first == 0 || typos > 2)
        return 0;
    for (size_t n = letters > typos ? letters - typos : 1; n <= letters + typos; n++)
        keys[count++] = row_key(arena, term, first, n);
    return count;
}

struct str lexicon_prefix_key(struct arena *arena, struct str prefix)
{
    return arena_printf(arena, "*%.*s", STR_ARG(prefix));
}

/* --- rows ------------------------------------------------------------------------------------- */

static int record_read(struct str row, size_t at, struct lexicon_term *ret_term)
{
    if (row.len - at <= RECORD_HEAD)
        return LEXICON_BAD;
    const unsigned char *head = (const unsigned char *)row.ptr + at;
    uint32_t id =
        head[0] | (uint32_t)head[1] << 8 | (uint32_t)head[2] << 16 | (uint32_t)head[3] << 24;
    size_t len = head[5];
    if (id == 0 || id > INT32_MAX || head[4] > lexicon_weight(INT64_MAX) || len == 0 ||
        len > TERM_BYTES || len > row.len - at - RECORD_HEAD)
        return LEXICON_BAD;
    *ret_term = (struct lexicon_term){
        .term = {row.ptr + at + RECORD_HEAD, len}, .id = (int32_t)id, .weight = head[4]};
    return 0;
}

bool lexicon_next(struct str row, size_t *at, struct lexicon_term *ret_term, int *ret_rc)
{
    *ret_rc = 0;
    if (*at >= row.len)
        return false;
    *ret_rc = record_read(row, *at, ret_term);
    if (*ret_rc != 0)
        return false;
    *at += RECORD_HEAD + ret_term->term.len;
    return true;
}

bool lexicon_valid(struct str row)
{
    struct lexicon_term term;
    size_t at = 0;
    int rc = 0;

    if (row.len > LEXICON_BYTES)
        return false;
    while (lexicon_next(row, &at, &term, &rc))
        if (!utf8_valid(term.term))
            return false;
    return rc == 0;
}

static void record_put(char *at, struct lexicon_term term)
{
    uint32_t id = (uint32_t)term.id;
    const char head[RECORD_HEAD] = {(char)id,
                                    (char)(id >> 8),
                                    (char)(id >> 16),
                                    (char)(id >> 24),
                                    (char)term.weight,
                                    (char)term.term.len};

    memcpy(at, head, RECORD_HEAD);
    memcpy(at + RECORD_HEAD, term.term.ptr, term.term.len);
}

/* Finds where the record of an id begins; row.len: the row has none. */
static int record_find(struct str row, int32_t id, size_t *ret_at, struct lexicon_term *ret_term)
{
    int rc;

    for (size_t at = 0, begin = 0; lexicon_next(row, &at, ret_term, &rc) || rc; begin = at) {
        if (rc)
            return rc;
        if (ret_term->id == id) {
            *ret_at = begin;
            return 0;
        }
    }
    *ret_at = row.len;
    return 0;
}

int lexicon_put(struct arena *arena, struct str row, struct lexicon_term term, struct str *ret_row)
{
    struct lexicon_term there;
    size_t at;

    TRY(record_find(row, term.id, &at, &there));
    if (at < row.len) {
        struct str copy = arena_dup(arena, row);
        ((char *)copy.ptr)[at + 4] = (char)term.weight;
        *ret_row = copy;
        return 0;
    }
    size_t bytes = row.len + RECORD_HEAD + term.term.len;
    if (bytes > LEXICON_BYTES)
        return LEXICON_FULL;
    char *text = arena_alloc(arena, bytes);
    if (row.len > 0)
        memcpy(text, row.ptr, row.len);
    record_put(text + row.len, term);
    *ret_row = (struct str){text, bytes};
    return 0;
}

int lexicon_find(struct str row, int32_t id, struct lexicon_term *ret_term, bool *ret_found)
{
    struct lexicon_term term;
    size_t at;

    TRY(record_find(row, id, &at, &term));
    *ret_found = at < row.len;
    if (*ret_found)
        *ret_term = term;
    return 0;
}

int lexicon_remove(struct arena *arena, struct str row, int32_t id, struct str *ret_row)
{
    struct lexicon_term term;
    size_t at;

    TRY(record_find(row, id, &at, &term));
    if (at == row.len) {
        *ret_row = row;
        return 0;
    }
    size_t end = at + RECORD_HEAD + term.term.len;
    char *text = arena_alloc(arena, row.len);
    memcpy(text, row.ptr, at);
    memcpy(text + at, row.ptr + end, row.len - end);
    *ret_row = (struct str){text, row.len - (end - at)};
    return 0;
}

size_t lexicon_build(struct arena *arena,
                     const struct lexicon_term *terms,
                     size_t count,
                     struct str **ret_rows)
{
    struct str *rows = NULL;
    size_t rows_count = 0;
    size_t cap = 0;

    for (size_t i = 0; i < count;) {
        char *text = arena_alloc(arena, LEXICON_BYTES);
        size_t len = 0;
        for (; i < count && len + RECORD_HEAD + terms[i].term.len <= LEXICON_BYTES; i++) {
            record_put(text + len, terms[i]);
            len += RECORD_HEAD + terms[i].term.len;
        }
        ARENA_PUSH(arena, rows, rows_count, cap, (struct str){text, len});
    }
    *ret_rows = rows;
    return rows_count;
}

/* --- the most common terms -------------------------------------------------------------------- */

static int best_order(const void *left, const void *right)
{
    const struct lexicon_term *a = left;
    const struct lexicon_term *b = right;

    if (a->weight != b->weight)
        return a->weight > b->weight ? -1 : 1;
    return str_cmp(a->term, b->term);
}

void lexicon_best_init(struct lexicon_best *best, struct arena *arena, size_t max)
{
    *best = (struct lexicon_best){.max = max};
    best->items = ARENA_ARRAY(arena, best->items, max);
}

/* A full collection is a heap whose items[0] is the worst. */
static void best_sink(struct lexicon_best *best, size_t at)
{
    for (;;) {
        size_t worst = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < best->count; child++)
            if (best_order(&best->items[child], &best->items[worst]) > 0)
                worst = child;
        if (worst == at)
            return;
        struct lexicon_term term = best->items[at];
        best->items[at] = best->items[worst];
        best->items[worst] = term;
        at = worst;
    }
}

void lexicon_offer(struct lexicon_best *best, struct lexicon_term term)
{
    if (best->count < best->max) {
        best->items[best->count++] = term;
        if (best->count == best->max)
            for (size_t at = best->max / 2; at-- > 0;)
                best_sink(best, at);
        return;
    }
    best->more = true;
    if (best->max == 0 || best_order(&term, &best->items[0]) > 0)
        return;
    best->items[0] = term;
    best_sink(best, 0);
}

void lexicon_sort(struct lexicon_best *best)
{
    if (best->count > 0)
        qsort(best->items, best->count, sizeof(*best->items), best_order);
}

/* --- meanings of a word ----------------------------------------------------------------------- */

int lexicon_scan(struct str row, struct str term, unsigned typos, struct lexicon_best *best)
{
    struct typo_word word;
    struct lexicon_term there;
    size_t at = 0;
    int rc;

    typo_init(&word, term);
    while (lexicon_next(row, &at, &there, &rc)) {
        unsigned distance = typo_distance(&word, there.term, typos);
        if (distance > 0 && distance <= typos)
            lexicon_offer(&best[distance - 1], there);
    }
    return rc;
}

int lexicon_scan_prefix(struct str row, struct str prefix, struct lexicon_best *best)
{
    struct lexicon_term there;
    size_t at = 0;
    int rc;

    while (lexicon_next(row, &at, &there, &rc))
        if (there.term.len > prefix.len && str_starts(there.term, prefix))
            lexicon_offer(best, there);
    return rc;
}

struct alphabet {
    uint32_t first;
    uint32_t last;
};

static struct alphabet alphabet_of(uint32_t letter)
{
    static const struct alphabet alphabets[] = {{'a', 'z'}, {0x3B1, 0x3C9}, {0x430, 0x44F}};

    for (size_t i = 0; i < ARRAY_LEN(alphabets); i++)
        if (letter >= alphabets[i].first && letter <= alphabets[i].last)
            return alphabets[i];
    return (struct alphabet){1, 0};
}

static struct str term_with_first_letter(struct arena *arena, uint32_t letter, struct str rest)
{
    char *text = arena_alloc(arena, 4 + rest.len);
    size_t bytes = utf8_encode(text, letter);

    if (rest.len > 0)
        memcpy(text + bytes, rest.ptr, rest.len);
    return (struct str){text, bytes + rest.len};
}

size_t lexicon_other_first_letters(struct arena *arena,
                                   struct str term,
                                   struct str firsts[static LEXICON_FIRST_LETTERS])
{
    size_t count = 0;
    uint32_t letter;
    uint32_t second;
    size_t bytes = first_letter(term);

    if (bytes == 0 || utf8_decode(term, 0, &letter) == 0)
        return 0;
    struct str rest = {term.ptr + bytes, term.len - bytes};
    struct alphabet alphabet = alphabet_of(letter);
    for (uint32_t other = alphabet.first; other <= alphabet.last; other++) {
        if (other != letter)
            firsts[count++] = term_with_first_letter(arena, other, rest);
        if (term.len + 4 <= TERM_BYTES)
            firsts[count++] = term_with_first_letter(arena, other, term);
    }
    size_t second_bytes = rest.len > 0 ? utf8_decode(rest, 0, &second) : 0;
    if (second_bytes > 0 && second != letter) {
        struct str tail = {rest.ptr + second_bytes, rest.len - second_bytes};
        firsts[count++] = rest;
        firsts[count++] =
            term_with_first_letter(arena, second, term_with_first_letter(arena, letter, tail));
    }
    return count;
}
