/* Runs most queries as one statement, which finds their terms and the terms that begin with their
 * prefix, reads all lists, and verifies the cached indexes and settings. */
#include <errno.h>
#include <stdlib.h>

#include "areas/search/search_cache.h"
#include "areas/search/search_lists.h"
#include "base/utf8.h"
#include "search/lexicon.h"
#include "search/principal.h"
#include "search_sql.h"

/* --- whether a query is plain --- */

/* Returns how many terms of a word are prefixes; *ret_prefix is the last prefix. */
static size_t count_prefixes(const struct search_word *word, struct str *ret_prefix)
{
    size_t count = 0;

    if (word->prefix && (word->kind == SEARCH_WORD || word->kind == SEARCH_CODE)) {
        *ret_prefix = word->term;
        count++;
    }
    for (size_t i = 0; i < word->part_count; i++)
        if (word->parts[i].prefix || (word->prefix && i + 1 == word->part_count)) {
            *ret_prefix = word->parts[i].term;
            count++;
        }
    return count;
}

/* Returns whether row rules apply to all targets or to none. The statement reads the lists of all
 * terms for all targets, but lists of principals are only for targets with row rules. */
static bool have_rules_alike(const struct search_plan *plan)
{
    for (size_t i = 1; i < plan->target_count; i++)
        if (plan->targets[i].has_row_rule != plan->targets[0].has_row_rule)
            return false;
    return plan->target_count > 0;
}

bool search_is_plain(const struct search_plan *plan)
{
    struct str prefix = STR_NONE;
    size_t count = 0;
    bool words = false;

    for (size_t i = 0; i < plan->query.count; i++) {
        count += count_prefixes(&plan->query.words[i], &prefix);
        words = words || !plan->query.words[i].excluded;
    }
    if (!words || count > 1 || !have_rules_alike(plan))
        return false;
    /* For a caller that sees all, short prefixes have lexicon rows of their own (search_prefix()).
     */
    return count == 0 || !plan->sees_all || utf8_length(prefix) > SEARCH_SHORT_PREFIX_LETTERS;
}

/* --- reading --- */

/* Fields of targets: fields[i] belongs to indexes[i]. */
struct wanted_lists {
    int64_t *indexes, *fields;
    size_t count;
};

static struct wanted_lists wanted_lists(const struct search_plan *plan)
{
    struct arena *arena = plan->r->task.arena;
    struct wanted_lists wanted = {.count = 0};
    size_t most = plan->target_count;

    for (size_t i = 0; i < plan->target_count; i++)
        most += plan->targets[i].field_count;
    wanted.indexes = ARENA_ARRAY(arena, wanted.indexes, most);
    wanted.fields = ARENA_ARRAY(arena, wanted.fields, most);
    for (size_t i = 0; i < plan->target_count; i++) {
        const struct search_target *target = &plan->targets[i];
        if (target->has_row_rule) {
            wanted.indexes[wanted.count] = target->idx;
            wanted.fields[wanted.count++] = PRINCIPAL_FIELD;
        }
        for (size_t k = 0; k < target->field_count; k++) {
            wanted.indexes[wanted.count] = target->idx;
            wanted.fields[wanted.count++] = target->fields[k].posting;
        }
    }
    return wanted;
}

static struct sql_i64s live_ids(const struct search_plan *plan)
{
    int64_t *ids = ARENA_ARRAY(plan->r->task.arena, ids, plan->target_count + 1);

    for (size_t i = 0; i < plan->target_count; i++)
        ids[i] = plan->targets[i].idx;
    return sql_i64s(ids, plan->target_count);
}

/* Returns whether the live indexes are exactly the targets' indexes, and the settings' version is
 * the plan's. */
static bool is_cache_current(const struct search_plan *plan, const struct sql_search_plain_row *row)
{
    return row->live && str_eq(row->version, plan->version);
}

/* Exact terms first, then terms that begin with the prefix, each commonest first; the leaves of a
 * term in the order of lists. */
static int row_compare(const void *a, const void *b)
{
    const struct sql_search_plain_row *one = a;
    const struct sql_search_plain_row *other = b;
    int order = one->goes_on.value - other->goes_on.value;

    if (order == 0)
        order = (one->df.value < other->df.value) - (one->df.value > other->df.value);
    if (order == 0)
        order = str_cmp(one->term, other->term);
    if (order == 0)
        order = (one->idx.value > other->idx.value) - (one->idx.value < other->idx.value);
    if (order == 0)
        order = (one->field.value > other->field.value) - (one->field.value < other->field.value);
    return order != 0
               ? order
               : (one->base.value > other->base.value) - (one->base.value < other->base.value);
}

struct plain_result {
    struct sql_search_plain_row *rows; /* in order */
    size_t count;
    struct search_term *terms; /* `exact_count` exact terms, then `prefix_count` with the prefix */
    size_t exact_count, prefix_count;
    bool has_lists; /* all lists were read */
};

AWAITS static int
read_plain(struct search_plan *plan, const struct rows *rows, struct plain_result *plain)
{
    struct arena *arena = plan->r->task.arena;

    plain->rows = ARENA_ARRAY(arena, plain->rows, rows->count + 1);
    for (size_t i = 0; i < rows->count; i++) {
        plain->rows[i] = sql_search_plain_row(arena, rows, i);
        TRY(task_yield_if_due(&plan->r->task));
    }
    if (rows->count == 0 || !is_cache_current(plan, &plain->rows[0])) {
        search_cache_drop(plan->r->scope->project->number);
        return -ESTALE;
    }
    plain->count = plain->rows[0].id.set ? rows->count : 0;
    plain->has_lists = plain->count == 0 || plain->rows[0].whole.value;
    plain->terms = ARENA_ARRAY(arena, plain->terms, plain->count + 1);
    if (plain->count > 0)
        qsort(plain->rows, plain->count, sizeof(*plain->rows), row_compare);
    for (size_t i = 0; i < plain->count; i++) {
        const struct sql_search_plain_row *row = &plain->rows[i];
        if (i > 0 && row[-1].id.value == row->id.value &&
            row[-1].goes_on.value == row->goes_on.value)
            continue;
        plain->terms[plain->exact_count + plain->prefix_count] = (struct search_term){
            .id = (int32_t)row->id.value, .df = row->df.value, .text = row->term};
        plain->exact_count += !row->goes_on.value;
        plain->prefix_count += row->goes_on.value;
    }
    return 0;
}

/* Returns whether a term with the prefix was also found as an exact term: its leaves are in the
 * rows twice. */
static bool is_found_twice(const struct plain_result *plain, const struct sql_search_plain_row *row)
{
    for (size_t i = 0; row->goes_on.value && i < plain->exact_count; i++)
        if (plain->terms[i].id == row->id.value)
            return true;
    return false;
}

AWAITS static int
add_lists(struct search_plan *plan, struct search_target *target, const struct plain_result *plain)
{
    struct arena *arena = plan->r->task.arena;
    struct leaf *leaves = ARENA_ARRAY(arena, leaves, plain->count + 1);
    size_t count = 0;

    target->lists = ARENA_NEW(arena, target->lists);
    target->lists->has_first_terms = true;
    for (size_t i = 0; i < plain->count; i++) {
        const struct sql_search_plain_row *row = &plain->rows[i];
        if (!row->field.set || row->idx.value != target->idx || is_found_twice(plain, row))
            continue;
        leaves[count] =
            (struct leaf){.base = row->base.value, .n = (int32_t)row->n.value, .docs = row->docs};
        search_add_leaf(arena, target->lists, row->id.value, row->field.value, &leaves[count]);
        count++;
    }
    search_sort_lists(target->lists);
    plan->bytes += target->lists->bytes;
    return search_fill_seen(plan, target);
}

int search_run_plain(struct search_plan *plan,
                     const struct search_term_lookups *lookups,
                     struct str prefix,
                     struct search_terms *beginnings)
{
    struct wanted_lists wanted = wanted_lists(plan);
    struct plain_result plain = {.count = 0};
    struct rows rows;

    TRY(sql_all(plan->r,
                &rows,
                SQL_SEARCH_PLAIN(.terms = sql_strs(lookups->texts, lookups->count),
                                 .prefix = prefix,
                                 .candidates = SEARCH_CANDIDATES,
                                 .lists = (int64_t)wanted.count,
                                 .limit = search_prefix_limit(plan),
                                 .postings = search_whole_limit(plan),
                                 .most = (int64_t)lookups->count + LEXICON_PREFIXES,
                                 .targets = (int64_t)plan->target_count,
                                 .live_ids = live_ids(plan),
                                 .entity_ids = sql_i64s(plan->entity_ids, plan->entity_count),
                                 .indexes = sql_i64s(wanted.indexes, wanted.count),
                                 .fields = sql_i64s(wanted.fields, wanted.count))));
    TRY(read_plain(plan, &rows, &plain));
    search_add_found(plan, lookups, plain.terms, plain.exact_count);
    if (beginnings != NULL)
        TRY(search_add_prefix_terms(
            plan, beginnings, plain.terms + plain.exact_count, plain.prefix_count));
    for (size_t i = 0; i < plan->target_count && plain.has_lists; i++)
        TRY(add_lists(plan, &plan->targets[i], &plain));
    return 0;
}
