/*
 * Bytes that the database may return: a leaf (after a byte for its base and one for its number), a
 * row of the lexicon, a forward list. The reader parses or refuses each, and a parsed one can be
 * written again.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/panic.h"
#include "search/docset_private.h"
#include "search/forward.h"
#include "search/leaf.h"
#include "search/lexicon.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_leaf(struct arena *arena, const struct leaf *leaf)
{
    int64_t *ids = arena_alloc(arena, LEAF_IDS * sizeof(*ids));
    const struct docset_window window = {64, 1024};
    uint64_t *set = docset_new(arena, &window);
    struct leaves leaves;
    size_t count;

    int rc = leaf_decode(leaf, ids, &count);
    MUST(docset_leaf(set, &window, leaf) == rc && leaf_valid(leaf) == (rc == 0));
    if (rc != 0)
        return;
    uint64_t *same = docset_new(arena, &window);
    docset_ids(same, &window, ids, count);
    MUST(memcmp(set, same, window.span / 8) == 0);
    MUST(leaf_change(arena, leaf, NULL, 0, ids, count / 2, &leaves) == 0);
    size_t left = 0;
    for (size_t i = 0; i < leaves.count; i++) {
        MUST(leaf_valid(&leaves.items[i]));
        left += (size_t)leaves.items[i].n;
    }
    MUST(left == count - count / 2);
}

static void read_lexicon(struct arena *arena, struct str row)
{
    struct lexicon_best best[2];
    struct lexicon_term term;
    struct str changed;
    bool found;

    lexicon_best_init(&best[0], arena, 4);
    lexicon_best_init(&best[1], arena, 4);
    int rc = lexicon_find(row, 7, &term, &found);
    MUST(lexicon_scan(row, STR("chairs"), 2, best) == lexicon_scan_prefix(row, STR("c"), best));
    if (rc == 0 && found) {
        MUST(lexicon_remove(arena, row, 7, &changed) == 0);
        MUST(changed.len + 6 + term.term.len == row.len);
    }
}

static void read_forward(struct arena *arena, struct str bytes)
{
    struct forward_list list;

    if (forward_decode(arena, bytes, &list) == 0)
        MUST(str_eq(forward_encode(arena, &list), bytes));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_new(0);
    struct str bytes = {(const char *)data, size};

    if (size > 2)
        read_leaf(arena, &(struct leaf){data[0], data[1], {bytes.ptr + 2, size - 2}});
    read_lexicon(arena, bytes);
    read_forward(arena, bytes);
    arena_free(arena);
    return 0;
}
