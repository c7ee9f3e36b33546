/* GET /search/suggest: completes the last word that was typed. */
#include "areas/search/search.h"

#include <errno.h>
#include <stdlib.h>

#include "base/num.h"

enum {
    SUGGESTIONS = 5,
    SUGGESTIONS_MAX = 10,
    COMPLETIONS_CHECKED = 65,
    COMPLETIONS_CHECKED_ALL = 16
};

/* clang-format off: one line a parameter reads best */
static const struct query_param suggest_query[] = {
    {.name = "q", .type = FIELD_STR, .doc = "The text typed so far; its last word is completed"},
    {.name = "e",
     .type = FIELD_STR,
     .doc = "Entities to search in, separated by commas; default: all searchable entities"},
    {.name = "limit",
     .type = FIELD_I64,
     .has_min = true,
     .min = 1,
     .has_max = true,
     .max = SUGGESTIONS_MAX,
     .fallback = "5",
     .doc = "Maximum number of suggestions"},
    {0},
};
/* clang-format on */

static const struct field suggestion_fields[] = {
    {.name = "text",
     .type = FIELD_STR,
     .required = true,
     .doc = "The typed text with its last word completed; this word is folded as in the index",
     .example = "\"blue chair\""},
    {.name = "word", .type = FIELD_STR, .required = true, .example = "\"chair\""},
    {.name = "hits",
     .type = FIELD_I64,
     .required = true,
     .doc = "Number of records that have all words of the text and that the caller may see; if "
            "there are very many, only the newest are counted"},
};
static const struct schema suggestion_schema = SCHEMA_OUT("SearchSuggestion", suggestion_fields);

static const struct field suggest_fields[] = {
    {.name = "items", .type = FIELD_LIST, .required = true, .sub = &suggestion_schema},
    PAGE_WHOLE_FIELDS,
    {.name = "query", .type = FIELD_STR, .required = true},
    {.name = "took_ms", .type = FIELD_I64, .required = true},
};
static const struct schema suggest_schema = SCHEMA_OUT("SearchSuggestions", suggest_fields);

struct suggestion {
    struct str word;
    int64_t hits;
};

/* Most hits first, counting only records that the caller may see. */
static int suggestion_compare(const void *a, const void *b)
{
    const struct suggestion *one = a;
    const struct suggestion *other = b;

    if (one->hits != other->hits)
        return one->hits > other->hits ? -1 : 1;
    return str_cmp(one->word, other->word);
}

/* Returns the last word if it can be completed: a plain word at the query's end, else NULL. */
static struct search_expansion *last_word(struct search_plan *plan)
{
    for (size_t i = 0; i < plan->word_count; i++) {
        struct search_expansion *word = &plan->words[i];
        if (word->query_position + 1 == plan->query.count && word->word->kind == SEARCH_WORD &&
            word->word->prefix)
            return word;
    }
    return NULL;
}

/* Finds completions of the last word, and counts their hits together with the words before it. */
AWAITS static int
complete_last_word(struct search_plan *plan, struct suggestion *suggestions, size_t *ret_count)
{
    struct search_expansion *last;
    int64_t hits[COMPLETIONS_CHECKED] = {0};

    /* More candidates are counted for a caller that does not see all records, so that words of
     * hidden records do not displace words of visible records. */
    size_t most = plan->sees_all ? COMPLETIONS_CHECKED_ALL : COMPLETIONS_CHECKED;

    plan->prefix_limit = COMPLETIONS_CHECKED_ALL;
    TRY(search_expand_words(plan));
    last = last_word(plan);
    *ret_count = 0;
    if (last == NULL)
        return 0;
    if (last->whole_terms.count > most)
        last->whole_terms.count = most;
    plan->word_count = last->rank_position + 1; /* only symbols follow */
    for (size_t i = 0; i < plan->target_count; i++) {
        TRY(search_read_newest_lists(plan, &plan->targets[i]));
        TRY(search_count_completions(plan, &plan->targets[i], hits));
    }
    for (size_t i = 0; i < last->whole_terms.count; i++)
        if (hits[i] > 0)
            suggestions[(*ret_count)++] =
                (struct suggestion){.word = last->whole_terms.items[i].text, .hits = hits[i]};
    qsort(suggestions, *ret_count, sizeof(*suggestions), suggestion_compare);
    return 0;
}

/* Returns the text before the last word, as it was typed. */
static struct str text_before_last(struct search_plan *plan, struct str typed)
{
    const struct search_expansion *last = last_word(plan);

    return (struct str){typed.ptr, last ? (size_t)(last->word->text.ptr - typed.ptr) : 0};
}

static int reply_suggestions(struct search_plan *plan,
                             struct str typed,
                             const struct suggestion *suggestions,
                             size_t count)
{
    struct req *r = plan->r;
    struct str before = text_before_last(plan, typed);
    struct jw w = resp_json(r);

    jw_obj(&w);
    jw_lit(&w, "items");
    jw_arr(&w);
    for (size_t i = 0; i < count; i++) {
        jw_obj(&w);
        JW_STR(
            &w,
            "text",
            arena_printf(r->task.arena, "%.*s%.*s", STR_ARG(before), STR_ARG(suggestions[i].word)));
        JW_STR(&w, "word", suggestions[i].word);
        JW_I64(&w, "hits", suggestions[i].hits);
        jw_obj_end(&w);
    }
    jw_arr_end(&w);
    page_whole_json(&w, count);
    JW_STR(&w, "query", typed);
    JW_I64(&w, "took_ms", search_took_ms(r));
    jw_obj_end(&w);
    return reply_json(r, 200);
}

AWAITS static int suggest_once(struct req *r, const struct query *query)
{
    struct search_plan *plan;
    struct suggestion *suggestions = ARENA_ARRAY(r->task.arena, suggestions, COMPLETIONS_CHECKED);
    int64_t limit = SUGGESTIONS;
    size_t count = 0;

    struct str typed = query_get(query, "q");
    (void)num_parse_i64(query_get(query, "limit"), &limit);
    TRY(search_begin(r, false, query_get(query, "e"), &plan));
    if (str_trim(typed).len == 0)
        return reply_suggestions(plan, STR(""), NULL, 0);
    search_query_parse(r->task.arena, typed, NULL, &plan->query);
    plan->text = typed;
    plan->limit = 1;
    plan->is_plain = search_is_plain(plan);
    if (!plan->is_plain)
        TRY(search_targets_refresh(plan));
    if (plan->query.count > 0 && !plan->query.everything)
        TRY(complete_last_word(plan, suggestions, &count));
    return reply_suggestions(
        plan, typed, suggestions, count < (size_t)limit ? count : (size_t)limit);
}

AWAITS static int search_suggest(struct req *r)
{
    const struct query *query;
    int rc = -ESTALE;

    TRY(req_query(r, &query));
    for (int tries = 0; rc == -ESTALE && tries < SEARCH_TRIES; tries++)
        rc = suggest_once(r, query);
    return rc == -ESTALE ? search_fail_stale(r) : rc;
}

static const struct route search_suggest_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = "/search/suggest",
        .id = "search_suggest",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_SEARCH_READ,
        .query = suggest_query,
        .headers = HEADER_GROUP_ID,
        .success = {200, &suggest_schema},
        .run = search_suggest,
        .summary = "Complete the last word of a search",
        .doc = "Suggests words of records that the caller may see, in fields that the caller may "
               "read, most hits first.",
    },
};
ROUTES(search_suggest, "Search");
