/* Parts of the search-indexer that work in memory: sizes of batches, words, the word cache,
 * posting lists of a rebuild, sums of lists. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit.h"

#include <stdio.h>

#include "base/arena.h"
#include "indexer_claim_sql.h"
#include "search/tokens.h"

/* NOLINTBEGIN(bugprone-suspicious-include): a program has no library */
#include "../../services/search-indexer/batch_size.c"
#include "../../services/search-indexer/list_sums.c"
#include "../../services/search-indexer/postings.c"
#include "../../services/search-indexer/terms.c"
#include "../../services/search-indexer/word_cache.c"
/* NOLINTEND(bugprone-suspicious-include) */

/* --- sizes of batches --- */

/* Returns the size of a batch after many batches that each took `fixed_us`, and `each_us` for
 * each record. */
static size_t paced(size_t records, size_t words, int64_t fixed_us, int64_t each_us)
{
    struct batch_limits pace = {.records = records, .most = 1000, .target_ms = 400};

    for (int i = 0; i < 50; i++) {
        int64_t ms = (fixed_us + each_us * (int64_t)pace.records) / 1000;
        const struct batch_timing took = {pace.records, pace.records * words, ms};
        size_t next = batch_size_next(&pace, &took);
        assert_in_range(next, 10, 1000);
        pace.records = next;
    }
    return pace.records;
}

TEST(test_pace)
{
    const struct batch_limits pace = {.records = 400, .most = 1000, .target_ms = 400};

    assert_int_equal(paced(200, 70, 0, 500), 800);
    assert_int_equal(paced(200, 70, 0, 10), 1000);
    /* neither a fixed cost nor a busy machine makes batches small */
    assert_int_equal(paced(1000, 70, 390000, 500), 400);
    assert_int_equal(paced(10, 70, 800000, 5000), 400);
    /* large records do make batches small */
    assert_int_equal(paced(1000, 30000, 0, 400000), 10);
    assert_int_equal(paced(10, 1000, 0, 10000), 40);
    /* one step, and a batch that was not full */
    assert_int_equal(batch_size_next(&pace, &(struct batch_timing){400, 28000, 1}), 800);
    assert_int_equal(batch_size_next(&pace, &(struct batch_timing){400, 28000, 60000}), 400);
    assert_int_equal(batch_size_next(&pace, &(struct batch_timing){1, 70, 1}), 400);
    assert_int_equal(batch_size_next(&pace, &(struct batch_timing){1, 0, 0}), 400);
    assert_int_equal(batch_size_next(&pace, &(struct batch_timing){1, 70, 500}), 400);
}

/* --- words --- */

TEST(test_words)
{
    struct arena *arena = arena_new(0);
    struct index_terms terms;

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

/* --- cached words --- */

/* Fills `terms` with `count` words from number `first` on, with ids when the words are `known`. */
static void
fill_words(struct index_terms *terms, struct arena *arena, int first, int count, bool known)
{
    terms_init(terms, arena);
    for (int i = first; i < first + count; i++) {
        char text[32];
        int len = snprintf(text, sizeof(text), "word%d", i);
        uint32_t number = terms_put(terms, (struct str){text, (size_t)len});
        struct word *word = &terms->items[number];
        if (known)
            *word = (struct word){.term = word->term, .id = i + 1, .df = 2 * i, .part = i % 7};
    }
}

static size_t known_words(struct word_cache *kept, int first, int count)
{
    struct arena *arena = arena_new(0);
    struct index_terms terms;
    size_t known = 0;

    fill_words(&terms, arena, first, count, false);
    word_cache_fill(kept, &terms);
    for (size_t i = 0; i < terms.count; i++) {
        const struct word *word = &terms.items[i];
        int number = first + (int)i;
        if (word->id == 0)
            continue;
        assert_int_equal(word->id, number + 1);
        assert_int_equal(word->df, 2 * number);
        assert_int_equal(word->part, number % 7);
        known++;
    }
    arena_free(arena);
    return known;
}

static void store_words(struct word_cache *kept, int first, int count)
{
    struct arena *arena = arena_new(0);
    struct index_terms terms;

    fill_words(&terms, arena, first, count, true);
    word_cache_store(kept, &terms);
    arena_free(arena);
}

TEST(test_kept_words)
{
    struct word_cache *kept = word_cache_acquire(7, 41);

    assert_int_equal(word_cache_batch_size(kept), 0);
    assert_int_equal(known_words(kept, 0, 10), 0);
    store_words(kept, 0, 1000);
    assert_int_equal(known_words(kept, 500, 1000), 500);
    assert_null(word_cache_acquire(7, 42)); /* the previous run has not ended */
    word_cache_release(kept, true, 321);
    word_cache_sweep();

    kept = word_cache_acquire(7, 42);
    assert_int_equal(word_cache_batch_size(kept), 321);
    assert_int_equal(known_words(kept, 0, 1000), 1000);
    word_cache_clear(kept);
    assert_int_equal(known_words(kept, 0, 1000), 0);
    store_words(kept, 0, 10);
    word_cache_release(kept, true, 5);

    kept = word_cache_acquire(7, 44); /* another process had the lease */
    assert_int_equal(known_words(kept, 0, 10), 0);
    assert_int_equal(word_cache_batch_size(kept), 0);
    store_words(kept, 0, 10);
    word_cache_release(kept, false, 5);
    kept = word_cache_acquire(7, 45);
    assert_int_equal(known_words(kept, 0, 10), 0);
    word_cache_release(kept, false, 0);
}

/* A word that occurs again stays cached, a word that does not is dropped, and the cache is
 * bounded. */
TEST(test_kept_words_are_bounded)
{
    struct word_cache *kept = word_cache_acquire(8, 1);

    for (int round = 0; round < 60; round++) {
        store_words(kept, 0, 100);
        store_words(kept, 1000 + round * 5000, 5000);
        assert_true(arena_held_bytes(kept->young.arena) < WORD_CACHE_BYTES);
        assert_int_equal(known_words(kept, 0, 100), 100);
    }
    assert_int_equal(known_words(kept, 1000, 100), 0);
    assert_int_equal(known_words(kept, 1000 + 59 * 5000, 5000), 5000);
    word_cache_release(kept, false, 0);
}

TEST(test_kept_of_few)
{
    struct word_cache *running[WORD_CACHES];

    for (int64_t i = 0; i < WORD_CACHES; i++)
        running[i] = word_cache_acquire(100 + i, 1);
    assert_null(word_cache_acquire(99, 1));
    word_cache_release(NULL, true, 1);
    assert_int_equal(word_cache_batch_size(NULL), 0);
    store_words(running[1], 0, 10);
    word_cache_release(running[1], true, 9);
    assert_ptr_equal(word_cache_acquire(99, 1), running[1]); /* its project is between two runs */
    assert_int_equal(known_words(running[1], 0, 10), 0);
    for (size_t i = 0; i < WORD_CACHES; i++)
        word_cache_release(running[i], true, 9);
    for (size_t i = 0; i < WORD_CACHES; i++)
        caches[i].ended_ms -= WORD_CACHE_IDLE_MS + 1;
    word_cache_sweep();
    for (size_t i = 0; i < WORD_CACHES; i++)
        assert_int_equal(caches[i].number, 0);
}

/* --- posting lists --- */

enum { TERMS = 3000, RECORDS = 2000 };

/* Whether a record has a term, by arithmetic. Some terms are in every record, some in one of 97. */
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

TEST(test_postings)
{
    check_postings(1);
    check_postings(INT64_C(1) << 40);
    postings_free(NULL);
}

/* --- sums --- */

TEST(test_sums)
{
    struct list_sums *tally = list_sums_new();
    struct list_sums_key lists[4];

    for (int32_t term = 1; term <= 9000; term++)
        for (int64_t id = 1; id <= 5; id++)
            list_sums_add(tally, term, (int16_t)(term % 3), id * term);
    for (int32_t term = 9000; term >= 1; term--)
        for (int64_t id = 5; id >= 1; id--)
            list_sums_subtract(tally, term, (int16_t)(term % 3), id * term);
    assert_int_equal(list_sums_differences(tally, lists, 4), 0);
    /* As many ids, but a different one. */
    list_sums_add(tally, 7, 1, 100);
    list_sums_subtract(tally, 7, 1, 101);
    assert_int_equal(list_sums_differences(tally, lists, 4), 1);
    assert_int_equal(lists[0].term, 7);
    assert_int_equal(lists[0].field, 1);
    list_sums_subtract(tally, 8, 2, 1);
    list_sums_mark_different(tally, 10000, 0);
    assert_int_equal(list_sums_differences(tally, lists, 1), 3);
    list_sums_free(tally);
    list_sums_free(NULL);
}

/* --- versions --- */

/* The statements claim a project whose index has another version of terms. */
TEST(test_claims_know_the_version_of_terms)
{
    char version[32];

    snprintf(version, sizeof(version), " <> '%d' ", TOKENS_VERSION);
    assert_non_null(strstr(SQL_INDEXES_CLAIM.text, version));
    assert_non_null(strstr(SQL_INDEXES_LOOK.text, version));
}
