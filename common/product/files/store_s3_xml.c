/* Reads single elements of a store's XML answers. */
#include "files/store_s3_private.h"

#include <stdio.h>
#include <string.h>

static const char *xml_find(struct str text, struct str what)
{
    return text.len >= what.len ? memmem(text.ptr, text.len, what.ptr, what.len) : NULL;
}

bool s3_xml_next(struct str *rest, const char *name, struct str *ret_text)
{
    char tag[64];

    (void)snprintf(tag, sizeof(tag), "<%s>", name);
    const struct str open = str_from(tag);
    const char *begin = xml_find(*rest, open);
    if (!begin)
        return false;
    begin += open.len;
    struct str tail = {begin, (size_t)(rest->ptr + rest->len - begin)};
    (void)snprintf(tag, sizeof(tag), "</%s>", name);
    const struct str close = str_from(tag);
    const char *end = xml_find(tail, close);
    if (!end)
        return false;
    *ret_text = (struct str){begin, (size_t)(end - begin)};
    *rest = (struct str){end + close.len, (size_t)(tail.ptr + tail.len - end) - close.len};
    return true;
}

struct str s3_xml_text(struct str xml, const char *name)
{
    struct str text = STR_NONE;

    return s3_xml_next(&xml, name, &text) ? text : STR_NONE;
}

bool s3_is_plain(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if (c <= ' ' || c >= 0x7f || c == '<' || c == '>' || c == '&')
            return false;
    }
    return text.len > 0;
}
