/* Identifiers that we made ourselves, quoted for use in a text. */
#include "base/panic.h"
#include "db/db.h"

struct str db_ident(struct arena *arena, struct str name)
{
    MUST(name.len > 0 && name.len < 64);
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        MUST((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_');
    }
    return arena_printf(arena, "\"%.*s\"", STR_ARG(name));
}
