/* Templates: checked when they are saved, filled in when they are sent. */
#include "mail/template.h"

#include <string.h>

#include "base/panic.h"
#include "base/strbuf.h"
#include "mail/plain_private.h"

#define RENDERED_BYTES   ((size_t)1 << 20)
#define COMMON_VARIABLES "project_name", "email"

static const char *const type_names[MAIL_TYPES] = {
    [MAIL_CONFIRMATION] = "confirmation",
    [MAIL_INVITE] = "invite",
    [MAIL_RECOVERY] = "recovery",
    [MAIL_MAGIC_LINK] = "magic_link",
    [MAIL_EMAIL_CHANGE] = "email_change",
    [MAIL_ADDED_TO_PROJECT] = "added_to_tenant",
};

static const char *const link_variables[] = {
    COMMON_VARIABLES, "link", "token", "expires_minutes", NULL};
static const char *const invite_variables[] = {
    COMMON_VARIABLES, "link", "token", "expires_minutes", "invited_by", NULL};
static const char *const email_change_variables[] = {
    COMMON_VARIABLES, "link", "token", "expires_minutes", "old_email", "new_email", NULL};
static const char *const added_variables[] = {COMMON_VARIABLES, "link", "invited_by", NULL};
static const char *const shell_variables[] = {COMMON_VARIABLES, "content", "subject", NULL};

const char *mail_type_name(enum mail_type type)
{
    return type_names[type];
}

int mail_type_find(struct str name)
{
    for (int i = 0; i < MAIL_TYPES; i++)
        if (str_is(name, type_names[i]))
            return i;
    return -1;
}

const char *const *mail_template_variables(enum mail_type type)
{
    switch (type) {
    case MAIL_INVITE:
        return invite_variables;
    case MAIL_EMAIL_CHANGE:
        return email_change_variables;
    case MAIL_ADDED_TO_PROJECT:
        return added_variables;
    default:
        return link_variables;
    }
}

const char *const *mail_shell_variables(void)
{
    return shell_variables;
}

/* --- reading --- */

/* Returns in *ret_text the text up to the next variable, and in *ret_name the variable's name;
 * STR_NONE = there is no variable. False: braces without their match. */
static bool variable_next(struct str *rest, struct str *ret_text, struct str *ret_name)
{
    const char *open = rest->len ? memmem(rest->ptr, rest->len, "{{", 2) : NULL;

    *ret_name = STR_NONE;
    *ret_text = *rest;
    if (open == NULL) {
        *rest = STR_NONE;
        return true;
    }
    size_t before = (size_t)(open - rest->ptr);
    const char *shut = memmem(open + 2, rest->len - before - 2, "}}", 2);
    if (shut == NULL)
        return false;
    *ret_text = (struct str){rest->ptr, before};
    *ret_name = str_trim((struct str){open + 2, (size_t)(shut - open) - 2});
    *rest = (struct str){shut + 2, rest->len - (size_t)(shut + 2 - rest->ptr)};
    return true;
}

static bool variable_is_known(const char *const *variables, struct str name)
{
    for (; *variables; variables++)
        if (str_is(name, *variables))
            return true;
    return false;
}

int mail_template_check(struct arena *arena,
                        struct str text,
                        const char *const *variables,
                        struct str *ret_reason)
{
    size_t count = 0;
    struct str before;
    struct str name;

    while (text.len > 0) {
        if (!variable_next(&text, &before, &name)) {
            *ret_reason = STR("has {{ without }}");
            return MAIL_TEMPLATE_BAD;
        }
        if (name.ptr != NULL && !variable_is_known(variables, name)) {
            *ret_reason = arena_printf(arena,
                                       "has the unknown variable \"%.*s\"",
                                       (int)(name.len < 60 ? name.len : 60),
                                       name.ptr);
            return MAIL_TEMPLATE_BAD;
        }
        count += name.ptr != NULL;
    }
    if (count > MAIL_TEMPLATE_VARIABLES) {
        *ret_reason = arena_printf(arena, "has more than %d variables", MAIL_TEMPLATE_VARIABLES);
        return MAIL_TEMPLATE_BAD;
    }
    return 0;
}

size_t mail_template_uses(struct str text, const char *name)
{
    size_t count = 0;
    struct str before;
    struct str found;

    while (text.len > 0 && variable_next(&text, &before, &found))
        count += found.ptr != NULL && str_is(found, name);
    return count;
}

/* --- filling in --- */

void mail_variable_set(struct mail_variables *variables, const char *name, struct str value)
{
    MUST(variables->count < ARRAY_LEN(variables->items));
    variables->items[variables->count++] = (struct mail_variable){name, value};
}

enum fill_mode { AS_TEXT, AS_HTML, AS_LINE };

static const char *html_escape(char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

static void fill_char(struct strbuf *out, char c, enum fill_mode as)
{
    const char *html = as == AS_HTML ? html_escape(c) : NULL;

    if (html)
        strbuf_cstr(out, html);
    else
        strbuf_char(out, as == AS_LINE && (unsigned char)c < ' ' ? ' ' : c);
}

static void fill_variable(struct strbuf *out,
                          const struct mail_variables *variables,
                          struct str name,
                          enum fill_mode as)
{
    for (size_t i = 0; i < variables->count; i++) {
        if (!str_is(name, variables->items[i].name))
            continue;
        for (size_t k = 0; k < variables->items[i].value.len; k++)
            fill_char(out, variables->items[i].value.ptr[k], as);
        return;
    }
}

struct template_filling {
    struct arena *arena;
    const struct mail_variables *variables;
    struct str content; /* rendered HTML for {{ content }}; STR_NONE: none */
    bool overflow;
};

static struct str
fill_variables(struct template_filling *filling, struct str text, enum fill_mode as)
{
    struct strbuf out;
    struct str before;
    struct str name;

    strbuf_init(&out, filling->arena, RENDERED_BYTES);
    while (text.len > 0 && variable_next(&text, &before, &name)) {
        strbuf_str(&out, before);
        if (name.ptr == NULL)
            continue;
        if (filling->content.ptr && str_is(name, "content"))
            strbuf_str(&out, filling->content);
        else
            fill_variable(&out, filling->variables, name, as);
    }
    filling->overflow = filling->overflow || out.overflow;
    return strbuf_view(&out);
}

int mail_template_render(struct arena *arena,
                         const struct mail_template *template,
                         struct str shell,
                         const struct mail_variables *variables,
                         struct mail_rendered *ret_rendered)
{
    struct mail_variables around = *variables;
    struct template_filling filling = {.arena = arena, .variables = variables};
    struct str content = fill_variables(&filling, template->body_html, AS_HTML);

    ret_rendered->subject = fill_variables(&filling, template->subject, AS_LINE);
    ret_rendered->text = template->body_text.len
                             ? fill_variables(&filling, template->body_text, AS_TEXT)
                             : mail_plain_of_html(arena, content);
    mail_variable_set(&around, "subject", ret_rendered->subject);
    filling.variables = &around;
    filling.content = content.ptr ? content : STR("");
    ret_rendered->html = fill_variables(&filling, shell, AS_HTML);
    return filling.overflow ? MAIL_TEMPLATE_BAD : 0;
}
