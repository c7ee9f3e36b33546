/*
 * "query\ntext": any parsed query is within the bounds, and a text with highlights is the text,
 * escaped, with closed marks.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/panic.h"
#include "search/highlight.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_letter_name(const void *arg, struct str name)
{
    (void)arg;
    return name.len == 1;
}

static void check_query(const struct search_query *query)
{
    MUST(query->count <= SEARCH_WORDS);
    for (size_t i = 0; i < query->count; i++) {
        const struct search_word *word = &query->words[i];
        MUST(word->part_count <= SEARCH_PARTS && word->typos <= 2);
        MUST((word->kind == SEARCH_WORD || word->kind == SEARCH_CODE) == (word->term.len > 0));
        MUST((word->kind == SEARCH_WORD) == (word->part_count == 0));
    }
}

static void check_snippet(struct str snippet)
{
    bool open = false;

    for (size_t i = 0; i < snippet.len; i++) {
        if (snippet.ptr[i] != '<')
            continue;
        struct str tag = {snippet.ptr + i, snippet.len - i};
        MUST(str_starts(tag, open ? STR("</mark>") : STR("<mark>")));
        open = !open;
    }
    MUST(!open);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_new(0);
    struct str text = {(const char *)data, size};
    struct str q = str_split(&text, '\n');
    const struct search_fields fields = {.is_field = is_letter_name};
    struct search_query query;

    search_query_parse(arena, q, &fields, &query);
    check_query(&query);
    if (text.ptr) {
        struct strbuf snippet;
        strbuf_init(&snippet, arena, 1 << 20);
        struct highlighter *highlighter = highlight_new(arena, &query);
        struct highlight_match match = highlight_field(highlighter, STR("a"), text, &snippet);
        MUST(match.any == (snippet.len > 0) && !snippet.overflow);
        MUST(match.words == 0 || match.any);
        check_snippet(strbuf_view(&snippet));
        struct highlight_match order = highlight_order(highlighter, STR("a"), text);
        MUST(order.equals == match.equals && (!order.adjacent || match.adjacent));
    }
    arena_free(arena);
    return 0;
}
