#pragma once
/*
 * What whoever writes a row of push_sends has to look up before: the template that a send begins
 * with, and whether its group of buttons may be used.
 */
#include "db/db.h"

/* Sends of a project that have not ended; what would be beyond is refused. */
#define PUSH_SENDS_WAITING 10000

struct push_template {
    struct str title, body, image_url, click_action, category; /* STR_NONE: it says nothing of it */
    struct str buttons;                                        /* JSON text of a list; STR_NONE */
    bool is_active;
};

/* co: 0, or a DB_*. *ret_found false: there is none of this type. Texts are the arena's. */
AWAITS int push_template_find(struct task *task,
                              struct db *db,
                              struct str type,
                              bool *ret_found,
                              struct push_template *ret_template) MUSTCHECK;

/* co: 0, or a DB_*. *ret_refusal is STR_NONE where a send with this category (may be empty) and
 * buttons is allowed, else says why not, naming the registered ids. As long as a project has no
 * groups, any category goes; then only enabled ones do, with buttons that are their actions. */
AWAITS int push_group_check(struct task *task,
                            struct db *db,
                            struct str category,
                            struct sql_strs buttons,
                            struct str *ret_refusal) MUSTCHECK;
