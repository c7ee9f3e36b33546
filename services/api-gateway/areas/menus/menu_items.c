/* /menus/{id}/items: items that open an entity, an address or a dashboard, and groups of items. */
#include <errno.h>
#include <string.h>

#include "areas/menus/menus.h"
#include "base/num.h"
#include "menus_sql.h"

static const char *const item_kinds[] = {"entity", "url", "dashboard", "group", NULL};

struct item_in {
    struct in_i64 parent_id, position;
    struct in_json label;
    struct in_str icon, kind, target, required_permission;
};

/* clang-format off */
#define ITEM_MEMBERS(new)                                                                          \
    {.name = "label", FIELD_AT(struct item_in, label), .type = FIELD_JSON, .required = (new),      \
     .doc = "A text, or an object of texts by locale",                                             \
     .example = "{\"en\": \"Orders\", \"de\": \"Bestellungen\"}"},                                 \
    {.name = "kind", FIELD_AT(struct item_in, kind), .type = FIELD_STR, .required = (new),         \
     .values = item_kinds, .example = "\"url\""},                                                  \
    {.name = "target", FIELD_AT(struct item_in, target), .type = FIELD_STR, .nullable = true,      \
     .max = MENU_TARGET_MAX,                                                                       \
     .doc = "Name of an entity, an address or a path, or id of a dashboard; none for groups",      \
     .example = "\"/orders\""},                                                                    \
    {.name = "icon", FIELD_AT(struct item_in, icon), .type = FIELD_STR, .nullable = true,          \
     .max = 100, .example = "\"cart\""},                                                           \
    {.name = "required_permission", FIELD_AT(struct item_in, required_permission),                 \
     .type = FIELD_STR, .nullable = true, .max = 100,                                              \
     .doc = "Only callers with this permission see the item", .example = "\"svc_users:read\""},    \
    {.name = "parent_id", FIELD_AT(struct item_in, parent_id), .type = FIELD_I64,                  \
     .nullable = true, .has_min = true, .min = 1},                                                 \
    {.name = "position", FIELD_AT(struct item_in, position), .type = FIELD_I64, .has_min = true,   \
     .min = 0, .has_max = true, .max = 100000,                                                     \
     .doc = "Position among the siblings, from 0; the last when left out"}
/* clang-format on */

static const struct field item_create_fields[] = {ITEM_MEMBERS(true)};
static const struct field item_update_fields[] = {ITEM_MEMBERS(false)};
static const struct schema item_create_schema =
    SCHEMA("MenuItemCreate", struct item_in, item_create_fields);
static const struct schema item_update_schema =
    SCHEMA("MenuItemUpdate", struct item_in, item_update_fields);

static const struct field item_out_fields[] = {
    {.name = "id", .type = FIELD_I64, .required = true},
    {.name = "parent_id", .type = FIELD_I64, .required = true, .nullable = true},
    {.name = "position", .type = FIELD_I64, .required = true},
    {.name = "label",
     .type = FIELD_JSON,
     .required = true,
     .doc = "A text, or an object of texts by locale"},
    {.name = "icon", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "kind", .type = FIELD_STR, .required = true, .values = item_kinds},
    {.name = "target", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "required_permission", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "children", .type = FIELD_LIST, .required = true, .sub = &menu_item_out_schema},
};
const struct schema menu_item_out_schema = SCHEMA_OUT("MenuItem", item_out_fields);

/* --- rows --- */

int menu_load_items(struct req *r, int64_t menu_id, struct menu_tree *ret_tree)
{
    struct rows rows;

    TRY(sql_all(r, &rows, SQL_MENU_ITEMS_LIST(.menu_id = menu_id)));
    *ret_tree = (struct menu_tree){.count = rows.count};
    ret_tree->items = ARENA_ARRAY(r->task.arena, ret_tree->items, rows.count + 1);
    for (size_t i = 0; i < rows.count; i++) {
        const struct sql_menu_item_row row = sql_menu_item_row(&rows, i);
        ret_tree->items[i] = (struct menu_item){
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
        };
    }
    return menu_tree_link(r->task.arena, ret_tree) ? 0 : fail_internal(r, -EBADMSG);
}

int menu_commit_change(struct req *r, const char *action, int64_t menu_id, struct str detail)
{
    struct db_call calls[] = {
        db_call(SQL_MENU_CHANGED(.id = menu_id)),
        gateway_audit(r, action, "menu", menu_id, detail),
    };

    TRY(sql_batch(r, calls, ARRAY_LEN(calls)));
    return sql_commit(r);
}

/* co: Begins a transaction, locks the menu of the path and loads its items. */
AWAITS static int
lock_menu(struct req *r, int64_t *ret_id, int64_t *ret_version, struct menu_tree *ret_tree)
{
    struct rows rows;

    TRY(req_id(r, "id", ret_id));
    TRY(sql_begin(r));
    TRY(sql_one(r, &rows, SQL_MENU_LOCK(.id = *ret_id)));
    *ret_version = sql_menu_lock_row(&rows, 0).version;
    return menu_load_items(r, *ret_id, ret_tree);
}

AWAITS static int menu_guard(struct req *r)
{
    struct rows rows;
    int64_t id;

    TRY(req_id(r, "id", &id));
    return sql_one(r, &rows, SQL_MENU_EXISTS(.id = id));
}

/* Finds the item of the path in the tree. Responds 404 when the tree does not have the item. */
static int find_item(struct req *r, struct menu_tree *tree, struct menu_item **ret_item)
{
    int64_t id;

    TRY(req_id(r, "itemId", &id));
    *ret_item = menu_tree_find(tree, id);
    return *ret_item ? 0 : fail(r, PROBLEM_NOT_FOUND, NULL);
}

AWAITS static int menu_item_guard(struct req *r)
{
    struct menu_item *item;
    struct menu_tree tree;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(menu_load_items(r, id, &tree));
    return find_item(r, &tree, &item);
}

/* co: Stores the parents and positions of all items of the tree. */
AWAITS static int save_positions(struct req *r, int64_t menu_id, const struct menu_tree *tree)
{
    int64_t *ids = ARENA_ARRAY(r->task.arena, ids, tree->count * 3 + 1);
    int64_t *parents = ids + tree->count;
    int64_t *positions = parents + tree->count;

    for (size_t i = 0; i < tree->count; i++) {
        ids[i] = tree->items[i].id;
        parents[i] = tree->items[i].parent_id;
        positions[i] = tree->items[i].position;
    }
    return sql_exec(r,
                    NULL,
                    SQL_MENU_ITEMS_PLACE(.menu_id = menu_id,
                                         .ids = sql_i64s(ids, tree->count),
                                         .parent_ids = sql_i64s(parents, tree->count),
                                         .positions = sql_i64s(positions, tree->count)));
}

static int fail_too_deep(struct req *r, const char *member)
{
    return fail_field(r,
                      member,
                      PROBLEM_OUT_OF_RANGE,
                      "items can nest at most %d deep, and no item can be below itself",
                      MENU_DEPTH_MAX);
}

/* --- members of an item --- */

bool menu_url_ok(struct str target)
{
    static const char *const schemes[] = {"https://", "http://", "mailto:", "tel:"};

    for (size_t i = 0; i < target.len; i++)
        if ((unsigned char)target.ptr[i] <= ' ' || target.ptr[i] == '\\')
            return false;
    if (str_starts(target, STR("/")))
        return !str_starts(target, STR("//"));
    for (size_t i = 0; i < ARRAY_LEN(schemes); i++)
        if (target.len > strlen(schemes[i]) && str_starts(target, str_from(schemes[i])))
            return true;
    return false;
}

/* Finds an entity by name. Another process may just have created the entity: may_be_stale makes the
 * handler run again, once, with the current model. */
static int menu_find_entity(struct req *r, const char *member, struct str name, int64_t *ret_id)
{
    const struct entity *entity = model_entity(r->scope->model, name);

    r->scope->may_be_stale = !entity && !r->scope->is_rechecked;
    if (!entity)
        return fail_field(r, member, PROBLEM_VALIDATION_FAILED, "there is no such entity");
    *ret_id = entity->id;
    return 0;
}

static int menu_read_target(struct req *r, struct menu_item *item)
{
    item->target_entity_id = 0;
    if (str_is(item->kind, "group")) {
        if (item->target.len)
            return fail_field(
                r, "target", PROBLEM_VALIDATION_FAILED, "must be left out: groups have no target");
        item->target = STR_NONE;
        return 0;
    }
    if (!item->target.len)
        return fail_field(r, "target", PROBLEM_REQUIRED, "is required");
    if (str_is(item->kind, "entity"))
        return menu_find_entity(r, "target", item->target, &item->target_entity_id);
    int64_t id;
    if (str_is(item->kind, "dashboard") && !(num_parse_i64(item->target, &id) && id > 0))
        return fail_field(r, "target", PROBLEM_PATTERN, "must be the id of a dashboard");
    if (str_is(item->kind, "url") && !menu_url_ok(item->target))
        return fail_field(
            r,
            "target",
            PROBLEM_PATTERN,
            "must be a path that begins with /, or an address with http, https, mailto or tel");
    return 0;
}

static int read_permission(struct req *r, struct menu_item *item)
{
    struct str name = item->permission;

    item->permission_entity_id = 0;
    if (!name.len) {
        item->permission = STR_NONE;
        return 0;
    }
    if (perm_find(name) != PERM_NONE)
        return 0;
    struct str entity = str_split(&name, ':');
    int action = name.ptr ? perm_action_find(name) : -1;
    if (action < 0 || action > ACT_DELETE)
        return fail_field(
            r, "required_permission", PROBLEM_VALIDATION_FAILED, "there is no such permission");
    return menu_find_entity(r, "required_permission", entity, &item->permission_entity_id);
}

static int merge_item(struct req *r, const struct item_in *in, struct menu_item *item)
{
    TRY(menu_label_read(r, "label", &in->label, in->label.set ? &item->label : &(struct str){0}));
    if (in->icon.set)
        item->icon = in->icon.value.len ? in->icon.value : STR_NONE;
    if (in->kind.set)
        item->kind = in->kind.value;
    if (in->target.set)
        item->target = in->target.value;
    if (in->required_permission.set)
        item->permission = in->required_permission.value;
    if (in->target.set || in->kind.set)
        TRY(menu_read_target(r, item));
    return in->required_permission.set ? read_permission(r, item) : 0;
}

/* co: In a transaction: checks that the dashboard of the item exists. */
AWAITS static int
check_dashboard(struct req *r, const struct item_in *in, const struct menu_item *item)
{
    struct rows rows;
    int64_t id;

    if (!str_is(item->kind, "dashboard") || !(in->target.set || in->kind.set) ||
        !num_parse_i64(item->target, &id))
        return 0;
    TRY(sql_all(r, &rows, SQL_MENU_DASHBOARD(.id = id)));
    return rows.count
               ? 0
               : fail_field(
                     r, "target", PROBLEM_FOREIGN_KEY_VIOLATION, "there is no such dashboard");
}

/* Reads the position that the body requests. With a new parent but without a position, the item
 * becomes the last of its new siblings. */
static int read_position(struct req *r,
                         const struct item_in *in,
                         const struct menu_tree *tree,
                         struct menu_item_position *position)
{
    if (in->parent_id.set) {
        if (in->parent_id.value && !menu_tree_find(tree, in->parent_id.value))
            return fail_field(
                r, "parent_id", PROBLEM_FOREIGN_KEY_VIOLATION, "is not an item of this menu");
        if (position->parent_id != in->parent_id.value)
            position->position = MENU_ITEMS_MAX;
        position->parent_id = in->parent_id.value;
    }
    if (in->position.set)
        position->position = in->position.value;
    return 0;
}

/* --- endpoints --- */

/* Returns the path of the menu, which shows the item: the path of the request without "/items". */
static struct str menu_path(const struct req *r)
{
    return (struct str){r->path.ptr, r->path.len - strlen("/items")};
}

AWAITS static int reply_item(struct req *r, int status, int64_t menu_id, int64_t id)
{
    struct menu_tree tree;
    struct strbuf text;
    struct jw w;

    TRY(menu_load_items(r, menu_id, &tree));
    struct menu_item *item = menu_tree_find(&tree, id);
    if (!item)
        return fail(r, PROBLEM_NOT_FOUND, NULL);
    tree.first = (size_t)(item - tree.items) + 1;
    item->next = 0;
    strbuf_init(&text, r->task.arena, (size_t)MENU_ITEMS_MAX * MENU_TARGET_MAX * 16);
    jw_init(&w, &text);
    menu_tree_json(&w, r->task.arena, &tree, r->scope->model, NULL);
    struct str list = strbuf_view(&text);
    w = resp_json(r);
    jw_raw(&w, (struct str){list.ptr + 1, list.len - 2});
    return reply_json(r, status);
}

AWAITS static int menu_items_create(struct req *r)
{
    struct menu_item item = {0};
    struct menu_item_position position = {.position = MENU_ITEMS_MAX};
    struct menu_tree tree;
    struct item_in in;
    struct rows rows;
    int64_t version;
    int64_t menu_id;

    TRY(req_json(r, &item_create_schema, &in));
    TRY(merge_item(r, &in, &item));
    TRY(lock_menu(r, &menu_id, &version, &tree));
    TRY(check_dashboard(r, &in, &item));
    if (tree.count >= MENU_ITEMS_MAX)
        return fail(r, PROBLEM_CONFLICT, "A menu has at most %d items.", MENU_ITEMS_MAX);
    TRY(read_position(r, &in, &tree, &position));
    TRY(sql_one(r,
                &rows,
                SQL_MENU_ITEM_ADD(.menu_id = menu_id,
                                  .parent_id = some_id(position.parent_id),
                                  .position = position.position,
                                  .label = item.label,
                                  .icon = item.icon,
                                  .kind = item.kind,
                                  .target = item.target,
                                  .target_entity_id = some_id(item.target_entity_id),
                                  .required_permission = item.permission,
                                  .required_entity_id = some_id(item.permission_entity_id))));
    position.id = item.id = sql_menu_item_add_row(&rows, 0).id;
    tree.items[tree.count++] = item;
    if (!menu_tree_link(r->task.arena, &tree) ||
        !menu_tree_move(r->task.arena, &tree, &position, 1))
        return fail_too_deep(r, "parent_id");
    TRY(save_positions(r, menu_id, &tree));
    TRY(menu_commit_change(r, "menus.add_item", menu_id, STR_NONE));
    resp_header_printf(r, "Location", "%.*s", STR_ARG(menu_path(r)));
    return reply_item(r, 201, menu_id, item.id);
}

AWAITS static int menu_items_update(struct req *r)
{
    struct menu_tree tree;
    struct item_in in;
    struct menu_item *item;
    int64_t version;
    int64_t menu_id;

    TRY(req_json(r, &item_update_schema, &in));
    TRY(lock_menu(r, &menu_id, &version, &tree));
    TRY(find_item(r, &tree, &item));
    const int64_t id = item->id;
    struct menu_item_position position = {id, item->parent_id, item->position};
    TRY(merge_item(r, &in, item));
    TRY(check_dashboard(r, &in, item));
    TRY(read_position(r, &in, &tree, &position));
    TRY(sql_exec(r,
                 NULL,
                 SQL_MENU_ITEM_SAVE(.id = id,
                                    .label = item->label,
                                    .icon = item->icon,
                                    .kind = item->kind,
                                    .target = item->target,
                                    .target_entity_id = some_id(item->target_entity_id),
                                    .required_permission = item->permission,
                                    .required_entity_id = some_id(item->permission_entity_id))));
    if (!menu_tree_move(r->task.arena, &tree, &position, 1))
        return fail_too_deep(r, "parent_id");
    TRY(save_positions(r, menu_id, &tree));
    TRY(menu_commit_change(r, "menus.update_item", menu_id, STR_NONE));
    return reply_item(r, 200, menu_id, id);
}

AWAITS static int menu_items_delete(struct req *r)
{
    struct menu_tree tree;
    struct menu_item *item;
    int64_t version;
    int64_t menu_id;

    TRY(lock_menu(r, &menu_id, &version, &tree));
    TRY(find_item(r, &tree, &item));
    TRY(sql_exec(r, NULL, SQL_MENU_ITEM_REMOVE(.id = item->id, .menu_id = menu_id)));
    TRY(menu_load_items(r, menu_id, &tree));
    if (!menu_tree_move(r->task.arena, &tree, NULL, 0))
        return fail_internal(r, -EBADMSG);
    TRY(save_positions(r, menu_id, &tree));
    TRY(menu_commit_change(r, "menus.delete_item", menu_id, STR_NONE));
    return reply_empty(r, 204);
}

/* --- reorder --- */

struct position_in {
    struct in_i64 id, position, parent_id;
};
static const struct field position_fields[] = {
    {.name = "id",
     FIELD_AT(struct position_in, id),
     .type = FIELD_I64,
     .required = true,
     .has_min = true,
     .min = 1},
    {.name = "position",
     FIELD_AT(struct position_in, position),
     .type = FIELD_I64,
     .required = true,
     .has_min = true,
     .min = 0,
     .has_max = true,
     .max = 100000},
    {.name = "parent_id",
     FIELD_AT(struct position_in, parent_id),
     .type = FIELD_I64,
     .nullable = true,
     .has_min = true,
     .min = 1,
     .doc = "Id of the new parent; null: no parent; left out: the current parent"},
};
static const struct schema position_schema =
    SCHEMA("MenuItemPlace", struct position_in, position_fields);

struct reorder_in {
    struct in_list items;
    struct in_i64 version;
};
static const struct field reorder_fields[] = {
    {.name = "items",
     FIELD_AT(struct reorder_in, items),
     .type = FIELD_LIST,
     .required = true,
     .min = 1,
     .max = MENU_ITEMS_MAX,
     .sub = &position_schema,
     .example = "[{\"id\": 7, \"position\": 0, \"parent_id\": null}]"},
    {.name = "version",
     FIELD_AT(struct reorder_in, version),
     .type = FIELD_I64,
     .doc = "Version of the menu that the caller has read: 409 when the menu has changed since"},
};
static const struct schema reorder_schema =
    SCHEMA("MenuReorder", struct reorder_in, reorder_fields);

/* Reads the places of the request. Responds 400 when an item is named twice, and 409 when the menu
 * does not have an item or a parent: the menu has changed since the caller read it. */
static int read_positions(struct req *r,
                          const struct reorder_in *in,
                          const struct menu_tree *tree,
                          struct menu_item_position *places)
{
    struct schema_errors *errors = ARENA_NEW(r->task.arena, errors);
    const struct position_in *items = in->items.items;

    for (size_t i = 0; i < in->items.count; i++) {
        struct menu_item *item = menu_tree_find(tree, items[i].id.value);
        bool moved = item && items[i].parent_id.set;
        int64_t parent_id = moved ? items[i].parent_id.value : item ? item->parent_id : 0;
        struct str field =
            arena_printf(r->task.arena, "items[%zu].%s", i, item ? "parent_id" : "id");
        if (!item || (parent_id && !menu_tree_find(tree, parent_id)))
            schema_error_add(r->task.arena,
                             errors,
                             field,
                             PROBLEM_CONFLICT,
                             "is no longer an item of this menu");
        else if (item->is_moved)
            return fail_field(r,
                              "items",
                              PROBLEM_UNIQUE_VIOLATION,
                              "names the item %lld twice",
                              (long long)item->id);
        else
            item->is_moved = true;
        places[i] =
            (struct menu_item_position){items[i].id.value, parent_id, items[i].position.value};
    }
    if (errors->count)
        return fail_with(r,
                         PROBLEM_CONFLICT,
                         STR("The menu has changed since it was read: read it again."),
                         errors);
    return 0;
}

AWAITS static int menu_items_reorder(struct req *r)
{
    struct menu_tree tree;
    struct reorder_in in;
    int64_t version;
    int64_t menu_id;

    TRY(req_json(r, &reorder_schema, &in));
    TRY(lock_menu(r, &menu_id, &version, &tree));
    if (in.version.set && !in.version.null && in.version.value != version)
        return fail(r,
                    PROBLEM_CONFLICT,
                    "The menu has changed and now has version %lld: read it again.",
                    (long long)version);
    struct menu_item_position *places = ARENA_ARRAY(r->task.arena, places, in.items.count);
    TRY(read_positions(r, &in, &tree, places));
    if (!menu_tree_move(r->task.arena, &tree, places, in.items.count))
        return fail_too_deep(r, "items");
    TRY(save_positions(r, menu_id, &tree));
    TRY(menu_commit_change(r, "menus.reorder", menu_id, STR_NONE));
    return menu_reply(r, 200, menu_id);
}

static const struct route menu_items_routes[] = {
    {
        .method = HTTP_POST_M,
        .path = "/menus/{id}/items",
        .id = "menu_items_create",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_MENUS_CREATE,
        .body = &item_create_schema,
        .success = {201, &menu_item_out_schema},
        .extra_statuses = {404, 409},
        .run = menu_items_create,
        .guard = menu_guard,
        .summary = "Add an item to a menu",
    },
    {
        .method = HTTP_PUT_M,
        .path = "/menus/{id}/items/reorder",
        .id = "menu_items_reorder",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_MENUS_UPDATE,
        .body = &reorder_schema,
        .success = {200, &menu_out_schema},
        .extra_statuses = {404, 409},
        .run = menu_items_reorder,
        .guard = menu_guard,
        .summary = "Move several items, all of them or none",
        .doc = "Items that the request does not name keep their parents and their order. 409 when "
               "an item no longer exists or the menu has another version.",
    },
    {
        .method = HTTP_PUT_M,
        .path = "/menus/{id}/items/{itemId}",
        .id = "menu_items_update",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_MENUS_UPDATE,
        .body = &item_update_schema,
        .success = {200, &menu_item_out_schema},
        .extra_statuses = {404},
        .run = menu_items_update,
        .guard = menu_item_guard,
        .summary = "Change or move an item",
    },
    {
        .method = HTTP_DELETE_M,
        .path = "/menus/{id}/items/{itemId}",
        .id = "menu_items_delete",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_MENUS_DELETE,
        .success = {204},
        .extra_statuses = {404},
        .run = menu_items_delete,
        .guard = menu_item_guard,
        .summary = "Delete an item and all items below it",
    },
};
ROUTES(menu_items, "Menus");
