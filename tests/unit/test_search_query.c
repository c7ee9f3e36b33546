/* How a query is parsed, and which parts of a record a query marks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "unit.h"

#include "search/highlight.h"

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

static bool is_title_or_body(const void *arg, struct str name)
{
    (void)arg;
    return str_is(name, "title") || str_is(name, "body");
}

static const struct search_fields fields = {.is_field = is_title_or_body};

/* Returns the parsed query as one line of words: kind, signs, term, (parts), ~typos. */
static const char *understood(const char *text)
{
    static const char kinds[] = {
        [SEARCH_WORD] = 'w', [SEARCH_CODE] = 'c', [SEARCH_GRAMS] = 'g', [SEARCH_PHRASE] = 'p'};
    struct search_query query;
    struct strbuf line;

    strbuf_init(&line, arena, 100000);
    search_query_parse(arena, str_from(text), &fields, &query);
    assert_true(query.count <= SEARCH_WORDS);
    if (query.everything)
        strbuf_cstr(&line, "all ");
    for (size_t i = 0; i < query.count; i++) {
        const struct search_word *word = &query.words[i];
        strbuf_printf(&line, "%s%s%c:", i ? " " : "", word->excluded ? "-" : "", kinds[word->kind]);
        if (word->field.len > 0)
            strbuf_printf(&line, "%.*s=", STR_ARG(word->field));
        strbuf_str(&line, word->term);
        for (size_t p = 0; p < word->part_count; p++)
            strbuf_printf(&line, "%c%.*s", p ? ',' : '(', STR_ARG(word->parts[p].term));
        if (word->part_count > 0)
            strbuf_char(&line, ')');
        if (word->prefix)
            strbuf_char(&line, '*');
        if (word->typos)
            strbuf_printf(&line, "~%u", word->typos);
        if (word->symbol)
            strbuf_char(&line, '!');
        if (word->bare_bytes)
            strbuf_printf(&line, "/%zu", word->bare_bytes);
    }
    return strbuf_cstring(&line);
}

TEST_WITH(queries_are_understood, setup, teardown)
{
    static const struct {
        const char *text;
        const char *expected;
    } cases[] = {
        {"blu chair", "w:blu w:chair*~1"},
        {"  Blue   Chairs ", "w:blue w:chairs*~1"},
        {"cott* linen", "w:cott* w:linen*~1"},
        {"photography lens", "w:photography~2 w:lens*"},
        {"\"blue chair\"", "p:(blue,chair)"},
        {"red \"blue chair\" lamp", "w:red p:(blue,chair) w:lamp*"},
        {"\xE2\x80\x9E"
         "blue chair\xE2\x80\x9C",
         "p:(blue,chair)"},
        {"\"chairs\"", "w:chairs"},
        {"chair -blue", "w:chair~1 -w:blue"},
        {"-blue chair", "-w:blue w:chair*~1"},
        {"title:chair blue", "w:title=chair~1 w:blue*"},
        {"title:\"blue chair\"", "p:title=(blue,chair)"},
        {"-title:chair x", "-w:title=chair w:x*"},
        {"other:chair", "w:other~1 w:chair*~1"},
        {"AB-1234", "c:ab1234(ab,1234)*"},
        {"-AB-1234 x", "-c:ab1234(ab,1234) w:x*"},
        {"12:30", "c:12:30(12,30)*"},
        {"AB-12-34", "c:ab1234(ab,12,34)*"},
        {"978-3-16-148410-0", "c:9783161484100(978,3,16,148410,0)*"},
        {"title:12:30", "c:title=12:30(12,30)*"},
        {"a|b", "w:a w:b*"},
        {"\xE6\x9D\xB1\xE4\xBA\xAC\xE9\x83\xBD",
         "g:(\xE6\x9D\xB1\xE4\xBA\xAC,\xE4\xBA\xAC\xE9\x83\xBD)*"},
        {"\xE6\x9D\xB1 x", "w:\xE6\x9D\xB1* w:x*"},
        {"*", "all "},
        {"* -blue", "all -w:blue"},
        {"* chair", "w:chair*~1"},
        {"iphone15", "w:iphone15*"},
        {"a b c d e f g h i j", "w:a w:b w:c w:d w:e w:f w:g w:h w:i w:j*"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_string_equal(understood(cases[i].text), cases[i].expected);
}

/* An unfinished or careless query, or a query written for another system, is understood. */
TEST_WITH(any_text_is_a_query, setup, teardown)
{
    static const struct {
        const char *text;
        const char *expected;
    } cases[] = {
        {"", ""},
        {" ?! ", ""},
        {"--", ""},
        {"- -", ""},
        {"...", ""},
        {"\"", ""},
        {"\"\"", ""},
        {"\"?\"", ""},
        {"***", ""},
        {"-blue", ""},
        {"-blue -red", ""},
        {"-\"blue chair\"", ""},
        {"chair ***", "w:chair*~1"},
        {"chair ?", "w:chair*~1"},
        {"* ?", "all "},
        {"red \"\"", "w:red"},
        {"red -\"blue chair\"", "w:red"},
        {"red -\xE6\x9D\xB1\xE4\xBA\xAC\xE9\x83\xBD", "w:red"},
        {"red title:", "w:red w:title*~1"},
        {"title: chair", "w:title~1 w:chair*~1"},
        {"title:--- chair", "w:chair*~1"},
        /* a quotation mark that is not closed */
        {"\"hello wor", "p:(hello,wor)*"},
        {"\"hello wor ", "p:(hello,wor)"},
        {"say \"hello", "w:say w:hello*"},
        {"say \xE2\x80\x9Chello wor", "w:say p:(hello,wor)*"},
        {"title:\"hello wor", "p:title=(hello,wor)*"},
        {"-\"hello wor", ""},
        {"say \"hello\" wor\"", "w:say w:hello w:wor"},
        /* inches */
        {"55\" OLED", "w:55 w:oled*"},
        {"OLED 55\"", "w:oled w:55*"},
        {"55\" and 65\" OLED", "w:55 w:and w:65 w:oled*"},
        {"6'2\"", "c:6'2(6,2)*"},
        {"\"model 55\" OLED", "p:(model,55) w:oled*"},
        /* signs and symbols */
        {"C++", "w:c++*/1"},
        {"C# F#", "w:c#/1 w:f#*/1"},
        {"learn C++ fast", "w:learn~1 w:c++/1 w:fast*"},
        {"-C++ x", "-w:c++/1 w:x*"},
        {"\"C++\"", "w:c++"},
        {"\"C++ primer\"", "p:(c++,primer)"},
        {"C++11", "w:c++/1 w:11*"},
        {"a+b", "c:ab(a,b)*"},
        {"a # b", "w:a w:b*"},
        {"\xE2\x99\xA5", "w:\xE2\x99\xA5!"},
        {"I \xE2\x99\xA5 NY", "w:i w:\xE2\x99\xA5! w:ny*"},
        {"\xF0\x9F\x9A\x80\xF0\x9F\x9A\x80\xF0\x9F\x9A\x80", "w:\xF0\x9F\x9A\x80!"},
        {"10\xE2\x82\xAC", "w:10 w:\xE2\x82\xAC!"},
        /* more words than a query may have */
        {"a b c d e f g h i j k", "w:a w:b w:c w:d w:e w:f w:g w:h w:i w:j"},
        {"a b c d e f g h i j k*", "w:a w:b w:c w:d w:e w:f w:g w:h w:i w:j"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_string_equal(understood(cases[i].text), cases[i].expected);
}

/* A query that is too long is cut, and only its beginning is used. */
TEST_WITH(long_queries_are_cut, setup, teardown)
{
    char text[2100];

    memset(text, 'a', sizeof(text));
    text[sizeof(text) - 1] = 0;
    text[512] = 0;
    assert_string_equal(understood(text) + 2 + 64, "*~2"); /* cut, as in records */
    text[512] = 'a';
    assert_string_equal(understood(text) + 2 + 64, "*~2");
    memset(text, ' ', 512);
    text[513] = 'b';
    assert_string_equal(understood(text), "");
    for (size_t i = 0; i < 40; i++)
        memcpy(text + 1 + i * 2, "b ", 2);
    text[0] = '"';
    text[511] = '"';
    text[512] = 0;
    size_t parts = 0;
    for (const char *c = understood(text); *c; c++)
        parts += *c == 'b';
    assert_int_equal(parts, SEARCH_PARTS);
    for (size_t letters = 16; letters <= 18; letters++) { /* 16 parts at most, then x is dropped */
        struct strbuf phrase;
        strbuf_init(&phrase, arena, 1000);
        strbuf_char(&phrase, '"');
        for (size_t i = 0; i < letters; i++)
            strbuf_cstr(&phrase, "\xE6\x9D\xB1 ");
        strbuf_cstr(&phrase, "\" x");
        const char *line = understood(strbuf_cstring(&phrase));
        parts = 0;
        for (const char *c = line; *c; c++)
            parts += *c == '\xE6';
        assert_int_equal(parts, 16);
        assert_null(strchr(line, 'x'));
    }
}

/* --- highlights ------------------------------------------------------------------------------- */

static struct highlight_match match;

static const char *marked_in(const char *field, const char *text, const char *q)
{
    struct search_query query;
    struct strbuf line;

    strbuf_init(&line, arena, 1 << 20);
    search_query_parse(arena, str_from(q), &fields, &query);
    struct highlighter *highlighter = highlight_new(arena, &query);
    match = highlight_field(highlighter, str_from(field), str_from(text), &line);
    assert_int_equal(match.any, line.len > 0);
    /* a second call, without a snippet, finds the same words */
    struct highlight_match again =
        highlight_field(highlighter, str_from(field), str_from(text), NULL);
    assert_memory_equal(&again.words, &match.words, sizeof(match.words));
    /* highlight_order() finds the same; adjacency needs more than one term */
    size_t terms = 0;
    for (size_t i = 0; i < query.count; i++)
        if (!query.words[i].excluded)
            terms += query.words[i].part_count > 0 ? query.words[i].part_count : 1;
    struct highlight_match order = highlight_order(highlighter, str_from(field), str_from(text));
    assert_int_equal(order.equals, match.equals);
    assert_int_equal(order.adjacent, match.adjacent && terms > 1);
    return strbuf_cstring(&line);
}

static const char *marked(const char *text, const char *q)
{
    return marked_in("title", text, q);
}

TEST_WITH(words_are_marked, setup, teardown)
{
    assert_string_equal(marked("Blue chair", "blue"), "<mark>Blue</mark> chair");
    assert_string_equal(marked("A chair, blue.", "blu chair"), "A <mark>chair</mark>, blue.");
    assert_int_equal(match.words, 2);
    assert_string_equal(marked("A blue chair", "chair blu"),
                        "A <mark>blue</mark> <mark>chair</mark>");
    assert_int_equal(match.words, 3);
    assert_string_equal(marked("green", "blue"), "");
    assert_string_equal(marked("Caf\xC3\xA9 cr\xC3\xA8me", "CAFE"),
                        "<mark>Caf\xC3\xA9</mark> cr\xC3\xA8me");
    assert_string_equal(marked("order AB-1234 now", "ab1234"), "order <mark>AB-1234</mark> now");
    assert_string_equal(marked("order ab1234 now", "AB-1234"), "order <mark>ab1234</mark> now");
    assert_string_equal(marked("order AB 1234 now", "AB-1234"),
                        "order <mark>AB</mark> <mark>1234</mark> now");
    assert_int_equal(match.words, 1);
    assert_string_equal(marked("ISBN 978-3-16-148410-0.", "9783161484100"),
                        "ISBN <mark>978-3-16-148410-0</mark>.");
    assert_string_equal(marked("ISBN 9783161484100.", "978-3-16-148410-0"),
                        "ISBN <mark>9783161484100</mark>.");
    assert_string_equal(marked("pi is 3.14", "314"), "");
    assert_string_equal(
        marked("\xE6\x96\xB0\xE6\x9D\xB1\xE4\xBA\xAC\xE9\x83\xBD\xE5\xBA\x81",
               "\xE6\x9D\xB1\xE4\xBA\xAC\xE9\x83\xBD"),
        "\xE6\x96\xB0<mark>\xE6\x9D\xB1\xE4\xBA\xAC\xE9\x83\xBD</mark>\xE5\xBA\x81");
}

TEST_WITH(signs_and_symbols_are_marked, setup, teardown)
{
    assert_string_equal(marked("Learn C++ fast", "c++"), "Learn <mark>C++</mark> fast");
    assert_string_equal(marked("C++ primer", "c++ prim"), "<mark>C++</mark> <mark>primer</mark>");
    assert_true(match.adjacent && !match.equals);
    assert_string_equal(marked("C++ Primer", "c++ primer"), "<mark>C++</mark> <mark>Primer</mark>");
    assert_true(match.adjacent && match.equals);
    assert_string_equal(marked("C++", "c"), "<mark>C++</mark>");
    assert_string_equal(marked("C primer", "c++"), "");
    assert_string_equal(marked("the C++ primer", "\"c++ primer\""), "the <mark>C++ primer</mark>");
    assert_string_equal(marked("I \xE2\x99\xA5 NY", "\xE2\x99\xA5"),
                        "I <mark>\xE2\x99\xA5</mark> NY");
    assert_string_equal(marked("I \xE2\x99\xA5 NY", "i \xE2\x99\xA5 ny"),
                        "<mark>I</mark> <mark>\xE2\x99\xA5</mark> <mark>NY</mark>");
    assert_true(match.adjacent && match.equals);
    assert_string_equal(marked("love \xE2\x9D\xA4\xEF\xB8\x8F", "\xE2\x99\xA5"),
                        "love <mark>\xE2\x9D\xA4\xEF\xB8\x8F</mark>");
    assert_string_equal(marked("\xE2\x99\xA5", "\xE2\x99\xA5"), "<mark>\xE2\x99\xA5</mark>");
    /* words around a symbol are adjacent for a query without the symbol */
    assert_string_equal(marked("Nike\xC2\xAE Air", "\"nike air\""),
                        "<mark>Nike\xC2\xAE Air</mark>");
    marked("Nike\xC2\xAE Air", "nike air");
    assert_true(match.adjacent && match.equals);
}

/* The prefilter skips most texts, but never a text with a match. */
TEST_WITH(texts_are_not_passed_over, setup, teardown)
{
    assert_string_equal(marked("order a-b1234 now", "ab1234"), "order <mark>a-b1234</mark> now");
    assert_string_equal(marked("a table\nCHAIRS", "chair"), "a table <mark>CHAIRS</mark>");
    assert_string_equal(marked("(chair)", "chair"), "(<mark>chair</mark>)");
    assert_string_equal(marked("of oak", "of"), "<mark>of</mark> oak");
    assert_string_equal(marked("oak o", "o"), "<mark>oak</mark> <mark>o</mark>");
    assert_string_equal(marked("cha ch chais", "chair"), "");
    assert_string_equal(marked("\xC3\x87hair", "chair"), "<mark>\xC3\x87hair</mark>");
    assert_string_equal(marked("2024 1234", "123"), "2024 <mark>1234</mark>");
}

TEST_WITH(text_is_made_safe, setup, teardown)
{
    assert_string_equal(
        marked("<script>alert(\"x\")</script> & 'blue'\n", "blue"),
        "&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt; &amp; &#39;<mark>blue</mark>&#39; ");
}

TEST_WITH(phrases_stand_whole, setup, teardown)
{
    assert_string_equal(marked("a blue chair, blue", "\"blue chair\""),
                        "a <mark>blue chair</mark>, blue");
    assert_int_equal(match.words, 1);
    assert_string_equal(marked("chair blue", "\"blue chair\""), "");
    assert_string_equal(marked("blue big chair", "\"blue chair\""), "");
    assert_string_equal(marked("to be to be or", "\"to be or\""), "to be <mark>to be or</mark>");
    assert_string_equal(marked("so AB-1234 is", "\"AB-1234 is\""), "so <mark>AB-1234 is</mark>");
    /* two beginnings of the phrase, and its end as far from the second as the second from the
     * first */
    assert_string_equal(marked("blue and blue and chair", "\"blue chair\""), "");
    assert_string_equal(marked("blue x blue x y chair", "\"blue chair\""), "");
    assert_string_equal(marked("12 x 12.50 y", "\"12.50 y\""), "12 x <mark>12.50 y</mark>");
    assert_string_equal(marked("12 50 12 z 50 y", "\"12.50 y\""), "");
}

TEST_WITH(fields_are_kept_apart, setup, teardown)
{
    assert_string_equal(marked_in("body", "blue chair", "title:blue chair"),
                        "blue <mark>chair</mark>");
    assert_int_equal(match.words, 2);
    assert_string_equal(marked_in("title", "blue chair", "title:blue chair"),
                        "<mark>blue</mark> <mark>chair</mark>");
    assert_string_equal(marked("blue chair", "chair -blue"), "blue <mark>chair</mark>");
}

TEST_WITH(equal_and_adjacent_are_told, setup, teardown)
{
    static const struct {
        const char *text;
        const char *q;
        bool equals;
        bool adjacent;
    } cases[] = {
        {"Blue Chair", "blue chair", true, true},
        {"Blue Chairs", "blue chair", false, true},
        {"the blue chair", "blue chair", false, true},
        {"the chair, blue", "blue chair", false, false},
        {"blue big chair", "blue chair", false, false},
        {"(AB-1234)", "ab-1234", true, true},
        {"blue chair blue", "blue chair", false, true},
        {"\xE6\x9D\xB1\xE4\xBA\xAC", "\xE6\x9D\xB1\xE4\xBA\xAC", true, true},
        {"\xE6\x9D\xB1\xE4\xBA\xAC x", "\xE6\x9D\xB1\xE4\xBA\xAC x", true, true},
        {"x \xE6\x9D\xB1 \xE4\xBA\xAC", "\xE6\x9D\xB1\xE4\xBA\xAC", false, false},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        marked(cases[i].text, cases[i].q);
        if (match.equals != cases[i].equals || match.adjacent != cases[i].adjacent)
            fail_msg("%s in %s: %d %d", cases[i].q, cases[i].text, match.equals, match.adjacent);
    }
}

TEST_WITH(expansions_are_marked, setup, teardown)
{
    struct search_query query;
    struct strbuf line;

    strbuf_init(&line, arena, 4096);
    search_query_parse(arena, STR("chiar sofa"), NULL, &query);
    struct highlighter *highlighter = highlight_new(arena, &query);
    highlight_add(highlighter, 0, STR("chair"));
    highlight_add(highlighter, 1, STR("couch"));
    match = highlight_field(highlighter, STR("title"), STR("a Chair or a couch"), &line);
    assert_string_equal(strbuf_cstring(&line), "a <mark>Chair</mark> or a <mark>couch</mark>");
    assert_int_equal(match.words, 3);
}

TEST_WITH(long_texts_give_the_best_window, setup, teardown)
{
    struct strbuf text;

    strbuf_init(&text, arena, 1 << 20);
    for (int i = 0; i < 20000; i++)
        strbuf_printf(&text,
                      "%s ",
                      i == 400     ? "blue"
                      : i == 15000 ? "chair"
                      : i == 15002 ? "blue"
                                   : "word");
    const char *snippet = marked(strbuf_cstring(&text), "blue chair");
    assert_non_null(strstr(snippet, "<mark>chair</mark> word <mark>blue</mark>"));
    assert_memory_equal(snippet, "\xE2\x80\xA6word", 7);
    assert_memory_equal(snippet + strlen(snippet) - 7, "word\xE2\x80\xA6", 7);
    size_t words = 0;
    for (const char *c = snippet; *c; c++)
        words += *c == ' ';
    assert_int_equal(words, 29);
    /* a snippet at the end of the text, and a text that is one long word */
    snippet =
        marked(arena_cstr(arena, arena_printf(arena, "%.*s blue", 5000, text.ptr + 2500)), "blue");
    assert_memory_equal(snippet + strlen(snippet) - 17, "<mark>blue</mark>", 17);
    memset(text.ptr, 'x', text.len);
    snippet = marked(strbuf_cstring(&text), "xxx");
    assert_in_range(strlen(snippet), HIGHLIGHT_BYTES, HIGHLIGHT_BYTES + 20);
}

TEST_WITH(any_text_and_query_are_safe, setup, teardown)
{
    static const char *const pieces[] = {"blue",
                                         "chair",
                                         " ",
                                         "-",
                                         "\"",
                                         "*",
                                         "AB-1234",
                                         ":",
                                         "title:",
                                         "\xE6\x9D\xB1",
                                         "\xE4\xBA\xAC",
                                         "\xC3\xA9",
                                         "\xCC\x81",
                                         ".",
                                         "12",
                                         ",",
                                         "\xFF",
                                         "\xE0\xB8\x81",
                                         "<",
                                         "x",
                                         "+",
                                         "#",
                                         "\xE2\x99\xA5",
                                         "\xF0\x9F\x87\xA9",
                                         "\xEF\xB8\x8F"};
    uint64_t seed = 88172645463325252;

    for (int round = 0; round < 4000; round++) {
        struct strbuf text[2];
        for (size_t t = 0; t < 2; t++) {
            strbuf_init(&text[t], arena, 1 << 16);
            for (size_t i = 0, n = t ? 1 + (seed >> 40) % 12 : (seed >> 40) % 200; i < n; i++) {
                seed = seed * 6364136223846793005 + 1442695040888963407;
                strbuf_cstr(&text[t], pieces[(seed >> 33) % ARRAY_LEN(pieces)]);
            }
        }
        struct search_query query;
        struct strbuf line;
        search_query_parse(arena, strbuf_view(&text[1]), &fields, &query);
        strbuf_init(&line, arena, 1 << 16);
        highlight_field(highlight_new(arena, &query), STR("title"), strbuf_view(&text[0]), &line);
        assert_false(line.overflow);
        arena_reset(arena);
    }
}
