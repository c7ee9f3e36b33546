/* A text that the prefilter skips has no term of the query. */
#include "unit.h"

#include "search_test.h"

#include "base/strbuf.h"
#include "search/prefilter_private.h"
#include "search/tokens.h"

static struct prefilter looking_for(const char *term)
{
    struct prefilter prefilter = {0};

    prefilter_add(&prefilter, str_from(term));
    return prefilter;
}

static bool may(const char *term, const char *text)
{
    struct prefilter prefilter = looking_for(term);

    return prefilter_can_match(&prefilter, str_from(text));
}

TEST(texts_of_other_words_are_passed_over)
{
    assert_false(may("cotton", "A shirt of linen, in blue; 12 pieces.\nWashable!"));
    assert_false(may("cotton", "acotton"));
    assert_false(may("cotton", ""));
    assert_true(may("cotton", "Cotton"));
    assert_true(may("cotton", "a shirt of COTTON"));
    assert_true(may("cotton", "a cottage")); /* begins like the term */
    assert_true(may("co", "a shirt"));       /* too short to tell */
    assert_true(may("cotton", "a shirt-like thing"));
    assert_true(may("cotton", "caf\xC3\xA9"));
}

/* A word is found at every position in the blocks of bytes that are compared. */
TEST(a_word_is_found_at_every_place)
{
    char text[300];

    for (size_t len = 10; len < sizeof(text); len++) {
        memset(text, ' ', len);
        struct prefilter prefilter = looking_for("linen");
        assert_false(prefilter_can_match(&prefilter, (struct str){text, len}));
        for (size_t at = 0; at + 5 <= len; at++) {
            memset(text, ' ', len);
            memcpy(text + at, "Linen", 5);
            assert_true(prefilter_can_match(&prefilter, (struct str){text, len}));
        }
    }
}

/* Two words with a sign between them are also one joined word, which may begin like the term
 * although its parts do not. */
TEST(bound_words_are_found_at_every_place)
{
    char text[200];
    struct prefilter prefilter = looking_for("linen");

    for (size_t at = 0; at + 3 <= sizeof(text); at++) {
        memset(text, ' ', sizeof(text));
        memcpy(text + at, "a-b", 3);
        assert_true(prefilter_can_match(&prefilter, (struct str){text, sizeof(text)}));
        memcpy(text + at, "a- ", 3);
        assert_false(prefilter_can_match(&prefilter, (struct str){text, sizeof(text)}));
        memcpy(text + at, " -b", 3);
        assert_false(prefilter_can_match(&prefilter, (struct str){text, sizeof(text)}));
    }
}

static bool has_term(struct str text, struct str term)
{
    struct tokens tokens;
    struct search_token token;

    tokens_init(&tokens, text);
    while (tokens_next(&tokens, &token))
        if (str_starts(token.text, term))
            return true;
    return false;
}

TEST_WITH(what_tokens_find_is_never_passed_over, setup, teardown)
{
    static const char *const pieces[] = {"abc", "Abd", "b",    "AB", "1",  "12.",         "-",
                                         " ",   "  ",  "\n",   "\t", "'",  "\xC3\xA4",    ".",
                                         "ab",  "c",   "bcda", "@",  "\\", "\xE6\x9D\xB1"};
    static const char *const terms[] = {"abc", "abd", "ab1", "bcd", "bcda", "12.", "121", "cab"};
    char text[400];
    size_t found = 0;
    size_t passed = 0;

    for (unsigned round = 0; round < 40000; round++) {
        size_t len = 0;
        for (size_t i = 0, count = number(60); i < count; i++) {
            const char *piece = pieces[number(round % 2 ? ARRAY_LEN(pieces) : 10)];
            size_t each = strlen(piece);
            memcpy(text + len, piece, each);
            len += each;
        }
        for (size_t i = 0; i < ARRAY_LEN(terms); i++) {
            struct prefilter prefilter = looking_for(terms[i]);
            bool may_match = prefilter_can_match(&prefilter, (struct str){text, len});
            bool has = has_term((struct str){text, len}, str_from(terms[i]));
            assert_true(may_match || !has);
            found += has;
            passed += !may_match;
        }
    }
    assert_true(found > 1000 && passed > 1000);
}
