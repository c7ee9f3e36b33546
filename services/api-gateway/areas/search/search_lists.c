/* What the index proposes: lists read, ranked, on a thread when they are long. */
#include <errno.h>
#include <stdlib.h>

#include "areas/search/search.h"
#include "areas/search/search_bounds.h"
#include "loop/work.h"
#include "search/leaf.h"
#include "search/principal.h"
#include "search_sql.h"

enum {
    THREAD_BYTES = 1024 * 1024, /* of leaves: above it others wait too long */
    WIDER = 8                   /* the next window, when the one before was not enough */
};

/* Leaves of (term, field), by both and their base. */
struct search_list {
    int64_t term, field;
    struct leaf *leaves;
    size_t count;
};

struct search_lists {
    struct search_list *items;
    size_t count, cap;
    size_t bytes;
    int64_t from;     /* ids below were not read */
    bool early, late; /* those of terms that were added at first, and later, are there */
};

static int list_compare(const void *a, const void *b)
{
    const struct search_list *one = a;
    const struct search_list *other = b;

    if (one->term != other->term)
        return one->term < other->term ? -1 : 1;
    return one->field < other->field ? -1 : one->field > other->field;
}

/* --- reading --- */

struct wanted {
    struct arena *arena;
    const struct search_lists *there; /* whose terms are not wanted once more; may be NULL */
    int64_t *ids;
    size_t count, cap;
    int64_t postings; /* about so many */
};

static bool has_lists(const struct search_lists *lists, int64_t term)
{
    size_t low = 0;
    size_t high = lists->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (lists->items[middle].term < term)
            low = middle + 1;
        else
            high = middle;
    }
    return low < lists->count && lists->items[low].term == term;
}

/* Two words may stand for one term. */
static bool is_wanted(const struct wanted *wanted, int64_t id)
{
    for (size_t i = 0; i < wanted->count; i++)
        if (wanted->ids[i] == id)
            return true;
    return wanted->there != NULL && has_lists(wanted->there, id);
}

static void want_terms(struct wanted *wanted, const struct search_terms *terms, bool late)
{
    for (size_t i = 0; i < terms->count; i++)
        if (terms->items[i].late == late && !is_wanted(wanted, terms->items[i].id)) {
            ARENA_PUSH(wanted->arena, wanted->ids, wanted->count, wanted->cap, terms->items[i].id);
            wanted->postings += terms->items[i].df;
        }
}

static void want_word(struct wanted *wanted, const struct search_expansion *word, bool late)
{
    want_terms(wanted, &word->whole, late);
    for (size_t i = 0; i < word->word->part_count; i++)
        want_terms(wanted, &word->parts[i], late);
}

static void add_leaf(struct arena *arena,
                     struct search_lists *lists,
                     const struct sql_search_leaf_row *row,
                     struct leaf *leaf)
{
    struct search_list *last = lists->count > 0 ? &lists->items[lists->count - 1] : NULL;

    *leaf = (struct leaf){.base = row->base, .n = (int32_t)row->n, .docs = row->docs};
    lists->bytes += row->docs.len;
    if (last != NULL && last->leaves + last->count == leaf && last->term == row->term_id &&
        last->field == row->field) { /* of this read: a word may want again what another has */
        last->count++;
        return;
    }
    ARENA_PUSH(arena,
               lists->items,
               lists->count,
               lists->cap,
               (struct search_list){row->term_id, row->field, leaf, 1});
}

static struct sql_i64s search_postings_fields(struct arena *arena,
                                              const struct search_target *target)
{
    int64_t *fields = ARENA_ARRAY(arena, fields, target->field_count + 1);

    fields[0] = PRINCIPAL_FIELD;
    for (size_t i = 0; i < target->field_count; i++)
        fields[i + 1] = target->fields[i].posting;
    return sql_i64s(fields, target->field_count + 1);
}

AWAITS static int
read_lists(struct search_plan *plan, struct search_target *target, const struct wanted *wanted)
{
    struct arena *arena = plan->r->task.arena;
    struct sql_i64s fields = search_postings_fields(arena, target);
    struct sql_i64s terms = sql_i64s(wanted->ids, wanted->count);
    int64_t from = target->lists->from;
    struct rows rows;

    if (from == 0)
        TRY(sql_all(plan->r,
                    &rows,
                    SQL_SEARCH_LEAVES(.idx = target->idx, .term_ids = terms, .fields = fields)));
    else
        TRY(sql_all(plan->r,
                    &rows,
                    SQL_SEARCH_WINDOW(.idx = target->idx,
                                      .term_ids = terms,
                                      .fields = fields,
                                      .from = from)));
    struct leaf *leaves = ARENA_ARRAY(arena, leaves, rows.count + 1);
    for (size_t i = 0; i < rows.count; i++) {
        struct sql_search_leaf_row row = sql_search_leaf_row(arena, &rows, i);
        add_leaf(arena, target->lists, &row, &leaves[i]);
        TRY(task_yield_if_due(&plan->r->task));
    }
    if (target->lists->count > 0)
        qsort(target->lists->items,
              target->lists->count,
              sizeof(*target->lists->items),
              list_compare);
    return 0;
}

static void want_all(struct wanted *wanted,
                     const struct search_plan *plan,
                     const struct search_target *target,
                     bool late)
{
    for (size_t i = 0; i < plan->word_count; i++)
        want_word(wanted, &plan->words[i], late);
    for (size_t i = 0; i < plan->without_count; i++)
        want_word(wanted, &plan->without[i], late);
    want_terms(wanted, &target->rule, late);
}

int search_read(struct search_plan *plan, struct search_target *target)
{
    struct wanted wanted = {.arena = plan->r->task.arena};

    if (target->lists == NULL)
        target->lists = ARENA_NEW(plan->r->task.arena, target->lists);
    wanted.there = target->lists;
    if (!target->lists->early)
        want_all(&wanted, plan, target, false);
    if (plan->forgiving && !target->lists->late)
        want_all(&wanted, plan, target, true);
    target->lists->early = true;
    target->lists->late = plan->forgiving;
    if (wanted.count == 0)
        return 0;
    TRY(read_lists(plan, target, &wanted));
    return search_guard(plan, target);
}

static const struct search_list *
find_list(const struct search_lists *lists, int64_t term, int64_t field)
{
    const struct search_list wanted = {.term = term, .field = field};

    if (lists->count == 0)
        return NULL;
    return bsearch(&wanted, lists->items, lists->count, sizeof(wanted), list_compare);
}

/* --- ranking --- */

struct ranking {
    const struct search_plan *plan;
    struct search_target *target;
    struct rank *rank;
    unsigned least;
    const struct search_expansion *tallied; /* the last word: its terms are counted one by one */
    bool unguarded;                         /* it is being found out what guarded fields may show */
    int rc;
};

/* The ids of a list that are among those that the caller may find by the field. */
static int add_guarded(const struct ranking *ranking,
                       struct rank *rank,
                       struct rank_from from,
                       const struct search_list *list,
                       const struct search_field *field)
{
    struct arena *arena = ranking->plan->r->task.arena;
    int64_t *ids = ARENA_ARRAY(arena, ids, field->seen_count + 1);
    int64_t *leaf_ids = arena_alloc(arena, LEAF_IDS * sizeof(*leaf_ids));
    size_t count = 0;
    size_t at = 0;

    for (size_t i = 0; i < list->count; i++) {
        size_t leaf_count;
        TRY(leaf_decode(&list->leaves[i], leaf_ids, &leaf_count));
        for (size_t k = 0; k < leaf_count; k++) {
            while (at < field->seen_count && field->seen[at] < leaf_ids[k])
                at++;
            if (at < field->seen_count && field->seen[at] == leaf_ids[k])
                ids[count++] = leaf_ids[k];
        }
    }
    rank_ids(rank, from, ids, count);
    return 0;
}

/* `field` NULL: a list of a principal. */
static int add_found_list(const struct ranking *ranking,
                          struct rank *rank,
                          struct rank_from from,
                          int64_t term,
                          const struct search_field *field)
{
    int64_t posting = field != NULL ? field->posting : PRINCIPAL_FIELD;
    const struct search_list *list = find_list(ranking->target->lists, term, posting);

    if (list == NULL)
        return 0;
    if (field != NULL && field->guarded && !ranking->unguarded)
        return add_guarded(ranking, rank, from, list, field);
    rank_leaves(rank, from, list->leaves, list->count);
    return 0;
}

static bool is_searched(const struct search_word *word, const struct search_field *field)
{
    return word->field.len == 0 || str_eq(word->field, field->text.field->name);
}

static int rank_whole(const struct ranking *ranking,
                      const struct search_expansion *word,
                      const struct search_field *field,
                      enum rank_use use)
{
    for (size_t i = 0; i < word->whole.count; i++) {
        const struct search_term *term = &word->whole.items[i];
        if (term->cost >= RANK_ONE_TYPO && !field->typos)
            continue;
        struct rank_from from = {
            .use = use, .number = word->number, .cost = term->cost, .field = field->rank};
        TRY(add_found_list(ranking, ranking->rank, from, term->id, field));
    }
    return 0;
}

/* Each part is there even if no record has it: the word has none then. */
static int rank_parts(const struct ranking *ranking,
                      const struct search_expansion *word,
                      const struct search_field *field)
{
    unsigned code = word->word->kind == SEARCH_CODE ? RANK_PREFIX : RANK_EXACT;

    for (size_t i = 0; i < word->word->part_count; i++) {
        struct rank_from from = {.use = RANK_WORD,
                                 .number = word->number,
                                 .part = (unsigned)i + 1,
                                 .field = field->rank};
        rank_ids(ranking->rank, from, NULL, 0);
        for (size_t k = 0; k < word->parts[i].count; k++) {
            const struct search_term *term = &word->parts[i].items[k];
            from.cost = term->cost > code ? term->cost : code;
            TRY(add_found_list(ranking, ranking->rank, from, term->id, field));
        }
    }
    return 0;
}

static int rank_word(const struct ranking *ranking, const struct search_expansion *word)
{
    const struct search_target *target = ranking->target;

    for (size_t i = 0; i < target->field_count; i++) {
        if (!is_searched(word->word, &target->fields[i]))
            continue;
        TRY(rank_whole(ranking, word, &target->fields[i], RANK_WORD));
        TRY(rank_parts(ranking, word, &target->fields[i]));
    }
    return 0;
}

static int rank_rule(const struct ranking *ranking)
{
    const struct search_target *target = ranking->target;
    struct rank_from from = {.use = RANK_NEED};

    if (!target->ruled)
        return 0;
    rank_ids(ranking->rank, from, target->visible, target->visible_count); /* or none */
    for (size_t i = 0; i < target->rule.count; i++)
        TRY(add_found_list(ranking, ranking->rank, from, target->rule.items[i].id, NULL));
    return 0;
}

static int rank_without(const struct ranking *ranking)
{
    const struct search_target *target = ranking->target;

    for (size_t i = 0; i < ranking->plan->without_count; i++)
        for (size_t k = 0; k < target->field_count; k++)
            if (is_searched(ranking->plan->without[i].word, &target->fields[k]))
                TRY(rank_whole(ranking, &ranking->plan->without[i], &target->fields[k], RANK_NOT));
    return 0;
}

/* Each term by itself, also one that no record has. */
static int rank_tallies(const struct ranking *ranking, const struct search_expansion *word)
{
    const struct search_target *target = ranking->target;

    for (size_t t = 0; t < word->whole.count; t++) {
        const struct rank_from from = {.use = RANK_TALLY, .number = (unsigned)t};
        int64_t term = word->whole.items[t].id;
        rank_ids(ranking->rank, from, NULL, 0);
        for (size_t i = 0; i < target->field_count; i++)
            if (is_searched(word->word, &target->fields[i]))
                TRY(add_found_list(ranking, ranking->rank, from, term, &target->fields[i]));
    }
    return 0;
}

static int rank_all(struct ranking *ranking)
{
    const struct search_plan *plan = ranking->plan;
    struct rank_bounds bounds = {.least = ranking->least, .from = ranking->target->lists->from};

    TRY(rank_rule(ranking));
    TRY(rank_without(ranking));
    for (size_t i = 0; i < plan->word_count; i++)
        if (&plan->words[i] == ranking->tallied)
            TRY(rank_tallies(ranking, ranking->tallied));
        else
            TRY(rank_word(ranking, &plan->words[i]));
    return rank_run(ranking->rank, &bounds, &ranking->target->found);
}

static void rank_job(void *arg)
{
    struct ranking *ranking = arg;

    ranking->rc = rank_all(ranking);
}

AWAITS static int run_ranking(struct search_plan *plan, struct ranking *ranking)
{
    struct req *r = plan->r;
    int rc = 0;

    if (ranking->target->lists->bytes <= THREAD_BYTES)
        rank_job(ranking);
    else
        rc = work_run(&r->task, WORK_PARSE, rank_job, ranking);
    if (rc == -EAGAIN)
        return fail(r, PROBLEM_TOO_MANY_REQUESTS_IN_FLIGHT, NULL);
    TRY(rc);
    if (ranking->rc != 0)
        return search_broken(plan, ranking->target);
    return 0;
}

int search_rank(struct search_plan *plan, struct search_target *target, unsigned least)
{
    struct arena *arena = plan->r->task.arena;
    struct ranking *ranking = ARENA_NEW(arena, ranking);

    *ranking = (struct ranking){
        .plan = plan,
        .target = target,
        .rank = rank_new(arena, (unsigned)plan->word_count, plan->limit),
        .least = least,
    };
    return run_ranking(plan, ranking);
}

int search_tally(struct search_plan *plan, struct search_target *target, int64_t *hits)
{
    struct arena *arena = plan->r->task.arena;
    struct ranking *ranking = ARENA_NEW(arena, ranking);
    const struct search_expansion *last = &plan->words[plan->word_count - 1];

    *ranking = (struct ranking){
        .plan = plan,
        .target = target,
        .rank = rank_new(arena, (unsigned)plan->word_count - 1, 0),
        .tallied = last,
    };
    TRY(run_ranking(plan, ranking));
    for (size_t i = 0; i < last->whole.count; i++)
        hits[i] += (int64_t)target->found.tallies[i];
    return 0;
}

/* --- the newest first, where there are very many --- */

/* Where the window of the newest begins; 0 = they are few enough to be read whole. */
AWAITS static int
newest_from(struct search_plan *plan, const struct search_target *target, int64_t *ret_top)
{
    struct wanted wanted = {.arena = plan->r->task.arena};
    struct rows rows;

    want_all(&wanted, plan, target, false);
    if (plan->forgiving)
        want_all(&wanted, plan, target, true);
    *ret_top = 0;
    if (wanted.postings <= search_bounds_postings())
        return 0;
    TRY(sql_one(plan->r,
                &rows,
                SQL_SEARCH_TOP(.idx = target->idx,
                               .term_ids = sql_i64s(wanted.ids, wanted.count),
                               .fields = search_postings_fields(wanted.arena, target))));
    *ret_top = sql_search_top_row(&rows, 0).base;
    return 0;
}

static void begin_window(struct search_plan *plan, struct search_target *target, int64_t from)
{
    target->lists = ARENA_NEW(plan->r->task.arena, target->lists);
    target->lists->from = from > 0 ? from : 0;
}

int search_read_newest(struct search_plan *plan, struct search_target *target)
{
    int64_t top;

    TRY(newest_from(plan, target, &top));
    begin_window(plan, target, top - search_bounds_window());
    return search_read(plan, target);
}

/* The best that a word can match with: by terms and fields that have a list at all. Also where none
 * of it is in the window, there is its last leaf before that. */
static void best_of_word(const struct search_target *target,
                         const struct search_expansion *word,
                         struct rank_hit *best)
{
    unsigned cost = RANK_COST;
    unsigned rank = RANK_FIELD;

    for (size_t k = 0; k < target->field_count; k++) {
        const struct search_field *field = &target->fields[k];
        if (!is_searched(word->word, field))
            continue;
        if (word->word->part_count > 0) { /* no better than all parts in the best field */
            cost = RANK_EXACT;
            rank = field->rank < rank ? field->rank : rank;
        }
        for (size_t i = 0; i < word->whole.count; i++) {
            const struct search_term *term = &word->whole.items[i];
            if (term->cost > cost || (term->cost == cost && field->rank >= rank) ||
                find_list(target->lists, term->id, field->posting) == NULL)
                continue;
            cost = term->cost;
            rank = field->rank;
        }
    }
    best->cost = (uint8_t)(best->cost + cost);
    best->field = (uint16_t)(best->field + rank);
}

/* Nothing below the window can be better than what is found. */
static bool window_is_full(const struct search_plan *plan, const struct search_target *target)
{
    const struct rank_result *found = &target->found;
    struct rank_hit best = {.matched = (uint8_t)plan->word_count};

    if (found->count < plan->limit || found->count == 0)
        return false;
    for (size_t i = 0; i < plan->word_count; i++)
        best_of_word(target, &plan->words[i], &best);
    const struct rank_hit *last = &found->hits[found->count - 1];
    return last->matched == best.matched &&
           (last->cost < best.cost || (last->cost == best.cost && last->field <= best.field));
}

int search_look(struct search_plan *plan, struct search_target *target, unsigned least)
{
    int64_t top;

    TRY(newest_from(plan, target, &top));
    if (top <= search_bounds_window()) {
        if (target->lists != NULL && target->lists->from > 0)
            target->lists = NULL;
        TRY(search_read(plan, target));
        return search_rank(plan, target, least);
    }
    for (int64_t width = search_bounds_window();; width *= WIDER) {
        begin_window(plan, target, top - width);
        TRY(search_read(plan, target));
        TRY(search_rank(plan, target, least));
        if (target->lists->from == 0 || window_is_full(plan, target))
            return 0;
    }
}

/* --- relations to records that not everybody sees --- */

/* All that the lists of a field propose, for whatever word. */
static int propose(const struct search_plan *plan,
                   struct search_target *target,
                   const struct search_field *field,
                   struct rank_result *ret_result)
{
    struct rank *rank = rank_new(plan->r->task.arena, 1, SEARCH_LOOKS);
    const struct ranking ranking = {
        .plan = plan, .target = target, .rank = rank, .unguarded = true};

    for (size_t i = 0; i < target->lists->count; i++)
        if (target->lists->items[i].field == field->posting)
            TRY(add_found_list(&ranking,
                               rank,
                               (struct rank_from){.use = RANK_WORD},
                               target->lists->items[i].term,
                               field));
    return rank_run(rank, &(struct rank_bounds){0}, ret_result);
}

AWAITS static int
guard_field(struct search_plan *plan, struct search_target *target, struct search_field *field)
{
    const struct records_query everything = {.fields = STR_NONE};
    struct rank_result found;

    if (propose(plan, target, field, &found) != 0)
        return search_broken(plan, target);
    if (found.total > found.count)
        plan->complete = false;
    field->seen_count = 0;
    if (found.count == 0)
        return 0;
    int64_t *ids = ARENA_ARRAY(plan->r->task.arena, ids, found.count);
    for (size_t i = 0; i < found.count; i++)
        ids[i] = found.hits[found.count - 1 - i].id;
    const struct records_pick pick = {.ids = ids,
                                      .count = found.count,
                                      .seen = &field->text,
                                      .query = &everything,
                                      .limit = (int64_t)found.count};
    return items_check(
        plan->r,
        plan->ctx,
        records_pick_ids(plan->ctx, target->entity, &pick, &field->seen, &field->seen_count));
}

int search_guard(struct search_plan *plan, struct search_target *target)
{
    for (size_t i = 0; i < target->field_count; i++)
        if (target->fields[i].guarded)
            TRY(guard_field(plan, target, &target->fields[i]));
    return 0;
}

/* --- what is left out of everything --- */

static int collect_without(const struct search_plan *plan,
                           const struct search_target *target,
                           struct rank_result *ret_result)
{
    struct rank *rank = rank_new(plan->r->task.arena, 1, SEARCH_LOOKS);
    const struct ranking ranking = {
        .plan = plan, .target = (struct search_target *)target, .rank = rank};

    for (size_t i = 0; i < plan->without_count; i++) {
        struct search_expansion word = plan->without[i];
        word.number = 0;
        for (size_t k = 0; k < target->field_count; k++)
            if (is_searched(word.word, &target->fields[k]))
                TRY(rank_whole(&ranking, &word, &target->fields[k], RANK_WORD));
    }
    return rank_run(rank, &(struct rank_bounds){0}, ret_result);
}

int search_without(struct search_plan *plan,
                   struct search_target *target,
                   int64_t **ret_ids,
                   size_t *ret_count)
{
    struct rank_result found;

    TRY(search_read(plan, target));
    if (collect_without(plan, target, &found) != 0)
        return search_broken(plan, target);
    *ret_ids = ARENA_ARRAY(plan->r->task.arena, *ret_ids, found.count + 1);
    *ret_count = found.count;
    for (size_t i = 0; i < found.count; i++)
        (*ret_ids)[i] = found.hits[i].id;
    if (found.total > found.count)
        plan->complete = false;
    return 0;
}
