#pragma once
/*
 * Queries for the writers of push_sends: the template that a send uses, and whether its group of
 * buttons may be used.
 */
#include "db/db.h"

/* How many sends of a project may be unfinished; further sends are refused. */
#define PUSH_SENDS_MAX 10000

struct push_template {
    struct str title, body, image_url, click_action, category; /* STR_NONE = not set */
    struct str buttons; /* JSON text of a list; STR_NONE = not set */
    bool is_active;
};

/* co: Finds the template of this type; *ret_found is false when there is none. Texts live in the
 * task's arena. 0, or a DB_*. */
AWAITS int push_template_find(struct task *task,
                              struct db *db,
                              struct str type,
                              bool *ret_found,
                              struct push_template *ret_template) MUSTCHECK;

/* co: Checks the category of a send (may be empty) and the ids of its buttons. *ret_refusal is
 * STR_NONE when they are allowed, else the reason in the task's arena, which for an unknown button
 * names the registered ids. An empty category is allowed. While the project has no groups, any
 * category is allowed. Afterwards the category must be an enabled group, and the buttons must be
 * actions of this group. 0, or a DB_*. */
AWAITS int push_group_check(struct task *task,
                            struct db *db,
                            struct str category,
                            struct sql_strs buttons,
                            struct str *ret_refusal) MUSTCHECK;
