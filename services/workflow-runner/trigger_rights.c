/* Decides what a job may see of its event. Queries the database only when a row rule applies to a
 * record that another user created. */
#include "trigger_rights.h"

#include "app.h"
#include "json/jr.h"
#include "records/records.h"
#include "workflow/trigger_access.h"

#define RECORD_BYTES ((size_t)64 << 20) /* far above the size of the largest record */

AWAITS static int find_editor(struct run *run, struct caller *caller)
{
    const struct workflow_version *version = run->version;
    struct job *job = run->job;

    *caller = (struct caller){
        .kind = version->editor_key_id != 0 ? CALLER_KEY : CALLER_USER,
        .user_id = version->editor_id,
        .key_id = version->editor_key_id,
    };
    int rc = project_rights(&job->item.task,
                            job->item.project,
                            version->editor_id,
                            version->editor_key_id,
                            &caller->rights);
    if (rc == RIGHTS_NOT_FOUND || (rc == 0 && !caller->rights->active))
        return TRIGGER_NO_EDITOR;
    return rc;
}

/* co: Whether the row rule lets the editor see the record. The creator of a record always sees it.
 * When another user created the record and it has been deleted, there is no row left to check. */
AWAITS static int check_row(struct run *run,
                            const struct caller *caller,
                            const struct entity *entity,
                            const json_t *data)
{
    struct job *job = run->job;
    struct records_ctx ctx = {.task = &job->item.task,
                              .directory = runner_directory(),
                              .project = job->item.project,
                              .db = &job->item.project->db,
                              .model = job->item.project->model,
                              .caller = caller};
    struct strbuf out;
    int64_t version;

    if (!entity->row_level_security || caller_has_all_rows(caller) ||
        jr_i64(data, "created_by", 0) == caller->user_id)
        return 0;
    if (str_is(job->trigger_event, event_name(EVENT_DELETED)))
        return TRIGGER_NOT_PERMITTED;
    strbuf_init(&out, job->item.task.arena, RECORD_BYTES);
    int rc;
    do
        rc = records_get(&ctx, entity, job->trigger_id, NULL, &out, &version);
    while (records_should_repeat(&ctx, &entity, &rc));
    if (rc != RECORDS_FAILED)
        return rc;
    return ctx.error.code == PROBLEM_NOT_FOUND ? TRIGGER_NOT_PERMITTED : rc;
}

AWAITS static int trigger_rights_check(struct run *run, json_t *data)
{
    const struct job *job = run->job;
    const struct model *model = job->item.project->model;
    const struct entity *entity = NULL;
    struct caller caller;

    TRY(find_editor(run, &caller));
    if (caller_is_admin(&caller))
        return 0;
    if (job->trigger_entity_id != 0)
        entity = model_entity_by_id(model, job->trigger_entity_id);
    if (!trigger_is_allowed(&caller, job->trigger_event, entity))
        return TRIGGER_NOT_PERMITTED;
    if (entity == NULL)
        return 0;
    const struct trigger_view view = {&caller, entity, job->trigger_at_ms};
    if (!trigger_filter_is_allowed(&view, run->version->definition.filter_condition))
        return TRIGGER_NOT_PERMITTED;
    TRY(check_row(run, &caller, entity, data));
    trigger_data_trim(&view, data);
    return 0;
}

int trigger_rights(struct run *run)
{
    struct job *job = run->job;

    if (!str_is(job->trigger_kind, trigger_kind_name(TRIGGER_EVENT)))
        return 0;
    arena_reset(run->step_arena);
    job->item.task.arena = run->step_arena; /* keep nothing of what is read */
    int rc =
        trigger_rights_check(run, json_object_get(json_object_get(run->root, "trigger"), "data"));
    job->item.task.arena = job->item.arena;
    return rc;
}
