/* What the search-indexer keeps in memory: words, posting lists of a rebuild, sums of lists. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "base/arena.h"

/* NOLINTBEGIN(bugprone-suspicious-include): a program has no library */
#include "../../services/search-indexer/postings.c"
#include "../../services/search-indexer/tally.c"
#include "../../services/search-indexer/terms.c"
/* NOLINTEND(bugprone-suspicious-include) */

/* --- words --- */

static void test_words(void **state)
{
    struct arena *arena = arena_new(0);
    struct index_terms terms;

    (void)state;
    terms_init(&terms, arena);
    for (int round = 0; round < 2; round++)
        for (uint32_t i = 0; i < 20000; i++) {
            char text[32];
            int len = snprintf(text, sizeof(text), "word%u", i * 7919);
            assert_int_equal(terms_put(&terms, (struct str){text, (size_t)len}), i);
        }
    assert_int_equal(terms.count, 20000);
    assert_int_equal(terms_put(&terms, STR("")), 20000);
    assert_int_equal(terms_put(&terms, STR("eight888")), 20001);
    assert_int_equal(terms_put(&terms, STR("eight8889")), 20002);
    assert_null(terms_find(&terms, STR("eight88")));
    assert_ptr_equal(terms_find(&terms, STR("eight888")), &terms.items[20001]);
    for (size_t i = 0; i < terms.count; i += 2)
        terms.items[i].id = (int32_t)(1000000 - i);
    terms_index(&terms);
    assert_ptr_equal(terms_by_id(&terms, 1000000 - 4000), &terms.items[4000]);
    assert_null(terms_by_id(&terms, 1000000 - 4001));
    assert_null(terms_by_id(&terms, 0));
    arena_free(arena);
}

/* --- posting lists --- */

enum { TERMS = 3000, RECORDS = 2000 };

/* Whether a record has a term, by arithmetic: from a term that all have to one that few have. */
static bool has_term(int64_t id, int32_t term)
{
    return id % (1 + term % 97) == 0;
}

static void fill_postings(struct postings *postings, int64_t step)
{
    static struct forward_pair pairs[TERMS];

    for (int64_t id = 1; id <= RECORDS; id++) {
        struct forward_list list = {.items = pairs};
        for (int32_t term = 1; term <= TERMS; term++)
            if (has_term(id, term))
                pairs[list.count++] = (struct forward_pair){term, (int16_t)(term % 5)};
        postings_add(postings, id * step, &list);
    }
}

static void check_postings(int64_t step)
{
    struct postings *postings = postings_new();
    struct posting_list list;
    int32_t term = 0;

    fill_postings(postings, step);
    assert_true(postings_bytes(postings) > 0);
    postings_sort(postings);
    while (postings_next(postings, &list)) {
        int32_t n = 0;
        assert_int_equal(list.term, ++term);
        assert_int_equal(list.field, term % 5);
        for (int64_t id = 1; id <= RECORDS; id++)
            if (has_term(id, term))
                assert_int_equal(list.ids[n++], id * step);
        assert_int_equal(list.n, n);
    }
    assert_int_equal(term, TERMS);
    assert_false(postings_next(postings, &list));
    postings_free(postings);
}

static void test_postings(void **state)
{
    (void)state;
    check_postings(1);
    check_postings(INT64_C(1) << 40);
    postings_free(NULL);
}

/* --- sums --- */

static void test_sums(void **state)
{
    struct tally *tally = tally_new();
    struct tally_list lists[4];

    (void)state;
    for (int32_t term = 1; term <= 9000; term++)
        for (int64_t id = 1; id <= 5; id++)
            tally_add(tally, term, (int16_t)(term % 3), id * term);
    for (int32_t term = 9000; term >= 1; term--)
        for (int64_t id = 5; id >= 1; id--)
            tally_take(tally, term, (int16_t)(term % 3), id * term);
    assert_int_equal(tally_differ(tally, lists, 4), 0);
    /* As many ids, but others. */
    tally_add(tally, 7, 1, 100);
    tally_take(tally, 7, 1, 101);
    assert_int_equal(tally_differ(tally, lists, 4), 1);
    assert_int_equal(lists[0].term, 7);
    assert_int_equal(lists[0].field, 1);
    tally_take(tally, 8, 2, 1);
    tally_spoil(tally, 10000, 0);
    assert_int_equal(tally_differ(tally, lists, 1), 3);
    tally_free(tally);
    tally_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_postings),
        cmocka_unit_test(test_sums),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
