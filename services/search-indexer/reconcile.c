/*
 * Keeps the generations of a project in line with its model: the first step of a round (app.h).
 *
 * Every entity that is searched has a shape (shape.h). The shape changes when a field is added,
 * removed, made searchable or secret, or gets another type or display field, and when the program
 * has another TOKENS_VERSION. Then a new generation is requested (state 'building'), and the live
 * one answers queries until build.c has finished the new one. A new name, rule or weight does not
 * change the shape. reconcile.h has the other cases.
 */
#include "reconcile.h"

#include "base/num.h"
#include "batch.h"
#include "build.h"
#include "index_sql.h"
#include "search/tokens.h"

static void reconcile_drop(struct index_batch *batch, const struct generation *of)
{
    int64_t *id = ARENA_NEW(batch->arena, id);

    *id = of->idx;
    batch_call(batch, db_call_new(batch->arena, SQL_GENERATION_DROP(.ids = sql_i64s(id, 1))));
}

static bool reconcile_has_other_shape(const struct generation *of, const struct index_shape *wanted)
{
    return of != NULL && of->shape_text.len > 0 && !str_eq(of->shape_text, wanted->text);
}

bool reconcile_has_old_tokens(const struct generations *all)
{
    for (size_t i = 0; i < all->count; i++) {
        const struct generation *of = &all->items[i];
        struct str shape = of->shape_text;
        int64_t version;
        if (str_is(of->state, "live") && num_parse_i64(str_split(&shape, ' '), &version) &&
            version != TOKENS_VERSION && !generation_find(all, of->entity_id, "building") &&
            !generation_find(all, of->entity_id, "failed") &&
            !generation_find(all, of->entity_id, "purged"))
            return true;
    }
    return false;
}

static void reconcile_entity(struct index_batch *batch,
                             const struct generations *all,
                             const struct entity *entity,
                             const struct index_shape *wanted)
{
    const struct generation *live = generation_find(all, entity->id, "live");
    const struct generation *failed = generation_find(all, entity->id, "failed");
    const struct generation *building = generation_find(all, entity->id, "building");

    if (generation_find(all, entity->id, "purged") != NULL)
        return;
    if (reconcile_has_other_shape(building, wanted)) {
        reconcile_drop(batch, building);
        build_end(batch->index);
        building = NULL;
    }
    bool wants = live == NULL ? failed == NULL || reconcile_has_other_shape(failed, wanted)
                              : reconcile_has_other_shape(live, wanted);
    if (building == NULL && wants)
        batch_call(batch, db_call_new(batch->arena, SQL_GENERATION_ASK(.entity_id = entity->id)));
}

int reconcile_run(struct task *task, struct index *index, const struct generations *all)
{
    struct index_batch batch;

    batch_init(&batch, task->arena, index);
    for (size_t i = 0; i < index->model->entity_count; i++) {
        const struct entity *entity = &index->model->entities[i];
        struct index_shape wanted;
        if (shape_wanted(task->arena, entity, &wanted))
            reconcile_entity(&batch, all, entity, &wanted);
    }
    for (size_t i = 0; i < all->count; i++) {
        const struct generation *of = &all->items[i];
        const struct entity *entity = model_entity_by_id(index->model, of->entity_id);
        if ((entity == NULL || !entity->has_index) && !str_is(of->state, "dropped")) {
            reconcile_drop(&batch, of);
            if (str_is(of->state, "building"))
                build_end(index);
        }
    }
    batch_call(&batch,
               db_call_new(task->arena, SQL_ALIGN_DONE(.model_version = index->model->version)));
    return batch_exec(task, index, batch.calls, batch.call_count);
}
