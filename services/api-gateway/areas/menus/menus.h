#pragma once
/*
 * Shared by the files of /menus. A menu is a tree, five deep at most. Its items are rows, and each
 * change reads all of them under the lock of the menu.
 */
#include "app.h"
#include "http/language.h"

#define MENU_DEPTH_MAX  5
#define MENU_ITEMS_MAX  500 /* of a menu */
#define MENUS_MAX       100 /* of a project */
#define MENU_LABEL_MAX  200
#define MENU_TARGET_MAX 2048

/* --- labels: a text, or an object of texts by locale --- */

/* any: Reads a label. Responds 400 on `member` when the value is neither form of a label.
 * *ret_label is JSON text, arena-owned; STR_NONE when the label is left out. */
int menu_label_read(struct req *r,
                    const char *member,
                    const struct in_json *in,
                    struct str *ret_label) MUSTCHECK;
/* any: Returns the text of a label for a reader of these languages, as JSON: the language that fits
 * best, else English, else the first text. Borrowed or arena-owned. */
struct str
menu_label_pick(struct arena *arena, struct str label, const struct languages *languages);

/* --- items in memory --- */

struct menu_item {
    int64_t id;
    int64_t parent_id; /* 0 = none */
    int64_t position;
    struct str label; /* JSON */
    struct str icon, kind, target, permission;
    int64_t target_entity_id, permission_entity_id;
    bool is_inaccessible; /* a dashboard that is gone, or that the caller may not see */
    bool is_hidden;
    bool is_moved; /* the request moves this item */
    /* Set by menu_tree_link(): index + 1 of another item in the array, 0 = none. */
    size_t parent, first_child, next;
    size_t depth; /* from 1 */
};

struct menu_tree {
    struct menu_item *items;
    size_t count;
    size_t first;  /* index + 1 of the first item without a parent */
    size_t *by_id; /* indexes of the items, ordered by id */
};

/* any: Links items, which must be ordered by position. Returns false when an item is below itself
 * or too deep. */
bool menu_tree_link(struct arena *arena, struct menu_tree *tree);
/* any: Returns the item, or NULL when the tree does not have the item. The tree must be linked. */
struct menu_item *menu_tree_find(const struct menu_tree *tree, int64_t id);
/* The place that an item is to get. */
struct menu_item_position {
    int64_t id, parent_id, position;
};
/* any: Moves items to the given places. An item whose position is beyond its siblings becomes the
 * last sibling. Items that `places` does not name keep their order. Then numbers all items from 0
 * and links them again. Returns false when an item would be below itself or too deep. */
bool menu_tree_move(struct arena *arena,
                    struct menu_tree *tree,
                    const struct menu_item_position *places,
                    size_t count);
/* any: Hides the items that the caller may not use, and groups without visible items. */
void menu_tree_hide(const struct menu_tree *tree,
                    const struct model *model,
                    const struct caller *caller);
/* any: Writes an array of the visible items. With languages, labels are texts in these languages,
 * and required_permission, which is for administrators, is left out. */
void menu_tree_json(struct jw *w,
                    struct arena *arena,
                    const struct menu_tree *tree,
                    const struct model *model,
                    const struct languages *languages);

/* any: Whether the target is a path, or an address with http, https, mailto or tel, that is safe to
 * show as a link. */
bool menu_url_ok(struct str target);

/* --- answers and transactions --- */

extern const struct schema menu_out_schema;
extern const struct schema menu_item_out_schema;

/* co: Reads and links the items of a menu. The tree is arena-owned. Returns 0, a negative, or the
 * HTTP status of the error response that was set. */
AWAITS int menu_load_items(struct req *r, int64_t menu_id, struct menu_tree *ret_tree) MUSTCHECK;
/* co: Responds with the menu and its items. */
AWAITS int menu_reply(struct req *r, int status, int64_t id);
/* co: Ends a change of items in the open transaction: raises the version of the menu, writes the
 * audit log and commits. */
AWAITS int menu_commit_change(struct req *r, const char *action, int64_t menu_id, struct str detail)
    MUSTCHECK;
