/* Finds hits for words: first as typed, with the last word as a prefix; then with typos and all
 * words as prefixes; then with fewer words. */
#include "areas/search/search.h"

/* Ranks all targets once. The total counts only hits under the caller's rules, so records that the
 * caller may not see do not decide whether typos are excused or words dropped. */
AWAITS static int find_once(struct search_plan *plan, unsigned least)
{
    plan->total = 0;
    for (size_t i = 0; i < plan->target_count; i++) {
        TRY(search_look(plan, &plan->targets[i], least));
        plan->total += (int64_t)plan->targets[i].found.total;
    }
    return 0;
}

static bool can_forgive(const struct search_plan *plan)
{
    for (size_t i = 0; i < plan->word_count; i++) {
        const struct search_word *word = plan->words[i].word;
        if (search_may_go_on(&plan->words[i]) || word->bare > 0 ||
            (plan->settings.typos && word->kind == SEARCH_WORD && word->typos > 0))
            return true;
    }
    return false;
}

int search_find(struct search_plan *plan)
{
    if (plan->query.count == 0)
        return 0;
    TRY(search_expand(plan));
    unsigned all = (unsigned)plan->word_count;
    unsigned least = plan->needed > 0 ? (unsigned)plan->needed : 1;
    TRY(find_once(plan, all));
    if (plan->total < SEARCH_ENOUGH && can_forgive(plan)) {
        TRY(search_forgive(plan));
        TRY(find_once(plan, all));
    }
    if (plan->total < SEARCH_ENOUGH && least < all) {
        plan->fewer = true;
        TRY(find_once(plan, least));
    }
    for (size_t i = 0; i < plan->target_count; i++)
        plan->complete = plan->complete && plan->targets[i].found.from == 0;
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
