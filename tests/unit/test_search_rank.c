/* Which ids a query finds and in which order, compared with a check of every single id. */
#include "unit.h"

#include "search_test.h"

#include "base/num.h"
#include "search/rank.h"

enum { MANY = 50, TOP = 3000 };

struct case_list {
    struct rank_source from;
    int64_t *ids;
    size_t count;
};

struct query_case {
    struct case_list lists[MANY];
    size_t count;
    unsigned words;
    unsigned least;
    unsigned groups;
    unsigned tallies;
    int64_t from;
    size_t limit;
    size_t span;
    int64_t scale; /* about the distance of ids */
};

static bool has(const struct case_list *list, int64_t id)
{
    return list->count > 0 && bsearch(&id, list->ids, list->count, sizeof(id), num_compare_i64);
}

/* Returns whether the word matches the id. *ret_level: the word's best cost and field. For a
 * word of several parts, the best levels of the parts are found, and the worst of these levels
 * counts. */
static bool
word_matches(const struct query_case *query, unsigned word, int64_t id, unsigned *ret_level)
{
    unsigned part_level[4] = {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX};
    bool part_there[4] = {false};
    unsigned all = 0;
    bool parts = false;

    for (size_t i = 0; i < query->count; i++) {
        const struct case_list *list = &query->lists[i];
        if (list->from.use != RANK_WORD || list->from.number != word)
            continue;
        unsigned p = list->from.part;
        part_there[p] = true;
        unsigned level = list->from.cost << 8 | list->from.field;
        if (has(list, id) && level < part_level[p])
            part_level[p] = level;
    }
    unsigned highest = 0;
    for (unsigned p = 1; p < 4; p++)
        highest = part_there[p] ? p : highest;
    for (unsigned p = 1; p <= highest; p++) {
        parts = true;
        all = part_level[p] > all ? part_level[p] : all;
    }
    unsigned best = parts && all < part_level[0] ? all : part_level[0];
    *ret_level = best;
    return best != UINT32_MAX;
}

static bool is_asked_for(const struct query_case *query, int64_t id)
{
    for (unsigned g = 0; g < query->groups; g++) {
        bool in = false;
        for (size_t i = 0; i < query->count; i++)
            in = in || (query->lists[i].from.use == RANK_NEED && query->lists[i].from.number == g &&
                        has(&query->lists[i], id));
        if (!in)
            return false;
    }
    for (size_t i = 0; i < query->count; i++)
        if (query->lists[i].from.use == RANK_NOT && has(&query->lists[i], id))
            return false;
    return true;
}

static int hit_order(const void *left, const void *right)
{
    const struct rank_hit *a = left;
    const struct rank_hit *b = right;

    if (a->matched != b->matched)
        return a->matched > b->matched ? -1 : 1;
    if (a->cost != b->cost)
        return a->cost < b->cost ? -1 : 1;
    if (a->field != b->field)
        return a->field < b->field ? -1 : 1;
    return a->id > b->id ? -1 : 1;
}

static bool is_tallied(const struct query_case *query, unsigned tally, int64_t id)
{
    for (size_t i = 0; i < query->count; i++)
        if (query->lists[i].from.use == RANK_COUNTED && query->lists[i].from.number == tally &&
            has(&query->lists[i], id))
            return true;
    return false;
}

static size_t tallies[3];

static size_t naive(const struct query_case *query,
                    const int64_t *all,
                    size_t count,
                    struct rank_hit *hits,
                    size_t *ret_all)
{
    size_t n = 0;

    *ret_all = 0;
    memset(tallies, 0, sizeof(tallies));
    for (size_t i = 0; i < count; i++) {
        struct rank_hit hit = {.id = all[i]};
        unsigned level;
        if (all[i] < query->from || !is_asked_for(query, all[i]))
            continue;
        while (hit.matched < query->words && word_matches(query, hit.matched, all[i], &level)) {
            hit.matched++;
            hit.cost = (uint8_t)(hit.cost + (level >> 8));
            hit.field = (uint16_t)(hit.field + (level & 255));
        }
        for (unsigned t = 0; t < query->tallies; t++)
            tallies[t] += hit.matched == query->words && is_tallied(query, t, all[i]);
        if (hit.matched < query->least)
            continue;
        *ret_all += hit.matched == query->words;
        hits[n++] = hit;
    }
    if (n > 0)
        qsort(hits, n, sizeof(*hits), hit_order);
    return n;
}

static struct case_list some_list(struct rank_source from, const int64_t *all, size_t count)
{
    struct case_list list = {.from = from,
                             .ids = arena_alloc(arena, (count + 1) * sizeof(int64_t))};
    uint64_t sparse = 1 + number(number(3) ? 4 : 300);

    for (size_t i = 0; i < count; i++)
        if (number(sparse) == 0)
            list.ids[list.count++] = all[i];
    return list;
}

/* Adds one or two lists of a group. */
static void
add_group(struct query_case *query, struct rank_source from, const int64_t *all, size_t count)
{
    for (unsigned i = 0, lists = 1 + (unsigned)number(2); i < lists; i++)
        query->lists[query->count++] = some_list(from, all, count);
}

static void make_case(struct query_case *query, const int64_t *all, size_t count)
{
    *query = (struct query_case){.words = (unsigned)number(5),
                                 .groups = (unsigned)number(3),
                                 .tallies = (unsigned)number(4),
                                 .limit = 1 + number(80),
                                 .span = number(2) ? 0 : 64 * (1 + number(20))};
    if (query->words == 0 && query->groups == 0)
        query->groups = 1;
    query->least = query->words > 0 ? 1 + (unsigned)number(query->words) : 0;
    query->from = number(3) ? 0 : all[number(count)];
    for (unsigned w = 0; w < query->words; w++) {
        unsigned parts = number(4) == 0 ? 2 + (unsigned)number(2) : 0;
        for (unsigned i = 0, lists = 1 + (unsigned)number(6); i < lists + parts; i++) {
            struct rank_source from = {.use = RANK_WORD,
                                       .number = w,
                                       .cost = (unsigned)number(4),
                                       .field = (unsigned)number(5)};
            from.part = i < lists ? 0 : i - lists + 1;
            query->lists[query->count++] = some_list(from, all, count);
            if (number(20) == 0)
                query->lists[query->count - 1].count = 0;
            if (query->count >= MANY - 12)
                break;
        }
    }
    for (unsigned g = 0; g < query->groups; g++)
        add_group(query, (struct rank_source){.use = RANK_NEED, .number = g}, all, count);
    if (number(3) == 0)
        query->lists[query->count++] = some_list((struct rank_source){.use = RANK_NOT}, all, count);
    for (unsigned t = 0; t < query->tallies; t++)
        add_group(query, (struct rank_source){.use = RANK_COUNTED, .number = t}, all, count);
}

static void run_case(const struct query_case *query, bool stop, struct rank_result *ret_result)
{
    struct rank *rank = rank_new(arena, query->words, query->limit);

    for (size_t i = 0; i < query->count; i++) {
        const struct case_list *list = &query->lists[i];
        struct leaves leaves;
        if (number(3) == 0) {
            rank_ids(rank, list->from, list->ids, list->count);
            continue;
        }
        leaves_build(arena, 0, list->ids, list->count, &leaves);
        rank_leaves(rank, list->from, leaves.items, list->count ? leaves.count : 0);
    }
    const struct rank_bounds bounds = {.min_words = query->least,
                                       .from = query->from,
                                       .span = query->span,
                                       .stop_when_filled = stop};
    assert_int_equal(rank_run(rank, &bounds, ret_result), 0);
}

static void check_case(const struct query_case *query, const int64_t *all, size_t count)
{
    struct rank_hit *hits = arena_alloc(arena, (count + 1) * sizeof(*hits));
    struct rank_result result;
    size_t total_all;
    size_t total = naive(query, all, count, hits, &total_all);

    run_case(query, false, &result);
    assert_int_equal(result.total, total);
    assert_int_equal(result.total_all, total_all);
    for (unsigned t = 0; t < query->tallies; t++)
        assert_int_equal(result.group_counts[t], tallies[t]);
    assert_int_equal(result.from, query->from);
    assert_int_equal(result.count, total < query->limit ? total : query->limit);
    for (size_t i = 0; i < result.count; i++) {
        assert_int_equal(result.hits[i].id, hits[i].id);
        assert_int_equal(result.hits[i].matched, hits[i].matched);
        assert_int_equal(result.hits[i].cost, hits[i].cost);
        assert_int_equal(result.hits[i].field, hits[i].field);
    }
    bool best = result.count == query->limit;
    for (size_t i = 0; i < result.count; i++) /* all hits are equal, and no hit can be better */
        best = best && result.hits[i].matched == query->words &&
               result.hits[i].cost == result.hits[0].cost &&
               result.hits[i].field == result.hits[0].field;
    assert_true(!result.filled || best);
    run_case(query, true, &result);
    assert_true(result.filled || result.from <= query->from);
    if (result.from <= query->from)
        assert_int_equal(result.total, total);
    assert_int_equal(result.count, total < query->limit ? total : query->limit);
    for (size_t i = 0; i < result.count; i++) /* a run that stops early finds the same best hits */
        assert_int_equal(result.hits[i].id, hits[i].id);
}

TEST_WITH(queries_find_what_each_record_says, setup, teardown)
{
    static const int64_t scales[] = {1, 3, 100, INT64_C(1) << 40};
    int rounds = is_long_run() ? 400 : 100;

    for (int round = 0; round < rounds; round++) {
        int64_t *all = arena_alloc(arena, TOP * sizeof(*all));
        size_t count = 1 + number(TOP);
        int64_t scale = scales[number(4)];
        int64_t id = (int64_t)number(100);
        for (size_t i = 0; i < count; i++) {
            all[i] = id;
            id += 1 + (int64_t)number((uint64_t)scale);
        }
        struct query_case query;
        make_case(&query, all, count);
        check_case(&query, all, count);
        arena_reset(arena);
    }
}

TEST_WITH(nothing_is_found_of_nothing, setup, teardown)
{
    struct rank_result result;

    assert_int_equal(rank_run(rank_new(arena, 0, 10), &(struct rank_bounds){0}, &result), 0);
    assert_int_equal(result.total, 0);
    assert_int_equal(rank_run(rank_new(arena, 2, 10), &(struct rank_bounds){0}, &result), 0);
    assert_int_equal(result.count, 0);
    struct rank *rank = rank_new(arena, 1, 0);
    const int64_t ids[] = {1, 2, 300};
    rank_ids(rank, (struct rank_source){.use = RANK_WORD}, ids, 3);
    assert_int_equal(rank_run(rank, &(struct rank_bounds){0}, &result), 0);
    assert_int_equal(result.total, 3); /* counted, although the limit is 0 */
    rank = rank_new(arena, 1, 5);
    rank_ids(rank, (struct rank_source){.use = RANK_WORD}, ids, 3);
    rank_ids(rank, (struct rank_source){.use = RANK_NEED}, NULL, 0);
    assert_int_equal(rank_run(rank, &(struct rank_bounds){0}, &result), 0);
    assert_int_equal(result.total, 0);
}

TEST_WITH(tallies_are_counted_of_all_there_is, setup, teardown)
{
    const int64_t ids[] = {1, 2, 300, 1000000};
    struct rank_result result;

    struct rank *rank = rank_new(arena, 0, 5);
    rank_ids(rank, (struct rank_source){.use = RANK_COUNTED, .number = 1}, ids, 4);
    rank_ids(rank, (struct rank_source){.use = RANK_COUNTED, .number = 0}, ids, 2);
    rank_ids(rank, (struct rank_source){.use = RANK_NOT}, ids + 1, 1);
    assert_int_equal(rank_run(rank, &(struct rank_bounds){0}, &result), 0);
    assert_int_equal(result.count, 0);
    assert_int_equal(result.group_counts[0], 1);
    assert_int_equal(result.group_counts[1], 3);
}

TEST_WITH(a_damaged_leaf_ends_the_query, setup, teardown)
{
    const struct leaf leaf = {.base = 0, .n = 3, .docs = STR_INIT("\1\1\0\1")};
    struct rank_result result;

    struct rank *rank = rank_new(arena, 1, 5);
    rank_leaves(rank, (struct rank_source){.use = RANK_WORD}, &leaf, 1);
    assert_int_equal(rank_run(rank, &(struct rank_bounds){0}, &result), LEAF_BAD);
}

TEST_WITH(far_windows_are_not_walked, setup, teardown)
{
    const int64_t ids[] = {5, INT64_C(1) << 50, LEAF_ID_MAX};
    struct leaves leaves;
    struct rank_result result;

    leaves_build(arena, 0, ids, 3, &leaves);
    struct rank *rank = rank_new(arena, 1, 5);
    rank_leaves(rank, (struct rank_source){.use = RANK_WORD}, leaves.items, leaves.count);
    assert_int_equal(rank_run(rank, &(struct rank_bounds){0}, &result), 0);
    assert_int_equal(result.total, 3);
    assert_int_equal(result.hits[0].id, LEAF_ID_MAX);
    assert_int_equal(result.hits[2].id, 5);
}
