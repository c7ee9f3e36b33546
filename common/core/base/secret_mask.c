/* What a caller means that sends back the mask of a secret. */
#include "base/secret_mask.h"

#include "base/result.h"

/* Headers show a credential behind one of these. */
static const struct str schemes[] = {STR_INIT("Bearer "), STR_INIT("Basic "), STR_INIT("Token ")};

static bool has_mask(struct str text)
{
    return text.len > 0 && memmem(text.ptr, text.len, SECRET_MASK, sizeof(SECRET_MASK) - 1) != NULL;
}

static bool is_shown(struct str text, struct str shown)
{
    if (str_eq(text, shown))
        return true;
    for (size_t i = 0; i < ARRAY_LEN(schemes); i++) {
        size_t len = schemes[i].len;
        if (text.len > len && str_ieq((struct str){text.ptr, len}, schemes[i]) &&
            str_eq((struct str){text.ptr + len, text.len - len}, shown))
            return true;
    }
    return false;
}

enum secret_given secret_given(struct str text, struct str shown)
{
    if (!has_mask(text))
        return SECRET_NEW;
    return has_mask(shown) && is_shown(text, shown) ? SECRET_SAME : SECRET_WRONG_MASK;
}
