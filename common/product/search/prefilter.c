#include "search/prefilter_private.h"

#include <string.h>

enum { BEGIN_LETTERS = 3, BLOCK = 64 };

#define EACH_BYTE(value) (UINT64_C(0x0101010101010101) * (uint64_t)(value))

static bool is_ascii_word(unsigned char c)
{
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

/* Hash of the first letters or digits, ASCII in either case. */
static unsigned beginning_hash(const char *at)
{
    unsigned hash = 0;

    for (size_t i = 0; i < BEGIN_LETTERS; i++)
        hash = hash * 37 + ((unsigned char)at[i] | 0x20U);
    return hash % PREFILTER_BEGINNINGS;
}

static bool has_beginning(struct str text, size_t at)
{
    for (size_t i = at; i < at + BEGIN_LETTERS; i++)
        if (i >= text.len || !is_ascii_word((unsigned char)text.ptr[i]))
            return false;
    return true;
}

static void prefilter_add_first(struct prefilter *prefilter, char first)
{
    uint64_t bytes = EACH_BYTE((unsigned char)first | 0x20U);

    for (unsigned i = 0; i < prefilter->first_count && i < PREFILTER_FIRSTS; i++)
        if (prefilter->firsts[i] == bytes)
            return;
    if (prefilter->first_count < PREFILTER_FIRSTS)
        prefilter->firsts[prefilter->first_count] = bytes;
    if (prefilter->first_count <= PREFILTER_FIRSTS)
        prefilter->first_count++;
}

void prefilter_add(struct prefilter *prefilter, struct str term)
{
    if (!has_beginning(term, 0)) {
        prefilter->is_disabled = true;
        return;
    }
    unsigned hash = beginning_hash(term.ptr);
    prefilter->beginnings[hash / 64] |= UINT64_C(1) << hash % 64;
    prefilter_add_first(prefilter, term.ptr[0]);
}

/* A bit for each of 64 bytes of a text. */
struct text_block {
    uint64_t words;  /* letters and digits of ASCII */
    uint64_t spaces; /* spaces and line ends, which join no words */
    uint64_t firsts; /* bytes that terms of the query begin with */
};

/* Sets the highest bit of each of eight ASCII bytes that is from `least` to `most`. */
static inline uint64_t bytes_between(uint64_t bytes, unsigned char least, unsigned char most)
{
    return (bytes + EACH_BYTE(0x80 - least)) & ~(bytes + EACH_BYTE(0x7F - most)) & EACH_BYTE(0x80);
}

/* Sets the highest bit of each of eight ASCII bytes that is equal to the byte of `wanted`. */
static inline uint64_t bytes_equal(uint64_t bytes, uint64_t wanted)
{
    return (EACH_BYTE(0x80) - (bytes ^ wanted)) & EACH_BYTE(0x80);
}

/* Gathers the highest bits of eight bytes in one byte. */
static inline uint64_t bytes_gather_bits(uint64_t bytes)
{
    return (bytes >> 7) * UINT64_C(0x0102040810204080) >> 56;
}

/* False: the bytes are not all ASCII. */
static inline bool
block_read(const struct prefilter *prefilter, const char *at, struct text_block *ret)
{
    uint64_t all = 0;

    *ret = (struct text_block){0};
    for (unsigned i = 0; i < BLOCK; i += 8) {
        uint64_t bytes;
        memcpy(&bytes, at + i, sizeof(bytes)); /* amd64 and arm64 are little endian */
        all |= bytes;
        bytes &= EACH_BYTE(0x7F);
        uint64_t lower = bytes | EACH_BYTE(0x20);
        uint64_t words = bytes_between(lower, 'a', 'z') | bytes_between(bytes, '0', '9');
        uint64_t spaces = bytes_equal(bytes, EACH_BYTE(' ')) | bytes_equal(bytes, EACH_BYTE('\n'));
        uint64_t firsts = prefilter->first_count > PREFILTER_FIRSTS ? words : 0;
        for (unsigned k = 0; k < PREFILTER_FIRSTS && k < prefilter->first_count; k++)
            firsts |= bytes_equal(lower, prefilter->firsts[k]);
        ret->words |= bytes_gather_bits(words) << i;
        ret->spaces |= bytes_gather_bits(spaces) << i;
        ret->firsts |= bytes_gather_bits(firsts) << i;
    }
    return (all & EACH_BYTE(0x80)) == 0;
}

/* Whether a word that begins at one of these bytes begins like a term of the query. */
static bool has_query_beginning(const struct prefilter *prefilter,
                                struct str text,
                                size_t from,
                                uint64_t begins)
{
    for (; begins; begins &= begins - 1) {
        size_t at = from + (unsigned)__builtin_ctzll(begins);
        if (!has_beginning(text, at))
            continue;
        unsigned hash = beginning_hash(text.ptr + at);
        if (prefilter->beginnings[hash / 64] >> hash % 64 & 1)
            return true;
    }
    return false;
}

bool prefilter_can_match(const struct prefilter *prefilter, struct str text)
{
    bool in_word = false;
    bool after_sign = false; /* the previous byte is a sign directly after a word */

    if (prefilter->is_disabled)
        return true;
    for (size_t from = 0; from < text.len; from += BLOCK) {
        struct text_block block;
        char last[BLOCK] = {0};
        const char *at = text.ptr + from;
        if (text.len - from < BLOCK)
            at = memcpy(last, at, text.len - from);
        if (!block_read(prefilter, at, &block))
            return true;
        uint64_t after_word = block.words << 1 | in_word;
        uint64_t signs = after_word & ~block.words & ~block.spaces;
        if ((signs << 1 | after_sign) & block.words)
            return true; /* a sign joins two words */
        if (has_query_beginning(prefilter, text, from, block.words & ~after_word & block.firsts))
            return true;
        in_word = block.words >> (BLOCK - 1);
        after_sign = signs >> (BLOCK - 1);
    }
    return false;
}
