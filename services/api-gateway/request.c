/* Helpers of app.h that handlers of all areas use. */
#include "app.h"

int gateway_entity(struct req *r, const struct entity **ret_entity)
{
    const struct entity *entity = model_entity(r->model, req_param(r, "entity"));

    if (!entity)
        return fail(r, "not_found", "There is no such entity.");
    *ret_entity = entity;
    return 0;
}

struct db_call gateway_audit(
    struct req *r, const char *action, const char *target, int64_t target_id, struct str detail)
{
    return audit_call(r->task.arena, r->caller, action, target, target_id, detail, r->request_id);
}

void gateway_touch(struct req *r)
{
    project_touch(&r->task, gateway_directory(), r->project);
}
