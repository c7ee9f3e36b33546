/* Facets of a search. */
#include "areas/search/search_facets.h"

#include <stdlib.h>

enum { VALUE_BYTES = 1 << 20 };

struct facet_value {
    struct str json;
    int64_t count;
    size_t position; /* position in which it was found */
};

struct facet {
    struct str name;
    struct facet_value *values;
    size_t count, cap;
};

struct search_facets {
    struct search_plan *plan;
    struct facet items[SEARCH_FACETS];
    size_t count;
    bool is_exact;
};

/* --- fields --- */

static const struct model_field *
facet_field(const struct search_plan *plan, const struct entity *entity, struct str name)
{
    const struct model_field *field = entity_field(entity, name);

    if (field == NULL || !records_can_read_field(plan->ctx, field))
        return NULL;
    if (field->is_many || field->type == TYPE_TEXT ||
        (model_type_info(field->type)->fits & FITS_SET) == 0)
        return NULL;
    return field;
}

static bool has_facet(const struct search_plan *plan, struct str name)
{
    for (size_t i = 0; i < plan->target_count; i++)
        if (facet_field(plan, plan->targets[i].entity, name) != NULL)
            return true;
    return plan->target_count == 0;
}

int search_facets_check(struct search_plan *plan, struct str names)
{
    struct req *r = plan->r;
    struct schema_errors *errors = ARENA_NEW(r->task.arena, errors);
    size_t count = 0;

    while (names.ptr != NULL) {
        struct str name = str_split(&names, ',');
        if (!has_facet(plan, name))
            schema_error_add(r->task.arena,
                             errors,
                             STR("facets"),
                             PROBLEM_INVALID_QUERY,
                             "there is no readable field \"%.*s\" whose values can be counted",
                             STR_ARG(name));
        if (++count == SEARCH_FACETS + 1)
            schema_error_add(r->task.arena,
                             errors,
                             STR("facets"),
                             PROBLEM_INVALID_QUERY,
                             "names more than %d fields",
                             (int)SEARCH_FACETS);
    }
    if (errors->count == 0)
        return 0;
    return fail_with(r, PROBLEM_INVALID_QUERY, STR("facets is invalid"), errors);
}

struct search_facets *search_facets_new(struct search_plan *plan, struct str names)
{
    struct search_facets *facets = ARENA_NEW(plan->r->task.arena, facets);

    facets->plan = plan;
    while (names.ptr != NULL && facets->count < SEARCH_FACETS) {
        struct str name = str_split(&names, ',');
        bool twice = false;
        for (size_t i = 0; i < facets->count; i++)
            twice = twice || str_eq(facets->items[i].name, name);
        if (!twice)
            facets->items[facets->count++].name = name;
    }
    return facets;
}

/* --- counting --- */

static void add_value(struct search_facets *facets, struct facet *facet, struct str json, int64_t n)
{
    for (size_t i = 0; i < facet->count; i++) {
        if (str_eq(facet->values[i].json, json)) {
            facet->values[i].count += n;
            return;
        }
    }
    ARENA_PUSH(facets->plan->r->task.arena,
               facet->values,
               facet->count,
               facet->cap,
               (struct facet_value){json, n, facet->count});
}

int search_facets_count(struct search_facets *facets,
                        struct search_target *target,
                        const struct records_pick *pick)
{
    struct search_plan *plan = facets->plan;
    struct records_pick values = *pick;

    values.limit = SEARCH_VALUES;
    if (pick->ids != NULL && pick->count == 0)
        return 0;
    for (size_t i = 0; i < facets->count; i++) {
        struct facet *facet = &facets->items[i];
        const struct model_field *field = facet_field(plan, target->entity, facet->name);
        struct rows rows;
        if (field == NULL)
            continue;
        TRY(items_reply_error(
            plan->r,
            plan->ctx,
            records_pick_values(plan->ctx, target->entity, &values, field, &rows)));
        for (size_t row = 0; row < rows.count; row++) {
            struct strbuf json;
            struct jw w;
            strbuf_init(&json, plan->r->task.arena, VALUE_BYTES);
            jw_init(&w, &json);
            records_value_json(&w, field, &rows, row, 0);
            add_value(facets, facet, strbuf_view(&json), rows_i64(&rows, row, 1));
        }
    }
    return 0;
}

/* Most hits first. Equal counts keep the order in which values were found, which for each entity is
 * the order of the values in the database. */
static int value_compare(const void *a, const void *b)
{
    const struct facet_value *one = a;
    const struct facet_value *other = b;

    if (one->count != other->count)
        return one->count > other->count ? -1 : 1;
    return one->position < other->position ? -1 : 1;
}

void search_facets_end(struct search_facets *facets, bool exact)
{
    facets->is_exact = exact;
    for (size_t i = 0; i < facets->count; i++)
        if (facets->items[i].count > 0)
            qsort(facets->items[i].values,
                  facets->items[i].count,
                  sizeof(*facets->items[i].values),
                  value_compare);
}

void search_facets_write(const struct search_facets *facets, struct jw *w)
{
    jw_lit(w, "facets");
    jw_obj(w);
    for (size_t i = 0; i < facets->count; i++) {
        const struct facet *facet = &facets->items[i];
        jw_key(w, facet->name);
        jw_arr(w);
        for (size_t k = 0; k < facet->count && k < SEARCH_VALUES; k++) {
            jw_obj(w);
            jw_lit(w, "value");
            jw_raw(w, facet->values[k].json);
            JW_I64(w, "count", facet->values[k].count);
            jw_obj_end(w);
        }
        jw_arr_end(w);
    }
    jw_obj_end(w);
    JW_BOOL(w, "facets_are_exact", facets->is_exact);
}
