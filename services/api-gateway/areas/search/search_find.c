/* Finds hits for words: first as typed, with the last word as a prefix; then with typos and all
 * words as prefixes; then with fewer words. */
#include "areas/search/search.h"

/* Ranks all targets once. The total counts only hits under the caller's rules, so records that the
 * caller may not see do not decide whether typos are excused or words dropped. */
AWAITS static int rank_targets(struct search_plan *plan, unsigned least)
{
    plan->total = 0;
    for (size_t i = 0; i < plan->target_count; i++) {
        TRY(search_read_and_rank(plan, &plan->targets[i], least));
        plan->total += (int64_t)plan->targets[i].found.total;
    }
    return 0;
}

static bool can_forgive(const struct search_plan *plan)
{
    for (size_t i = 0; i < plan->word_count; i++) {
        const struct search_word *word = plan->words[i].word;
        if (search_can_be_prefix(&plan->words[i]) || word->bare_bytes > 0 ||
            (plan->settings.typos && word->kind == SEARCH_WORD && word->typos > 0))
            return true;
    }
    return false;
}

int search_find_hits(struct search_plan *plan)
{
    if (plan->query.count == 0)
        return 0;
    TRY(search_expand_words(plan));
    unsigned all = (unsigned)plan->word_count;
    unsigned least = plan->phrase_count > 0 ? (unsigned)plan->phrase_count : 1;
    TRY(rank_targets(plan, all));
    if (plan->total < SEARCH_MIN_HITS && can_forgive(plan)) {
        TRY(search_add_fallbacks(plan));
        TRY(rank_targets(plan, all));
    }
    if (plan->total < SEARCH_MIN_HITS && least < all) {
        plan->may_drop_words = true;
        TRY(rank_targets(plan, least));
    }
    for (size_t i = 0; i < plan->target_count; i++)
        plan->is_total_exact = plan->is_total_exact && plan->targets[i].found.from == 0;
    return 0;
}

double search_score(const struct search_plan *plan, const struct rank_hit *hit)
{
    double matched = hit->matched;
    double fields = (double)hit->field / (matched * (RANK_FIELD + 1));

    if (plan->word_count == 0 || hit->matched == 0)
        return 1;
    return (matched - (hit->cost + fields) / (3 * matched + 1)) / (double)plan->word_count;
}
