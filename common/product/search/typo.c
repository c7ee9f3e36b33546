#include "search/typo_private.h"

#include "base/utf8.h"
#include "search/tokens.h"

static uint32_t letter_decode(struct str text, size_t *at)
{
    uint32_t code;
    size_t bytes = utf8_decode(text, *at, &code);

    if (bytes == 0) {
        code = (unsigned char)text.ptr[*at];
        bytes = 1;
    }
    *at += bytes;
    return code;
}

static uint64_t *letter_bits_for_update(struct typo_word *word, uint32_t letter)
{
    if (letter < 128)
        return &word->ascii[letter];
    for (unsigned i = 0; i < word->others; i++)
        if (word->other[i].letter == letter)
            return &word->other[i].bits;
    word->other[word->others].letter = letter;
    word->other[word->others].bits = 0;
    return &word->other[word->others++].bits;
}

void typo_init(struct typo_word *word, struct str text)
{
    memset(word->ascii, 0, sizeof(word->ascii));
    word->others = 0;
    word->letters = 0;
    for (size_t at = 0; at < text.len && word->letters < TYPO_LETTERS; word->letters++)
        *letter_bits_for_update(word, letter_decode(text, &at)) |= UINT64_C(1) << word->letters;
}

static uint64_t letter_bits(const struct typo_word *word, uint32_t letter)
{
    if (letter < 128)
        return word->ascii[letter];
    for (unsigned i = 0; i < word->others; i++)
        if (word->other[i].letter == letter)
            return word->other[i].bits;
    return 0;
}

/*
 * Each letter of the text gives one column of the table of distances, as differences between
 * neighbours: `up` and `down` say where the column grows and shrinks from one letter of the word to
 * the next (H. Hyyrö, "A bit-vector algorithm for computing Levenshtein and Damerau edit
 * distances", 2003).
 */
unsigned typo_distance(const struct typo_word *word, struct str text, unsigned most)
{
    if (word->letters == 0)
        return text.len > most ? most + 1 : (unsigned)utf8_length(text);
    uint64_t last = UINT64_C(1) << (word->letters - 1);
    uint64_t up = ~UINT64_C(0);
    uint64_t down = 0;
    uint64_t diagonal = 0;
    uint64_t before = 0;
    unsigned distance = word->letters;

    for (size_t at = 0; at < text.len;) {
        uint64_t same = letter_bits(word, letter_decode(text, &at));
        uint64_t swapped = ((~diagonal & same) << 1) & before;
        diagonal = (((same & up) + up) ^ up) | same | down | swapped;
        uint64_t right_up = down | ~(diagonal | up);
        uint64_t right_down = diagonal & up;
        distance += (right_up & last) != 0;
        distance -= (right_down & last) != 0;
        if (distance > most + (text.len - at)) /* too far even if all remaining letters match */
            return most + 1;
        right_up = right_up << 1 | 1;
        up = right_down << 1 | ~(diagonal | right_up);
        down = right_up & diagonal;
        before = same;
    }
    return distance > most ? most + 1 : distance;
}

unsigned typo_tolerated(struct str term)
{
    size_t letters = 0;

    for (size_t i = 0; i < term.len; i++) {
        if (term.ptr[i] >= '0' && term.ptr[i] <= '9')
            return 0;
        letters += ((unsigned char)term.ptr[i] & 0xC0) != 0x80;
    }
    if (tokens_is_unspaced(term))
        return 0;
    return letters >= 9 ? 2 : letters >= 5 ? 1 : 0;
}
