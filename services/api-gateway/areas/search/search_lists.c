/* Reads posting lists. */
#include "areas/search/search_lists.h"

#include <errno.h>
#include <stdlib.h>

#include "search/principal.h"
#include "search_sql.h"

static int list_compare(const void *a, const void *b)
{
    const struct search_list *one = a;
    const struct search_list *other = b;

    if (one->term != other->term)
        return one->term < other->term ? -1 : 1;
    return one->field < other->field ? -1 : one->field > other->field;
}

/* --- reading --- */

static bool lists_have_term(const struct search_lists *lists, int64_t term)
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

void search_want_terms(struct search_needed *wanted, const struct search_terms *terms, bool late)
{
    for (size_t i = 0; i < terms->count; i++)
        if (terms->items[i].is_fallback == late &&
            (wanted->known_lists == NULL ||
             !lists_have_term(wanted->known_lists, terms->items[i].id))) {
            ARENA_PUSH(wanted->arena, wanted->ids, wanted->count, wanted->cap, terms->items[i].id);
            wanted->postings += terms->items[i].df;
        }
}

static void
wanted_add_word(struct search_needed *wanted, const struct search_expansion *word, bool late)
{
    search_want_terms(wanted, &word->whole_terms, late);
    for (size_t i = 0; i < word->word->part_count; i++)
        search_want_terms(wanted, &word->part_terms[i], late);
}

void search_add_leaf(
    struct arena *arena, struct search_lists *lists, int64_t term, int64_t field, struct leaf *leaf)
{
    struct search_list *last = lists->count > 0 ? &lists->items[lists->count - 1] : NULL;

    lists->bytes += leaf->docs.len;
    if (last != NULL && last->leaves + last->count == leaf && last->term == term &&
        last->field == field) { /* same list, read by the same statement */
        last->count++;
        return;
    }
    ARENA_PUSH(
        arena, lists->items, lists->count, lists->cap, (struct search_list){term, field, leaf, 1});
}

void search_sort_lists(struct search_lists *lists)
{
    if (lists->count > 0)
        qsort(lists->items, lists->count, sizeof(*lists->items), list_compare);
}

struct sql_i64s search_postings_fields(struct arena *arena, const struct search_target *target)
{
    int64_t *fields = ARENA_ARRAY(arena, fields, target->field_count + 1);

    fields[0] = PRINCIPAL_FIELD;
    for (size_t i = 0; i < target->field_count; i++)
        fields[i + 1] = target->fields[i].posting;
    return sql_i64s(fields, target->field_count + 1);
}

static int term_compare(const void *a, const void *b)
{
    int64_t one = *(const int64_t *)a;
    int64_t other = *(const int64_t *)b;

    return one < other ? -1 : one > other;
}

/* Returns each wanted term once: two words may mean the same term. */
static struct sql_i64s wanted_terms(const struct search_needed *wanted)
{
    size_t count = 0;

    if (wanted->count > 0)
        qsort(wanted->ids, wanted->count, sizeof(*wanted->ids), term_compare);
    for (size_t i = 0; i < wanted->count; i++)
        if (count == 0 || wanted->ids[count - 1] != wanted->ids[i])
            wanted->ids[count++] = wanted->ids[i];
    return sql_i64s(wanted->ids, count);
}

/* Returns -ESTALE if the index is no longer live: it was replaced and is being emptied. */
AWAITS static int check_index_live(struct search_plan *plan,
                                   const struct search_target *target,
                                   const struct rows *rows)
{
    struct rows answer;

    if (rows->count > 0)
        return sql_search_leaf_row(plan->r->task.arena, rows, 0).live > 0 ? 0 : -ESTALE;
    TRY(sql_one(plan->r, &answer, SQL_SEARCH_IS_LIVE(.idx = target->idx)));
    return sql_search_is_live_row(&answer, 0).live ? 0 : -ESTALE;
}

int search_read_lists(struct search_plan *plan,
                      struct search_target *target,
                      const struct search_needed *wanted)
{
    struct arena *arena = plan->r->task.arena;
    struct sql_i64s fields = search_postings_fields(arena, target);
    struct sql_i64s terms = wanted_terms(wanted);
    int64_t from = target->lists->lowest_id;
    struct rows rows;

    if (from == 0)
        TRY(sql_all(plan->r,
                    &rows,
                    SQL_SEARCH_LEAVES(.idx = target->idx,
                                      .term_ids = terms,
                                      .terms = (int64_t)terms.count,
                                      .fields = fields)));
    else
        TRY(sql_all(plan->r,
                    &rows,
                    SQL_SEARCH_WINDOW(.idx = target->idx,
                                      .term_ids = terms,
                                      .terms = (int64_t)terms.count,
                                      .fields = fields,
                                      .lists = (int64_t)fields.count,
                                      .from = from)));
    TRY(check_index_live(plan, target, &rows));
    struct leaf *leaves = ARENA_ARRAY(arena, leaves, rows.count + 1);
    size_t before = target->lists->bytes;
    for (size_t i = 0; i < rows.count; i++) {
        struct sql_search_leaf_row row = sql_search_leaf_row(arena, &rows, i);
        leaves[i] = (struct leaf){.base = row.base, .n = (int32_t)row.n, .docs = row.docs};
        search_add_leaf(arena, target->lists, row.term_id, row.field, &leaves[i]);
        TRY(task_yield_if_due(&plan->r->task));
    }
    plan->bytes += target->lists->bytes - before;
    search_sort_lists(target->lists);
    return 0;
}

void search_want_all(struct search_needed *wanted,
                     const struct search_plan *plan,
                     const struct search_target *target,
                     bool late)
{
    for (size_t i = 0; i < plan->word_count; i++)
        wanted_add_word(wanted, &plan->words[i], late);
    for (size_t i = 0; i < plan->excluded_word_count; i++)
        wanted_add_word(wanted, &plan->excluded_words[i], late);
    search_want_terms(wanted, &target->principal_terms, late);
}

int search_read_target(struct search_plan *plan, struct search_target *target)
{
    struct search_needed wanted = {.arena = plan->r->task.arena};

    if (target->lists == NULL)
        target->lists = ARENA_NEW(plan->r->task.arena, target->lists);
    wanted.known_lists = target->lists;
    if (!target->lists->has_first_terms)
        search_want_all(&wanted, plan, target, false);
    if (plan->is_forgiving && !target->lists->has_fallback_terms)
        search_want_all(&wanted, plan, target, true);
    target->lists->has_first_terms = true;
    target->lists->has_fallback_terms = plan->is_forgiving;
    if (wanted.count == 0)
        return 0;
    TRY(search_read_lists(plan, target, &wanted));
    return search_fill_seen(plan, target);
}

const struct search_list *
search_list_find(const struct search_lists *lists, int64_t term, int64_t field)
{
    const struct search_list wanted = {.term = term, .field = field};

    if (lists->count == 0)
        return NULL;
    return bsearch(&wanted, lists->items, lists->count, sizeof(wanted), list_compare);
}

bool search_word_has_field(const struct search_word *word, const struct search_field *field)
{
    return word->field.len == 0 || str_eq(word->field, field->text.field->name);
}
