#include "search/search_query.h"

#include "base/utf8.h"
#include "search/tokens.h"
#include "search/typo_private.h"

struct parser {
    struct arena *arena;
    struct str text;
    size_t at;
    const struct search_fields *fields;
    struct search_query query;
    struct search_error *error;
    size_t cap;
    uint32_t place;   /* of the next word */
    bool phrase_last; /* the last word was written with quotation marks or a '*' of its own: it is
                         no prefix by its place */
};

/* What stands before a word. */
struct signs {
    size_t at;
    bool without;
    struct str field;
};

static int query_fault(struct parser *parser, enum search_fault fault, size_t at, const char *text)
{
    *parser->error = (struct search_error){fault, at, str_from(text)};
    return SEARCH_QUERY_BAD;
}

/* Bytes of a space at an offset: of ASCII, U+00A0, and the wide one of East Asia. */
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

/* Bytes of a quotation mark: "plain", “curly” or „low“. */
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

/* One more word, with the signs before it. */
static int push_word(struct parser *parser, const struct signs *signs, struct search_word word)
{
    if (signs->without && (word.kind == SEARCH_GRAMS || word.kind == SEARCH_PHRASE))
        return query_fault(parser,
                           SEARCH_WITHOUT_PHRASE,
                           signs->at,
                           "only single words can be left out with '-', not phrases");
    if (parser->query.count == SEARCH_WORDS || word.part_count > SEARCH_PARTS)
        return query_fault(
            parser, SEARCH_TOO_MANY_WORDS, signs->at, "more than 10 words are searched for");
    word.field = signs->field;
    word.without = signs->without;
    bool exact = word.kind != SEARCH_WORD || word.without || word.quoted;
    word.typos = exact ? 0 : typo_excused(word.term);
    ARENA_PUSH(parser->arena, parser->query.words, parser->query.count, parser->cap, word);
    return 0;
}

static int
push_part(struct parser *parser, struct search_word *word, const struct search_token *token)
{
    if (word->part_count == SEARCH_PARTS)
        return query_fault(
            parser, SEARCH_TOO_MANY_WORDS, token->begin, "a word or phrase has more than 32 parts");
    if (!word->parts)
        word->parts = ARENA_ARRAY(parser->arena, word->parts, SEARCH_PARTS);
    word->parts[word->part_count++] =
        (struct search_part){dup_term(parser, token),
                             parser->place + token->position,
                             token->letters == 1 && tokens_unspaced(token->text)};
    return 0;
}

/* Terms side by side, in their order: a phrase, whatever they are. A code counts by its parts. */
static int parse_phrase(struct parser *parser, const struct signs *signs, struct str text)
{
    struct search_word word = {.kind = SEARCH_PHRASE, .text = text, .quoted = true};
    struct tokens tokens;
    struct search_token token;

    tokens_init(&tokens, text);
    while (tokens_next(&tokens, &token)) {
        if (token.kind == TOKEN_WHOLE || (token.kind == TOKEN_LAST && !token.alone))
            continue;
        TRY(push_part(parser, &word, &token));
    }
    if (word.part_count == 0)
        return query_fault(parser, SEARCH_NO_WORD, signs->at, "a phrase has no letter or digit");
    if (word.part_count == 1) {
        word.kind = SEARCH_WORD;
        word.term = word.parts[0].term;
        word.place = word.parts[0].place;
        word.prefix = word.parts[0].prefix;
        word.parts = NULL;
        word.part_count = 0;
    }
    parser->place += tokens.position;
    return push_word(parser, signs, word);
}

/* A code, with its parts as the other way to find it. */
static int take_parts(struct parser *parser,
                      struct tokens *tokens,
                      const struct search_token *whole,
                      struct search_word *ret_word)
{
    struct search_word word = {.kind = SEARCH_CODE,
                               .term = dup_term(parser, whole),
                               .place = parser->place + whole->position};
    struct search_token part;

    for (unsigned parts = whole->parts; parts > 0 && tokens_next(tokens, &part); parts--)
        TRY(push_part(parser, &word, &part));
    *ret_word = word;
    return 0;
}

/* The letters of a run, each with the next. */
static int take_run(struct parser *parser,
                    struct tokens *tokens,
                    const struct search_token *first,
                    struct search_word *ret_word)
{
    struct search_word word = {.kind = SEARCH_GRAMS};
    struct search_token token = *first;

    if (first->kind == TOKEN_LAST) { /* one letter alone: all that begin with it have it */
        *ret_word = (struct search_word){.kind = SEARCH_WORD,
                                         .term = dup_term(parser, first),
                                         .prefix = true,
                                         .place = parser->place + first->position};
        return 0;
    }
    do
        TRY(push_part(parser, &word, &token));
    while (tokens_next(tokens, &token) && token.kind == TOKEN_GRAM);
    *ret_word = word; /* the last letter is in the last gram */
    return 0;
}

/* What stands between two spaces: mostly a word. */
static int parse_words(struct parser *parser, const struct signs *signs, struct str text, bool star)
{
    struct tokens tokens;
    struct search_token token;
    size_t before = parser->query.count;

    tokens_init(&tokens, text);
    while (tokens_next(&tokens, &token)) {
        struct search_word word = {.kind = SEARCH_WORD};
        size_t begin = token.begin;
        if (token.kind == TOKEN_WHOLE)
            TRY(take_parts(parser, &tokens, &token, &word));
        else if (token.kind == TOKEN_GRAM || token.kind == TOKEN_LAST)
            TRY(take_run(parser, &tokens, &token, &word));
        else
            word = (struct search_word){.kind = SEARCH_WORD,
                                        .term = dup_term(parser, &token),
                                        .place = parser->place + token.position};
        word.text = (struct str){text.ptr + begin, tokens.at - begin};
        TRY(push_word(parser, signs, word));
    }
    parser->place += tokens.position;
    if (parser->query.count == before)
        return signs->without || signs->field.len > 0 || star
                   ? query_fault(parser,
                                 SEARCH_NO_WORD,
                                 signs->at,
                                 "a sign stands without a word behind or before it")
                   : 0;
    struct search_word *last = &parser->query.words[parser->query.count - 1];
    last->prefix = last->prefix || star;
    return 0;
}

static bool is_name_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* "name:" before a word or a phrase, if there is such a field. */
static struct str take_field(struct parser *parser)
{
    size_t end = parser->at;

    while (end < parser->text.len && is_name_letter(parser->text.ptr[end]))
        end++;
    if (end == parser->at || end >= parser->text.len || parser->text.ptr[end] != ':' ||
        !parser->fields)
        return STR_NONE;
    struct str name = {parser->text.ptr + parser->at, end - parser->at};
    if (!parser->fields->is_field(parser->fields->arg, name))
        return STR_NONE;
    parser->at = end + 1;
    return arena_dup(parser->arena, name);
}

static int parse_quoted(struct parser *parser, const struct signs *signs)
{
    size_t begin = parser->at + quote_at(parser->text, parser->at);
    size_t end = begin;

    while (end < parser->text.len && quote_at(parser->text, end) == 0)
        end++;
    if (end == parser->text.len)
        return query_fault(parser, SEARCH_UNCLOSED, parser->at, "a quotation mark is not closed");
    parser->at = end + quote_at(parser->text, end);
    parser->phrase_last = true;
    return parse_phrase(parser, signs, (struct str){parser->text.ptr + begin, end - begin});
}

/* One thing: a word, phrase or '*', with what stands before it. */
static int parse_thing(struct parser *parser)
{
    struct signs signs = {.at = parser->at, .field = STR("")};

    if (parser->text.ptr[parser->at] == '-' && parser->at + 1 < parser->text.len &&
        space_at(parser->text, parser->at + 1) == 0) {
        signs.without = true;
        parser->at++;
    }
    struct str field = take_field(parser);
    if (field.ptr)
        signs.field = field;
    if (parser->at < parser->text.len && quote_at(parser->text, parser->at) > 0)
        return parse_quoted(parser, &signs);
    size_t begin = parser->at;
    while (parser->at < parser->text.len && space_at(parser->text, parser->at) == 0 &&
           quote_at(parser->text, parser->at) == 0)
        parser->at++;
    struct str text = {parser->text.ptr + begin, parser->at - begin};
    parser->phrase_last = signs.without;
    if (str_eq(text, STR("*")) && !signs.without && !field.ptr) {
        parser->query.all = true;
        return 0;
    }
    bool star = str_ends(text, STR("*"));
    return parse_words(parser, &signs, text, star);
}

/* What may go on is looked up one by one; single letters of a script without spaces do, also those
 * of a phrase. */
static size_t count_prefixes(const struct search_query *query)
{
    size_t count = 0;

    for (size_t i = 0; i < query->count; i++) {
        const struct search_word *word = &query->words[i];
        count += word->prefix;
        for (size_t k = 0; k < word->part_count; k++)
            count += word->parts[k].prefix;
    }
    return count;
}

/* Whether what there is can be searched for. */
static int check_found(struct parser *parser)
{
    size_t found = 0;

    for (size_t i = 0; i < parser->query.count; i++)
        found += !parser->query.words[i].without;
    if (found > 0) {
        parser->query.all = false; /* words say more than "*" */
        return 0;
    }
    if (parser->query.all)
        return 0;
    if (parser->query.count > 0)
        return query_fault(parser,
                           SEARCH_WITHOUT_ONLY,
                           0,
                           "there are only words to leave out: add one to find, or *");
    return query_fault(parser, SEARCH_EMPTY, 0, "there is no letter or digit to search for");
}

int search_query_parse(struct arena *arena,
                       struct str text,
                       const struct search_fields *fields,
                       struct search_query *ret_query,
                       struct search_error *ret_error)
{
    struct parser parser = {.arena = arena, .text = text, .fields = fields, .error = ret_error};

    if (utf8_length(text) > SEARCH_LETTERS || text.len > (size_t)4 * SEARCH_LETTERS)
        return query_fault(&parser, SEARCH_TOO_LONG, 0, "the query is longer than 512 characters");
    for (skip_spaces(&parser); parser.at < text.len; skip_spaces(&parser))
        TRY(parse_thing(&parser));
    TRY(check_found(&parser));
    struct search_query *query = &parser.query;
    if (query->count > 0 && !parser.phrase_last && !query->words[query->count - 1].without)
        query->words[query->count - 1].prefix = true;
    if (count_prefixes(query) > SEARCH_PREFIXES)
        return query_fault(&parser,
                           SEARCH_TOO_MANY_WORDS,
                           0,
                           "more than 16 single letters or beginnings of words are searched for");
    *ret_query = *query;
    return 0;
}
