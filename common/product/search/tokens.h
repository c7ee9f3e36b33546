#pragma once
/*
 * The tokenizer: cuts a text into the terms that the index and queries use, one at a time and
 * without memory of its own, however long the text is. Records and queries are cut in the same way,
 * so that both agree. Any bytes are allowed; bytes that are not UTF-8 separate words. Any thread.
 *
 * Folding: a term has compatibility forms (NFKD), no case and no accents. A mark that makes a
 * different letter in its script stays: marks of Indic scripts and kana, й. ß is ss, æ ae, ø o, ł
 * l, Cyrillic ё е. ä, ö, ü, å and ñ lose their marks, as in well-known search engines.
 *
 * Codes: words that one sign joins without a space ("AB-1234", "O'Brien", "12.50", "me@x.org") give
 * first the whole, then the parts. The whole drops its signs, except between two digits ("ab1234",
 * "obrien", "12.50", "mexorg"): AB1234 finds AB-1234, 1250 does not find 12.50. Hyphens between
 * digits are dropped too in a code with letters and in a number of five digits or more: "AB-12-34"
 * is "ab1234", "978-3-16-148410-0" is "9783161484100"; "10-12" and "1.2-3456" stay.
 *
 * Signs: a word with up to three of + and # after it gives first the word with them ("c++", "c#"),
 * then without. Symbols and emoji are terms: several of one kind in a row are one term, the two
 * letters of a flag are one, skin tones are ignored. All other signs separate words.
 *
 * Scripts without spaces (Han, kana, Thai, Lao, Khmer, Myanmar) give each pair of letters that
 * follow each other, and the last letter alone, so that a single letter as a prefix finds every
 * occurrence.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

enum {
    TERM_BYTES = 64, /* longer terms are cut, in records and queries alike; also the most letters */
    TOKEN_PARTS = 16, /* a code with more parts, or with a longer whole, gives its parts alone */
};

enum token_kind {
    TOKEN_WORD,  /* a single word */
    TOKEN_WHOLE, /* several words joined by signs; `parts` tokens TOKEN_PART follow */
    TOKEN_PART,
    TOKEN_GRAM,   /* two letters of a script without spaces */
    TOKEN_LAST,   /* the last letter of such a run; is_single: the run's only letter */
    TOKEN_SIGNED, /* a word with + or # after it; the word without them follows as TOKEN_BARE */
    TOKEN_BARE,   /* at the position of its TOKEN_SIGNED */
    TOKEN_SYMBOL, /* a symbol or an emoji */
};

struct search_token {
    struct str text; /* the term; valid until the next call */
    uint32_t begin;  /* the token is bytes [begin, end) of the text */
    uint32_t end;
    uint32_t position; /* counts words and letters of runs. A whole has the position of its first
                          part, a symbol that of the word after it: the words around a symbol are
                          next to each other */
    enum token_kind kind;
    uint8_t parts;   /* of TOKEN_WHOLE */
    uint8_t letters; /* code points of the term */
    bool digits;     /* the term has a digit: typos are not tolerated in codes and numbers */
    bool is_single;  /* of TOKEN_LAST */
    bool cut;        /* the term was longer */
};

/* Raise TOKENS_VERSION when the same text gives other terms than before, and with it the number in
 * search-indexer/indexer_claim.sql: an index with a different number is built again. */
enum { TOKENS_VERSION = 3 };

/* Bytes that one code point folds to, at most. */
enum { TOKEN_FOLD_BYTES = 16 };

struct tokens {
    struct str text; /* borrowed; at most 4 GB */
    size_t at;
    size_t len; /* of the current term */
    uint32_t position;
    bool in_code; /* the whole was returned, and its parts follow */
    bool in_run;  /* inside a run of a script without spaces */
    bool bare;    /* the current word was returned with its signs */
    char term[TERM_BYTES + TOKEN_FOLD_BYTES];
};

/* tokens_init() begins with a text, which is borrowed. tokens_next() returns the next term; false
 * at the end. */
void tokens_init(struct tokens *tokens, struct str text);
bool tokens_next(struct tokens *tokens, struct search_token *ret_token);
/* Whether a term is of a script without spaces, where typos are not tolerated. */
bool tokens_is_unspaced(struct str term);
