/* Ranks and counts posting lists; long lists on a thread of the pool. */
#include <errno.h>

#include "areas/search/search_lists.h"
#include "loop/work.h"
#include "search/principal.h"

enum { THREAD_BYTES = 1024 * 1024 }; /* of leaves; with more, other requests would wait too long */

/* --- ranking --- */

struct ranking {
    int (*add)(const struct ranking *ranking); /* adds the lists that are ranked */
    const struct search_plan *plan;
    struct search_target *target;
    struct rank *rank;
    unsigned least;
    const struct search_expansion *tallied; /* last word, whose terms are counted; NULL = none */
    const struct search_term *counted;      /* terms that are counted independently of the query */
    size_t counted_count;
    const struct search_field *proposing; /* guarded field whose lists are ranked */
    struct rank_result *ret;
    bool unguarded; /* `seen` of guarded fields is not known yet */
    int rc;
};

/* Adds the ids of a list that the caller may find by the field, because they are in field->seen. */
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

/* Adds the term's list in the field, if one was read. `field` NULL: the list of a principal. */
static int add_found_list(const struct ranking *ranking,
                          struct rank *rank,
                          struct rank_from from,
                          int64_t term,
                          const struct search_field *field)
{
    int64_t posting = field != NULL ? field->posting : PRINCIPAL_FIELD;
    const struct search_list *list = search_list_find(ranking->target->lists, term, posting);

    if (list == NULL)
        return 0;
    if (field != NULL && field->guarded && !ranking->unguarded)
        return add_guarded(ranking, rank, from, list, field);
    rank_leaves(rank, from, list->leaves, list->count);
    return 0;
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

/* Adds each part of the word, even a part without lists: then no record matches the word. */
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
        if (!search_is_meant(word->word, &target->fields[i]))
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
    rank_ids(ranking->rank, from, target->visible, target->visible_count); /* may be empty */
    for (size_t i = 0; i < target->rule.count; i++)
        TRY(add_found_list(ranking, ranking->rank, from, target->rule.items[i].id, NULL));
    return 0;
}

static int rank_without(const struct ranking *ranking)
{
    const struct search_target *target = ranking->target;

    for (size_t i = 0; i < ranking->plan->without_count; i++)
        for (size_t k = 0; k < target->field_count; k++)
            if (search_is_meant(ranking->plan->without[i].word, &target->fields[k]))
                TRY(rank_whole(ranking, &ranking->plan->without[i], &target->fields[k], RANK_NOT));
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
        const struct rank_from from = {.use = RANK_TALLY, .number = (unsigned)t};
        rank_ids(ranking->rank, from, NULL, 0);
        for (size_t i = 0; i < target->field_count; i++)
            if (word == NULL || search_is_meant(word, &target->fields[i]))
                TRY(add_found_list(ranking, ranking->rank, from, terms[t].id, &target->fields[i]));
    }
    return 0;
}

static int add_search(const struct ranking *ranking)
{
    const struct search_plan *plan = ranking->plan;
    const struct search_expansion *last = ranking->tallied;

    TRY(rank_rule(ranking));
    TRY(rank_without(ranking));
    for (size_t i = 0; i < plan->word_count; i++)
        if (&plan->words[i] == last)
            TRY(add_tallies(ranking, last->whole.items, last->whole.count, last->word));
        else
            TRY(rank_word(ranking, &plan->words[i]));
    return 0;
}

static void rank_job(void *arg)
{
    struct ranking *ranking = arg;
    struct rank_bounds bounds = {.least = ranking->least, .from = ranking->target->lists->from};

    ranking->rc = ranking->add(ranking);
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
        return search_broken(plan, ranking->target);
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
        .add = add_search,
    };
    return ranking;
}

int search_rank(struct search_plan *plan, struct search_target *target, unsigned least)
{
    struct ranking *ranking = ranking_new(plan, target, plan->word_count, plan->limit);

    ranking->least = least;
    return run_ranking(plan, ranking);
}

int search_tally(struct search_plan *plan, struct search_target *target, int64_t *hits)
{
    struct ranking *ranking = ranking_new(plan, target, plan->word_count - 1, 0);
    const struct search_expansion *last = &plan->words[plan->word_count - 1];

    ranking->tallied = last;
    TRY(run_ranking(plan, ranking));
    for (size_t i = 0; i < last->whole.count; i++)
        hits[i] += (int64_t)target->found.tallies[i];
    return 0;
}

/* --- terms counted independently of the query --- */

static int add_counted(const struct ranking *ranking)
{
    TRY(rank_rule(ranking));
    return add_tallies(ranking, ranking->counted, ranking->counted_count, NULL);
}

AWAITS static int count_in(struct search_plan *plan,
                           struct search_target *target,
                           const struct search_term *terms,
                           size_t count,
                           int64_t *hits)
{
    struct search_wanted wanted = {.arena = plan->r->task.arena};
    struct search_terms all = {.items = (struct search_term *)terms, .count = count};

    search_want_terms(&wanted, &all, false);
    search_want_terms(&wanted, &all, true);
    search_want_terms(&wanted, &target->rule, false);
    TRY(search_read_lists(plan, target, &wanted));
    TRY(search_guard(plan, target));
    for (size_t from = 0; from < count; from += RANK_TALLIES) {
        struct ranking *ranking = ranking_new(plan, target, 0, 0);
        size_t left = count - from;
        ranking->add = add_counted;
        ranking->counted = terms + from;
        ranking->counted_count = left < RANK_TALLIES ? left : RANK_TALLIES;
        TRY(run_ranking(plan, ranking));
        for (size_t i = 0; i < ranking->counted_count; i++)
            hits[from + i] += (int64_t)target->found.tallies[i];
        TRY(task_yield_if_due(&plan->r->task));
    }
    return 0;
}

int search_count(struct search_plan *plan,
                 const struct search_term *terms,
                 size_t count,
                 int64_t *hits)
{
    for (size_t i = 0; i < plan->target_count; i++) {
        struct search_target *target = &plan->targets[i];
        struct search_lists *lists = target->lists;
        target->lists = ARENA_NEW(plan->r->task.arena, target->lists);
        TRY(count_in(plan, target, terms, count, hits));
        target->lists = lists;
    }
    return 0;
}

/* --- relations to records that the caller may not see --- */

/* Adds all lists of the field, of any term, under the row rule of the target. */
static int add_proposed(const struct ranking *ranking)
{
    const struct search_lists *lists = ranking->target->lists;

    TRY(rank_rule(ranking));
    for (size_t i = 0; i < lists->count; i++)
        if (lists->items[i].field == ranking->proposing->posting)
            TRY(add_found_list(ranking,
                               ranking->rank,
                               (struct rank_from){.use = RANK_WORD},
                               lists->items[i].term,
                               ranking->proposing));
    return 0;
}

AWAITS static int
guard_field(struct search_plan *plan, struct search_target *target, struct search_field *field)
{
    const struct records_query everything = {.fields = STR_NONE};
    struct ranking *ranking = ranking_new(plan, target, 1, SEARCH_LOOKS);
    struct rank_result found;

    ranking->add = add_proposed;
    ranking->proposing = field;
    ranking->unguarded = true;
    ranking->ret = &found;
    TRY(run_ranking(plan, ranking));
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

/* --- queries with only words to exclude --- */

static int add_without(const struct ranking *ranking)
{
    const struct search_plan *plan = ranking->plan;
    const struct search_target *target = ranking->target;

    TRY(rank_rule(ranking));
    for (size_t i = 0; i < plan->without_count; i++) {
        struct search_expansion word = plan->without[i];
        word.number = 0;
        for (size_t k = 0; k < target->field_count; k++)
            if (search_is_meant(word.word, &target->fields[k]))
                TRY(rank_whole(ranking, &word, &target->fields[k], RANK_WORD));
    }
    return 0;
}

int search_leave_out(struct search_plan *plan, struct search_target *target)
{
    struct ranking *ranking = ranking_new(plan, target, 1, SEARCH_LOOKS);

    TRY(search_read(plan, target));
    ranking->add = add_without;
    ranking->ret = &target->left_out;
    TRY(run_ranking(plan, ranking));
    if (target->left_out.total > target->left_out.count)
        plan->complete = false;
    return 0;
}
