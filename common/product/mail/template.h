#pragma once
/*
 * Templates of mails: one for each type, inside a shell that all types share. Both are the
 * project's own or the defaults. {{ name }} is replaced by a variable. Nothing is evaluated, and
 * values that are inserted into HTML are escaped. Any thread.
 */
#include <stdint.h>

#include "base/arena.h"
#include "base/result.h"
#include "base/str.h"

#define MAIL_TEMPLATE_VARIABLES 100 /* uses of {{ name }} in one text: bounds what is inserted */

enum mail_type {
    MAIL_CONFIRMATION,
    MAIL_INVITE,
    MAIL_RECOVERY,
    MAIL_MAGIC_LINK,
    MAIL_EMAIL_CHANGE,
    MAIL_ADDED_TO_PROJECT,
    MAIL_TYPES,
};
/* mail_type_name() returns the name of a type in the API, mail_type_find() the type of a name. */
const char *mail_type_name(enum mail_type type);
int mail_type_find(struct str name); /* -1 when there is none */

struct mail_template {
    struct str subject, body_html;
    struct str body_text;   /* STR_NONE: made of the HTML */
    struct str sender_name; /* STR_NONE: the sender address's, else the project's */
    int64_t sender_id;      /* of the sender address; 0: the default */
};
/* Returns the default template of a type. Static. */
const struct mail_template *mail_template_default(enum mail_type type);
/* Returns the default shell: the HTML around a body, with {{ content }} once. Static. */
struct str mail_shell_default(void);

/* Return the names of the variables of a type's template and of the shell, NULL-terminated.
 * Static. */
const char *const *mail_template_variables(enum mail_type type);
const char *const *mail_shell_variables(void);
/* Checks a text. 0, or MAIL_TEMPLATE_BAD with *ret_reason, the predicate of a sentence about the
 * text: braces that do not match, a name that is not in `variables`, or too many variables. */
int mail_template_check(struct arena *arena,
                        struct str text,
                        const char *const *variables,
                        struct str *ret_reason) MUSTCHECK;
/* Returns how often {{ name }} occurs in the text. */
size_t mail_template_uses(struct str text, const char *name);

struct mail_variable {
    const char *name;
    struct str value;
};
struct mail_variables {
    struct mail_variable items[16];
    size_t count;
};
/* Adds a variable, of at most 16; `name` and `value` are borrowed. */
void mail_variable_set(struct mail_variables *variables, const char *name, struct str value);

struct mail_rendered {
    struct str subject, html, text;
};
/* Fills in the variables; a variable without a value is empty. Line breaks in values never reach
 * the subject. 0, or MAIL_TEMPLATE_BAD when a part is longer than a mail may be. Arena-owned. */
int mail_template_render(struct arena *arena,
                         const struct mail_template *template,
                         struct str shell,
                         const struct mail_variables *variables,
                         struct mail_rendered *ret_rendered) MUSTCHECK;
