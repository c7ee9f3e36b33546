/* Texts that consist of certain characters only. */
#include "base/ascii.h"

size_t ascii_span(struct str text, unsigned classes)
{
    size_t len = 0;

    while (len < text.len && ascii_is(text.ptr[len], classes))
        len++;
    return len;
}

bool ascii_has_only(struct str text, unsigned classes, const char *others)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (!ascii_is(c, classes) && !ascii_is_in(c, others))
            return false;
    }
    return true;
}
