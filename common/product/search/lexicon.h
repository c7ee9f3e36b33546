#pragma once
/*
 * The lexicon: the words of a project in rows of at most 1,900 bytes (search_lexicon), so that a
 * query finds the words that a prefix or a mistyped word may mean with one short read.
 *
 * A row with a key of first letter and number of letters ("b07") has words of that kind. A row with
 * the key of a prefix ("*bra") has some of the 64 most common words that begin with it. A key with
 * more words than fit has several rows, called parts. A row is a sequence of records: id (4 bytes,
 * little endian), weight (1), length (1), term. Functions return LEXICON_BAD for malformed rows.
 * Pure; any thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/result.h"
#include "base/str.h"

enum {
    LEXICON_BYTES = 1900,
    LEXICON_KEY_BYTES = 72,
    LEXICON_PREFIXES = 64, /* words in a prefix's rows, and words that a prefix is expanded to */
    LEXICON_TYPOS = 16,    /* words that a word is expanded to, for each number of typos */
    LEXICON_FIRST_LETTERS = 80, /* room for lexicon_other_first_letters() */
};

struct lexicon_term {
    struct str term;
    int32_t id;
    uint8_t weight; /* lexicon_weight() of the number of records that have the term */
};

/* 2 * log2(df), rounded down: the weight changes when df changes by a factor of 1.4. 0 for 0, 1 for
 * 1. */
uint8_t lexicon_weight(int64_t df);

/* The key of a term's rows: its first letter and its number of letters in two digits ("b07").
 * False: the term has no key, because it has digits, is of a script without spaces or is a
 * principal: typos are not tolerated there. Arena-owned. */
bool lexicon_key(struct arena *arena, struct str term, struct str *ret_key);
/* The keys of all terms that begin with the same letter and are within `typos` of the term. Returns
 * how many, at most 5. Arena-owned. */
size_t
lexicon_keys(struct arena *arena, struct str term, unsigned typos, struct str keys[static 5]);
/* The key of the rows of a prefix ("*bra"). Arena-owned. */
struct str lexicon_prefix_key(struct arena *arena, struct str prefix);

/* Reads the next record of a row; *at is 0 at first. False: the end (*ret_rc is 0), or a malformed
 * record (*ret_rc is LEXICON_BAD). */
bool lexicon_next(struct str row, size_t *at, struct lexicon_term *ret_term, int *ret_rc);
/* Whether a whole row is well-formed: ids above 0, terms in UTF-8 that are not too long. */
bool lexicon_valid(struct str row);
/* The row with one more term, or with the new weight of a term that it has. LEXICON_FULL: the term
 * does not fit. LEXICON_BAD. Arena-owned. */
int lexicon_put(struct arena *arena, struct str row, struct lexicon_term term, struct str *ret_row)
    MUSTCHECK;
/* Whether the row has the term with this id. LEXICON_BAD. */
int lexicon_find(struct str row, int32_t id, struct lexicon_term *ret_term, bool *ret_found)
    MUSTCHECK;
/* The row without the term of this id; unchanged if it has no such term. Arena-owned. LEXICON_BAD.
 */
int lexicon_remove(struct arena *arena, struct str row, int32_t id, struct str *ret_row) MUSTCHECK;
/* Packs all terms into rows (parts of one key), in the order given. Returns how many. Arena-owned.
 */
size_t lexicon_build(struct arena *arena,
                     const struct lexicon_term *terms,
                     size_t count,
                     struct str **ret_rows);

/* The most common of the terms that were offered; among equally common ones the first by its bytes.
 */
struct lexicon_best {
    struct lexicon_term *items; /* after lexicon_sort(): commonest first */
    size_t count;
    size_t max;
    bool more; /* a term was offered when there was no room */
};
/* lexicon_best_init() begins with no terms and room for `max`. lexicon_offer() offers a term, whose
 * text is borrowed. lexicon_sort() sorts the items; call it after the last offer. */
void lexicon_best_init(struct lexicon_best *best, struct arena *arena, size_t max);
void lexicon_offer(struct lexicon_best *best, struct lexicon_term term);
void lexicon_sort(struct lexicon_best *best);

/* Offers the terms of a row that differ from `term` by one typo to best[0], and by two to best[1].
 * `typos`: 1 or 2, the most that count. LEXICON_BAD. */
int lexicon_scan(struct str row, struct str term, unsigned typos, struct lexicon_best *best)
    MUSTCHECK;
/* Offers the terms of a row that begin with the prefix, except the prefix itself. LEXICON_BAD. */
int lexicon_scan_prefix(struct str row, struct str prefix, struct lexicon_best *best) MUSTCHECK;
/* The words that `term` may mean if its first letter is mistyped, which counts as two typos. The
 * caller looks them up exactly. Returns how many. Arena-owned. */
size_t lexicon_other_first_letters(struct arena *arena,
                                   struct str term,
                                   struct str firsts[static LEXICON_FIRST_LETTERS]);
