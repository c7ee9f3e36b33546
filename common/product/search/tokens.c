#include "search/tokens.h"

#include "base/result.h"
#include "base/utf8.h"
#include "unicode.h"

/*
 * tokens_next() reads the code point at tokens->at and lets one of three functions return the next
 * token: token_give_word() for words, codes and words with signs, token_give_gram() for scripts
 * without spaces, token_give_symbol() for symbols. unicode.h has the class and the folding of each
 * code point; scripts/unicode generates it.
 */

_Static_assert((int)UNICODE_FOLD_BYTES <= TOKEN_FOLD_BYTES,
               "the longest that a code point folds to");

/* A code point of the text and what it folds to. */
struct letter {
    enum unicode_class class;
    uint32_t code;
    struct str folded;
    size_t bytes; /* in the text */
};

static uint32_t unicode_entry_of(uint32_t code)
{
    if (code < UNICODE_END)
        return unicode_entries[unicode_index[code / UNICODE_BLOCK] * UNICODE_BLOCK +
                               code % UNICODE_BLOCK];
    if (code <= 0x3FFFD)
        return UNICODE_CJK; /* ideographs of a later version of Unicode */
    return code >= 0xE0100 && code <= 0xE01EF ? UNICODE_IGNORED : UNICODE_OTHER;
}

/* The code point at an offset. Its class is UNICODE_OTHER at the end of the text, too. */
static struct letter letter_at(struct str text, size_t at)
{
    struct letter letter = {.class = UNICODE_OTHER, .bytes = 1};

    if (at >= text.len)
        return letter;
    const unsigned char *from = (const unsigned char *)text.ptr + at;
    letter.code = from[0];
    if (from[0] >= 0x80) {
        letter.bytes = utf8_decode(text, at, &letter.code);
        if (letter.bytes == 0)
            return (struct letter){.class = UNICODE_OTHER, .bytes = 1};
    }
    uint32_t entry = unicode_entry_of(letter.code);
    letter.class = (enum unicode_class)(entry & 15);
    const uint8_t *folded = unicode_pool + (entry >> 4);
    letter.folded = entry >> 4 ? (struct str){(const char *)folded + 1, folded[0]}
                               : (struct str){(const char *)from, letter.bytes};
    return letter;
}

static bool begins_word(enum unicode_class class)
{
    return class == UNICODE_LETTER || class == UNICODE_DIGIT;
}

static bool is_run(enum unicode_class class)
{
    return class >= UNICODE_CJK && class <= UNICODE_MYANMAR;
}

/* Properties of the current term. */
struct term_state {
    size_t letters;
    bool digits;
    bool cut;
};

static void term_append(struct tokens *tokens, struct term_state *made, struct str folded)
{
    if (made->cut || tokens->len + folded.len > TERM_BYTES) {
        made->cut = true;
        return;
    }
    for (size_t i = 0; i < folded.len; i++) { /* short, so a call would cost more */
        tokens->term[tokens->len++] = folded.ptr[i];
        made->letters += (folded.ptr[i] & 0xC0) != 0x80;
    }
}

/* Replaces the last letter by another one of as many bytes: 2 (U+0080 to U+07FF) or 3 (U+0800 to
 * U+FFFF). */
static void term_replace_last(struct tokens *tokens, size_t bytes, uint32_t code)
{
    char *at = tokens->term + tokens->len - bytes;

    if (bytes == 2) {
        at[0] = (char)(0xC0 | code >> 6);
    } else {
        at[0] = (char)(0xE0 | code >> 12);
        at[1] = (char)(0x80 | (code >> 6 & 0x3F));
    }
    at[bytes - 1] = (char)(0x80 | (code & 0x3F));
}

enum {
    JAMO_L = 0x1100,
    JAMO_V = 0x1161,
    JAMO_T = 0x11A7, /* one below the first */
    JAMO_LS = 19,
    JAMO_VS = 21,
    JAMO_TS = 28,
    HANGUL = 0xAC00,
    HANGUL_END = HANGUL + JAMO_LS * JAMO_VS * JAMO_TS,
};

/* Joins a code point with the last letter of the term: parts of Hangul become syllables, and a few
 * Cyrillic letters keep their mark. False: the two do not join. */
static bool term_compose(struct tokens *tokens, uint32_t code)
{
    static const struct {
        uint32_t base;
        uint32_t mark;
        uint32_t whole;
    } pairs[] = {{0x438, 0x306, 0x439}, {0x456, 0x308, 0x457}, {0x443, 0x306, 0x45E}};
    uint32_t last;
    struct str term = {tokens->term, tokens->len};

    if (code == 0x306 || code == 0x308) {
        if (term.len < 2 || utf8_decode(term, term.len - 2, &last) != 2)
            return false;
        for (size_t i = 0; i < ARRAY_LEN(pairs); i++)
            if (last == pairs[i].base && code == pairs[i].mark) {
                term_replace_last(tokens, 2, pairs[i].whole);
                return true;
            }
        return false;
    }
    if (code < JAMO_V || code >= JAMO_T + JAMO_TS || term.len < 3 ||
        utf8_decode(term, term.len - 3, &last) != 3)
        return false;
    if (code < JAMO_V + JAMO_VS && last >= JAMO_L && last < JAMO_L + JAMO_LS) {
        term_replace_last(
            tokens, 3, HANGUL + ((last - JAMO_L) * JAMO_VS + (code - JAMO_V)) * JAMO_TS);
        return true;
    }
    if (code > JAMO_T && last >= HANGUL && last < HANGUL_END && (last - HANGUL) % JAMO_TS == 0) {
        term_replace_last(tokens, 3, last + code - JAMO_T);
        return true;
    }
    return false;
}

/* The folding of ASCII letters and digits; 0 for all other bytes. */
static const char ascii_fold[256] = {
    ['0'] = '0', ['1'] = '1', ['2'] = '2', ['3'] = '3', ['4'] = '4', ['5'] = '5', ['6'] = '6',
    ['7'] = '7', ['8'] = '8', ['9'] = '9', ['A'] = 'a', ['B'] = 'b', ['C'] = 'c', ['D'] = 'd',
    ['E'] = 'e', ['F'] = 'f', ['G'] = 'g', ['H'] = 'h', ['I'] = 'i', ['J'] = 'j', ['K'] = 'k',
    ['L'] = 'l', ['M'] = 'm', ['N'] = 'n', ['O'] = 'o', ['P'] = 'p', ['Q'] = 'q', ['R'] = 'r',
    ['S'] = 's', ['T'] = 't', ['U'] = 'u', ['V'] = 'v', ['W'] = 'w', ['X'] = 'x', ['Y'] = 'y',
    ['Z'] = 'z', ['a'] = 'a', ['b'] = 'b', ['c'] = 'c', ['d'] = 'd', ['e'] = 'e', ['f'] = 'f',
    ['g'] = 'g', ['h'] = 'h', ['i'] = 'i', ['j'] = 'j', ['k'] = 'k', ['l'] = 'l', ['m'] = 'm',
    ['n'] = 'n', ['o'] = 'o', ['p'] = 'p', ['q'] = 'q', ['r'] = 'r', ['s'] = 's', ['t'] = 't',
    ['u'] = 'u', ['v'] = 'v', ['w'] = 'w', ['x'] = 'x', ['y'] = 'y', ['z'] = 'z',
};

/* The fast path: most texts are mostly ASCII. Returns where the ASCII letters end. */
static size_t append_ascii(struct tokens *tokens, size_t at, struct term_state *made)
{
    const unsigned char *from = (const unsigned char *)tokens->text.ptr + at;
    size_t left = tokens->text.len - at;
    size_t capacity = TERM_BYTES - tokens->len;
    size_t most = left < capacity ? left : capacity;
    char *to = tokens->term + tokens->len;
    bool digits = false;
    size_t n = 0;

    for (; n < most && ascii_fold[from[n]]; n++) {
        to[n] = ascii_fold[from[n]];
        digits = digits || to[n] <= '9';
    }
    tokens->len += n;
    made->letters += n;
    made->digits = made->digits || digits;
    return at + n;
}

/* Appends the word at an offset. Returns where it ends. */
static size_t append_word(struct tokens *tokens, size_t at, struct term_state *made)
{
    for (;;) {
        if (!made->cut)
            at = append_ascii(tokens, at, made);
        if (at == tokens->text.len)
            return at;
        unsigned char c = (unsigned char)tokens->text.ptr[at];
        if (c < 0x80) {
            if (!ascii_fold[c])
                return at;
            made->cut = true; /* no room is left */
            made->digits = made->digits || c <= '9';
            at++;
            continue;
        }
        struct letter letter = letter_at(tokens->text, at);
        if (letter.class == UNICODE_OTHER || letter.class > UNICODE_IGNORED)
            return at;
        made->digits = made->digits || letter.class == UNICODE_DIGIT;
        uint32_t code = letter.code;
        if (letter.folded.len == 3) /* single letters of Hangul fold to parts of syllables */
            (void)utf8_decode(letter.folded, 0, &code);
        if (made->cut || !term_compose(tokens, code))
            if (letter.class != UNICODE_IGNORED)
                term_append(tokens, made, letter.folded);
        at += letter.bytes;
    }
}

/* Whether the sign at an offset joins the text before it to a word after it. *ret_next is where
 * that word begins, *ret_stored what the TOKEN_WHOLE keeps of the sign. `after_digit`: the text
 * before the sign ends with a digit. */
static bool is_joining_sign(const struct tokens *tokens,
                            size_t at,
                            bool after_digit,
                            size_t *ret_next,
                            struct str *ret_stored)
{
    if (at >= tokens->text.len || tokens->text.ptr[at] == ' ')
        return false; /* the most frequent case */
    struct letter sign = letter_at(tokens->text, at);
    if (sign.class != UNICODE_SIGN && sign.class != UNICODE_DIGIT_SIGN)
        return false;
    struct letter next = letter_at(tokens->text, at + sign.bytes);
    bool digits = after_digit && next.class == UNICODE_DIGIT;
    if (!begins_word(next.class) || (sign.class == UNICODE_DIGIT_SIGN && !digits))
        return false;
    *ret_next = at + sign.bytes;
    *ret_stored = digits ? sign.folded : STR_NONE;
    return true;
}

static bool ends_with_digit(const struct tokens *tokens)
{
    return tokens->len > 0 && tokens->term[tokens->len - 1] >= '0' &&
           tokens->term[tokens->len - 1] <= '9';
}

static void term_begin(struct tokens *tokens, struct term_state *made)
{
    tokens->len = 0;
    *made = (struct term_state){0};
}

static void token_fill(struct tokens *tokens,
                       const struct term_state *made,
                       enum token_kind kind,
                       size_t begin,
                       size_t end,
                       struct search_token *ret_token)
{
    *ret_token = (struct search_token){
        .text = {tokens->term, tokens->len},
        .begin = (uint32_t)begin,
        .end = (uint32_t)end,
        .position = tokens->position,
        .kind = kind,
        .letters = (uint8_t)made->letters,
        .digits = made->digits,
        .cut = made->cut,
    };
}

enum { JOINED_DIGITS = 5 };

static bool is_hyphen(char c)
{
    return c == '-' || c == '_';
}

/* Removes the hyphens between digits from a whole (TOKEN_WHOLE: words joined by signs) that has no
 * other signs: people write codes and long numbers with hyphens or without (AB-12-34,
 * 978-3-16-148410-0). A number of fewer than JOINED_DIGITS digits keeps its hyphens: "10-12" means
 * from ten to twelve. */
static void term_join_digits(struct tokens *tokens, struct term_state *made)
{
    size_t digits = 0;
    size_t hyphens = 0;
    size_t joined = 0;

    for (size_t i = 0; i < tokens->len; i++) {
        char c = tokens->term[i];
        digits += c >= '0' && c <= '9';
        hyphens += is_hyphen(c);
        if ((unsigned char)c < 0x80 && !ascii_fold[(unsigned char)c] && !is_hyphen(c))
            return;
    }
    bool letters = digits + hyphens < tokens->len;
    if (!letters && digits < JOINED_DIGITS)
        return;
    for (size_t i = 0; i < tokens->len; i++)
        if (!is_hyphen(tokens->term[i]))
            tokens->term[joined++] = tokens->term[i];
    tokens->len = joined;
    made->letters -= hyphens;
}

/* Returns the TOKEN_WHOLE of the words that signs join from an offset on. False: there is one word,
 * or more than TOKEN_PARTS, or the whole is longer than TERM_BYTES. */
static bool token_give_whole(struct tokens *tokens, size_t begin, struct search_token *ret_token)
{
    struct term_state made;
    struct str stored;
    unsigned parts = 1;

    term_begin(tokens, &made);
    size_t at = append_word(tokens, begin, &made);
    size_t next;
    while (!made.cut && is_joining_sign(tokens, at, ends_with_digit(tokens), &next, &stored)) {
        if (++parts > TOKEN_PARTS)
            return false;
        term_append(tokens, &made, stored);
        at = append_word(tokens, next, &made);
    }
    if (parts == 1 || made.cut)
        return false;
    term_join_digits(tokens, &made);
    token_fill(tokens, &made, TOKEN_WHOLE, begin, at, ret_token);
    ret_token->parts = (uint8_t)parts;
    return true;
}

enum { SIGNS_AFTER = 3 };

/* Where the signs end that belong to the word before them ("C++", "C#", "A+"); `at`: no sign does.
 * The signs of "C++11" belong to the word; those of "a+b", "a#1" and "a####" do not. */
static size_t signs_end(struct str text, size_t at)
{
    size_t end = at;

    while (end < text.len && (text.ptr[end] == '+' || text.ptr[end] == '#'))
        end++;
    bool is_bound = end == at + 1 && begins_word(letter_at(text, end).class);
    return is_bound || end - at > SIGNS_AFTER ? at : end;
}

/* Returns the current word with the signs after it. False: no signs belong to it, or there is no
 * room for them. */
static bool token_give_signed(struct tokens *tokens,
                              const struct term_state *word,
                              size_t begin,
                              size_t end,
                              struct search_token *ret_token)
{
    struct term_state made = *word;
    size_t after = signs_end(tokens->text, end);

    if (after == end || made.cut || tokens->len + (after - end) > TERM_BYTES)
        return false;
    term_append(tokens, &made, (struct str){tokens->text.ptr + end, after - end});
    token_fill(tokens, &made, TOKEN_SIGNED, begin, after, ret_token);
    return true;
}

static enum token_kind word_kind(const struct tokens *tokens)
{
    if (tokens->in_code)
        return TOKEN_PART;
    return tokens->bare ? TOKEN_BARE : TOKEN_WORD;
}

static bool token_give_word(struct tokens *tokens, struct search_token *ret_token)
{
    struct term_state made;
    struct str stored;
    size_t begin = tokens->at;
    size_t next;

    term_begin(tokens, &made);
    size_t end = append_word(tokens, begin, &made);
    bool goes_on = is_joining_sign(tokens, end, ends_with_digit(tokens), &next, &stored);
    if (goes_on && !tokens->in_code) {
        tokens->in_code = true;
        if (token_give_whole(tokens, begin, ret_token))
            return true;
        term_begin(tokens, &made);
        end = append_word(tokens, begin, &made);
    }
    if (!goes_on && !tokens->in_code && !tokens->bare) {
        tokens->bare = token_give_signed(tokens, &made, begin, end, ret_token);
        if (tokens->bare)
            return true;
    }
    token_fill(tokens, &made, word_kind(tokens), begin, end, ret_token);
    tokens->bare = false;
    tokens->in_code = goes_on;
    tokens->at = goes_on ? next : end;
    tokens->position++;
    return true;
}

enum { RUN_LETTER_BYTES = 24 }; /* of a letter and its marks; further marks are ignored */

/* Appends a letter of a run with its marks. Returns where it ends. */
static size_t append_run_letter(struct tokens *tokens, size_t at, struct term_state *made)
{
    struct letter letter = letter_at(tokens->text, at);
    size_t begin = tokens->len;

    do {
        if (letter.class != UNICODE_IGNORED &&
            tokens->len - begin + letter.folded.len <= RUN_LETTER_BYTES)
            term_append(tokens, made, letter.folded);
        at += letter.bytes;
        letter = letter_at(tokens->text, at);
    } while (letter.class == UNICODE_MARK || letter.class == UNICODE_IGNORED);
    return at;
}

/* Returns the letter at tokens->at with the next letter of the run, or alone if it is the last. */
static bool token_give_gram(struct tokens *tokens, struct search_token *ret_token)
{
    struct term_state made;
    size_t begin = tokens->at;
    enum unicode_class script = letter_at(tokens->text, begin).class;

    term_begin(tokens, &made);
    size_t end = append_run_letter(tokens, begin, &made);
    tokens->at = end;
    if (letter_at(tokens->text, end).class == script) {
        end = append_run_letter(tokens, end, &made);
        token_fill(tokens, &made, TOKEN_GRAM, begin, end, ret_token);
        tokens->in_run = true;
    } else {
        token_fill(tokens, &made, TOKEN_LAST, begin, end, ret_token);
        ret_token->is_single = !tokens->in_run;
        tokens->in_run = false;
    }
    tokens->position++;
    return true;
}

/* Where code points end that are ignored after a letter: joiners, variants, skin tones. */
static size_t ignored_end(struct str text, size_t at)
{
    struct letter letter = letter_at(text, at);

    for (; at < text.len && letter.class == UNICODE_IGNORED; letter = letter_at(text, at))
        at += letter.bytes;
    return at;
}

/* Two of these are the flag of a country. */
static bool is_flag_letter(const struct letter *letter)
{
    return letter->code >= 0x1F1E6 && letter->code <= 0x1F1FF;
}

static bool token_give_symbol(struct tokens *tokens, struct search_token *ret_token)
{
    struct term_state made;
    size_t begin = tokens->at;
    struct letter first = letter_at(tokens->text, begin);

    term_begin(tokens, &made);
    term_append(tokens, &made, first.folded);
    size_t end = ignored_end(tokens->text, begin + first.bytes);
    struct letter next = letter_at(tokens->text, end);
    if (is_flag_letter(&first) && is_flag_letter(&next)) {
        term_append(tokens, &made, next.folded);
        end += next.bytes;
    } else {
        for (; next.code == first.code; next = letter_at(tokens->text, end))
            end = ignored_end(tokens->text, end + next.bytes);
    }
    token_fill(tokens, &made, TOKEN_SYMBOL, begin, end, ret_token);
    tokens->at = end;
    return true;
}

void tokens_init(struct tokens *tokens, struct str text)
{
    tokens->text = text;
    tokens->at = 0;
    tokens->len = 0;
    tokens->position = 0;
    tokens->in_code = false;
    tokens->in_run = false;
    tokens->bare = false;
}

bool tokens_next(struct tokens *tokens, struct search_token *ret_token)
{
    while (tokens->at < tokens->text.len) {
        unsigned char c = (unsigned char)tokens->text.ptr[tokens->at];
        if (c < 0x80) {
            if (ascii_fold[c])
                return token_give_word(tokens, ret_token);
            tokens->at++;
            continue;
        }
        struct letter letter = letter_at(tokens->text, tokens->at);
        if (begins_word(letter.class))
            return token_give_word(tokens, ret_token);
        if (is_run(letter.class))
            return token_give_gram(tokens, ret_token);
        if (letter.class == UNICODE_SYMBOL)
            return token_give_symbol(tokens, ret_token);
        tokens->at += letter.bytes;
    }
    return false;
}

bool tokens_is_unspaced(struct str term)
{
    return is_run(letter_at(term, 0).class);
}
