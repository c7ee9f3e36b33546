/* Expands the words of a query to terms of the lexicon. */
#include "areas/search/search.h"
#include "base/utf8.h"
#include "search/lexicon.h"
#include "search_sql.h"

enum {
    PREFIX_LETTERS = 3 /* minimum length of a word that may be a prefix */
};

/* --- words --- */

static bool is_stop_word(const struct search_settings *settings, const struct search_word *word)
{
    if (word->kind != SEARCH_WORD)
        return false;
    for (size_t i = 0; i < settings->stop_word_count; i++)
        if (str_eq(settings->stop_words[i], word->term))
            return true;
    return false;
}

static bool all_stop_words(const struct search_plan *plan)
{
    for (size_t i = 0; i < plan->query.count; i++)
        if (!plan->query.words[i].excluded && !is_stop_word(&plan->settings, &plan->query.words[i]))
            return false;
    return true;
}

static struct search_expansion *
add_expansion(struct search_plan *plan, struct search_expansion *words, size_t *count, size_t at)
{
    const struct search_word *word = &plan->query.words[at];
    struct search_expansion *expansion = &words[*count];

    *expansion = (struct search_expansion){
        .word = word, .query_position = at, .rank_position = (unsigned)*count};
    expansion->part_terms =
        ARENA_ARRAY(plan->r->task.arena, expansion->part_terms, word->part_count + 1);
    (*count)++;
    return expansion;
}

/* Puts phrases first, because they are never dropped, and symbols last, because they are dropped
 * before words. Omits stop words unless the query has nothing else. */
static void order_words(struct search_plan *plan)
{
    const struct search_query *query = &plan->query;
    bool keep_stops = all_stop_words(plan);

    plan->words = ARENA_ARRAY(plan->r->task.arena, plan->words, query->count + 1);
    plan->excluded_words = ARENA_ARRAY(plan->r->task.arena, plan->excluded_words, query->count + 1);
    for (size_t i = 0; i < query->count; i++) {
        const struct search_word *word = &query->words[i];
        if (word->excluded)
            (void)add_expansion(plan, plan->excluded_words, &plan->excluded_word_count, i);
        else if (word->kind == SEARCH_PHRASE)
            (void)add_expansion(plan, plan->words, &plan->word_count, i);
    }
    plan->phrase_count = plan->word_count;
    for (size_t i = 0; i < query->count; i++) {
        const struct search_word *word = &query->words[i];
        if (!word->excluded && word->kind != SEARCH_PHRASE && !word->symbol &&
            (keep_stops || !is_stop_word(&plan->settings, word)))
            (void)add_expansion(plan, plan->words, &plan->word_count, i);
    }
    for (size_t i = 0; i < query->count; i++)
        if (query->words[i].symbol && !query->words[i].excluded)
            (void)add_expansion(plan, plan->words, &plan->word_count, i);
}

/* --- look-ups --- */

static void lookups_add(const struct search_plan *plan,
                        struct search_term_lookups *lookups,
                        struct str text,
                        struct search_terms *to,
                        enum rank_cost cost)
{
    struct arena *arena = plan->r->task.arena;
    size_t count = lookups->count;

    if (text.len == 0)
        return;
    ARENA_PUSH(arena, lookups->texts, count, lookups->text_cap, text);
    ARENA_PUSH(
        arena, lookups->items, lookups->count, lookups->cap, (struct search_lookup){to, cost});
}

/* Adds a term unless it is one of the first `before` terms. */
static void add_new_term(struct search_plan *plan,
                         struct search_terms *terms,
                         size_t before,
                         struct search_term term)
{
    for (size_t i = 0; i < before; i++)
        if (terms->items[i].id == term.id)
            return;
    term.is_fallback = plan->is_forgiving;
    ARENA_PUSH(plan->r->task.arena, terms->items, terms->count, terms->cap, term);
}

static void add_term(struct search_plan *plan, struct search_terms *terms, struct search_term term)
{
    add_new_term(plan, terms, terms->count, term);
}

/* Returns about how many documents have a term of this weight: the inverse of lexicon_weight(). */
static int64_t df_of_weight(uint8_t weight)
{
    return INT64_C(1) << (weight / 2 < 62 ? weight / 2 : 62);
}

void search_add_found(struct search_plan *plan,
                      const struct search_term_lookups *lookups,
                      const struct search_term *found,
                      size_t count)
{
    for (size_t i = 0; i < lookups->count; i++) {
        for (size_t k = 0; k < count; k++) {
            struct search_term term = found[k];
            if (!str_eq(term.text, lookups->texts[i]))
                continue;
            term.cost = lookups->items[i].cost;
            add_term(plan, lookups->items[i].target_terms, term);
        }
    }
}

AWAITS static int find_terms(struct search_plan *plan, const struct search_term_lookups *lookups)
{
    struct rows rows;

    if (lookups->count == 0)
        return 0;
    struct sql_strs texts = {lookups->texts, lookups->count};
    TRY(sql_all(
        plan->r, &rows, SQL_SEARCH_TERMS_FIND(.terms = texts, .count = (int64_t)lookups->count)));
    struct search_term *found = ARENA_ARRAY(plan->r->task.arena, found, rows.count + 1);
    for (size_t row = 0; row < rows.count; row++) {
        struct sql_search_terms_find_row term = sql_search_terms_find_row(&rows, row);
        found[row] = (struct search_term){.id = (int32_t)term.id, .df = term.df, .text = term.term};
    }
    search_add_found(plan, lookups, found, rows.count);
    return 0;
}

static void look_up_synonyms(const struct search_plan *plan,
                             struct search_term_lookups *lookups,
                             struct search_expansion *word)
{
    for (size_t i = 0; i < plan->settings.synonym_count; i++) {
        const struct search_synonyms *group = &plan->settings.synonyms[i];
        bool here = false;
        for (size_t k = 0; k < group->count; k++)
            here = here || str_eq(group->words[k], word->word->term);
        for (size_t k = 0; here && k < group->count; k++)
            if (!str_eq(group->words[k], word->word->term))
                lookups_add(plan, lookups, group->words[k], &word->whole_terms, RANK_PREFIX);
    }
}

static void look_up_word(const struct search_plan *plan,
                         struct search_term_lookups *lookups,
                         struct search_expansion *word)
{
    if (word->word->kind == SEARCH_WORD || word->word->kind == SEARCH_CODE)
        lookups_add(plan, lookups, word->word->term, &word->whole_terms, RANK_EXACT);
    if (word->word->kind == SEARCH_WORD && !word->word->excluded)
        look_up_synonyms(plan, lookups, word);
    for (size_t i = 0; i < word->word->part_count; i++)
        lookups_add(plan, lookups, word->word->parts[i].term, &word->part_terms[i], RANK_EXACT);
}

/* --- prefixes --- */

/* Reads the commonest terms of a short prefix from its own lexicon rows, if there are any. */
AWAITS static int
read_prefix_rows(struct search_plan *plan, struct str prefix, struct search_terms *ret_terms)
{
    struct arena *arena = plan->r->task.arena;
    struct str key = lexicon_prefix_key(arena, prefix);
    struct rows rows;

    TRY(sql_all(
        plan->r, &rows, SQL_SEARCH_LEXICON_ROWS(.keys = ((struct sql_strs){&key, 1}), .count = 1)));
    for (size_t row = 0; row < rows.count; row++) {
        struct str data = sql_search_lexicon_rows_row(arena, &rows, row).data;
        struct lexicon_term term;
        size_t at = 0;
        int rc;
        while (lexicon_next(data, &at, &term, &rc))
            if (!str_eq(term.term, prefix))
                add_term(plan,
                         ret_terms,
                         (struct search_term){.id = term.id,
                                              .df = df_of_weight(term.weight),
                                              .text = term.term,
                                              .cost = RANK_PREFIX});
        if (rc != 0)
            return search_fail_malformed(plan, NULL);
    }
    return 0;
}

int search_prefix(struct search_plan *plan, struct str prefix, struct search_terms *ret_terms)
{
    struct rows rows;
    size_t before = ret_terms->count;

    if (plan->sees_all && utf8_length(prefix) <= SEARCH_SHORT_PREFIX_LETTERS) {
        TRY(read_prefix_rows(plan, prefix, ret_terms));
        if (ret_terms->count > before)
            return 0;
    }
    TRY(sql_all(plan->r,
                &rows,
                SQL_SEARCH_TERMS_PREFIX(.prefix = prefix,
                                        .candidates = SEARCH_CANDIDATES,
                                        .limit = search_prefix_limit(plan))));
    struct search_term *found = ARENA_ARRAY(plan->r->task.arena, found, rows.count + 1);
    for (size_t row = 0; row < rows.count; row++) {
        struct sql_search_terms_prefix_row term = sql_search_terms_prefix_row(&rows, row);
        found[row] = (struct search_term){.id = (int32_t)term.id, .df = term.df, .text = term.term};
    }
    return search_add_prefix_terms(plan, ret_terms, found, rows.count);
}

int64_t search_prefix_limit(const struct search_plan *plan)
{
    if (!plan->sees_all)
        return SEARCH_CANDIDATES;
    return plan->prefix_limit > 0 ? (int64_t)plan->prefix_limit : LEXICON_PREFIXES;
}

int search_add_prefix_terms(struct search_plan *plan,
                            struct search_terms *terms,
                            const struct search_term *found,
                            size_t count)
{
    size_t before = terms->count;

    for (size_t i = 0; i < count; i++) {
        struct search_term term = found[i];
        term.cost = RANK_PREFIX;
        add_new_term(plan, terms, before, term);
    }
    return search_choose_terms(plan, terms, before, LEXICON_PREFIXES);
}

AWAITS static int expand_prefix(struct search_plan *plan, struct search_expansion *word)
{
    const struct search_word *from = word->word;

    if (from->prefix && (from->kind == SEARCH_WORD || from->kind == SEARCH_CODE))
        TRY(search_prefix(plan, from->term, &word->whole_terms));
    for (size_t i = 0; i < from->part_count; i++)
        if (from->parts[i].prefix || (from->prefix && i + 1 == from->part_count))
            TRY(search_prefix(plan, from->parts[i].term, &word->part_terms[i]));
    return 0;
}

/* Finds the prefix of a word; returns false if the word has none. */
static bool
has_prefix(struct search_expansion *word, struct str *ret_prefix, struct search_terms **ret_terms)
{
    const struct search_word *from = word->word;
    size_t last = from->part_count;

    if (from->prefix && (from->kind == SEARCH_WORD || from->kind == SEARCH_CODE)) {
        *ret_prefix = from->term;
        *ret_terms = &word->whole_terms;
        return true;
    }
    for (size_t i = 0; i < last; i++) {
        if (!from->parts[i].prefix && (!from->prefix || i + 1 < last))
            continue;
        *ret_prefix = from->parts[i].term;
        *ret_terms = &word->part_terms[i];
        return true;
    }
    return false;
}

AWAITS static int expand_plain(struct search_plan *plan, const struct search_term_lookups *lookups)
{
    struct str prefix = STR_NONE;
    struct search_terms *beginnings = NULL;
    bool found = false;

    for (size_t i = 0; i < plan->word_count && !found; i++)
        found = has_prefix(&plan->words[i], &prefix, &beginnings);
    for (size_t i = 0; i < plan->excluded_word_count && !found; i++)
        found = has_prefix(&plan->excluded_words[i], &prefix, &beginnings);
    return search_run_plain(plan, lookups, prefix, beginnings);
}

int search_expand_words(struct search_plan *plan)
{
    struct search_term_lookups lookups = {0};

    order_words(plan);
    for (size_t i = 0; i < plan->word_count; i++)
        look_up_word(plan, &lookups, &plan->words[i]);
    for (size_t i = 0; i < plan->excluded_word_count; i++)
        look_up_word(plan, &lookups, &plan->excluded_words[i]);
    for (size_t i = 0; i < plan->target_count; i++)
        for (size_t k = 0; k < plan->targets[i].principal_count; k++)
            lookups_add(plan,
                        &lookups,
                        plan->targets[i].principals[k],
                        &plan->targets[i].principal_terms,
                        RANK_EXACT);
    if (plan->is_plain)
        return expand_plain(plan, &lookups);
    TRY(find_terms(plan, &lookups));
    for (size_t i = 0; i < plan->word_count; i++)
        TRY(expand_prefix(plan, &plan->words[i]));
    for (size_t i = 0; i < plan->excluded_word_count; i++)
        TRY(expand_prefix(plan, &plan->excluded_words[i]));
    return 0;
}

/* --- typos --- */

AWAITS static int expand_word_typos(struct search_plan *plan, struct search_expansion *word)
{
    static const enum rank_cost costs[] = {RANK_ONE_TYPO, RANK_TWO_TYPOS};
    struct arena *arena = plan->r->task.arena;
    struct lexicon_best best[2];
    struct str keys[5];
    struct rows rows;
    unsigned typos = word->word->typos;
    size_t count = lexicon_keys(arena, word->word->term, typos, keys);
    size_t most = plan->sees_all ? LEXICON_TYPOS : SEARCH_CANDIDATES;

    lexicon_best_init(&best[0], arena, most);
    lexicon_best_init(&best[1], arena, most);
    TRY(sql_all(plan->r,
                &rows,
                SQL_SEARCH_LEXICON_ROWS(.keys = ((struct sql_strs){keys, count}),
                                        .count = (int64_t)count)));
    for (size_t row = 0; row < rows.count; row++) {
        struct str data = sql_search_lexicon_rows_row(arena, &rows, row).data;
        if (lexicon_scan(data, word->word->term, typos, best) != 0)
            return search_fail_malformed(plan, NULL);
    }
    for (size_t i = 0; i < 2; i++) {
        size_t before = word->whole_terms.count;
        lexicon_sort(&best[i]);
        for (size_t k = 0; k < best[i].count; k++)
            add_term(plan,
                     &word->whole_terms,
                     (struct search_term){.id = best[i].items[k].id,
                                          .df = df_of_weight(best[i].items[k].weight),
                                          .text = best[i].items[k].term,
                                          .cost = costs[i]});
        TRY(search_choose_terms(plan, &word->whole_terms, before, LEXICON_TYPOS));
    }
    return 0;
}

/* Looks up the words that differ in the first letter, which counts as two typos. */
static void look_up_first_letters(struct search_plan *plan,
                                  struct search_term_lookups *lookups,
                                  struct search_expansion *word)
{
    struct str *firsts = ARENA_ARRAY(plan->r->task.arena, firsts, LEXICON_FIRST_LETTERS);
    size_t count = lexicon_other_first_letters(plan->r->task.arena, word->word->term, firsts);

    for (size_t i = 0; i < count; i++)
        lookups_add(plan, lookups, firsts[i], &word->whole_terms, RANK_TWO_TYPOS);
}

bool search_can_be_prefix(const struct search_expansion *word)
{
    return word->word->kind == SEARCH_WORD && !word->word->prefix &&
           utf8_length(word->word->term) >= PREFIX_LETTERS && !word->word->quoted;
}

int search_add_fallbacks(struct search_plan *plan)
{
    struct search_term_lookups lookups = {0};

    plan->is_forgiving = true;
    for (size_t i = 0; i < plan->word_count; i++) {
        struct search_expansion *word = &plan->words[i];
        struct str bare = {word->word->term.ptr, word->word->bare_bytes};
        if (plan->total == 0 && bare.len > 0)
            lookups_add(plan, &lookups, bare, &word->whole_terms, RANK_ONE_TYPO);
        if (search_can_be_prefix(word))
            TRY(search_prefix(plan, word->word->term, &word->whole_terms));
        if (!plan->settings.typos || word->word->kind != SEARCH_WORD || word->word->typos == 0)
            continue;
        TRY(expand_word_typos(plan, word));
        if (word->word->typos > 1)
            look_up_first_letters(plan, &lookups, word);
    }
    return find_terms(plan, &lookups);
}
