#include "search/leaf.h"

#include "base/panic.h"
#include "search/bits_private.h"
#include "search/varint_private.h"

/* Leaves: three formats to read, each as ids, as bits of a window, or for one id; and two to write.
 */

enum { FORMAT_UP = 1, FORMAT_BITS = 2, FORMAT_DOWN = 3 };

/* --- reading ---------------------------------------------------------------------------------- */

/* Only the first id may be equal to the base. All others are above the previous one. */
static inline bool
id_decode_up(const unsigned char **at, const unsigned char *end, bool first, uint64_t *id)
{
    uint64_t delta = **at;

    if (delta < 0x80)
        (*at)++;
    else if (!(*at = varint_get(*at, end, &delta)))
        return false;
    *id += delta;
    return (delta > 0 || first) && *id <= LEAF_ID_MAX;
}

static int decode_up(const struct leaf *leaf, int64_t *ids)
{
    const unsigned char *at = (const unsigned char *)leaf->docs.ptr + 1;
    const unsigned char *end = at + leaf->docs.len - 1;
    uint64_t id = (uint64_t)leaf->base;
    int32_t n = 0;

    while (at < end) {
        if (!id_decode_up(&at, end, n == 0, &id) || n == leaf->n)
            return LEAF_BAD;
        ids[n++] = (int64_t)id;
    }
    return n == leaf->n ? 0 : LEAF_BAD;
}

/* The highest id comes first; *id is the base before it. Each further id is below the previous one
 * and not below the base. */
static inline bool id_decode_down(
    const unsigned char **at, const unsigned char *end, bool first, uint64_t base, uint64_t *id)
{
    uint64_t delta = **at;

    if (delta < 0x80)
        (*at)++;
    else if (!(*at = varint_get(*at, end, &delta)))
        return false;
    if (first) {
        *id += delta;
        return *id <= LEAF_ID_MAX;
    }
    if (delta == 0 || delta > *id - base)
        return false;
    *id -= delta;
    return true;
}

static int decode_down(const struct leaf *leaf, int64_t *ids)
{
    const unsigned char *at = (const unsigned char *)leaf->docs.ptr + 1;
    const unsigned char *end = at + leaf->docs.len - 1;
    const uint64_t base = (uint64_t)leaf->base;
    uint64_t id = base;
    int32_t left = leaf->n;

    while (at < end) {
        if (!id_decode_down(&at, end, left == leaf->n, base, &id) || left == 0)
            return LEAF_BAD;
        ids[--left] = (int64_t)id;
    }
    return left == 0 ? 0 : LEAF_BAD;
}

/* The bits of a leaf, and the id of the first bit. */
static int leaf_bits(const struct leaf *leaf, struct str *ret_bits, int64_t *ret_first)
{
    const unsigned char *at = (const unsigned char *)leaf->docs.ptr + 1;
    const unsigned char *end = at + leaf->docs.len - 1;
    uint64_t eights;

    at = varint_get(at, end, &eights);
    if (!at || at == end || end[-1] == 0 || eights > INT64_MAX / 8)
        return LEAF_BAD;
    uint64_t first = eights * 8;
    if (first > (uint64_t)LEAF_ID_MAX - (uint64_t)LEAF_BYTES * 8)
        return LEAF_BAD;
    *ret_bits = (struct str){(const char *)at, (size_t)(end - at)};
    *ret_first = (int64_t)first;
    return 0;
}

static uint64_t bits_read_word(struct str bits, size_t at)
{
    uint64_t word = 0;

    memcpy(&word, bits.ptr + at, bits.len - at < 8 ? bits.len - at : 8);
    return word; /* amd64 and arm64 are little endian */
}

static int decode_bits(const struct leaf *leaf, int64_t *ids)
{
    struct str bits;
    int64_t first;
    int32_t n = 0;

    TRY(leaf_bits(leaf, &bits, &first));
    for (size_t i = 0; i < bits.len; i += 8) {
        uint64_t word = bits_read_word(bits, i);
        if (__builtin_popcountll(word) > leaf->n - n)
            return LEAF_BAD;
        for (; word; word &= word - 1)
            ids[n++] = first + (int64_t)(i * 8) + __builtin_ctzll(word);
    }
    return n == leaf->n && ids[0] >= leaf->base ? 0 : LEAF_BAD;
}

static bool is_plausible(const struct leaf *leaf)
{
    return leaf->base >= 0 && leaf->n > 0 && leaf->n <= LEAF_IDS && leaf->docs.len >= 2 &&
           leaf->docs.len <= LEAF_BYTES && leaf->docs.ptr[0] >= FORMAT_UP &&
           leaf->docs.ptr[0] <= FORMAT_DOWN;
}

int leaf_decode(const struct leaf *leaf, int64_t *ids, size_t *ret_count)
{
    if (leaf->n == 0 && leaf->docs.len == 0 && leaf->base >= 0) {
        *ret_count = 0;
        return 0;
    }
    if (!is_plausible(leaf))
        return LEAF_BAD;
    switch (leaf->docs.ptr[0]) {
    case FORMAT_BITS:
        TRY(decode_bits(leaf, ids));
        break;
    case FORMAT_UP:
        TRY(decode_up(leaf, ids));
        break;
    default:
        TRY(decode_down(leaf, ids));
    }
    *ret_count = (size_t)leaf->n;
    return 0;
}

static int mark_up(const struct leaf *leaf, uint64_t *words, int64_t lo, size_t span)
{
    const unsigned char *at = (const unsigned char *)leaf->docs.ptr + 1;
    const unsigned char *end = at + leaf->docs.len - 1;
    uint64_t id = (uint64_t)leaf->base;
    int32_t n = 0;

    while (at < end) {
        if (!id_decode_up(&at, end, n == 0, &id))
            return LEAF_BAD;
        n++;
        uint64_t position = id - (uint64_t)lo; /* an id below lo wraps to more than any span */
        if (position < span)
            words[position / 64] |= UINT64_C(1) << position % 64;
    }
    return n == leaf->n ? 0 : LEAF_BAD;
}

static int mark_down(const struct leaf *leaf, uint64_t *words, int64_t lo, size_t span)
{
    const unsigned char *at = (const unsigned char *)leaf->docs.ptr + 1;
    const unsigned char *end = at + leaf->docs.len - 1;
    const uint64_t base = (uint64_t)leaf->base;
    uint64_t id = base;
    int32_t n = 0;

    while (at < end) {
        if (!id_decode_down(&at, end, n == 0, base, &id))
            return LEAF_BAD;
        n++;
        uint64_t position = id - (uint64_t)lo; /* an id below lo wraps to more than any span */
        if (position < span)
            words[position / 64] |= UINT64_C(1) << position % 64;
    }
    return n == leaf->n ? 0 : LEAF_BAD;
}

/* Sets 64 bits at any place, also across a border of the window. */
static void mark_word(uint64_t *words, int64_t position, size_t span, uint64_t word)
{
    if (position <= -64 || position >= (int64_t)span)
        return;
    if (position < 0) {
        words[0] |= word >> -position;
        return;
    }
    size_t at = (size_t)position / 64;
    unsigned shift = (unsigned)position % 64;
    words[at] |= word << shift;
    if (shift > 0 && at + 1 < span / 64)
        words[at + 1] |= word >> (64 - shift);
}

COUNTS_BITS static int mark_bits(const struct leaf *leaf, uint64_t *words, int64_t lo, size_t span)
{
    struct str bits;
    int64_t first;
    int64_t n = 0;

    TRY(leaf_bits(leaf, &bits, &first));
    for (size_t i = 0; i < bits.len; i += 8) {
        uint64_t word = bits_read_word(bits, i);
        int64_t id = first + (int64_t)(i * 8);
        if (n == 0 && word && id + __builtin_ctzll(word) < leaf->base)
            return LEAF_BAD;
        n += __builtin_popcountll(word);
        mark_word(words, id - lo, span, word);
    }
    return n == leaf->n ? 0 : LEAF_BAD;
}

int leaf_mark(const struct leaf *leaf, uint64_t *words, int64_t lo, size_t span)
{
    if (leaf->n == 0 && leaf->docs.len == 0 && leaf->base >= 0)
        return 0;
    if (!is_plausible(leaf))
        return LEAF_BAD;
    if (leaf->docs.ptr[0] == FORMAT_BITS)
        return mark_bits(leaf, words, lo, span);
    return leaf->docs.ptr[0] == FORMAT_UP ? mark_up(leaf, words, lo, span)
                                          : mark_down(leaf, words, lo, span);
}

static int find_up_below(const struct leaf *leaf, int64_t below, int64_t *ret_id)
{
    const unsigned char *at = (const unsigned char *)leaf->docs.ptr + 1;
    const unsigned char *end = at + leaf->docs.len - 1;
    uint64_t id = (uint64_t)leaf->base;
    int64_t found = -1;

    while (at < end) {
        uint64_t delta;
        at = varint_get(at, end, &delta);
        if (!at || (id += delta) > LEAF_ID_MAX)
            return LEAF_BAD;
        if ((int64_t)id >= below)
            break;
        found = (int64_t)id;
    }
    *ret_id = found;
    return 0;
}

static int find_down_below(const struct leaf *leaf, int64_t below, int64_t *ret_id)
{
    const unsigned char *at = (const unsigned char *)leaf->docs.ptr + 1;
    const unsigned char *end = at + leaf->docs.len - 1;
    const uint64_t base = (uint64_t)leaf->base;
    uint64_t id = base;

    for (bool first = true; at < end; first = false) {
        if (!id_decode_down(&at, end, first, base, &id))
            return LEAF_BAD;
        if ((int64_t)id < below) {
            *ret_id = (int64_t)id;
            break;
        }
    }
    return 0;
}

static int find_bits_below(const struct leaf *leaf, int64_t below, int64_t *ret_id)
{
    struct str bits;
    int64_t first;
    int64_t found = -1;

    TRY(leaf_bits(leaf, &bits, &first));
    for (size_t i = 0; i < bits.len && first + (int64_t)(i * 8) < below; i += 8) {
        uint64_t word = bits_read_word(bits, i);
        int64_t id = first + (int64_t)(i * 8);
        if (below - id < 64)
            word &= (UINT64_C(1) << (below - id)) - 1;
        if (word)
            found = id + 63 - __builtin_clzll(word);
    }
    *ret_id = found;
    return 0;
}

int leaf_below(const struct leaf *leaf, int64_t below, int64_t *ret_id)
{
    *ret_id = -1;
    if (leaf->n == 0 && leaf->docs.len == 0)
        return 0;
    if (!is_plausible(leaf))
        return LEAF_BAD;
    if (leaf->docs.ptr[0] == FORMAT_BITS)
        return find_bits_below(leaf, below, ret_id);
    return leaf->docs.ptr[0] == FORMAT_UP ? find_up_below(leaf, below, ret_id)
                                          : find_down_below(leaf, below, ret_id);
}

bool leaf_valid(const struct leaf *leaf)
{
    return leaf_mark(leaf, NULL, 0, 0) == 0;
}

/* --- writing ---------------------------------------------------------------------------------- */

/* The length of a leaf in both formats while ids are added. */
struct leaf_sizes {
    size_t steps; /* bytes of the distances between ids */
    size_t deltas;
    size_t bits;
};

static struct leaf_sizes
sizes_add_id(struct leaf_sizes sizes, int64_t base, const int64_t *ids, size_t from, size_t i)
{
    uint64_t first = (uint64_t)ids[from] / 8;

    sizes.steps = i == from ? 0 : sizes.steps + varint_bytes((uint64_t)(ids[i] - ids[i - 1]));
    sizes.deltas = 1 + varint_bytes((uint64_t)(ids[i] - base)) + sizes.steps;
    sizes.bits = 2 + varint_bytes(first) + (size_t)((uint64_t)ids[i] / 8 - first);
    return sizes;
}

static struct str
encode_deltas(struct arena *arena, int64_t base, const int64_t *ids, size_t count, size_t bytes)
{
    unsigned char *text = arena_alloc(arena, bytes);
    unsigned char *at = text;

    *at++ = FORMAT_DOWN;
    at = varint_put(at, (uint64_t)(ids[count - 1] - base));
    for (size_t i = count - 1; i > 0; i--)
        at = varint_put(at, (uint64_t)(ids[i] - ids[i - 1]));
    return (struct str){(char *)text, (size_t)(at - text)};
}

static struct str encode_bits(struct arena *arena, const int64_t *ids, size_t count, size_t bytes)
{
    unsigned char *text = arena_zalloc(arena, bytes);
    int64_t first = ids[0] / 8;

    text[0] = FORMAT_BITS;
    unsigned char *bits = varint_put(text + 1, (uint64_t)first);
    for (size_t i = 0; i < count; i++)
        bits[ids[i] / 8 - first] |= (unsigned char)(1 << ids[i] % 8);
    return (struct str){(char *)text, bytes};
}

static struct leaf leaf_encode(
    struct arena *arena, int64_t base, const int64_t *ids, size_t count, struct leaf_sizes sizes)
{
    return (struct leaf){
        .base = base,
        .n = (int32_t)count,
        .docs = sizes.bits < sizes.deltas ? encode_bits(arena, ids, count, sizes.bits)
                                          : encode_deltas(arena, base, ids, count, sizes.deltas),
    };
}

/* Makes leaves of at most `limit` bytes, each as full as possible. Returns the bytes of all. */
static size_t leaves_fill(struct arena *arena,
                          int64_t base,
                          const int64_t *ids,
                          size_t count,
                          size_t limit,
                          struct leaves *leaves)
{
    struct leaf_sizes sizes = {0};
    size_t from = 0;
    size_t total = 0;

    for (size_t i = 0; i < count; i++) {
        struct leaf_sizes with = sizes_add_id(sizes, base, ids, from, i);
        if (with.deltas > limit && with.bits > limit) {
            struct leaf leaf = leaf_encode(arena, base, ids + from, i - from, sizes);
            ARENA_PUSH(arena, leaves->items, leaves->count, leaves->cap, leaf);
            total += leaf.docs.len;
            from = i;
            base = ids[i];
            with = sizes_add_id(sizes, base, ids, from, i);
        }
        sizes = with;
    }
    struct leaf last = {.base = base};
    if (count > 0)
        last = leaf_encode(arena, base, ids + from, count - from, sizes);
    ARENA_PUSH(arena, leaves->items, leaves->count, leaves->cap, last);
    return total + last.docs.len;
}

void leaves_build(
    struct arena *arena, int64_t base, const int64_t *ids, size_t count, struct leaves *ret_leaves)
{
    *ret_leaves = (struct leaves){0};
    leaves_fill(arena, base, ids, count, LEAF_BYTES, ret_leaves);
}

/* How many varints end in these bytes. */
COUNTS_BITS static int64_t varints_count(const unsigned char *at, const unsigned char *end)
{
    int64_t count = 0;

    for (; end - at >= 8; at += 8) {
        uint64_t word;
        memcpy(&word, at, sizeof(word));
        count += __builtin_popcountll(~word & UINT64_C(0x8080808080808080));
    }
    for (; at < end; at++)
        count += *at < 0x80;
    return count;
}

/* Adds ids to deltas, in front of the bytes that are there. False: the leaf must be decoded
 * (leaf_append_ids()). */
static bool leaf_append_deltas(struct arena *arena,
                               const struct leaf *leaf,
                               const int64_t *add,
                               size_t count,
                               struct str *ret_docs)
{
    const unsigned char *rest = (const unsigned char *)leaf->docs.ptr + 1;
    const unsigned char *end = rest + leaf->docs.len - 1;
    const uint64_t base = (uint64_t)leaf->base;
    uint64_t last = base;

    if (varints_count(rest, end) != leaf->n || !id_decode_down(&rest, end, true, base, &last) ||
        (uint64_t)add[0] <= last)
        return false;
    size_t kept_count = (size_t)(end - rest);
    unsigned char *text = arena_alloc(arena, 1 + (count + 1) * VARINT_BYTES + kept_count);
    unsigned char *at = text;
    *at++ = FORMAT_DOWN;
    at = varint_put(at, (uint64_t)(add[count - 1] - leaf->base));
    for (size_t i = count - 1; i > 0; i--)
        at = varint_put(at, (uint64_t)(add[i] - add[i - 1]));
    at = varint_put(at, (uint64_t)add[0] - last);
    memcpy(at, rest, kept_count);
    *ret_docs = (struct str){(char *)text, (size_t)(at - text) + kept_count};
    return ret_docs->len <= (uint64_t)(add[count - 1] - leaf->base) / 8;
}

COUNTS_BITS static int64_t bits_count(struct str bits)
{
    int64_t count = 0;

    for (size_t i = 0; i < bits.len; i += 8)
        count += __builtin_popcountll(bits_read_word(bits, i));
    return count;
}

/* Adds ids to bits, after the bytes that are there. False: the leaf must be decoded
 * (leaf_append_ids()). */
static bool leaf_append_bits(struct arena *arena,
                             const struct leaf *leaf,
                             const int64_t *add,
                             size_t count,
                             struct str *ret_docs)
{
    struct str bits;
    int64_t first;

    if (leaf_bits(leaf, &bits, &first) != 0 || bits_count(bits) != leaf->n)
        return false;
    int64_t last = first + (int64_t)bits.len * 8 - 1 -
                   __builtin_clz((unsigned)(unsigned char)bits.ptr[bits.len - 1] << 24);
    size_t kept_count = leaf->docs.len;
    size_t len = kept_count - bits.len + (size_t)(add[count - 1] - first) / 8 + 1;
    if (add[0] <= last || len > 1 + (size_t)leaf->n + count || len > LEAF_BYTES)
        return false;
    unsigned char *text = arena_zalloc(arena, len);
    memcpy(text, leaf->docs.ptr, kept_count);
    for (size_t i = 0; i < count; i++)
        text[kept_count - bits.len + (size_t)(add[i] - first) / 8] |=
            (unsigned char)(1 << add[i] % 8);
    *ret_docs = (struct str){(char *)text, len};
    return true;
}

/* Adds ids that are above all ids of the leaf, without decoding the leaf: the most frequent write.
 * False: the leaf must be decoded, because the result would be too long or might be shorter in the
 * other format, or because the leaf is malformed. */
static bool leaf_append_ids(struct arena *arena,
                            const struct leaf *leaf,
                            const int64_t *add,
                            size_t count,
                            struct leaf *ret_leaf)
{
    if (!is_plausible(leaf) || leaf->docs.ptr[0] == FORMAT_UP || count > LEAF_BYTES)
        return false;
    *ret_leaf = *leaf;
    ret_leaf->n += (int32_t)count;
    bool fits = leaf->docs.ptr[0] == FORMAT_BITS
                    ? leaf_append_bits(arena, leaf, add, count, &ret_leaf->docs)
                    : leaf_append_deltas(arena, leaf, add, count, &ret_leaf->docs);
    return fits && ret_leaf->docs.len <= LEAF_BYTES && ret_leaf->n <= LEAF_IDS;
}

/* Stores `old` with the ids of `add` and without those of `take` in `ret`, all ascending. Returns
 * their number. */
static size_t ids_merge(const int64_t *old,
                        size_t old_count,
                        const int64_t *add,
                        size_t add_count,
                        const int64_t *take,
                        size_t take_count,
                        int64_t *ret)
{
    size_t count = 0;
    size_t a = 0;
    size_t t = 0;

    for (size_t o = 0; o < old_count || a < add_count;) {
        int64_t id;
        if (a == add_count || (o < old_count && old[o] <= add[a])) {
            id = old[o++];
            a += a < add_count && add[a] == id;
            while (t < take_count && take[t] < id)
                t++;
            if (t < take_count && take[t] == id && !(a > 0 && add[a - 1] == id))
                continue;
        } else {
            id = add[a++];
        }
        ret[count++] = id;
    }
    return count;
}

int leaf_change(struct arena *arena,
                const struct leaf *leaf,
                const int64_t *add,
                size_t add_count,
                const int64_t *take,
                size_t take_count,
                struct leaves *ret_leaves)
{
    size_t old_count;
    struct leaves leaves = {0};

    MUST(add_count == 0 || add[0] >= leaf->base);
    if (leaf->n < 0 || leaf->n > LEAF_IDS)
        return LEAF_BAD;
    struct leaf longer;
    if (take_count == 0 && add_count > 0 && leaf_append_ids(arena, leaf, add, add_count, &longer)) {
        *ret_leaves = (struct leaves){0};
        ARENA_PUSH(arena, ret_leaves->items, ret_leaves->count, ret_leaves->cap, longer);
        return 0;
    }
    int64_t *old = arena_alloc(arena, ((size_t)leaf->n + 1) * sizeof(*old));
    TRY(leaf_decode(leaf, old, &old_count));
    int64_t *ids = arena_alloc(arena, (old_count + add_count + 1) * sizeof(*ids));
    size_t count = ids_merge(old, old_count, add, add_count, take, take_count, ids);
    size_t bytes = leaves_fill(arena, leaf->base, ids, count, LEAF_BYTES, &leaves);
    bool at_end = old_count == 0 || add_count == 0 || add[0] > old[old_count - 1];
    if (leaves.count > 1 && !at_end) {
        size_t share = bytes / leaves.count + LEAF_BYTES / 32;
        leaves.count = 0;
        leaves_fill(
            arena, leaf->base, ids, count, share < LEAF_BYTES ? share : LEAF_BYTES, &leaves);
    }
    *ret_leaves = leaves;
    return 0;
}
