/* Converts HTML to text. */
#include "mail/plain_private.h"

#include <string.h>

#include "base/num.h"
#include "base/strbuf.h"
#include "base/utf8.h"

#define PLAIN_BYTES ((size_t)1 << 20)
#define HREF_MAX    2048

struct plain_text {
    struct strbuf out;
    struct arena *arena;
    struct str href; /* of the open link */
    size_t href_at;  /* where the link's text begins in `out` */
    unsigned breaks; /* line breaks due before the next text */
    bool space;      /* a space is due */
};

/* --- tags --- */

static bool tag_is(struct str tag, const char *name)
{
    return str_ieq(tag, str_from(name));
}

static bool tag_is_any(struct str tag, const char *const *names)
{
    for (; *names; names++)
        if (tag_is(tag, *names))
            return true;
    return false;
}

static const char *const paragraph_tags[] = {
    "p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "table", "blockquote", "pre", "hr", NULL};
static const char *const line_tags[] = {"br", "div", "tr", "li", "body", "section", "footer", NULL};
static const char *const invisible_tags[] = {"style", "script", "head", "title", NULL};

/* Returns the value of an attribute without its quotes; STR_NONE = there is none. */
static struct str attribute(struct str tag, const char *name)
{
    size_t len = strlen(name);

    for (size_t i = 0; i + len < tag.len; i++) {
        struct str here = {tag.ptr + i, len};
        if (!str_ieq(here, str_from(name)) || tag.ptr[i + len] != '=' ||
            (i > 0 && tag.ptr[i - 1] > ' '))
            continue;
        struct str value = {tag.ptr + i + len + 1, tag.len - i - len - 1};
        char quote = value.len ? value.ptr[0] : 0;
        if (quote != '"' && quote != '\'')
            return str_split(&value, ' ');
        value = (struct str){value.ptr + 1, value.len - 1};
        return str_split(&value, quote);
    }
    return STR_NONE;
}

static void plain_break(struct plain_text *p, unsigned count)
{
    if (p->breaks < count)
        p->breaks = count;
    p->space = false;
}

static void plain_char(struct plain_text *p, char c)
{
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
        p->space = true;
        return;
    }
    if (p->out.len == 0)
        p->breaks = 0;
    if (p->breaks == 0 && p->space && p->out.len > 0 && p->out.ptr[p->out.len - 1] != '\n')
        strbuf_char(&p->out, ' ');
    for (; p->breaks > 0; p->breaks--)
        strbuf_char(&p->out, '\n');
    p->space = false;
    strbuf_char(&p->out, c);
}

static void plain_put(struct plain_text *p, struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        plain_char(p, text.ptr[i]);
}

/* --- entities --- */

static const struct {
    const char *name, *text;
} entities[] = {
    {"amp", "&"},
    {"lt", "<"},
    {"gt", ">"},
    {"quot", "\""},
    {"apos", "'"},
    {"nbsp", "\xC2\xA0"},
    {"copy", "\xC2\xA9"},
    {"mdash", "\xE2\x80\x94"},
    {"ndash", "\xE2\x80\x93"},
    {"hellip", "\xE2\x80\xA6"},
};

static void put_utf8(struct plain_text *p, int64_t code)
{
    char bytes[4];
    size_t len = 0;

    if (code < 0x80) {
        bytes[len++] = (char)code;
    } else if (code < 0x800) {
        bytes[len++] = (char)(0xC0 | (code >> 6));
        bytes[len++] = (char)(0x80 | (code & 0x3F));
    } else if (code < 0x10000) {
        bytes[len++] = (char)(0xE0 | (code >> 12));
        bytes[len++] = (char)(0x80 | ((code >> 6) & 0x3F));
        bytes[len++] = (char)(0x80 | (code & 0x3F));
    } else {
        bytes[len++] = (char)(0xF0 | (code >> 18));
        bytes[len++] = (char)(0x80 | ((code >> 12) & 0x3F));
        bytes[len++] = (char)(0x80 | ((code >> 6) & 0x3F));
        bytes[len++] = (char)(0x80 | (code & 0x3F));
    }
    plain_put(p, (struct str){bytes, len});
}

static bool plain_put_entity(struct plain_text *p, struct str name)
{
    int64_t code;

    for (size_t i = 0; i < ARRAY_LEN(entities); i++) {
        if (str_is(name, entities[i].name)) {
            plain_put(p, str_from(entities[i].text));
            return true;
        }
    }
    if (name.len < 2 || name.ptr[0] != '#' ||
        !num_parse_i64((struct str){name.ptr + 1, name.len - 1}, &code) || code < ' ' ||
        code > 0x10FFFF || (code >= 0xD800 && code < 0xE000))
        return false;
    put_utf8(p, code);
    return true;
}

/* Adds text between tags. */
static void plain_put_html(struct plain_text *p, struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        const char *end = text.ptr[i] == '&' ? memchr(text.ptr + i, ';', text.len - i) : NULL;
        size_t len = end ? (size_t)(end - text.ptr) - i - 1 : 0;
        if (end && len < 10 && plain_put_entity(p, (struct str){text.ptr + i + 1, len}))
            i += len + 1;
        else
            plain_char(p, text.ptr[i]);
    }
}

/* --- the document --- */

static void link_begin(struct plain_text *p, struct str tag)
{
    struct str href = attribute(tag, "href");

    p->href = href.len <= HREF_MAX ? href : STR_NONE;
    p->href_at = p->out.len;
}

/* Adds the address of a link, as "text (address)", unless the text contains the address. */
static void link_end(struct plain_text *p)
{
    struct str href = p->href;
    struct strbuf decoded;

    p->href = STR_NONE;
    if (!href.len)
        return;
    strbuf_init(&decoded, p->arena, PLAIN_BYTES);
    struct plain_text inner = {.out = decoded, .arena = p->arena};
    plain_put_html(&inner, href);
    struct str address = strbuf_view(&inner.out);
    struct str text = {p->out.ptr + p->href_at, p->out.len - p->href_at};
    if (p->out.len > p->href_at && memmem(text.ptr, text.len, address.ptr, address.len))
        return;
    if (p->out.len == p->href_at) {
        plain_put(p, address);
        return;
    }
    p->space = true;
    plain_char(p, '(');
    plain_put(p, address);
    plain_char(p, ')');
}

static void plain_tag(struct plain_text *p, struct str tag, bool closing)
{
    struct str rest = tag;
    struct str name = str_split(&rest, ' ');

    if (name.len > 0 && name.ptr[name.len - 1] == '/')
        name.len--;
    if (tag_is(name, "a") && closing)
        link_end(p);
    else if (tag_is(name, "a"))
        link_begin(p, tag);
    else if (tag_is_any(name, paragraph_tags))
        plain_break(p, 2);
    else if (tag_is_any(name, line_tags))
        plain_break(p, 1);
    else if (tag_is(name, "td") || tag_is(name, "th"))
        p->space = true;
    if (tag_is(name, "li") && !closing) {
        plain_put(p, STR("-"));
        p->space = true;
    }
}

/* Skips the content of an invisible element: returns the text from its closing tag on; STR_NONE =
 * there is none. */
static struct str invisible_skip(struct str rest, struct str name)
{
    for (size_t i = 0; i + name.len + 2 < rest.len; i++) {
        if (rest.ptr[i] == '<' && rest.ptr[i + 1] == '/' &&
            str_ieq((struct str){rest.ptr + i + 2, name.len}, name))
            return (struct str){rest.ptr + i, rest.len - i};
    }
    return STR_NONE;
}

struct str mail_plain_of_html(struct arena *arena, struct str html)
{
    struct plain_text p = {.arena = arena};

    strbuf_init(&p.out, arena, PLAIN_BYTES);
    while (html.len > 0) {
        plain_put_html(&p, str_split(&html, '<'));
        if (html.ptr == NULL)
            break;
        if (str_starts(html, STR("!--"))) {
            const char *end = memmem(html.ptr, html.len, "-->", 3);
            html = end ? (struct str){end + 3, html.len - (size_t)(end + 3 - html.ptr)} : STR_NONE;
            continue;
        }
        struct str tag = str_split(&html, '>');
        bool closing = str_starts(tag, STR("/"));
        if (closing)
            tag = (struct str){tag.ptr + 1, tag.len - 1};
        plain_tag(&p, tag, closing);
        struct str rest = tag;
        struct str name = str_split(&rest, ' ');
        if (!closing && tag_is_any(name, invisible_tags))
            html = invisible_skip(html, name);
    }
    if (p.out.len > 0)
        strbuf_char(&p.out, '\n');
    return p.out.len ? strbuf_view(&p.out) : STR("");
}
