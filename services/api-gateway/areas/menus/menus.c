/* /menus: the navigation of applications, and the items that the caller may use. */
#include "areas/menus/menus.h"

#include <errno.h>

#include "limit.h"
#include "menus_sql.h"

struct menu_in {
    struct in_str key;
    struct in_json label;
};

/* clang-format off */
#define MENU_MEMBERS(new)                                                                          \
    {.name = "key", FIELD_AT(struct menu_in, key), .type = FIELD_STR, .required = (new),           \
     .min = 1, .max = 48, .format = "slug", .doc = "Name by which applications find the menu",     \
     .example = "\"main\""},                                                                       \
    {.name = "label", FIELD_AT(struct menu_in, label), .type = FIELD_JSON, .required = (new),      \
     .doc = "A text, or an object of texts by locale",                                             \
     .example = "{\"en\": \"Main menu\", \"de\": \"Hauptmenü\"}"}
/* clang-format on */

static const struct field menu_create_fields[] = {MENU_MEMBERS(true)};
static const struct field menu_update_fields[] = {MENU_MEMBERS(false)};
static const struct schema menu_create_schema =
    SCHEMA("MenuCreate", struct menu_in, menu_create_fields);
static const struct schema menu_update_schema =
    SCHEMA("MenuUpdate", struct menu_in, menu_update_fields);

/* clang-format off */
#define MENU_OUT_HEAD                                                                              \
    {.name = "id", .type = FIELD_I64, .required = true},                                           \
    {.name = "key", .type = FIELD_STR, .required = true, .example = "\"main\""},                   \
    {.name = "label", .type = FIELD_JSON, .required = true,                                        \
     .doc = "A text, or an object of texts by locale"}
#define MENU_OUT_TAIL                                                                              \
    {.name = "version", .type = FIELD_I64, .required = true,                                       \
     .doc = "Rises with every change of the menu or its items"},                                   \
    {.name = "created_at", .type = FIELD_TIME, .required = true},                                  \
    {.name = "updated_at", .type = FIELD_TIME, .required = true}
/* clang-format on */

static const struct field menu_row_fields[] = {
    MENU_OUT_HEAD,
    {.name = "item_count", .type = FIELD_I64, .required = true},
    MENU_OUT_TAIL,
};
static const struct schema menu_row_schema = SCHEMA_OUT("MenuRow", menu_row_fields);

static const struct field menu_out_fields[] = {
    MENU_OUT_HEAD,
    {.name = "items", .type = FIELD_LIST, .required = true, .sub = &menu_item_out_schema},
    MENU_OUT_TAIL,
};
const struct schema menu_out_schema = SCHEMA_OUT("Menu", menu_out_fields);

/* --- items that the caller may use --- */

static const struct schema visible_item_schema;
static const struct field visible_item_fields[] = {
    {.name = "id", .type = FIELD_I64, .required = true},
    {.name = "parent_id", .type = FIELD_I64, .required = true, .nullable = true},
    {.name = "position", .type = FIELD_I64, .required = true},
    {.name = "label", .type = FIELD_STR, .required = true},
    {.name = "icon", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "kind", .type = FIELD_STR, .required = true},
    {.name = "target", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "children", .type = FIELD_LIST, .required = true, .sub = &visible_item_schema},
};
static const struct schema visible_item_schema = SCHEMA_OUT("MyMenuItem", visible_item_fields);
static const struct field visible_menu_fields[] = {
    {.name = "id", .type = FIELD_I64, .required = true},
    {.name = "key", .type = FIELD_STR, .required = true, .example = "\"main\""},
    {.name = "label", .type = FIELD_STR, .required = true},
    {.name = "items", .type = FIELD_LIST, .required = true, .sub = &visible_item_schema},
};
static const struct schema visible_menu_schema = SCHEMA_OUT("MyMenu", visible_menu_fields);
static const struct field visible_menus_fields[] = {
    {.name = "items", .type = FIELD_LIST, .required = true, .sub = &visible_menu_schema},
    PAGE_WHOLE_FIELDS,
};
static const struct schema visible_menus_schema = SCHEMA_OUT("MyMenus", visible_menus_fields);

/* Reads the items of one menu, which are consecutive rows from *at on. Advances *at. */
static struct menu_tree
menu_tree_read(struct arena *arena, const struct rows *rows, int64_t menu_id, size_t *at)
{
    struct menu_tree tree = {0};
    size_t end = *at;

    while (end < rows->count && sql_menu_items_shown_row(rows, end).menu_id == menu_id)
        end++;
    tree.items = ARENA_ARRAY(arena, tree.items, end - *at);
    for (; *at < end; (*at)++) {
        const struct sql_menu_items_shown_row row = sql_menu_items_shown_row(rows, *at);
        tree.items[tree.count++] = (struct menu_item){
            .id = row.id,
            .parent_id = row.parent_id.value,
            .position = row.position,
            .label = row.label,
            .icon = row.icon,
            .kind = row.kind,
            .target = row.target,
            .permission = row.required_permission,
            .target_entity_id = row.target_entity_id.value,
            .permission_entity_id = row.required_entity_id.value,
            .is_inaccessible = row.closed,
        };
    }
    return tree;
}

static void put_visible_menu(struct req *r,
                             struct jw *w,
                             const struct sql_menus_shown_row *menu,
                             const struct menu_tree *tree,
                             const struct languages *languages)
{
    jw_obj(w);
    JW_I64(w, "id", menu->id);
    JW_STR(w, "key", menu->key);
    jw_lit(w, "label");
    jw_raw(w, menu_label_pick(r->task.arena, menu->label, languages));
    jw_lit(w, "items");
    menu_tree_json(w, r->task.arena, tree, r->scope->model, languages);
    jw_obj_end(w);
}

AWAITS static int menus_list_visible(struct req *r)
{
    struct languages languages;
    const struct caller *caller = r->scope->caller;
    const struct rights *rights = caller->rights;
    struct sql_i64s roles = {rights ? rights->role_ids : NULL, rights ? rights->role_count : 0};
    struct db_call calls[] = {
        db_call(SQL_MENUS_SHOWN()),
        db_call(SQL_MENU_ITEMS_SHOWN(.everything = caller_is_admin(caller),
                                     .user_id = caller->user_id,
                                     .role_ids = roles)),
    };
    struct jw w;
    size_t at = 0;

    TRY(sql_batch(r, calls, ARRAY_LEN(calls)));
    languages_parse(req_header(r, "accept-language"), &languages);
    w = resp_json(r);
    jw_obj(&w);
    jw_lit(&w, "items");
    jw_arr(&w);
    for (size_t i = 0; i < calls[0].rows.count; i++) {
        const struct sql_menus_shown_row menu = sql_menus_shown_row(&calls[0].rows, i);
        struct menu_tree tree = menu_tree_read(r->task.arena, &calls[1].rows, menu.id, &at);
        if (!menu_tree_link(r->task.arena, &tree))
            return fail_internal(r, -EBADMSG);
        menu_tree_hide(&tree, r->scope->model, r->scope->caller);
        put_visible_menu(r, &w, &menu, &tree, &languages);
    }
    jw_arr_end(&w);
    page_whole_json(&w, calls[0].rows.count);
    jw_obj_end(&w);
    resp_header(r, "Vary", STR("Accept-Language"));
    return reply_json(r, 200);
}

/* --- administration --- */

AWAITS static int menus_list(struct req *r)
{
    return reply_page(r, "id", SQL_MENUS_LIST());
}

int menu_reply(struct req *r, int status, int64_t id)
{
    struct menu_tree tree;
    struct rows rows;
    struct jw w;

    TRY(sql_one(r, &rows, SQL_MENU_GET(.id = id)));
    TRY(menu_load_items(r, id, &tree));
    const struct sql_menu_get_row menu = sql_menu_get_row(&rows, 0);
    w = resp_json(r);
    jw_obj(&w);
    JW_I64(&w, "id", menu.id);
    JW_STR(&w, "key", menu.key);
    jw_lit(&w, "label");
    jw_raw(&w, menu.label);
    jw_lit(&w, "items");
    menu_tree_json(&w, r->task.arena, &tree, r->scope->model, NULL);
    JW_I64(&w, "version", menu.version);
    jw_lit(&w, "created_at");
    jw_time(&w, menu.created_at);
    jw_lit(&w, "updated_at");
    jw_time(&w, menu.updated_at);
    jw_obj_end(&w);
    return reply_json(r, status);
}

AWAITS static int menus_get(struct req *r)
{
    int64_t id;

    TRY(req_id(r, "id", &id));
    return menu_reply(r, 200, id);
}

static int fail_key_taken(struct req *r, int rc)
{
    if (rc != DB_UNIQUE)
        return rc > 0 ? fail_db(r, rc) : rc;
    return fail_unique_violation(r, "key", "is taken", "A menu with this key exists.");
}

static const struct limit menus_limit = {"menus", "A project", "menus", MENUS_MAX};

AWAITS static int menus_create(struct req *r)
{
    struct menu_in in;
    struct db_call count = db_call(SQL_MENUS_COUNT());
    struct rows rows;
    struct str label;

    TRY(req_json(r, &menu_create_schema, &in));
    TRY(menu_label_read(r, "label", &in.label, &label));
    TRY(sql_begin(r));
    TRY(limit_check(r, &menus_limit, 0, &count, 1));
    int rc =
        db_query(&r->task, r->scope->db, SQL_MENU_ADD(.key = in.key.value, .label = label), &rows);
    if (rc)
        return fail_key_taken(r, rc);
    int64_t id = sql_menu_add_row(&rows, 0).id;
    struct db_call audit = gateway_audit(r, "menus.create", "menu", id, STR_NONE);
    TRY(sql_batch(r, &audit, 1));
    TRY(sql_commit(r));
    reply_location(r, id);
    return menu_reply(r, 201, id);
}

AWAITS static int menus_update(struct req *r)
{
    struct menu_in in;
    struct rows rows;
    struct str label;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(req_json(r, &menu_update_schema, &in));
    TRY(menu_label_read(r, "label", &in.label, &label));
    TRY(sql_begin(r));
    TRY(sql_one(r, &rows, SQL_MENU_LOCK(.id = id)));
    const struct sql_menu_lock_row menu = sql_menu_lock_row(&rows, 0);
    int rc = db_query(&r->task,
                      r->scope->db,
                      SQL_MENU_SAVE(.id = id,
                                    .key = in.key.set ? in.key.value : menu.key,
                                    .label = in.label.set ? label : menu.label),
                      NULL);
    if (rc)
        return fail_key_taken(r, rc);
    struct db_call audit = gateway_audit(r, "menus.update", "menu", id, STR_NONE);
    TRY(sql_batch(r, &audit, 1));
    TRY(sql_commit(r));
    return menu_reply(r, 200, id);
}

AWAITS static int menus_delete(struct req *r)
{
    struct rows rows;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(sql_begin(r));
    TRY(sql_one(r, &rows, SQL_MENU_REMOVE(.id = id)));
    struct db_call audit = gateway_audit(r, "menus.delete", "menu", id, STR_NONE);
    TRY(sql_batch(r, &audit, 1));
    TRY(sql_commit(r));
    return reply_empty(r, 204);
}

static const struct route menus_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = "/menus/my",
        .id = "menus_my",
        .auth = AUTH_USER_OR_KEY,
        .success = {200, &visible_menus_schema},
        .run = menus_list_visible,
        .summary = "List the menus with the items that the caller may use",
        .doc = "Leaves out items whose permission the caller lacks, whose entity the caller may "
               "not read or whose dashboard the caller may not see, and groups without any item "
               "left. Labels are in the language that fits Accept-Language best, else in English, "
               "else in the first language of the label.",
    },
    {
        .method = HTTP_GET_M,
        .path = "/menus",
        .id = "menus_list",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_MENUS_READ,
        .query = page_query,
        .success = {200, &menu_row_schema, .list = true},
        .run = menus_list,
        .summary = "List menus, without their items",
    },
    {
        .method = HTTP_GET_M,
        .path = "/menus/{id}",
        .id = "menus_get",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_MENUS_READ,
        .success = {200, &menu_out_schema},
        .extra_statuses = {404},
        .run = menus_get,
        .summary = "Get a menu with its items",
    },
    {
        .method = HTTP_POST_M,
        .path = "/menus",
        .id = "menus_create",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_MENUS_CREATE,
        .body = &menu_create_schema,
        .success = {201, &menu_out_schema},
        .extra_statuses = {409},
        .run = menus_create,
        .summary = "Create a menu",
    },
    {
        .method = HTTP_PUT_M,
        .path = "/menus/{id}",
        .id = "menus_update",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_MENUS_UPDATE,
        .body = &menu_update_schema,
        .success = {200, &menu_out_schema},
        .extra_statuses = {404, 409},
        .run = menus_update,
        .guard = menus_get,
        .summary = "Change a menu",
    },
    {
        .method = HTTP_DELETE_M,
        .path = "/menus/{id}",
        .id = "menus_delete",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_MENUS_DELETE,
        .success = {204},
        .extra_statuses = {404},
        .run = menus_delete,
        .guard = menus_get,
        .summary = "Delete a menu and its items",
    },
};
ROUTES(menus, "Menus");
