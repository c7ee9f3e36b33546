/* GET /search and /search/public: reads and runs the query. */
#include "areas/search/search.h"

#include <errno.h>

#include "areas/search/search_facets.h"
#include "base/clock.h"
#include "base/num.h"
#include "items/items_query.h"

enum { PAGE_SIZE = 20, PAGE_SIZE_MAX = 500 };

/* clang-format off: one line a parameter reads best */
static const struct query_param search_query_params[] = {
    {.name = "q",
     .type = FIELD_STR,
     .fallback = "*",
     .doc = "Words, the last of which also matches as a prefix. Syntax: \"a phrase\", -excluded, "
            "field:word, prefix*; * alone lists all records, newest first. Any text is a valid "
            "query: an unclosed quotation mark extends to the end of the text, signs without a "
            "meaning are ignored, and so is all text after the first 512 characters or 10 words. "
            "Symbols and emoji are found as they are written, and so are C++ and C#. A text "
            "without words and symbols finds nothing"},
    {.name = "e",
     .type = FIELD_STR,
     .doc = "Entities to search in, separated by commas; default: all searchable entities"},
    {.name = "page",
     .type = FIELD_I64,
     .has_min = true,
     .min = 1,
     .fallback = "1",
     .doc = "Page number, from 1. Pages show only the first 1,000 hits; has_next_page is false "
            "on the last page"},
    {.name = "pageSize",
     .type = FIELD_I64,
     .has_min = true,
     .min = 1,
     .has_max = true,
     .max = PAGE_SIZE_MAX,
     .fallback = "20",
     .doc = "Results per page"},
    {.name = "filter",
     .type = FIELD_STR,
     .deep = true,
     .doc = "Conditions on fields, as for lists; each searched entity must have these fields"},
    {.name = "sort",
     .type = FIELD_STR,
     .doc = "Fields to sort by, as for lists, instead of by relevance; requires one entity in e"},
    {.name = "order",
     .type = FIELD_STR,
     .values = page_orders,
     .doc = "Direction for a single sort field"},
    {.name = "fields",
     .type = FIELD_STR,
     .doc = "Fields of records to return, separated by commas; requires one entity in e"},
    {.name = "expand",
     .type = FIELD_STR,
     .doc = "Relations to return as records, as for lists; requires one entity in e"},
    {.name = "facets",
     .type = FIELD_STR,
     .doc = "Up to 10 fields, separated by commas; the answer counts their values among the hits"},
    {0},
};
/* clang-format on */

static const struct field highlight_fields[] = {
    {.name = "field", .type = FIELD_STR, .required = true, .example = "\"name\""},
    {.name = "snippet",
     .type = FIELD_STR,
     .required = true,
     .doc = "HTML that is safe to show: the escaped text, with matches in <mark>",
     .example = "\"<mark>Blue</mark> chair\""},
};
static const struct schema highlight_schema = SCHEMA_OUT("SearchHighlight", highlight_fields);

static const struct field hit_fields[] = {
    {.name = "entity", .type = FIELD_STR, .required = true, .example = "\"products\""},
    {.name = "id", .type = FIELD_I64, .required = true, .example = "12"},
    {.name = "score",
     .type = FIELD_F64,
     .required = true,
     .doc = "0 to 1, descending. Hits of equal score are ordered newest first, but among the "
            "first 64 hits those with closer words come first",
     .example = "0.93"},
    {.name = "highlights", .type = FIELD_LIST, .required = true, .sub = &highlight_schema},
    {.name = "record",
     .type = FIELD_MAP,
     .required = true,
     .doc = "The record, as in lists of its entity"},
};
static const struct schema hit_schema = SCHEMA_OUT("SearchHit", hit_fields);

static const struct field answer_fields[] = {
    {.name = "items", .type = FIELD_LIST, .required = true, .sub = &hit_schema},
    {.name = "total_items",
     .type = FIELD_I64,
     .required = true,
     .doc = "Number of hits that the caller may see, according to the index, which is at most a "
            "second old"},
    {.name = "total_is_exact",
     .type = FIELD_BOOL,
     .required = true,
     .doc = "false: there may be more hits than total_items"},
    {.name = "page", .type = FIELD_I64, .required = true},
    {.name = "page_size", .type = FIELD_I64, .required = true},
    {.name = "has_next_page", .type = FIELD_BOOL, .required = true},
    {.name = "query", .type = FIELD_STR, .required = true},
    {.name = "took_ms", .type = FIELD_I64, .required = true},
    {.name = "facets",
     .type = FIELD_MAP,
     .doc = "Only with the parameter facets: for each field its values and their counts, "
            "commonest first, at most 100"},
    {.name = "facets_are_exact",
     .type = FIELD_BOOL,
     .doc = "Only with the parameter facets: true if all hits were counted, false if only the "
            "first 10,000"},
};
static const struct schema answer_schema = SCHEMA_OUT("SearchAnswer", answer_fields);

/* --- reading --- */

static int refuse_parameter(struct req *r, const char *parameter, const char *message)
{
    struct schema_errors *errors = ARENA_NEW(r->task.arena, errors);

    schema_error_add(
        r->task.arena, errors, str_from(parameter), PROBLEM_INVALID_QUERY, "%s", message);
    return fail_with(r, PROBLEM_INVALID_QUERY, STR("1 parameter is invalid"), errors);
}

static int64_t query_number(const struct query *query, const char *name, int64_t fallback)
{
    int64_t value = 0;

    return num_parse_i64(query_get(query, name), &value) ? value : fallback;
}

/* Reads the parameters, and makes the checks that depend on several parameters. */
static int read_params(struct req *r, const struct query *query, struct search_params *params)
{
    struct str order = query_get(query, "order");

    *params = (struct search_params){
        .records = {.filter = items_filter_read(r->task.arena, query),
                    .fields = query_get(query, "fields"),
                    .expand = query_get(query, "expand"),
                    .sort = query_get(query, "sort")},
        .page = query_number(query, "page", 1),
        .page_size = query_number(query, "pageSize", PAGE_SIZE),
        .facets = query_get(query, "facets"),
        .text = query_get(query, "q"),
    };
    if (order.ptr != NULL)
        params->records.order = str_is(order, "desc") ? ORDER_DESC : ORDER_ASC;
    if (params->text.ptr == NULL)
        params->text = STR("*");
    if (params->page > SEARCH_HITS || (params->page - 1) * params->page_size >= SEARCH_HITS)
        return refuse_parameter(
            r, "page", "the page begins after the first 1,000 hits; narrow the search instead");
    params->first = (params->page - 1) * params->page_size;
    params->end = params->first + params->page_size;
    if (params->end > SEARCH_HITS)
        params->end = SEARCH_HITS;
    return 0;
}

static int check_one_entity(struct req *r,
                            const struct search_plan *plan,
                            const struct search_params *params,
                            struct str names)
{
    static const char needs_one[] = "requires exactly one entity in e";

    if (names.ptr != NULL && plan->requested_count == 1)
        return 0;
    if (params->records.sort.len > 0)
        return refuse_parameter(r, "sort", needs_one);
    if (params->records.order != ORDER_NONE)
        return refuse_parameter(r, "order", needs_one);
    if (params->records.fields.ptr != NULL)
        return refuse_parameter(r, "fields", needs_one);
    if (params->records.expand.ptr != NULL)
        return refuse_parameter(r, "expand", needs_one);
    return 0;
}

int search_parse_words(struct search_plan *plan, struct str text)
{
    const struct search_fields fields = {search_is_field, plan};
    struct arena *arena = plan->r->task.arena;

    search_query_parse(arena, text, &fields, &plan->query);
    if (plan->is_cached && !search_is_plain(plan)) { /* searchable fields may differ */
        TRY(search_targets_refresh(plan));
        search_query_parse(arena, text, &fields, &plan->query);
    }
    plan->is_plain = search_is_plain(plan);
    return 0;
}

int search_fail_stale(struct req *r)
{
    return fail(
        r, PROBLEM_DEPENDENCY_UNAVAILABLE, "The search index is being replaced. Try again.");
}

int64_t search_took_ms(const struct req *r)
{
    return (clock_mono_us() - r->started_us) / 1000;
}

int search_begin(struct req *r, bool public_only, struct str names, struct search_plan **ret_plan)
{
    struct search_plan *plan = ARENA_NEW(r->task.arena, plan);

    *ret_plan = plan;
    plan->r = r;
    plan->ctx = items_ctx(r);
    plan->ctx->public_only = public_only;
    plan->is_total_exact = true;
    TRY(search_targets(plan, names));
    if (public_only && !plan->settings.is_public)
        TRY(search_targets_refresh(plan));
    if (public_only && !plan->settings.is_public)
        return fail(r, PROBLEM_NOT_FOUND, "The project's settings disable public search.");
    return 0;
}

static bool has_phrase(const struct search_query *query)
{
    for (size_t i = 0; i < query->count; i++)
        if (query->words[i].kind == SEARCH_PHRASE)
            return true;
    return false;
}

/* Returns how many hits of each target are needed: those up to the end of the page and the window,
 * or the target's share of SEARCH_CHECKED_HITS if a filter, sort order, facet or phrase applies to
 * all hits. */
static size_t needed_hits(const struct search_plan *plan, const struct search_params *params)
{
    size_t pages = (size_t)params->end + SEARCH_WINDOW;
    size_t share = SEARCH_CHECKED_HITS / (plan->target_count > 0 ? plan->target_count : 1);
    bool asks = params->records.filter.item_count > 0 || params->records.sort.len > 0 ||
                params->facets.ptr != NULL || has_phrase(&plan->query);

    return asks && share > pages ? share : pages;
}

AWAITS static int search_run_once(struct req *r,
                                  bool public_only,
                                  const struct query *query,
                                  const struct search_params *params)
{
    struct search_plan *plan;

    TRY(search_begin(r, public_only, query_get(query, "e"), &plan));
    TRY(check_one_entity(r, plan, params, query_get(query, "e")));
    if (params->facets.ptr != NULL)
        TRY(search_targets_refresh(plan));
    TRY(search_facets_check(plan, params->facets));
    TRY(search_parse_words(plan, params->text));
    plan->limit = needed_hits(plan, params);
    TRY(plan->query.everything ? search_expand_words(plan) : search_find_hits(plan));
    return search_write_answer(plan, params);
}

AWAITS static int search_run(struct req *r, bool public_only)
{
    struct search_params *params = ARENA_NEW(r->task.arena, params);
    const struct query *query;
    int rc = -ESTALE;

    TRY(req_query(r, &query));
    TRY(read_params(r, query, params));
    for (int tries = 0; rc == -ESTALE && tries < SEARCH_TRIES; tries++)
        rc = search_run_once(r, public_only, query, params);
    return rc == -ESTALE ? search_fail_stale(r) : rc;
}

AWAITS static int search_all(struct req *r)
{
    return search_run(r, false);
}

AWAITS static int search_public_guard(struct req *r)
{
    struct search_plan *plan;

    return search_begin(r, true, STR_NONE, &plan);
}

AWAITS static int search_public(struct req *r)
{
    return search_run(r, true);
}

#define SEARCH_DOC                                                                                 \
    "A record is found within a second after it was written, by its searchable fields and by "     \
    "the display fields of the records that its relations to one record refer to. All words "      \
    "have to match, the last also as a prefix. If fewer than 20 records match, words of three "    \
    "or more letters also match as prefixes, words of five or more with one typo, of nine or "     \
    "more with two. If still fewer than 20 match, words are dropped from the right. Order: most "  \
    "words, fewest typos (exact words, then prefixes and synonyms, then typos), best fields "      \
    "(options.search_weight, then their order), newest. "

static const struct route search_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = "/search",
        .id = "search",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_SEARCH_READ,
        .query = search_query_params,
        .headers = HEADER_GROUP_ID,
        .success = {200, &answer_schema},
        .run = search_all,
        .summary = "Search the records that the caller may read",
        .doc = SEARCH_DOC
        "Searches the entities that the caller may read over the API; row and field rules "
        "apply exactly as in lists.",
    },
    {
        .method = HTTP_GET_M,
        .path = "/search/public",
        .id = "search_public",
        .auth = AUTH_PUBLIC,
        .query = search_query_params,
        .success = {200, &answer_schema},
        .extra_statuses = {404},
        .run = search_public,
        .guard = search_public_guard,
        .summary = "Search public fields of public entities",
        .doc = SEARCH_DOC "404 if the project's settings disable public search.",
    },
};
ROUTES(search, "Search");
