/* The words of a project in rows, prefixes, typos compared with a plain table of distances,
 * forward lists, words of principals. */
#include "unit.h"

#include "search_test.h"

#include <stdio.h>

#include "base/utf8.h"
#include "search/forward.h"
#include "search/lexicon.h"
#include "search/principal.h"
#include "search/tokens.h"
#include "search/typo_private.h"

/* --- typos ------------------------------------------------------------------------------------ */

/* Returns the optimal string alignment distance, computed with the full table. */
static unsigned plain_distance(struct str a, struct str b)
{
    static unsigned table[70][70];
    uint32_t left[70];
    uint32_t right[70];
    size_t n = 0;
    size_t m = 0;

    for (size_t at = 0; at < a.len;)
        at += utf8_decode(a, at, &left[n++]);
    for (size_t at = 0; at < b.len;)
        at += utf8_decode(b, at, &right[m++]);
    for (unsigned i = 0; i <= n; i++)
        for (unsigned j = 0; j <= m; j++) {
            if (i == 0 || j == 0) {
                table[i][j] = i + j;
                continue;
            }
            unsigned best = table[i - 1][j - 1] + (left[i - 1] != right[j - 1]);
            best = table[i - 1][j] + 1 < best ? table[i - 1][j] + 1 : best;
            best = table[i][j - 1] + 1 < best ? table[i][j - 1] + 1 : best;
            if (i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1])
                best = table[i - 2][j - 2] + 1 < best ? table[i - 2][j - 2] + 1 : best;
            table[i][j] = best;
        }
    return table[n][m];
}

static struct str some_word(char *room, size_t most)
{
    static const char *const letters[] = {"a", "b", "c", "ж", "я", "é"};
    size_t len = 0;

    for (size_t i = 0, n = 1 + number(most); i < n; i++) {
        for (const char *at = letters[number(number(2) ? 3 : 6)]; *at; at++)
            room[len++] = *at;
    }
    return (struct str){room, len};
}

TEST(distances_are_those_of_the_table)
{
    struct typo_word word;
    char left[128];
    char right[128];

    for (int round = 0; round < 40000; round++) {
        size_t most = round % 10 == 0 ? 32 : 7;
        struct str a = some_word(left, most);
        struct str b = some_word(right, most);
        unsigned expected = plain_distance(a, b);
        unsigned bound = (unsigned)number(4);
        typo_init(&word, a);
        assert_int_equal(typo_distance(&word, b, 100), expected);
        assert_int_equal(typo_distance(&word, b, bound), expected > bound ? bound + 1 : expected);
    }
    memset(left, 'a', 64);
    typo_init(&word, (struct str){left, 64});
    assert_int_equal(typo_distance(&word, (struct str){left, 63}, 2), 1);
    typo_init(&word, STR(""));
    assert_int_equal(typo_distance(&word, STR("ab"), 2), 2);
}

TEST(typos_are_excused_by_length)
{
    assert_int_equal(typo_tolerated(STR("blue")), 0);
    assert_int_equal(typo_tolerated(STR("chair")), 1);
    assert_int_equal(typo_tolerated(STR("astrolab")), 1);
    assert_int_equal(typo_tolerated(STR("astrolabe")), 2);
    assert_int_equal(typo_tolerated(STR("книга")), 1);
    assert_int_equal(typo_tolerated(STR("iphone15")), 0);
    assert_int_equal(typo_tolerated(STR("東京")), 0);
}

/* --- rows ------------------------------------------------------------------------------------- */

TEST(weights_grow_with_documents)
{
    assert_int_equal(lexicon_weight(0), 0);
    assert_int_equal(lexicon_weight(1), 1);
    assert_int_equal(lexicon_weight(2), 2);
    assert_int_equal(lexicon_weight(3), 3);
    assert_int_equal(lexicon_weight(4), 4);
    assert_int_equal(lexicon_weight(5), 4);
    assert_int_equal(lexicon_weight(6), 5);
    for (int64_t df = 1; df < 100000; df++)
        assert_in_range(lexicon_weight(df + 1) - lexicon_weight(df), 0, 1);
    assert_true(lexicon_weight(INT64_MAX) < 128);
}

TEST_WITH(keys_are_first_letter_and_length, setup, teardown)
{
    struct str key;
    struct str keys[5];

    assert_true(lexicon_key(arena, STR("chair"), &key));
    assert_true(str_is(key, "c05"));
    assert_true(lexicon_key(arena, STR("жук"), &key));
    assert_true(str_is(key, "ж03"));
    assert_false(lexicon_key(arena, STR("ab1234"), &key));
    assert_false(lexicon_key(arena, STR("東京"), &key));
    assert_false(lexicon_key(arena, STR("@o17"), &key));
    assert_false(lexicon_key(arena, STR(""), &key));
    assert_int_equal(lexicon_keys(arena, STR("chair"), 2, keys), 5);
    assert_true(str_is(keys[0], "c03") && str_is(keys[4], "c07"));
    assert_int_equal(lexicon_keys(arena, STR("a"), 2, keys), 3);
    assert_true(str_is(keys[0], "a01"));
    assert_int_equal(lexicon_keys(arena, STR("x1"), 1, keys), 0);
    assert_true(str_is(lexicon_prefix_key(arena, STR("br")), "*br"));
}

static struct lexicon_term term(const char *text, int32_t id, uint8_t weight)
{
    return (struct lexicon_term){str_from(text), id, weight};
}

TEST_WITH(rows_hold_their_terms, setup, teardown)
{
    struct str row = STR_NONE;
    struct lexicon_term there;
    char text[16];
    bool found;
    int32_t id = 0;

    for (int rc = 0; rc == 0;) {
        snprintf(text, sizeof(text), "w%08d", ++id);
        rc = lexicon_put(arena, row, term(text, id, (uint8_t)(id % 40)), &row);
        assert_true(rc == 0 || rc == LEXICON_FULL);
    }
    assert_int_equal(id, LEXICON_BYTES / (6 + 9) + 1);
    assert_true(lexicon_valid(row));
    assert_int_equal(lexicon_put(arena, row, term("w00000007", 7, 33), &row), 0);
    assert_int_equal(lexicon_find(row, 7, &there, &found), 0);
    assert_true(found && there.weight == 33 && str_is(there.term, "w00000007"));
    for (int32_t i = 1; i < id; i += 2)
        assert_int_equal(lexicon_remove(arena, row, i, &row), 0);
    assert_int_equal(lexicon_find(row, 7, &there, &found), 0);
    assert_false(found);
    int rc;
    size_t count = 0;
    for (size_t at = 0; lexicon_next(row, &at, &there, &rc); count++)
        assert_int_equal(there.id, 2 * count + 2);
    assert_int_equal(count, (size_t)(id - 1) / 2);
    assert_int_equal(lexicon_remove(arena, row, 99999, &row), 0);
}

TEST_WITH(many_terms_take_rows_as_need_be, setup, teardown)
{
    struct lexicon_term *terms = arena_alloc(arena, 5000 * sizeof(*terms));
    struct str *rows;

    for (int32_t i = 0; i < 5000; i++)
        terms[i] = (struct lexicon_term){arena_printf(arena, "word%d", i), i + 1, 1};
    size_t count = lexicon_build(arena, terms, 5000, &rows);
    assert_in_range(count, 35, 40);
    int32_t seen = 0;
    for (size_t r = 0; r < count; r++) {
        struct lexicon_term there;
        int rc;
        assert_true(lexicon_valid(rows[r]));
        for (size_t at = 0; lexicon_next(rows[r], &at, &there, &rc);)
            assert_int_equal(there.id, ++seen);
    }
    assert_int_equal(seen, 5000);
    assert_int_equal(lexicon_build(arena, terms, 0, &rows), 0);
}

TEST_WITH(damaged_rows_are_refused, setup, teardown)
{
    struct lexicon_term terms[20];
    struct lexicon_term there;
    struct lexicon_best best[2];
    struct str *rows;

    for (int32_t i = 0; i < 20; i++)
        terms[i] = (struct lexicon_term){arena_printf(arena, "chair%c", 'a' + i), i + 1, 3};
    assert_int_equal(lexicon_build(arena, terms, 20, &rows), 1);
    struct str row = rows[0];
    size_t refused = 0;
    for (size_t i = 0; i < row.len; i++)
        for (int bit = 0; bit < 8; bit++) {
            struct arena *own = arena_new(0);
            char *copy = memcpy(malloc(row.len), row.ptr, row.len);
            struct str damaged = {copy, row.len};
            struct str ret;
            bool found;
            copy[i] = (char)(copy[i] ^ 1 << bit);
            int rc = lexicon_find(damaged, 30, &there, &found);
            assert_true(rc == 0 || rc == LEXICON_BAD);
            refused += rc == LEXICON_BAD;
            lexicon_best_init(&best[0], own, 4);
            lexicon_best_init(&best[1], own, 4);
            assert_int_equal(lexicon_scan(damaged, STR("chairs"), 2, best), rc);
            assert_int_equal(lexicon_scan_prefix(damaged, STR("ch"), best), rc);
            assert_int_equal(lexicon_remove(own, damaged, 31, &ret), rc);
            assert_true(!lexicon_valid(damaged) || rc == 0);
            free(copy);
            arena_free(own);
        }
    assert_true(refused > 100);
    for (size_t len = 1; len < row.len; len++)
        assert_int_equal(lexicon_valid((struct str){row.ptr, len}), len % 12 == 0);
}

/* --- expansions of a word
 * ------------------------------------------------------------------------ */

TEST_WITH(the_commonest_are_kept, setup, teardown)
{
    for (int round = 0; round < 200; round++) {
        static struct lexicon_term all[300];
        struct lexicon_best best;
        struct lexicon_best every;
        size_t max = number(40);
        size_t count = number(300);
        lexicon_best_init(&best, arena, max);
        lexicon_best_init(&every, arena, 300);
        for (size_t i = 0; i < count; i++) {
            all[i] = (struct lexicon_term){
                arena_printf(arena, "t%lu", number(1000000)), (int32_t)i + 1, (uint8_t)number(9)};
            lexicon_offer(&best, all[i]);
            lexicon_offer(&every, all[i]);
        }
        lexicon_sort(&best);
        lexicon_sort(&every);
        assert_int_equal(best.count, count < max ? count : max);
        assert_int_equal(best.more, count > max);
        for (size_t i = 0; i < best.count; i++) {
            assert_int_equal(best.items[i].weight, every.items[i].weight);
            assert_true(str_eq(best.items[i].term, every.items[i].term));
        }
        arena_reset(arena);
    }
}

TEST_WITH(typos_and_prefixes_are_found_in_rows, setup, teardown)
{
    const struct lexicon_term terms[] = {term("chair", 1, 9),
                                         term("chairs", 2, 5),
                                         term("chain", 3, 7),
                                         term("chiar", 4, 1),
                                         term("choir", 5, 3),
                                         term("cheer", 6, 2),
                                         term("cha", 7, 20)};
    struct lexicon_best best[2];
    struct str *rows;

    lexicon_build(arena, terms, ARRAY_LEN(terms), &rows);
    lexicon_best_init(&best[0], arena, 16);
    lexicon_best_init(&best[1], arena, 16);
    assert_int_equal(lexicon_scan(rows[0], STR("chair"), 2, best), 0);
    lexicon_sort(&best[0]);
    lexicon_sort(&best[1]);
    assert_int_equal(best[0].count, 4);
    assert_int_equal(best[0].items[0].id, 3);
    assert_int_equal(best[0].items[1].id, 2);
    assert_int_equal(best[0].items[2].id, 5);
    assert_int_equal(best[0].items[3].id, 4);
    assert_int_equal(best[1].count, 2); /* cha, cheer */
    lexicon_best_init(&best[0], arena, 2);
    assert_int_equal(lexicon_scan_prefix(rows[0], STR("cha"), best), 0);
    lexicon_sort(&best[0]);
    assert_int_equal(best[0].items[0].id, 1);
    assert_int_equal(best[0].items[1].id, 3);
    assert_true(best[0].more);
}

TEST_WITH(first_letters_are_tried, setup, teardown)
{
    struct str firsts[LEXICON_FIRST_LETTERS];
    struct typo_word word;

    size_t count = lexicon_other_first_letters(arena, STR("walnut"), firsts);
    assert_int_equal(count, 25 + 26 + 2);
    typo_init(&word, STR("walnut"));
    bool valnut = false;
    for (size_t i = 0; i < count; i++) {
        assert_in_range(typo_distance(&word, firsts[i], 2), 1, 1);
        valnut = valnut || str_is(firsts[i], "valnut");
    }
    assert_true(valnut);
    assert_int_equal(lexicon_other_first_letters(arena, STR("книга"), firsts), 31 + 32 + 2);
    assert_int_equal(lexicon_other_first_letters(arena, STR("東京"), firsts), 0);
    assert_int_equal(lexicon_other_first_letters(arena, STR("a"), firsts), 25 + 26);
    assert_int_equal(lexicon_other_first_letters(arena, STR("א"), firsts), 0);
}

/* --- forward lists and principals ------------------------------------------------------------- */

static void assert_same_list(const struct forward_list *a, const struct forward_list *b)
{
    assert_int_equal(a->count, b->count);
    for (size_t i = 0; i < a->count; i++)
        assert_true(a->items[i].term == b->items[i].term && a->items[i].field == b->items[i].field);
}

/* Returns random sorted pairs, and checks that their bytes decode to the same pairs. */
static struct forward_list some_list(uint32_t terms, uint32_t fields)
{
    struct forward_list list = {.items = arena_alloc(arena, 401 * sizeof(struct forward_pair))};
    struct forward_list back;

    list.count = number(400);
    for (size_t i = 0; i < list.count; i++)
        list.items[i] = (struct forward_pair){1 + (int32_t)number(terms), (int16_t)number(fields)};
    list.count = forward_sort(list.items, list.count);
    assert_int_equal(forward_decode(arena, forward_encode(arena, &list), &back), 0);
    assert_same_list(&back, &list);
    return list;
}

/* Returns before - gone + added. */
static struct forward_list changed_list(const struct forward_list *before,
                                        const struct forward_list *added,
                                        const struct forward_list *gone)
{
    struct forward_list now = {.items = arena_alloc(arena, 1000 * sizeof(struct forward_pair))};

    for (size_t i = 0, g = 0; i < before->count; i++) {
        const struct forward_pair *pair = &before->items[i];
        bool goes = g < gone->count && gone->items[g].term == pair->term &&
                    gone->items[g].field == pair->field;
        g += goes;
        if (!goes)
            now.items[now.count++] = *pair;
    }
    for (size_t i = 0; i < added->count; i++)
        now.items[now.count++] = added->items[i];
    assert_int_equal(forward_sort(now.items, now.count), now.count); /* no pair is there twice */
    return now;
}

TEST_WITH(forward_lists_come_back_and_differ, setup, teardown)
{
    for (int round = 0; round < 500; round++) {
        uint32_t terms = round % 2 ? 300 : INT32_MAX;
        uint32_t fields = round % 3 ? 6 : 32768;
        struct forward_list before = some_list(terms, fields);
        struct forward_list now = some_list(terms, fields);
        struct forward_list added;
        struct forward_list gone;
        forward_diff(arena, &before, &now, &added, &gone);
        struct forward_list changed = changed_list(&before, &added, &gone);
        assert_same_list(&changed, &now);
        arena_reset(arena);
    }
}

TEST_WITH(damaged_forward_lists_are_refused, setup, teardown)
{
    struct forward_list list = {.items = arena_alloc(arena, 60 * sizeof(struct forward_pair))};

    for (int32_t i = 0; i < 60; i++)
        list.items[list.count++] =
            (struct forward_pair){1 + (int32_t)number(100000), (int16_t)(i / 15)};
    list.count = forward_sort(list.items, list.count);
    struct str bytes = forward_encode(arena, &list);
    for (size_t i = 0; i < bytes.len; i++)
        for (int bit = 0; bit < 9; bit++) {
            struct arena *own = arena_new(0);
            struct forward_list back;
            char *copy = memcpy(malloc(bytes.len), bytes.ptr, bytes.len);
            size_t len = bit < 8 ? bytes.len : i;
            if (bit < 8)
                copy[i] = (char)(copy[i] ^ 1 << bit);
            int rc = forward_decode(own, (struct str){copy, len}, &back);
            assert_true(rc == 0 || rc == FORWARD_BAD);
            for (size_t k = 0; rc == 0 && k < back.count; k++)
                assert_true(back.items[k].term > 0 && back.items[k].field >= 0);
            free(copy);
            arena_free(own);
        }
}

TEST(principals_have_words)
{
    char room[PRINCIPAL_BYTES];
    char kind;
    int64_t id;

    struct str word = principal_print(room, 'o', 17);
    assert_true(str_is(word, "@o17"));
    assert_true(principal_parse(word, &kind, &id));
    assert_int_equal(kind, 'o');
    assert_int_equal(id, 17);
    assert_true(principal_parse(principal_print(room, 'r', INT64_MAX), &kind, &id));
    assert_int_equal(id, INT64_MAX);
    assert_false(principal_parse(STR("@x1"), &kind, &id));
    assert_false(principal_parse(STR("@o"), &kind, &id));
    assert_false(principal_parse(STR("@o01"), &kind, &id));
    assert_false(principal_parse(STR("o17"), &kind, &id));
}
