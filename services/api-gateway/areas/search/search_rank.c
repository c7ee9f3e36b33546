/* Ranks and counts posting lists; long lists on a thread of the pool. */
#include <errno.h>

#include "areas/search/search_lists.h"
#include "loop/work.h"
#include "search/principal.h"

enum { THREAD_BYTES = 1024 * 1024 }; /* of leaves; with more, other requests would wait too long */

/* --- ranking --- */

struct ranking {
    int (*add_lists)(const struct ranking *ranking); /* adds the lists that are ranked */
    const struct search_plan *plan;
    struct search_target *target;
    struct rank *rank;
    unsigned least;
    const struct search_expansion
        *completed_word;                     /* last word, whose terms are counted; NULL = none */
    const struct search_term *counted_terms; /* terms that are counted independently of the query */
    size_t counted_count;
    const struct search_field *guarded_field; /* guarded field whose lists are ranked */
    struct rank_result *ret;
    bool ignores_seen; /* `seen_ids` of guarded fields are not known yet */
    int rc;
};

/* Adds the ids of a list that are in field->seen_ids: the caller may find them by the field. */
static int rank_seen_ids(const struct ranking *ranking,
                         struct rank *rank,
                         struct rank_source from,
                         const struct search_list *list,
                         const struct search_field *field)
{
    struct arena *arena = ranking->plan->r->task.arena;
    int64_t *ids = ARENA_ARRAY(arena, ids, field->seen_id_count + 1);
    int64_t *leaf_ids = arena_alloc(arena, LEAF_IDS * sizeof(*leaf_ids));
    size_t count = 0;
    size_t at = 0;

    for (size_t i = 0; i < list->count; i++) {
        size_t leaf_count;
        TRY(leaf_decode(&list->leaves[i], leaf_ids, &leaf_count));
        for (size_t k = 0; k < leaf_count; k++) {
            while (at < field->seen_id_count && field->seen_ids[at] < leaf_ids[k])
                at++;
            if (at < field->seen_id_count && field->seen_ids[at] == leaf_ids[k])
                ids[count++] = leaf_ids[k];
        }
    }
    rank_ids(rank, from, ids, count);
    return 0;
}

/* Adds the term's list in the field, if one was read. `field` NULL: the list of a principal. */
static int rank_list_of_term(const struct ranking *ranking,
                             struct rank *rank,
                             struct rank_source from,
                             int64_t term,
                             const struct search_field *field)
{
    int64_t posting = field != NULL ? field->posting : PRINCIPAL_FIELD;
    const struct search_list *list = search_list_find(ranking->target->lists, term, posting);

    if (list == NULL)
        return 0;
    if (field != NULL && field->is_guarded && !ranking->ignores_seen)
        return rank_seen_ids(ranking, rank, from, list, field);
    rank_leaves(rank, from, list->leaves, list->count);
    return 0;
}

static int rank_whole_terms(const struct ranking *ranking,
                            const struct search_expansion *word,
                            const struct search_field *field,
                            enum rank_use use)
{
    for (size_t i = 0; i < word->whole_terms.count; i++) {
        const struct search_term *term = &word->whole_terms.items[i];
        if (term->cost >= RANK_ONE_TYPO && !field->typos)
            continue;
        struct rank_source from = {
            .use = use, .number = word->rank_position, .cost = term->cost, .field = field->rank};
        TRY(rank_list_of_term(ranking, ranking->rank, from, term->id, field));
    }
    return 0;
}

/* Adds each part of the word, even a part without lists: then no record matches the word. */
static int rank_parts(const struct ranking *ranking,
                      const struct search_expansion *word,
                      const struct search_field *field)
{
    unsigned code = word->word->kind == SEARCH_CODE ? RANK_PREFIX : RANK_EXACT;

    for (size_t i = 0; i < word->word->part_count; i++) {
        struct rank_source from = {.use = RANK_WORD,
                                   .number = word->rank_position,
                                   .part = (unsigned)i + 1,
                                   .field = field->rank};
        rank_ids(ranking->rank, from, NULL, 0);
        for (size_t k = 0; k < word->part_terms[i].count; k++) {
            const struct search_term *term = &word->part_terms[i].items[k];
            from.cost = term->cost > code ? term->cost : code;
            TRY(rank_list_of_term(ranking, ranking->rank, from, term->id, field));
        }
    }
    return 0;
}

static int rank_word(const struct ranking *ranking, const struct search_expansion *word)
{
    const struct search_target *target = ranking->target;

    for (size_t i = 0; i < target->field_count; i++) {
        if (!search_word_has_field(word->word, &target->fields[i]))
            continue;
        TRY(rank_whole_terms(ranking, word, &target->fields[i], RANK_WORD));
        TRY(rank_parts(ranking, word, &target->fields[i]));
    }
    return 0;
}

static int rank_rule(const struct ranking *ranking)
{
    const struct search_target *target = ranking->target;
    struct rank_source from = {.use = RANK_NEED};

    if (!target->has_row_rule)
        return 0;
    rank_ids(ranking->rank, from, target->visible_ids, target->visible_id_count); /* may be empty */
    for (size_t i = 0; i < target->principal_terms.count; i++)
        TRY(rank_list_of_term(
            ranking, ranking->rank, from, target->principal_terms.items[i].id, NULL));
    return 0;
}

static int rank_excluded_words(const struct ranking *ranking)
{
    const struct search_target *target = ranking->target;

    for (size_t i = 0; i < ranking->plan->excluded_word_count; i++)
        for (size_t k = 0; k < target->field_count; k++)
            if (search_word_has_field(ranking->plan->excluded_words[i].word, &target->fields[k]))
                TRY(rank_whole_terms(
                    ranking, &ranking->plan->excluded_words[i], &target->fields[k], RANK_NOT));
    return 0;
}

/* Adds a separate tally for each term, even for a term without lists. */
static int add_tallies(const struct ranking *ranking,
                       const struct search_term *terms,
                       size_t count,
                       const struct search_word *word)
{
    const struct search_target *target = ranking->target;

    for (size_t t = 0; t < count; t++) {
        const struct rank_source from = {.use = RANK_COUNTED, .number = (unsigned)t};
        rank_ids(ranking->rank, from, NULL, 0);
        for (size_t i = 0; i < target->field_count; i++)
            if (word == NULL || search_word_has_field(word, &target->fields[i]))
                TRY(rank_list_of_term(
                    ranking, ranking->rank, from, terms[t].id, &target->fields[i]));
    }
    return 0;
}

static int add_query_lists(const struct ranking *ranking)
{
    const struct search_plan *plan = ranking->plan;

    TRY(rank_rule(ranking));
    TRY(rank_excluded_words(ranking));
    for (size_t i = 0; i < plan->word_count; i++) {
        const struct search_expansion *word = &plan->words[i];

        if (word == ranking->completed_word)
            TRY(add_tallies(ranking, word->whole_terms.items, word->whole_terms.count, word->word));
        else
            TRY(rank_word(ranking, word));
    }
    return 0;
}

static void rank_job(void *arg)
{
    struct ranking *ranking = arg;
    struct rank_bounds bounds = {.min_words = ranking->least,
                                 .from = ranking->target->lists->lowest_id};

    ranking->rc = ranking->add_lists(ranking);
    if (ranking->rc == 0)
        ranking->rc = rank_run(ranking->rank, &bounds, ranking->ret);
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
        return search_fail_malformed(plan, ranking->target);
    return 0;
}

/* Returns a ranking of `words` words that keeps the best `limit` hits; arena-owned. */
static struct ranking *ranking_new(const struct search_plan *plan,
                                   struct search_target *target,
                                   size_t words,
                                   size_t limit)
{
    struct arena *arena = plan->r->task.arena;
    struct ranking *ranking = ARENA_NEW(arena, ranking);

    *ranking = (struct ranking){
        .plan = plan,
        .target = target,
        .rank = rank_new(arena, (unsigned)words, limit),
        .ret = &target->found,
        .add_lists = add_query_lists,
    };
    return ranking;
}

int search_rank_target(struct search_plan *plan, struct search_target *target, unsigned least)
{
    struct ranking *ranking = ranking_new(plan, target, plan->word_count, plan->limit);

    ranking->least = least;
    return run_ranking(plan, ranking);
}

int search_count_completions(struct search_plan *plan, struct search_target *target, int64_t *hits)
{
    struct ranking *ranking = ranking_new(plan, target, plan->word_count - 1, 0);
    const struct search_expansion *last = &plan->words[plan->word_count - 1];

    ranking->completed_word = last;
    TRY(run_ranking(plan, ranking));
    for (size_t i = 0; i < last->whole_terms.count; i++)
        hits[i] += (int64_t)target->found.group_counts[i];
    return 0;
}

/* --- terms counted independently of the query --- */

static int add_counted_terms(const struct ranking *ranking)
{
    TRY(rank_rule(ranking));
    return add_tallies(ranking, ranking->counted_terms, ranking->counted_count, NULL);
}

AWAITS static int count_in_target(struct search_plan *plan,
                                  struct search_target *target,
                                  const struct search_term *terms,
                                  size_t count,
                                  int64_t *hits)
{
    struct search_needed wanted = {.arena = plan->r->task.arena};
    struct search_terms all = {.items = (struct search_term *)terms, .count = count};

    search_want_terms(&wanted, &all, false);
    search_want_terms(&wanted, &all, true);
    search_want_terms(&wanted, &target->principal_terms, false);
    TRY(search_read_lists(plan, target, &wanted));
    TRY(search_fill_seen(plan, target));
    for (size_t from = 0; from < count; from += RANK_COUNTED_GROUPS) {
        struct ranking *ranking = ranking_new(plan, target, 0, 0);
        size_t left = count - from;
        ranking->add_lists = add_counted_terms;
        ranking->counted_terms = terms + from;
        ranking->counted_count = left < RANK_COUNTED_GROUPS ? left : RANK_COUNTED_GROUPS;
        TRY(run_ranking(plan, ranking));
        for (size_t i = 0; i < ranking->counted_count; i++)
            hits[from + i] += (int64_t)target->found.group_counts[i];
        TRY(task_yield_if_due(&plan->r->task));
    }
    return 0;
}

int search_count_terms(struct search_plan *plan,
                       const struct search_term *terms,
                       size_t count,
                       int64_t *hits)
{
    for (size_t i = 0; i < plan->target_count; i++) {
        struct search_target *target = &plan->targets[i];
        struct search_lists *lists = target->lists;
        target->lists = ARENA_NEW(plan->r->task.arena, target->lists);
        TRY(count_in_target(plan, target, terms, count, hits));
        target->lists = lists;
    }
    return 0;
}

/* --- relations to records that the caller may not see --- */

/* Adds all lists of the field, of any term, under the row rule of the target. */
static int add_field_lists(const struct ranking *ranking)
{
    const struct search_lists *lists = ranking->target->lists;

    TRY(rank_rule(ranking));
    for (size_t i = 0; i < lists->count; i++)
        if (lists->items[i].field == ranking->guarded_field->posting)
            TRY(rank_list_of_term(ranking,
                                  ranking->rank,
                                  (struct rank_source){.use = RANK_WORD},
                                  lists->items[i].term,
                                  ranking->guarded_field));
    return 0;
}

AWAITS static int
guard_field(struct search_plan *plan, struct search_target *target, struct search_field *field)
{
    const struct records_query everything = {.fields = STR_NONE};
    struct ranking *ranking = ranking_new(plan, target, 1, SEARCH_CHECKED_HITS);
    struct rank_result found;

    ranking->add_lists = add_field_lists;
    ranking->guarded_field = field;
    ranking->ignores_seen = true;
    ranking->ret = &found;
    TRY(run_ranking(plan, ranking));
    if (found.total > found.count)
        plan->is_total_exact = false;
    field->seen_id_count = 0;
    if (found.count == 0)
        return 0;
    int64_t *ids = ARENA_ARRAY(plan->r->task.arena, ids, found.count);
    for (size_t i = 0; i < found.count; i++)
        ids[i] = found.hits[found.count - 1 - i].id;
    const struct records_pick pick = {.ids = ids,
                                      .count = found.count,
                                      .visible_relation = &field->text,
                                      .query = &everything,
                                      .limit = (int64_t)found.count};
    return items_reply_error(
        plan->r,
        plan->ctx,
        records_pick_ids(
            plan->ctx, target->entity, &pick, &field->seen_ids, &field->seen_id_count));
}

int search_fill_seen(struct search_plan *plan, struct search_target *target)
{
    for (size_t i = 0; i < target->field_count; i++)
        if (target->fields[i].is_guarded)
            TRY(guard_field(plan, target, &target->fields[i]));
    return 0;
}

/* --- queries with only words to exclude --- */

static int add_excluded_words(const struct ranking *ranking)
{
    const struct search_plan *plan = ranking->plan;
    const struct search_target *target = ranking->target;

    TRY(rank_rule(ranking));
    for (size_t i = 0; i < plan->excluded_word_count; i++) {
        struct search_expansion word = plan->excluded_words[i];
        word.rank_position = 0;
        for (size_t k = 0; k < target->field_count; k++)
            if (search_word_has_field(word.word, &target->fields[k]))
                TRY(rank_whole_terms(ranking, &word, &target->fields[k], RANK_WORD));
    }
    return 0;
}

int search_find_excluded(struct search_plan *plan, struct search_target *target)
{
    struct ranking *ranking = ranking_new(plan, target, 1, SEARCH_CHECKED_HITS);

    TRY(search_read_target(plan, target));
    ranking->add_lists = add_excluded_words;
    ranking->ret = &target->excluded;
    TRY(run_ranking(plan, ranking));
    if (target->excluded.total > target->excluded.count)
        plan->is_total_exact = false;
    return 0;
}
