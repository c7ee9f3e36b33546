#pragma once
/*
 * What mails say: a template of each type, inside a shell that all share. Both are the project's
 * own or the ones that it began with. {{ name }} stands for a variable; nothing is evaluated, and
 * what is inserted into HTML is escaped. Any thread.
 */
#include <stdint.h>

#include "base/arena.h"
#include "base/result.h"
#include "base/str.h"

#define MAIL_TEMPLATE_VARIABLES 100 /* {{ name }}, of one text: what is inserted has a bound */

enum mail_type {
    MAIL_CONFIRMATION,
    MAIL_INVITE,
    MAIL_RECOVERY,
    MAIL_MAGIC_LINK,
    MAIL_EMAIL_CHANGE,
    MAIL_ADDED_TO_TENANT,
    MAIL_TYPES,
};
const char *mail_type_name(enum mail_type type);
int mail_type_find(struct str name); /* -1 when there is none */

struct mail_template {
    struct str subject, body_html;
    struct str body_text;   /* STR_NONE: made of the HTML */
    struct str sender_name; /* STR_NONE: the sender's, else the project's */
    int64_t sender_id;      /* of the address that it comes from; 0: the default */
};
/* The one that projects begin with. */
const struct mail_template *mail_template_default(enum mail_type type);
/* The HTML around it, with {{ content }} once. */
struct str mail_shell_default(void);

/* Names of the variables of a type's template, NULL-terminated; those of the shell. */
const char *const *mail_template_variables(enum mail_type type);
const char *const *mail_shell_variables(void);
/* 0, or MAIL_TEMPLATE_BAD with *ret_reason: braces that do not match, a name that is not one of
 * these, too many of them. */
int mail_template_check(struct arena *arena,
                        struct str text,
                        const char *const *variables,
                        struct str *ret_reason) MUSTCHECK;
/* How often {{ name }} stands in the text. */
size_t mail_template_uses(struct str text, const char *name);

struct mail_variable {
    const char *name;
    struct str value;
};
struct mail_variables {
    struct mail_variable items[16];
    size_t count;
};
void mail_variable_set(struct mail_variables *variables, const char *name, struct str value);

struct mail_rendered {
    struct str subject, html, text;
};
/* With its variables filled in; those without a value are empty. Line breaks of values never reach
 * the subject. 0, or MAIL_TEMPLATE_BAD when a part is longer than a mail may be. Arena-owned. */
int mail_template_render(struct arena *arena,
                         const struct mail_template *template,
                         struct str shell,
                         const struct mail_variables *variables,
                         struct mail_rendered *ret_rendered) MUSTCHECK;
