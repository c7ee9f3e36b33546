#pragma once
/*
 * Text cut into the terms that search knows, one at a time and without memory of its own, however
 * long the text is. Any bytes: what is not UTF-8 stands between words. The same for records and for
 * queries, so that both agree. Any thread.
 *
 * A term is folded: compatibility forms (NFKD), no case, no accents. What is a letter of its own by
 * its script stays one: marks of Indic scripts and kana, й; ß is ss, æ ae, ø o, ł l, ё e of its
 * script. ä, ö, ü, å and ñ fold as the search engines fold them. Words bound by one sign without a
 * space ("AB-1234", "O'Brien", "12.50", "me@x.org") give the whole first and then the parts: the
 * whole without its signs, but for those between two digits ("ab1234", "obrien", "12.50",
 * "mexorg"): AB1234 finds it, 1250 does not. Hyphens between digits go, too, of a code with letters
 * and of a number of five digits or more: "AB-12-34" is "ab1234", "978-3-16-148410-0" is
 * "9783161484100", "10-12" and "1.2-3456" stay. A word with up to three of + and # behind it gives
 * itself with them first ("c++", "c#") and then without. Symbols and emoji are terms by themselves:
 * several of one kind side by side are one, a flag's two letters are one, colours of skin are left
 * out. Other signs stand between words. Scripts without spaces (Han, kana, Thai, Lao, Khmer,
 * Myanmar) give each two letters that follow each other, and the last letter alone, so that one
 * letter as a prefix finds all that there is.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

enum {
    TERM_BYTES =
        64, /* what is longer is cut, in records and queries alike; at most as many letters */
    TOKEN_PARTS = 16, /* what has more parts, or a longer whole, gives the parts alone */
};

enum token_kind {
    TOKEN_WORD,  /* stands alone */
    TOKEN_WHOLE, /* several words bound by signs; `parts` of them follow as TOKEN_PART */
    TOKEN_PART,
    TOKEN_GRAM,   /* two letters of a script without spaces */
    TOKEN_LAST,   /* the last letter of such a run, or its only one: of the only one `alone` is true
                   */
    TOKEN_SIGNED, /* a word with + or # behind it; the word alone follows as TOKEN_BARE */
    TOKEN_BARE,   /* at the position of its TOKEN_SIGNED */
    TOKEN_SYMBOL, /* stands for itself */
};

struct search_token {
    struct str text; /* the term; valid until the next call */
    uint32_t begin;  /* in the text that was given: bytes [begin, end) are what it was made of */
    uint32_t end;
    uint32_t position; /* counts words and letters of runs; a whole has its first part's, a symbol
                          that of the word behind it: words around one are side by side */
    enum token_kind kind;
    uint8_t parts;   /* of TOKEN_WHOLE */
    uint8_t letters; /* code points of the term */
    bool digits;     /* has one: codes and numbers, which typos do not excuse */
    bool alone;      /* of TOKEN_LAST */
    bool cut;        /* it was longer */
};

/* Raised when the same text gives other terms than before: what was indexed is to be made again. */
enum { TOKENS_VERSION = 3 };

/* Room for what one code point folds to. */
enum { TOKEN_FOLD_BYTES = 16 };

struct tokens {
    struct str text; /* borrowed; at most 4 GB */
    size_t at;
    size_t len; /* of the term at hand */
    uint32_t position;
    bool bound;  /* inside words bound by signs, behind their whole */
    bool in_run; /* inside a run of a script without spaces */
    bool bare;   /* the word at hand was given with its signs */
    char term[TERM_BYTES + TOKEN_FOLD_BYTES];
};

void tokens_init(struct tokens *tokens, struct str text);
/* The next term; false at the end. */
bool tokens_next(struct tokens *tokens, struct search_token *ret_token);
/* Whether a term is of a script without spaces: letters that no typo is looked for in. */
bool tokens_unspaced(struct str term);
