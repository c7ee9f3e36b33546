#include "search/highlight.h"

#include <stdlib.h>

#include "base/utf8.h"
#include "search/prefilter_private.h"
#include "search/tokens.h"

/*
 * A text is read once, term by term (highlight_match_text()). Each term is matched against the
 * words of the query; chains follow sequences of terms, such as phrases. Matches become marks. The
 * window with the best marks is the snippet (highlight_put_snippet()).
 */

enum {
    MARKS_MAX = 512,      /* of one text; further matches are not marked */
    CHAIN_POSITIONS = 64, /* how many terms back a sequence is followed */
    BEFORE_BYTES = 320,   /* of text before the first mark */
};

/* A term of the query and the terms that it was expanded to. */
struct term_matcher {
    struct str term;
    struct str *added;
    size_t added_count;
    size_t added_cap;
    bool prefix;
};

/* One term of a sequence. `ends` has a bit for each place of the text where the sequence up to this
 * term ended. */
struct chain_item {
    const struct term_matcher *matcher;
    uint32_t position; /* in the query */
    uint32_t at;       /* in the text, of bit 0 of `ends`; higher bits are places before it */
    uint64_t ends;
};

struct chain {
    struct chain_item *items;
    size_t count;
};

struct highlight_word {
    const struct search_word *word;
    struct term_matcher whole; /* of words and codes */
    struct term_matcher *parts;
    uint32_t parts_all; /* a bit for each part */
    uint32_t parts_seen;
    struct chain chain; /* of a phrase */
};

struct mark {
    uint32_t begin;
    uint32_t end;
    uint32_t position;
    uint32_t words;
};

struct highlighter {
    struct arena *arena;
    struct highlight_word *words;
    size_t count;
    struct chain chain; /* of all words */
    bool symbols;       /* the query has symbols; otherwise symbols of the text are ignored */
    uint64_t firsts[4]; /* a bit for each byte that a term begins with */
    struct prefilter prefilter;
    uint32_t field_words; /* a bit for each word that applies to the current field */
    size_t
        equal_count;  /* how many terms of the text were equal to the query's, from the first on */
    uint32_t *begins; /* byte offsets of the last terms, by place */
    struct mark *marks;
    size_t mark_count;
};

/* --- the query -------------------------------------------------------------------------------- */

static void highlight_note_first_byte(struct highlighter *highlighter, struct str term)
{
    unsigned char first = term.len > 0 ? (unsigned char)term.ptr[0] : 0;

    highlighter->firsts[first / 64] |= UINT64_C(1) << first % 64;
    prefilter_add(&highlighter->prefilter, term);
}

static void chain_append(struct chain *chain, const struct term_matcher *matcher, uint32_t position)
{
    chain->items[chain->count++] = (struct chain_item){.matcher = matcher, .position = position};
}

static void highlight_add_word(struct highlighter *highlighter,
                               struct highlight_word *own,
                               const struct search_word *word)
{
    own->word = word;
    highlighter->symbols = highlighter->symbols || word->symbol;
    own->whole = (struct term_matcher){.term = word->term, .prefix = word->prefix};
    own->parts = ARENA_ARRAY(highlighter->arena, own->parts, word->part_count);
    own->chain.items = ARENA_ARRAY(highlighter->arena, own->chain.items, word->part_count);
    if (word->term.len > 0)
        highlight_note_first_byte(highlighter, word->term);
    for (size_t i = 0; i < word->part_count; i++) {
        const struct search_part *part = &word->parts[i];
        bool prefix = part->prefix || (word->prefix && i + 1 == word->part_count);
        own->parts[i] = (struct term_matcher){.term = part->term, .prefix = prefix};
        own->parts_all |= UINT32_C(1) << i;
        highlight_note_first_byte(highlighter, part->term);
        chain_append(&own->chain, &own->parts[i], part->position);
        chain_append(&highlighter->chain, &own->parts[i], part->position);
    }
    if (word->part_count == 0)
        chain_append(&highlighter->chain, &own->whole, word->position);
}

struct highlighter *highlight_new(struct arena *arena, const struct search_query *query)
{
    struct highlighter *highlighter = ARENA_NEW(arena, highlighter);
    size_t terms = 0;

    highlighter->arena = arena;
    highlighter->words = ARENA_ARRAY(arena, highlighter->words, query->count);
    highlighter->count = query->count;
    for (size_t i = 0; i < query->count; i++)
        terms += query->words[i].part_count + 1;
    highlighter->chain.items = ARENA_ARRAY(arena, highlighter->chain.items, terms);
    highlighter->begins = ARENA_ARRAY(arena, highlighter->begins, CHAIN_POSITIONS);
    highlighter->marks = ARENA_ARRAY(arena, highlighter->marks, MARKS_MAX);
    for (size_t i = 0; i < query->count; i++)
        if (!query->words[i].excluded)
            highlight_add_word(highlighter, &highlighter->words[i], &query->words[i]);
    return highlighter;
}

void highlight_add(struct highlighter *highlighter, size_t word, struct str term)
{
    struct term_matcher *matcher = &highlighter->words[word].whole;

    highlight_note_first_byte(highlighter, term);
    ARENA_PUSH(highlighter->arena, matcher->added, matcher->added_count, matcher->added_cap, term);
}

/* --- the text --------------------------------------------------------------------------------- */

static bool is_match(const struct term_matcher *matcher, struct str text)
{
    if (matcher->term.len == 0)
        return false;
    if (matcher->prefix ? str_starts(text, matcher->term) : str_eq(text, matcher->term))
        return true;
    for (size_t i = 0; i < matcher->added_count; i++)
        if (str_eq(text, matcher->added[i]))
            return true;
    return false;
}

static bool chain_has_end_at(const struct chain_item *item, uint32_t position)
{
    uint32_t ago = item->at - position;

    return position <= item->at && ago < CHAIN_POSITIONS && (item->ends >> ago & 1);
}

static void chain_note_end(struct chain_item *item, uint32_t position)
{
    uint32_t ago = position - item->at;

    item->ends = ago < CHAIN_POSITIONS ? item->ends << ago | 1 : 1;
    item->at = position;
}

/* Continues the sequence with a term of the text. True: the sequence is complete. */
static bool chain_follow(struct chain *chain, const struct search_token *token)
{
    bool complete = false;

    for (size_t i = chain->count; i-- > 0;) {
        struct chain_item *item = &chain->items[i];
        if (!is_match(item->matcher, token->text))
            continue;
        uint32_t gap = i > 0 ? item->position - chain->items[i - 1].position : 0;
        if (i > 0 && (token->position < gap ||
                      !chain_has_end_at(&chain->items[i - 1], token->position - gap)))
            continue;
        chain_note_end(item, token->position);
        complete = complete || i + 1 == chain->count;
    }
    return complete;
}

static void highlight_add_mark(struct highlighter *highlighter,
                               const struct search_token *token,
                               uint32_t begin,
                               uint32_t words)
{
    if (highlighter->mark_count == MARKS_MAX)
        return;
    highlighter->marks[highlighter->mark_count++] =
        (struct mark){begin, token->end, token->position, words};
}

/* Where a phrase that ends with this term began. */
static uint32_t phrase_begin(const struct highlighter *highlighter,
                             const struct chain *chain,
                             const struct search_token *token)
{
    uint32_t span = chain->items[chain->count - 1].position - chain->items[0].position;

    return span < CHAIN_POSITIONS && span <= token->position
               ? highlighter->begins[(token->position - span) % CHAIN_POSITIONS]
               : token->begin;
}

/* Whether a word of the query matches with this term of the text, alone or together with previous
 * terms. */
static void highlight_match_word(struct highlighter *highlighter,
                                 struct highlight_word *own,
                                 const struct search_token *token,
                                 uint32_t bit,
                                 uint32_t *ret_words)
{
    if (is_match(&own->whole, token->text)) {
        highlight_add_mark(highlighter, token, token->begin, bit);
        *ret_words |= bit;
        return;
    }
    if (token->kind == TOKEN_WHOLE || own->word->part_count == 0)
        return;
    if (own->word->kind == SEARCH_PHRASE) {
        if (!chain_follow(&own->chain, token))
            return;
        highlight_add_mark(highlighter, token, phrase_begin(highlighter, &own->chain, token), bit);
        *ret_words |= bit;
        return;
    }
    bool any = false;
    for (size_t i = 0; i < own->word->part_count; i++)
        if (is_match(&own->parts[i], token->text)) {
            own->parts_seen |= UINT32_C(1) << i;
            any = true;
        }
    if (any)
        highlight_add_mark(highlighter, token, token->begin, bit);
    if (own->parts_seen == own->parts_all)
        *ret_words |= bit;
}

static void highlight_begin_field(struct highlighter *highlighter, struct str field)
{
    highlighter->mark_count = 0;
    highlighter->field_words = 0;
    highlighter->equal_count = 0;
    for (size_t i = 0; i < highlighter->chain.count; i++)
        highlighter->chain.items[i].ends = 0;
    for (size_t i = 0; i < highlighter->count; i++) {
        struct highlight_word *own = &highlighter->words[i];
        own->parts_seen = 0;
        for (size_t k = 0; k < own->chain.count; k++)
            own->chain.items[k].ends = 0;
        if (own->word && (own->word->field.len == 0 || str_eq(own->word->field, field)))
            highlighter->field_words |= UINT32_C(1) << i;
    }
}

static bool can_match_term(const struct highlighter *highlighter, const struct search_token *token)
{
    unsigned char first = (unsigned char)token->text.ptr[0];

    return highlighter->firsts[first / 64] >> first % 64 & 1;
}

/* Whether a term counts when a text is compared with the query term by term. A TOKEN_PART counts in
 * place of its TOKEN_WHOLE, and a TOKEN_SIGNED in place of its TOKEN_BARE. */
static bool counts_in_order(const struct highlighter *highlighter, const struct search_token *token)
{
    if (token->kind == TOKEN_SYMBOL)
        return highlighter->symbols;
    return token->kind != TOKEN_WHOLE && token->kind != TOKEN_BARE &&
           (token->kind != TOKEN_LAST || token->is_single);
}

/* Counts the term if it is equal to the query's term at the same place. `terms`: number of the
 * terms before it. */
static void highlight_note_equal(struct highlighter *highlighter,
                                 const struct search_token *token,
                                 size_t terms)
{
    const struct chain *chain = &highlighter->chain;

    if (terms == highlighter->equal_count && terms < chain->count &&
        str_eq(chain->items[terms].matcher->term, token->text))
        highlighter->equal_count++;
}

/* Matches all terms of the text. Returns the position of the last term + 1. */
static uint32_t highlight_match_text(struct highlighter *highlighter,
                                     struct str text,
                                     struct highlight_match *match)
{
    struct tokens tokens;
    struct search_token token;
    size_t terms = 0;
    uint32_t places = 0;
    const struct chain *chain = &highlighter->chain;

    tokens_init(&tokens, text);
    while (tokens_next(&tokens, &token)) {
        bool counts = token.kind != TOKEN_WHOLE;
        places = token.position + 1;
        if (counts)
            highlighter->begins[token.position % CHAIN_POSITIONS] = token.begin;
        if (counts_in_order(highlighter, &token))
            highlight_note_equal(highlighter, &token, terms++);
        if (!can_match_term(highlighter, &token))
            continue;
        for (size_t i = 0; i < highlighter->count; i++)
            if (highlighter->field_words >> i & 1)
                highlight_match_word(
                    highlighter, &highlighter->words[i], &token, UINT32_C(1) << i, &match->words);
        if (counts)
            match->adjacent = chain_follow(&highlighter->chain, &token) || match->adjacent;
    }
    match->equals = terms > 0 && terms == chain->count && highlighter->equal_count == terms;
    return places;
}

/* --- the snippet ------------------------------------------------------------------------------ */

/* The run of marks within 30 words that has the most words of the query, then the most marks; the
 * first of equal runs. */
static void
marks_find_best(const struct highlighter *highlighter, size_t *ret_first, size_t *ret_end)
{
    unsigned best_words = 0;
    size_t best_count = 0;
    const struct mark *marks = highlighter->marks;

    for (size_t first = 0, end = 0; first < highlighter->mark_count; first++) {
        uint32_t words = 0;
        while (end < highlighter->mark_count &&
               marks[end].position - marks[first].position < HIGHLIGHT_WORDS)
            end++;
        for (size_t i = first; i < end; i++)
            words |= marks[i].words;
        unsigned found = (unsigned)__builtin_popcount(words);
        if (found > best_words || (found == best_words && end - first > best_count)) {
            best_words = found;
            best_count = end - first;
            *ret_first = first;
            *ret_end = end;
        }
    }
}

static void text_put_escaped(struct strbuf *ret, struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (c == '&')
            strbuf_str(ret, STR("&amp;"));
        else if (c == '<')
            strbuf_str(ret, STR("&lt;"));
        else if (c == '>')
            strbuf_str(ret, STR("&gt;"));
        else if (c == '"')
            strbuf_str(ret, STR("&quot;"));
        else if (c == '\'')
            strbuf_str(ret, STR("&#39;"));
        else
            strbuf_char(ret, (unsigned char)c < ' ' ? ' ' : c);
    }
}

/* The bytes of the words at places [from, to). At the first and the last word of the text they
 * include the text before and after. */
static void
snippet_bytes(struct str text, uint32_t from, uint32_t to, size_t *ret_begin, size_t *ret_end)
{
    struct tokens tokens;
    struct search_token token;
    bool begun = false;

    *ret_begin = 0;
    *ret_end = text.len;
    tokens_init(&tokens, text);
    size_t end = 0;
    while (tokens_next(&tokens, &token)) {
        if (token.position >= to) {
            *ret_end = end;
            return;
        }
        if (!begun && token.position >= from && from > 0)
            *ret_begin = token.begin;
        begun = begun || token.position >= from;
        end = token.end > end ? token.end : end;
    }
}

/* Moves back to the first byte of a letter. */
static size_t utf8_letter_begin(struct str text, size_t at)
{
    while (at > 0 && at < text.len && ((unsigned char)text.ptr[at] & 0xC0) == 0x80)
        at--;
    return at;
}

static int begin_order(const void *left, const void *right)
{
    const struct mark *a = left;
    const struct mark *b = right;

    return a->begin < b->begin ? -1 : a->begin > b->begin;
}

static void text_put_marked(struct strbuf *ret,
                            struct str text,
                            size_t begin,
                            size_t end,
                            const struct mark *marks,
                            size_t count)
{
    size_t at = begin;

    if (begin > 0)
        strbuf_str(ret, STR("\xE2\x80\xA6"));
    for (size_t i = 0; i < count;) {
        size_t from = marks[i].begin > at ? marks[i].begin : at;
        size_t to = marks[i].end;
        for (i++; i < count && marks[i].begin <= to; i++) /* marks that touch are joined */
            to = marks[i].end > to ? marks[i].end : to;
        to = to < end ? to : end;
        if (from >= to)
            continue;
        text_put_escaped(ret, (struct str){text.ptr + at, from - at});
        strbuf_str(ret, STR("<mark>"));
        text_put_escaped(ret, (struct str){text.ptr + from, to - from});
        strbuf_str(ret, STR("</mark>"));
        at = to;
    }
    text_put_escaped(ret, (struct str){text.ptr + at, end - at});
    if (end < text.len)
        strbuf_str(ret, STR("\xE2\x80\xA6"));
}

static void highlight_put_snippet(struct highlighter *highlighter,
                                  struct str text,
                                  uint32_t places,
                                  struct strbuf *ret)
{
    size_t first = 0;
    size_t last = 0;
    size_t begin;
    size_t end;

    marks_find_best(highlighter, &first, &last);
    struct mark *marks = highlighter->marks + first;
    size_t count = last - first;
    uint32_t from = marks[0].position;
    uint32_t span = marks[count - 1].position - from + 1;
    uint32_t before = (HIGHLIGHT_WORDS - span) / 2;
    uint32_t to = from > before ? from - before + HIGHLIGHT_WORDS : HIGHLIGHT_WORDS;
    to = to < places ? to : places;
    from = to > HIGHLIGHT_WORDS ? to - HIGHLIGHT_WORDS : 0;
    snippet_bytes(text, from, to, &begin, &end);
    qsort(marks, count, sizeof(*marks), begin_order);
    if (marks[0].begin > begin + BEFORE_BYTES)
        begin = utf8_letter_begin(text, marks[0].begin - BEFORE_BYTES);
    begin = marks[0].begin < begin ? marks[0].begin : begin; /* a phrase may begin earlier */
    if (end > begin + HIGHLIGHT_BYTES)
        end = utf8_letter_begin(text, begin + HIGHLIGHT_BYTES);
    text_put_marked(ret, text, begin, end, marks, count);
}

struct highlight_match highlight_field(struct highlighter *highlighter,
                                       struct str field,
                                       struct str text,
                                       struct strbuf *ret)
{
    struct highlight_match match = {0};

    highlight_begin_field(highlighter, field);
    if (highlighter->field_words == 0 || !prefilter_can_match(&highlighter->prefilter, text))
        return match;
    uint32_t places = highlight_match_text(highlighter, text, &match);
    match.any = highlighter->mark_count > 0;
    if (match.any && ret)
        highlight_put_snippet(highlighter, text, places, ret);
    return match;
}

struct highlight_match
highlight_order(struct highlighter *highlighter, struct str field, struct str text)
{
    struct highlight_match match = {0};
    const struct chain *chain = &highlighter->chain;
    struct tokens tokens;
    struct search_token token;
    size_t terms = 0;
    bool is_separated =
        chain->count > 1; /* the query's terms were not found next to each other yet */

    highlight_begin_field(highlighter, field);
    if (highlighter->field_words == 0)
        return match;
    tokens_init(&tokens, text);
    while ((is_separated || (highlighter->equal_count == terms && terms <= chain->count)) &&
           tokens_next(&tokens, &token)) {
        if (counts_in_order(highlighter, &token))
            highlight_note_equal(highlighter, &token, terms++);
        if (is_separated && token.kind != TOKEN_WHOLE && can_match_term(highlighter, &token)) {
            match.adjacent = chain_follow(&highlighter->chain, &token);
            is_separated = !match.adjacent;
        }
    }
    match.equals = terms > 0 && terms == chain->count && highlighter->equal_count == terms;
    return match;
}
