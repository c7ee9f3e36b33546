/* GET /users/me: the caller's account and permissions, by which applications show and hide parts of
 * their pages. */
#include "areas/access/users.h"
#include "users_sql.h"

static void put_system_permissions(struct jw *w, const struct caller *caller)
{
    for (enum perm perm = PERM_NONE + 1; perm < PERM_COUNT; perm++)
        if (caller_can(caller, perm))
            jw_cstr(w, perm_info(perm)->name);
}

static void put_entity_permissions(struct req *r, struct jw *w, const struct entity *entity)
{
    for (enum perm_action action = ACT_READ; action <= ACT_DELETE; action++)
        if (caller_can_entity(r->scope->caller, entity->id, action))
            jw_str(w,
                   arena_printf(
                       r->task.arena, "%.*s:%s", STR_ARG(entity->name), perm_action_name(action)));
}

static bool
is_narrowed(const struct caller *caller, const struct entity *entity, enum perm_action action)
{
    for (size_t i = 0; i < entity->field_count; i++)
        if (!entity->fields[i].system && !caller_can_field(caller, &entity->fields[i], action))
            return true;
    return false;
}

static void put_open_fields(struct jw *w,
                            const struct caller *caller,
                            const struct entity *entity,
                            enum perm_action action)
{
    jw_obj(w);
    JW_STR(w, "entity", entity->name);
    JW_CSTR(w, "action", perm_action_name(action));
    jw_lit(w, "fields");
    jw_arr(w);
    for (size_t i = 0; i < entity->field_count; i++)
        if (!entity->fields[i].system && caller_can_field(caller, &entity->fields[i], action))
            jw_str(w, entity->fields[i].name);
    jw_arr_end(w);
    jw_obj_end(w);
}

static void put_field_access(struct jw *w, const struct caller *caller, const struct entity *entity)
{
    for (enum perm_action action = ACT_READ; action <= ACT_UPDATE; action++)
        if (caller_can_entity(caller, entity->id, action) && is_narrowed(caller, entity, action))
            put_open_fields(w, caller, entity, action);
}

/* A model may have a thousand entities, so the task yields to other tasks in between. */
AWAITS static void put_access(struct req *r, struct jw *w)
{
    const struct caller *caller = r->scope->caller;
    const struct model *model = r->scope->model;

    jw_lit(w, "permissions");
    jw_arr(w);
    put_system_permissions(w, caller);
    for (size_t i = 0; i < model->entity_count; i++) {
        put_entity_permissions(r, w, &model->entities[i]);
        task_pause_if_due(&r->task);
    }
    jw_arr_end(w);
    jw_lit(w, "field_access");
    jw_arr(w);
    for (size_t i = 0; i < model->entity_count && !caller_has_all_rows(caller); i++) {
        put_field_access(w, caller, &model->entities[i]);
        task_pause_if_due(&r->task);
    }
    jw_arr_end(w);
    JW_BOOL(w, "is_admin", caller_is_admin(caller));
    JW_BOOL(w, "api_access", caller_has_api_access(caller));
}

AWAITS static int users_me(struct req *r)
{
    struct rows user;
    struct jw w;

    TRY(sql_one(r, &user, SQL_USER_GET(.id = r->scope->caller->user_id)));
    w = resp_json(r);
    jw_obj(&w);
    rows_json_members(&w, &user, 0);
    put_access(r, &w);
    jw_obj_end(&w);
    return reply_json(r, 200);
}

static const struct route me_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = "/users/me",
        .id = "users_me",
        .auth = AUTH_USER_OR_KEY,
        .success = {200, &me_out_schema},
        .extra_statuses = {404},
        .run = users_me,
        .summary = "Get the caller's own account (for an API key: its creator's) and permissions",
    },
};
ROUTES(me, "Users");
