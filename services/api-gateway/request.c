/* Helpers of app.h that handlers of all areas use. */
#include "app.h"

void gateway_hold_model(struct req *r)
{
    r->scope->model = model_ref(r->scope->project->model);
    model_adopt(r->task.arena, r->scope->project->model);
}

bool gateway_recheck(struct req *r)
{
    struct project *project = r->scope->project;
    struct caller *caller = r->scope->caller;
    const struct model *model;
    bool changed = false;
    int rc = r->scope->db_failure == DB_SCHEMA ? project_reload_model(&r->task, project, &model)
                                               : project_recheck(&r->task, project, &changed);

    if (rc != 0)
        return false;
    if (project->model->version > r->scope->model->version)
        gateway_hold_model(r);
    else if (!changed)
        return false;
    return !caller->rights ||
           project_rights(&r->task, project, caller->user_id, caller->key_id, &caller->rights) == 0;
}

int gateway_entity(struct req *r, const struct entity **ret_entity)
{
    const struct entity *entity = model_entity(r->scope->model, req_param(r, "entity"));

    r->scope->behind = !entity && !r->scope->current;
    if (!entity)
        return fail(r, PROBLEM_NOT_FOUND, "There is no such entity.");
    *ret_entity = entity;
    return 0;
}

struct db_call gateway_audit(
    struct req *r, const char *action, const char *target, int64_t target_id, struct str detail)
{
    return audit_call(
        r->task.arena, r->scope->caller, action, target, target_id, detail, r->request_id);
}

struct str gateway_changed(struct req *r, const struct changed_member *members, size_t count)
{
    struct strbuf text;
    struct jw w;

    strbuf_init(&text, r->task.arena, 512);
    jw_init(&w, &text);
    jw_obj(&w);
    jw_lit(&w, "changed");
    jw_arr(&w);
    for (size_t i = 0; i < count; i++)
        if (members[i].set)
            jw_cstr(&w, members[i].name);
    jw_arr_end(&w);
    jw_obj_end(&w);
    return strbuf_view(&text);
}

void gateway_touch(struct req *r)
{
    project_touch(&r->task, gateway_directory(), r->scope->project);
}
