/* Very long lists: reads the newest records first, then more records, until no older record can be
 * a better hit. */
#include "areas/search/search_bounds.h"
#include "areas/search/search_lists.h"
#include "search_sql.h"

enum {
    WINDOW_FACTOR = 8, /* factor by which the next window is wider */
    RULED_FACTOR = 32, /* multiple that is read whole for a caller that does not see all records */
    POSTING_BYTES = 2  /* approximate size of an entry */
};

/* Returns the number of entries up to which lists are read whole. A caller that does not see all
 * records must not learn how many entries exist, so its totals are exact up to RULED_FACTOR times
 * as many entries. */
int64_t search_whole_limit(const struct search_plan *plan)
{
    int64_t most = search_bounds_postings() * (plan->sees_all ? 1 : RULED_FACTOR);
    int64_t left = plan->bytes < SEARCH_BYTES ? (int64_t)(SEARCH_BYTES - plan->bytes) : 0;

    return most < left / POSTING_BYTES ? most : left / POSTING_BYTES;
}

/* Sets *ret_top to the highest base of the needed lists; 0 = the lists are short enough to be read
 * whole. */
AWAITS static int
newest_window_top(struct search_plan *plan, const struct search_target *target, int64_t *ret_top)
{
    struct search_needed wanted = {.arena = plan->r->task.arena};
    struct rows rows;
    struct sql_i64s fields;

    search_want_all(&wanted, plan, target, false);
    if (plan->is_forgiving)
        search_want_all(&wanted, plan, target, true);
    *ret_top = 0;
    if (wanted.postings <= search_whole_limit(plan))
        return 0;
    fields = search_postings_fields(wanted.arena, target);
    TRY(sql_one(plan->r,
                &rows,
                SQL_SEARCH_TOP(.idx = target->idx,
                               .term_ids = sql_i64s(wanted.ids, wanted.count),
                               .terms = (int64_t)wanted.count,
                               .fields = fields,
                               .lists = (int64_t)fields.count)));
    *ret_top = sql_search_top_row(&rows, 0).base;
    return 0;
}

static void begin_window(struct search_plan *plan, struct search_target *target, int64_t from)
{
    target->lists = ARENA_NEW(plan->r->task.arena, target->lists);
    target->lists->lowest_id = from > 0 ? from : 0;
}

int search_read_newest_lists(struct search_plan *plan, struct search_target *target)
{
    int64_t top;

    TRY(newest_window_top(plan, target, &top));
    if (top > 0 || target->lists == NULL)
        begin_window(plan, target, top - search_bounds_window());
    return search_read_target(plan, target);
}

/* The best cost and field that one word can match with. */
struct best_match {
    unsigned cost, field;
};

static void best_match_offer(struct best_match *best, unsigned cost, unsigned field)
{
    if (cost < best->cost || (cost == best->cost && field < best->field))
        *best = (struct best_match){cost, field};
}

/* Offers the best match of a word in a field, by the terms that have a list in the field. Each list
 * is known: if none of its leaves is in the window, its last leaf before the window was read. */
static void offer_field(const struct search_target *target,
                        const struct search_expansion *word,
                        const struct search_field *field,
                        struct best_match *best)
{
    if (word->word->part_count > 0) /* at best all parts are in this field */
        best_match_offer(
            best, word->word->kind == SEARCH_CODE ? RANK_PREFIX : RANK_EXACT, field->rank);
    for (size_t i = 0; i < word->whole_terms.count; i++) {
        const struct search_term *term = &word->whole_terms.items[i];
        if ((term->cost < RANK_ONE_TYPO || field->typos) &&
            search_list_find(target->lists, term->id, field->posting) != NULL)
            best_match_offer(best, term->cost, field->rank);
    }
}

/* Returns whether no record below the window can be better than the hits found. */
static bool is_window_sufficient(const struct search_plan *plan, const struct search_target *target)
{
    const struct rank_result *found = &target->found;
    struct rank_hit best = {.matched = (uint8_t)plan->word_count};

    if (found->count < plan->limit || found->count == 0)
        return false;
    for (size_t i = 0; i < plan->word_count; i++) {
        struct best_match match = {RANK_COST, RANK_FIELD};
        for (size_t k = 0; k < target->field_count; k++)
            if (search_word_has_field(plan->words[i].word, &target->fields[k]))
                offer_field(target, &plan->words[i], &target->fields[k], &match);
        best.cost = (uint8_t)(best.cost + match.cost);
        best.field = (uint16_t)(best.field + match.field);
    }
    const struct rank_hit *last = &found->hits[found->count - 1];
    return last->matched == best.matched &&
           (last->cost < best.cost || (last->cost == best.cost && last->field <= best.field));
}

int search_read_and_rank(struct search_plan *plan, struct search_target *target, unsigned least)
{
    int64_t top;

    TRY(newest_window_top(plan, target, &top));
    if (top <= search_bounds_window()) {
        if (target->lists != NULL && target->lists->lowest_id > 0)
            target->lists = NULL;
        TRY(search_read_target(plan, target));
        return search_rank_target(plan, target, least);
    }
    for (int64_t width = search_bounds_window();; width *= WINDOW_FACTOR) {
        begin_window(plan, target, top - width);
        TRY(search_read_target(plan, target));
        TRY(search_rank_target(plan, target, least));
        if (target->lists->lowest_id == 0 || is_window_sufficient(plan, target) ||
            plan->bytes + target->lists->bytes * WINDOW_FACTOR > SEARCH_BYTES)
            return 0;
    }
}
