/* Addresses of accounts. libidn2 converts between the two spellings of a domain. */
#include "base/email.h"

#include <idn2.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/ascii.h"
#include "base/panic.h"

/* Non-transitional processing of UTS 46, as in browsers: "fa\xc3\x9f.de" is not "fass.de". */
#define DOMAIN_FLAGS (IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL)

static bool email_is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

struct str email_trim(struct str typed)
{
    static const struct str nbsp = STR_INIT("\xc2\xa0");

    for (;;) {
        if (typed.len && email_is_blank(typed.ptr[0]))
            typed = (struct str){typed.ptr + 1, typed.len - 1};
        else if (str_starts(typed, nbsp))
            typed = (struct str){typed.ptr + nbsp.len, typed.len - nbsp.len};
        else if (typed.len && email_is_blank(typed.ptr[typed.len - 1]))
            typed.len--;
        else if (str_ends(typed, nbsp))
            typed.len -= nbsp.len;
        else
            return typed;
    }
}

/* Returns whether the domain may have a second spelling. `domain` is in lower case. */
static bool has_labels(struct str domain)
{
    for (size_t i = 0; i < domain.len; i++)
        if ((unsigned char)domain.ptr[i] >= 0x80 ||
            str_starts((struct str){domain.ptr + i, domain.len - i}, STR("xn--")))
            return true;
    return false;
}

static struct str email_join(struct arena *arena, struct str local, const char *domain)
{
    return arena_printf(arena, "%.*s@%s", STR_ARG(local), domain);
}

/* Writes both spellings of the address; `typed` twice when the domain has one spelling or is not
 * valid. */
static void
email_spell(struct arena *arena, struct str typed, struct str *ret_unicode, struct str *ret_ascii)
{
    const char *at = typed.len ? memrchr(typed.ptr, '@', typed.len) : NULL;
    char *ascii = NULL;
    char *unicode = NULL;

    *ret_unicode = typed;
    *ret_ascii = typed;
    if (!at || memchr(typed.ptr, '\0', typed.len))
        return;
    struct str local = {typed.ptr, (size_t)(at - typed.ptr)};
    struct str domain = {at + 1, typed.len - local.len - 1};
    if (!has_labels(domain))
        return;
    if (idn2_to_ascii_8z(arena_cstr(arena, domain), &ascii, DOMAIN_FLAGS) == IDN2_OK &&
        idn2_to_unicode_8z8z(ascii, &unicode, 0) == IDN2_OK) {
        *ret_unicode = email_join(arena, local, unicode);
        *ret_ascii = email_join(arena, local, ascii);
    }
    idn2_free(ascii);
    idn2_free(unicode);
}

struct str email_canonical(struct arena *arena, struct str typed)
{
    struct str unicode;
    struct str ascii;

    email_spell(arena, arena_lower(arena, email_trim(typed)), &unicode, &ascii);
    return unicode;
}

static void email_form_add(struct email_forms *forms, struct str form)
{
    for (size_t i = 0; i < forms->count; i++)
        if (str_eq(forms->forms[i], form))
            return;
    forms->forms[forms->count++] = form;
}

struct email_forms email_forms_of(struct arena *arena, struct str typed)
{
    struct email_forms forms = {0};
    struct str lower = arena_lower(arena, email_trim(typed));
    struct str unicode;
    struct str ascii;

    email_spell(arena, lower, &unicode, &ascii);
    email_form_add(&forms, lower);
    email_form_add(&forms, unicode);
    email_form_add(&forms, ascii);
    return forms;
}
