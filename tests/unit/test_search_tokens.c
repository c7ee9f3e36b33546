/* Texts cut into terms: words, codes, scripts without spaces, any bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "unit.h"

#include "base/arena.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "search/tokens.h"

static struct arena *arena;

static int setup(void **state UNUSED)
{
    arena = arena_new(0);
    return 0;
}

static int teardown(void **state UNUSED)
{
    arena_free(arena);
    return 0;
}

/* Returns all terms in one line: "[whole]" or "part", with `places` followed by
 * "@position:begin-end". */
static const char *terms_of(const char *text, bool places)
{
    struct tokens tokens;
    struct search_token token;
    struct strbuf line;

    strbuf_init(&line, arena, 1 << 20);
    tokens_init(&tokens, str_from(text));
    while (tokens_next(&tokens, &token)) {
        if (line.len > 0)
            strbuf_char(&line, ' ');
        bool whole = token.kind == TOKEN_WHOLE;
        strbuf_printf(&line, "%s%.*s%s", whole ? "[" : "", STR_ARG(token.text), whole ? "]" : "");
        if (token.kind == TOKEN_LAST)
            strbuf_char(&line, token.is_single ? '!' : '.');
        if (places)
            strbuf_printf(&line, "@%u:%u-%u", token.position, token.begin, token.end);
        assert_int_equal(token.letters, utf8_length(token.text));
        assert_true(token.text.len > 0 && token.text.len <= TERM_BYTES);
        assert_true(token.begin < token.end && token.end <= strlen(text));
    }
    return strbuf_cstring(&line);
}

struct cut {
    const char *text;
    const char *expected;
};

static void check_cuts(const struct cut *cuts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_string_equal(terms_of(cuts[i].text, false), cuts[i].expected);
}

TEST_WITH(words_are_folded, setup, teardown)
{
    static const struct cut cuts[] = {
        {"", ""},
        {" .,; ", ""},
        {"Hello, World!", "hello world"},
        {"Café CRÈME Ñandú", "cafe creme nandu"},
        {"Cafe\xCC\x81 e\xCC\x81", "cafe e"}, /* NFD */
        {"Straße STRASSE ẞ", "strasse strasse ss"},
        {"Ångström Øre Łódź Æon Đorđe", "angstrom ore lodz aeon dorde"},
        {"İstanbul ISPARTA ışık", "istanbul isparta isik"},
        {"ΟΔΥΣΣΕΥΣ Ὀδυσσεύς", "οδυσσευσ οδυσσευσ"},
        {"Ёлка йод Й", "елка йод й"},
        {"и\xCC\x86од у\xCC\x86", "йод ў"}, /* NFD */
        {"ﬁne ①② x² Ⅳ ½", "fine 12 x2 iv"},
        {"ＡＢＣ１２３", "abc123"},
        {"٣٤ ३४", "34 34"},
        {"كِتَابٌ أحمد ـكـ کتاب", "كتاب احمد ك كتاب"},
        {"שָׁלוֹם", "שלום"},
        {"हिन्दी किताब", "हिन्दी किताब"},
        {"한국어", "한국어"},
        {"\xE1\x84\x92\xE1\x85\xA1\xE1\x86\xAB", "한"}, /* jamo */
        {"ㅎㅏㄴ", "하\xE1\x84\x82"}, /* keyboard letters become first letters of syllables */
        {"soft\xC2\xADhyphen zero\xE2\x80\x8Bwidth", "softhyphen zero width"},
        {"Google™ ©2024 10€", "google © 2024 10 €"},
        {"🚀 go", "🚀 go"},
    };
    check_cuts(cuts, ARRAY_LEN(cuts));
}

TEST_WITH(codes_are_found_whole_and_in_parts, setup, teardown)
{
    static const struct cut cuts[] = {
        {"AB-1234", "[ab1234] ab 1234"},
        {"O'Brien’s", "[obriens] o brien s"},
        {"12.50 12,50", "[12.50] 12 50 [12.50] 12 50"},
        {"2024-01-15T10:30:00", "[2024-01-15t10:30:00] 2024 01 15t10 30 00"},
        {"a,b a:b", "a b a b"},
        {"me@example.org", "[meexampleorg] me example org"},
        {"192.168.1.1", "[192.168.1.1] 192 168 1 1"},
        {"978-3-16-148410-0", "[9783161484100] 978 3 16 148410 0"},
        {"978‑3‑16_148410_0", "[9783161484100] 978 3 16 148410 0"},
        {"AB-12-34 a_1_2", "[ab1234] ab 12 34 [a12] a 1 2"},
        {"550e8400-e29b-41d4-a716-446655440000",
         "[550e8400e29b41d4a716446655440000] 550e8400 e29b 41d4 a716 446655440000"},
        {"2024-01-15 555-1234", "[20240115] 2024 01 15 [5551234] 555 1234"},
        {"10-12 1-2 31-4 20-24", "[10-12] 10 12 [1-2] 1 2 [31-4] 31 4 [20-24] 20 24"},
        {"1.2-3456 12/34567 1-2,345678",
         "[1.2-3456] 1 2 3456 [12/34567] 12 34567 [1-2.345678] 1 2 345678"},
        {"-12 12- a--b 'quoted'", "12 12 a b quoted"},
        {"end.Next one.", "[endnext] end next one"},
        {"snake_case R&D", "[snakecase] snake case [rd] r d"},
        {"1-2-3-4-5-6-7-8-9-10-11-12-13-14-15-16-17", "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17"},
    };
    check_cuts(cuts, ARRAY_LEN(cuts));
    assert_string_equal(terms_of("so AB-1234 is", true),
                        "so@0:0-2 [ab1234]@1:3-10 ab@1:3-5 1234@2:6-10 is@3:11-13");
    /* a whole that is too long is left out, its parts are not */
    assert_string_equal(
        terms_of("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb c-d",
                 false),
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb [cd] c d");
}

TEST_WITH(signs_belong_to_words, setup, teardown)
{
    static const struct cut cuts[] = {
        {"C++ C# F#, A+", "c++ c c# c f# f a+ a"},
        {"C++11 C#/F# (g++)", "c++ c 11 c# c f# f g++ g"},
        {"Notepad++ A+++", "notepad++ notepad a+++ a"},
        {"a+b a#1 a++++ a## # + ++", "[ab] a b a 1 a a## a"},
        {"visual-c++ 18+", "[visualc] visual c 18+ 18"},
        {"東京+ $5 50% .NET", "東京 京. 5 50 net"},
    };
    check_cuts(cuts, ARRAY_LEN(cuts));
    assert_string_equal(terms_of("a C++ b", true), "a@0:0-1 c++@1:2-5 c@1:2-3 b@2:6-7");
}

TEST_WITH(symbols_stand_for_themselves, setup, teardown)
{
    static const struct cut cuts[] = {
        {"I ♥ NY", "i ♥ ny"},
        {"❤️ ❤ ♥", "♥ ♥ ♥"},
        {"★★★★★ ★☆", "★ ★ ☆"},
        {"👍🏽 👍", "👍 👍"},
        {"👩‍👩‍👧", "👩 👧"},
        {"🇩🇪🇫🇷 🇩", "🇩🇪 🇫🇷 🇩"},
        {"1️⃣ 20°C 3×4", "1 20 ° c 3 × 4"},
        {"a → b ≠ c – d • e … f", "a → b ≠ c d e f"},
        {"C♯ §5 ＝ � 🫨", "c ♯ § 5 🫨"},
        {"? ! -- ... \" * % & @ | < > ~ ^ $", ""},
    };
    check_cuts(cuts, ARRAY_LEN(cuts));
    /* words on both sides of a symbol are adjacent */
    assert_string_equal(terms_of("a ♥♥ b", true), "a@0:0-1 ♥@1:2-8 b@1:9-10");
}

TEST_WITH(scripts_without_spaces_give_pairs, setup, teardown)
{
    static const struct cut cuts[] = {
        {"東京都", "東京 京都 都."},
        {"東", "東!"},
        {"iPhone東京15", "iphone 東京 京. 15"},
        {"東京、大阪", "東京 京. 大阪 阪."},
        {"ひらカナ々", "ひら らカ カナ ナ々 々."},
        {"ガ ｶﾞ", "カ\xE3\x82\x99! カ\xE3\x82\x99!"},
        {"ไทยดี", "ไท ทย ยดี ดี."},
        {"東京ไทย", "東京 京. ไท ทย ย."},
    };
    check_cuts(cuts, ARRAY_LEN(cuts));
    assert_string_equal(terms_of("a 東京 b", true), "a@0:0-1 東京@1:2-8 京.@2:5-8 b@3:9-10");
    assert_true(tokens_is_unspaced(STR("東京")));
    assert_true(tokens_is_unspaced(STR("ไท")));
    assert_false(tokens_is_unspaced(STR("한국")));
    assert_false(tokens_is_unspaced(STR("a")));
    assert_false(tokens_is_unspaced(STR("")));
}

TEST(long_words_are_cut_alike)
{
    char text[300];
    struct tokens tokens;
    struct search_token token;

    memset(text, 'a', 299);
    text[299] = 0;
    tokens_init(&tokens, str_from(text));
    assert_true(tokens_next(&tokens, &token));
    assert_int_equal(token.text.len, TERM_BYTES);
    assert_true(token.cut);
    assert_int_equal(token.end, 299);
    assert_false(tokens_next(&tokens, &token));
    /* a term is never cut in the middle of a letter */
    for (size_t i = 0; i < 149; i++)
        memcpy(text + i * 2, "\xD0\xB6", 2);
    text[0] = 'a';
    text[1] = 'b';
    text[298] = 0;
    memmove(text + 1, text + 2, 297);
    tokens_init(&tokens, str_from(text));
    assert_true(tokens_next(&tokens, &token));
    assert_int_equal(token.text.len, 63);
    assert_true(utf8_valid(token.text));
}

TEST(folding_twice_changes_nothing)
{
    static const struct {
        uint32_t first;
        uint32_t last;
    } planes[] = {{0x80, 0xD7FF}, {0xE000, 0x2FFFF}, {0xE0100, 0xE01EF}, {0x10FF00, 0x10FFFF}};
    char room[4];
    struct tokens tokens;
    struct search_token token;
    struct search_token again;
    size_t words = 0;

    for (size_t p = 0; p < ARRAY_LEN(planes); p++)
        for (uint32_t code = planes[p].first; code <= planes[p].last; code++) {
            struct str letter = {room, utf8_encode(room, code)};
            tokens_init(&tokens, letter);
            if (!tokens_next(&tokens, &token))
                continue;
            words++;
            char copy[TERM_BYTES];
            struct str folded = {memcpy(copy, token.text.ptr, token.text.len), token.text.len};
            assert_true(utf8_valid(folded));
            tokens_init(&tokens, folded);
            if (!tokens_next(&tokens, &again) || !str_eq(again.text, folded))
                fail_msg("U+%04X", code);
        }
    assert_true(words > 120000);
}

/* Checks any bytes: terms are UTF-8, positions ascend, and the number of terms is bounded. */
static void check_any(const char *bytes, size_t len)
{
    struct tokens tokens;
    struct search_token token;
    uint32_t place = 0;
    /* an allocation of its own, so that a read past its end is detected */
    char *copy = memcpy(malloc(len + !len), bytes, len);

    tokens_init(&tokens, (struct str){copy, len});
    for (size_t count = 0; tokens_next(&tokens, &token); count++) {
        assert_true(utf8_valid(token.text));
        assert_true(token.text.len > 0 && token.text.len <= TERM_BYTES);
        assert_true(token.begin < token.end && token.end <= len);
        assert_true(token.position >= place && count <= 2 * len);
        place = token.position;
    }
    free(copy);
}

TEST(any_bytes_are_safe)
{
    static const char *const pieces[] = {"a",
                                         "B",
                                         "9",
                                         "-",
                                         ".",
                                         ",",
                                         "'",
                                         " ",
                                         "é",
                                         "e",
                                         "\xCC\x81",
                                         "\xCC\x86",
                                         "и",
                                         "東",
                                         "ガ",
                                         "ｶ",
                                         "ﾞ",
                                         "ไ",
                                         "ี",
                                         "\xE1\x84\x92",
                                         "\xE1\x85\xA1",
                                         "\xE1\x86\xAB",
                                         "한",
                                         "\xFF",
                                         "\xC3",
                                         "\xE6\x9D",
                                         "\xF0\x9F",
                                         "ﷺ",
                                         "+",
                                         "#",
                                         "♥",
                                         "🇩",
                                         "🏽",
                                         "\xEF\xB8\x8F",
                                         "\xE2\x80\x8D"};
    uint64_t seed = 88172645463325252;

    for (int round = 0; round < 30000; round++) {
        char bytes[400];
        size_t len = 0;
        char any[2] = {0};
        for (size_t i = 0, n = (seed >> 40) % 60; i < n; i++) {
            seed = seed * 6364136223846793005 + 1442695040888963407;
            const char *piece = pieces[(seed >> 33) % ARRAY_LEN(pieces)];
            if (seed >> 60 == 0) {
                any[0] = (char)(seed >> 24 | 1);
                piece = any;
            }
            for (; *piece; piece++)
                bytes[len++] = *piece;
        }
        check_any(bytes, len);
        seed++;
    }
}

TEST(large_texts_are_cut_as_they_come)
{
    static const char *const words[] = {"cotton ", "a-", "東", "é", "\xCC\x81"};

    for (size_t w = 0; w < ARRAY_LEN(words); w++) {
        size_t each = strlen(words[w]);
        size_t len = 200000 * each;
        char *text = malloc(len);
        for (size_t i = 0; i < 200000; i++)
            memcpy(text + i * each, words[w], each);
        check_any(text, len);
        free(text);
    }
}
