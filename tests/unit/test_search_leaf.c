/* Leaves compared with sorted arrays, leaves with damaged bytes, sets of ids in windows. */
#include "unit.h"

#include "search_test.h"

#include "base/num.h"
#include "search/docset_private.h"
#include "search/leaf.h"
#include "search/varint_private.h"

/* Returns `count` ascending ids from `first` on, about one in `sparse`. */
static int64_t *some_ids(int64_t first, size_t count, uint64_t sparse)
{
    int64_t *ids = arena_alloc(arena, (count + 1) * sizeof(*ids));
    int64_t id = first;

    for (size_t i = 0; i < count; i++) {
        ids[i] = id;
        id += 1 + (int64_t)number(2 * sparse - 1);
    }
    return ids;
}

/* Stores the ids of all leaves in `ids` and returns their number. Checks that bases ascend, and
 * that no id is below the base of its leaf or above the base of the next leaf. */
static size_t read_all(const struct leaves *leaves, int64_t *ids)
{
    static int64_t room[LEAF_IDS];
    size_t total = 0;

    for (size_t i = 0; i < leaves->count; i++) {
        const struct leaf *leaf = &leaves->items[i];
        size_t count;
        assert_int_equal(leaf_decode(leaf, room, &count), 0);
        assert_int_equal(count, leaf->n);
        assert_true(leaf->docs.len <= LEAF_BYTES);
        assert_true(leaf_valid(leaf));
        assert_true(count == 0 || room[0] >= leaf->base);
        if (i + 1 < leaves->count)
            assert_true(room[count - 1] < leaves->items[i + 1].base);
        memcpy(ids + total, room, count * sizeof(*ids));
        total += count;
    }
    return total;
}

static void assert_ids(const struct leaves *leaves, const int64_t *ids, size_t count)
{
    int64_t *there = arena_alloc(arena, (count + LEAF_IDS) * sizeof(*there));

    assert_int_equal(read_all(leaves, there), count);
    assert_memory_equal(there, ids, count * sizeof(*ids));
}

TEST_WITH(lists_of_any_density_come_back, setup, teardown)
{
    static const uint64_t sparse[] = {1, 2, 5, 9, 40, 1000, 1000000, UINT64_C(1) << 44};
    static const size_t counts[] = {0, 1, 2, 100, 5000, 40000};

    for (size_t s = 0; s < ARRAY_LEN(sparse); s++)
        for (size_t c = 0; c < ARRAY_LEN(counts); c++) {
            struct leaves leaves;
            int64_t *ids = some_ids((int64_t)number(1000), counts[c], sparse[s]);
            leaves_build(arena, 0, ids, counts[c], &leaves);
            assert_ids(&leaves, ids, counts[c]);
            assert_int_equal(leaves.items[0].base, 0);
        }
}

TEST_WITH(dense_lists_are_bits, setup, teardown)
{
    struct leaves leaves;

    leaves_build(arena, 0, some_ids(1, 100000, 1), 100000, &leaves);
    assert_in_range(leaves.count, 1, 7); /* a bit per id, 15,168 ids in a leaf */
    leaves_build(arena, 0, some_ids(1, 100000, 20), 100000, &leaves);
    assert_in_range(leaves.count, 50, 60); /* a byte per id */
}

static size_t naive_change(const int64_t *old,
                           size_t count,
                           const int64_t *add,
                           size_t adds,
                           const int64_t *take,
                           size_t takes,
                           int64_t *ret)
{
    size_t n = 0;

    for (size_t i = 0; i < count; i++) {
        bool gone = bsearch(&old[i], take, takes, sizeof(*take), num_compare_i64);
        bool again = bsearch(&old[i], add, adds, sizeof(*add), num_compare_i64);
        if (!gone && !again)
            ret[n++] = old[i];
    }
    memcpy(ret + n, add, adds * sizeof(*add));
    return num_sort_unique(ret, n + adds);
}

/* Changes a list as the indexer does: each id goes to the last leaf whose base is not above the
 * id. */
static void change_list(
    struct leaves *leaves, const int64_t *add, size_t adds, const int64_t *take, size_t takes)
{
    struct leaves next = {0};

    for (size_t i = 0; i < leaves->count; i++) {
        int64_t end = i + 1 < leaves->count ? leaves->items[i + 1].base : INT64_MAX;
        size_t a = 0;
        size_t t = 0;
        while (a < adds && add[a] < end)
            a++;
        while (t < takes && take[t] < end)
            t++;
        struct leaves made;
        assert_int_equal(leaf_change(arena, &leaves->items[i], add, a, take, t, &made), 0);
        assert_int_equal(made.items[0].base, leaves->items[i].base);
        for (size_t m = 0; m < made.count; m++)
            if (made.items[m].n > 0 || made.items[m].base == 0)
                ARENA_PUSH(arena, next.items, next.count, next.cap, made.items[m]);
        add += a;
        adds -= a;
        take += t;
        takes -= t;
    }
    *leaves = next;
}

TEST_WITH(lists_change_as_sets_do, setup, teardown)
{
    for (int round = 0; round < 30; round++) {
        uint64_t sparse = 1 + number(round % 3 ? 4 : 300);
        size_t count = number(6000);
        int64_t *ids = some_ids((int64_t)number(50), count, sparse);
        struct leaves leaves;
        leaves_build(arena, 0, ids, count, &leaves);
        for (int change = 0; change < 12; change++) {
            size_t adds = number(1500);
            size_t takes = number(1500);
            int64_t *add = some_ids((int64_t)number(20000 * sparse), adds, 1 + number(20));
            int64_t *take = some_ids((int64_t)number(20000 * sparse), takes, 1 + number(5));
            int64_t *expected = arena_alloc(arena, (count + adds + 1) * sizeof(*expected));
            count = naive_change(ids, count, add, adds, take, takes, expected);
            ids = expected;
            change_list(&leaves, add, adds, take, takes);
            assert_ids(&leaves, ids, count);
        }
        arena_reset(arena);
    }
}

TEST_WITH(a_list_that_grows_at_its_end_keeps_full_leaves, setup, teardown)
{
    struct leaves leaves = {0};

    ARENA_PUSH(arena, leaves.items, leaves.count, leaves.cap, (struct leaf){.base = 0});
    for (int64_t id = 1; id <= 40000; id += 20) {
        struct leaves made;
        assert_int_equal(
            leaf_change(arena, &leaves.items[leaves.count - 1], &id, 1, NULL, 0, &made), 0);
        leaves.count--;
        for (size_t m = 0; m < made.count; m++)
            ARENA_PUSH(arena, leaves.items, leaves.count, leaves.cap, made.items[m]);
    }
    assert_int_equal(leaves.count, 2); /* 2,000 ids, a byte each */
    assert_in_range(leaves.items[0].docs.len, LEAF_BYTES - 2, LEAF_BYTES);
}

TEST_WITH(all_that_was_there_may_go, setup, teardown)
{
    int64_t ids[] = {3, 9, 700};
    struct leaves leaves;
    struct leaves left;

    leaves_build(arena, 2, ids, 3, &leaves);
    assert_int_equal(leaf_change(arena, &leaves.items[0], NULL, 0, ids, 3, &left), 0);
    assert_int_equal(left.count, 1);
    assert_int_equal(left.items[0].n, 0);
    assert_int_equal(left.items[0].docs.len, 0);
    assert_int_equal(left.items[0].base, 2);
}

/* Packs the ids as older versions did, from the lowest id up. */
static struct leaf older(int64_t base, const int64_t *ids, size_t count)
{
    unsigned char *text = arena_alloc(arena, 1 + count * VARINT_BYTES);
    unsigned char *at = text;

    *at++ = 1;
    for (size_t i = 0; i < count; i++)
        at = varint_put(at, (uint64_t)(ids[i] - (i ? ids[i - 1] : base)));
    return (struct leaf){base, (int32_t)count, {(char *)text, (size_t)(at - text)}};
}

TEST_WITH(leaves_of_older_versions_are_read, setup, teardown)
{
    const struct docset_window window = {1024, 8192};

    for (int round = 0; round < 300; round++) {
        size_t count = 1 + number(800);
        int64_t *ids = some_ids((int64_t)number(3000), count, 1 + number(40));
        struct leaf leaf = older(ids[0], ids, count < 180 ? count : 180);
        struct leaves now;
        int64_t found;
        int64_t expected;
        count = (size_t)leaf.n;
        assert_ids(&(struct leaves){.items = &leaf, .count = 1}, ids, count);
        leaves_build(arena, ids[0], ids, count, &now);
        uint64_t *set = docset_new(arena, &window);
        uint64_t *same = docset_new(arena, &window);
        assert_int_equal(docset_leaf(set, &window, &leaf), 0);
        assert_int_equal(docset_leaf(same, &window, &now.items[0]), 0);
        assert_memory_equal(set, same, window.span / 8);
        int64_t below = (int64_t)number(8000);
        assert_int_equal(leaf_below(&leaf, below, &found), 0);
        assert_int_equal(leaf_below(&now.items[0], below, &expected), 0);
        assert_int_equal(found, expected);
        struct leaves left;
        assert_int_equal(leaf_change(arena, &leaf, NULL, 0, ids, 1, &left), 0);
        if (count > 1)
            assert_ids(&left, ids + 1, count - 1);
        arena_reset(arena);
    }
}

/* A list that grows at its end by some ids at a time holds the right ids, in hardly more leaves
 * than a list that is built at once, at any density. */
TEST_WITH(lists_that_grow_are_as_others, setup, teardown)
{
    static const uint64_t sparse[] = {1, 3, 6, 8, 10, 60, 5000};

    for (size_t s = 0; s < ARRAY_LEN(sparse); s++) {
        size_t count = 4000;
        int64_t base = (int64_t)number(3) * 500;
        int64_t *ids = some_ids(base + (int64_t)number(2000), count, sparse[s]);
        struct leaves leaves = {0};
        ARENA_PUSH(arena, leaves.items, leaves.count, leaves.cap, (struct leaf){.base = base});
        for (size_t at = 0; at < count;) {
            struct leaves made;
            size_t some = 1 + number(60);
            some = some < count - at ? some : count - at;
            assert_int_equal(
                leaf_change(arena, &leaves.items[leaves.count - 1], ids + at, some, NULL, 0, &made),
                0);
            leaves.count--;
            for (size_t m = 0; m < made.count; m++)
                ARENA_PUSH(arena, leaves.items, leaves.count, leaves.cap, made.items[m]);
            at += some;
            assert_ids(&leaves, ids, at);
        }
        struct leaves whole;
        leaves_build(arena, base, ids, count, &whole);
        assert_in_range(leaves.count, whole.count, whole.count + whole.count / 8 + 1);
        arena_reset(arena);
    }
}

/* A new id at the end of a list changes the first bytes of its leaf. The bytes after them stay
 * the same, so PostgreSQL does not log them again. */
TEST_WITH(a_list_that_grows_keeps_its_bytes_behind, setup, teardown)
{
    int64_t ids[101];
    struct leaves before;
    struct leaves after;

    for (size_t i = 0; i < ARRAY_LEN(ids); i++)
        ids[i] = 1000 + (int64_t)i * 200;
    leaves_build(arena, 0, ids, 100, &before);
    assert_int_equal(leaf_change(arena, &before.items[0], &ids[100], 1, NULL, 0, &after), 0);
    const struct str old = before.items[0].docs;
    const struct str new = after.items[0].docs;
    size_t kept = old.len - 4; /* without the format and the highest id */
    assert_memory_equal(new.ptr + new.len - kept, old.ptr + old.len - kept, kept);
}

/* --- damage ----------------------------------------------------------------------------------- */

/* Reads a leaf with any bytes. The leaf is either read whole or refused, and all readers agree. */
static void read_damaged(const struct leaf *leaf)
{
    static int64_t ids[LEAF_IDS];
    const struct docset_window window = {1024, 4096};
    size_t count = 0;
    /* an allocation of its own, so that a read past its end is detected */
    struct leaf copy = *leaf;
    copy.docs.ptr =
        memcpy(malloc(leaf->docs.len + !leaf->docs.len), leaf->docs.ptr, leaf->docs.len);

    int rc = leaf_decode(&copy, ids, &count);
    assert_true(rc == 0 || rc == LEAF_BAD);
    assert_int_equal(leaf_valid(&copy), rc == 0);
    uint64_t *set = docset_new(arena, &window);
    assert_int_equal(docset_leaf(set, &window, &copy), rc);
    if (rc == 0) {
        size_t inside = 0;
        for (size_t i = 0; i < count; i++) {
            assert_true(ids[i] >= leaf->base && (i == 0 || ids[i] > ids[i - 1]));
            inside += docset_has(set, &window, ids[i]);
        }
        assert_int_equal(docset_count(set, &window), inside);
    }
    int64_t below;
    (void)(leaf_below(&copy, 2000, &below) == 0);
    free((void *)copy.docs.ptr);
}

static void damage(const struct leaf *leaf)
{
    char bytes[LEAF_BYTES + 1];
    struct leaf damaged = *leaf;

    memcpy(bytes, leaf->docs.ptr, leaf->docs.len);
    damaged.docs.ptr = bytes;
    for (size_t i = 0; i < leaf->docs.len; i++) {
        for (int bit = 0; bit < 8; bit++) {
            bytes[i] = (char)(bytes[i] ^ 1 << bit);
            read_damaged(&damaged);
            bytes[i] = leaf->docs.ptr[i];
        }
        arena_reset(arena);
    }
    for (damaged.docs.len = 0; damaged.docs.len < leaf->docs.len; damaged.docs.len++)
        read_damaged(&damaged);
    damaged.docs.len = leaf->docs.len;
    static const int32_t counts[] = {-1, 0, 1, LEAF_IDS, LEAF_IDS + 1, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
        damaged.n = counts[i];
        read_damaged(&damaged);
    }
    damaged.n = leaf->n;
    damaged.base = INT64_MAX;
    read_damaged(&damaged);
    damaged.base = -1;
    read_damaged(&damaged);
}

TEST_WITH(damaged_leaves_are_refused, setup, teardown)
{
    static char copies[4][LEAF_BYTES];
    struct leaf leaf[4];
    struct leaves leaves;

    for (size_t i = 0; i < 4; i++) {
        static const uint64_t sparse[] = {1, 5, 200, 100000};
        leaves_build(arena, 0, some_ids(1000, 200, sparse[i]), 200, &leaves);
        leaf[i] = leaves.items[0];
        memcpy(copies[i], leaf[i].docs.ptr, leaf[i].docs.len);
        leaf[i].docs.ptr = copies[i];
    }
    for (size_t i = 0; i < 4; i++)
        damage(&leaf[i]);
}

TEST_WITH(noise_is_refused, setup, teardown)
{
    char bytes[LEAF_BYTES + 8];
    int rounds = is_long_run() ? 3000 : 1000;

    for (int round = 0; round < rounds; round++) {
        struct leaf leaf = {
            .base = (int64_t)number(3000), .n = (int32_t)number(300), .docs = {bytes, number(60)}};
        for (size_t i = 0; i < leaf.docs.len; i++)
            bytes[i] = (char)(number(3) ? number(128) : number(256));
        bytes[0] = (char)number(4);
        read_damaged(&leaf);
        arena_reset(arena);
    }
}

/* --- windows ---------------------------------------------------------------------------------- */

TEST_WITH(windows_hold_what_is_inside, setup, teardown)
{
    for (int round = 0; round < 200; round++) {
        size_t count = number(4000);
        int64_t *ids = some_ids((int64_t)number(5000), count, 1 + number(round % 2 ? 3 : 30));
        struct leaves leaves;
        struct docset_window window = {(int64_t)number(400) * 64, 64 * (1 + number(300))};
        leaves_build(arena, 0, ids, count, &leaves);
        uint64_t *set = docset_new(arena, &window);
        uint64_t *same = docset_new(arena, &window);
        for (size_t i = 0; i < leaves.count; i++)
            assert_int_equal(docset_leaf(set, &window, &leaves.items[i]), 0);
        docset_ids(same, &window, ids, count);
        assert_memory_equal(set, same, window.span / 8);
        size_t inside = 0;
        for (size_t i = 0; i < count; i++)
            inside += ids[i] >= window.lo && ids[i] < window.lo + (int64_t)window.span;
        assert_int_equal(docset_count(set, &window), inside);
        assert_int_equal(docset_empty(set, &window), inside == 0);
        int64_t below = (int64_t)number(30000);
        int64_t highest = -1;
        for (size_t i = 0; i < leaves.count; i++) {
            int64_t found;
            assert_int_equal(leaf_below(&leaves.items[i], below, &found), 0);
            highest = found > highest ? found : highest;
        }
        int64_t expected = -1;
        for (size_t i = 0; i < count && ids[i] < below; i++)
            expected = ids[i];
        assert_int_equal(highest, expected);
        arena_reset(arena);
    }
}

TEST_WITH(windows_begin_and_end_with_words, setup, teardown)
{
    const struct docset_window window = window_over(70, 700);
    const int64_t ids[] = {70, 71, 127, 128, 300, 700};

    assert_int_equal(window.lo, 64);
    assert_int_equal(window.span, 640);
    uint64_t *set = docset_new(arena, &window);
    docset_ids(set, &window, ids, 6);
    for (size_t i = 0; i < 6; i++)
        assert_true(docset_has(set, &window, ids[i]));
    assert_false(docset_has(set, &window, 63) || docset_has(set, &window, 704));
    docset_remove_below(set, &window, 128);
    assert_int_equal(docset_count(set, &window), 3);
    docset_remove_below(set, &window, 301);
    assert_int_equal(docset_count(set, &window), 1);
    assert_true(docset_has(set, &window, 700));
    docset_remove_below(set, &window, 5000);
    assert_true(docset_empty(set, &window));
}

TEST_WITH(sets_are_narrowed, setup, teardown)
{
    const struct docset_window window = {0, 1024};
    uint64_t *a = docset_new(arena, &window);
    uint64_t *b = docset_new(arena, &window);

    for (int64_t id = 0; id < 1024; id++) {
        if (id % 2 == 0)
            docset_ids(a, &window, &id, 1);
        if (id % 3 == 0)
            docset_ids(b, &window, &id, 1);
    }
    uint64_t *set = docset_new(arena, &window);
    docset_all(set, &window);
    docset_and(set, a, &window);
    docset_and_not(set, b, &window);
    assert_int_equal(docset_count(set, &window), 512 - 171);
    docset_and(a, b, &window);
    assert_int_equal(docset_count(a, &window), 171);
    docset_all(set, &window);
    assert_int_equal(docset_count(set, &window), 1024);
    docset_clear(set, &window);
    assert_true(docset_empty(set, &window));
}
