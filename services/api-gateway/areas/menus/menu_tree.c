/* The items of a menu as a tree. No function here is recursive, because the depth is data. */
#include <stdlib.h>

#include "areas/menus/menus.h"

/* --- links --- */

static int menu_order_by_id(const void *left, const void *right, void *arg)
{
    const struct menu_item *items = arg;
    int64_t a = items[*(const size_t *)left].id;
    int64_t b = items[*(const size_t *)right].id;

    return (a > b) - (a < b);
}

static int menu_order_by_position(const void *left, const void *right)
{
    const struct menu_item *a = left;
    const struct menu_item *b = right;

    if (a->position != b->position)
        return a->position < b->position ? -1 : 1;
    return (a->id > b->id) - (a->id < b->id);
}

static size_t menu_tree_index(const struct menu_tree *tree, int64_t id)
{
    size_t low = 0;
    size_t high = tree->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int64_t found = tree->items[tree->by_id[middle]].id;
        if (found == id)
            return tree->by_id[middle] + 1;
        if (found < id)
            low = middle + 1;
        else
            high = middle;
    }
    return 0;
}

struct menu_item *menu_tree_find(const struct menu_tree *tree, int64_t id)
{
    size_t at = menu_tree_index(tree, id);

    return at ? &tree->items[at - 1] : NULL;
}

/* Returns the depth of an item, or 0 when the item is below itself or too deep. */
static size_t depth_of(const struct menu_tree *tree, const struct menu_item *item)
{
    size_t depth = 1;

    for (size_t at = item->parent; at != 0; at = tree->items[at - 1].parent)
        if (++depth > MENU_DEPTH_MAX)
            return 0;
    return depth;
}

bool menu_tree_link(struct arena *arena, struct menu_tree *tree)
{
    tree->by_id = ARENA_ARRAY(arena, tree->by_id, tree->count);
    for (size_t i = 0; i < tree->count; i++)
        tree->by_id[i] = i;
    qsort_r(tree->by_id, tree->count, sizeof(*tree->by_id), menu_order_by_id, tree->items);
    tree->first = 0;
    for (size_t i = 0; i < tree->count; i++) {
        struct menu_item *item = &tree->items[i];
        item->parent = item->parent_id ? menu_tree_index(tree, item->parent_id) : 0;
        item->first_child = 0;
    }
    for (size_t i = tree->count; i > 0; i--) { /* backwards: each list keeps the items' order */
        struct menu_item *item = &tree->items[i - 1];
        size_t *head = item->parent ? &tree->items[item->parent - 1].first_child : &tree->first;
        item->next = *head;
        *head = i;
    }
    for (size_t i = 0; i < tree->count; i++) {
        tree->items[i].depth = depth_of(tree, &tree->items[i]);
        if (tree->items[i].depth == 0)
            return false;
    }
    return true;
}

/* --- moving --- */

/* Returns the item of `named` with the lowest position. Items that are numbered are NULL. */
static struct menu_item *next_moved(struct menu_item **named, size_t count)
{
    struct menu_item *first = NULL;

    for (size_t i = 0; i < count; i++)
        if (named[i] && (first == NULL || named[i]->position < first->position))
            first = named[i];
    return first;
}

/* Numbers the children of `parent_id`; 0: the items without a parent. Each number goes to a moved
 * item (is_moved) whose requested position is this number or less. Without such an item, the number
 * goes to the next child that is not moved. `named` has space for the moved items. */
static void
number_children(const struct menu_tree *tree, int64_t parent_id, struct menu_item **named)
{
    size_t named_count = 0;
    int64_t number = 0;

    for (size_t i = 0; i < tree->count; i++) {
        struct menu_item *item = &tree->items[i];
        if (item->parent_id == parent_id && item->is_moved)
            named[named_count++] = item;
    }
    struct menu_item *next = next_moved(named, named_count);
    for (size_t i = 0; i <= tree->count; i++) {
        struct menu_item *item = i < tree->count ? &tree->items[i] : NULL;
        bool other = item && item->parent_id == parent_id && !item->is_moved;
        while (next && ((other && next->position <= number) || item == NULL)) {
            for (size_t k = 0; k < named_count; k++)
                if (named[k] == next)
                    named[k] = NULL;
            next->position = number++;
            next = next_moved(named, named_count);
        }
        if (other)
            item->position = number++;
    }
}

bool menu_tree_move(struct arena *arena,
                    struct menu_tree *tree,
                    const struct menu_item_position *places,
                    size_t count)
{
    struct menu_item **named = ARENA_ARRAY(arena, named, tree->count);

    for (size_t i = 0; i < count; i++) {
        struct menu_item *item = menu_tree_find(tree, places[i].id);
        item->parent_id = places[i].parent_id;
        item->position = places[i].position;
        item->is_moved = true;
    }
    number_children(tree, 0, named);
    for (size_t i = 0; i < tree->count; i++) {
        bool parent = false;
        for (size_t k = 0; !parent && k < tree->count; k++)
            parent = tree->items[k].parent_id == tree->items[i].id;
        if (parent)
            number_children(tree, tree->items[i].id, named);
    }
    qsort(tree->items, tree->count, sizeof(*tree->items), menu_order_by_position);
    return menu_tree_link(arena, tree);
}

/* --- items that the caller may use --- */

static bool has_item_permission(const struct menu_item *item,
                                const struct model *model,
                                const struct caller *caller)
{
    struct str name = item->permission;

    if (!name.len)
        return true;
    if (!item->permission_entity_id)
        return perm_find(name) != PERM_NONE && caller_can(caller, perm_find(name));
    (void)str_split(&name, ':');
    int action = name.ptr ? perm_action_find(name) : -1;
    return action >= 0 && model_entity_by_id(model, item->permission_entity_id) != NULL &&
           caller_can_entity(caller, item->permission_entity_id, (enum perm_action)action);
}

/* Whether the caller may see the target of the item. */
static bool can_open_target(const struct menu_item *item,
                            const struct model *model,
                            const struct caller *caller)
{
    if (str_is(item->kind, "entity"))
        return model_entity_by_id(model, item->target_entity_id) != NULL &&
               caller_has_api_access(caller) &&
               caller_can_entity(caller, item->target_entity_id, ACT_READ);
    if (str_is(item->kind, "dashboard"))
        return !item->is_inaccessible && caller_can(caller, PERM_SVC_DASHBOARDS_READ);
    return true;
}

void menu_tree_hide(const struct menu_tree *tree,
                    const struct model *model,
                    const struct caller *caller)
{
    for (size_t i = 0; i < tree->count; i++) {
        struct menu_item *item = &tree->items[i];
        item->is_hidden =
            !has_item_permission(item, model, caller) || !can_open_target(item, model, caller);
    }
    for (size_t depth = MENU_DEPTH_MAX; depth > 0; depth--) {
        for (size_t i = 0; i < tree->count; i++) {
            struct menu_item *item = &tree->items[i];
            if (item->depth != depth || !str_is(item->kind, "group"))
                continue;
            size_t child = item->first_child;
            while (child && tree->items[child - 1].is_hidden)
                child = tree->items[child - 1].next;
            item->is_hidden |= child == 0;
        }
    }
}

/* --- as JSON --- */

/* Returns the current name of the target entity. An entity that is gone keeps its last name. */
static struct str target_name(const struct menu_item *item, const struct model *model)
{
    const struct entity *entity =
        item->target_entity_id ? model_entity_by_id(model, item->target_entity_id) : NULL;

    return entity ? entity->name : item->target;
}

static struct str
permission_name(struct arena *arena, const struct menu_item *item, const struct model *model)
{
    struct str name = item->permission;
    const struct entity *entity =
        item->permission_entity_id ? model_entity_by_id(model, item->permission_entity_id) : NULL;

    if (!entity)
        return name;
    (void)str_split(&name, ':');
    return arena_printf(arena, "%.*s:%.*s", STR_ARG(entity->name), STR_ARG(name));
}

static void menu_put_members(struct jw *w,
                             struct arena *arena,
                             const struct menu_item *item,
                             const struct model *model,
                             const struct languages *languages)
{
    JW_I64(w, "id", item->id);
    jw_lit(w, "parent_id");
    if (item->parent_id)
        jw_i64(w, item->parent_id);
    else
        jw_null(w);
    JW_I64(w, "position", item->position);
    jw_lit(w, "label");
    jw_raw(w, languages ? menu_label_pick(arena, item->label, languages) : item->label);
    JW_STR_OR_NULL(w, "icon", item->icon);
    JW_STR(w, "kind", item->kind);
    JW_STR_OR_NULL(w, "target", target_name(item, model));
    if (!languages)
        JW_STR_OR_NULL(w, "required_permission", permission_name(arena, item, model));
}

void menu_tree_json(struct jw *w,
                    struct arena *arena,
                    const struct menu_tree *tree,
                    const struct model *model,
                    const struct languages *languages)
{
    size_t above[MENU_DEPTH_MAX];
    size_t depth = 0;
    size_t at = tree->first;

    jw_arr(w);
    for (;;) {
        if (at == 0) {
            jw_arr_end(w);
            if (depth == 0)
                return;
            jw_obj_end(w);
            at = tree->items[above[--depth] - 1].next;
        } else if (tree->items[at - 1].is_hidden) {
            at = tree->items[at - 1].next;
        } else {
            jw_obj(w);
            menu_put_members(w, arena, &tree->items[at - 1], model, languages);
            jw_lit(w, "children");
            jw_arr(w);
            above[depth++] = at;
            at = tree->items[at - 1].first_child;
        }
    }
}
