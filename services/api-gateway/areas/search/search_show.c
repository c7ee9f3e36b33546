/* Prepares the answer: which hits the caller may see, their order, and what is shown of them. */
#include <math.h>
#include <stdlib.h>

#include "areas/search/search_facets.h"
#include "areas/search/search_page.h"

enum { SNIPPET_BYTES = 16384 };

/* --- filters and phrases, which the index cannot decide --- */

AWAITS static int
filter_target_hits(struct search_answer *showing, struct search_target *target, bool *ret_is_chosen)
{
    struct search_plan *plan = showing->plan;
    struct arena *arena = plan->r->task.arena;
    int64_t *ids = ARENA_ARRAY(arena, ids, showing->count + 1);
    int64_t *allowed;
    size_t count = 0;
    size_t allowed_count;

    for (size_t i = 0; i < showing->count; i++)
        if (showing->found[i].target == target)
            ids[count++] = showing->found[i].hit.id;
    const struct records_pick pick = {
        .ids = ids, .count = count, .query = &showing->params->records, .limit = (int64_t)count};
    TRY(items_reply_error(
        plan->r,
        plan->ctx,
        records_pick_ids(plan->ctx, target->entity, &pick, &allowed, &allowed_count)));
    for (size_t i = 0, at = 0; i < showing->count && at < allowed_count; i++)
        if (showing->found[i].target == target && showing->found[i].hit.id == allowed[at]) {
            ret_is_chosen[i] = true;
            at++;
        }
    return 0;
}

static void keep_marked_hits(struct search_answer *showing, const bool *is_chosen)
{
    size_t count = 0;

    for (size_t i = 0; i < showing->count; i++)
        if (is_chosen[i])
            showing->found[count++] = showing->found[i];
    showing->count = count;
}

AWAITS static int filter_hits(struct search_answer *showing)
{
    struct search_plan *plan = showing->plan;
    bool *is_chosen = ARENA_ARRAY(plan->r->task.arena, is_chosen, showing->count + 1);

    for (size_t i = 0; i < plan->target_count; i++)
        TRY(filter_target_hits(showing, &plan->targets[i], is_chosen));
    keep_marked_hits(showing, is_chosen);
    return 0;
}

enum { PHRASE_BATCH = 200, PHRASE_CHECKS = 2000 };

/* Keeps the hits whose texts have all phrases of the query. The index only knows which records have
 * all words of a phrase in one field. */
AWAITS static int check_phrases(struct search_answer *showing)
{
    struct search_plan *plan = showing->plan;
    bool *is_chosen = ARENA_ARRAY(plan->r->task.arena, is_chosen, showing->count + 1);
    size_t lookup_count = showing->count < PHRASE_CHECKS ? showing->count : PHRASE_CHECKS;
    size_t measured = 0;
    size_t to;

    if (plan->phrase_count == 0)
        return 0;
    for (size_t from = 0; from < lookup_count; from = to) {
        if (from == measured) {
            measured = lookup_count - from < PHRASE_BATCH ? lookup_count : from + PHRASE_BATCH;
            TRY(search_answer_measure_texts(showing, from, measured));
        }
        TRY(search_answer_read_chunk(showing, from, measured, &to));
        for (size_t i = from; i < to; i++) {
            const struct search_hit *found = &showing->found[i];
            is_chosen[i] = found->texts != NULL && search_answer_has_phrases(showing, found);
            TRY(task_yield_if_due(&plan->r->task));
        }
    }
    showing->is_total_exact =
        showing->is_total_exact && lookup_count == showing->count && !showing->has_unread_texts;
    keep_marked_hits(showing, is_chosen);
    return 0;
}

static bool needs_records(const struct search_answer *showing)
{
    const struct records_query *query = &showing->params->records;

    return query->filter.item_count > 0 || query->sort.len > 0 || showing->plan->phrase_count > 0;
}

/* Removes the hits that filters, rules and phrases exclude; the total is the number left. */
AWAITS static int filter_and_count(struct search_answer *showing)
{
    const struct search_plan *plan = showing->plan;

    showing->total = plan->total;
    showing->is_total_exact = plan->is_total_exact;
    if (!needs_records(showing))
        return 0;
    showing->is_total_exact = showing->is_total_exact && (int64_t)showing->count == plan->total;
    TRY(filter_hits(showing));
    TRY(check_phrases(showing));
    showing->total = (int64_t)showing->count;
    return 0;
}

/* --- sorted by a field, and all records --- */

static int hit_compare(const void *a, const void *b)
{
    int64_t one = ((const struct rank_hit *)a)->id;
    int64_t other = ((const struct rank_hit *)b)->id;

    return one < other ? -1 : one > other;
}

/* Returns the hits of the only target, ascending by id. */
static struct rank_hit *hits_by_id(const struct search_answer *showing)
{
    struct rank_hit *hits = ARENA_ARRAY(showing->plan->r->task.arena, hits, showing->count + 1);

    for (size_t i = 0; i < showing->count; i++)
        hits[i] = showing->found[i].hit;
    if (showing->count > 0)
        qsort(hits, showing->count, sizeof(*hits), hit_compare);
    return hits;
}

AWAITS static int pick_page(struct search_answer *showing, struct records_pick *pick)
{
    struct search_plan *plan = showing->plan;
    const struct search_params *params = showing->params;
    struct search_target *target = &plan->targets[0];
    struct records_picked *picked = ARENA_NEW(plan->r->task.arena, picked);
    const struct rank_hit *hits = hits_by_id(showing);
    size_t hit_count = showing->count;

    pick->query = &params->records;
    pick->texts = search_answer_texts(plan, target);
    pick->text_count = plan->word_count > 0 ? target->field_count : 0;
    pick->offset = params->first;
    pick->limit = params->end - params->first;
    int rc = records_pick(plan->ctx, target->entity, pick, picked);
    if (pick->text_count > 0 && search_answer_clear_too_large(showing, rc)) {
        showing->reads_chunks = true;
        pick->text_count = 0;
        rc = records_pick(plan->ctx, target->entity, pick, picked);
    }
    TRY(items_reply_error(plan->r, plan->ctx, rc));
    showing->found = ARENA_ARRAY(plan->r->task.arena, showing->found, picked->count + 1);
    showing->count = picked->count;
    showing->first = 0;
    showing->end = picked->count;
    showing->has_next = picked->has_more;
    for (size_t row = 0; row < picked->count; row++) {
        const struct rank_hit wanted = {.id = records_picked_id(picked, row)};
        const struct rank_hit *hit =
            hit_count > 0 ? bsearch(&wanted, hits, hit_count, sizeof(*hits), hit_compare) : NULL;
        showing->found[row] = (struct search_hit){.target = target,
                                                  .hit = hit != NULL ? *hit : wanted,
                                                  .picked = picked,
                                                  .row = row,
                                                  .texts = pick->text_count > 0 ? picked : NULL,
                                                  .text_row = row};
    }
    return 0;
}

AWAITS static int answer_sorted(struct search_answer *showing)
{
    struct arena *arena = showing->plan->r->task.arena;
    int64_t *ids = ARENA_ARRAY(arena, ids, showing->count + 1);
    struct records_pick pick = {.ids = ids, .count = showing->count};

    for (size_t i = 0; i < showing->count; i++)
        ids[i] = showing->found[i].hit.id;
    return pick_page(showing, &pick);
}

/* Picks all records except those that words to exclude match. If too many match, picks only records
 * above the oldest one known. */
static struct records_pick all_records_pick(const struct search_answer *showing,
                                            const struct search_target *target)
{
    const struct rank_result *left_out = &target->excluded;
    struct records_pick pick = {.query = &showing->params->records};
    int64_t *ids = ARENA_ARRAY(showing->plan->r->task.arena, ids, left_out->count + 1);

    for (size_t i = 0; i < left_out->count; i++)
        ids[i] = left_out->hits[i].id;
    pick.excluded_ids = ids;
    pick.excluded_count = left_out->count;
    if (left_out->total > left_out->count)
        pick.above_id = ids[left_out->count - 1];
    return pick;
}

AWAITS static int count_all_records(struct search_answer *showing,
                                    const struct search_target *target)
{
    struct search_plan *plan = showing->plan;
    struct records_pick pick = all_records_pick(showing, target);
    int64_t count;

    TRY(items_reply_error(
        plan->r, plan->ctx, records_pick_count(plan->ctx, target->entity, &pick, &count)));
    showing->total += count;
    return 0;
}

/* Finds the newest records of a target, as many as the page may need. */
AWAITS static int find_newest(struct search_answer *showing, struct search_target *target)
{
    struct search_plan *plan = showing->plan;
    struct records_pick pick = all_records_pick(showing, target);
    struct rank_result *found = &target->found;
    int64_t *ids;

    pick.limit = showing->params->end;
    TRY(items_reply_error(plan->r,
                          plan->ctx,
                          records_pick_ids(plan->ctx, target->entity, &pick, &ids, &found->count)));
    found->hits = ARENA_ARRAY(plan->r->task.arena, found->hits, found->count + 1);
    for (size_t i = 0; i < found->count; i++)
        found->hits[i].id = ids[i];
    return 0;
}

AWAITS static int answer_all_records(struct search_answer *showing)
{
    struct search_plan *plan = showing->plan;

    for (size_t i = 0; i < plan->target_count; i++)
        TRY(count_all_records(showing, &plan->targets[i]));
    showing->is_total_exact = plan->is_total_exact;
    if (showing->params->records.sort.len > 0) {
        struct records_pick pick = all_records_pick(showing, &plan->targets[0]);
        return pick_page(showing, &pick);
    }
    for (size_t i = 0; i < plan->target_count; i++)
        TRY(find_newest(showing, &plan->targets[i]));
    search_answer_merge(showing);
    return search_answer_fetch_page(showing);
}

/* --- writing --- */

static void
write_highlights(const struct search_answer *showing, const struct search_hit *found, struct jw *w)
{
    struct strbuf snippet;

    jw_lit(w, "highlights");
    jw_arr(w);
    for (size_t i = 0; i < found->target->field_count; i++) {
        struct str name = found->target->fields[i].text.field->name;
        struct str text = search_hit_text(found, i);
        if (text.len == 0)
            continue;
        strbuf_init(&snippet, showing->plan->r->task.arena, SNIPPET_BYTES);
        if (!highlight_field(showing->highlighter, name, text, &snippet).any || snippet.overflow)
            continue;
        jw_obj(w);
        JW_STR(w, "field", name);
        JW_STR(w, "snippet", strbuf_view(&snippet));
        jw_obj_end(w);
    }
    jw_arr_end(w);
}

AWAITS static int
write_found(const struct search_answer *showing, const struct search_hit *found, struct jw *w)
{
    double score = search_score(showing->plan, &found->hit);

    jw_obj(w);
    JW_STR(w, "entity", found->target->entity->name);
    JW_I64(w, "id", found->hit.id);
    jw_lit(w, "score");
    jw_f64(w, round(score * 10000) / 10000);
    write_highlights(showing, found, w);
    TRY(task_yield_if_due(&showing->plan->r->task));
    jw_lit(w, "record");
    TRY(items_reply_error(showing->plan->r,
                          showing->plan->ctx,
                          records_picked_json(showing->plan->ctx, found->picked, found->row, w)));
    jw_obj_end(w);
    return 0;
}

AWAITS static int write_hits(struct search_answer *showing, struct jw *w)
{
    size_t end = showing->reads_chunks ? showing->first : showing->end; /* of the current chunk */

    if (showing->reads_chunks)
        TRY(search_answer_measure_texts(showing, showing->first, showing->end));
    for (size_t i = showing->first; i < showing->end; i++) {
        if (i == end)
            TRY(search_answer_read_chunk(showing, i, showing->end, &end));
        TRY(write_found(showing, &showing->found[i], w));
    }
    return 0;
}

AWAITS static int write_answer(struct search_answer *showing, struct search_facets *facets)
{
    const struct search_params *params = showing->params;
    struct req *r = showing->plan->r;
    struct jw w = resp_json(r);

    jw_obj(&w);
    jw_lit(&w, "items");
    jw_arr(&w);
    TRY(write_hits(showing, &w));
    jw_arr_end(&w);
    JW_I64(&w, "total_items", showing->total);
    JW_BOOL(&w, "total_is_exact", showing->is_total_exact);
    JW_I64(&w, "page", params->page);
    JW_I64(&w, "page_size", params->page_size);
    JW_BOOL(&w, "has_next_page", showing->has_next && params->end < SEARCH_HITS);
    JW_STR(&w, "query", params->text);
    JW_I64(&w, "took_ms", search_took_ms(r));
    if (facets != NULL)
        search_facets_write(facets, &w);
    jw_obj_end(&w);
    return reply_json(r, 200);
}

/* --- the answer --- */

AWAITS static int count_facets(const struct search_answer *showing,
                               struct search_facets **ret_facets)
{
    struct search_plan *plan = showing->plan;
    struct arena *arena = plan->r->task.arena;

    *ret_facets = NULL;
    if (showing->params->facets.ptr == NULL)
        return 0;
    *ret_facets = search_facets_new(plan, showing->params->facets);
    for (size_t i = 0; i < plan->target_count; i++) {
        struct search_target *target = &plan->targets[i];
        struct records_pick pick = all_records_pick(showing, target);
        int64_t *ids = ARENA_ARRAY(arena, ids, showing->count + 1);
        for (size_t k = 0; k < showing->count; k++)
            if (showing->found[k].target == target)
                ids[pick.count++] = showing->found[k].hit.id;
        if (!plan->query.everything)
            pick.ids = ids;
        TRY(search_facets_count(*ret_facets, target, &pick));
    }
    search_facets_end(*ret_facets,
                      plan->query.everything ? showing->is_total_exact
                                             : (int64_t)showing->count == showing->total);
    return 0;
}

int search_write_answer(struct search_plan *plan, const struct search_params *params)
{
    struct search_answer *showing = ARENA_NEW(plan->r->task.arena, showing);
    struct search_facets *facets = NULL;

    showing->plan = plan;
    showing->params = params;
    search_answer_mark(showing);
    showing->is_total_exact = plan->is_total_exact;
    if (plan->target_count == 0) {
        TRY(count_facets(showing, &facets));
        return write_answer(showing, facets);
    }
    if (plan->query.everything) {
        for (size_t i = 0; i < plan->target_count && plan->excluded_word_count > 0; i++)
            TRY(search_find_excluded(plan, &plan->targets[i]));
        showing->is_total_exact = plan->is_total_exact;
        TRY(count_facets(showing, &facets));
        TRY(answer_all_records(showing));
        return write_answer(showing, facets);
    }
    search_answer_merge(showing);
    TRY(filter_and_count(showing));
    TRY(count_facets(showing, &facets));
    if (params->records.sort.len > 0)
        TRY(answer_sorted(showing));
    else
        TRY(search_answer_fetch_page(showing));
    return write_answer(showing, facets);
}
