/* GET /permissions: the system permissions, then the four permissions of each entity. */
#include "app.h"

static const struct field permission_fields[] = {
    {.name = "name", .type = FIELD_STR, .required = true, .example = "\"orders:read\""},
    {.name = "resource", .type = FIELD_STR, .required = true, .example = "\"orders\""},
    {.name = "action", .type = FIELD_STR, .required = true, .example = "\"read\""},
    {.name = "is_system", .type = FIELD_BOOL, .required = true},
    {.name = "default_holder",
     .type = FIELD_STR,
     .required = true,
     .values = (const char *const[]){"standard", "administrator", "opt_in", NULL},
     .doc = "Who has the permission in a new project: the Standard User role, only administrators, "
            "or no user"},
};
static const struct schema permission_schema = SCHEMA_OUT("Permission", permission_fields);

#define ENTITY_ACTIONS 4

static void permissions_put_system(struct jw *w, enum perm perm)
{
    const struct perm_info *info = perm_info(perm);

    jw_obj(w);
    JW_CSTR(w, "name", info->name);
    JW_CSTR(w, "resource", info->resource);
    JW_CSTR(w, "action", info->action);
    JW_BOOL(w, "is_system", true);
    JW_CSTR(w, "default_holder", perm_holder_name(info->holder));
    jw_obj_end(w);
}

static void
put_entity(struct req *r, struct jw *w, const struct entity *entity, enum perm_action action)
{
    const char *action_name = perm_action_name(action);

    jw_obj(w);
    JW_STR(w, "name", arena_printf(r->task.arena, "%.*s:%s", STR_ARG(entity->name), action_name));
    JW_STR(w, "resource", entity->name);
    JW_CSTR(w, "action", action_name);
    JW_BOOL(w, "is_system", false);
    JW_CSTR(w, "default_holder", "administrator");
    jw_obj_end(w);
}

/* Writes the permission at a position, from 0, of the whole list: system permissions come first. */
static void put_permission(struct req *r, struct jw *w, int64_t position)
{
    int64_t system = PERM_COUNT - 1;

    if (position < system) {
        permissions_put_system(w, (enum perm)(position + 1));
        return;
    }
    position -= system;
    put_entity(r,
               w,
               &r->scope->model->entities[position / ENTITY_ACTIONS],
               (enum perm_action)(position % ENTITY_ACTIONS));
}

static int permissions_list(struct req *r)
{
    int64_t total = PERM_COUNT - 1 + (int64_t)r->scope->model->entity_count * ENTITY_ACTIONS;
    struct page page;
    struct jw w;
    int64_t end;

    TRY(req_page(r, &page));
    if (page.sort.len)
        return fail(
            r, PROBLEM_INVALID_QUERY, "Query parameter 'sort': this list has a fixed order.");
    end = page_offset(&page) + page.limit;
    w = resp_json(r);
    jw_obj(&w);
    jw_lit(&w, "items");
    jw_arr(&w);
    for (int64_t i = page_offset(&page); i < end && i < total; i++)
        put_permission(r, &w, i);
    jw_arr_end(&w);
    page_json(&w, &page, page.count ? total : -1, end < total);
    jw_obj_end(&w);
    return reply_json(r, 200);
}

static const struct route permissions_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = "/permissions",
        .id = "permissions_list",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_PERMISSIONS_READ,
        .query = page_query,
        .success = {200, &permission_schema, .list = true},
        .run = permissions_list,
        .summary = "List every permission of the project",
    },
};
ROUTES(permissions, "Roles and permissions");
