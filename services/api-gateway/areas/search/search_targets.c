/* Targets of a search: entities, their live indexes, and the caller's fields and principals. */
#include <stdlib.h>

#include "areas/search/search.h"
#include "areas/search/search_cache.h"
#include "search/principal.h"
#include "search_sql.h"

/* --- entities --- */

static bool is_target(const struct search_plan *plan, const struct entity *entity)
{
    bool access = plan->ctx->public_only || caller_has_api_access(plan->ctx->caller);

    return access && entity->has_index && records_can_read(plan->ctx, entity);
}

static void add_target(struct search_plan *plan, const struct entity *entity)
{
    for (size_t i = 0; i < plan->target_count; i++)
        if (plan->targets[i].entity == entity)
            return;
    plan->targets[plan->target_count++] = (struct search_target){
        .entity = entity,
        .has_row_rule = records_has_row_rule(plan->ctx, entity),
    };
}

/* Chooses the entities to search. The answer is the same for an entity that does not exist, that is
 * not searchable and that the caller may not read. */
static int choose_targets(struct search_plan *plan, struct str names)
{
    const struct model *model = plan->ctx->model;
    struct req *r = plan->r;

    plan->target_count = 0;
    plan->targets = ARENA_ARRAY(r->task.arena, plan->targets, model->entity_count + 1);
    if (names.ptr == NULL) {
        for (size_t i = 0; i < model->entity_count; i++)
            if (is_target(plan, &model->entities[i]))
                add_target(plan, &model->entities[i]);
        return 0;
    }
    while (names.ptr != NULL) {
        struct str name = str_split(&names, ',');
        const struct entity *entity = model_entity(model, name);
        if (entity == NULL || !is_target(plan, entity)) {
            struct schema_errors *errors = ARENA_NEW(r->task.arena, errors);
            schema_error_add(r->task.arena,
                             errors,
                             STR("e"),
                             PROBLEM_INVALID_QUERY,
                             "there is no searchable entity \"%.*s\"",
                             STR_ARG(name));
            r->scope->may_be_stale = entity == NULL && !r->scope->is_rechecked;
            return fail_with(r, PROBLEM_INVALID_QUERY, STR("1 parameter is invalid"), errors);
        }
        add_target(plan, entity);
    }
    return 0;
}

/* --- fields --- */

/* Returns which text of a field is searched. A relation is searched by the display field of its
 * target, if the caller may read this field; otherwise returns false. */
static bool field_text(const struct search_plan *plan,
                       const struct model_field *field,
                       struct records_text *ret_text)
{
    *ret_text = (struct records_text){.field = field};
    if (field->type != TYPE_RELATION)
        return true;
    if (field->target == NULL || !records_can_read(plan->ctx, field->target))
        return false;
    ret_text->shown = entity_display(field->target);
    return ret_text->shown != NULL && records_can_read_field(plan->ctx, ret_text->shown);
}

static bool field_excuses_typos(const struct search_settings *settings,
                                const struct model_field *field)
{
    if (!settings->typos)
        return false;
    for (size_t i = 0; i < settings->exact_field_count; i++)
        if (settings->exact_fields[i] == field->id)
            return false;
    return true;
}

/* Heavier fields first, then in the order of the entity. */
static int field_compare(const void *a, const void *b)
{
    const struct model_field *first = ((const struct search_field *)a)->text.field;
    const struct model_field *second = ((const struct search_field *)b)->text.field;

    if (first->search_weight != second->search_weight)
        return first->search_weight > second->search_weight ? -1 : 1;
    return first < second ? -1 : first > second;
}

static void
fill_fields(struct search_plan *plan, struct search_target *target, struct sql_i64s field_ids)
{
    target->fields = ARENA_ARRAY(plan->r->task.arena, target->fields, field_ids.count + 1);
    for (size_t i = 0; i < field_ids.count; i++) {
        const struct model_field *field = entity_field_by_id(target->entity, field_ids.items[i]);
        struct records_text text;
        if (field == NULL || !field_is_searched(field) ||
            !records_can_read_field(plan->ctx, field) || !field_text(plan, field, &text))
            continue;
        target->fields[target->field_count++] = (struct search_field){
            .posting = (int64_t)i + 1 /* PRINCIPAL_FIELD is 0 */,
            .typos = field_excuses_typos(&plan->settings, field),
            .text = text,
            .is_guarded = text.shown != NULL && records_has_row_rule(plan->ctx, field->target),
        };
    }
    qsort(target->fields, target->field_count, sizeof(*target->fields), field_compare);
    for (size_t i = 0; i < target->field_count; i++)
        target->fields[i].rank = i < RANK_FIELD ? (unsigned)i : RANK_FIELD;
}

bool search_is_field(const void *arg, struct str name)
{
    const struct search_plan *plan = arg;

    for (size_t i = 0; i < plan->target_count; i++)
        for (size_t k = 0; k < plan->targets[i].field_count; k++)
            if (str_eq(plan->targets[i].fields[k].text.field->name, name))
                return true;
    return false;
}

/* --- principals --- */

struct members {
    struct sql_i64s ids;
    bool is_complete; /* the group has at most SEARCH_MEMBERS members */
};

static void
add_caller_principal(struct search_plan *plan, struct search_target *target, char kind, int64_t id)
{
    char *buffer = arena_alloc(plan->r->task.arena, PRINCIPAL_BYTES);

    target->principals[target->principal_count++] = principal_print(buffer, kind, id);
}

static void fill_principals(struct search_plan *plan,
                            struct search_target *target,
                            const struct members *members)
{
    const struct caller *caller = plan->ctx->caller;
    const struct rights *rights = caller->rights;
    bool grants = target->entity->has_grants || caller->group_scope != 0;
    size_t most = 2 + members->ids.count;

    if (rights != NULL)
        most += rights->group_count + rights->role_count;
    target->principals = ARENA_ARRAY(plan->r->task.arena, target->principals, most);
    add_caller_principal(plan, target, 'o', caller->user_id);
    for (size_t i = 0; i < members->ids.count; i++)
        if (members->ids.items[i] != caller->user_id)
            add_caller_principal(plan, target, 'o', members->ids.items[i]);
    if (!grants)
        return;
    add_caller_principal(plan, target, 'u', caller->user_id);
    for (size_t i = 0; rights != NULL && i < rights->group_count; i++)
        add_caller_principal(plan, target, 'g', rights->group_ids[i]);
    for (size_t i = 0; rights != NULL && i < rights->role_count; i++)
        add_caller_principal(plan, target, 'r', rights->role_ids[i]);
}

AWAITS static int read_members(struct search_plan *plan, struct members *ret_members)
{
    struct req *r = plan->r;
    int64_t group_id = plan->ctx->caller->group_scope;
    struct rows rows;

    *ret_members = (struct members){.is_complete = true};
    if (group_id == 0)
        return 0;
    TRY(sql_all(r, &rows, SQL_SEARCH_MEMBERS(.group_id = group_id, .limit = SEARCH_MEMBERS + 1)));
    if (rows.count > SEARCH_MEMBERS) {
        ret_members->is_complete = false;
        return 0;
    }
    int64_t *ids = ARENA_ARRAY(r->task.arena, ids, rows.count + 1);
    for (size_t i = 0; i < rows.count; i++)
        ids[i] = sql_search_members_row(&rows, i).user_id;
    ret_members->ids = sql_i64s(ids, rows.count);
    return 0;
}

static int id_compare(const void *a, const void *b)
{
    int64_t one = *(const int64_t *)a;
    int64_t other = *(const int64_t *)b;

    return one < other ? -1 : one > other;
}

/* For a group with more than SEARCH_MEMBERS members: reads the ids of the group's newest records
 * instead of the lists of its members. SEARCH_CHECKED_HITS ids mean that there are more records. */
AWAITS static int read_visible(struct search_plan *plan, struct search_target *target)
{
    struct records_query everything = {.fields = STR_NONE};
    struct records_pick pick = {.query = &everything, .limit = SEARCH_CHECKED_HITS - 1};
    int rc = records_pick_ids(
        plan->ctx, target->entity, &pick, &target->visible_ids, &target->visible_id_count);

    if (rc == 0)
        qsort(target->visible_ids,
              target->visible_id_count,
              sizeof(*target->visible_ids),
              id_compare);
    if (target->visible_id_count == SEARCH_CHECKED_HITS)
        plan->is_total_exact = false;
    return items_reply_error(plan->r, plan->ctx, rc);
}

AWAITS static int fill_rules(struct search_plan *plan)
{
    struct members members = {.is_complete = true};
    bool ruled = false;

    for (size_t i = 0; i < plan->target_count; i++)
        ruled = ruled || plan->targets[i].has_row_rule;
    if (!ruled)
        return 0;
    TRY(read_members(plan, &members));
    for (size_t i = 0; i < plan->target_count; i++) {
        if (!plan->targets[i].has_row_rule)
            continue;
        if (members.is_complete)
            fill_principals(plan, &plan->targets[i], &members);
        else
            TRY(read_visible(plan, &plan->targets[i]));
    }
    return 0;
}

/* --- the targets --- */

/* Removes targets without a live index: their records cannot be found. */
static void drop_unindexed_targets(struct search_plan *plan)
{
    size_t kept_count = 0;

    for (size_t i = 0; i < plan->target_count; i++)
        if (plan->targets[i].idx != 0)
            plan->targets[kept_count++] = plan->targets[i];
    plan->target_count = kept_count;
}

/* Sets the index and fields of the target that the live index belongs to. */
static void target_set_index(struct search_plan *plan, const struct search_index *index)
{
    for (size_t i = 0; i < plan->target_count; i++) {
        if (plan->targets[i].entity->id != index->entity_id)
            continue;
        plan->targets[i].idx = index->id;
        fill_fields(plan, &plan->targets[i], index->field_ids);
    }
}

static bool caller_sees_field(const struct search_plan *plan, const struct model_field *field)
{
    struct records_text text;

    if (!field_is_searched(field))
        return true;
    return records_can_read_field(plan->ctx, field) && field_text(plan, field, &text) &&
           (text.shown == NULL || !records_has_row_rule(plan->ctx, field->target));
}

/* Returns whether the caller may read every row and field of all searchable entities, not only of
 * the requested entities: all of them share one lexicon. */
static bool caller_sees_all(const struct search_plan *plan)
{
    const struct model *model = plan->ctx->model;

    for (size_t i = 0; i < model->entity_count; i++) {
        const struct entity *entity = &model->entities[i];
        if (!entity->has_index)
            continue;
        if (!is_target(plan, entity) || records_has_row_rule(plan->ctx, entity))
            return false;
        for (size_t k = 0; k < entity->field_count; k++)
            if (!caller_sees_field(plan, &entity->fields[k]))
                return false;
    }
    return true;
}

/* Reads the current indexes and settings from the database, and caches them. */
AWAITS static int read_live_indexes(struct search_plan *plan, struct search_cached *ret_known)
{
    struct req *r = plan->r;
    struct rows rows;

    TRY(sql_all(r, &rows, SQL_SEARCH_LIVE()));
    *ret_known = (struct search_cached){
        .indexes = ARENA_ARRAY(r->task.arena, ret_known->indexes, rows.count + 1)};
    for (size_t row = 0; row < rows.count; row++) {
        struct sql_search_live_row live = sql_search_live_row(r->task.arena, &rows, row);
        if (live.id.set)
            ret_known->indexes[ret_known->count++] =
                (struct search_index){live.id.value, live.entity_id.value, live.field_ids};
        if (live.version.ptr == NULL)
            continue;
        ret_known->version = live.version;
        ret_known->doc = live.doc;
    }
    search_cache_put(r->scope->project->number, ret_known);
    return 0;
}

static void apply_cached(struct search_plan *plan, const struct search_cached *known)
{
    struct arena *arena = plan->r->task.arena;

    plan->entity_ids = ARENA_ARRAY(arena, plan->entity_ids, plan->target_count + 1);
    plan->entity_count = plan->target_count;
    for (size_t i = 0; i < plan->target_count; i++)
        plan->entity_ids[i] = plan->targets[i].entity->id;
    plan->version = known->version;
    search_settings_read(arena, known->doc, &plan->settings);
    for (size_t i = 0; i < known->count; i++)
        target_set_index(plan, &known->indexes[i]);
    drop_unindexed_targets(plan);
}

int search_targets(struct search_plan *plan, struct str names)
{
    struct req *r = plan->r;
    struct search_cached known;

    plan->names = names;
    TRY(choose_targets(plan, names));
    plan->requested_count = plan->target_count;
    plan->sees_all = caller_sees_all(plan);
    plan->is_cached = search_cache_get(r->task.arena, r->scope->project->number, &known);
    if (!plan->is_cached)
        TRY(read_live_indexes(plan, &known));
    apply_cached(plan, &known);
    return fill_rules(plan);
}

int search_targets_refresh(struct search_plan *plan)
{
    if (!plan->is_cached)
        return 0;
    search_cache_drop(plan->r->scope->project->number);
    return search_targets(plan, plan->names);
}
