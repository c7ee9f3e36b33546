#pragma once
/*
 * What the files of /menus share. A menu is a tree, five deep at most; its items are rows, and each
 * change reads all of them under the menu's lock.
 */
#include "app.h"
#include "http/language.h"

#define MENU_DEPTH_MAX  5
#define MENU_ITEMS_MAX  500 /* of a menu */
#define MENUS_MAX       100 /* of a project */
#define MENU_LABEL_MAX  200
#define MENU_TARGET_MAX 2048

/* --- labels: a text, or an object of texts by locale --- */

/* 400 on `member` when it is neither. *ret_label is JSON text, arena-owned; STR_NONE: left out. */
int menu_label_read(struct req *r,
                    const char *member,
                    const struct in_json *in,
                    struct str *ret_label) MUSTCHECK;
/* The text that a reader of these languages gets, as JSON: what fits best, else English, else the
 * first. Borrowed or arena-owned. */
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
    bool closed; /* a dashboard that is gone, or that the caller does not see */
    bool hidden;
    bool named; /* by who moves items */
    /* Set by menu_tree_link(): numbers of items in their array from 1, 0 = none. */
    size_t parent, first_child, next;
    size_t depth; /* from 1 */
};

struct menu_tree {
    struct menu_item *items;
    size_t count;
    size_t first; /* of those without a parent */
    size_t *by_id;
};

/* Links items, which are ordered by their positions. False: some stand below themselves, or too
 * deep. */
bool menu_tree_link(struct arena *arena, struct menu_tree *tree);
/* NULL = there is none. */
struct menu_item *menu_tree_find(const struct menu_tree *tree, int64_t id);
/* Where items are to stand. */
struct menu_place {
    int64_t id, parent_id, position;
};
/* Moves items: among their siblings each comes to its position as far as there are so many, and
 * those that are not named keep their order. All are numbered from 0 again and linked. False: some
 * would stand below themselves, or too deep. */
bool menu_tree_move(struct arena *arena,
                    struct menu_tree *tree,
                    const struct menu_place *places,
                    size_t count);
/* Hides what the caller may not use, and groups without anything in them. */
void menu_tree_cut(const struct menu_tree *tree,
                   const struct model *model,
                   const struct caller *caller);
/* An array of what is not hidden. With languages: texts in them, and without what administrators
 * alone see. */
void menu_tree_json(struct jw *w,
                    struct arena *arena,
                    const struct menu_tree *tree,
                    const struct model *model,
                    const struct languages *languages);

/* any: a path, or an address with http, https, mailto or tel, that is safe to show as a link. */
bool menu_url_ok(struct str target);

/* --- answers and transactions --- */

extern const struct schema menu_out_schema;
extern const struct schema menu_item_out_schema;

/* co: the items of a menu, linked. */
AWAITS int menu_load_items(struct req *r, int64_t menu_id, struct menu_tree *ret_tree) MUSTCHECK;
/* co: answers with the menu and its items. */
AWAITS int menu_reply(struct req *r, int status, int64_t id);
/* The calls that end a change of items of the open transaction: what administrators did, the
 * menu's next version. */
AWAITS int menu_finish(struct req *r, const char *action, int64_t menu_id, struct str detail)
    MUSTCHECK;
