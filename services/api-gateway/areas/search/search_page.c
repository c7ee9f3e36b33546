/* Orders the hits, as far as their texts decide the order, and fetches the records of the page. */
#include "areas/search/search_page.h"

#include <stdlib.h>

enum {
    EXTRA_HITS = 2,  /* hits fetched in addition to the page, in case records were deleted */
    SIGN_BYTES = 16, /* bytes of signs around a word */
    FOLD_FACTOR = 3, /* maximum bytes of text that fold to one byte of a term */
    TEXT_CHUNK_BYTES = 256 * 1024 /* of a chunk of texts */
};

/* --- order --- */

/* Compares by the index alone; returns 0 if the texts decide the order. */
static int level_compare(const struct rank_hit *one, const struct rank_hit *other)
{
    if (one->matched != other->matched)
        return other->matched - one->matched;
    if (one->cost != other->cost)
        return one->cost - other->cost;
    return one->field - other->field;
}

static int found_compare(const void *a, const void *b)
{
    const struct search_hit *one = a;
    const struct search_hit *other = b;
    int order = level_compare(&one->hit, &other->hit);

    if (order != 0)
        return order;
    if (one->closeness != other->closeness)
        return other->closeness - one->closeness;
    if (one->hit.id != other->hit.id)
        return one->hit.id > other->hit.id ? -1 : 1;
    return one->target < other->target ? -1 : one->target > other->target;
}

/* Sorts the first `count` hits. Checks first whether they are in order already, as hits of a single
 * entity usually are. */
static void sort_found(struct search_answer *showing, size_t count)
{
    struct search_hit *found = showing->found;
    size_t at = 1;

    while (at < count && found_compare(&found[at - 1], &found[at]) < 0)
        at++;
    if (at < count)
        qsort(found, count, sizeof(*found), found_compare);
}

void search_answer_merge(struct search_answer *showing)
{
    struct search_plan *plan = showing->plan;
    size_t count = 0;

    for (size_t i = 0; i < plan->target_count; i++)
        count += plan->targets[i].found.count;
    showing->found = ARENA_ARRAY(plan->r->task.arena, showing->found, count + 1);
    for (size_t i = 0; i < plan->target_count; i++)
        for (size_t k = 0; k < plan->targets[i].found.count; k++)
            showing->found[showing->count++] = (struct search_hit){
                .target = &plan->targets[i], .hit = plan->targets[i].found.hits[k]};
    sort_found(showing, showing->count);
}

/* --- marks --- */

static void add_marks(struct highlighter *marks, const struct search_expansion *word, size_t at)
{
    for (size_t i = 0; i < word->whole_terms.count; i++)
        highlight_add(marks, at, word->whole_terms.items[i].text);
}

void search_answer_mark(struct search_answer *showing)
{
    struct search_plan *plan = showing->plan;
    struct arena *arena = plan->r->task.arena;

    showing->highlighter = highlight_new(arena, &plan->query);
    for (size_t i = 0; i < plan->word_count; i++)
        add_marks(showing->highlighter, &plan->words[i], plan->words[i].query_position);
}

bool search_answer_has_phrases(const struct search_answer *showing, const struct search_hit *found)
{
    const struct search_plan *plan = showing->plan;
    uint32_t wanted = 0;

    for (size_t i = 0; i < plan->phrase_count; i++)
        wanted |= 1U << plan->words[i].query_position;
    for (size_t i = 0; i < found->target->field_count; i++) {
        struct str text = search_hit_text(found, i);
        if (text.len > 0)
            wanted &=
                ~highlight_field(
                     showing->highlighter, found->target->fields[i].text.field->name, text, NULL)
                     .words;
    }
    return wanted == 0;
}

static int found_closeness(const struct search_answer *showing, const struct search_hit *found)
{
    int best = 0;

    for (size_t i = 0; i < found->target->field_count && best < 2; i++) {
        struct str text = search_hit_text(found, i);
        if (text.len == 0)
            continue;
        struct highlight_match match =
            highlight_order(showing->highlighter, found->target->fields[i].text.field->name, text);
        if (match.equals)
            best = 2;
        else if (match.adjacent && best == 0)
            best = 1;
    }
    return best;
}

/* --- fetching --- */

enum fetched { FETCH_RECORDS = 1, FETCH_TEXTS = 2 };

struct str search_hit_text(const struct search_hit *found, size_t field)
{
    return found->texts != NULL ? records_picked_text(found->texts, found->text_row, field)
                                : STR_NONE;
}

const struct records_text *search_answer_texts(const struct search_plan *plan,
                                               const struct search_target *target)
{
    struct records_text *texts = ARENA_ARRAY(plan->r->task.arena, texts, target->field_count + 1);

    for (size_t i = 0; i < target->field_count; i++)
        texts[i] = target->fields[i].text;
    return texts;
}

struct picked_row {
    int64_t id;
    size_t row;
};

static int picked_row_compare(const void *a, const void *b)
{
    int64_t one = ((const struct picked_row *)a)->id;
    int64_t other = ((const struct picked_row *)b)->id;

    return one < other ? -1 : one > other;
}

static const struct picked_row *rows_by_id(struct arena *arena, const struct records_picked *picked)
{
    struct picked_row *rows = ARENA_ARRAY(arena, rows, picked->count + 1);

    for (size_t row = 0; row < picked->count; row++)
        rows[row] = (struct picked_row){.id = records_picked_id(picked, row), .row = row};
    if (picked->count > 0)
        qsort(rows, picked->count, sizeof(*rows), picked_row_compare);
    return rows;
}

/* Fetches the hits of one target among found[from, to). Returns a result of records.h. */
AWAITS static int fetch_target_hits(const struct search_answer *showing,
                                    struct search_target *target,
                                    const struct records_query *query,
                                    unsigned fetched,
                                    size_t from,
                                    size_t to)
{
    struct search_plan *plan = showing->plan;
    struct arena *arena = plan->r->task.arena;
    struct records_picked *picked = ARENA_NEW(arena, picked);
    int64_t *ids = ARENA_ARRAY(arena, ids, to - from + 1);
    size_t count = 0;
    size_t whole = 0;

    for (size_t i = from; i < to; i++) {
        if (showing->found[i].target == target)
            ids[count++] = showing->found[i].hit.id;
        whole = i < showing->unfiltered_end ? count : whole;
    }
    if (count == 0 && query->fields.ptr == NULL && query->expand.ptr == NULL)
        return 0; /* otherwise records_pick() validates `fields` and `expand` even without ids */
    const struct records_pick pick = {
        .ids = ids,
        .count = count,
        .query = query,
        .texts = search_answer_texts(plan, target),
        .text_count = fetched & FETCH_TEXTS ? target->field_count : 0,
        .unrestricted_count = whole,
        .most_bytes =
            showing->equal_bytes > 0 ? (int64_t)showing->equal_bytes * FOLD_FACTOR + SIGN_BYTES : 0,
        .most_ascii_bytes = (int64_t)showing->equal_bytes + SIGN_BYTES,
        .limit = (int64_t)count,
    };
    TRY(records_pick(plan->ctx, target->entity, &pick, picked));
    const struct picked_row *rows = rows_by_id(arena, picked);
    for (size_t i = from; i < to && picked->count > 0; i++) {
        struct search_hit *found = &showing->found[i];
        const struct picked_row wanted = {.id = found->hit.id};
        const struct picked_row *row =
            found->target == target
                ? bsearch(&wanted, rows, picked->count, sizeof(*rows), picked_row_compare)
                : NULL;
        if (row == NULL)
            continue;
        if (fetched & FETCH_RECORDS) {
            found->picked = picked;
            found->row = row->row;
        }
        if (fetched & FETCH_TEXTS) {
            found->texts = picked;
            found->text_row = row->row;
        }
    }
    return 0;
}

/* Fetches found[from, to). `picked` and `texts` stay NULL for records that the caller may not see.
 * Returns a result of records.h. */
AWAITS static int fetch_hits(const struct search_answer *showing,
                             const struct records_query *query,
                             unsigned fetched,
                             size_t from,
                             size_t to)
{
    for (size_t i = 0; i < showing->plan->target_count; i++)
        TRY(fetch_target_hits(showing, &showing->plan->targets[i], query, fetched, from, to));
    return 0;
}

/* Fetches records, with their texts unless texts are read in chunks or the query has no words. */
AWAITS static int fetch_records(const struct search_answer *showing,
                                const struct records_query *query,
                                size_t from,
                                size_t to)
{
    bool texts = !showing->reads_chunks && showing->plan->word_count > 0;

    return fetch_hits(
        showing, query, texts ? FETCH_RECORDS | FETCH_TEXTS : FETCH_RECORDS, from, to);
}

/* --- texts in chunks --- */

bool search_answer_clear_too_large(const struct search_answer *showing, int rc)
{
    struct records_error *error = &showing->plan->ctx->error;
    bool is_large = rc == RECORDS_FAILED && error->code == PROBLEM_TOO_LARGE_ANSWER;

    if (is_large)
        *error = (struct records_error){0};
    return is_large;
}

AWAITS static int
measure_target(struct search_answer *showing, struct search_target *target, size_t from, size_t to)
{
    const struct records_query everything = {.fields = STR_NONE};
    struct search_plan *plan = showing->plan;
    struct arena *arena = plan->r->task.arena;
    int64_t *ids = ARENA_ARRAY(arena, ids, to - from + 1);
    int64_t *bytes = ARENA_ARRAY(arena, bytes, to - from + 1);
    size_t count = 0;

    for (size_t i = from; i < to; i++)
        if (showing->found[i].target == target)
            ids[count++] = showing->found[i].hit.id;
    if (count == 0)
        return 0;
    const struct records_pick pick = {
        .ids = ids,
        .count = count,
        .query = &everything,
        .texts = search_answer_texts(plan, target),
        .text_count = target->field_count,
        .limit = (int64_t)count,
    };
    TRY(items_reply_error(
        plan->r, plan->ctx, records_pick_sizes(plan->ctx, target->entity, &pick, bytes)));
    for (size_t i = to; i-- > from;)
        if (showing->found[i].target == target)
            showing->found[i].bytes = bytes[--count];
    return 0;
}

int search_answer_measure_texts(struct search_answer *showing, size_t from, size_t to)
{
    for (size_t i = 0; i < showing->plan->target_count; i++)
        TRY(measure_target(showing, &showing->plan->targets[i], from, to));
    return 0;
}

static void chunk_free(void *arg)
{
    struct search_answer *showing = arg;

    arena_free(showing->chunk_arena);
    showing->chunk_arena = NULL;
}

/* Reads texts into a separate arena, which is freed with the next chunk or at the request's end. An
 * error is allocated in this arena too, so it has to be answered before the next chunk. */
AWAITS static int read_text_chunk(struct search_answer *showing, size_t from, size_t to)
{
    const struct records_query ids_only = {.fields = STR("id")};
    struct task *task = &showing->plan->r->task;
    struct arena *own = task->arena;

    if (showing->chunk_arena == NULL)
        arena_defer(own, chunk_free, showing);
    chunk_free(showing);
    for (size_t i = 0; i < showing->count; i++)
        showing->found[i].texts = NULL;
    task->arena = showing->chunk_arena = arena_new(0);
    int rc = fetch_hits(showing, &ids_only, FETCH_TEXTS, from, to);
    task->arena = own;
    return rc;
}

int search_answer_read_chunk(struct search_answer *showing, size_t from, size_t to, size_t *ret_end)
{
    int64_t bytes = 0;
    size_t end = from;

    while (end < to && (end == from || bytes + showing->found[end].bytes <= TEXT_CHUNK_BYTES))
        bytes += showing->found[end++].bytes;
    if (showing->chunk_bytes_total + bytes > SEARCH_BYTES) {
        showing->has_unread_texts = true;
        *ret_end = to;
        return 0;
    }
    showing->chunk_bytes_total += bytes;
    *ret_end = end;
    int rc = read_text_chunk(showing, from, end);
    if (search_answer_clear_too_large(showing, rc)) {
        showing->has_unread_texts = true;
        return 0;
    }
    return items_reply_error(showing->plan->r, showing->plan->ctx, rc);
}

/* Removes the hits of found[from, to) whose records the caller may not see, or that were deleted
 * since they were indexed. */
static void drop_missing(struct search_answer *showing, size_t from, size_t to)
{
    size_t kept_count = from;

    for (size_t i = from; i < to; i++)
        if (showing->found[i].picked != NULL)
            showing->found[kept_count++] = showing->found[i];
    for (size_t i = to; i < showing->count; i++)
        showing->found[kept_count + i - to] = showing->found[i];
    showing->count -= to - kept_count;
}

static size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Returns the end of the hits in found[last, to) that have the same level as found[last - 1]
 * (level_compare()). Only these hits can move before found[last] when texts decide the order. */
static size_t equal_level_end(const struct search_answer *showing, size_t last, size_t to)
{
    while (last > 0 && to > last &&
           level_compare(&showing->found[last - 1].hit, &showing->found[to - 1].hit) != 0)
        to--;
    return to;
}

/* Sorts the first `window` hits by their texts too. Hits whose texts were not fetched keep
 * closeness 0. */
AWAITS static int order_window(struct search_answer *showing, size_t window)
{
    for (size_t i = 0; i < window; i++) {
        if (showing->found[i].texts != NULL)
            showing->found[i].closeness = found_closeness(showing, &showing->found[i]);
        TRY(task_yield_if_due(&showing->plan->r->task));
    }
    sort_found(showing, window);
    return 0;
}

/* For a query of one term: returns the length in bytes of a text that equals the query, because
 * only such texts change the order of the index. Returns 0 if all texts may change the order. */
static size_t query_equal_bytes(const struct search_plan *plan)
{
    const struct search_word *word = &plan->query.words[0];

    if (plan->query.count != 1 || word->part_count > 1)
        return 0;
    for (size_t i = 0; i < plan->target_count; i++)
        for (size_t k = 0; k < plan->targets[i].field_count; k++)
            if (plan->targets[i].fields[k].text.shown != NULL)
                return 0;
    return word->text.len > word->term.len ? word->text.len : word->term.len;
}

static bool are_all_picked(const struct search_answer *showing, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        if (showing->found[i].picked == NULL)
            return false;
    return true;
}

enum { FILL_TRIES = 8 };

/* Fetches hits that moved onto the page because hits before them moved away or were removed. */
AWAITS static int
fill_page(struct search_answer *showing, const struct records_query *query, size_t end)
{
    struct search_plan *plan = showing->plan;

    for (unsigned i = 0;; i++) {
        showing->end = min_size(end, showing->count);
        if (are_all_picked(showing, showing->first, showing->end))
            return 0;
        if (i == FILL_TRIES)
            break;
        TRY(items_reply_error(
            plan->r, plan->ctx, fetch_records(showing, query, showing->first, showing->end)));
        drop_missing(showing, showing->first, showing->end);
    }
    showing->end = showing->first; /* records are deleted faster than they can be read */
    return 0;
}

static void clear_fetched(struct search_answer *showing, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        showing->found[i].picked = NULL;
        showing->found[i].texts = NULL;
    }
}

int search_answer_fetch_page(struct search_answer *showing)
{
    const struct search_params *params = showing->params;
    struct search_plan *plan = showing->plan;
    size_t first = (size_t)params->first;
    size_t end = (size_t)params->end;
    bool in_window = first < SEARCH_WINDOW && plan->word_count > 0;
    size_t from = in_window ? 0 : min_size(first, showing->count);
    size_t to = in_window && end + EXTRA_HITS < SEARCH_WINDOW ? SEARCH_WINDOW : end + EXTRA_HITS;
    const struct records_query whole = {.fields = params->records.fields,
                                        .expand = params->records.expand};

    to = equal_level_end(
        showing, min_size(end + EXTRA_HITS, showing->count), min_size(to, showing->count));
    showing->unfiltered_end = min_size(end + EXTRA_HITS, to);
    showing->equal_bytes = in_window ? query_equal_bytes(plan) : 0;
    int rc = fetch_records(showing, &whole, from, to);
    if (in_window &&
        search_answer_clear_too_large(showing, rc)) { /* only the page, in the order of the index */
        clear_fetched(showing, from, to);
        in_window = false;
        showing->equal_bytes = 0;
        from = min_size(first, showing->count);
        to = min_size(end, showing->count);
        rc = fetch_records(showing, &whole, from, to);
    }
    if (plan->word_count > 0 && search_answer_clear_too_large(showing, rc)) {
        clear_fetched(showing, from, to);
        showing->reads_chunks = true;
        rc = fetch_records(showing, &whole, from, to);
    }
    TRY(items_reply_error(plan->r, plan->ctx, rc));
    size_t before = showing->count;
    drop_missing(showing, from, showing->equal_bytes > 0 ? showing->unfiltered_end : to);
    showing->equal_bytes = 0;
    to -= before - showing->count;
    if (in_window)
        TRY(order_window(showing, min_size(SEARCH_WINDOW, to)));
    showing->first = min_size(first, showing->count);
    TRY(fill_page(showing, &whole, end));
    showing->first = min_size(first, showing->count);
    showing->has_next = showing->count > end;
    return 0;
}
