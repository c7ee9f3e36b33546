#include "search/forward.h"

#include <stdlib.h>

#include "search/varint_private.h"

#define SORT_FEW 128 /* pairs */

static int pair_order(const void *left, const void *right)
{
    const struct forward_pair *a = left;
    const struct forward_pair *b = right;

    if (a->field != b->field)
        return a->field < b->field ? -1 : 1;
    return a->term < b->term ? -1 : a->term > b->term;
}

static uint64_t pair_key(const struct forward_pair *pair)
{
    return (uint64_t)(uint16_t)pair->field << 32 | (uint32_t)pair->term;
}

/* Insertion sort is the fastest for few pairs. Fields come in their order already. */
static void sort_few(struct forward_pair *pairs, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        const struct forward_pair pair = pairs[i];
        uint64_t key = pair_key(&pair);
        size_t at = i;
        for (; at > 0 && pair_key(&pairs[at - 1]) > key; at--)
            pairs[at] = pairs[at - 1];
        pairs[at] = pair;
    }
}

size_t forward_sort(struct forward_pair *pairs, size_t count)
{
    size_t kept_count = 0;

    if (count <= SORT_FEW)
        sort_few(pairs, count);
    else
        qsort(pairs, count, sizeof(*pairs), pair_order);
    for (size_t i = 0; i < count; i++)
        if (kept_count == 0 || pair_order(&pairs[kept_count - 1], &pairs[i]) != 0)
            pairs[kept_count++] = pairs[i];
    return kept_count;
}

struct str forward_encode(struct arena *arena, const struct forward_list *list)
{
    /* a field of one term takes the most bytes: at most 12 */
    unsigned char *text = arena_alloc(arena, list->count * 12 + 1);
    unsigned char *at = text;
    int16_t field = 0;

    for (size_t i = 0; i < list->count;) {
        size_t end = i;
        while (end < list->count && list->items[end].field == list->items[i].field)
            end++;
        at = varint_put(at, (uint64_t)(list->items[i].field - field));
        at = varint_put(at, end - i);
        field = list->items[i].field;
        int32_t term = 0;
        for (; i < end; i++) {
            at = varint_put(at, (uint64_t)(list->items[i].term - term));
            term = list->items[i].term;
        }
    }
    return (struct str){(char *)text, (size_t)(at - text)};
}

/* Appends the terms of one field to the list. Returns the end of their bytes; NULL: they are
 * malformed. */
static const unsigned char *decode_terms(const unsigned char *at,
                                         const unsigned char *end,
                                         uint64_t count,
                                         int16_t field,
                                         struct forward_list *list)
{
    uint64_t term = 0;

    for (; count > 0; count--) {
        uint64_t delta;
        at = varint_get(at, end, &delta);
        if (!at || delta == 0 || delta > INT32_MAX || (term += delta) > INT32_MAX)
            return NULL;
        list->items[list->count++] = (struct forward_pair){(int32_t)term, field};
    }
    return at;
}

int forward_decode(struct arena *arena, struct str bytes, struct forward_list *ret_list)
{
    const unsigned char *at = (const unsigned char *)bytes.ptr;
    const unsigned char *end = at + bytes.len;
    struct forward_list list = {0};
    uint64_t field = 0;

    list.items = ARENA_ARRAY(arena, list.items, bytes.len + 1); /* a pair takes at least a byte */
    for (bool first = true; at < end; first = false) {
        uint64_t delta;
        uint64_t count = 0;
        at = varint_get(at, end, &delta);
        if (at)
            at = varint_get(at, end, &count);
        if (!at || delta > INT16_MAX || (field += delta) > INT16_MAX || (delta == 0 && !first) ||
            count == 0 || count > (size_t)(end - at))
            return FORWARD_BAD;
        at = decode_terms(at, end, count, (int16_t)field, &list);
        if (!at)
            return FORWARD_BAD;
    }
    *ret_list = list;
    return 0;
}

void forward_diff(struct arena *arena,
                  const struct forward_list *before,
                  const struct forward_list *now,
                  struct forward_list *ret_added,
                  struct forward_list *ret_gone)
{
    struct forward_list added = {0};
    struct forward_list gone = {0};
    size_t b = 0;
    size_t n = 0;

    added.items = arena_alloc(arena, (now->count + 1) * sizeof(*added.items));
    gone.items = arena_alloc(arena, (before->count + 1) * sizeof(*gone.items));
    while (b < before->count || n < now->count) {
        int order = b == before->count ? 1
                    : n == now->count  ? -1
                                       : pair_order(&before->items[b], &now->items[n]);
        if (order < 0)
            gone.items[gone.count++] = before->items[b++];
        else if (order > 0)
            added.items[added.count++] = now->items[n++];
        else
            b++, n++;
    }
    *ret_added = added;
    *ret_gone = gone;
}
