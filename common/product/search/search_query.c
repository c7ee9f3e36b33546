#include "search/search_query.h"

#include "base/utf8.h"
#include "search/tokens.h"
#include "search/typo_private.h"

/*
 * The parser. parse_item() takes one item of the query with the signs before it: a word, a phrase,
 * or '*'. tokens.h cuts words and phrases into the same terms as the texts of records.
 */

struct parser {
    struct arena *arena;
    struct str text;
    size_t at;
    const struct search_fields *fields;
    struct search_query query;
    size_t cap;
    bool full;              /* the query has more words than are searched */
    uint32_t position;      /* of the next word */
    bool last_is_no_prefix; /* the last item is a phrase or left out, so its last word is not a
                               prefix */
};

/* The signs before a word. */
struct word_signs {
    bool excluded;
    struct str field;
};

/* Bytes of a space at an offset: ASCII, U+00A0, or the wide space of East Asia (U+3000); 0: none.
 */
static size_t space_at(struct str text, size_t at)
{
    char c = text.ptr[at];

    if (c == ' ' || (c >= '\t' && c <= '\r'))
        return 1;
    struct str rest = {text.ptr + at, text.len - at};
    if (str_starts(rest, STR("\xC2\xA0")))
        return 2;
    return str_starts(rest, STR("\xE3\x80\x80")) ? 3 : 0;
}

/* Bytes of a quotation mark: "plain", “curly” or „low“; 0: none. */
static size_t quote_at(struct str text, size_t at)
{
    static const struct str quotes[] = {STR_INIT("\""),
                                        STR_INIT("\xE2\x80\x9C"),
                                        STR_INIT("\xE2\x80\x9D"),
                                        STR_INIT("\xE2\x80\x9E")};
    struct str rest = {text.ptr + at, text.len - at};

    for (size_t i = 0; i < ARRAY_LEN(quotes); i++)
        if (str_starts(rest, quotes[i]))
            return quotes[i].len;
    return 0;
}

/* Whether a quotation mark opens a phrase here. After a digit it means inches. */
static bool opens_phrase(struct str text, size_t at)
{
    bool is_inch = at > 0 && text.ptr[at - 1] >= '0' && text.ptr[at - 1] <= '9';

    return !is_inch && quote_at(text, at) > 0;
}

static void skip_spaces(struct parser *parser)
{
    size_t bytes;

    while (parser->at < parser->text.len && (bytes = space_at(parser->text, parser->at)) > 0)
        parser->at += bytes;
}

static struct str dup_term(struct parser *parser, const struct search_token *token)
{
    return arena_dup(parser->arena, token->text);
}

/* Adds a word with the signs before it. The index can exclude single terms but no phrases. */
static void
push_word(struct parser *parser, const struct word_signs *signs, struct search_word word)
{
    if (signs->excluded && (word.kind == SEARCH_GRAMS || word.kind == SEARCH_PHRASE))
        return;
    if (parser->query.count == SEARCH_WORDS) {
        parser->full = true;
        return;
    }
    word.field = signs->field;
    word.excluded = signs->excluded;
    bool exact = word.kind != SEARCH_WORD || word.excluded || word.quoted;
    word.typos = exact ? 0 : typo_tolerated(word.term);
    ARENA_PUSH(parser->arena, parser->query.words, parser->query.count, parser->cap, word);
}

static void
push_part(struct parser *parser, struct search_word *word, const struct search_token *token)
{
    if (word->part_count == SEARCH_PARTS)
        return;
    if (!word->parts)
        word->parts = ARENA_ARRAY(parser->arena, word->parts, SEARCH_PARTS);
    word->parts[word->part_count++] =
        (struct search_part){dup_term(parser, token),
                             parser->position + token->position,
                             token->letters == 1 && tokens_is_unspaced(token->text)};
}

/* A phrase: terms of any kind, next to each other and in order. A code counts by its parts. `open`:
 * the closing mark is missing, so the last term is a prefix. */
static void
parse_phrase(struct parser *parser, const struct word_signs *signs, struct str text, bool open)
{
    struct search_word word = {.kind = SEARCH_PHRASE, .text = text, .quoted = true};
    struct tokens tokens;
    struct search_token token;

    tokens_init(&tokens, text);
    while (tokens_next(&tokens, &token)) {
        if (token.kind == TOKEN_WHOLE || token.kind == TOKEN_BARE ||
            (token.kind == TOKEN_LAST && !token.is_single))
            continue;
        push_part(parser, &word, &token);
        word.prefix = open && token.end == text.len && token.kind != TOKEN_SYMBOL;
    }
    if (word.part_count == 0)
        return;
    if (word.part_count == 1) {
        word.kind = SEARCH_WORD;
        word.term = word.parts[0].term;
        word.position = word.parts[0].position;
        word.prefix = word.prefix || word.parts[0].prefix;
        word.parts = NULL;
        word.part_count = 0;
    }
    parser->position += tokens.position;
    push_word(parser, signs, word);
}

/* A code, with its parts as the other way to find it. */
static struct search_word
take_parts(struct parser *parser, struct tokens *tokens, const struct search_token *whole)
{
    struct search_word word = {.kind = SEARCH_CODE,
                               .term = dup_term(parser, whole),
                               .position = parser->position + whole->position};
    struct search_token part;

    for (unsigned parts = whole->parts; parts > 0 && tokens_next(tokens, &part); parts--)
        push_part(parser, &word, &part);
    return word;
}

/* A run of letters, as pairs of neighbours. */
static struct search_word
take_run(struct parser *parser, struct tokens *tokens, const struct search_token *first)
{
    struct search_word word = {.kind = SEARCH_GRAMS};
    struct search_token token = *first;

    if (first->kind == TOKEN_LAST) /* a single letter matches all terms that begin with it */
        return (struct search_word){.kind = SEARCH_WORD,
                                    .term = dup_term(parser, first),
                                    .prefix = true,
                                    .position = parser->position + first->position};
    do
        push_part(parser, &word, &token);
    while (tokens_next(tokens, &token) && token.kind == TOKEN_GRAM);
    return word; /* the last letter is in the last pair */
}

static struct search_word
take_word(struct parser *parser, struct tokens *tokens, const struct search_token *token)
{
    struct search_word word = {.kind = SEARCH_WORD,
                               .term = dup_term(parser, token),
                               .symbol = token->kind == TOKEN_SYMBOL,
                               .position = parser->position + token->position};
    struct search_token bare;

    if (token->kind == TOKEN_SIGNED && tokens_next(tokens, &bare))
        word.bare_bytes = bare.text.len;
    return word;
}

/* The text between two spaces: mostly one word. */
static void
parse_words(struct parser *parser, const struct word_signs *signs, struct str text, bool star)
{
    struct tokens tokens;
    struct search_token token;
    size_t before = parser->query.count;

    tokens_init(&tokens, text);
    while (tokens_next(&tokens, &token)) {
        struct search_word word;
        size_t begin = token.begin;
        if (token.kind == TOKEN_WHOLE)
            word = take_parts(parser, &tokens, &token);
        else if (token.kind == TOKEN_GRAM || token.kind == TOKEN_LAST)
            word = take_run(parser, &tokens, &token);
        else
            word = take_word(parser, &tokens, &token);
        word.text = (struct str){text.ptr + begin, tokens.at - begin};
        push_word(parser, signs, word);
    }
    parser->position += tokens.position;
    if (star && parser->query.count > before)
        parser->query.words[parser->query.count - 1].prefix = true;
}

static bool is_name_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Takes "name:" before a word or a phrase, if there is such a field. If nothing follows "name:",
 * the name is a word. */
static struct str take_field(struct parser *parser)
{
    size_t end = parser->at;

    while (end < parser->text.len && is_name_letter(parser->text.ptr[end]))
        end++;
    if (end == parser->at || end + 1 >= parser->text.len || parser->text.ptr[end] != ':' ||
        space_at(parser->text, end + 1) > 0 || !parser->fields)
        return STR_NONE;
    struct str name = {parser->text.ptr + parser->at, end - parser->at};
    if (!parser->fields->is_field(parser->fields->arg, name))
        return STR_NONE;
    parser->at = end + 1;
    return arena_dup(parser->arena, name);
}

/* A phrase ends with its closing mark, or with the text. */
static void parse_quoted(struct parser *parser, const struct word_signs *signs)
{
    size_t begin = parser->at + quote_at(parser->text, parser->at);
    size_t end = begin;

    while (end < parser->text.len && quote_at(parser->text, end) == 0)
        end++;
    bool open = end == parser->text.len;
    parser->at = open ? end : end + quote_at(parser->text, end);
    parser->last_is_no_prefix = true;
    parse_phrase(parser, signs, (struct str){parser->text.ptr + begin, end - begin}, open);
}

/* Takes one item: a word, a phrase or '*', with the signs before it. */
static void parse_item(struct parser *parser)
{
    struct word_signs signs = {.field = STR("")};

    if (parser->text.ptr[parser->at] == '-' && parser->at + 1 < parser->text.len &&
        space_at(parser->text, parser->at + 1) == 0) {
        signs.excluded = true;
        parser->at++;
    }
    struct str field = take_field(parser);
    if (field.ptr)
        signs.field = field;
    if (parser->at < parser->text.len && opens_phrase(parser->text, parser->at)) {
        parse_quoted(parser, &signs);
        return;
    }
    size_t begin = parser->at;
    while (parser->at < parser->text.len && space_at(parser->text, parser->at) == 0 &&
           !opens_phrase(parser->text, parser->at))
        parser->at++;
    struct str text = {parser->text.ptr + begin, parser->at - begin};
    parser->last_is_no_prefix = signs.excluded;
    if (str_eq(text, STR("*")) && !signs.excluded && !field.ptr)
        parser->query.everything = true;
    else
        parse_words(parser, &signs, text, str_ends(text, STR("*")));
}

/* Each prefix costs lookups in the lexicon, also a single letter of a script without spaces, even
 * in a phrase. The query ends where it would have more than SEARCH_PREFIXES of them. */
static void query_limit_prefixes(struct search_query *query)
{
    size_t left = SEARCH_PREFIXES;

    for (size_t i = 0; i < query->count; i++) {
        struct search_word *word = &query->words[i];
        size_t parts = 0;
        for (; parts < word->part_count && left >= word->parts[parts].prefix; parts++)
            left -= word->parts[parts].prefix;
        bool fits = parts == word->part_count && left >= word->prefix;
        if (fits) {
            left -= word->prefix;
            continue;
        }
        word->part_count = parts;
        word->prefix = false;
        query->count = word->kind == SEARCH_WORD || parts < 2 ? i : i + 1;
    }
}

/* Words say more than "*", so "*" is dropped. Words to leave out mean nothing without either. */
static void query_resolve_star(struct search_query *query)
{
    bool finds = false;

    for (size_t i = 0; i < query->count; i++)
        finds = finds || !query->words[i].excluded;
    query->everything = query->everything && !finds;
    if (!finds && !query->everything)
        query->count = 0;
}

static struct str text_truncate(struct str text)
{
    size_t at = 0;

    for (size_t letters = 0; at < text.len && letters < SEARCH_LETTERS; letters++) {
        uint32_t code;
        size_t bytes = utf8_decode(text, at, &code);
        at += bytes > 0 ? bytes : 1;
    }
    return (struct str){text.ptr, at};
}

void search_query_parse(struct arena *arena,
                        struct str text,
                        const struct search_fields *fields,
                        struct search_query *ret_query)
{
    struct parser parser = {.arena = arena, .text = text_truncate(text), .fields = fields};
    struct search_query *query = &parser.query;

    for (skip_spaces(&parser); parser.at < parser.text.len; skip_spaces(&parser))
        parse_item(&parser);
    if (query->count > 0 && !parser.last_is_no_prefix && !parser.full) {
        struct search_word *last = &query->words[query->count - 1];
        last->prefix = last->prefix || (!last->excluded && !last->symbol);
    }
    query_limit_prefixes(query);
    query_resolve_star(query);
    *ret_query = *query;
}
